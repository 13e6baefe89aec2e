package document

import (
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestTermsOfDefinitions makes no headings of bold terms whose definitions are indented from where the paragraphs
// begin, and headings of bold lines above paragraphs that are flush, and of those that stand out from all text.
func TestTermsOfDefinitions(t *testing.T) {
	t.Parallel()
	const bold = 2
	definition := func(x, y float32, lines ...string) []*inkstreamv1.Block {
		return []*inkstreamv1.Block{text(layout.Paragraph, 72, y, 10, bold, "Quiet harbour"), text(layout.Paragraph, x, y+13, 10, 1, lines...)}
	}
	long := []string{"the body of what a term means is set in this type, and it goes on", "on a line below the first of it, so that it is a paragraph."}
	for _, tt := range []struct {
		name   string
		blocks []*inkstreamv1.Block
		want   string
	}{
		{"a definition of two lines", definition(92, 160, long...), "paragraph paragraph"},
		{"a flush paragraph", definition(72, 160, long...), "heading1 paragraph"},
		{"a line that is a paragraph with an indent", definition(92, 160, long[0]), "heading1 paragraph"},
		{"two definitions of a line", append(definition(92, 160, long[0]), definition(92, 190, long[0])...), "paragraph paragraph paragraph paragraph"},
	} {
		pg := page(1, append([]*inkstreamv1.Block{prose(100), prose(130)}, tt.blocks...)...)
		planned(t, nil, pg).ApplyTo(pg)
		if got, want := kinds(pg), "paragraph paragraph "+tt.want; got != want {
			t.Errorf("%s: got %q, want %q", tt.name, got, want)
		}
	}
	pg := page(1, append(definition(92, 160, long...), definition(92, 200, long...)...)...)
	planned(t, nil, pg).ApplyTo(pg)
	if got, want := kinds(pg), "heading1 paragraph heading1 paragraph"; got != want {
		t.Errorf("text that is indented throughout: got %q, want %q", got, want)
	}
}
