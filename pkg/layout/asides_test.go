package layout

import (
	"fmt"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestAsides reads text beside whose pieces a few words stand on the right: those break no piece that goes on below.
func TestAsides(t *testing.T) {
	t.Parallel()
	wrapped := []string{"Karla, wife of Greta Yilmaz, was", "buried on the hill."}
	short := []string{"Tomato soup", "with basil and cream"}
	for _, tt := range []struct {
		name  string
		lines []string
		want  string // of the first piece
	}{
		{"text that goes on", wrapped, "Karla, wife of Greta Yilmaz, was buried on the hill. Mar. 10"},
		{"a name with a price, and what it is", short, "Tomato soup Mar. 10 with basil and cream"},
	} {
		lines := []*inkstreamv1.Line{at(50, 80, 10, "These are the entries of this year:")}
		for i := range 6 {
			y := 100 + 24*float64(i)
			lines = append(lines, at(50, y, 10, tt.lines[0]), at(250, y, 10, fmt.Sprint("Mar. ", 10+i)),
				at(50, y+12, 10, tt.lines[1]))
		}
		page := pageOf(lines)
		ArrangePageWith(page, Options{})
		if text := strings.Join(strings.Fields(page.GetText()), " "); !strings.Contains(text, tt.want) {
			t.Errorf("%s: %q is not in %q", tt.name, tt.want, text)
		}
	}
}

// TestWideBlanks reads justified text with wide blanks before the last word of some lines, which is no aside.
func TestWideBlanks(t *testing.T) {
	t.Parallel()
	lines := []*inkstreamv1.Line{}
	for i := range 6 {
		y := 100 + 48*float64(i)
		lines = append(lines, at(50, y, 10, "These are the entries of this year, which were written down in it"),
			at(50, y+12, 10, "by a clerk who had come from afar, with the names of all."),
			at(345, y+12, 10, "The"), at(50, y+24, 10, "rest of the book was lost in a fire of the town hall."))
	}
	page := pageOf(lines)
	ArrangePageWith(page, Options{})
	text, want := strings.Join(strings.Fields(page.GetText()), " "), "names of all. The rest of the book"
	if n := strings.Count(text, want); n != 6 {
		t.Errorf("%q is there %d times, want 6, in %q", want, n, text)
	}
}
