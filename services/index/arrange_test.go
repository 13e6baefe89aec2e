package index

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// A page that cannot be arranged keeps every word, in the order of its file, and a note says so.
func TestPageThatCannotBeArranged(t *testing.T) {
	t.Parallel()
	line := func(words ...string) *inkstreamv1.Line {
		l := &inkstreamv1.Line{}
		for i, w := range words {
			l.Words = append(l.Words, &inkstreamv1.Word{Text: w, Bbox: []float32{float32(50 * i), 10, float32(50*i + 40), 20}})
		}
		return l
	}
	given := &inkstreamv1.Page{Number: 7, Blocks: []*inkstreamv1.Block{{Lines: []*inkstreamv1.Line{line("The", "harbour"), line("was")}},
		{Lines: []*inkstreamv1.Line{line("closed.")}}}}
	batch, err := proto.Marshal(&inkstreamv1.PageBatch{Pages: []*inkstreamv1.Page{{Number: 6}, given}})
	if err != nil {
		t.Fatal(err)
	}
	err = tryArrange(given, func(p *inkstreamv1.Page) {
		p.Blocks = p.Blocks[:1]
		p.Blocks[0].Lines[0].Words = nil
		_ = p.Blocks[len(p.Blocks)]
	})
	if fault.CodeOf(err) != fault.Internal {
		t.Fatalf("a panic in the layout came back as %v", err)
	}
	page, err := rereadUnarranged(batch, 7)
	if err != nil {
		t.Fatal(err)
	}
	if want := "The harbour\nwas\n\nclosed.\n"; page.Text != want || len(page.Blocks) != 2 || len(page.Blocks[0].Bbox) != 4 {
		t.Errorf("the text is %q in %d blocks, want %q in 2 with boxes", page.Text, len(page.Blocks), want)
	}
	if !slices.Contains(page.Notes, unarrangedNote) {
		t.Errorf("no note tells of it: %q", page.Notes)
	}
}
