package layout

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const harbourLine = "the harbour was closed for the whole of the winter, as"

// linesOfBlocks returns of how many lines each block of a page is.
func linesOfBlocks(p *inkstreamv1.Page) []int {
	var out []int
	for _, b := range p.GetBlocks() {
		out = append(out, len(b.GetLines()))
	}
	return out
}

// TestBoldWordsBeginEntries parts entries of full lines whose first words are bold, unless bold words stand within the
// text as well.
func TestBoldWordsBeginEntries(t *testing.T) {
	t.Parallel()
	for _, within := range []bool{false, true} {
		var lines []*inkstreamv1.Line
		for i := range 12 {
			line := at(72, 72+12*float64(i), 10, harbourLine)
			set(1, line)
			if words := line.GetWords(); i%2 == 0 {
				set(2, &inkstreamv1.Line{Words: words[:2]})
			} else if within {
				set(2, &inkstreamv1.Line{Words: words[3:4]})
			}
			lines = append(lines, line)
		}
		page := pageOf(lines)
		page.Fonts = []*inkstreamv1.Font{{Name: "Times"}, {Name: "Times-Bold", Weight: 700}}
		ArrangePage(page)
		if got, want := len(page.GetBlocks()), 6; (got == want) == within {
			t.Errorf("bold words within the text %t: got blocks of %v lines", within, linesOfBlocks(page))
		}
	}
}

// TestBulletsWithoutBlank makes items of lines that begin with a bullet that touches the text, where several do.
func TestBulletsWithoutBlank(t *testing.T) {
	t.Parallel()
	for _, bullets := range []int{1, 3} {
		var lines []*inkstreamv1.Line
		for i := range 3 {
			text := harbourLine
			if i < bullets {
				text = "•" + harbourLine
			}
			lines = append(lines, down(72, 72+24*float64(i), 10, text, harbourLine)...)
		}
		page := pageOf(lines)
		ArrangePage(page)
		items := 0
		for _, b := range page.GetBlocks() {
			if b.GetType() == ListItem && b.GetMarker() == "•" {
				items++
			}
		}
		if want := map[int]int{1: 0, 3: 3}[bullets]; items != want {
			t.Errorf("%d lines with a bullet: got %d items, want %d:\n%s", bullets, items, want, page.GetText())
		}
	}
}

// TestEntriesGoOn keeps entries whole whose lines go on left of a marker or hang, though one of their lines ends early
// or the next word has no room in it.
func TestEntriesGoOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		indent        [2]float64 // of an entry's first line and of the others
		lines, others [3]string  // of the entries; of the one that is different
		different     int        // that one
		entries       int
	}{
		{
			"answers, where the next word has no room", [2]float64{26, 0},
			[3]string{"A. " + harbourLine[:47], "boats, while the final movement is independent.", "Notwithstanding the weather they left."},
			[3]string{}, -1, 4,
		},
		{
			"questions, where no sentence ends", [2]float64{26, 0},
			[3]string{"Q. " + harbourLine[:47], "boats, while the final movement was by",
				"then, the movement of the weather, they left so now."},
			[3]string{"Q. the harbour against 1863 was by", "Dunmore, where the ice had been.",
				"then, the movement of the weather, they left so now."}, 4, 5,
		},
		{
			"hanging text, of which a line ends early", [2]float64{0, 12},
			[3]string{harbourLine, "the ice was gone, and no boat had come since the..", "Tide and wind were fair."},
			[3]string{harbourLine, "the ice was gone, and no boat had come.", "Tide and wind were fair."}, 2, 6,
		},
	} {
		var lines []*inkstreamv1.Line
		for i := range tt.entries {
			texts := tt.lines
			if i == tt.different {
				texts = tt.others
			}
			for k, text := range texts {
				lines = append(lines, at(72+tt.indent[min(k, 1)], 72+36*float64(i)+12*float64(k), 10, text))
			}
		}
		page := pageOf(lines)
		ArrangePage(page)
		if got := linesOfBlocks(page); len(got) != tt.entries {
			t.Errorf("%s: got blocks of %v lines, want %d blocks:\n%s", tt.name, got, tt.entries, page.GetText())
		}
	}
}

// TestLineNumbers makes one block of the numbers that count the lines of a page, however far apart they stand, and none
// of lines of text as far apart unless they run on.
func TestLineNumbers(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i := range 9 {
		y := 72 + 50*float64(i)
		lines = append(lines, at(40, y, 10, fmt.Sprint(i+1)), at(98, y, 10, harbourLine))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if got := linesOfBlocks(page); len(got) != 2 || !CountsLines(page.GetBlocks()[0]) || CountsLines(page.GetBlocks()[1]) {
		t.Errorf("got blocks of %v lines, want the numbers and the text:\n%s", got, page.GetText())
	}
}

// TestCountsLinesOfRecognisedColumns counts the lines of a column that was recognised though a number is misread and another missing,
// and of no other column.
func TestCountsLinesOfRecognisedColumns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		numbers    string
		recognised bool
		want       bool
	}{
		"all":                       {"4 5 6 7 8 9 10 11 12 13", false, true},
		"one misread, one missing":  {"4 5 b 7 8 9 11 12 13 14", true, true},
		"of a document's own words": {"4 5 b 7 8 9 11 12 13 14", false, false},
		"half misread":              {"4 s b 7 B q 10 ll 12 l3 14 is", true, false},
		"scores":                    {"12 5 30 7 9 8 16 11 3 14", true, false},
	} {
		b := &inkstreamv1.Block{}
		for i, n := range strings.Fields(tt.numbers) {
			line := at(40, 72+12*float64(i), 10, n)
			if tt.recognised {
				line.Words[0].Confidence = proto.Float32(0.9)
			}
			b.Lines = append(b.Lines, line)
		}
		if got := CountsLines(b); got != tt.want {
			t.Errorf("%s: counts lines: %v, want %v", name, got, tt.want)
		}
	}
}

// TestBoldLinesThatFillTheirColumn keeps bold words with the text of their entry where the next word had no room in their
// line, in a column in which other entries' words stand before their text.
func TestBoldLinesThatFillTheirColumn(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i := range 12 {
		y := 72 + 36*float64(i)
		words, rest := "HOUSE to let from", "the first of May, with two rooms"
		if i%2 == 0 {
			words, rest = "SPACIOUS GARDEN HOUSE", "extraordinarily well kept, with a"
		}
		line := at(72, y, 10, words)
		if set(1, line); i%2 == 0 {
			set(2, line)
		} else {
			set(2, &inkstreamv1.Line{Words: line.Words[:1]})
		}
		lines = append(lines, line, set(1, at(72, y+12, 10, rest))[0], set(1, at(72, y+24, 10, "view of the sea."))[0])
	}
	page := pageOf(lines)
	page.Fonts = []*inkstreamv1.Font{{Name: "Times"}, {Name: "Times-Bold", Weight: 700}}
	ArrangePage(page)
	for _, n := range linesOfBlocks(page) {
		if n != 3 {
			t.Fatalf("got blocks of %v lines, want 3 each", linesOfBlocks(page))
		}
	}
}

// TestHangingEntriesWithLongWords lets entries hang in a column in which a word is as wide as half of it.
func TestHangingEntriesWithLongWords(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i := range 8 {
		y := 72 + 24*float64(i)
		second := "shopkeeper."
		if i == 3 {
			second = "extraordinarily"
		}
		lines = append(lines, at(72, y, 10, "9.30 The voyage of the old ship"), at(90, y+12, 10, second))
	}
	page := pageOf(lines)
	ArrangePage(page)
	if got := linesOfBlocks(page); len(got) != 8 {
		t.Errorf("got blocks of %v lines, want 8 of 2", got)
	}
}
