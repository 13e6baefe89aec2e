package layout

import (
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// brokenBlock sets lines of text from a left edge; a letter is five points wide, a line twelve high. A line that begins
// with a bar stands in the middle of a measure of 300 points.
func brokenBlock(x, y float32, lines ...string) *inkstreamv1.Block {
	b := &inkstreamv1.Block{Type: Paragraph}
	for i, text := range lines {
		at, line := x, &inkstreamv1.Line{}
		if middle, ok := strings.CutPrefix(text, "|"); ok {
			text, at = middle, x+(300-5*float32(len([]rune(middle))))/2
		}
		top := y + 12*float32(i)
		for _, word := range strings.Fields(text) {
			end := at + 5*float32(len([]rune(word)))
			line.Words = append(line.Words, &inkstreamv1.Word{Text: word, Size: 10, Bbox: []float32{at, top, end, top + 10}})
			at = end + 5
		}
		b.Lines = append(b.Lines, newLine(line.GetWords(), 0))
	}
	b.Bbox = newBlock(b.GetLines()).GetBbox()
	return b
}

// turns indents every other line of a block.
func turns(b *inkstreamv1.Block) *inkstreamv1.Block {
	for i := 1; i < len(b.GetLines()); i += 2 {
		for _, w := range b.GetLines()[i].GetWords() {
			w.Bbox[0], w.Bbox[2] = w.Bbox[0]+20, w.Bbox[2]+20
		}
	}
	return b
}

// parted sets the last words of the lines of a block apart, all up to one place.
func parted(b *inkstreamv1.Block, words int) *inkstreamv1.Block {
	const end = 300
	for _, line := range b.GetLines() {
		by := end - line.GetWords()[len(line.GetWords())-1].GetBbox()[2]
		for _, w := range line.GetWords()[len(line.GetWords())-words:] {
			w.Bbox[0], w.Bbox[2] = w.Bbox[0]+by, w.Bbox[2]+by
		}
	}
	return b
}

func TestLineBreaks(t *testing.T) {
	t.Parallel()
	full := "a line of the text below that is as long as the column is wide"
	for _, tt := range []struct {
		name   string
		blocks []*inkstreamv1.Block
		want   string // the parts of the first block; a bar between lines, two between paragraphs
	}{
		{"an address", []*inkstreamv1.Block{brokenBlock(50, 50, "Dubois & Fils", "27 rue Henri Rolland", "69100 Villeurbanne", "France")},
			"Dubois & Fils|27 rue Henri Rolland|69100 Villeurbanne|France"},
		{"ingredients", []*inkstreamv1.Block{brokenBlock(50, 50, "250 g flour", "1 tsp of yeast", "a pinch of salt", "120 g cold butter", "2 eggs, beaten", "zest of 1 lemon",
			"50 g sugar, and some more of it", "for dusting")},
			"250 g flour|1 tsp of yeast|a pinch of salt|120 g cold butter|2 eggs, beaten|zest of 1 lemon|50 g sugar, and some more of it for dusting"},
		{"ragged text", []*inkstreamv1.Block{brokenBlock(50, 50, "the words of a text that runs", "on from line to line, however", "ragged, leave no room for one", "more.")},
			"the words of a text that runs on from line to line, however ragged, leave no room for one more."},
		{"lines that all start afresh", []*inkstreamv1.Block{brokenBlock(50, 50, "Hanna Osborne", "116 Northam Road", "Northam 43838")},
			"Hanna Osborne|116 Northam Road|Northam 43838"},
		{"lines of a narrow column that start afresh", []*inkstreamv1.Block{brokenBlock(50, 50, "Ingram, Karla, 159", "Hollingford Road,", "Marlow 362 1891"),
			brokenBlock(50, 90, "Jansen, Anna, 200 ", "Wexcombe Way, in 1 ", "a house of its own")}, "Ingram, Karla, 159 Hollingford Road, Marlow 362 1891"},
		{"names and numbers at the ends of lines", []*inkstreamv1.Block{parted(brokenBlock(50, 50, "Ingram, Karla, Hollingford Road 362 1891", "Jansen, Anna, Wexcombe Way 362 5512",
			"Abbott, Leo, 14 Mill Lane 362 0047"), 2)}, "Ingram, Karla, Hollingford Road 362 1891|Jansen, Anna, Wexcombe Way 362 5512|Abbott, Leo, 14 Mill Lane 362 0047"},
		{"verse", []*inkstreamv1.Block{turns(brokenBlock(50, 50, "O let me hear it when I lie", "Beneath a stranger's eaves,", "And know the same forgiving sky",
			"Is leaning on the leaves."))}, "O let me hear it when I lie|Beneath a stranger's eaves,|And know the same forgiving sky|Is leaning on the leaves."},
		{"two lines beside nothing tell nothing", []*inkstreamv1.Block{brokenBlock(50, 50, "360 Massachusetts Avenue", "Acton")},
			"360 Massachusetts Avenue Acton"},
		{"two lines above text of the column", []*inkstreamv1.Block{brokenBlock(50, 50, "360 Massachusetts Avenue", "Acton"), brokenBlock(50, 90, full, full)},
			"360 Massachusetts Avenue|Acton"},
		{"two lines that something stands beside", []*inkstreamv1.Block{brokenBlock(50, 50, "360 Massachusetts Avenue", "Acton"),
			brokenBlock(50, 90, full, full), brokenBlock(220, 50, "a note", "beside it")}, "360 Massachusetts Avenue Acton"},
		{"paragraphs", []*inkstreamv1.Block{brokenBlock(50, 50, "A paragraph of the text, whose last line", "is short.",
			"Another goes on as long as the column is", "wide, and longer, until it is at an end,", "which comes soon, and is short.")},
			"A paragraph of the text, whose last line is short.||Another goes on as long as the column is wide, and longer, until it is at an end, which comes soon, and is short."},
		{"a hyphen", []*inkstreamv1.Block{brokenBlock(50, 50, "text with an un-", "commonly long word and others that go on", "from line to line until the end.")},
			"text with an un- commonly long word and others that go on from line to line until the end."},
		{"lines beside a picture", []*inkstreamv1.Block{brokenBlock(50, 50, "these lines stand beside", "a picture, which is here", "wide, and where it ends,", "they are as long as the column is wide",
			"and go on until they end")}, "these lines stand beside a picture, which is here wide, and where it ends, they are as long as the column is wide and go on until they end"},
		{"lines in the middle", []*inkstreamv1.Block{brokenBlock(50, 50, "|FEDERAL ADMINISTRATION", "|FLIGHT STANDARDS SERVICE OF THE LAND", "|PROCEDURE")},
			"FEDERAL ADMINISTRATION|FLIGHT STANDARDS SERVICE OF THE LAND|PROCEDURE"},
		{"a script without blanks", []*inkstreamv1.Block{brokenBlock(50, 50, "其用地指标按表中的系数进行调整其用地指标按表中的", "系数进行调整。", "表停车区用地指标基准值")},
			"其用地指标按表中的系数进行调整其用地指标按表中的|系数进行调整。|表停车区用地指标基准值"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page := &inkstreamv1.Page{Width: 600, Height: 800, Blocks: tt.blocks}
			parts, areLines := NewLineBreaks(page).SplitBlock(0)
			var texts []string
			for _, lines := range parts {
				var words []string
				for _, line := range lines {
					for _, w := range line.GetWords() {
						words = append(words, w.GetText())
					}
				}
				texts = append(texts, strings.Join(words, " "))
			}
			between := "||"
			if areLines {
				between = "|"
			}
			if got := strings.Join(texts, between); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestLineBreaksOfOddBlocks has blocks without lines, words or places, and more blocks than are compared.
func TestLineBreaksOfOddBlocks(t *testing.T) {
	t.Parallel()
	page := &inkstreamv1.Page{Blocks: []*inkstreamv1.Block{nil, {}, {Lines: []*inkstreamv1.Line{nil, {}}},
		{Lines: []*inkstreamv1.Line{{Words: []*inkstreamv1.Word{{Text: "a"}}}, {Words: []*inkstreamv1.Word{{Text: "b"}}}}}}}
	for range maxBreakBlocks {
		page.Blocks = append(page.Blocks, brokenBlock(50, 50, "a name", "a longer one", "another"))
	}
	breaks := NewLineBreaks(page)
	for i, b := range page.GetBlocks() {
		parts, _ := breaks.SplitBlock(i)
		n := 0
		for _, lines := range parts {
			n += len(lines)
		}
		if n != len(b.GetLines()) {
			t.Errorf("block %d: got %d lines, want %d", i, n, len(b.GetLines()))
		}
	}
}
