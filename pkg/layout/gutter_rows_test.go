package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestTextBesideTable reads text beside a table by itself, whose lines are not level with the table's rows, and the
// rows whose last column is text across.
func TestTextBesideTable(t *testing.T) {
	t.Parallel()
	rows := func() (out []*inkstreamv1.Line) {
		for i := range 40 {
			y := 100 + 13*float64(i)
			out = append(out, at(40, y, 10, fmt.Sprintf("Item%d", i)), at(130, y, 10, fmt.Sprint(4711+97*i)),
				at(190, y, 10, fmt.Sprint(815+31*i)), at(250, y, 10, fmt.Sprint(9042+53*i)))
		}
		return out
	}
	for _, recognises := range []bool{true, false} {
		arrange := func(left, right []*inkstreamv1.Line) string {
			page := pageOf(interleaved(left, right))
			if recognises {
				page = tightlyRecognised(left, right)
			}
			ArrangeJudged(page, Judge{Gutter: func(GutterSample) bool { return false }}) // the model's answer wherever figures are near
			return page.GetText()
		}
		beside := slices.Concat(down(300, 104, 10, "Background"), down(300, 123, 12, columnText(4)...))
		for i := range 8 {
			beside = append(beside, at(300, 217+31*float64(i), 10, fmt.Sprintf("Scenario %d", i+1)), at(450, 217+31*float64(i), 10, fmt.Sprint(35+i)))
		}
		text := arrange(rows(), beside)
		if whole := strings.Join(columnText(4), " "); !strings.Contains(strings.Join(strings.Fields(text), " "), whole) ||
			strings.Index(text, "The council") < strings.Index(text, "Item39") {
			t.Errorf("recognised %v: the text beside the table is not read after it: %q", recognises, text)
		}
		var remarks []*inkstreamv1.Line
		for i := range 40 {
			remarks = append(remarks, at(300, 100+13*float64(i), 10, fmt.Sprintf("Delivered on day %d", i)))
		}
		text = strings.Join(strings.Fields(arrange(rows(), remarks)), " ")
		if !strings.Contains(text, "9201 Delivered on day 3") {
			t.Errorf("recognised %v: rows are not read across: %q", recognises, text)
		}
	}
}

// TestStandBetweenRows tells lines that are level with rows, or in the middle of those they belong to, from such as
// stand anywhere.
func TestStandBetweenRows(t *testing.T) {
	t.Parallel()
	const em = 10
	lines := func(n int, at func(i int) float64) (out []float64) {
		for i := range n {
			out = append(out, at(i))
		}
		return out
	}
	rows := lines(20, func(i int) float64 { return 12 * float64(i) })
	for _, tt := range []struct {
		name        string
		lines, rows []float64
		want        bool
	}{
		{"another pitch", lines(15, func(i int) float64 { return 4 + 15*float64(i) }), rows, true},
		{"level", lines(20, func(i int) float64 { return 12*float64(i) + float64(i%3) - 1 }), rows, false},
		{"level, with an offset", lines(20, func(i int) float64 { return 4 + 12*float64(i) }), rows, false},
		{"in the middle of two or three lines", lines(8, func(i int) float64 { return 30*float64(i) + 6*float64(i%2) }), rows, false},
		{"few", lines(5, func(i int) float64 { return 4 + 15*float64(i) }), rows, false},
		{"rows apart", lines(15, func(i int) float64 { return 4 + 15*float64(i) }), lines(10, func(i int) float64 { return 24 * float64(i) }), false},
	} {
		if got := standBetweenRows(tt.lines, tt.rows, em); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestCellsBetweenRules keeps a table whole whose cells of a few words stand between lines drawn across it.
func TestCellsBetweenRules(t *testing.T) {
	t.Parallel()
	cells := [2][]sideLine{}
	var rulings []*inkstreamv1.Ruling
	for i := range 6 {
		y := 100 + 30*float64(i)
		for side, x := range []float64{60, 200} {
			for k, text := range []string{"Geography", "Room 14"} {
				cells[side] = append(cells[side], buildSide([]segment{newSegment(at(x, y+12*float64(k), 10, text).GetWords(), 0)}, 10)...)
			}
		}
		rulings = append(rulings, across(50, 300, y-3)...)
	}
	gap := span{110, 200}
	for _, tt := range []struct {
		rulings []*inkstreamv1.Ruling
		want    bool
	}{{rulings, true}, {rulings[:3], false}} {
		j := gutterJudge{em: 10, rulings: collectRulings(tt.rulings, 0)}
		if got := j.areCellsBetweenRules(cells[0], cells[1], gap); got != tt.want {
			t.Errorf("%d lines across: got %t, want %t", len(tt.rulings), got, tt.want)
		}
		for _, side := range [][2][]sideLine{{cells[0], nil}, {nil, cells[1]}, {}} { // the other side is a table by itself
			if j.isColumnGutter(side[0], side[1], gap, 1); j.areCellsBetweenRules(side[0], side[1], gap) {
				t.Errorf("%d lines across: %d and %d lines are cells of one table", len(tt.rulings), len(side[0]), len(side[1]))
			}
		}
	}
}

// TestRowsBelowHead reads a table of text across whose lines are those of typographers: above and below its head, and below
// its last row.
func TestRowsBelowHead(t *testing.T) {
	t.Parallel()
	var rows []*inkstreamv1.Line
	for i, row := range [][3]string{{"Parameter", "Default", "Meaning"}, {"delay", "2742", "How long a reader waits for an answer of"},
		{"", "", "the house before it asks again"}, {"retries", "5", "How often it asks"}, {"limit", "1268", "The most that a reader may ask for in an"},
		{"", "", "hour, by the clock of the house"}, {"name", "41", "What the house is called by its readers"}} {
		for side, x := range []float64{60, 200, 260} {
			if row[side] != "" {
				rows = append(rows, at(x, 100+14*float64(i), 10, row[side]))
			}
		}
	}
	lines := across(58, 480, 96, 113, 200)
	page := ruledPage(lines, rows)
	ArrangePage(page)
	if len(page.GetBlocks()) != 1 || page.GetBlocks()[0].GetTable().GetColumns() != 3 || page.GetBlocks()[0].GetTable().GetRows() != 5 {
		t.Errorf("with its lines the table reads %q", allText(page))
	}
	j := gutterJudge{em: 10, rulings: collectRulings(lines, 0)}
	sides := [2][]sideLine{}
	for _, r := range rows[3:] {
		side := 0
		if r.GetWords()[0].GetBbox()[0] > 70 {
			side = 1
		}
		sides[side] = append(sides[side], buildSide([]segment{newSegment(r.GetWords(), 0)}, 10)...)
	}
	for _, tt := range []struct {
		lines []*inkstreamv1.Ruling
		want  bool
	}{{lines, true}, {lines[1:], false}, {across(58, 480, 96, 113, 300), false}, {append(across(58, 480, 113, 200), across(58, 300, 96)...), false}} {
		j.rulings = collectRulings(tt.lines, 0)
		if got := j.areRowsBelowHead(sides[0], sides[1]); got != tt.want {
			t.Errorf("lines %v: got %t, want %t", tt.lines, got, tt.want)
		}
	}
}

// TestNoteBelowTable leaves a footnote, whose mark stands apart from its text, out of the table above it, be it long or short,
// but no row of sums.
func TestNoteBelowTable(t *testing.T) {
	t.Parallel()
	rows := []string{"Kitchen", "Colour", "Family", "Forest", "7,757", "2,598", "Library", "9,410", "6,925", "Window", "6,881", "540"}
	for _, tt := range []struct {
		mark, text string
		x          float64
		want       int32
	}{
		{"1", "Before each movement closed the building, the natural valley was given to each merchant.", 74, 4},
		{"12", "Nobody saw it.", 80, 4},
		{"Net", "24,048", 196, 5},
	} {
		var lines []*inkstreamv1.Line
		for i, text := range rows {
			lines = append(lines, at(60+140*float64(i%3), 100+14*float64(i/3), 10, text))
		}
		page := ruledPage(across(60, 160, 154), append(lines, at(60, 158, 9, tt.mark), at(tt.x, 158, 9, tt.text)))
		ArrangePage(page)
		if got := page.GetBlocks()[0].GetTable(); got.GetRows() != tt.want || got.GetColumns() != 3 {
			t.Errorf("%s %s: the table and what is below it read %q", tt.mark, tt.text, allText(page))
		}
	}
}
