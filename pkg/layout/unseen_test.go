package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// cellsOf returns the texts of a table's cells, row by row.
func cellsOf(t *inkstreamv1.Table) []string {
	rows := make([][]string, t.GetRows())
	for _, c := range t.GetCells() {
		rows[c.GetRow()] = append(rows[c.GetRow()], c.GetText())
	}
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = strings.Join(r, " | ")
	}
	return out
}

// TestRowsSetApart reads a table without lines whose cells wrap: room sets its rows apart.
func TestRowsSetApart(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	y := 100.0
	for i, name := range []string{"Roof", "North wall", "Cellar stairs", "Gate"} {
		lines = append(lines, at(50, y, 10, name), at(150, y, 10, "The tiles that the storm in March took"),
			at(380, y, 10, "Ruth Collins"), at(480, y, 10, fmt.Sprint(3+i, " June")))
		lines = append(lines, at(150, y+12, 10, "down are to be replaced by new ones"))
		if i%2 == 1 {
			lines = append(lines, at(50, y+12, 10, "of old"))
		}
		lines = append(lines, at(150, y+24, 10, "before the winter comes."))
		y += 46
	}
	page := pageOf(lines)
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 {
		t.Fatalf("got %d tables, want 1: %q", len(tables), page.GetText())
	}
	text := "The tiles that the storm in March took down are to be replaced by new ones before the winter comes."
	want := []string{"Roof | " + text + " | Ruth Collins | 3 June", "North wall of old | " + text + " | Ruth Collins | 4 June",
		"Cellar stairs | " + text + " | Ruth Collins | 5 June", "Gate of old | " + text + " | Ruth Collins | 6 June"}
	if got := cellsOf(tables[0]); !slices.Equal(got, want) {
		t.Errorf("got rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRowsBetweenLines reads a table with lines between its rows, of which each holds a room below a lesson, and the
// two ends of its time.
func TestRowsBetweenLines(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	var rulings []float64
	for i := range 5 {
		y := 100 + 40*float64(i)
		lines = append(lines, at(50, y, 10, fmt.Sprint(8+i, ":00")), at(130, y, 10, "History of art"), at(260, y, 10, "Drawing"), at(360, y, 10, "Music"),
			at(50, y+12, 10, fmt.Sprint(8+i, ":45")), at(130, y+12, 10, "Room four"), at(260, y+12, 10, "Hall"), at(360, y+12, 10, "Chapel"))
		rulings = append(rulings, y-7, y+33)
	}
	page := pageOf(lines)
	for _, y := range rulings {
		page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: []float32{50, float32(y), 420, float32(y)}})
	}
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 || tables[0].GetRows() != 5 {
		t.Fatalf("got %d tables, want one of 5 rows: %v", len(tables), tables)
	}
	if got, want := cellsOf(tables[0])[1], "9:00 9:45 | History of art Room four | Drawing Hall | Music Chapel"; got != want {
		t.Errorf("got the row %q, want %q", got, want)
	}
}

// TestTableOfMarks reads a table that says of each of several things what is so.
func TestTableOfMarks(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i, row := range []string{"Feature | Opinion | Permanent | Clear", "Tide careful local family | ✓ | 1,641 GB | ✓", "Workshop independent direction | – | 8,172 GB | unlimited",
		"Careful soldier signal | optional | ✓ | ✓", "Purpose extraordinary independent network | optional | – | unlimited", "Letter early large uncertain | optional | ✓ | unlimited",
		"Storm report significant | optional | ✓ | ✓", "Early uncertain | – | – | unlimited"} {
		for j, text := range strings.Split(row, " | ") {
			x := []float64{56, 360, 433, 510}[j]
			if j > 0 {
				x -= 2.5 * float64(len([]rune(text)))
			}
			lines = append(lines, at(x, 92+16.5*float64(i), 9.5, text))
		}
	}
	page := pageOf(lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetRows() != 8 || tables[0].GetColumns() != 4 {
		t.Errorf("got %v, want a table of 8 rows and 4 columns: %q", tables, page.GetText())
	}
}

// TestTablesSideBySide tells two tables apart that stand side by side, each below a caption, with rows that are level.
func TestTablesSideBySide(t *testing.T) {
	t.Parallel()
	lines := []*inkstreamv1.Line{at(50, 60, 10, "These are the counts of the two years in both parts of the town, as they"), at(50, 72, 10, "were taken in May."),
		at(50, 90, 10, "Table 1: Northern part"), at(290, 90, 10, "Table 2: Southern part")}
	for i, row := range []string{"Kind First Second", "Lamps 31 354", "Chairs 10 840", "Tables 34 808", "Shelves 7 204", "Desks 20 482"} {
		for j, word := range strings.Fields(row) {
			x := []float64{50, 150, 220}[j]
			lines = append(lines, at(x, 106+14*float64(i), 10, word), at(x+240, 106+14*float64(i), 10, word))
		}
	}
	page := pageOf(lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 2 || tables[0].GetColumns() != 3 || tables[1].GetColumns() != 3 {
		t.Fatalf("got %v, want two tables of 3 columns", tables)
	}
	if text := page.GetText(); strings.Index(text, "Desks") > strings.Index(text, "Table 2") {
		t.Errorf("the first table does not end before the caption of the second: %q", text)
	}
}

// TestTableBelowColumns reads a table that runs across below two columns, with the gutter of those between its labels
// and its figures.
func TestTableBelowColumns(t *testing.T) {
	t.Parallel()
	lines := append(down(50, 60, 10, columnText(8)...), down(280, 60, 10, columnText(8)...)...)
	for i, row := range []string{"Lamps 31 354 12", "Chairs 10 840 11", "Tables 34 808 10", "Shelves 7 204 9", "Desks 20 482 8", "Beds 5 12 7"} {
		for j, word := range strings.Fields(row) {
			lines = append(lines, at([]float64{50, 290, 350, 410}[j], 166+14*float64(i), 10, word))
		}
	}
	page := pageOf(lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetColumns() != 4 || tables[0].GetRows() != 6 {
		t.Errorf("got %v, want a table of 6 rows and 4 columns: %q", tables, page.GetText())
	}
}

// TestIsJustifiedText tells wide blanks in a narrow justified column from the gap between two columns of a table.
func TestIsJustifiedText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		from, to float64 // edges of the last words of the two rows
		want     bool
	}{{"blanks that end anywhere", 265, 294, true}, {"a second column", 272, 294, false}, {"a ragged edge", 262, 285, false}} {
		page := pageOf([]*inkstreamv1.Line{wordsBetween(100, 8, "IMPORTANT Every", 211, 254, 272, 294), wordsBetween(109, 8, "reasonable member", 211, 248, tt.from, tt.to),
			wordsBetween(118, 8, "prevents towards an", 211, 243, 249, 279, 285, 294)})
		a := aligner{textSetting: textSetting{em: 8, style: &styles{em: 8}}}
		var lines []tableLine
		for _, r := range (leaf{splitSegments(collectLines(page).lines, 0, 8, &styles{})}).buildRows(8) {
			cells := a.splitRowCells(r)
			lines = append(lines, tableLine{row: r, cells: cells, several: a.hasSeveralCells(cells)})
		}
		if len(lines) != 3 || !lines[0].several || !lines[1].several || lines[2].several {
			t.Fatalf("%s: got rows %v, want two with text in two places and one without", tt.name, lines)
		}
		for columns := 2; columns <= 4; columns++ {
			got := a.isJustifiedText(&table{rect: lines[0].rect.union(lines[1].rect), columns: columns}, lines, 0, 2)
			if want := tt.want && columns < 4; got != want {
				t.Errorf("%s, %d columns: got %t, want %t", tt.name, columns, got, want)
			}
		}
	}
}

// tableOfText makes a table of cells, each with the column of its first letter and that of its last before its text.
func tableOfText(size func(row, column int) float64, rows ...[]string) *table {
	t := &table{rows: len(rows), columns: 2}
	for r, row := range rows {
		for _, cell := range row {
			first, last := int(cell[0]-'0'), int(cell[1]-'0')
			words := at(100*float64(first), 12*float64(r), size(r, first), cell[2:]).Words
			t.cells = append(t.cells, tableCell{row: r, column: first, rowSpan: 1, columnSpan: last - first + 1, segments: []segment{newSegment(words, 0)}})
		}
	}
	return t
}

// TestTextInRows tells texts side by side by headings that end in another row than those beside them.
func TestTextInRows(t *testing.T) {
	t.Parallel()
	heads := func(rows ...int) func(int, int) float64 {
		return func(row, column int) float64 {
			if row < rows[column] {
				return 12
			}
			return 10
		}
	}
	for _, tt := range []struct {
		name  string
		table *table
		heads bool
	}{
		{"headings side by side", tableOfText(heads(2, 1), []string{"00The", "11Coast"}, []string{"00mill", "11our"}, []string{"00that", "11age"}), true},
		{"a row that heads columns", tableOfText(heads(1, 1), []string{"00Mill", "11Coast"}, []string{"00that", "11our"}, []string{"00this", "11age"}), false},
		{"a heading of two lines", tableOfText(heads(2, 2), []string{"11Coast"}, []string{"00Mill", "11lines"}, []string{"00this", "11age"}), false},
	} {
		candidate := tableCandidate{textSetting: textSetting{em: 10, style: &styles{em: 10}}, table: tt.table}
		if got := candidate.headsTextsBeside(); got != tt.heads {
			t.Errorf("%s: heads texts %t, want %t", tt.name, got, tt.heads)
		}
	}
}

// TestLineNumbersInGutter reads two columns of a patent, in whose gutter every fifth line is counted.
func TestLineNumbersInGutter(t *testing.T) {
	t.Parallel()
	lines := append([]*inkstreamv1.Line{at(120, 40, 10, "1"), at(390, 40, 10, "2")}, down(50, 60, 10, columnText(24)...)...)
	lines = append(lines, down(310, 60, 10, columnText(24)...)...)
	for n := 5; n <= 20; n += 5 {
		lines = append(lines, at(258, 60+12*float64(n-1), 10, fmt.Sprint(n)))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if !containsRun(page, "market, of which one is longer", "The council met on Tuesday and") {
		t.Fatalf("the columns are not whole:\n%s", page.GetText())
	}
	text := page.GetText()
	if at := strings.Index(text, "5\n"); at < strings.LastIndex(text, "market, of which") {
		t.Errorf("the numbers do not stand after the text:\n%s", text)
	}
}

// TestDropCaps puts a large capital to the word that it begins, unless that is a word by itself.
func TestDropCaps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, letter, first, want string }{
		{"a letter", "T", "he council met on Tuesday and", "The council met on Tuesday and"},
		{"a word", "A", "council met on Tuesday and", "A council met on Tuesday and"},
		{"behind a quotation mark", "“T", "he council met on Tuesday and", "“The council met on Tuesday and"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			letter := at(50, 60, 26, tt.letter)
			x := float64(letter.Words[0].GetBbox()[2]) + 5
			page := pageOf([]*inkstreamv1.Line{at(x, 60, 10, tt.first), at(x, 72, 10, "agreed after a long debate to"), letter},
				down(50, 84, 10, "close the bridge for repairs in", "autumn, when the council has more"))
			ArrangePage(page)
			if got := strings.Join(strings.Fields(page.GetText()), " "); !strings.HasPrefix(got, tt.want+" agreed after a long debate to close") {
				t.Errorf("got %q, want it to begin with %q", got, tt.want)
			}
		})
	}
}

// TestDropCapsOfTwoColumns reads capitals in columns side by side that came as the words of one line.
func TestDropCapsOfTwoColumns(t *testing.T) {
	t.Parallel()
	var text []*inkstreamv1.Line
	capitals := at(50, 60, 26, "T")
	for i, first := range []string{"he council met on Tuesday and", "etween the banks lie seven old"} {
		x := 50 + 250*float64(i)
		if i > 0 {
			capitals.Words = append(capitals.Words, at(x, 60, 26, "B").Words...)
		}
		text = append(text, at(x+25, 60, 10, first), at(x+25, 72, 10, "agreed after a long debate to"))
		text = append(text, down(x, 84, 10, "close the bridge for repairs in", "autumn, when the council has more")...)
	}
	capitals.Bbox = []float32{50, 60, 320, 86}
	page := pageOf([]*inkstreamv1.Line{capitals}, text)
	ArrangePage(page)
	for _, want := range []string{"The council met on Tuesday", "Between the banks lie seven"} {
		if !strings.Contains(page.GetText(), want) {
			t.Errorf("got %q, want %q in it", page.GetText(), want)
		}
	}
}

// TestBoldTextWraps reads the bold beginning of a paragraph that goes on in its second line, and a heading above text
// that begins with a bold word.
func TestBoldTextWraps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, head string
		blocks     int
	}{{"goes on", "SOLID WOODEN FURNITURE", 1}, {"heading", "FURNITURE", 2}, {"sentence", "SOLID WOODEN FURNITURE.", 2}} {
		page := pageOf(set(1, at(50, 60, 10, tt.head)), []*inkstreamv1.Line{at(50, 72, 10, "EXHIBITION from an old house")}, down(50, 84, 10, "in the valley, in good order,", "to be sold on Tuesday."))
		page.Fonts = []*inkstreamv1.Font{{Name: "Sans-Bold"}, {Name: "Sans"}}
		for i, line := range page.GetBlocks()[0].GetLines()[1:] {
			set(2, line)
			if i == 0 {
				line.Words[0].Font = 1
			}
		}
		ArrangePage(page)
		if got := len(page.GetBlocks()); got != tt.blocks {
			t.Errorf("%s: got %d blocks, want %d: %q", tt.name, got, tt.blocks, page.GetText())
		}
	}
}

// TestTablesSideBySideWithoutCaptions tells two tables apart that only what they hold sets apart: labels with figures,
// and again labels with figures, of which the second table has fewer.
func TestTablesSideBySideWithoutCaptions(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i, row := range []string{"Kind 1996 2007", "Lamps 31 354", "Chairs 10 840", "Tables 34 808", "Shelves 7 204", "Desks 20 482"} {
		for j, word := range strings.Fields(row) {
			lines = append(lines, at([]float64{50, 170, 230}[j], 106+14*float64(i), 10, word))
			if i < 5 {
				lines = append(lines, at([]float64{300, 420, 480}[j], 106+14*float64(i), 10, word))
			}
		}
	}
	page := pageOf(lines)
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 2 || tables[0].GetRows() != 6 || tables[1].GetRows() != 5 || tables[0].GetColumns() != 3 {
		t.Fatalf("got %v, want two tables of 3 columns", tables)
	}
}

// TestLinesOfRuledCells reads a table with lines between all its rows and columns, whose cells hold two lines of text
// each.
func TestLinesOfRuledCells(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i := range 6 {
		y := 100 + 40*float64(i)
		for j, text := range []string{fmt.Sprint(8+i, ":00"), "History", "Drawing", "Music"} {
			second := []string{fmt.Sprint(8+i, ":45"), "Room four", "Hall", "Chapel"}[j]
			lines = append(lines, at(50+100*float64(j), y, 10, text), at(50+100*float64(j), y+16, 10, second))
		}
	}
	page := pageOf(lines)
	for i := range 7 {
		y := float32(94 + 40*i)
		page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: []float32{44, y, 444, y}})
	}
	for j := range 5 {
		x := float32(44 + 100*j)
		page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: []float32{x, 94, x, 334}})
	}
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 || tables[0].GetRows() != 6 {
		t.Fatalf("got %v, want one table of 6 rows", tables)
	}
	if got, want := cellsOf(tables[0])[1], "9:00 9:45 | History Room four | Drawing Hall | Music Chapel"; got != want {
		t.Errorf("got the row %q, want %q", got, want)
	}
}

// TestCellOfManyLines keeps the rows of a table together where the text of one takes more lines than rows with one
// cell may follow another.
func TestCellOfManyLines(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	y := 120.0
	for i, n := range []int{1, 2, 7, 2, 1, 2} {
		lines = append(lines, at(50, y, 10, "Task "+string(rune('A'+i))), at(360, y, 10, "Vera Marsh"), at(470, y, 10, fmt.Sprintf("%d May", i+3)))
		for _, text := range columnText(n) {
			lines = append(lines, at(150, y, 10, text))
			y += 12
		}
		y += 7
	}
	page := pageOf(lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetColumns() != 4 || tables[0].GetRows() != 6 {
		t.Errorf("got %v, want a table of 6 rows and 4 columns: %q", tables, page.GetText())
	}
}

// TestRunInEntries keeps an entry together whose bold first words fill a line, where others go on in the line of
// theirs; elsewhere such a line is a heading.
func TestRunInEntries(t *testing.T) {
	t.Parallel()
	for _, runIns := range []int{6, 0} {
		var lines []*inkstreamv1.Line
		for i := range 7 {
			y := 60 + 40*float64(i)
			first := at(50, y, 10, "CHURCH BRIDGE Another old")
			if i >= runIns {
				first = at(50, y, 10, "EXCELLENT WAREHOUSES")
			}
			set(1, first)
			set(2, &inkstreamv1.Line{Words: first.Words[:2]})
			lines = append(lines, first)
			lines = append(lines, set(1, down(50, y+12, 10, "Additional people from here", "and from there")...)...)
		}
		page := pageOf(lines)
		page.Fonts = []*inkstreamv1.Font{{Name: "Times"}, {Name: "Times-Bold", Weight: 700}}
		ArrangePage(page)
		last := page.GetBlocks()[len(page.GetBlocks())-1]
		if got, want := len(last.GetLines()) == 3, runIns > 0; got != want {
			t.Errorf("%d entries with text behind their first words: the last one's are with its text: %t, want %t", runIns, got, want)
		}
	}
}

// TestLabelledRows keeps the columns of rows together that room sets apart, and takes cards and paragraphs side by
// side for no rows.
func TestLabelledRows(t *testing.T) {
	t.Parallel()
	rows := func(x float64, lines int, text string) []segment {
		var out []segment
		for row := range 5 {
			for i := range max(1, lines-row%2) {
				out = append(out, newSegment(at(x, 100+50*float64(row)+12*float64(i), 10, text).Words, 0))
			}
		}
		return out
	}
	const prose = "and agreed after a long debate"
	label, lone := rows(50, 1, "Old mill"), rows(50, 1, "Old mill")
	lone = append(lone, newSegment(at(50, 170, 10, "Ford").Words, 0))
	for _, tt := range []struct {
		name  string
		parts [][]segment
		want  bool
	}{
		{"rows", [][]segment{label, rows(150, 3, prose), rows(350, 1, "Vera Marsh")}, true},
		{"cards", [][]segment{rows(50, 3, prose), rows(250, 3, prose), rows(450, 3, prose)}, false},
		{"two columns", [][]segment{label, rows(150, 3, prose)}, false},
		{"a label between rows", [][]segment{lone, rows(150, 3, prose), rows(350, 1, "Vera Marsh")}, false},
		{"notes beside text", [][]segment{label, rows(150, 3, prose), rows(350, 3, prose)}, false},
	} {
		c := columnSplitter{gutterJudge{em: 10}}
		if got := c.areLabelledRows(tt.parts); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}
