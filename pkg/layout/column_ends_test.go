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
