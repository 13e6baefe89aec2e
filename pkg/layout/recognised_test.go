package layout

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestTablesOfSkewedPages finds the rows of a table on a page that was scanned askew, and leaves its words where they
// stand.
func TestTablesOfSkewedPages(t *testing.T) {
	t.Parallel()
	const skew = 1.9
	p := recognised(gridLines(100, []float64{50, 200, 330, 420, 510}, "Item Folio Debit Credit Balance", "Lamps 48 16,965.21 0.50 6.11",
		"Chairs 53 3,460.45 1.97 55.86", "Tables 97 50.15 12.74 29,745.67", "Shelves 47 6.46 2.30 1,665.02", "Desks 83 52.28 7.10 82.70"))
	p.Skew = skew
	skewWords(p, skew)
	checkTableInPlace(t, p)
	block := rectFromBox(p.GetBlocks()[0].GetBbox())
	for _, w := range PageWords(p) {
		if r := rectFromBox(w.GetBbox()); !isInside(r, block) {
			t.Errorf("%s at %v lies outside its table at %v", w.GetText(), r, block)
		}
	}
}

// TestTablesOfSkewedLayers finds the rows of a table in a text layer that runs askew as its scan does.
func TestTablesOfSkewedLayers(t *testing.T) {
	t.Parallel()
	const skew = -1.9
	p := recognised(gridLines(100, []float64{50, 200, 330, 420, 510}, "Item Folio Debit Credit Balance", "Lamps 48 16,965.21 0.50 6.11",
		"Chairs 53 3,460.45 1.97 55.86", "Tables 97 50.15 12.74 29,745.67", "Shelves 47 6.46 2.30 1,665.02", "Desks 83 52.28 7.10 82.70"))
	var rows []*inkstreamv1.Line
	for _, w := range PageWords(p) {
		w.Size, w.Confidence = 0, nil
		if last := len(rows) - 1; last < 0 || rows[last].GetWords()[0].GetBbox()[1] != w.GetBbox()[1] {
			rows = append(rows, &inkstreamv1.Line{})
		}
		rows[len(rows)-1].Words = append(rows[len(rows)-1].Words, w)
	}
	p.Blocks = []*inkstreamv1.Block{{Lines: rows}}
	skewWords(p, skew)
	p.Blocks = append(p.Blocks, &inkstreamv1.Block{Lines: down(40, 810, 8, "Received on Tuesday by the Board of Works")}) // stamped, in type of a size
	checkTableInPlace(t, p)
	if got := p.GetSkew(); math.Abs(float64(got)-skew) > 0.1 {
		t.Errorf("skew: got %.2f, want %.2f", got, skew)
	}
}

// skewWords turns a page's words about its middle, as a recogniser gives those of a skewed page: in boxes about their
// corners.
func skewWords(p *inkstreamv1.Page, skew float64) {
	sin, cos := math.Sincos(skew * math.Pi / 180)
	for _, w := range PageWords(p) {
		r := rectFromBox(w.GetBbox())
		x, y := (r.x0+r.x1)/2-595.0/2, r.centerY()-842.0/2
		x, y = x*cos+y*sin+595.0/2, y*cos-x*sin+842.0/2
		width, height := r.width()*cos+r.height()*sin, r.height()*cos+r.width()*sin
		w.Bbox = rect{x - width/2, y - height/2, x + width/2, y + height/2}.toBox()
	}
}

// TestTablesOfBentPages finds the rows of a table whose lines are bent by more than the distance of two rows, and
// leaves its words where they stand.
func TestTablesOfBentPages(t *testing.T) {
	t.Parallel()
	p := recognised(gridLines(100, []float64{50, 200, 330, 420, 510}, "Item Folio Debit Credit Balance", "Lamps 48 16,965.21 0.50 6.11",
		"Chairs 53 3,460.45 1.97 55.86", "Tables 97 50.15 12.74 29,745.67", "Shelves 47 6.46 2.30 1,665.02", "Desks 83 52.28 7.10 82.70"))
	p.Bend = []float32{0, 4, 12, 24, 40}
	bent := skewedPage{bend: p.Bend, centerX: float64(p.Width) / 2}
	for _, w := range PageWords(p) {
		r := rectFromBox(w.GetBbox())
		down := bent.bendAt((r.x0 + r.x1) / 2)
		w.Bbox = rect{r.x0, r.y0 + down, r.x1, r.y1 + down}.toBox()
	}
	checkTableInPlace(t, p)
}

// checkTableInPlace arranges a page and checks that it has one table of 6 rows and 5 columns, and its words where they
// were.
func checkTableInPlace(t *testing.T, p *inkstreamv1.Page) {
	t.Helper()
	var want []string
	for _, w := range PageWords(p) {
		want = append(want, fmt.Sprint(w.GetText(), w.GetBbox()))
	}
	ArrangePage(p)
	tables := tablesOf(p)
	if len(tables) != 1 || tables[0].GetRows() != 6 || tables[0].GetColumns() != 5 {
		t.Fatalf("got %d tables, want one of 6 rows and 5 columns: %q", len(tables), p.GetText())
	}
	var got []string
	for _, w := range PageWords(p) {
		got = append(got, fmt.Sprint(w.GetText(), w.GetBbox()))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("words stand elsewhere: got %v, want %v", got, want)
	}
}

func TestBendAt(t *testing.T) {
	t.Parallel()
	s := skewedPage{bend: []float32{0, 4, 2}, centerX: 100}
	for x, want := range map[float64]float64{-10: 0, 0: 0, 50: 2, 100: 4, 150: 3, 200: 2, 900: 2} {
		if got := s.bendAt(x); got != want {
			t.Errorf("at %v: got %v, want %v", x, got, want)
		}
	}
	if got := (&skewedPage{centerX: 100}).bendAt(50); got != 0 {
		t.Errorf("a straight page: got %v, want 0", got)
	}
}

// TestLinesAcrossColumns puts a page in order whose recogniser took the lines of two columns for one, and keeps the
// order of one that did not.
func TestLinesAcrossColumns(t *testing.T) {
	t.Parallel()
	text := func(name string) []string {
		var out []string
		for i := range 12 {
			out = append(out, fmt.Sprintf("this is the text of the %s column, which goes on", name), fmt.Sprintf("from line to line until number %d of them is full", i))
		}
		return out
	}
	left, right := down(40, 60, 9, text("left")...), down(310, 60, 9, text("right")...)
	join := func(left, right []*inkstreamv1.Line) []*inkstreamv1.Line {
		out := make([]*inkstreamv1.Line, len(left))
		for i := range left {
			out[i] = &inkstreamv1.Line{Words: slices.Concat(left[i].Words, right[i].Words)}
		}
		return out
	}
	// Lines so far apart are each a block.
	apart := func(x float64, name string) (out []*inkstreamv1.Line) {
		for i, l := range text(name) {
			out = append(out, down(x, 60+30*float64(i), 9, l)...)
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		lines []*inkstreamv1.Line
	}{
		{"lines over both columns", join(left, right)},
		{"lines far apart over both columns", join(apart(40, "left"), apart(310, "right"))},
		{"columns", slices.Concat(left, right)},
	} {
		p := recognised(tt.lines)
		ArrangePage(p)
		if last, first := strings.LastIndex(p.GetText(), "left"), strings.Index(p.GetText(), "right"); last < 0 || first < last {
			t.Errorf("%s: the left column does not come first: %q", tt.name, p.GetText())
		}
	}
}

// TestColumnsEndAtRules reads what stands above a line across the whole text before what stands below it, though the
// columns go on at the same places and the recogniser read them through; without the line they are read through.
func TestColumnsEndAtRules(t *testing.T) {
	t.Parallel()
	column := func(x, y float64) []*inkstreamv1.Line { return down(x, y, 9, columnText(10)...) }
	part := func(name string, lines []*inkstreamv1.Line) []*inkstreamv1.Line {
		lines[0].Words[0].Text = name
		return lines
	}
	for name, tt := range map[string]struct {
		recognised bool
		rule       rect
		want       string
	}{
		"recognised, a rule":       {true, rect{40, 172, 420, 173}, "A B C D"},
		"recognised, a short rule": {true, rect{40, 172, 200, 173}, "A C B D"},
		"recognised, none":         {true, rect{}, "A C B D"},
		"native, a rule":           {false, rect{40, 172, 420, 173}, "A B C D"},
		"native, none":             {false, rect{}, "A C B D"},
	} {
		parts := [][]*inkstreamv1.Line{part("A", column(40, 60)), part("C", column(40, 178)), part("B", column(240, 60)), part("D", column(240, 178))}
		page := pageOf(parts...)
		if tt.recognised {
			page = recognised(parts...)
		}
		if tt.rule != (rect{}) {
			page.Rulings = []*inkstreamv1.Ruling{{Bbox: tt.rule.toBox()}}
		}
		ArrangePage(page)
		var got []string
		for _, w := range PageWords(page) {
			if strings.Contains("ABCD", w.GetText()) {
				got = append(got, w.GetText())
			}
		}
		if order := strings.Join(got, " "); order != tt.want {
			t.Errorf("%s: got %q, want %q", name, order, tt.want)
		}
	}
}

// TestLastLinesAcrossColumns puts a page in order of whose three columns the recogniser took the last lines for one.
func TestLastLinesAcrossColumns(t *testing.T) {
	t.Parallel()
	const count, apart = 40, 34 // lines of a column, and those that were read column by column
	var columns [3][]*inkstreamv1.Line
	for i, name := range []string{"left", "middle", "right"} {
		var text []string
		for n := range count / 2 {
			text = append(text, fmt.Sprintf("this text of the %s", name), fmt.Sprintf("goes on until line %d", 2*n+1))
		}
		columns[i] = down(40+180*float64(i), 60, 9, text...)
	}
	var across []*inkstreamv1.Line
	for n := apart; n < count; n++ {
		across = append(across, &inkstreamv1.Line{Words: slices.Concat(columns[0][n].Words, columns[1][n].Words, columns[2][n].Words)})
	}
	p := recognised(columns[0][:apart], columns[1][:apart], columns[2][:apart], across)
	ArrangePage(p)
	text := p.GetText()
	if strings.LastIndex(text, "left") > strings.Index(text, "middle") || strings.LastIndex(text, "middle") > strings.Index(text, "right") {
		t.Errorf("columns are mixed: %q", text)
	}
}
