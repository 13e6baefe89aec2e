package layout

import (
	"fmt"
	"slices"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// columnLines are lines of one column of text, as wide as each other, each beginning with a word of its own.
func columnLines(x, y float64, name string, n int) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for i := range n {
		out = append(out, at(x, y+12*float64(i), 10, fmt.Sprintf("%s%02d kept the keys of the old tower", name, i)))
	}
	return out
}

// TestColumnGoesOnBelowHeading reads the left column to its end, below a heading with room around it, before the right
// one, which ends above that.
func TestColumnGoesOnBelowHeading(t *testing.T) {
	t.Parallel()
	left := slices.Concat(columnLines(72, 72, "left", 8), []*inkstreamv1.Line{at(72, 196, 13, "The tower")}, columnLines(72, 240, "rest", 6))
	page := pageOf(left, columnLines(312, 72, "right", 8))
	ArrangePage(page)
	followEachOther(t, page, "left07", "The tower", "rest05", "right00")

	short := pageOf(columnLines(72, 72, "left", 8), columnLines(312, 72, "right", 8), []*inkstreamv1.Line{at(72, 196, 10, "Signed"), at(72, 240, 10, "The keeper")})
	ArrangePage(short)
	followEachOther(t, short, "right07", "Signed", "The keeper")
}

// TestColumnGoesOnBelowFormula reads a column to its end before the next, past a formula and its number at the edge, which
// stand below the end of the column on the right.
func TestColumnGoesOnBelowFormula(t *testing.T) {
	t.Parallel()
	formula := []*inkstreamv1.Line{at(120, 200, 10, "c = q + b"), at(228, 200, 10, "(1)")}
	page := pageOf(columnLines(72, 72, "left", 8), formula, columnLines(72, 236, "rest", 6), columnLines(312, 72, "right", 8))
	ArrangePage(page)
	followEachOther(t, page, "left07", "(1)", "rest05", "right00")
}

// TestColumnsBelowRunningHead reads columns apart from the running head above them, whose middle leaves free what the first
// heading does: more room stands below it than between lines.
func TestColumnsBelowRunningHead(t *testing.T) {
	t.Parallel()
	const full = "kept the keys of the old tower and quay"
	column := func(x, y float64, name string, n int) (out []*inkstreamv1.Line) {
		for i := range n {
			out = append(out, at(x, y+12*float64(i), 10, fmt.Sprintf("%s%02d %s", name, i, full)))
		}
		return out
	}
	head := []*inkstreamv1.Line{at(59, 51, 10, "838"), at(251, 51, 10, "14 NOVEMBER 2001"), at(535, 51, 10, "952")}
	page := pageOf(head, column(316, 66, "right", 30), []*inkstreamv1.Line{at(59, 76, 10, "Recent school")}, column(59, 100, "left", 26))
	ArrangePage(page)
	followEachOther(t, page, "838", "Recent school", "left25", "right00")
}

// TestTableAtTheHeadOfAColumn reads a table that stands beside a picture, and reaches down beside the text below that,
// in its own column.
func TestTableAtTheHeadOfAColumn(t *testing.T) {
	t.Parallel()
	var rows []*inkstreamv1.Line
	for i := range 8 {
		rows = append(rows, at(312, 72+12*float64(i), 10, fmt.Sprintf("Item%d of wood", i)), at(450, 72+12*float64(i), 10, fmt.Sprintf("%d.50", 10+i)))
	}
	page := pageOf(rows, columnLines(72, 120, "left", 16), columnLines(312, 192, "right", 10))
	ArrangePage(page)
	followEachOther(t, page, "left00", "left15", "Item0", "Item7", "right00")
	if n := countTables(page); n != 1 {
		t.Errorf("got %d tables, want 1", n)
	}
}

// TestHeadingsAbovePictures reads each heading with the column below it, though pictures stand between.
func TestHeadingsAbovePictures(t *testing.T) {
	t.Parallel()
	heads := []*inkstreamv1.Line{at(72, 72, 12, "First trip"), at(312, 72, 12, "Second trip")}
	page := pageOf(heads, columnLines(72, 150, "left", 8), columnLines(312, 150, "right", 8))
	page.Images = []*inkstreamv1.Image{
		{Name: "1-1.png", Bbox: rect{312, 90, 500, 118}.toBox()}, // what is drawn in the other column is no image
	}
	ArrangePage(page)
	followEachOther(t, page, "First trip", "left07", "Second trip", "right07")
}

// TestTablesStackedBeside reads ruled tables under headings column by column.
func TestTablesStackedBeside(t *testing.T) {
	t.Parallel()
	var groups [][]*inkstreamv1.Line
	var rulings []*inkstreamv1.Ruling
	for k, name := range []string{"Oak", "Ash", "Elm", "Yew"} {
		x, y := 72+240*float64(k%2), 72+float64(k/2*76+k%2*7)
		groups = append(groups, []*inkstreamv1.Line{at(x, y, 10, name)})
		rulings = append(rulings, latticeOf([]float64{x, x + 80, x + 160}, []float64{y + 14, y + 34, y + 54})...)
		for i := range 2 {
			groups = append(groups, []*inkstreamv1.Line{at(x+4, y+20+20*float64(i), 10, name+"wood"), at(x+84, y+20+20*float64(i), 10, fmt.Sprint(12*k+i))})
		}
	}
	page := ruledPage(rulings, groups...)
	ArrangePage(page)
	followEachOther(t, page, "Oak", "Oakwood", "Elm", "Elmwood", "Ash", "Ashwood", "Yew", "Yewwood")
}

// TestBlankOfOneLine takes a gap for a blank that is all that parts one line of text, and for a gutter where it is wider.
func TestBlankOfOneLine(t *testing.T) {
	t.Parallel()
	for _, gap := range []float64{8, 14} {
		left := []segment{newSegment(at(38, 181, 10, "the shadow had been grey:").GetWords(), 0), newSegment(at(38, 193, 10, "nobody came").GetWords(), 0)}
		edge := left[0].x1
		right := newSegment(at(edge+gap, 181, 10, "our house was empty.").GetWords(), 0)
		right.order, left[1].order, right.continuesLine = 1, 2, true
		if got, want := isGutterByChance(left, []segment{right}, span{edge, edge + gap}, 10), gap < 10; got != want {
			t.Errorf("a gap of %v points: by chance %t, want %t", gap, got, want)
		}
	}
}

// TestLastLineAboveColumns keeps the last line of a paragraph with it, though it reaches over no gutter of the columns
// right below.
func TestLastLineAboveColumns(t *testing.T) {
	t.Parallel()
	const full = "the harbour was closed for the whole of the winter, and nobody came to see what had become of it all"
	text := down(72, 72, 10, full, full, "until the spring.")
	page := pageOf(text, columnLines(72, 114, "left", 8), columnLines(340, 114, "right", 8))
	ArrangePage(page)
	if n := len(page.Blocks[0].GetLines()); n != 3 {
		t.Errorf("got %d lines in the first block, want 3:\n%s", n, page.Text)
	}
}

// TestGutterOfJustifiedColumns knows a gutter as narrow as the blanks beside it, which two rows run over, by where the lines
// behind it begin.
func TestGutterOfJustifiedColumns(t *testing.T) {
	t.Parallel()
	for _, step := range []float64{0, 2} { // how far each line begins from the last
		var left, right []segment
		order := 0
		add := func(to *[]segment, x, y float64, text string, goes bool) {
			s := newSegment(at(x, y, 10, text).Words, 0)
			s.order, s.continuesLine = order, goes
			order++
			*to = append(*to, s)
		}
		for i := range 10 {
			y := 100 + 12*float64(i)
			add(&left, 50, y, "the harbour and the", false)
			if i > 1 {
				order += 5
			}
			edge := left[len(left)-1].x1
			add(&right, edge+12+step*float64(i), y, "is closed", i < 2)
			add(&right, right[len(right)-1].x1+14, y, "and open", true)
		}
		edge := left[0].x1
		if got, want := isGutterByChance(left, right, span{edge, edge + 12}, 10), step > 0; got != want {
			t.Errorf("lines that begin %v points apart: got %t, want %t", step, got, want)
		}
	}
}

// TestHeadingBetweenTables reads two tables of a few rows apart that a heading a little larger than the text parts.
func TestHeadingBetweenTables(t *testing.T) {
	t.Parallel()
	lines := gridLines(100, []float64{50, 240, 315, 373, 497}, "Test Result Unit Reference Flag")
	lines = append(lines, gridLines(114, []float64{55, 241, 316, 374, 497}, "Haemoglobin 11.2 g/dl 12.0–15.5 L", "Leukocytes 6.4 10⁹/l 4.0–10.0", "Platelets 251 10⁹/l 150–400", "Volume 78 fl 80–96 L")...)
	lines = append(lines, at(50, 178, 11.6, "Chemistry"))
	lines = append(lines, gridLines(196, []float64{50, 181, 265, 357, 488}, "Test Result Unit Reference Flag")...)
	lines = append(lines, gridLines(210, []float64{55, 184, 267, 359, 494}, "Sodium 139 mmol/l 135–145", "Potassium 4.2 mmol/l 3.5–5.1", "Ferritin 8 µg/l 15–150 L")...)
	page := pageOf(lines)
	ArrangePage(page)
	var rows []int32
	for _, table := range tablesOf(page) {
		rows = append(rows, table.GetRows())
	}
	if want := []int32{5, 4}; !slices.Equal(rows, want) {
		t.Errorf("got tables of %v rows, want %v: %q", rows, want, page.GetText())
	}
}
