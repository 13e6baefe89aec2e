package layout

import (
	"fmt"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// entriesBesideNumbers returns a page whose recogniser read lines, and then the numbers at their ends, each by itself.
// An empty number is none.
func entriesBesideNumbers(lines, numbers []string) *inkstreamv1.Page {
	line := func(text string, x0, y0 float32) *inkstreamv1.Line {
		l := &inkstreamv1.Line{}
		for _, word := range strings.Fields(text) {
			x1 := x0 + 6*float32(len(word))
			l.Words = append(l.Words, &inkstreamv1.Word{Text: word, Bbox: []float32{x0, y0, x1, y0 + 10}})
			x0 = x1 + 4
		}
		return l
	}
	entries := &inkstreamv1.Block{}
	page := &inkstreamv1.Page{Width: 600, Height: 800, Blocks: []*inkstreamv1.Block{entries}}
	for i, text := range lines {
		entries.Lines = append(entries.Lines, line(text, 50, float32(50+14*i)))
		if numbers[i] != "" {
			page.Blocks = append(page.Blocks, &inkstreamv1.Block{
				Lines: []*inkstreamv1.Line{line(numbers[i], float32(520-6*len(numbers[i])), float32(50+14*i))}})
		}
	}
	return page
}

func TestJoinPageNumbers(t *testing.T) {
	t.Parallel()
	entries := []string{"1 Coast and valley", "1.1 Morning between", "the programmes", "1.2 Average member", "2 This tide",
		"2.1 University", "2.2 Beyond"}
	prose := []string{"The coast and", "valley of morning", "between the", "programmes average", "member this",
		"tide of a university", "beyond"}
	for name, tt := range map[string]struct {
		lines, numbers []string
		want           bool
	}{
		"contents":           {entries, []string{"3", "8", "", "_17", "29", "29", "37"}, true},
		"falling numbers":    {entries, []string{"37", "29", "", "28", "17", "8", "3"}, false},
		"counted lines":      {entries, []string{"1", "2", "3", "4", "5", "6", "7"}, false},
		"few numbers":        {entries, []string{"3", "8", "", "17", "29", "", "37"}, false},
		"two smaller ones":   {entries, []string{"3", "1", "8", "17", "12", "29", "37"}, false},
		"long numbers":       {entries, []string{"403", "4247", "5001", "8153", "8153", "9755", "9831"}, false},
		"dates beside prose": {prose, []string{"150", "", "162", "163", "170", "188", "201"}, false},
	} {
		page := entriesBesideNumbers(tt.lines, tt.numbers)
		if got := joinPageNumbers(page); got != tt.want {
			t.Errorf("%s: joined: %v, want %v", name, got, tt.want)
			continue
		}
		if !tt.want {
			continue
		}
		if len(page.GetBlocks()) != 1 {
			t.Errorf("%s: got %d blocks, want one", name, len(page.GetBlocks()))
		}
		for i, l := range page.GetBlocks()[0].GetLines() {
			var words []string
			for _, w := range l.GetWords() {
				words = append(words, w.GetText())
			}
			if want := strings.TrimSpace(fmt.Sprint(tt.lines[i], " ", tt.numbers[i])); strings.Join(words, " ") != want {
				t.Errorf("%s: got the line %q, want %q", name, words, want)
			}
		}
	}
}

// TestPageNumbersInTwoColumns has two numbers at the end of each entry, such as those of two editions.
func TestPageNumbersInTwoColumns(t *testing.T) {
	t.Parallel()
	lines := []string{"1 Coast", "1.1 Morning", "1.2 Average", "2 This tide", "2.1 University", "2.2 Beyond"}
	numbers := []string{"3", "8", "17", "29", "29", "37"}
	page := entriesBesideNumbers(lines, numbers)
	for _, b := range entriesBesideNumbers(lines, numbers).GetBlocks()[1:] {
		for _, w := range b.GetLines()[0].GetWords() {
			w.Bbox[0], w.Bbox[2] = w.Bbox[0]+50, w.Bbox[2]+50
		}
		page.Blocks = append(page.Blocks, b)
	}
	page.Blocks = append(page.Blocks[1:], page.Blocks[0]) // numbers come first
	if !joinPageNumbers(page) || len(page.GetBlocks()) != 1 {
		t.Fatalf("got %d blocks, want one", len(page.GetBlocks()))
	}
	if words := page.GetBlocks()[0].GetLines()[0].GetWords(); len(words) != 4 {
		t.Errorf("got %d words in the first entry, want its two and both numbers", len(words))
	}
}

func TestPageNumbersWithoutEntriesStay(t *testing.T) {
	t.Parallel()
	lines := []string{"", "", "", "", "", ""}
	page := entriesBesideNumbers(lines, []string{"3", "8", "17", "29", "37", "50"})
	page.Blocks = page.Blocks[1:]
	if joinPageNumbers(page) || len(page.GetBlocks()) != 6 {
		t.Errorf("got %d blocks, want the 6 numbers as they were", len(page.GetBlocks()))
	}
}

// TestFootNumbersComeLast reads the number in the middle of a page's foot after both columns, whichever it was read with,
// and leaves a number that ends a column above the end of the other.
func TestFootNumbersComeLast(t *testing.T) {
	t.Parallel()
	left := down(40, 60, 10, "The council met on Tuesday and agreed", "after a debate of three hours to close", "the bridge for repairs in autumn.")
	right := down(300, 60, 10, "The mayor, a former teacher, said that", "there were two other ways to the market,", "of which one is longer.")
	for name, tt := range map[string]struct {
		number *inkstreamv1.Line
		last   bool
	}{
		"at the foot":          {at(280, 140, 10, "30"), true},
		"between dashes":       {at(270, 140, 10, "- 30 -"), true},
		"beside the last line": {at(40, 80, 10, "30"), false},
		"words":                {at(260, 140, 10, "Turn over"), false},
	} {
		blocks := [][]*inkstreamv1.Line{left, {tt.number}, right}
		if !tt.last {
			blocks = [][]*inkstreamv1.Line{left[:1], {tt.number}, right}
		}
		p := recognised(blocks...)
		moveFootNumber(p)
		lines := p.GetBlocks()[2].GetLines()
		if isLast := lines[0] == tt.number; isLast != tt.last {
			t.Errorf("%s: last: %v, want %v", name, isLast, tt.last)
		}
	}
}
