package document

import (
	"slices"

	"inkstream.dev/pkg/layout"
)

// linkContinuations finds paragraphs and items of lists that go on in the next column or on the next page, past
// figures, tables and notes.
func (p *Plan) linkContinuations(pages []*Evidence) {
	type position struct {
		plan  *blockPlan
		block *BlockEvidence
		page  int
	}
	var open *position // the last block of running text
	floats, notes, habits := 0, 0, p.observeParagraphs(pages)
	for _, e := range pages {
		plan := p.pages[e.Number]
		for j := range e.Blocks {
			b := &e.Blocks[j]
			kind := blockTypes[b.Type]
			if d := plan.blocks[j].kind; d != 0 {
				kind = blockTypes[d]
			}
			switch kind {
			case layout.Paragraph, layout.ListItem:
			case layout.Footnote:
				notes++
				continue
			case layout.Figure, layout.Table, layout.Caption:
				floats++
				continue
			case layout.Header, layout.Footer, layout.PageNumber:
				continue
			default:
				open = nil
				continue
			}
			if b.Words == 0 || b.Flags&(FlagTurned|FlagLineNumbers) != 0 {
				continue
			}
			if open != nil && open.page != e.Number && e.isHeadAmidSentence(open.block, j) {
				plan.blocks[j].kind = blockTypeIndex(layout.Header)
				continue
			}
			if open != nil && kind == layout.Paragraph {
				inNext := open.page != e.Number || b.Box[1] < open.block.Box[1] || areHeads(open.block, b) || open.block.widensBelow(b) // column
				if (inNext || floats+notes > 0 && isInColumnOf(open.block, b)) && isContinuation(open.block, b) || inNext && habits.goesOn(open.block, b, floats > 0) {
					open.plan.continued = true
				}
			}
			open, floats, notes = &position{&plan.blocks[j], b, e.Number}, 0, 0
		}
	}
}

// isHeadAmidSentence reports whether block j is a line with the page's number at the top of a page, and a paragraph
// of the page before goes on right below it in the middle of a sentence: a running head that comes on one page alone.
func (e *Evidence) isHeadAmidSentence(open *BlockEvidence, j int) bool {
	isNumbered := func(l EdgeLine) bool { return l.Top && l.Block == j && l.Numbered }
	return e.Blocks[j].Lines == 1 && slices.ContainsFunc(e.Edges, isNumbered) && j+1 < len(e.Blocks) &&
		blockTypes[e.Blocks[j+1].Type] == layout.Paragraph && e.Blocks[j+1].Box[1] > e.Blocks[j].Box[3] && isContinuation(open, &e.Blocks[j+1])
}

// paragraphHabits is what the paragraphs of a document have in common.
type paragraphHabits struct {
	few       bool // fewer were seen than tell of all
	sentences bool // those that were seen end as sentences do
	indented  bool // their first lines are indented
}

// observeParagraphs looks at how the paragraphs of a document begin and end, those of several lines that stand one
// below the other: at the foot and the head of a column they may be parts of one.
func (p *Plan) observeParagraphs(pages []*Evidence) paragraphHabits {
	const fewest = 6
	all, sentences, indented := 0, 0, 0
	for _, e := range pages {
		plan := p.pages[e.Number]
		isParagraph := func(j int) bool {
			return blockTypes[e.Blocks[j].Type] == layout.Paragraph && plan.blocks[j].kind == 0 && e.Blocks[j].Lines > 1
		}
		for j := 1; j < len(e.Blocks); j++ {
			above, b := &e.Blocks[j-1], &e.Blocks[j]
			if !isParagraph(j-1) || !isParagraph(j) || b.Box[1] < (above.Box[1]+above.Box[3])/2 {
				continue
			}
			all++
			if above.Flags&FlagSentence != 0 {
				sentences++
			}
			if b.Flags&FlagIndented != 0 {
				indented++
			}
		}
	}
	return paragraphHabits{few: all < fewest, sentences: 4*sentences >= 3*all, indented: 5*indented >= 4*all}
}

// goesOn reports whether a paragraph goes on in another at the head of the next column or page, though that begins
// with a capital, as a name does: the last line is full, and no sentence ends there as all others do, or the first
// line is not indented as all others are. Before a small letter, the last of several lines may end anywhere.
func (h paragraphHabits) goesOn(a, b *BlockEvidence, afterFloats bool) bool {
	const fewest, several = 8, 3 // words; lines of ragged text
	runsOn := b.Flags&FlagLower != 0 && a.Lines >= several && a.Flags&(FlagNumber|FlagSentence) == 0
	if a.Style != b.Style || abs(a.Size-b.Size) > 1 || a.Lines < 2 || a.Words < fewest || !runsOn && (b.Lines < 2 || a.Flags&FlagFull == 0) || a.Flags&(FlagHyphen|FlagColon) != 0 ||
		b.Flags&(FlagIndented|FlagRecognised) != 0 || a.Flags&FlagUnspaced != 0 {
		return false
	}
	if a.Flags&FlagSentence == 0 {
		return h.sentences && (runsOn || !h.few)
	}
	return h.indented && !h.few && !afterFloats && b.Flags&FlagSign == 0
}

// isInColumnOf reports whether two blocks of a page have a part of the page's width in common, as the parts of a
// paragraph above and below a figure have.
func isInColumnOf(a, b *BlockEvidence) bool { return a.Box[0] < b.Box[2] && b.Box[0] < a.Box[2] }

// areHeads reports whether two blocks of text stand side by side at the heads of columns, which begin at one height
// and are as wide as each other, but for the last line of a paragraph that fills a column. Columns of entries, which
// end with numbers, and those that go on at the left have them too.
func areHeads(a, b *BlockEvidence) bool {
	const slack, share, several, wordy = 1, 0.05, 3, 3 // points, of the width, lines, words of a line
	if !a.isLeftOf(b) || absFloat(a.Box[1]-b.Box[1]) > slack || a.Flags&(FlagNumber|FlagUnspaced) != 0 {
		return false
	}
	width, other := a.Box[2]-a.Box[0], b.Box[2]-b.Box[0]
	isRest := a.Lines >= several && a.Words >= wordy*a.Lines && b.Lines == 1 && b.Flags&FlagLower != 0 && other < width
	return isRest || absFloat(width-other) < share*width
}

// widensBelow reports whether a block stands right below another and shares an edge with it, but is wider: text that
// ran around something runs on below that.
func (a *BlockEvidence) widensBelow(b *BlockEvidence) bool {
	const line, slack, wider, fewest = 8, 2, 36, 3 // points, and lines
	return a.Lines >= fewest && a.Flags&FlagFull != 0 && absFloat(b.Box[1]-a.Box[3]) < line && b.Box[2]-b.Box[0] > a.Box[2]-a.Box[0]+wider &&
		(absFloat(b.Box[0]-a.Box[0]) < slack || absFloat(b.Box[2]-a.Box[2]) < slack)
}

// isContinuation reports whether a paragraph goes on in another: it ends in the middle of a sentence, the other
// begins there, in the same type.
func isContinuation(a, b *BlockEvidence) bool {
	if abs(a.Size-b.Size) > max(2, a.Size/10) || a.Flags&FlagSentence != 0 {
		return false
	}
	switch {
	case a.Flags&FlagHyphen != 0:
		return b.Flags&FlagLower != 0
	case a.Flags&FlagUnspaced != 0: // no capitals to go by: the last line is full
		return a.Flags&FlagFull != 0 && a.Lines > 1 && b.Lines > 1
	default:
		return b.Flags&FlagLower != 0 && (a.Lines == 1 || a.Flags&FlagFull != 0)
	}
}

// mergeTables finds tables that go on over the end of a page or column: the last thing there and the first on the next,
// with as many columns, and in the same place or with the same head again.
func (p *Plan) mergeTables(pages []*Evidence) {
	var last *openTable
	captioned := false // there is a caption after it
	for _, e := range pages {
		plan, number := p.pages[e.Number], 0
		if last != nil && (captioned || last.ref.Page != e.Number-1) {
			last = nil // a caption below it ends a table
		}
		captioned = false
		for j := range e.Blocks {
			b := &e.Blocks[j]
			kind := blockTypes[b.Type]
			if plan.isRunningBlock(j) || kind == layout.Footnote || b.Words == 0 {
				continue
			}
			if kind != layout.Table {
				if captioned = kind == layout.Caption; !captioned {
					last = nil
				}
				continue
			}
			number++
			at := TableRef{e.Number, number}
			if last == nil || !last.goesOnIn(b, at, captioned) {
				last = &openTable{block: b, ref: at, merge: -1}
			} else {
				p.mergeTable(last, b, at)
			}
			captioned = false
		}
	}
}

// openTable is a table with which a page or column ends so far.
type openTable struct {
	block *BlockEvidence
	ref   TableRef
	merge int // its place among the merges; -1 if it is in none
}

// mergeTable makes a table a part of the one before it.
func (p *Plan) mergeTable(last *openTable, b *BlockEvidence, at TableRef) {
	if last.merge < 0 {
		last.merge = len(p.Merges)
		p.Merges = append(p.Merges, Merge{Tables: []TableRef{last.ref}})
		if last.block.Key == b.Key {
			p.Merges[last.merge].HeaderRows = b.Depth
		}
	}
	m := &p.Merges[last.merge]
	m.Tables = append(m.Tables, at)
	if last.block.Key != b.Key {
		m.HeaderRows = 0
	}
	last.block, last.ref = b, at
}

// goesOnIn reports whether a table goes on in the next, which may have a caption again on another page: its columns
// stand in the same place there, or at the head of a page or column begin with the same head.
func (t *openTable) goesOnIn(b *BlockEvidence, at TableRef, captioned bool) bool {
	const slack, alike = 8, 0.25 // points; of the width
	a := t.block
	if a.Columns != b.Columns {
		return false
	}
	onNextPage := at.Page != t.ref.Page
	if onNextPage && absFloat(a.Box[0]-b.Box[0]) < slack && absFloat(a.Box[2]-b.Box[2]) < slack {
		return true
	}
	inNext := onNextPage || !isInColumnOf(a, b) && b.Box[1] < a.Box[1]
	width := max(a.Box[2]-a.Box[0], b.Box[2]-b.Box[0])
	return inNext && !captioned && a.Key == b.Key && b.Depth > 0 && absFloat(a.Box[2]-a.Box[0]-b.Box[2]+b.Box[0]) < alike*width
}

func absFloat(v float32) float32 { return max(v, -v) }
