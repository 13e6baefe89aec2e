package document

import (
	"testing"

	"inkstream.dev/pkg/layout"
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
