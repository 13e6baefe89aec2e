package layout

import (
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// twoColumns sets lines in two columns, one below the other from a height on.
func twoColumns(y float64, left, right []string) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for i, text := range [][]string{left, right} {
		for k, line := range text {
			out = append(out, at(50+200*float64(i), y+12*float64(k), 10, line))
		}
	}
	return out
}

// TestColumnsThatEndAtAGap reads on from the foot of a column to the head of the next where a sentence goes on there, above
// a gap that all columns have; where none does, a column goes on below the gap.
func TestColumnsThatEndAtAGap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		foot, head, want string
	}{
		{"autumn, when all the farmers use", "it for their carts. The mayor is", "when all the farmers use\n\nit for their carts"},
		{"autumn, when it rains every day.", "It is for their carts. The mayor", "when it rains every day.\n\nMore of the valley"},
	} {
		text := columnText(8)
		text[3], text[4] = tt.foot, tt.head
		lines := twoColumns(80, text[:4], text[4:])
		lines = append(lines, twoColumns(150, []string{"More of the valley and the bridge", "that was closed for all the winter", "and of the mill that stood beside"},
			[]string{"Letters to the mayor of the town", "and to the council that met there", "on the first Tuesday of the month"})...)
		page := pageOf(lines)
		ArrangePage(page)
		if got := page.GetText(); !strings.Contains(got, tt.want) {
			t.Errorf("%q is not in\n%s", tt.want, got)
		}
	}
}

// TestWideBlankAboveColumns keeps a paragraph whole that begins above the other column and has a line with a wide blank
// there.
func TestWideBlankAboveColumns(t *testing.T) {
	t.Parallel()
	left := columnText(12)
	lines := twoColumns(80, left[:1], nil)
	lines = append(lines, wordsBetween(92, 10, "agreed. After the", 50, 85, 105, 130, 135, 200))
	lines = append(lines, twoColumns(104, left[2:], columnText(9))...)
	page := pageOf(lines)
	ArrangePage(page)
	if got := page.GetText(); !strings.Contains(got, "agreed. After the\nclose the bridge") {
		t.Errorf("the paragraph is broken in\n%s", got)
	}
}

// TestColumnGoesOnLeftOfMarkers keeps the rest of a column below a heading above a list in the next column, whose markers
// stand apart from their text.
func TestColumnGoesOnLeftOfMarkers(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i, text := range columnText(24) {
		lines = append(lines, at(50, 80+12*float64(i), 10, text))
		if i < 6 {
			lines = append(lines, at(250, 80+12*float64(i), 10, "["+string(rune('5'+i))+"]"), at(275, 80+12*float64(i), 10, "Petra Grant. A chapter of it."))
		}
	}
	lines = append(lines, at(50, 400, 14, "References"), at(50, 425, 10, "[4] Oscar Garrick. Of a summer."))
	page := pageOf(lines)
	ArrangePage(page)
	text := page.GetText()
	if first, next := strings.Index(text, "[4]"), strings.Index(text, "[5]"); first < 0 || next < first {
		t.Errorf("[4] does not stand before [5] in\n%s", text)
	}
}
