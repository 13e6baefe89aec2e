package layout

import (
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// oneLine joins lines of words to one, as an engine takes them for one line whose boxes overlap.
func oneLine(lines ...*inkstreamv1.Line) *inkstreamv1.Line {
	out := &inkstreamv1.Line{}
	for _, l := range lines {
		out.Words = append(out.Words, l.Words...)
	}
	return out
}

// centredRow sets the cells of a row, each with its lines in the middle of the row's height, which begins at y.
func centredRow(y float64, columns []float64, cells ...string) []*inkstreamv1.Line {
	const pitch = 11.6
	tallest := 0
	for _, c := range cells {
		tallest = max(tallest, strings.Count(c, "\n")+1)
	}
	var out []*inkstreamv1.Line
	for i, c := range cells {
		lines := strings.Split(c, "\n")
		top := y + pitch*float64(tallest-len(lines))/2
		for k, text := range lines {
			out = append(out, at(columns[i], top+pitch*float64(k), 10, text))
		}
	}
	return out
}

var centredColumns = []float64{50, 130, 210, 330}

// registerRows are rows with cells of one line and of two in each of three columns.
var registerRows = [][]string{
	{"Early forest", "Judith\nFairfax", "13 June\n2000", "The harbour measured the large\nmagazine of the summer"},
	{"Model", "Nils Sutton", "2017-06-\n15", "Our early railway follows the\nriver and a law in the winter"},
	{"Volume", "Judith\nTanaka", "23 Dec\n2013", "Our family follows the payment"},
	{"Narrow\nmuseum", "Frank\nLangley", "2 Jan\n2025", "Some narrow distance opened the\nmovement against a village"},
	{"Public vessel", "Nils Hollis", "2019-12-\n06", "Every small structure visited the\ncouncil behind the agreement"},
}

// TestCentredCellsInOneLine reads rows whose cells stand in the middle of their height, where the engine has taken words
// for one line that stand half a line apart.
func TestCentredCellsInOneLine(t *testing.T) {
	t.Parallel()
	lines := gridLines(180, centredColumns, "Item Name Due Work")
	for i, cells := range registerRows {
		row := centredRow(198+32*float64(i), centredColumns, cells...)
		slices.SortStableFunc(row, func(a, b *inkstreamv1.Line) int { return int(a.Words[0].Bbox[0] - b.Words[0].Bbox[0]) })
		n := len(row)
		lines = append(append(lines, row[:n-2]...), oneLine(row[n-2:]...))
	}
	page := pageOf(lines)
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 || tables[0].GetRows() != 6 || !hasCell(tables[0], "2017-06-15") || !hasCell(tables[0], "Narrow museum") {
		t.Fatalf("got %v: %q", tables, page.GetText())
	}
}

// TestCentredCellsBesideGutter tells rows with centred cells from texts side by side, which begin level if at all.
func TestCentredCellsBesideGutter(t *testing.T) {
	t.Parallel()
	for name, top := range map[string]bool{"centred": false, "level at the top": true} {
		var left, right []segment
		for i, cells := range [][2]string{{"The harbour\nand the sea\nof the north", "Border"}, {"A forest\nin winter\nand in spring", "Kitchen"},
			{"Some house", "Letter\nof a friend"}, {"The ferry\nat night", "Town"}, {"A mole", "Quay"}} {
			for side, into := range []*[]segment{&left, &right} {
				row := centredRow(100+50*float64(i), []float64{50, 200}, cells[0], cells[1])
				if top {
					row = append(centredRow(100+50*float64(i), []float64{50}, cells[0]), centredRow(100+50*float64(i), []float64{200, 200}, cells[1])...)
				}
				for _, l := range row {
					if (l.Words[0].Bbox[0] < 200) == (side == 0) {
						*into = append(*into, newSegment(l.Words, 0))
					}
				}
			}
		}
		if got := areCentredRows(buildSide(left, 10), buildSide(right, 10), 10); got == top {
			t.Errorf("%s: centred rows: %v", name, got)
		}
	}
}

// TestCentredRowAlone takes one row by itself for no columns of text: three cells have their middle at one height, and
// one a few words.
func TestCentredRowAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		cells []string
		want  bool
	}{
		{"a row", []string{"Narrow\nlecture", "The photograph completed the large\nnetwork, and the knowledge follows a\nborder", "7528"}, true},
		{"level with the line in the middle", []string{"Narrow", "The photograph completed the large\nnetwork, and the knowledge follows a\nborder", "7528"}, false},
		{"even cells", []string{"Narrow\nlecture", "The photograph\ncompleted", "7528\n7529"}, false},
		{"two cells", []string{"Narrow\nlecture", "The photograph completed the large\nnetwork, and the knowledge follows a\nborder"}, false},
		{"texts", []string{"The house of the captain stands\nnear the quay", "The photograph completed the large\nnetwork, and the knowledge follows a\nborder", "A letter of the council to the mayor"}, false},
	} {
		columns := []float64{50, 240, 450}
		parts := make([][]segment, len(tt.cells))
		for _, l := range centredRow(100, columns, tt.cells...) {
			i := slices.Index(columns, float64(l.Words[0].Bbox[0]))
			parts[i] = append(parts[i], newSegment(l.Words, 0))
		}
		if got := (columnSplitter{gutterJudge{em: 10}}).areCentredCells(parts); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// TestCentredNumberOfQuestion reads the number of a question, the question, and the marks for it, one after the other,
// though the number and the marks stand in the middle of the question's height.
func TestCentredNumberOfQuestion(t *testing.T) {
	t.Parallel()
	columns := []float64{50, 75, 480}
	var lines []*inkstreamv1.Line
	var want []string
	y := 100.0
	for i, question := range []string{"Which of the towns along the river had a harbour before\nthe storm came?", "Who wrote the letter to the council, and what did the\nmayor answer to it?"} {
		number, marks := string(rune('1'+i))+".", "(4 marks)"
		lines = append(lines, centredRow(y, columns, number, question, marks)...)
		want = append(want, number, strings.ReplaceAll(question, "\n", " "), marks)
		lines = append(lines, at(75, y+40, 10, "a) The first one that is named in the text"))
		y += 70
	}
	page := pageOf(lines)
	ArrangePage(page)
	text := strings.Join(strings.Fields(page.GetText()), " ")
	for _, w := range want {
		i := strings.Index(text, w)
		if i < 0 {
			t.Fatalf("%q does not follow in\n%s", w, page.GetText())
		}
		text = text[i+len(w):]
	}
}

// TestCountedItemsInRuledTable keeps the numbers of items that are ruled off from one another, some with text of several
// lines beside them: they count no lines.
func TestCountedItemsInRuledTable(t *testing.T) {
	t.Parallel()
	xs, ys := []float64{50, 80, 300, 380}, []float64{100}
	var lines []*inkstreamv1.Line
	for i := range 12 {
		y := ys[len(ys)-1]
		text := "The ferry leaves the quay"
		if i%2 == 0 {
			text += "\nand comes back at night"
		}
		height := 16 + 12*float64(strings.Count(text, "\n"))
		lines = append(lines, centredRow(y+4, []float64{55, 85, 305}, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}[i], text, "40.10")...)
		ys = append(ys, y+height)
	}
	page := ruledPage(latticeOf(xs, ys), lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetRows() != 12 || tables[0].GetColumns() != 3 {
		t.Errorf("got %v, want a table of 12 rows", tables)
	}
}

// TestBrokenFiguresInRuledTable keeps the rows of a table that lines part whose narrow columns break figures and dates.
func TestBrokenFiguresInRuledTable(t *testing.T) {
	t.Parallel()
	xs, ys := []float64{50, 150, 195, 250, 310, 370}, []float64{100, 116, 142, 168, 194, 210}
	var lines []*inkstreamv1.Line
	columns := []float64{53, 153, 198, 253, 313}
	for i, cells := range [][]string{{"Colour", "1990", "Due", "1992", "1993"}, {"Quiet century", "94,540.0\n2", "2000-12-\n10", "480.79", "4,836.01"},
		{"Heavy cargo", "6,218.43", "2001-04-\n11", "9,333.37", "421.70"}, {"Early tide", "77,890.1\n7", "2003-05-\n17", "1,389.20", "63.10"}, {"Museum", "8,045.54", "2004-1-2", "661.19", "84.02"}} {
		lines = append(lines, centredRow(ys[i]+4, columns, cells...)...)
	}
	page := ruledPage(latticeOf(xs, ys), lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetRows() != 5 {
		t.Errorf("got %v, want a table of 5 rows", tables)
	}
}

// TestLabelsOfTwoLines reads a log of changes whose dates take two lines, as many as some of the entries beside them.
func TestLabelsOfTwoLines(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	var want []string
	y := 80.0
	for i, date := range []string{"16 Oct|2003", "1996-|09-22", "1 Dec|2005", "19 June|1993"} {
		entry := entryText[i%2 : i%2+2+i%2]
		for j, line := range entry {
			if parts := strings.Split(date, "|"); j < len(parts) {
				lines = append(lines, at(50, y, 10, parts[j]))
			}
			lines = append(lines, at(110, y, 10, line))
			y += 12
		}
		want = append(want, strings.Fields(strings.ReplaceAll(date, "|", " "))[0], strings.Join(entry, "\n"))
		y += 5
	}
	page := pageOf(lines)
	ArrangePage(page)
	followEachOther(t, page, want...)
}

// TestHeadBeforeFigures keeps a column of figures whose head stands at its other edge, before them, in its table.
func TestHeadBeforeFigures(t *testing.T) {
	t.Parallel()
	lines := []*inkstreamv1.Line{at(60, 100, 8, "Mountain"), at(240, 100, 8, "W"), at(290, 100, 8, "1991"), at(352, 100, 8, "A"), at(440, 100, 8, "1993")}
	for i, row := range [][]string{{"Quiet account", "5", "15", "6", "27"}, {"Early volume", "39", "15", "5", "9"}, {"Direction", "13", "25", "10", "40"}, {"Heavy rain", "32", "31", "21", "24"},
		{"Officer", "28", "37", "2", "22"}, {"Museum", "13", "24", "6", "23"}} {
		y := 116 + 16*float64(i)
		lines = append(lines, at(60, y, 8, row[0]), at(258, y, 8, row[1]), at(330, y, 8, row[2]), at(400, y, 8, row[3]), at(480, y, 8, row[4]))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetColumns() != 5 {
		t.Errorf("got %v, want a table of 5 columns", tables)
	}
}

// TestFractionInLine tells the words of a line beside a fraction from the cells of a row.
func TestFractionInLine(t *testing.T) {
	t.Parallel()
	for room, want := range map[float64]bool{3: false, 12: true} {
		columns := []rect{{50, 106, 120, 116}, {120 + room, 100, 150 + room, 122}, {150 + 2*room, 106, 220, 116}}
		if got := (centredRows{most: 10}).standApart(columns); got != want {
			t.Errorf("%v points of room: got %v", room, got)
		}
	}
}
