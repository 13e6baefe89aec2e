package document

import (
	"strings"
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestSignatureLine makes no heading of a line to write on, however large it is.
func TestSignatureLine(t *testing.T) {
	t.Parallel()
	pg := page(1, text(layout.Paragraph, 72, 60, 15, 1, "Pears"), prose(100), prose(130),
		text(layout.Paragraph, 72, 180, 14, 1, "Date: ________"))
	plan := planned(t, nil, pg)
	plan.ApplyTo(pg)
	if got, want := kinds(pg), "title paragraph paragraph paragraph"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A running foot is no heading on a document's only page; a line that stands there without a page's number may be.
func TestPageFoot(t *testing.T) {
	t.Parallel()
	for foot, want := range map[string]string{
		"Study of Pears 209": "title paragraph paragraph paragraph", "Pears of Autumn": "title paragraph paragraph heading1",
	} {
		pg := page(1, text(layout.Paragraph, 72, 60, 18, 1, "Pears"), prose(100), prose(130),
			text(layout.Paragraph, 72, 800, 15, 1, foot))
		plan := planned(t, nil, pg)
		plan.ApplyTo(pg)
		if got := kinds(pg); got != want {
			t.Errorf("%s: got %q, want %q", foot, got, want)
		}
	}
}

// TestEntriesOfDirectories makes no headings of the bold first lines of many short entries, and headings of those over longer text.
func TestEntriesOfDirectories(t *testing.T) {
	t.Parallel()
	const bold = 2
	for _, tt := range []struct {
		name, below, want string
	}{
		{"entries", "7 Brackley Road, Ashford 5893, 706 3524, first floor", "paragraph"},
		{"sections", "The text below the heading goes on for long enough to be one that a heading stands above it", "heading1"},
	} {
		var blocks []*inkstreamv1.Block
		for i := range 30 {
			y := 40 + 25*float32(i)
			blocks = append(blocks, text(layout.Paragraph, 72, y, 10, bold, "Adler, Vera"), text(layout.Paragraph, 72, y+12, 10, 1, tt.below))
		}
		pg := page(1, blocks...)
		plan := planned(t, nil, pg)
		plan.ApplyTo(pg)
		if got := strings.Fields(kinds(pg))[2]; got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
