package layout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// wordsBetween sets words whose left and right edges are given.
func wordsBetween(y, size float64, words string, edges ...float64) *inkstreamv1.Line {
	line := &inkstreamv1.Line{}
	for i, word := range strings.Fields(words) {
		line.Words = append(line.Words, &inkstreamv1.Word{Text: word, Size: float32(size),
			Bbox: rect{edges[2*i], y, edges[2*i+1], y + 0.95*size}.toBox()})
	}
	return line
}

// columnText is lines of running text of about a column's width.
func columnText(n int) []string {
	text := []string{"The council met on Tuesday and", "agreed after a long debate to", "close the bridge for repairs in", "autumn, when fewer farmers use",
		"it for their carts. The mayor, a", "former teacher, said that there", "were two other ways to reach the", "market, of which one is longer"}
	var out []string
	for i := range n {
		out = append(out, text[i%len(text)])
	}
	return out
}

// TestLinesSetFarApart reads a sheet of two pages whose lines stand far apart, as those of transcripts do.
func TestLinesSetFarApart(t *testing.T) {
	t.Parallel()
	var lines [2][]*inkstreamv1.Line
	for side := range lines {
		for i, text := range columnText(8) {
			x, y := 40+230*float64(side), 80+45*float64(i)
			lines[side] = append(lines[side], at(x, y, 7, fmt.Sprint(i+1)), at(x+22, y, 7, text))
		}
	}
	page := pageOf(interleaved(lines[0], lines[1]))
	ArrangePage(page)
	for _, text := range [][2]string{{"The council met on Tuesday and", "agreed after a long debate to"}, {"were two other ways to reach the", "market, of which one is longer"}} {
		if !containsRun(page, text[0], text[1]) {
			t.Errorf("%q is not followed by %q in\n%s", text[0], text[1], page.GetText())
		}
	}
}

// TestWideBlanksOfACard reads cards side by side of which one has wide blanks that stand one above the other.
func TestWideBlanksOfACard(t *testing.T) {
	t.Parallel()
	page := pageOf([]*inkstreamv1.Line{
		wordsBetween(492, 9.8, "Extraordinary", 53, 116), wordsBetween(503, 9.8, "bridge", 53, 80),
		wordsBetween(520, 9.8, "The large extraordi-", 53, 67, 73, 93, 99, 137), wordsBetween(532, 9.8, "nary purpose would", 54, 72, 77, 107, 112, 137),
		wordsBetween(492, 9.8, "Warehouse", 168, 217), wordsBetween(508, 9.8, "During this local", 168, 196, 208, 222, 233, 252),
		wordsBetween(520, 9.8, "painter, the", 168, 198, 239, 252), wordsBetween(533, 9.8, "orchestra could", 168, 205, 230, 252),
		wordsBetween(492, 9.8, "Complex audience", 283, 323, 326, 365), wordsBetween(508, 9.8, "The unusual ancient", 283, 297, 302, 333, 338, 367),
		wordsBetween(520, 9.8, "instrument had been", 283, 327, 331, 345, 348, 367), wordsBetween(533, 9.8, "seldom heavy", 284, 311, 343, 367)})
	ArrangePage(page)
	if got := page.GetText(); !strings.Contains(got, "During this local\npainter, the\norchestra could\n") {
		t.Errorf("the first card is not whole in\n%s", got)
	}
}

// TestRunningHeadOverColumns keeps a running head out of the columns below it, wherever its number stands.
func TestRunningHeadOverColumns(t *testing.T) {
	t.Parallel()
	for _, head := range []struct {
		name  string
		parts []*inkstreamv1.Line
		want  string
	}{
		{"number on the right", []*inkstreamv1.Line{at(50, 50, 9, "Travels in winter"), at(395, 50, 9, "164")}, "Travels in winter 164\n"},
		{"number on the left", []*inkstreamv1.Line{at(50, 50, 9, "164"), at(355, 50, 9, "Travels in winter")}, "164 Travels in winter\n"},
		{"a Roman number", []*inkstreamv1.Line{at(50, 50, 9, "Travels in winter"), at(395, 50, 9, "xvii")}, "Travels in winter xvii\n"},
	} {
		t.Run(head.name, func(t *testing.T) {
			t.Parallel()
			page := pageOf(head.parts, down(50, 68, 10, columnText(8)...), down(260, 68, 10, columnText(8)...))
			ArrangePage(page)
			got := strings.ReplaceAll(strings.SplitN(page.GetText(), "The council", 2)[0], "\t", " ")
			if strings.TrimSpace(got) != strings.TrimSpace(head.want) {
				t.Errorf("before the columns stands %q, want %q:\n%s", got, head.want, page.GetText())
			}
		})
	}
}

// TestRunningHeadBesideAPicture keeps a running head out of columns of which the last begins with a picture.
func TestRunningHeadBesideAPicture(t *testing.T) {
	t.Parallel()
	page := pageOf([]*inkstreamv1.Line{at(50, 50, 9, "Travels in winter"), at(395, 50, 9, "164")},
		down(50, 68, 10, columnText(16)...), down(260, 164, 10, columnText(8)...))
	ArrangePage(page)
	if got := strings.ReplaceAll(page.GetText(), "\t", " "); !strings.HasPrefix(strings.ReplaceAll(got, "\n", " "), "Travels in winter 164 ") {
		t.Errorf("the page does not begin with its running head:\n%s", got)
	}
}

// TestHeadingBesideADrawing keeps a heading in the last column that stands level with a drawing in the first, though its
// second line is set in behind the number.
func TestHeadingBesideADrawing(t *testing.T) {
	t.Parallel()
	for name, heading := range map[string][]*inkstreamv1.Line{
		"one line":  {at(260, 50, 14, "5 The bridge")},
		"two lines": {at(260, 36, 14, "5 The bridge and the"), at(280, 52, 14, "river")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := pageOf(down(50, 154, 10, columnText(14)...), slices.Concat(heading, down(260, 84, 10, columnText(20)...)))
			ArrangePage(page)
			if heading, left := strings.Index(page.GetText(), "5 The bridge"), strings.Index(page.GetText(), "The council"); heading < left {
				t.Errorf("the heading of the second column stands before the first:\n%s", page.GetText())
			}
		})
	}
}

// TestLineBetweenRules keeps the line under a newspaper's name out of the columns below it.
func TestLineBetweenRules(t *testing.T) {
	t.Parallel()
	page := ruledPage(across(50, 590, 64, 80), []*inkstreamv1.Line{at(200, 36, 24, "The Gazette")},
		[]*inkstreamv1.Line{at(50, 67, 7, "No. 5741"), at(385, 67, 7, "16.05.1999"), at(550, 67, 7, "Price 4.67")},
		[]*inkstreamv1.Line{at(50, 86, 13, "The council and the bridge over the river")}, down(50, 104, 10, columnText(12)...),
		[]*inkstreamv1.Line{at(235, 104, 10, "frequent!")}, down(235, 116, 10, columnText(11)...), down(420, 104, 10, columnText(12)...))
	ArrangePage(page)
	if n := strings.Count(page.GetText(), strings.Join(columnText(8), "\n")); n != 3 {
		t.Errorf("got %d whole columns, want 3:\n%s", n, page.GetText())
	}
}

// TestBracesBelowIndentedCode makes no column of what ends a block of code below the lines that are indented in it.
func TestBracesBelowIndentedCode(t *testing.T) {
	t.Parallel()
	part := func(lines ...*inkstreamv1.Line) []segment {
		var out []segment
		for _, l := range lines {
			out = append(out, newSegment(l.GetWords(), rotation(0)))
		}
		return out
	}
	indented := part(at(80, 60, 8, "painter := forest.century(shadow)"), at(80, 72, 8, "return painter.Close()"))
	c := columnSplitter{gutterJudge{em: 8}}
	if c.areSeparateColumns(part(at(65, 84, 8, "}"), at(50, 96, 8, "}")), indented, span{69, 80}, 1) {
		t.Error("braces are a column")
	}
	if !c.areSeparateColumns(part(at(20, 84, 8, "the harbour"), at(20, 96, 8, "in autumn")), indented, span{66, 80}, 1) {
		t.Error("a column that begins lower is none")
	}
}

// TestHeadingAboveTheFirstRow makes no table of a running head, a heading and a table's first row.
func TestHeadingAboveTheFirstRow(t *testing.T) {
	t.Parallel()
	columns := []float64{50, 150, 220, 290, 390}
	rows := []string{"Date Item Debit Credit Balance"}
	rules := across(50, 450, 142)
	for i := range 8 {
		rows = append(rows, fmt.Sprintf("0%d.06. Lamps 4.%d1 7.50 73.6%d", i+1, i, i))
		rules = append(rules, across(50, 450, 156+14*float64(i))...)
	}
	page := ruledPage(rules, []*inkstreamv1.Line{at(50, 92, 8, "2"), at(400, 92, 8, "Ledger 1961")},
		[]*inkstreamv1.Line{at(50, 109, 14, "Account of Nils Zimmer")}, gridLines(129, columns, rows...))
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetRows() != 9 {
		t.Errorf("got %d tables, want one of 9 rows:\n%s", len(tables), page.GetText())
	}
}

// TestTypeSizeOfTallBoxes takes the size of type from the font where its boxes are tall, and not where the page scales
// it.
func TestTypeSizeOfTallBoxes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ size, height, want float64 }{{10, 11.6, 10}, {7.6, 10.3, 7.6}, {12, 18.5, 12}, {1, 10, 12}, {0, 10, 12}} {
		word := &inkstreamv1.Word{Text: "Ilford", Size: float32(tt.size)}
		if got := wordTypeSize(word, rect{0, 0, 30, tt.height}); got < tt.want-0.01 || got > tt.want+0.01 {
			t.Errorf("size %v in a box %v high: got %v, want %v", tt.size, tt.height, got, tt.want)
		}
	}
}

// TestBlanksOfTypescriptAreNoGutter reads lines on whose wide blanks, which stand below each other in three of them,
// others follow.
func TestBlanksOfTypescriptAreNoGutter(t *testing.T) {
	t.Parallel()
	typed := func(y float64, text string) *inkstreamv1.Line {
		line, x := &inkstreamv1.Line{}, 43.0
		for _, word := range strings.Fields(text) {
			w := 5.6 * float64(len(word))
			line.Words = append(line.Words, &inkstreamv1.Word{Text: word, Bbox: rect{x, y, x + w, y + 9.3}.toBox(), Size: 9.3})
			x += w + 11.6
		}
		return line
	}
	var lines []*inkstreamv1.Line
	for i, text := range []string{"very similar to the heater surface measurements shown in Figure 8.1.2. This",
		"calculation shows that the HU surface temperature was very sensitive to the",
		"conductivity of the nearby tuff and appears to explain the behavior observed", "in the temperature history analyses."} {
		lines = append(lines, typed(100+24.5*float64(i), text))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if text := strings.Join(strings.Fields(page.GetText()), " "); !strings.Contains(text, "shows that the HU surface temperature was") ||
		!strings.Contains(text, "temperature history analyses.") {
		t.Errorf("lines are parted at their blanks: %q", text)
	}
}

// TestNotesInTheMargin reads a text past the notes in its margin, which begin close to the ends of its lines.
func TestNotesInTheMargin(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	notes := []string{"Difference.", "Students.", "Heavy rain.", "Narrow report."}
	for i := range 4 {
		y := 80 + 38*float64(i)
		lines = append(lines, at(40, y, 10, fmt.Sprintf("%d. the section begins with a line that comes near to the margin of it and", i+1)),
			at(424, y+1, 7, notes[i]), at(40, y+12, 10, "goes on below that in another line, which ends in a word that stands by"),
			at(40, y+24, 10, "itself, before the next section."))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if text := strings.Join(strings.Fields(page.GetText()), " "); strings.Count(text, "margin of it and goes on below that in another") != 4 {
		t.Errorf("the notes part the text: %q", text)
	}
}

// TestMisreadLineNumbers parts the numbers of lines from the text on a sheet of two pages, of which a recogniser
// misread some, and read all its lines across.
func TestMisreadLineNumbers(t *testing.T) {
	t.Parallel()
	const count = 24
	numbers := make([]string, count)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i + 1)
	}
	numbers[3], numbers[9], numbers[14], numbers[19] = "1", "18", "45", "28"
	text := columnText(count)
	for i := 0; i < count; i += 5 {
		text[i] = "A. " + text[i]
	}
	lines := make([]*inkstreamv1.Line, count)
	for i := range lines {
		y := 60 + 18*float64(i)
		lines[i] = &inkstreamv1.Line{}
		for side := range 2 {
			x := 40 + 280*float64(side)
			lines[i].Words = slices.Concat(lines[i].Words, at(x, y, 9, numbers[i]).Words, at(x+20, y, 9, text[i]).Words)
		}
	}
	p := recognised(lines)
	ArrangePage(p)
	for i := 1; i < count; i++ {
		if !containsRun(p, text[i-1], text[i]) {
			t.Errorf("%q is not followed by %q in\n%s", text[i-1], text[i], p.GetText())
			break
		}
	}
}

// TestNumberedListing reads the numbers of a listing with their lines, where no other column stands beside it.
func TestNumberedListing(t *testing.T) {
	t.Parallel()
	const count = 24
	var lines []*inkstreamv1.Line
	for i := range count {
		y := 60 + 11*float64(i)
		lines = append(lines, at(40, y, 9, strconv.Itoa(315+i)), at(60+10*float64(i%3), y, 9, fmt.Sprintf("local name%d = node.id of it", i)))
	}
	p := pageOf(lines)
	ArrangePage(p)
	for i := range count {
		if want := fmt.Sprintf("%d local name%d", 315+i, i); !strings.Contains(p.GetText(), want) {
			t.Fatalf("%q is not in\n%s", want, p.GetText())
		}
	}
}
