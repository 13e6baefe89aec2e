package document

import (
	"slices"

	"inkstream.dev/pkg/layout"
)

// dropTerms drops candidates that are the terms of definition lists: each stands at the left edge of the column's
// text, and what follows is indented, all of it. Where headings stand out to the left of the text, no paragraphs do.
func dropTerms(found []candidate, pages []*Evidence, body int) []candidate {
	isTerm := make([]bool, len(found))
	for i, c := range found {
		isTerm[i] = c.isByTypeOnly() && 100*c.style.size < 106*body && !c.style.recognised && pages[c.page].isFlushAboveIndented(c.block)
	}
	isOther := func(i int, c candidate) bool {
		return i >= 0 && i < len(found) && isTerm[i] && found[i].page == c.page && found[i].style == c.style && abs(found[i].block-c.block) == 2
	}
	dropped := map[[2]int]bool{}
	for i, c := range found {
		// A line may be the paragraph of a heading, whose first line is indented: then no other heading follows it.
		if isTerm[i] && (pages[c.page].Blocks[c.block+1].Lines > 1 || isOther(i-1, c) || isOther(i+1, c)) {
			dropped[[2]int{c.page, c.block}] = true
		}
	}
	return slices.DeleteFunc(found, func(c candidate) bool { return dropped[[2]int{c.page, c.block}] })
}

// isFlushAboveIndented reports whether block j is a line at the left edge of paragraphs of the page, and the paragraph
// right below it is indented from there.
func (e *Evidence) isFlushAboveIndented(j int) bool {
	const slack, least, most = 1, 0.7, 5 // points; ems
	if j+1 >= len(e.Blocks) {
		return false
	}
	b, next := &e.Blocks[j], &e.Blocks[j+1]
	em := float32(b.Size) / 4
	indent := next.Box[0] - b.Box[0]
	if b.Lines != 1 || blockTypes[next.Type] != layout.Paragraph || next.Box[1] < b.Box[1] || indent < least*em || indent > most*em {
		return false
	}
	return slices.ContainsFunc(e.Blocks, func(p BlockEvidence) bool {
		return blockTypes[p.Type] == layout.Paragraph && p.Lines > 1 && abs(p.Size-b.Size) <= 1 && p.Flags&FlagTurned == 0 &&
			absFloat(p.Box[0]-b.Box[0]) < slack
	})
}
