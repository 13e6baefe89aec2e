package document

import (
	"strings"
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestTextOverPages writes the pages of a document with form feeds between, and what a page break interrupts without
// running lines in it: those stand before it and behind it.
func TestTextOverPages(t *testing.T) {
	t.Parallel()
	const full = "the harbour was closed for the whole of winter and"
	foot := func(y float32, number string) *inkstreamv1.Block {
		return text(layout.PageNumber, 290, y, 10, 1, number)
	}
	first := page(1, text(layout.Header, 72, 40, 10, 1, "The harbour"), text(layout.Paragraph, 72, 72, 10, 1, "It is told."), text(layout.Paragraph, 72, 100, 10, 1, full), foot(800, "7"))
	first.Blocks[2].Continued = true
	second := page(2, text(layout.Header, 72, 40, 10, 1, "The tower"), text(layout.Paragraph, 72, 72, 10, 1, "nobody came."), text(layout.Paragraph, 72, 100, 10, 1, "It is gone."), foot(800, "8"))
	third := page(3, text(layout.Header, 72, 40, 10, 1, "The mole"), text(layout.Paragraph, 72, 72, 10, 1, "It was of stone."), foot(800, "9"))
	var b strings.Builder
	w := NewTextWriter(&b)
	for _, p := range []*inkstreamv1.Page{first, second, third} {
		p.Text = layout.PageText(p)
		if err := w.WritePage(p); err != nil {
			t.Fatal(err)
		}
	}
	want := "The harbour\n\nIt is told.\n\n7\n\n" + full + "\n\fnobody came.\n\nThe tower\n\nIt is gone.\n\n8\n\fThe mole\n\nIt was of stone.\n\n9\n"
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
