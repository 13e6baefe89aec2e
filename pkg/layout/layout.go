// Package layout turns the words and lines that an engine found on a page into the order in which a person reads
// them, and into blocks.
//
// An engine that reads native text gives lines in the order in which the document's program happened to draw them,
// broken where the pen jumped: a line of a table may come in five pieces, two columns of text as one wide line.
// [ArrangePage] takes the words as they are, and finds the rest by geometry, in seven steps:
//
//   - Lines that lead from a word to another take part as if they were dots of the text (drawn_leaders.go).
//   - A segment is a run of words of one input line without a wide gap (segment.go), put together again where an
//     engine set each word apart (segment_join.go).
//   - Segments are cut into regions: bands of the page from top to bottom (bands.go), which end where their columns
//     do (column_ends.go, column_breaks.go), bands into columns where a gutter runs through them (gutter.go), columns
//     into bands again (xycut.go). A gutter between columns of text cuts; a gap between the columns of a table does
//     not, because a table reads by rows. A small model tells the two apart (gutter_model.go) by what it is told of
//     the text on both sides (gutter_features.go). Lists that go on from column to column are known by what goes on
//     (list_columns.go). Labels beside the entries of a column are no column of their own (label_columns.go). Gutters
//     that are no wider than blanks are found by the rows that leave them free (strips.go). Text beside a table whose
//     lines are level with none of its rows is a column of its own (gutter_rows.go).
//   - What stands in a frame that lines are drawn around is arranged by itself, and has a place among the rest as a
//     whole (frames.go).
//   - Tables are found in a region by rules (tables_ruled.go), or by words that stand in columns (tables_aligned.go)
//     in a run of rows (tables_runs.go), whose heads may stand over several (tables_head_spans.go) and whose labels
//     may wrap (tables_wrap_labels.go) and be stretched to the edge of their column (tables_stretched_labels.go), and
//     whose cells have blanks below one another (tables_blanks.go), and kept where a second model says so
//     (table_model.go); numbered items with sentences are none (tables_items.go). Those with lines across, or below a
//     line of heads, are parted by no gutter of the text about them (tables_across.go). Lines that part a page into
//     sections with rows of their own rule none (tables_cell_rows.go). A head whose lines make no rows is attached at
//     the end (tables_heads_above.go). Rows whose cells stand in the middle of their height are put together first
//     (tables_centred_rows.go). Boxes at the ends of a form's lines take those as labels, grids of figures the words
//     beside them (tables_labels.go).
//   - In a region, segments that share a baseline make a row (rows.go). Words beside a piece of text come below it
//     (asides.go), and headings side by side on one line are rows of their own (side_headings.go). A number that is
//     broken with the name before it goes on below (wrapped_numbers.go).
//   - Rows make blocks (blocks.go), parted where an item of a list begins among others (markers.go, enumerators.go,
//     chance_markers.go, run_in_counters.go, labelled_counters.go), and where the room above a line (line_pitch.go),
//     the end of the line before, who speaks (speakers.go), or a row with text in two places (word_room.go) tells a
//     paragraph (paragraph_room.go), or its indent (first_lines.go). Tables of contents and indexes are parted into
//     their entries (contents.go, contents_runs.go). Prose in a font of fixed pitch is text, and no code
//     (typescript.go); numbers that count lines of code are code, whatever their font (numbered_code.go).
//
// Recognised pages keep the order of their recogniser, which has seen the image, unless it cannot be right
// (recognised.go) or goes to and fro between columns (recognised_order.go). Page numbers that it read as a column of
// their own go back to their entries (recognised_pages.go), and paragraphs that it parted go on, or part
// where a whole column tells (recognised_paragraphs.go). What letters reach tells sizes and baselines
// (letter_spans.go). Cards in rows are read row by row (recognised_cards.go). Pages that were scanned askew,
// those with a text layer too, are arranged as if they were straight (skew.go).
//
// Which lines of a block their writer ended, as those of an address or of verse (verse.go), [LineBreaks] tells who
// writes it as running text (forced_breaks.go).
//
// Words are moved about and never changed, but for their boxes, which come out finite, and for a raised mark or a
// large first letter that was set apart from the word that it belongs to (drop_caps.go), and for the counters of lines
// that run from right to left, whose stop was read first (markers.go).
package layout

import (
	"cmp"
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Options say what ArrangePageWith looks for.
type Options struct {
	// Tables finds tables; without it they are left as lines of text.
	Tables bool
}

// ArrangePage is ArrangePageWith with everything.
func ArrangePage(page *inkstreamv1.Page) { ArrangePageWith(page, Options{Tables: true}) }

// ArrangePageWith puts the words of a page in reading order, in place: it rebuilds Blocks, with their Lines and
// Words, gives them the types that the page alone can tell, and sets Text. It takes time in proportion to n
// log n for n words, and copes with any geometry.
func ArrangePageWith(page *inkstreamv1.Page, opts Options) { arrangePage(page, opts, Judge{}) }

func arrangePage(page *inkstreamv1.Page, opts Options, judge Judge) {
	if page == nil {
		return
	}
	in := collectLines(page)
	if !in.recognised {
		if skew := layerSkew(in.lines); skew != 0 {
			page.Skew = skew
			defer straightenPage(page, in.lines).restore()
		}
		in.lines = joinDropCaps(in.lines)
	}
	if in.recognised {
		defer straightenPage(page, in.lines).restore()
		moveFootNumber(page)
		joined, parted := joinLinePieces(page), partLineNumbers(page)
		if paged := joinPageNumbers(page); paged || joined || parted {
			in = collectLines(page)
		}
	}
	a := arranger{page: page, style: newStyles(page.GetFonts()), opts: opts, em: 10, judge: judge, native: !in.recognised}
	a.style.links = page.GetLinks()
	a.style.detectFixedPitch(in.lines)
	a.style.detectTypescript(in.lines)
	a.style.markNumberedCode(in.lines)
	if in.recognised && isPlausibleOrder(page.GetBlocks(), collectRulings(page.GetRulings(), 0)) {
		page.Blocks = a.buildRecognisedBlocks(in)
	} else {
		page.Blocks = a.buildNativeBlocks(in)
		a.removeLeaders(page.Blocks)
		if !in.recognised {
			page.Blocks = attachHeads(page.Blocks, a.em)
		}
	}
	if in.recognised {
		page.Blocks = arrangeCards(page.Blocks)
	}
	markFormulas(page)
	classifyBlocks(page, a.em, collectRulings(page.GetRulings(), 0))
	if !in.recognised {
		joinInterruptedParagraphs(page.Blocks, a.style)
	}
	page.Text = PageText(page)
}

// KeepOrder gives a page its Text, and a paragraph for each of its blocks, in the order in which they came. It is for
// pages that cannot be arranged.
func KeepOrder(page *inkstreamv1.Page) {
	var blocks []*inkstreamv1.Block
	for _, b := range page.GetBlocks() {
		var lines []*inkstreamv1.Line
		for _, l := range collectLines(&inkstreamv1.Page{Blocks: []*inkstreamv1.Block{b}}).lines {
			lines = append(lines, newLine(l.words, l.angle))
		}
		if len(lines) > 0 {
			blocks = append(blocks, newBlock(lines))
		}
	}
	page.Blocks = blocks
	page.Text = PageText(page)
}

// arranger builds the blocks of one page.
type arranger struct {
	page  *inkstreamv1.Page
	style *styles
	opts  Options
	em    float64 // of the text that most of the page is written in

	textEm float64 // the same as letters tell it

	judge   Judge
	native  bool                       // the words are the page's own
	leaders map[*inkstreamv1.Word]bool // those that stand for drawn leaders
}

// buildNativeBlocks builds the blocks of a page by geometry alone. Lines of one writing direction are arranged among
// themselves, those of the direction that most of the page is written in first: what is written along the margin is
// no part of the text next to it. Only upright lines above all that, such as the heading over a text in columns, come
// before it.
func (a *arranger) buildNativeBlocks(in engineLines) []*inkstreamv1.Block {
	return a.arrangeGroups(groupByAngle(in.lines), nil)
}

// arrangeGroups arranges groups of lines, the largest first, whose blocks are given where they are arranged already.
func (a *arranger) arrangeGroups(groups []angleGroup, largest []*inkstreamv1.Block) []*inkstreamv1.Block {
	blocks := largest
	for i, group := range groups {
		if i == 0 && largest != nil {
			continue
		}
		if group.angle%90 != 0 {
			for _, line := range group.lines {
				blocks = append(blocks, newBlock([]*inkstreamv1.Line{newLine(line.words, group.angle)}))
			}
			continue
		}
		made, em := a.arrangeGroup(group, i == 0)
		if i == 0 {
			a.em = em
		}
		if i > 0 && group.angle == 0 {
			var above []*inkstreamv1.Block
			above, made = splitBlocksAbove(made, blocks)
			blocks = append(above, blocks...)
		}
		blocks = append(blocks, made...)
	}
	return blocks
}

// splitBlocksAbove returns those of the blocks that end above all others, and those that do not.
func splitBlocksAbove(blocks, others []*inkstreamv1.Block) (above, rest []*inkstreamv1.Block) {
	top := math.Inf(1)
	for _, b := range others {
		top = min(top, rectFromBox(b.GetBbox()).y0)
	}
	for _, b := range blocks {
		if rectFromBox(b.GetBbox()).y1 <= top {
			above = append(above, b)
		} else {
			rest = append(rest, b)
		}
	}
	return above, rest
}

// arrangeGroup arranges the lines of one writing direction.
func (a *arranger) arrangeGroup(g angleGroup, tables bool) ([]*inkstreamv1.Block, float64) {
	t := rotation(g.angle)
	em := medianTypeSize(g.lines, t)
	area := textArea{r: collectRulings(a.page.GetRulings(), t)}
	a.insertLeaders(&g, &area.r, em)
	area.lines = g.lines
	style := &styles{fonts: a.style.fonts, rotation: t, em: em, typescript: a.style.typescript, codeNumbers: a.style.codeNumbers,
		links: a.style.links}
	al := aligner{textSetting: textSetting{em: em, textEm: em, style: style}, disabled: !a.opts.Tables || !tables, judge: a.judge.Table}
	if !a.native {
		al.textEm = medianLetterSize(g.lines, t)
	}
	if tables {
		a.textEm = al.textEm
	}
	al.style.findRunIns(g.lines)
	al.style.measurePitch(g.lines)
	if g.angle == 0 {
		al.height = float64(a.page.GetHeight())
	}
	if !al.disabled {
		given, left := findGivenTables(g.lines, a.page.GetRegions(), t)
		area.tables, left = findRuledTables(left, area.r, t, em)
		area.lines = attachLabels(area.tables, left, t, em)
		area.tables = append(given, area.tables...)
	}
	if tables {
		area.frames = findFrames(area.r, area.tables, em)
	}
	return a.arrangeArea(&area, al, g.angle), em
}

// arrangeArea arranges what stands in an area. What is in a frame is arranged by itself, and has a place among the
// rest as a whole.
func (a *arranger) arrangeArea(area *textArea, al aligner, angle int32) []*inkstreamv1.Block {
	t := rotation(angle)
	for i, frame := range area.frames {
		if area.depth == maxFrameDepth {
			break
		}
		in, ok := area.takeFrame(frame, t)
		if !ok {
			continue
		}
		in.frames = area.frames[i+1:]
		inner := al
		inner.height, inner.em = 0, medianTypeSize(in.lines, t)
		if inner.textEm = inner.em; !a.native {
			inner.textEm = medianLetterSize(in.lines, t)
		}
		blocks := a.arrangeArea(&in, inner, angle)
		area.tables = append(area.tables, &table{rect: frame, framed: blocks})
	}
	al.across = area.r.across
	rest := al.em
	if len(area.tables) > 0 {
		rest = medianTypeSize(area.lines, t) // tables are often set in smaller type
	}
	segments := splitSegments(area.lines, t, rest, al.style)
	for _, tab := range area.tables {
		segments = append(segments, segment{rect: tab.rect, table: tab, order: len(segments), text: tableTextLength})
	}
	if len(segments) == 0 {
		return nil
	}
	c := cutter{gutterJudge: gutterJudge{em: al.em, rulings: area.r, judge: a.judge.Gutter}, pictures: collectPictures(a.page, t)}
	c.cutRegion(c.splitAtGutters(joinSegments(segments, al.em), t), area.depth)
	var blocks []*inkstreamv1.Block
	for _, leaf := range c.leaves {
		blocks = append(blocks, leaf.buildBlocks(&al, angle)...)
	}
	return blocks
}

// tableTextLength makes a table a segment with more text than any other, so that it is never a mark of the line
// next to it.
const tableTextLength = 1 << 20

// angleGroup holds the lines of one writing direction.
type angleGroup struct {
	angle int32
	words int
	lines []inputLine
}

// groupByAngle groups lines by their writing direction, of which there are five at most: four quarters, and askew.
func groupByAngle(lines []inputLine) []angleGroup {
	var groups []angleGroup
	for at, line := range lines {
		i := slices.IndexFunc(groups, func(g angleGroup) bool { return g.angle == line.angle })
		if i < 0 {
			i = len(groups)
			groups = append(groups, angleGroup{angle: line.angle, lines: make([]inputLine, 0, len(lines)-at)})
		}
		groups[i].lines = append(groups[i].lines, line)
		groups[i].words += len(line.words)
	}
	slices.SortStableFunc(groups, func(a, b angleGroup) int { return cmp.Compare(b.words, a.words) })
	return groups
}

// PageWords returns every word of a page in the order of its blocks.
func PageWords(page *inkstreamv1.Page) []*inkstreamv1.Word {
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
