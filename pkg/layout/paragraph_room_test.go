package layout

import (
	"fmt"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestLittleRoomBetweenParagraphs parts paragraphs that stand a little farther apart than their lines, and keeps lines
// together that do so once, in the middle of a sentence, or in a column without an even pitch.
func TestLittleRoomBetweenParagraphs(t *testing.T) {
	t.Parallel()
	const (
		full  = "The harbour was closed for the whole of the winter"
		ends  = "and nobody came to see what had become of the sea."
		short = "Until May."
	)
	for _, tt := range []struct {
		name  string
		lines []string
		steps []float64
		want  int
	}{
		{"short last lines", []string{full, full, short, full, full, short, full}, []float64{12, 12, 15, 12, 12, 15}, 3},
		{"full last lines, the same room again",
			[]string{full, ends, full, full, ends, full, full}, []float64{12, 15, 12, 12, 15, 12}, 3},
		{"a full line, room once", []string{full, full, ends, full, full}, []float64{12, 12, 15, 12}, 1},
		{"in the middle of a sentence", []string{full, "the ice", "and nobody came", ends, ends}, []float64{12, 15, 12, 12}, 1},
		{"no more room than rounding makes", []string{full, full, ends, full, full}, []float64{12, 12, 13, 12}, 1},
	} {
		var lines []*inkstreamv1.Line
		y := 72.0
		for i, text := range tt.lines {
			if i > 0 {
				y += tt.steps[i-1]
			}
			lines = append(lines, at(72, y, 10, text))
		}
		page := pageOf(lines)
		if ArrangePage(page); len(page.Blocks) != tt.want {
			t.Errorf("%s: got %d blocks, want %d:\n%s", tt.name, len(page.Blocks), tt.want, page.Text)
		}
	}
}

// TestRuledRows reads questions with answers beside them one by one where lines part them, and by columns where none
// do; not through a line in any case.
func TestRuledRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		ruled int     // lines from the second row on
		lower float64 // how much lower than the questions the answers begin
		want  bool
	}{
		{"lines between all", 4, 0, true},
		{"no lines", 0, 0, false},
		{"a line", 1, 0, true},
		{"texts that begin at other heights", 4, 12, false},
	} {
		var left, right []segment
		c := cutter{gutterJudge: gutterJudge{em: 10}}
		for i := range 5 {
			y := 100 + 60*float64(i)
			for j := range 2 {
				left = append(left, newSegment(at(50, y+12*float64(j), 10, fmt.Sprint("Question ", i)).Words, 0))
			}
			for j := range 4 - i%2 {
				right = append(right, newSegment(at(200, y+tt.lower+12*float64(j), 10, "It is answered in the report").Words, 0))
			}
			if i > 0 && i <= tt.ruled {
				c.rulings.across = append(c.rulings.across, ruling{y - 6, 50, 400})
			}
		}
		rows := c.findRuledRows([][]segment{left, right})
		if got := rows != nil; got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
		if tt.want && (len(rows) != tt.ruled+1 || len(rows[1]) != 2 || tt.ruled == 4 && (len(rows[1][0]) != 2 || len(rows[1][1]) != 3)) {
			t.Errorf("%s: got %v rows", tt.name, rows)
		}
	}
}

// TestLineInOneColumn reads the first line of a column that begins above the other with that column, though it has a
// wide blank of its own.
func TestLineInOneColumn(t *testing.T) {
	t.Parallel()
	m := bandMerger{em: 10}
	slab := func(y, y1 float64, lines ...*inkstreamv1.Line) pageBand {
		out := pageBand{y0: y, y1: y1, rows: 1}
		for _, l := range lines {
			out.segments = append(out.segments, newSegment(l.Words, 0))
		}
		out.freeSpans = freeSpans(out.segments, 50, 500, 10)
		return out
	}
	below := slab(112, 122, at(50, 112, 10, "Wines that sparkle"), at(300, 112, 10, "It is dry and light and goes"))
	for _, tt := range []struct {
		name  string
		above pageBand
		want  bool
	}{
		{"an entry with its price", slab(100, 110, at(300, 100, 10, "Riesling"), at(480, 100, 10, "15")), true},
		{"far above", slab(60, 70, at(300, 60, 10, "Riesling"), at(480, 60, 10, "15")), false},
		{"text in both columns", slab(100, 110, at(50, 100, 10, "Wines"), at(300, 100, 10, "Riesling")), false},
	} {
		if got := m.beginsOneColumn([]pageBand{tt.above, below}); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestEndsLastLine reads a date at the edge of the text in the line that it ends.
func TestEndsLastLine(t *testing.T) {
	t.Parallel()
	lines := func(lines ...*inkstreamv1.Line) (out []sideLine) {
		for _, l := range lines {
			out = append(out, newSideLine(l.Words))
			out[len(out)-1].rect = newSegment(l.Words, 0).rect
		}
		return out
	}
	left := lines(at(50, 100, 10, "was opened again."), at(50, 116, 10, "Keeper of the library"))
	for _, tt := range []struct {
		name  string
		right []sideLine
		want  bool
	}{
		{"a date", lines(at(400, 116, 10, "2013–2015")), true},
		{"beside the line before", lines(at(400, 100, 10, "2013–2015")), false},
		{"words", lines(at(400, 116, 10, "Invoice")), false},
		{"several lines", lines(at(400, 104, 10, "Page 4"), at(400, 116, 10, "May 2013")), false},
	} {
		if got := endsLastLine(left, tt.right, 10); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
	if endsLastLine(nil, lines(at(400, 116, 10, "2013–2015")), 10) {
		t.Error("a date ends a line where there is none")
	}
}

// TestHeadingAboveTableHead takes the heading of a table, above a head that does not reach across the columns above
// it, to the table.
func TestHeadingAboveTableHead(t *testing.T) {
	t.Parallel()
	m := bandMerger{em: 10}
	slab := func(y, size float64, lines ...*inkstreamv1.Line) pageBand {
		out := pageBand{y0: y, y1: y + size, rows: 1}
		for _, l := range lines {
			out.segments = append(out.segments, newSegment(l.Words, 0))
			out.segments[len(out.segments)-1].size = size
		}
		return out
	}
	for size, want := range map[float64]int{14: 1, 10: 3} {
		slabs := []pageBand{slab(100, 10, at(50, 100, 10, "the voltage of the supply"), at(300, 100, 10, "and the clock")),
			slab(120, size, at(50, 120, size, "Pins")),
			slab(120+size+10, 10, at(50, 130+size, 10, "Pin"), at(90, 130+size, 10, "Name"), at(140, 130+size, 10, "Type"),
				at(190, 130+size, 10, "Use"))}
		if got := m.findTableHead(slabs, 0, 3); got != want {
			t.Errorf("heading of size %g: got slab %d, want %d", size, got, want)
		}
	}
}

// TestLinesThatEndEarly parts recognised text where a line of a justified column ends though the next word had room,
// and not where lines end anywhere, beside a picture, or in the middle of the column.
func TestLinesThatEndEarly(t *testing.T) {
	t.Parallel()
	const full = "The harbour was closed for the whole of the winter"
	ragged := []string{"The harbour was closed for the whole", "of the winter, and nobody came to see", "it", "until the ice had gone and the first ship came",
		"in May", "from the islands with all its cargo"}
	for _, tt := range []struct {
		name  string
		lines []string
		x     map[int]float64
		want  int
	}{
		{"a heading", []string{"Of the harbour", full, full, full, full}, nil, 2},
		{"a last line", []string{full, full, "until May.", full, full, full}, nil, 2},
		{"lines that end anywhere", ragged, nil, 1},
		{"a last line of ragged text", []string{"the harbour was closed for the whole of the wint,", "and nobody came to see what had become of it all", "before the ice had gone.",
			"Ships from the islands with cargoes of every kind", "came then, and of wood, and stayed for a long time,", "because the winds were of no use to them, and the", "nights too short."}, nil, 2},
		{"beside a picture", []string{full, full, full, full, "The harbour was closed for", "the winter and the sum of"}, nil, 1},
		{"in the middle", []string{"The whole of the year", full, full, full, full}, map[int]float64{0: 137}, 1},
	} {
		var lines []*inkstreamv1.Line
		for i, text := range tt.lines {
			x := 72.0
			if tt.x[i] > 0 {
				x = tt.x[i]
			}
			lines = append(lines, at(x, 72+12*float64(i), 10, text))
		}
		page := recognised(lines)
		if ArrangePage(page); len(page.Blocks) != tt.want {
			t.Errorf("%s: got %d blocks, want %d:\n%s", tt.name, len(page.Blocks), tt.want, page.Text)
		}
	}
}

// TestEntriesAreBlocks parts entries that hang, entries that stand farther apart than their lines, and double-spaced
// paragraphs, and keeps paragraphs with an indent at their first line whole.
func TestEntriesAreBlocks(t *testing.T) {
	t.Parallel()
	const (
		full = "the harbour was closed for the whole of the winter, as"
		last = "the ice had not gone."
	)
	for _, tt := range []struct {
		name        string
		indent, gap float64 // of lines that go on; above entries
		step        float64
		want        int
	}{
		{"hanging", 12, 0, 12, 6},
		{"far apart", 0, 8, 12, 6},
		{"double-spaced", 0, 24, 24, 6},
		{"an indent at the first line", -12, 0, 12, 6},
	} {
		var lines []*inkstreamv1.Line
		y := 72.0
		for range 6 {
			for i, text := range []string{"Ashford " + full[4:], full, last} {
				x := 90.0
				if i > 0 {
					x += tt.indent
				}
				lines = append(lines, at(x, y, 10, text))
				y += tt.step
			}
			y += tt.gap
		}
		page := pageOf(lines)
		if ArrangePage(page); len(page.Blocks) != tt.want {
			t.Errorf("%s: got %d blocks, want %d:\n%s", tt.name, len(page.Blocks), tt.want, page.Text)
		}
	}
}

// TestIndentedFirstLines parts paragraphs whose first lines are indented, where the line above is full too.
func TestIndentedFirstLines(t *testing.T) {
	t.Parallel()
	const full = "the harbour was closed for the whole of the winter"
	var lines []*inkstreamv1.Line
	for i, last := range []string{"until May.", "until the ice had gone.", full, full} {
		y := 72 + 36*float64(i)
		lines = append(lines, at(90, y, 10, full[4:]), at(72, y+12, 10, full), at(72, y+24, 10, last))
	}
	page := pageOf(lines)
	if ArrangePage(page); len(page.Blocks) != 4 {
		t.Errorf("got %d blocks, want 4:\n%s", len(page.Blocks), page.Text)
	}
}

// TestSecondLineOfAnItem keeps the second line of an item, below the first one's text, though it ends short and the
// lines about it stand farther to the left.
func TestSecondLineOfAnItem(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i := range 4 {
		y := 72 + 24*float64(i)
		first := at(72, y, 10, "• The harbour was closed for the whole")
		for _, w := range first.GetWords()[1:] {
			w.Bbox[0], w.Bbox[2] = w.Bbox[0]+4, w.Bbox[2]+4
		}
		second := at(float64(first.GetWords()[1].GetBbox()[0]), y+12, 10, "of the winter")
		lines = append(lines, first, second)
	}
	lines = append(lines, at(72, 170, 10, "So it was that nobody came to see what had become of the sea in all that time"))
	page := pageOf(lines)
	if ArrangePage(page); len(page.Blocks) != 5 {
		t.Errorf("got %d blocks, want 5:\n%s", len(page.Blocks), page.Text)
	}
}

// TestHeightsOfFonts keeps lines of one size together whose fonts have boxes of other heights.
func TestHeightsOfFonts(t *testing.T) {
	t.Parallel()
	const text = "The harbour was closed for the whole of the winter and"
	var lines []*inkstreamv1.Line
	for i := range 6 {
		line := at(72, 72+12*float64(i), 10, text)
		if i == 3 {
			for _, w := range line.GetWords() {
				w.Bbox[1] -= 6
			}
		}
		lines = append(lines, line)
	}
	page := pageOf(lines)
	if ArrangePage(page); len(page.Blocks) != 1 {
		t.Errorf("got %d blocks, want 1:\n%s", len(page.Blocks), page.Text)
	}
}

// TestItemsDoNotMakeParagraphsHang keeps the lines of a paragraph together above items that wrap below their text.
func TestItemsDoNotMakeParagraphsHang(t *testing.T) {
	t.Parallel()
	const full = "the harbour was closed for the whole of the winter and"
	lines := down(72, 72, 10, "In the year "+full[:42], full, full, full, full, "nobody came.")
	y := 150.0
	for range 4 {
		lines = append(lines, at(72, y, 10, "• "+full[:50]), at(80, y+12, 10, full[:52]), at(80, y+24, 10, "nobody came."))
		y += 36
	}
	page := pageOf(lines)
	if ArrangePage(page); len(page.Blocks) != 5 {
		t.Errorf("got %d blocks, want 5:\n%s", len(page.Blocks), page.Text)
	}
}

// TestTextBelowCloseNotes keeps a paragraph whole below notes whose lines stand closer than its own, though lines that
// begin at the edge and at an indent look like entries that hang.
func TestTextBelowCloseNotes(t *testing.T) {
	t.Parallel()
	const full = "the harbour was closed for the whole of the winter and"
	var lines []*inkstreamv1.Line
	for i := range 8 {
		lines = append(lines, at(82, 72+11*float64(i), 10, "No. a long note of the year"))
	}
	for i := range 5 {
		x, text := 72.0, full
		if i == 0 {
			x, text = 82, full[2:]
		}
		lines = append(lines, at(x, 165+17*float64(i), 10, text))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if last := page.Blocks[len(page.Blocks)-1]; len(last.GetLines()) != 5 {
		t.Errorf("got %d lines in the last block, want 5:\n%s", len(last.GetLines()), page.Text)
	}
}
