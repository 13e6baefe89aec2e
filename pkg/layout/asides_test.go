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

// TestMarksOfQuestions reads the marks of an examination behind their question, though but one of them goes on below and
// other text is wider.
func TestMarksOfQuestions(t *testing.T) {
	t.Parallel()
	page := pageOf(down(50, 80, 10, "What became of the harbour in the winter of the year that is told of here?"),
		[]*inkstreamv1.Line{at(60, 100, 10, "(a) Who kept the keys of the old tower, and"), at(330, 100, 10, "[4]"), at(75, 112, 10, "what became of them?"),
			at(60, 140, 10, "(b) Who came to see it?"), at(330, 140, 10, "[1]"), at(60, 168, 10, "(c) Who did not?"), at(330, 168, 10, "[2]"), at(60, 196, 10, "(d) Who else did?"), at(330, 196, 10, "[3]")})
	ArrangePage(page)
	if text, want := strings.Join(strings.Fields(page.GetText()), " "), "tower, and what became of them? [4]"; !strings.Contains(text, want) {
		t.Errorf("%q is not in %q", want, text)
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
