package layout

import (
	"fmt"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// rowsAt sets rows of text, each with the places of its words before them.
func rowsAt(y, size float64, rows ...[]string) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for i, row := range rows {
		for _, cell := range row {
			var x float64
			var text string
			if _, err := fmt.Sscanf(cell, "%g:%s", &x, &text); err != nil {
				panic(err)
			}
			out = append(out, at(x, y+float64(i)*1.2*size, size, cell[len(fmt.Sprintf("%g:", x)):]))
		}
	}
	return out
}

// TestTypesetTables reads tables as typesetters set them: labels that wrap in a narrow column, all lines at one
// distance, and heads over several columns.
func TestTypesetTables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		page *inkstreamv1.Page
		want string
	}{
		{
			"labels that wrap before a capital and in a word",
			ruledPage(across(100, 300, 98, 112, 212), rowsAt(100, 10, []string{"100:Region", "200:Sales", "260:Costs"},
				[]string{"100:Northern Saxony", "200:4,190", "260:1,720"}, []string{"100:Bavaria"}, []string{"100:Agricul-", "200:9,040", "260:2,399"},
				[]string{"100:tural offices in"}, []string{"100:Brandenburg"}, []string{"100:Bremen", "200:7,515", "260:5,382"}, []string{"100:Hesse", "200:9,083", "260:136"})),
			"0: 0=Region 1=Sales 2=Costs\n1: 0=Northern Saxony Bavaria 1=4,190 2=1,720\n" +
				"2: 0=Agricultural offices in Brandenburg 1=9,040 2=2,399\n3: 0=Bremen 1=7,515 2=5,382\n4: 0=Hesse 1=9,083 2=136",
		},
		{
			"headings of groups",
			ruledPage(across(100, 300, 98, 112, 188), rowsAt(100, 10, []string{"100:Region", "200:Sales", "260:Costs"},
				[]string{"100:Northern Saxony", "200:4,190", "260:1,720"}, []string{"100:Agriculture"}, []string{"100:Bremen", "200:7,515", "260:5,382"},
				[]string{"100:Trade"}, []string{"100:Hesse", "200:9,083", "260:136"})),
			"0: 0=Region 1=Sales 2=Costs\n1: 0=Northern Saxony 1=4,190 2=1,720\n2: 0=Agriculture\n3: 0=Bremen 1=7,515 2=5,382\n4: 0=Trade\n" +
				"5: 0=Hesse 1=9,083 2=136",
		},
		{
			"a label of many lines",
			ruledPage(across(100, 250, 98, 112, 236), rowsAt(100, 10, []string{"100:Region", "220:Sales"}, []string{"100:Bremen", "220:7,515"},
				[]string{"100:The north", "220:4,190"}, []string{"100:of the coast"}, []string{"100:beyond the"}, []string{"100:river and all"},
				[]string{"100:islands, with"}, []string{"100:their harbours"}, []string{"100:Hesse", "220:9,083"}, []string{"100:Saxony", "220:9,084"})),
			"0: 0=Region 1=Sales\n1: 0=Bremen 1=7,515\n2: 0=The north of the coast beyond the river and all islands, with their harbours 1=4,190\n" +
				"3: 0=Hesse 1=9,083\n4: 0=Saxony 1=9,084",
		},
		{
			"heads over two columns each, few rows, lines in pieces",
			ruledPage(append(append(across(100, 400, 98, 124, 162), across(198, 294, 111)...), across(300, 400, 111)...), rowsAt(100, 10,
				[]string{"100:River", "220:Final payments", "312:Quiet buildings"}, []string{"200:Contract", "255:Kitchen", "302:Surface", "360:Window"},
				[]string{"100:Major", "220:0.59", "270:0.93", "318:0.79", "370:0.64"}, []string{"100:Local", "220:0.56", "270:0.78", "318:0.91", "370:0.09"})),
			"0: 0=River 1=Final payments(1x2) 3=Quiet buildings(1x2)\n1: 1=Contract 2=Kitchen 3=Surface 4=Window\n" +
				"2: 0=Major 1=0.59 2=0.93 3=0.79 4=0.64\n3: 0=Local 1=0.56 2=0.78 3=0.91 4=0.09",
		},
		{
			"heads over two and three columns over one line",
			ruledPage(append(across(100, 400, 98, 124, 174), across(188, 400, 111)...), rowsAt(100, 10,
				[]string{"100:River", "209:Paid", "319:Due"}, []string{"190:May", "230:June", "278:July", "320:Aug", "365:Sept"},
				[]string{"100:Major", "190:0.59", "230:0.93", "278:0.79", "320:0.64", "365:0.11"}, []string{"100:Local", "190:0.56", "230:0.78", "278:0.91", "320:0.09", "365:0.22"},
				[]string{"100:Total", "190:0.56", "230:0.78", "278:0.91", "320:0.09", "365:0.23"})),
			"0: 0=River 1=Paid(1x2) 3=Due(1x3)\n1: 1=May 2=June 3=July 4=Aug 5=Sept\n2: 0=Major 1=0.59 2=0.93 3=0.79 4=0.64 5=0.11\n" +
				"3: 0=Local 1=0.56 2=0.78 3=0.91 4=0.09 5=0.22\n4: 0=Total 1=0.56 2=0.78 3=0.91 4=0.09 5=0.23",
		},
		{
			"a head that begins where the figures on its left end",
			pageOf(rowsAt(100, 10, []string{"100:Month", "170:Ships", "220:Tons", "252:Delayed"}, []string{"100:January", "180:112", "220:45,201", "280:3"},
				[]string{"100:February", "180:980", "220:39,870", "280:7"}, []string{"100:March", "180:131", "220:52,040", "280:1"}, []string{"100:April", "180:131", "220:52,041", "280:4"})),
			"0: 0=Month 1=Ships 2=Tons 3=Delayed\n1: 0=January 1=112 2=45,201 3=3\n2: 0=February 1=980 2=39,870 3=7\n3: 0=March 1=131 2=52,040 3=1\n" +
				"4: 0=April 1=131 2=52,041 3=4",
		},
		{
			"text with wide blanks below the last line",
			ruledPage(across(150, 420, 98, 112, 162), rowsAt(100, 10, []string{"150:Region", "230:Sales", "280:Costs", "330:Staff", "380:Shops"},
				[]string{"150:Saxony", "230:4,190", "280:1,720", "330:2,281", "380:1,001"}, []string{"150:Bremen", "230:7,515", "280:5,382", "330:7,527", "380:1,002"},
				[]string{"150:Hesse", "230:9,083", "280:1,364", "330:5,803", "380:1,003"}, []string{"150:Berlin", "230:9,084", "280:1,365", "330:5,804", "380:1,004"}),
				rowsAt(166, 10, []string{"100:Adler hardly reduces any extraordinary market from it", "392:The flavour of it was"},
					[]string{"100:delivered to the lecture after it was known, and it", "375:might still be believed", "500:that"},
					[]string{"100:the company turned to this matter again."})),
			"0: 0=Region 1=Sales 2=Costs 3=Staff 4=Shops\n1: 0=Saxony 1=4,190 2=1,720 3=2,281 4=1,001\n2: 0=Bremen 1=7,515 2=5,382 3=7,527 4=1,002\n" +
				"3: 0=Hesse 1=9,083 2=1,364 3=5,803 4=1,003\n4: 0=Berlin 1=9,084 2=1,365 3=5,804 4=1,004",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ArrangePage(tt.page)
			got := ""
			for _, table := range tablesOf(tt.page) {
				got += tableOf(table)
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestJoinHeadlessColumns joins the last words of justified labels with the labels, and no column with a head, with
// figures or with most rows.
func TestJoinHeadlessColumns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		cells [][]string // with the column before the text
		want  int
	}{
		{"the last word of a label", [][]string{{"00Set", "22Recall"}, {"00one", "11of", "220.5"}, {"00two", "220.6"}, {"00four", "220.6"}}, 2},
		{"a head", [][]string{{"00Set", "11Kind", "22Recall"}, {"00one", "11of", "220.5"}, {"00two", "220.6"}, {"00four", "220.6"}}, 3},
		{"a head over both", [][]string{{"01Set", "22Recall"}, {"00one", "11of", "220.5"}, {"00two", "220.6"}, {"00four", "220.6"}}, 3},
		{"words in every row", [][]string{{"00Set", "22Recall"}, {"00one", "11of", "220.5"}, {"00two", "11of", "220.6"}, {"00four", "220.6"}}, 3},
		{"figures", [][]string{{"00Set", "22Recall"}, {"00one", "117", "220.5"}, {"00two", "220.6"}, {"00four", "220.6"}}, 3},
		{"heads of neither", [][]string{{"22Recall"}, {"00one", "11of", "220.5"}, {"00two", "220.6"}, {"00four", "220.6"}}, 3},
	} {
		table := tableOfText(func(_, column int) float64 { return 20 * float64(column) }, tt.cells...)
		table.columns = 3
		if joinHeadlessColumns(table, 10); table.columns != tt.want {
			t.Errorf("%s: got %d columns, want %d", tt.name, table.columns, tt.want)
		}
	}
}

// TestTablesOfDifferentHeight reads two tables side by side of which one goes on below the other.
func TestTablesOfDifferentHeight(t *testing.T) {
	t.Parallel()
	rows := func(x float64, labels ...string) []*inkstreamv1.Line {
		var out []*inkstreamv1.Line
		for i, label := range labels {
			y := 100 + 16*float64(i)
			out = append(out, at(x, y, 10, label), at(x+120, y, 10, fmt.Sprint(1234+i)), at(x+180, y, 10, fmt.Sprint(5234+i)))
		}
		return out
	}
	page := pageOf(rows(50, "Edge", "Bremen", "Lower town", "Hesse", "Berlin", "Saxony", "Mainz", "Ulm", "Trier", "Worms"), rows(330, "Alpine villages", "Kiel", "Jena", "Bonn", "Cologne"))
	ArrangePage(page)
	if got := tablesOf(page); len(got) != 2 || got[0].GetRows() != 10 || got[1].GetRows() != 5 {
		t.Errorf("got %v, want tables of 10 and 5 rows", got)
	}
}

// TestRowsThatRoomSetsApart keeps the rows of a table together although one by itself looks like two columns of text.
func TestRowsThatRoomSetsApart(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	y := 100.0
	for _, row := range []struct{ label, text []string }{
		{[]string{"Border"}, []string{"Dubois visited the considerable", "budget after every street; he", "delayed some difference."}},
		{[]string{"Old officer", "election"}, []string{"The network visited the exhibition", "near Quarley and its village,"}},
		{[]string{"Magazine"}, []string{"Any vessel, the engine because of", "measures never between our careful", "workshop, could be small."}},
		{[]string{"Tradition"}, []string{"Through the northern report that", "statement was recently sudden."}},
		{[]string{"Window"}, []string{"Across the orchestra with them it", "had been sudden since then."}},
	} {
		lines = append(lines, down(60, y, 10, row.label...)...)
		lines = append(lines, down(150, y, 10, row.text...)...)
		lines = append(lines, at(360, y, 10, "Bernard Crane"), at(460, y, 10, "26 May"))
		y += 12*float64(len(row.text)) + 12
	}
	page := pageOf(lines)
	ArrangePage(page)
	if got := tablesOf(page); len(got) != 1 || got[0].GetRows() != 5 || got[0].GetColumns() != 4 {
		t.Errorf("got %v, want one table of 5 rows and 4 columns", got)
	}
}

// TestMarkersBesideText keeps the markers of a list, which some programs draw before its text, with the items.
func TestMarkersBesideText(t *testing.T) {
	t.Parallel()
	segments := func(lines []*inkstreamv1.Line) []segment {
		var out []segment
		for _, line := range lines {
			out = append(out, newSegment(line.Words, 0))
		}
		return out
	}
	text := segments(down(108, 100, 11, "The suite: it continued to dominate with its many parts, and the", "word processor with the other tools was what all offices bought.",
		"The free ones: they came up as alternatives some years later and", "offered free and flexible programs for all who wanted to write."))
	markersAt := func(marker string, ys ...float64) []segment {
		var lines []*inkstreamv1.Line
		for _, y := range ys {
			lines = append(lines, at(90, y, 11, marker))
		}
		return segments(lines)
	}
	c := columnSplitter{gutterJudge{em: 11}}
	for _, tt := range []struct {
		name     string
		segments []segment
		want     bool
	}{
		{"bullets", markersAt("•", 100, 126.4), true},
		{"numbers", markersAt("2.", 100, 126.4), true},
		{"bullets elsewhere", markersAt("•", 100, 300), false},
		{"words", markersAt("Suite", 100, 126.4), false},
		{"numbers of lines", markersAt("5", 100, 126.4), false},
		{"boxes to tick", markersAt("☐", 100, 126.4), true},
		{"a sign of a font of symbols", markersAt("!", 100, 113.2, 126.4), true},
		{"a sign twice", markersAt("!", 100, 126.4), false},
		{"a letter again and again", markersAt("l", 100, 113.2, 126.4), false},
	} {
		if got := c.areMarkers(tt.segments, text, false); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
	items := segments([]*inkstreamv1.Line{at(400, 100, 11, "[17]"), at(400, 126.4, 11, "[18]")})
	if c.areMarkers(items, text, true) {
		t.Error("the markers of the next column's items are those of text that runs from left to right")
	}
	for i := range text {
		text[i].rtl = true
	}
	if !c.areMarkers(items, text, true) {
		t.Error("the markers right of text that runs from right to left are not its own")
	}
}

// TestTablesOfOtherColumns parts two tables one above the other whose columns do not stand below each other.
func TestTablesOfOtherColumns(t *testing.T) {
	t.Parallel()
	rows := func(y float64, labels []string, at ...float64) []*inkstreamv1.Line {
		var rows [][]string
		for i, label := range labels {
			row := []string{"60:" + label}
			for j, x := range at {
				row = append(row, fmt.Sprintf("%g:%d", x, 101+10*i+j))
			}
			rows = append(rows, row)
		}
		return rowsAt(y, 10, rows...)
	}
	page := pageOf(rows(100, []string{"Pattern", "Country", "Network", "Border", "People", "Total"}, 160, 210, 260, 310, 360, 410),
		rows(200, []string{"Warehouse", "Shadow", "Territory", "Museum", "Church", "Reason", "Lecture", "Morning"}, 235, 285, 335, 385))
	ArrangePage(page)
	if got := tablesOf(page); len(got) != 2 || got[0].GetColumns() != 7 || got[1].GetColumns() != 5 {
		t.Errorf("got %v, want tables of 7 and 5 columns", got)
	}
}

// TestTableOfOptions makes a table of rows whose labels are in a font of fixed pitch, and none of code with wide
// blanks.
func TestTableOfOptions(t *testing.T) {
	t.Parallel()
	for _, font := range []int32{1, 2} {
		lines := rowsAt(100, 10, []string{"100:Option", "180:Default", "240:Meaning"}, []string{"100:port", "180:8080", "240:where the server listens"},
			[]string{"100:berths", "180:12", "240:how many ships there are"}, []string{"100:tide", "180:auto", "240:which table is taken"},
			[]string{"100:report", "180:daily", "240:when reports are written"})
		page := pageOf(lines)
		page.Fonts = []*inkstreamv1.Font{{Name: "Times"}, {Name: "Courier", FixedPitch: true}}
		for i, line := range lines {
			if set(1, line); i%3 == 0 || font == 2 {
				set(2, line)
			}
		}
		ArrangePage(page)
		if got, want := len(tablesOf(page)), int(2-font); got != want {
			t.Errorf("text in font %d: got %d tables, want %d", font, got, want)
		}
	}
}

// TestPitchOfShortParagraphs parts paragraphs most of which have one line: those that go on tell how far apart the
// lines of one are.
func TestPitchOfShortParagraphs(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	y := 100.0
	for _, paragraph := range [][]string{
		{"The server starts again and goes on from the place where it had been, nothing is", "lost but the last second."}, {"Two harbours share a server."},
		{"They have different names for all of their berths, and for each of the ships that", "lie at the quay and wait for wind."}, {"A harbour is a place where ships wait."},
		{"No harbour is too small."}, {"Some harbours have no tides."},
	} {
		lines = append(lines, down(72, y, 10, paragraph...)...)
		y += 12*float64(len(paragraph)) + 4.2
	}
	page := pageOf(lines)
	ArrangePage(page)
	if got := len(page.GetBlocks()); got != 6 {
		t.Errorf("got %d paragraphs, want 6: %q", got, page.GetText())
	}
}

// TestLinesThatBeginAnew parts questions in bold type from the answer above them, and lines to sign on from the text,
// at the ends of sentences.
func TestLinesThatBeginAnew(t *testing.T) {
	t.Parallel()
	const answer = "Yes. You have thirty days for it, and pay nothing at all. The label came with it."
	for _, tt := range []struct {
		name   string
		lines  []*inkstreamv1.Line
		bold   int // this line
		blocks int
	}{
		{"a question", down(72, 100, 10, "Order it before noon, to have it in your hands within two or three working", answer, "Which cards are accepted?", "All the usual ones, and some that nobody has heard of in the last ten or more", "years."), 2, 3},
		{"bold words at the end", down(72, 100, 10, "Order it before noon, to have it in your hands within two or three working", answer, "Mind the tide."), 2, 1},
		{"a line to sign on", down(72, 100, 10, "This begins on the date of the order, and it ends after twelve months if it is", "not renewed by then, as Schedule A tells, and paid for in full before the day.", "Signed: ______________ Date: _________"), -1, 2},
		{"a line to fill in", down(72, 100, 10, "This begins on the date of the order, and it ends after as many months as are", "______________ by the Licensor."), -1, 1},
	} {
		page := pageOf(tt.lines)
		page.Fonts = []*inkstreamv1.Font{{Name: "Times"}, {Name: "Times-Bold", Weight: 700}}
		for i, line := range tt.lines {
			if set(1, line); i == tt.bold {
				set(2, line)
			}
		}
		ArrangePage(page)
		if got := len(page.GetBlocks()); got != tt.blocks {
			t.Errorf("%s: got %d blocks, want %d", tt.name, got, tt.blocks)
		}
	}
}

// TestFewBlanksByChance takes lines of a narrow justified column for text though the wide blanks of two of three end below
// each other.
func TestFewBlanksByChance(t *testing.T) {
	t.Parallel()
	a := aligner{textSetting: textSetting{em: 7, style: newStyles(nil)}}
	column := &table{columns: 2, rect: rect{30.8, 68, 115.2, 123}}
	var lines []tableLine
	for _, l := range []*inkstreamv1.Line{
		wordsBetween(68, 7, "POLICY – 572 letter", 30.9, 61.8, 69.6, 73.1, 81.1, 90.9, 99.2, 115.1),
		wordsBetween(76, 7, "against the hospital will be", 30.8, 52.0, 55.3, 64.7, 67.8, 91.6, 94.6, 105.2, 108.3, 115.1),
		wordsBetween(84, 7, "small, where 208 carried", 30.8, 48.0, 54.4, 72.0, 78.3, 87.2, 94.5, 115.1),
		wordsBetween(108, 7, "MOVEMENT, Barlow", 30.9, 81.7, 94.1, 115.2),
		wordsBetween(116, 7, "compares the pattern. Box", 30.8, 58.8, 62.5, 71.9, 75.7, 99.4, 103.6, 115.2),
	} {
		s := newSegment(l.GetWords(), 0)
		line := tableLine{row: row{rect: s.rect, segments: []segment{s}, core: s.rect}}
		line.cells = a.splitRowCells(line.row)
		line.several = len(line.cells) > 1
		lines = append(lines, line)
	}
	if !a.isJustifiedText(column, lines, 0, len(lines)) {
		t.Error("a table was seen in justified lines")
	}
}

// TestNotesBesideNarrowColumn reads notes in the margin of a narrow column by themselves where its text runs on.
func TestNotesBesideNarrowColumn(t *testing.T) {
	t.Parallel()
	lines := down(40, 72, 10, "The towerkeeper of the", "oldest gate keeps keys", "of all other doors also", "in walls, but for that", "at the mill, which the",
		"miller keeps himself and", "locks when its bell has", "rung for a last time on", "shorter winter evenings.")
	notes := []*inkstreamv1.Line{at(180, 73, 8, "Keys."), at(180, 109, 8, "Walls."), at(180, 145, 8, "Mill.")}
	var sides [2][]sideLine
	for i, group := range [][]*inkstreamv1.Line{lines, notes} {
		for _, l := range group {
			sides[i] = append(sides[i], buildSide([]segment{newSegment(l.GetWords(), 0)}, 10)...)
		}
	}
	if !areMarginNotes(sides[1], sides[0], 10) {
		t.Error("the notes were taken for a part of the text")
	}
}
