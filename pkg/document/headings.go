package document

import (
	"slices"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// headingStyle is what headings of one level have in common.
type headingStyle struct {
	size          int // quarters of a point; of recognised text a class
	bold, allCaps bool
	recognised    bool
}

// candidate is a block that may be a heading.
type candidate struct {
	page, block int // indices
	style       headingStyle
	level       int // told by structure or outline; 0 where not
	depth       int
	title       bool
}

// maxHeadingLevels is how many levels headings have.
const maxHeadingLevels = 6

// findHeadings finds the headings and their levels: those that the structure or the outline names first, then those
// whose type says so against the body of the document.
func (p *Plan) findHeadings(pages []*Evidence, outline []*inkstreamv1.OutlineEntry) {
	body := p.bodyTypeSize(pages)
	entries := indexOutline(outline)
	boldBody, font := isBodyBold(pages, body), bodyFont(pages, body)
	structured := false // the structure names headings
	var found []candidate
	for i, e := range pages {
		pageBody, pictured := body, isMostlyNative(e)
		if isRecognisedPage(e) {
			pageBody = medianSize(e.Sizes)
		}
		contents := isContentsPage(e)
		for j := range e.Blocks {
			b := &e.Blocks[j]
			if !p.mayBeHeading(e, j) || contents && b.Flags&FlagNumber != 0 && 4*b.Size < 5*pageBody {
				continue
			}
			c := candidate{page: i, block: j, style: headingStyleOf(b, pageBody), depth: b.Depth}
			c.level = entries.levelOf(b, e.Number)
			if b.Tag >= 1 && b.Tag <= maxHeadingLevels {
				c.level, structured = b.Tag, true
			}
			c.title = b.Tag == TagTitle
			read := b.Flags&FlagRecognised != 0 && pictured // text of a picture
			if c.level > 0 || c.title || b.Tag == TagHeading || b.Tag != TagText && !read &&
				(isProminent(b, pageBody, boldBody) || isHeadingByFont(e, j, pageBody, font)) {
				found = append(found, c)
			}
		}
	}
	found = dropRepeatedLabels(dropFrequentStyles(found, pages), pages)
	found = dropTerms(found, pages, body)
	if structured { // a document that says which its headings are has no others
		found = dropUnstructured(found, pages, body)
	}
	found = p.findTitle(found, pages, body)
	levels := raiseBelowTitle(styleLevels(found).assignLevels(found), found)
	for i, level := range levels {
		c := found[i]
		d := &p.pages[pages[c.page].Number].blocks[c.block]
		if c.title {
			*d = blockPlan{kind: blockTypeIndex(layout.Title), level: 1}
			continue
		}
		*d = blockPlan{kind: blockTypeIndex(layout.Heading), level: level}
	}
}

// dropUnstructured drops candidates that the structure of a document names no headings, but for those that are much
// larger than the body, and for paragraphs in the type of headings that it does name: authors do not mark all.
func dropUnstructured(found []candidate, pages []*Evidence, body int) []candidate {
	named := map[headingStyle]bool{}
	for _, c := range found {
		named[c.style] = named[c.style] || pages[c.page].Blocks[c.block].Tag > 0 && c.level > 0
	}
	return slices.DeleteFunc(found, func(c candidate) bool {
		b := &pages[c.page].Blocks[c.block]
		alike := b.Tag == TagParagraph && named[c.style] && (c.style.bold || 20*c.style.size > 21*body)
		return c.level == 0 && !c.title && b.Tag != TagHeading && !alike && !isLargerThanBody(c, pages, body)
	})
}

func isLargerThanBody(c candidate, pages []*Evidence, body int) bool {
	return 2*pages[c.page].Blocks[c.block].Size > 3*body
}

// bodyTypeSize returns the size of most of the document's text, in quarters of a point. Running lines, which on
// slides have more words than the rest, do not count.
func (p *Plan) bodyTypeSize(pages []*Evidence) int {
	const wordLength = 6 // characters and a blank
	sizes := map[int]int{}
	for _, e := range pages {
		if isRecognisedPage(e) {
			continue
		}
		for size, n := range e.Sizes {
			sizes[size] += n
		}
		for j := range e.Blocks {
			if b := &e.Blocks[j]; p.pages[e.Number].isRunningBlock(j) && blockTypes[b.Type] == layout.Paragraph {
				sizes[b.Size] = max(0, sizes[b.Size]-wordLength*b.Words)
			}
		}
	}
	return mostFrequent(sizes)
}

// isRecognisedPage reports whether the text of a page was recognised: its sizes are those of boxes.
func isRecognisedPage(e *Evidence) bool {
	for i := range e.Blocks {
		if e.Blocks[i].Words > 0 {
			return e.Blocks[i].Flags&FlagRecognised != 0
		}
	}
	return false
}

// isMostlyNative reports whether most words of a page are its own, so that those which were recognised are the text
// of its pictures.
func isMostlyNative(e *Evidence) bool {
	words, native := 0, 0
	for i := range e.Blocks {
		b := &e.Blocks[i]
		words += b.Words
		if b.Flags&FlagRecognised == 0 {
			native += b.Words
		}
	}
	return 2*native > words
}

// isBodyOf reports whether a block is a paragraph or an item in type of the body's size.
func (b *BlockEvidence) isBodyOf(body int) bool {
	t := blockTypes[b.Type]
	return abs(b.Size-body) <= 1 && (t == layout.Paragraph || t == layout.ListItem)
}

// isBodyBold reports whether the body itself is bold, so that bold type says nothing.
func isBodyBold(pages []*Evidence, body int) bool {
	bold, all := 0, 0
	for _, e := range pages {
		for i := range e.Blocks {
			if b := &e.Blocks[i]; b.isBodyOf(body) {
				all += b.Words
				if b.Flags&FlagBold != 0 {
					bold += b.Words
				}
			}
		}
	}
	return 2*bold > all
}

// bodyFont returns the font of most of the body, as a hash of its name.
func bodyFont(pages []*Evidence, body int) uint32 {
	words := map[int]int{}
	for _, e := range pages {
		for i := range e.Blocks {
			if b := &e.Blocks[i]; b.isBodyOf(body) {
				words[int(b.Style)] += b.Words
			}
		}
	}
	return uint32(mostFrequent(words))
}

// isHeadingByFont reports whether a block is a heading that only its font sets apart: a numbered line in another font
// than the body's, right above a paragraph of the body.
func isHeadingByFont(e *Evidence, j, body int, font uint32) bool {
	b := &e.Blocks[j]
	if b.Lines != 1 || b.Words < 2 || b.Words > 14 || b.Style == font || b.Style == 0 || font == 0 ||
		b.Flags&(FlagStop|FlagRecognised|FlagItalic|FlagSign|FlagPrice) != 0 {
		return false
	}
	if 100*b.Size < 94*body || b.Depth == 0 && blockTypes[b.Type] != layout.ListItem || j+1 >= len(e.Blocks) {
		return false
	}
	next := &e.Blocks[j+1]
	return blockTypes[next.Type] == layout.Paragraph && next.Style == font && next.Box[1] > b.Box[1]
}

func abs(v int) int { return max(v, -v) }

// mayBeHeading reports whether a block can be a heading at all.
func (p *Plan) mayBeHeading(e *Evidence, j int) bool {
	b := &e.Blocks[j]
	switch blockTypes[b.Type] {
	case layout.Paragraph, layout.ListItem:
	default:
		return false
	}
	if p.pages[e.Number].isRunningBlock(j) || e.isPageFoot(j) || e.isSideLabel(j) || b.Flags&(FlagLeader|FlagTurned|FlagLong) != 0 || b.Words == 0 {
		return false
	}
	return b.Flags&(FlagLetters|FlagUnspaced|FlagInitial) != 0 || b.Tag > 0 && b.Tag < TagText
}

// pageFoot is the share of a page's height below which its foot begins.
const pageFoot = 0.93

// isPageFoot reports whether a block is a line at the foot of the page that ends with the page's number. One page alone
// does not tell that the line comes again on others.
func (e *Evidence) isPageFoot(j int) bool {
	b := &e.Blocks[j]
	return b.Lines == 1 && (b.Tag == 0 || b.Tag == TagParagraph) && b.Flags&FlagNumber != 0 && b.Box[1] > pageFoot*e.Height
}

// isSideLabel reports whether a block ends with a colon, and the text that it announces stands at its side, as that
// of a speaker does in minutes.
func (e *Evidence) isSideLabel(j int) bool {
	b := &e.Blocks[j]
	return b.Flags&FlagColon != 0 && (b.Tag == 0 || b.Tag == TagParagraph) && j+1 < len(e.Blocks) && b.isLeftOf(&e.Blocks[j+1])
}

// isContentsPage reports whether a page holds a table of contents: lines that end with a number there are its entries.
func isContentsPage(e *Evidence) bool {
	leaders, numbered := 0, 0
	for i := range e.Blocks {
		b := &e.Blocks[i]
		if b.Flags&FlagLeader != 0 {
			leaders++
		}
		if b.Flags&FlagNumber != 0 && b.Depth > 0 && blockTypes[b.Type] == layout.ListItem {
			numbered++
		}
	}
	return leaders >= 4 || numbered >= 6
}

// isProminent reports whether a block's type sets it apart from the body as a heading's does.
func isProminent(b *BlockEvidence, body int, boldBody bool) bool {
	const mostLines, mostWords = 3, 24
	quotation := b.Flags&FlagQuote != 0 && b.Words > 3
	if b.Lines > mostLines || b.Words > mostWords || body == 0 || quotation || b.Flags&FlagPrice != 0 || b.Flags&FlagFigures != 0 && b.Depth == 0 {
		return false
	}
	if b.Flags&FlagRecognised != 0 {
		return isProminentRecognised(b, body)
	}
	ratio := float64(b.Size) / float64(body)
	item := blockTypes[b.Type] == layout.ListItem && b.Depth == 0
	sentence := b.Flags&FlagStop != 0 && b.Words > 3 && b.Depth == 0
	switch {
	case ratio >= 1.15:
		return !item && (!sentence && b.Flags&FlagLower == 0 || ratio >= 1.4)
	case sentence || item || b.Flags&FlagLower != 0:
		return false
	case ratio >= 1.06:
		return b.Lines <= 2 && (b.Flags&(FlagBold|FlagCaps) != 0 && !boldBody || b.Depth > 1 || b.Words <= 12)
	case ratio >= 0.94:
		if b.Flags&FlagBold != 0 && !boldBody {
			return b.Lines <= 2 && b.Words <= 16
		}
		if b.Flags&FlagCaps != 0 && b.Flags&FlagMidColumn != 0 && b.Words <= 12 {
			return true
		}
		return b.Depth >= 2 && b.Lines == 1 && b.Words <= 12 && b.Words >= 2 && b.Flags&FlagStop == 0
	default:
		return b.Flags&FlagBold != 0 && !boldBody && ratio >= 0.85 && b.Lines == 1 && b.Words <= 10 &&
			(b.Depth >= 2 || b.Flags&FlagMidColumn != 0)
	}
}

// isProminentRecognised reports whether the type of a recognised block sets it apart: by its size, which its boxes tell
// to a tenth or so, by strokes thicker than the body's, or by capitals in the middle of a column.
func isProminentRecognised(b *BlockEvidence, body int) bool {
	const (
		mostLines, mostWords = 3, 16
		inCapitals           = FlagCaps | FlagMidColumn
	)
	if b.Words > mostWords || b.Lines > mostLines || b.Flags&FlagStop != 0 {
		return false
	}
	item := blockTypes[b.Type] == layout.ListItem && b.Depth == 0
	large := 100*b.Size >= 116*body && b.Flags&FlagDoubtful == 0
	bold := b.Flags&FlagBold != 0 && b.Flags&(FlagLower|FlagDoubtful) == 0 && 100*b.Size >= 92*body && !item
	numbered := b.Depth >= 2 && b.Lines == 1 && b.Words >= 2 && b.Flags&(FlagLower|FlagNumber) == 0
	return large || bold || numbered || b.Flags&inCapitals == inCapitals
}

// headingStyleOf returns the style of a block by which headings of one level are told.
func headingStyleOf(b *BlockEvidence, body int) headingStyle {
	if b.Flags&FlagRecognised != 0 {
		class := 1
		if body > 0 && b.Size >= 2*body {
			class = 2
		}
		return headingStyle{size: class, recognised: true}
	}
	return headingStyle{size: b.Size, bold: b.Flags&FlagBold != 0, allCaps: b.Flags&FlagCaps != 0 && b.Size <= body+1}
}

// minHeadedWords is how much text there is for each heading of a style, in words, where that comes often: with less
// they are the first lines of entries, as in a directory.
const minHeadedWords, oftenHeaded = 12, 12

// dropFrequentStyles drops candidates of a style that too much of the text is set in: headings are few. What
// structure or outline names stays.
func dropFrequentStyles(found []candidate, pages []*Evidence) []candidate {
	words, count, all := map[headingStyle]int{}, map[headingStyle]int{}, 0
	for _, e := range pages {
		all += e.Words
	}
	for _, c := range found {
		words[c.style] += pages[c.page].Blocks[c.block].Words
		count[c.style]++
	}
	return slices.DeleteFunc(found, func(c candidate) bool {
		often := count[c.style] > oftenHeaded && all < minHeadedWords*count[c.style]
		return c.level == 0 && !c.title && all > 150 && (4*words[c.style] > all || often)
	})
}

// dropRepeatedLabels drops what comes again and again ("Note", "Warning"), where structure or outline name most
// headings, but none of these.
func dropRepeatedLabels(found []candidate, pages []*Evidence) []candidate {
	const again = 3
	times, named := map[uint64]int{}, 0
	for _, c := range found {
		if c.level > 0 {
			named++
		}
		if b := &pages[c.page].Blocks[c.block]; c.isByTypeOnly() && b.Words <= 3 {
			times[b.Key]++
		}
	}
	if 2*named < len(found) {
		return found
	}
	return slices.DeleteFunc(found, func(c candidate) bool {
		return c.isByTypeOnly() && times[pages[c.page].Blocks[c.block].Key] >= again
	})
}

// isByTypeOnly reports whether nothing but its type speaks for a heading.
func (c candidate) isByTypeOnly() bool { return c.level == 0 && c.depth == 0 && !c.title }

// outlineIndex finds entries of the outline by their text.
type outlineIndex map[uint64][]*inkstreamv1.OutlineEntry

func indexOutline(outline []*inkstreamv1.OutlineEntry) outlineIndex {
	out := make(outlineIndex, len(outline))
	for _, o := range outline {
		if k := headingKey(o.GetTitle()); k != newTextHash().sum {
			out[k] = append(out[k], o)
		}
	}
	return out
}

// levelOf returns the level of the entry that a block is the heading of; 0 if it is none. The block stands on the
// entry's page, or next to it.
func (o outlineIndex) levelOf(b *BlockEvidence, page int) int {
	if b.Key == 0 || b.Lines > 5 {
		return 0
	}
	for _, entry := range o[b.Key] {
		if n := int(entry.GetPage()); n == 0 || abs(n-page) <= 1 {
			return min(max(int(entry.GetLevel()), 1), maxHeadingLevels)
		}
	}
	return 0
}

// findTitle finds the title of a document: what stands out most on its first page with text, and on no other page.
// Neighbours in the same type are parts of it; where other text stands between them, they are headings.
func (p *Plan) findTitle(found []candidate, pages []*Evidence, body int) []candidate {
	if i := slices.IndexFunc(found, func(c candidate) bool { return c.title }); i >= 0 {
		p.Title = true
		p.keepFirstTitle(found[i:], pages)
		return found
	}
	first := slices.IndexFunc(pages, func(e *Evidence) bool { return e.Words > 0 })
	if first < 0 || len(found) == 0 || found[0].page != first || found[0].style.recognised {
		return found
	}
	best := 0
	for _, c := range found {
		best = max(best, c.style.size)
	}
	at := slices.IndexFunc(found, func(c candidate) bool { return c.style.size == best })
	once, all := true, 0
	for _, c := range found {
		once = once && (c.style.size != best || c.page == first)
		if c.style.size == best {
			all++
		}
	}
	e := pages[first]
	if !once || found[at].page != first || 20*best < 23*body || e.Blocks[found[at].block].Box[1] > 0.6*e.Height ||
		found[at].level > 1 || found[at].depth > 0 {
		return found
	}
	n := 0
	for i := at; i < len(found) && found[i].page == first && found[i].style.size == best &&
		(n == 0 || p.areAdjacent(e, found[i-1], found[i])); i++ {
		n++
	}
	if n > 3 || n < all { // several headings of the largest type are no title
		return found
	}
	for i := at; i < at+n; i++ {
		found[i].title = true
	}
	p.Title = true
	title := found[at+n-1]
	for last := title; at+n < len(found); {
		k := p.countBylines(e, title, last, found[at+n:])
		if k == 0 {
			break
		}
		last = found[at+n+k-1]
		found = slices.Delete(found, at+n, at+n+k)
	}
	return found
}

// countBylines returns how many of the candidates right below a title, or below the last line that does so, say whose
// or of when the work is: one, or several side by side. They are centred as the title is, on the page or on one
// another, and neither bold nor numbered, in type between the body's and the title's.
func (p *Plan) countBylines(e *Evidence, title, last candidate, below []candidate) int {
	if below[0].page != title.page {
		return 0
	}
	n, above := 0, &e.Blocks[title.block]
	all := e.Blocks[below[0].block] // what stands side by side, as one
	for _, c := range below {
		if c.page != title.page {
			break // its block is another page's
		}
		b := &e.Blocks[c.block]
		if n > 0 && !e.Blocks[below[n-1].block].isLeftOf(b) || !c.isByTypeOnly() ||
			b.Flags&(FlagBold|FlagCaps) != 0 || 6*b.Size >= 5*above.Size {
			break
		}
		all.Box[2] = max(all.Box[2], b.Box[2])
		n++
	}
	if n == 0 || !p.areAdjacent(e, last, below[0]) {
		return 0
	}
	if n == 1 && above.Flags&all.Flags&FlagCentred != 0 || (n > 1 || all.Lines == 1) && all.isCentredBelow(above) {
		return n
	}
	return 0
}

// isCentredBelow reports whether a block has its middle where one above it has, but not its edges.
func (b *BlockEvidence) isCentredBelow(above *BlockEvidence) bool {
	const slack = 3 // points
	return absFloat(b.Box[0]+b.Box[2]-above.Box[0]-above.Box[2]) < 2*slack && 4*absFloat(b.Box[0]-above.Box[0]) > float32(b.Size)
}

// keepFirstTitle makes headings of the titles but the first: the structure of a document may name several.
func (p *Plan) keepFirstTitle(found []candidate, pages []*Evidence) {
	for i := 1; i < len(found); i++ {
		c, before := &found[i], found[i-1]
		if c.title && !(before.title && before.page == c.page && p.areAdjacent(pages[c.page], before, *c)) {
			c.title, c.level = false, 1
		}
	}
}

// areAdjacent reports whether no text stands between two candidates on one page, which are not side by side.
func (p *Plan) areAdjacent(e *Evidence, a, b candidate) bool {
	if e.Blocks[a.block].isLeftOf(&e.Blocks[b.block]) {
		return false
	}
	for j := a.block + 1; j < b.block; j++ {
		if e.Blocks[j].Words > 0 && blockTypes[e.Blocks[j].Type] != layout.Figure && !p.pages[e.Number].isRunningBlock(j) {
			return false
		}
	}
	return true
}

// isLeftOf reports whether a block stands on the left of another, level with it.
func (b *BlockEvidence) isLeftOf(o *BlockEvidence) bool {
	return b.Box[2] <= o.Box[0] && b.Box[1] < o.Box[3] && o.Box[1] < b.Box[3]
}
