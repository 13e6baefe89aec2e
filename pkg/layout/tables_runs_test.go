package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// gridLines sets rows of words whose columns begin at the places given.
func gridLines(y float64, columns []float64, rows ...string) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for _, row := range rows {
		for i, word := range strings.Fields(row) {
			out = append(out, at(columns[i], y, 10, word))
		}
		y += 14
	}
	return out
}

// TestTablesApart tells two tables apart that only a gap or a heading parts.
func TestTablesApart(t *testing.T) {
	t.Parallel()
	first := gridLines(100, []float64{50, 150, 220, 290}, "Stop 9:10 9:40 10:10", "Mill 9:20 9:50 10:20", "Ford 9:30 10:00 10:30", "Lane 9:36 10:06 10:36")
	second := gridLines(210, []float64{50, 120, 185, 255, 330}, "Stop 7:10 7:40 8:10 8:40", "Mill 7:20 7:50 8:20 8:50", "Ford 7:30 8:00 8:30 9:00",
		"Lane 7:36 8:06 8:36 9:06")
	for _, tt := range []struct {
		name    string
		between []*inkstreamv1.Line
	}{
		{"a gap", nil},
		{"a heading", []*inkstreamv1.Line{at(50, 182, 13, "Sundays")}},
		{"a caption", []*inkstreamv1.Line{at(50, 182, 10, "Table 2. Sundays")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := pageOf(first, tt.between, second)
			ArrangePage(p)
			var columns []int32
			for _, table := range tablesOf(p) {
				columns = append(columns, table.GetColumns())
			}
			if len(columns) != 2 || columns[0] != 4 || columns[1] != 5 {
				t.Errorf("got tables of %v columns, want 4 and 5: %q", columns, p.GetText())
			}
		})
	}
}

// TestLetterHead reads an address as a whole, although a date stands beside it and a table in line with both.
func TestLetterHead(t *testing.T) {
	t.Parallel()
	p := pageOf(down(50, 60, 10, "Rosa Vogel", "159 Brackley Square", "Penrose 19129"), []*inkstreamv1.Line{at(420, 60, 10, "14 May 2021")},
		gridLines(150, []float64{50, 130, 330, 420}, "Pos Item Count Amount", "1 Lamps 31 354.04", "2 Chairs 10 840.34", "3 Tables 34 808.33",
			"4 Shelves 7 4,204.27", "5 Desks 20 482.09"))
	ArrangePage(p)
	if want := "Rosa Vogel\n159 Brackley Square\nPenrose 19129\n"; !strings.HasPrefix(p.GetText(), want) {
		t.Errorf("got %q, want it to begin with %q", p.GetText(), want)
	}
	if got := tablesOf(p); len(got) != 1 || got[0].GetColumns() != 4 || got[0].GetRows() != 6 {
		t.Errorf("got %d tables: %q", len(got), p.GetText())
	}
}

// TestContentsWithoutLeaders keeps the entries of contents apart, and makes no table of them.
func TestContentsWithoutLeaders(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]string{
		"one wraps": {"1 Early days|3", "1.1 The first journey|5", "1.2 The second journey|9", "2 Later days|14", "2.1 What became of the old", "harbour|21",
			"2.2 A letter|30", "3 The end|41"},
		"most wrap": {"8.3 The weather in the old", "library|150", "9 The far storehouse|154", "9.1 An uncertain bridge, and a calm", "library|155",
			"9.2 A university that keeps its", "distance|159", "9.3 What is remembered of the", "discovery|166", "9.4 Every experiment|170", "9.5 The end|171"},
	} {
		var lines []*inkstreamv1.Line
		pages := 0
		for i, entry := range entries {
			text, page, _ := strings.Cut(entry, "|")
			lines = append(lines, at(50, 100+float64(i)*14, 10, text))
			if page != "" {
				lines = append(lines, at(400, 100+float64(i)*14, 10, page))
				pages++
			}
		}
		p := pageOf(lines)
		ArrangePage(p)
		if got := tablesOf(p); len(got) > 0 {
			t.Fatalf("%s: got a table: %q", name, p.GetText())
		}
		if got := len(p.GetBlocks()); got != pages {
			t.Errorf("%s: got %d blocks, want %d: %q", name, got, pages, p.GetText())
		}
	}
}

// TestLargeLinesStayTogether keeps a heading of two lines one block: larger lines stand farther apart.
func TestLargeLinesStayTogether(t *testing.T) {
	t.Parallel()
	heading := down(50, 60, 20, "A heading of two", "lines of large type")
	for i, line := range heading {
		line.Words[0].Size = 20
		for _, w := range line.GetWords() {
			w.Size = 20
			w.Bbox[1], w.Bbox[3] = 60+float32(i)*28, 80+float32(i)*28
		}
	}
	p := pageOf(heading, down(50, 130, 10, "Text that is set in type", "of the usual size, in", "lines that stand close."))
	ArrangePage(p)
	if got := len(p.GetBlocks()[0].GetLines()); got != 2 {
		t.Errorf("got a block of %d lines, want 2: %q", got, p.GetText())
	}
}

// TestRuleClosesTable ends a table at the line close below it if much room follows, and not at one between its rows.
func TestRuleClosesTable(t *testing.T) {
	t.Parallel()
	row := func(y float64) tableLine { return tableLine{row: row{rect: rect{50, y, 330, y + 10}}} }
	for _, tt := range []struct {
		name    string
		next    float64
		rulings []float64
		want    bool
	}{
		{"a line below the table", 145, []float64{114}, true},
		{"no line", 145, nil, false},
		{"a line above a heading of the table", 145, []float64{141}, false},
		{"lines above and below the room", 145, []float64{114, 141}, false},
		{"rows as far apart as others", 118, []float64{114}, false},
	} {
		runs := tableRuns{textSetting: textSetting{em: 10}}
		for _, y := range tt.rulings {
			runs.across = append(runs.across, ruling{at: y, from: 50, to: 330})
		}
		if got := runs.isBelowLastRule(row(100), row(tt.next), 50, 330); got != tt.want {
			t.Errorf("%s: got %t", tt.name, got)
		}
	}
}

// TestFiguresCloseTogether finds the columns of a table of few rows whose figures stand hardly farther apart than
// words.
func TestFiguresCloseTogether(t *testing.T) {
	t.Parallel()
	p := pageOf(gridLines(100, []float64{50, 130, 170, 210}, "Island Price Cargo Valley", "Mill 588,193 243,179 173,932", "Ford 281,020 222,301 935,881",
		"Lane 777,930 503,899 493,638"), down(50, 180, 10, "The text below the table goes on for a line,", "and for another one."))
	ArrangePage(p)
	tables := tablesOf(p)
	if len(tables) != 1 || tables[0].GetColumns() != 4 || tables[0].GetRows() != 4 {
		t.Fatalf("got %d tables, want one of 4 rows and 4 columns: %q", len(tables), p.GetText())
	}
}

// TestTextGoesOnInATableCell takes in text that goes on in an inner column, also where it reaches into the gap to the
// next one, and where boxes as tight as the letters leave more room between its lines.
func TestTextGoesOnInATableCell(t *testing.T) {
	t.Parallel()
	columns := []float64{50, 80, 400, 450}
	p := pageOf(gridLines(100, columns, "Pos Description Qty Price", "1 Lamps 10 67.99", "2 Chairs 35 18.76"),
		[]*inkstreamv1.Line{at(80, 139.6, 10, "The sentence below the name is so long that it goes on"), at(80, 152, 10, "as far as this.")},
		gridLines(172, columns, "3 Tables 34 8.33", "4 Shelves 7 4.27"))
	ArrangePage(p)
	tables := tablesOf(p)
	const want = "2: 0=2 1=Chairs The sentence below the name is so long that it goes on as far as this. 2=35 3=18.76"
	if len(tables) != 1 || !strings.Contains(tableOf(tables[0]), want) {
		t.Errorf("got %d tables, want one with %q: %q", len(tables), want, p.GetText())
	}
}

// TestPicturesFillColumns reads two columns whose pictures leave a stretch of the page without text, one after the
// other.
func TestPicturesFillColumns(t *testing.T) {
	t.Parallel()
	text := func(x, y float64, name string) []*inkstreamv1.Line {
		var lines []string
		for range 6 {
			lines = append(lines, "The column "+name+" goes on with a few words")
		}
		return down(x, y, 9, lines...)
	}
	for _, tt := range []struct {
		name     string
		pictures []rect
		want     string // the columns' names in order
	}{
		{"a picture in each column", []rect{{50, 140, 250, 330}, {300, 160, 500, 350}}, "one two three four"},
		{"a picture over both", []rect{{50, 140, 500, 340}}, "one three two four"},
	} {
		p := pageOf(text(50, 60, "one"), text(300, 60, "three"), text(50, 360, "two"), text(300, 360, "four"))
		for _, box := range tt.pictures {
			p.Images = append(p.Images, &inkstreamv1.Image{Bbox: box.toBox(), Kind: "drawing"})
		}
		ArrangePage(p)
		var got []string
		for word := range strings.FieldsSeq(p.GetText()) {
			if strings.Contains(" one two three four ", " "+word+" ") && (len(got) == 0 || got[len(got)-1] != word) {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestTitleBesideTheSecondLine keeps an address whole, beside the second line of which a title in large type stands,
// above another such pair.
func TestTitleBesideTheSecondLine(t *testing.T) {
	t.Parallel()
	p := pageOf(down(50, 60, 10, "Rosa Vogel", "159 Brackley Square", "Penrose 19129"), []*inkstreamv1.Line{at(450, 71, 22, "Invoice")},
		down(50, 120, 10, "Hugo Marsh", "26 Eastleigh Avenue", "Cresswell 33046"), down(440, 120, 10, "Number: 425769", "Due: 8 April 2014"))
	ArrangePage(p)
	if want := "Rosa Vogel\n159 Brackley Square\nPenrose 19129\n\nInvoice"; !strings.HasPrefix(p.GetText(), want) {
		t.Errorf("got %q, want it to begin with %q", p.GetText(), want)
	}
}

// TestLinePitchOfRoundedBaselines takes the mean of distances that rounding makes differ.
func TestLinePitchOfRoundedBaselines(t *testing.T) {
	t.Parallel()
	var shapes []lineShape
	for _, baseline := range []float64{100, 110.5, 120.25, 130.75, 140.5, 151, 164.5, 175, 184.75} {
		shapes = append(shapes, lineShape{baseline: baseline})
	}
	if got := usualLinePitch(shapes, 8.5); got < 10.1 || got > 10.3 {
		t.Errorf("got %g, want between 10.1 and 10.3", got)
	}
}

// TestPictureBesideAHeading reads the left column to its end, although the right one shows a picture where the left
// has a heading.
func TestPictureBesideAHeading(t *testing.T) {
	t.Parallel()
	text := func(x, y float64, n int, name string) []*inkstreamv1.Line {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = "The column " + name + " goes on with words and with"
		}
		return down(x, y, 9, lines...)
	}
	p := pageOf(text(50, 60, 8, "left"), text(300, 60, 6, "right"), []*inkstreamv1.Line{at(50, 160, 14, "Another heading")},
		text(50, 185, 20, "left"), text(300, 215, 16, "right"))
	p.Images = []*inkstreamv1.Image{{Bbox: rect{300, 130, 500, 205}.toBox(), Kind: "drawing"}}
	ArrangePage(p)
	if last, first := strings.LastIndex(p.GetText(), "left"), strings.Index(p.GetText(), "right"); first < last {
		t.Errorf("the left column is parted: %q", p.GetText())
	}
}

// TestHeadingOverAGutter leaves a heading whole that reaches over the gutter between two columns, with a blank there
// by chance.
func TestHeadingOverAGutter(t *testing.T) {
	t.Parallel()
	var above, below []*inkstreamv1.Line
	for i := range 9 {
		y := 60 + 11*float64(i)
		above = append(above, at(50, y, 9, "the column goes on with words"), at(180, y, 9, "and with words of the other"))
		below = append(below, at(50, y+120, 9, "the column goes on with words"), at(180, y+120, 9, "and with words of the other"))
	}
	heading := at(44, 162, 12, "The long heading of any")
	rest := at(float64(heading.Words[4].GetBbox()[2])+5, 162, 12, "few words") // a blank, over the gutter
	heading.Words = append(heading.Words, rest.Words...)
	p := pageOf(above, []*inkstreamv1.Line{heading}, below)
	ArrangePage(p)
	if !strings.Contains(p.GetText(), "\nThe long heading of any few words\n") {
		t.Errorf("got %q, want the heading in it", p.GetText())
	}
}

// TestRuleAcrossColumnsEndsThem reads articles side by side row by row, where a rule along all of them parts the rows
// and each begins with its heading; without the rule, the columns go on.
func TestRuleAcrossColumnsEndsThem(t *testing.T) {
	t.Parallel()
	article := func(x, y float64, name string) []*inkstreamv1.Line {
		lines := []string{}
		for range 8 {
			lines = append(lines, "The article "+name+" goes on with words and with")
		}
		return append([]*inkstreamv1.Line{at(x, y, 14, "Of "+name)}, down(x, y+18, 9, lines...)...)
	}
	for _, ruled := range []bool{true, false} {
		p := pageOf(article(50, 60, "one"), article(300, 60, "two"), article(50, 180, "three"), article(300, 180, "four"))
		if ruled {
			p.Rulings = []*inkstreamv1.Ruling{{Bbox: rect{50, 173, 540, 173.5}.toBox()}}
		}
		ArrangePage(p)
		var got []string
		for _, name := range []string{"one", "two", "three", "four"} {
			got = append(got, fmt.Sprintf("%05d %s", strings.Index(p.GetText(), "Of "+name), name))
		}
		slices.Sort(got)
		order := ""
		for _, g := range got {
			order += g[5:]
		}
		if want := map[bool]string{true: " one two three four", false: " one three two four"}[ruled]; order != want {
			t.Errorf("ruled %t: the articles are read in the order%s, want%s", ruled, order, want)
		}
	}
}

// TestHeadingBelowLineOfList leaves a bold heading out of the list of names and numbers below it, though a line leads
// from the only name above it to its number.
func TestHeadingBelowLineOfList(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	page := pageOf()
	for i, y := range []float64{60, 91, 103, 115, 127, 139, 151, 163} {
		lines = append(lines, at(50, y, 10, fmt.Sprint("Carver ", i, " Mill")), at(290, y, 10, fmt.Sprint("555 12", 10+i)))
		page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: rect{110, y + 9, 286, y + 9.5}.toBox()})
	}
	page.Fonts = []*inkstreamv1.Font{{Name: "Serif"}, {Name: "Serif-Bold", Weight: 700}}
	page.Blocks = []*inkstreamv1.Block{{Lines: slices.Concat(set(1, lines...), set(2, at(50, 79, 10, "Natural network")))}}
	ArrangePage(page)
	for _, table := range tablesOf(page) {
		if cells := strings.Join(cellsOf(table), " "); strings.Contains(cells, "network") {
			t.Errorf("the heading is a row of a table: %q", cells)
		}
	}
}

// TestSentencesWithValues reads a table that says of long sentences what is so, in a few words that come again.
func TestSentencesWithValues(t *testing.T) {
	t.Parallel()
	values := [][2]string{{"Basic", "Full"}, {"–", "12 GB"}, {"–", "unlimited"}, {"unlimited", "unlimited"}, {"12 GB", "✓"}, {"unlimited", "–"}, {"12 GB", "12 GB"}, {"✓", "12 GB"}}
	var lines []*inkstreamv1.Line
	y := 80.0
	for i, row := range values {
		text := entryText[i%5][:70] + "."
		if i == 0 {
			text = "Service"
		}
		lines = append(lines, at(50, y, 10, text), at(430-2.5*float64(len([]rune(row[0]))), y, 10, row[0]), at(510-2.5*float64(len([]rune(row[1]))), y, 10, row[1]))
		if i%3 == 1 {
			lines = append(lines, at(50, y+11, 10, "over the years that follow."))
			y += 11
		}
		y += 16
	}
	page := pageOf(lines)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetColumns() != 3 || tables[0].GetRows() != 8 {
		t.Errorf("got %v, want a table of 8 rows and 3 columns:\n%s", tables, page.GetText())
	}
}

// TestLabelsWordsAndFigures reads a table without lines of labels, words and figures: the labels are no column of text.
func TestLabelsWordsAndFigures(t *testing.T) {
	t.Parallel()
	var labels, rest []*inkstreamv1.Line
	for i, row := range []string{"Journey|Library|Method", "Winter|tradition temperature|4201", "Merchant|museum method|4680", "Forest|discovery exhibition|7804",
		"Bridge Volume Policy|ceremony teacher|2577", "Winter Church Territory|soldier colour|8896", "Discovery|payment family|3111", "River Editor|theatre workshop|5680",
		"Theatre Kitchen Signal|structure warehouse|8088", "Council Answer|language shadow|8135", "Sample Captain|shadow member bridge|6264"} {
		cells, y := strings.Split(row, "|"), 80+16*float64(i)
		labels = append(labels, at(50, y, 10, cells[0]))
		rest = append(rest, at(215, y, 10, cells[1]), endingAt(480, y, 10, cells[2]))
	}
	page := pageOf(labels, rest)
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetColumns() != 3 || tables[0].GetRows() != 11 {
		t.Errorf("got %v, want a table of 11 rows and 3 columns:\n%s", tables, page.GetText())
	}
}

// TestItemsOfManyLines keeps a table whole whose items take many lines, between lines that are drawn across below each,
// and whose number stands close before their text.
func TestItemsOfManyLines(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	var rulings []*inkstreamv1.Ruling
	y := 100.0
	row := func(text []string, cells ...string) {
		lines = append(lines, at(50, y, 10, text[0]))
		for i, cell := range cells {
			lines = append(lines, at(240+60*float64(i), y, 10, cell))
		}
		for _, more := range text[1:] {
			y += 12
			lines = append(lines, at(58, y, 10, more))
		}
		y += 22
		rulings = append(rulings, across(48, 400, y-7)...)
	}
	row([]string{"# Work"}, "Hours", "Rate", "Sum")
	for i, n := range []int{1, 5, 3, 5, 2} {
		text := []string{fmt.Sprint(i+1) + " Boat mended"}
		for range n {
			text = append(text, "The hull was tarred anew")
		}
		row(text, "12", "30.00", "360.00")
	}
	page := ruledPage(rulings, lines)
	ArrangePage(page)
	if got := tablesOf(page); len(got) != 1 || got[0].GetRows() != 6 {
		t.Errorf("got %d tables, want one of 6 rows: %q", len(got), page.GetText())
	}
}
