// Package layout turns the words and lines that an engine found on a page into the order in which a person reads them, and into blocks.
//
// An engine that reads native text gives lines in the order in which the document's program happened to draw them, broken where the
// pen jumped: a line of a table may come in five pieces, two columns of text as one wide line. [Arrange] takes the words as they are,
// and finds the rest by geometry, in four steps:
//
//   - A segment is a run of words of one input line without a wide gap (segment.go), put together again where an engine set each word
//     apart (join.go).
//   - Segments are cut into regions: bands of the page from top to bottom, bands into columns where a gutter runs through them, columns
//     into bands again (cut.go). A gap between columns of text cuts; one between the columns of a table does not, because a table reads
//     by rows. The order in which the segments were drawn is a witness to which of the two it is (gutter.go).
//   - In a region, segments that share a baseline make a row (rows.go).
//   - Rows make blocks (blocks.go).
//
// Recognised pages keep the order of their recogniser, which has seen the image, unless it cannot be right (recognised.go).
//
// Words are moved about and never changed, but for their boxes, which come out finite, and for a raised mark that was set apart from the
// word that it belongs to.
package layout

import (
	"cmp"
	"slices"
	"strings"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Paragraph is the type of every block so far.
const Paragraph = "paragraph"

// Arrange puts the words of a page in reading order, in place: it rebuilds Blocks, with their Lines and Words, and sets Text. It takes
// time in proportion to n log n for n words, and copes with any geometry.
func Arrange(page *inkstreamv1.Page) {
	if page == nil {
		return
	}
	in := collect(page)
	if in.recognised && plausible(page.GetBlocks()) {
		page.Blocks = keepOrder(page.GetBlocks())
	} else {
		page.Blocks = arrange(in)
	}
	page.Text = Text(page)
}

// arrange builds the blocks of one page. Lines of one writing direction are arranged among themselves, those of the direction that most
// of the page is written in first: what is written along the margin is no part of the text beside it.
func arrange(in input) []*inkstreamv1.Block {
	var blocks []*inkstreamv1.Block
	for _, group := range byAngle(in.lines) {
		if group.angle%90 != 0 {
			for _, line := range group.lines {
				blocks = append(blocks, newBlock([]*inkstreamv1.Line{newLine(line.words, group.angle)}))
			}
			continue
		}
		segments, em := segment(group.lines, turn(group.angle))
		if len(segments) == 0 {
			continue
		}
		c := cutter{em: em}
		c.region(join(segments, em), 0)
		for _, leaf := range c.leaves {
			blocks = append(blocks, leaf.blocks(em, group.angle)...)
		}
	}
	return blocks
}

// angleGroup holds the lines of one writing direction.
type angleGroup struct {
	angle int32
	words int
	lines []inputLine
}

// byAngle groups lines by their writing direction, of which there are five at most: four quarters, and askew.
func byAngle(lines []inputLine) []angleGroup {
	var groups []angleGroup
	for _, line := range lines {
		i := slices.IndexFunc(groups, func(g angleGroup) bool { return g.angle == line.angle })
		if i < 0 {
			i = len(groups)
			groups = append(groups, angleGroup{angle: line.angle})
		}
		groups[i].lines = append(groups[i].lines, line)
		groups[i].words += len(line.words)
	}
	slices.SortStableFunc(groups, func(a, b angleGroup) int { return cmp.Compare(b.words, a.words) })
	return groups
}

// Text returns the text of a page from its blocks as they stand: lines end with a line feed, blocks are set apart by a blank line.
func Text(page *inkstreamv1.Page) string {
	var b strings.Builder
	for i, block := range page.GetBlocks() {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, line := range block.GetLines() {
			for j, word := range line.GetWords() {
				if j > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(word.GetText())
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Words returns every word of a page in the order of its blocks.
func Words(page *inkstreamv1.Page) []*inkstreamv1.Word {
	n := 0
	for _, block := range page.GetBlocks() {
		for _, line := range block.GetLines() {
			n += len(line.GetWords())
		}
	}
	words := make([]*inkstreamv1.Word, 0, n)
	for _, block := range page.GetBlocks() {
		for _, line := range block.GetLines() {
			words = append(words, line.GetWords()...)
		}
	}
	return words
}
