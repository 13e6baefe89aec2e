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
