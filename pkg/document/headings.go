package document

import (
	"cmp"
	"slices"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// headingStyle is what headings of one level have in common.
type headingStyle struct {
	size       int // quarters of a point; of recognised text a class
	bold, caps bool
	recognised bool
}

// candidate is a block that may be a heading.
type candidate struct {
	page, block int // indices
	style       headingStyle
	level       int // told by structure or outline; 0 where not
	depth       int
	title       bool
}

// mostLevels is how many levels headings have.
const mostLevels = 6

// headings finds the headings and their levels: those that the structure or the outline names first, then those whose type says so against the
// body of the document.
func (p *Plan) headings(pages []*Evidence, outline []*inkstreamv1.OutlineEntry) {
	body := bodySize(pages)
	entries := outlineKeys(outline)
	boldBody, font := mostlyBold(pages, body), bodyFont(pages, body)
	structured := false // the structure names headings
	var found []candidate
	for i, e := range pages {
		pageBody, pictured := body, mostlyNative(e)
		if recognised(e) {
			pageBody = commonest(e.Sizes)
		}
		contents := ofContents(e)
		for j := range e.Blocks {
			b := &e.Blocks[j]
			if !p.mayHead(e, j) || contents && b.Flags&FlagNumber != 0 {
				continue
			}
			c := candidate{page: i, block: j, style: styleOf(b, pageBody), depth: b.Depth}
			c.level = entries.level(b, e.Number)
			if b.Tag >= 1 && b.Tag <= mostLevels {
				c.level, structured = b.Tag, true
			}
			c.title = b.Tag == TagTitle
			read := b.Flags&FlagRecognised != 0 && pictured // text of a picture
			if c.level > 0 || c.title || b.Tag == TagHeading || b.Tag != TagText && !read && (stands(b, pageBody, boldBody) || setApart(e, j, pageBody, font)) {
				found = append(found, c)
			}
		}
	}
	found = withoutLabels(sparse(found, pages), pages)
	if structured { // a document that says which its headings are has no others
		found = slices.DeleteFunc(found, func(c candidate) bool {
			return c.level == 0 && !c.title && pages[c.page].Blocks[c.block].Tag != TagHeading && !larger(c, pages, body)
		})
	}
	found = p.title(found, pages, body)
	levels := styleLevels(found)
	for i, level := range levels.all(found) {
		c := found[i]
		d := &p.pages[pages[c.page].Number].blocks[c.block]
		if c.title {
			*d = blockPlan{kind: typeIndex(layout.Title), level: 1}
			continue
		}
		*d = blockPlan{kind: typeIndex(layout.Heading), level: level}
	}
}

func larger(c candidate, pages []*Evidence, body int) bool {
	return 2*pages[c.page].Blocks[c.block].Size > 3*body
}

// bodySize returns the size of most of the document's text, in quarters of a point.
func bodySize(pages []*Evidence) int {
	sizes := map[int]int{}
	for _, e := range pages {
		if recognised(e) {
			continue
		}
		for size, n := range e.Sizes {
			sizes[size] += n
		}
	}
	return commonest(sizes)
}

// recognised reports whether the text of a page was recognised: its sizes are those of boxes.
func recognised(e *Evidence) bool {
	for i := range e.Blocks {
		if e.Blocks[i].Words > 0 {
			return e.Blocks[i].Flags&FlagRecognised != 0
		}
	}
	return false
}

// mostlyNative reports whether most words of a page are its own, so that those which were recognised are the text of its pictures.
func mostlyNative(e *Evidence) bool {
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

// mostlyBold reports whether the body itself is bold, so that bold type says nothing.
func mostlyBold(pages []*Evidence, body int) bool {
	bold, all := 0, 0
	for _, e := range pages {
		for i := range e.Blocks {
			if b := &e.Blocks[i]; abs(b.Size-body) <= 1 && types[b.Type] == layout.Paragraph {
				all += b.Words
				if b.Flags&FlagBold != 0 {
					bold += b.Words
				}
			}
		}
	}
	return 3*bold > all
}

// bodyFont returns the font of most of the body, as a hash of its name.
func bodyFont(pages []*Evidence, body int) uint32 {
	words := map[int]int{}
	for _, e := range pages {
		for i := range e.Blocks {
			if b := &e.Blocks[i]; abs(b.Size-body) <= 1 && types[b.Type] == layout.Paragraph {
				words[int(b.Style)] += b.Words
			}
		}
	}
	return uint32(commonest(words))
}

// setApart reports whether a block is a heading that only its font sets apart: a numbered line in another font than the body's, right above a
// paragraph of the body.
func setApart(e *Evidence, j, body int, font uint32) bool {
	b := &e.Blocks[j]
	if b.Lines != 1 || b.Words < 2 || b.Words > 14 || b.Style == font || b.Style == 0 || font == 0 || b.Flags&(FlagStop|FlagRecognised|FlagItalic|FlagSign) != 0 {
		return false
	}
	if 100*b.Size < 94*body || b.Depth == 0 && types[b.Type] != layout.ListItem || j+1 >= len(e.Blocks) {
		return false
	}
	next := &e.Blocks[j+1]
	return types[next.Type] == layout.Paragraph && next.Style == font && next.Box[1] > b.Box[1]
}

func abs(v int) int { return max(v, -v) }

// mayHead reports whether a block can be a heading at all.
func (p *Plan) mayHead(e *Evidence, j int) bool {
	b := &e.Blocks[j]
	switch types[b.Type] {
	case layout.Paragraph, layout.ListItem:
	default:
		return false
	}
	if p.pages[e.Number].runs(j) || b.Flags&(FlagLeader|FlagTurned|FlagLong) != 0 || b.Words == 0 {
		return false
	}
	return b.Flags&FlagLetters != 0 || b.Flags&FlagUnspaced != 0 || b.Tag > 0 && b.Tag < TagText
}

// ofContents reports whether a page holds a table of contents: lines that end with a number there are its entries.
func ofContents(e *Evidence) bool {
	n := 0
	for i := range e.Blocks {
		if e.Blocks[i].Flags&FlagLeader != 0 {
			n++
		}
	}
	return n >= 4
}

// stands reports whether a block's type sets it apart from the body as a heading's does.
func stands(b *BlockEvidence, body int, boldBody bool) bool {
	const mostLines, mostWords = 3, 24
	if b.Lines > mostLines || b.Words > mostWords || body == 0 {
		return false
	}
	if b.Flags&FlagRecognised != 0 { // boxes tell sizes roughly
		return b.Words <= 12 && b.Lines <= 2 && b.Flags&FlagStop == 0 && 5*b.Size >= 7*body
	}
	ratio := float64(b.Size) / float64(body)
	item := types[b.Type] == layout.ListItem && b.Depth == 0
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
		return b.Depth >= 2 && b.Lines == 1 && b.Words <= 12 && b.Words >= 2
	default:
		return b.Flags&FlagBold != 0 && !boldBody && ratio >= 0.85 && b.Lines == 1 && b.Words <= 10 && b.Depth >= 2
	}
}

// styleOf returns the style of a block by which headings of one level are told.
func styleOf(b *BlockEvidence, body int) headingStyle {
	if b.Flags&FlagRecognised != 0 {
		class := 1
		if body > 0 && b.Size >= 2*body {
			class = 2
		}
		return headingStyle{size: class, recognised: true}
	}
	return headingStyle{size: b.Size, bold: b.Flags&FlagBold != 0, caps: b.Flags&FlagCaps != 0 && b.Size <= body+1}
}

// sparse drops candidates of a style that too much of the text is set in: headings are few. What structure or outline names stays.
func sparse(found []candidate, pages []*Evidence) []candidate {
	words, all := map[headingStyle]int{}, 0
	for _, e := range pages {
		all += e.Words
	}
	for _, c := range found {
		words[c.style] += pages[c.page].Blocks[c.block].Words
	}
	return slices.DeleteFunc(found, func(c candidate) bool {
		return c.level == 0 && !c.title && all > 150 && 4*words[c.style] > all
	})
}

// withoutLabels drops what comes again and again ("Note", "Warning"), where structure or outline name most headings, but none of these.
func withoutLabels(found []candidate, pages []*Evidence) []candidate {
	const again = 3
	times, named := map[uint64]int{}, 0
	for _, c := range found {
		if c.level > 0 {
			named++
		}
		if b := &pages[c.page].Blocks[c.block]; c.minor() && b.Words <= 3 {
			times[b.Key]++
		}
	}
	if 2*named < len(found) {
		return found
	}
	return slices.DeleteFunc(found, func(c candidate) bool {
		return c.minor() && times[pages[c.page].Blocks[c.block].Key] >= again
	})
}

// minor reports whether nothing but its type speaks for a heading.
func (c candidate) minor() bool { return c.level == 0 && c.depth == 0 && !c.title }

// outlineIndex finds entries of the outline by their text.
type outlineIndex map[uint64][]*inkstreamv1.OutlineEntry

func outlineKeys(outline []*inkstreamv1.OutlineEntry) outlineIndex {
	out := make(outlineIndex, len(outline))
	for _, o := range outline {
		if k := keyOf(o.GetTitle()); k != newKey().sum {
			out[k] = append(out[k], o)
		}
	}
	return out
}

// level returns the level of the entry that a block is the heading of; 0 if it is none. The block stands on the entry's page, or next to it.
func (o outlineIndex) level(b *BlockEvidence, page int) int {
	if b.Key == 0 || b.Lines > 5 {
		return 0
	}
	for _, entry := range o[b.Key] {
		if n := int(entry.GetPage()); n == 0 || abs(n-page) <= 1 {
			return min(max(int(entry.GetLevel()), 1), mostLevels)
		}
	}
	return 0
}

// title finds the title of a document: what stands out most on its first page with text, and on no other page. Neighbours in the same type are
// parts of it; where other text stands between them, they are headings.
func (p *Plan) title(found []candidate, pages []*Evidence, body int) []candidate {
	if i := slices.IndexFunc(found, func(c candidate) bool { return c.title }); i >= 0 {
		p.Title = true
		p.oneTitle(found[i:], pages)
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
	if !once || found[at].page != first || 20*best < 23*body || e.Blocks[found[at].block].Box[1] > 0.6*e.Height || found[at].level > 1 || found[at].depth > 0 {
		return found
	}
	n := 0
	for i := at; i < len(found) && found[i].page == first && found[i].style.size == best && (n == 0 || p.adjoin(e, found[i-1], found[i])); i++ {
		n++
	}
	if n > 3 || n < all { // several headings of the largest type are no title
		return found
	}
	for i := at; i < at+n; i++ {
		found[i].title = true
	}
	p.Title = true
	return found
}

// oneTitle makes headings of the titles but the first: the structure of a document may name several.
func (p *Plan) oneTitle(found []candidate, pages []*Evidence) {
	for i := 1; i < len(found); i++ {
		c, before := &found[i], found[i-1]
		if c.title && !(before.title && before.page == c.page && p.adjoin(pages[c.page], before, *c)) {
			c.title, c.level = false, 1
		}
	}
}

// adjoin reports whether no text stands between two candidates on one page.
func (p *Plan) adjoin(e *Evidence, a, b candidate) bool {
	for j := a.block + 1; j < b.block; j++ {
		if e.Blocks[j].Words > 0 && types[e.Blocks[j].Type] != layout.Figure && !p.pages[e.Number].runs(j) {
			return false
		}
	}
	return true
}

// levelMap tells levels by style, and by the depth of numbers.
type levelMap struct {
	styles map[headingStyle]int
	depths map[int]int
	// told are the styles of which structure, outline or numbers say a level.
	told map[headingStyle]bool
}

// styleLevels orders the styles of headings: by what structure, outline or numbers say of them, else the larger before the smaller and the bold
// before the plain.
func styleLevels(found []candidate) levelMap {
	told := map[headingStyle]map[int]int{}
	byDepth := map[headingStyle]map[int]int{}
	count := map[headingStyle]int{}
	var styles []headingStyle
	for _, c := range found {
		if c.title {
			continue
		}
		count[c.style]++
		if told[c.style] == nil {
			told[c.style], byDepth[c.style] = map[int]int{}, map[int]int{}
			styles = append(styles, c.style)
		}
		if c.level > 0 {
			told[c.style][c.level]++
		}
		if c.depth > 0 {
			byDepth[c.style][c.depth]++
		}
	}
	slices.SortFunc(styles, func(a, b headingStyle) int {
		return cmp.Or(cmp.Compare(b.size, a.size), order(b.bold, a.bold), order(b.caps, a.caps))
	})
	// Types that come but once (a cover's, most often) are no level of their own, where others come again.
	often := slices.DeleteFunc(slices.Clone(styles), func(s headingStyle) bool { return count[s] < 2 && len(told[s]) == 0 })
	if len(often) == 0 {
		often = styles
	}
	out := levelMap{styles: map[headingStyle]int{}, depths: map[int]int{}, told: map[headingStyle]bool{}}
	for _, s := range styles {
		out.told[s] = len(told[s])+len(byDepth[s]) > 0
	}
	out.rank(often, told, byDepth)
	for _, s := range styles {
		if out.styles[s] == 0 {
			out.styles[s] = out.near(s, often)
		}
	}
	return out
}

// rank gives levels to styles, the most prominent first.
func (l *levelMap) rank(styles []headingStyle, told, byDepth map[headingStyle]map[int]int) {
	last, lastSize := 0, 0
	for _, s := range styles {
		level := commonest(told[s])
		if level == 0 {
			level = last + 1
			if last > 0 && 100*s.size > 94*lastSize && !s.recognised && len(styles) > 4 {
				level = last // hardly smaller, and too many styles to tell apart
			}
			if d := commonest(byDepth[s]); d > 0 && l.depths[d] > 0 {
				level = l.depths[d]
			} else if d > 1 && l.depths[d-1] > 0 {
				level = l.depths[d-1] + 1
			}
		}
		level = min(max(level, 1), mostLevels)
		l.styles[s] = level
		if d := commonest(byDepth[s]); d > 0 && l.depths[d] == 0 {
			l.depths[d] = level
		}
		last, lastSize = max(last, level), s.size
	}
}

// near returns the level of the style among those given, in their order, that is next to one in prominence, and not above it.
func (l *levelMap) near(s headingStyle, styles []headingStyle) int {
	level := 1
	for _, o := range styles {
		level = l.styles[o]
		if o.size <= s.size {
			break
		}
	}
	return max(level, 1)
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// all returns the levels of the headings. Where structure or outline name most of them, one in a type that none of those has is minor: the
// title of a note or a box. It stands below a larger heading before it; a label right above a heading ("Chapter 2") goes with that.
func (l levelMap) all(found []candidate) []int {
	named := 0
	for _, c := range found {
		if c.level > 0 {
			named++
		}
	}
	out, last, size := make([]int, len(found)), 0, 0
	for i, c := range found {
		out[i] = l.of(c)
		switch {
		case c.level > 0:
			last, size = c.level, c.style.size
		case 2*named < len(found) || !c.minor() || l.told[c.style] || last == 0:
		case i+1 < len(found) && found[i+1].level > 0 && found[i+1].page == c.page && found[i+1].block == c.block+1:
			out[i] = min(out[i], found[i+1].level)
		case c.style.size < size:
			out[i] = min(max(out[i], last+1), mostLevels)
		}
	}
	return out
}

// of returns the level of a heading: as it was told, by its number, by its style.
func (l levelMap) of(c candidate) int {
	if c.level > 0 {
		return c.level
	}
	if c.depth > 0 && l.depths[c.depth] > 0 {
		return l.depths[c.depth]
	}
	if c.depth > 1 {
		for d := c.depth - 1; d > 0; d-- {
			if l.depths[d] > 0 {
				return min(l.depths[d]+c.depth-d, mostLevels)
			}
		}
	}
	return l.styles[c.style]
}
