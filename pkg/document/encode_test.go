package document

import (
	"fmt"
	"maps"
	"testing"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestStoredPages(t *testing.T) {
	t.Parallel()
	p := page(3, prose(72), table(72, 300, 200, []string{"a", "b"}, []string{"c", "d"}),
		text(layout.Paragraph, 290, 800, 9, 1, "3"))
	p.Text, p.Language = layout.PageText(p), "eng"
	want := ObservePage(p)
	data, err := EncodePage(p, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeEvidence(data)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got.Blocks, got.Edges, got.Words, got.Number) != fmt.Sprint(want.Blocks, want.Edges, want.Words,
		want.Number) || !maps.Equal(got.Sizes, want.Sizes) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	back, err := DecodePage(data)
	if err != nil || !proto.Equal(back, p) {
		t.Errorf("the page changed: %v", err)
	}
	if text, language, err := DecodeText(data); err != nil || text != p.Text || language != "eng" {
		t.Errorf("text %q, language %q, error %v; want %q and eng", text, language, err, p.Text)
	}
	plan := NewPlan([]*Evidence{want}, nil).EncodePages(9)
	for i := range plan {
		if cut, err := DecodePlanOfPage(plan[:i], int(p.GetNumber())); err == nil {
			cut.ApplyTo(proto.Clone(p).(*inkstreamv1.Page))
		}
	}
	for i := range data[:min(len(data), 200)] { // cut short anywhere: an error or less, no crash
		_, _ = DecodeEvidence(data[:i])
	}
	if _, err := DecodeEvidence([]byte(`{"number":3,"blocks":[{"type":"paragraph"}]}`)); err != nil {
		t.Errorf("a page that was stored as JSON: %v", err)
	}
}
