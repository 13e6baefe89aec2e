package document

import (
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
	floats := 0
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
			case layout.Figure, layout.Table, layout.Caption, layout.Footnote:
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
			if open != nil && kind == layout.Paragraph {
				apart := open.page != e.Number || b.Box[1] < open.block.Box[1] || floats > 0
				if apart && isContinuation(open.block, b) {
					open.plan.continued = true
				}
			}
			open, floats = &position{&plan.blocks[j], b, e.Number}, 0
		}
	}
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

// mergeTables finds tables that go on over a page break: the last thing on one page and the first on the next, with
// as many columns and in the same place.
func (p *Plan) mergeTables(pages []*Evidence) {
	var last *BlockEvidence
	var lastRef TableRef
	open := false // the last merge may go on
	for _, e := range pages {
		plan := p.pages[e.Number]
		first := true
		number := 0
		var end *BlockEvidence
		var endRef TableRef
		for j := range e.Blocks {
			b := &e.Blocks[j]
			if plan.isRunningBlock(j) || blockTypes[b.Type] == layout.Footnote || b.Words == 0 {
				continue
			}
			if blockTypes[b.Type] != layout.Table {
				first, end = first && blockTypes[b.Type] == layout.Caption, nil
				continue
			}
			number++
			ref := TableRef{e.Number, number}
			if first && last != nil && lastRef.Page == e.Number-1 && isTableContinuation(last, b) {
				if !open {
					p.Merges = append(p.Merges, Merge{Tables: []TableRef{lastRef}})
					if last.Key == b.Key {
						p.Merges[len(p.Merges)-1].HeaderRows = b.Depth
					}
				}
				m := &p.Merges[len(p.Merges)-1]
				m.Tables = append(m.Tables, ref)
				if last.Key != b.Key {
					m.HeaderRows = 0
				}
				open = true
			} else {
				open = false
			}
			first, end, endRef = false, b, ref
		}
		if last, lastRef = end, endRef; end == nil {
			open = false
		}
	}
}

// isTableContinuation reports whether one table goes on with the columns of another.
func isTableContinuation(a, b *BlockEvidence) bool {
	const slack = 8
	return a.Columns == b.Columns && absFloat(a.Box[0]-b.Box[0]) < slack && absFloat(a.Box[2]-b.Box[2]) < slack
}

func absFloat(v float32) float32 { return max(v, -v) }
