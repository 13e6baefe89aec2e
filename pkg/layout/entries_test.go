package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// entryText is lines of running text, each wider than most columns.
var entryText = []string{"Kept the accounts of the harbour and wrote to those who owed it money, of whom there",
	"were many in the years after the storm, when the old quay had to be built anew and the", "council could not pay for it without help from the towns along the river.",
	"In the winter he taught the sons of fishermen how to read a chart and how to keep a log,", "which few of the masters on that coast had learnt themselves at school."}

// followEachOther checks that texts stand in the text of a page, one after the other.
func followEachOther(t *testing.T, page *inkstreamv1.Page, texts ...string) {
	t.Helper()
	from := 0
	for _, text := range texts {
		i := strings.Index(page.GetText()[from:], text)
		if i < 0 {
			t.Fatalf("%q does not follow in\n%s", text, page.GetText())
		}
		from += i + len(text)
	}
}

// TestYearsBesideTexts reads a life: the years stand beside what was done in them, under headings that stand beside no
// text. They were drawn column by column.
func TestYearsBesideTexts(t *testing.T) {
	t.Parallel()
	var labels, text []*inkstreamv1.Line
	y := 80.0
	want := []string{}
	for i, heading := range []string{"Employment", "", "Education", "", "Service"} {
		if heading != "" {
			labels = append(labels, at(40, y, 12, heading))
			want = append(want, heading)
			y += 20
		}
		years := fmt.Sprintf("%d–%d", 1990-5*i, 1994-5*i)
		labels = append(labels, at(40, y, 10, years))
		want = append(want, years)
		lines := entryText[:2+i%4]
		for j := range lines {
			line := lines[(j+i)%len(lines)]
			text = append(text, at(150, y+12*float64(j), 10, line))
			want = append(want, line)
		}
		y += 12*float64(len(lines)) + 9
	}
	page := pageOf(labels, text)
	ArrangePage(page)
	followEachOther(t, page, want...)
}

// TestMarksBesideTexts reads a list whose marks stand far from the text, and were drawn before it.
func TestMarksBesideTexts(t *testing.T) {
	t.Parallel()
	var marks, text []*inkstreamv1.Line
	y := 80.0
	for i := range 6 {
		marks = append(marks, at(50, y, 10, "•"))
		for j := range 4 + i%3 {
			text = append(text, at(72, y+12*float64(j), 10, entryText[(i+j)%5]))
		}
		y += 12*float64(4+i%3) + 6
	}
	page := pageOf(marks, text)
	ArrangePage(page)
	items := 0
	for _, b := range page.GetBlocks() {
		if b.GetType() == ListItem && b.GetMarker() == "•" && len(b.GetLines()) > 1 {
			items++
		}
	}
	if items != 6 {
		t.Errorf("got %d items, want 6:\n%s", items, page.GetText())
	}
}

// TestNamesInMargins reads minutes with names in the right margin, and such with titles in the left one that go on in
// a second line: neither stands within a sentence.
func TestNamesInMargins(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		margin float64
		text   float64
		second bool
	}{{"right", 480, 40, false}, {"left", 40, 150, true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var lines []*inkstreamv1.Line
			y := 80.0
			for i, name := range []string{"Mr Hale", "Ruth Collins", "Mr Vance", "Ida Baker", "Mr Hale"} {
				for j := range 3 + i%3 {
					lines = append(lines, at(tt.text, y+12*float64(j), 10, entryText[(i+j)%5]))
					if j == 0 {
						lines = append(lines, at(tt.margin, y, 10, name))
					} else if j == 1 && tt.second {
						lines = append(lines, at(tt.margin, y+12, 10, "Treasurer"))
					}
				}
				y += 12*float64(3+i%3) + 6
			}
			page := pageOf(lines)
			ArrangePage(page)
			for i := range 5 {
				if a, b := entryText[i], entryText[(i+1)%5]; !containsRun(page, a, b) {
					t.Errorf("%q is not followed by %q in\n%s", a, b, page.GetText())
				}
			}
		})
	}
}

// TestWordsInLineAboveColumns reads two columns with headings below a line of a few words that leave free a part of
// the gutter, or would but for one.
func TestWordsInLineAboveColumns(t *testing.T) {
	t.Parallel()
	for _, second := range []float64{95, 128} { // where the words in the middle begin
		lines := []*inkstreamv1.Line{at(40, 60, 10, "Serves 6"), at(second, 60, 10, "Takes 56 minutes"), at(280, 60, 10, "Easy"),
			at(40, 90, 10, "Ingredients"), at(190, 90, 10, "Method")}
		for i, text := range []string{"200 g of flour", "3 large eggs", "1 cup of milk", "2 spoons of sugar", "1 lemon", "salt"} {
			lines = append(lines, at(40, 105+12*float64(i), 10, text))
		}
		for i := range 9 {
			lines = append(lines, at(190, 105+12*float64(i), 10, entryText[i%5][:60]))
		}
		page := pageOf(lines)
		ArrangePage(page)
		followEachOther(t, page, "Easy", "Ingredients", "3 large eggs", "salt", "Method", entryText[0][:60], entryText[1][:60])
	}
}

// TestNumberedEntriesInColumns reads two columns of clues that begin and end with a number: they are no figures of
// rows.
func TestNumberedEntriesInColumns(t *testing.T) {
	t.Parallel()
	clues := []string{"Bridge over water (3)", "Old captain with a dog (10)", "Letter that never came (7)", "Fruit of the north (6)", "What the tide takes (4)", "Evening at sea (8)"}
	var lines [2][]*inkstreamv1.Line
	for side := range lines {
		for i := range 12 {
			x, y := 40+150*float64(side), 80+13*float64(i)
			lines[side] = append(lines[side], at(x, y, 9, fmt.Sprint(2*i+24*side+11, " ", clues[(i+side)%len(clues)])))
		}
	}
	page := pageOf(lines[0], lines[1])
	ArrangePage(page)
	var want []string
	for _, line := range slices.Concat(lines[0], lines[1]) {
		want = append(want, line.GetWords()[0].GetText()+" "+line.GetWords()[1].GetText())
	}
	followEachOther(t, page, want...)
}

// TestGutterBelowHeadInOneLine tells a gutter from blanks that stand so by chance: the blanks of justified lines on
// both sides are wider than it, but only a running head that was drawn as one line reaches over it.
func TestGutterBelowHeadInOneLine(t *testing.T) {
	t.Parallel()
	var left, right []segment
	order := 0
	add := func(side *[]segment, x0, x1, y float64, goesOn bool) {
		*side = append(*side, segment{rect: rect{x0, y, x1, y + 9}, words: at(x0, y, 9, "word").GetWords(), text: 4, order: order, continuesLine: goesOn})
		order++
	}
	add(&left, 40, 70, 60, false)
	add(&right, 330, 430, 60, true)
	for i := range 12 {
		y := 80 + 11*float64(i)
		add(&left, 40, 100, y, false)
		add(&left, 115, 230, y, true)
		add(&right, 241, 300, y, false)
		add(&right, 315, 430, y, true)
	}
	if isGutterByChance(left, right, span{230, 241}, 9) {
		t.Error("a gutter that one line of thirteen reaches over is taken for blanks")
	}
}

// TestNumbersBesideTexts takes numbers that count the items of an agenda for labels of their texts, which room parts, and no
// numbers that count lines.
func TestNumbersBesideTexts(t *testing.T) {
	t.Parallel()
	for room, want := range map[float64]bool{16: true, 0: false} {
		var numbers, text []segment
		y := 80.0
		for i := range 5 {
			numbers = append(numbers, newSegment(at(40, y, 10, fmt.Sprint(i+1)).GetWords(), 0))
			for j, line := range entryText {
				text = append(text, newSegment(at(80, y+12*float64(j), 10, line).GetWords(), 0))
			}
			y += 12*float64(len(entryText)) + room
		}
		if _, found := findEntries(numbers, text, 10); found != want {
			t.Errorf("room of %.0f: found entries: %t, want %t", room, found, want)
		}
		if !areCounters(numbers) {
			t.Error("the numbers are no counters")
		}
	}
}

// TestNameAboveText begins a paragraph below a short line that names it.
func TestNameAboveText(t *testing.T) {
	t.Parallel()
	page := pageOf(down(60, 80, 10, append([]string{"Bell & Lind, Leeds"}, entryText[:3]...)...))
	ArrangePage(page)
	if got := len(page.GetBlocks()); got != 2 {
		t.Errorf("got %d blocks, want 2: %q", got, page.GetText())
	}
}

// TestOrderOfService reads the parts of a service, each with what stands at the end of its line, though a line in the middle
// below them reaches into the room between.
func TestOrderOfService(t *testing.T) {
	t.Parallel()
	var labels, ends []*inkstreamv1.Line
	var want []string
	for i, part := range []string{"Prelude|J. S. Bach", "Call to worship|Psalm 27", "Hymn|The God of Abraham praise", "Prayer|in unison", "Lesson|Genesis 15", "Anthem|Chancel choir",
		"Sermon|Alice Pereira", "Offertory|M. Olsen, organ"} {
		label, end, _ := strings.Cut(part, "|")
		y := 100 + 13*float64(i)
		labels = append(labels, at(40, y, 10, label))
		ends = append(ends, endAt(400, at(0, y, 10, end)))
		want = append(want, label, end)
	}
	labels = append(labels, at(40, 204, 10, "Benediction"))
	page := pageOf(labels, []*inkstreamv1.Line{at(150, 218, 10, "All who can, please stand")}, ends)
	ArrangePage(page)
	followEachOther(t, page, append(want, "Benediction", "All who can, please stand")...)
}

// TestPlacesAtTheEdge takes places and years at the right edge for the ends of rows, though a name and an address stand in the
// middle of the page above.
func TestPlacesAtTheEdge(t *testing.T) {
	t.Parallel()
	left := []*inkstreamv1.Line{at(57, 99, 11, "EDUCATION")}
	right := []*inkstreamv1.Line{at(244, 49, 20, "Yusuf Demir"), at(210, 77, 11, "yusuf@mill.example | Leeds")}
	for i, row := range []string{"Bogazici University|Istanbul", "PhD, Computer Engineering|2012 – 2017", "Middle East University|Ankara", "BSc, Mathematics|2006 – 2010"} {
		text, end, _ := strings.Cut(row, "|")
		y := 122 + 15*float64(i)
		left, right = append(left, at(57, y, 11, text)), append(right, endAt(538, at(0, y, 11, end)))
	}
	side := func(lines []*inkstreamv1.Line) []sideLine {
		segments := make([]segment, len(lines))
		for i, line := range lines {
			segments[i] = newSegment(line.GetWords(), 0)
		}
		return buildSide(segments, 11)
	}
	if !areEndsOfRows(side(left), side(right), 11) {
		t.Error("the places and years are no ends of rows")
	}
}
