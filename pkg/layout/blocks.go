package layout

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"inkstream.dev/pkg/unicodescript"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// lineShape is what parts lines into blocks: where a line runs, how large its type is and what it looks like.
type lineShape struct {
	x0, x1             float64
	baseline           float64
	height             float64
	lift               float64 // how far a raised mark stands above the line's other words
	style              lineStyle
	marker             string     // the line begins as an item of a list does
	bulletMarker       bool       // the marker is a sign, and does not count
	enumerator         enumerator // the marker, where nothing may set it apart from the text but what it is
	linked             bool       // all of it is links
	leader             bool       // a row of dots leads to a page number
	startsLower        bool       // it begins with a small letter
	unspaced           bool       // its script has no blanks
	startsBold         bool       // its first word is bold
	endsBold           bool       // its last word is
	firstWidth         float64    // of its first word
	second             float64    // where its second begins
	room               wordRoom   // between its words
	textStart          float64    // where the text after its marker or its section's number begins
	endsSentence       bool       // it ends as a sentence does
	endsComma          bool       // it ends with a comma
	endsWithPageNumber bool       // it ends with a number that stands apart, or a leader leads to
	counter            int        // the number that is all of it; 0 where there is more or none
	capitals           bool       // it has letters, no small ones among them
	section            string     // the number of a section that it begins with
	writtenOn          bool       // it has a line to write on
	speaker            string     // the name that it begins with, see speakerOf
	labelled           labelledCounter
}

// measureExtent measures where a line of words lies. Boxes may be as tight as the letters, so the baseline is not the
// lower edge of the line: it is where a good part of its words end, those without letters that go below it.
func measureExtent(words []*inkstreamv1.Word, t rotation) lineShape {
	var bottoms, heights, tops, level [64]float64 // of the first words: enough to tell; level are those that stand on the baseline
	n, levels := 0, 0
	first := t.rotateRect(rectFromBox(words[0].GetBbox()))
	s := lineShape{x0: first.x0, x1: first.x1, firstWidth: first.width()}
	for i, w := range words {
		box := t.rotateRect(rectFromBox(w.GetBbox()))
		if i > 0 {
			s.addGap(i, box.x0)
		}
		s.x0, s.x1 = min(s.x0, box.x0), max(s.x1, box.x1)
		if n < len(bottoms) && countLetters(w.GetText()) > 1 {
			bottoms[n], heights[n], tops[n] = box.y1, box.height(), box.y0
			if w.Confidence != nil && w.GetSize() == 0 {
				bottoms[n], heights[n] = levelRecognised(w, box)
			} else if w.Confidence == nil && standsOnBaseline(w.GetText()) {
				level[levels] = box.y1
				levels++
			}
			n++
		}
	}
	if n == 0 {
		bottoms[0], heights[0], n = first.y1, first.height(), 1
	}
	slices.Sort(bottoms[:n])
	slices.Sort(heights[:n])
	slices.Sort(tops[:n])
	s.lift = tops[n/2] - tops[0]
	s.baseline, s.height = bottoms[n*3/10], heights[n*7/10]
	if levels > 0 { // where few words have no letters that go below it
		slices.Sort(level[:levels])
		s.baseline = level[levels/2]
	}
	return s
}

// standsOnBaseline reports whether no letter of a word goes below the baseline, and no sign does. Figures may.
func standsOnBaseline(word string) bool {
	const above = "abcdefhiklmnorstuvwxzABCDEFGHIKLMNOPRSTUVWXYZ.-'"
	for i := range len(word) {
		if strings.IndexByte(above, word[i]) < 0 {
			return false
		}
	}
	return true
}

// measureShape measures a line of words, and what they say of it.
func measureShape(words []*inkstreamv1.Word, st *styles) lineShape {
	t := st.rotation
	s := measureExtent(words, t)
	s.style = st.lineStyleOf(words)
	s.capitals = areAllCapitals(words)
	s.writtenOn = slices.ContainsFunc(words, func(w *inkstreamv1.Word) bool { return strings.Contains(w.GetText(), "_____") })
	s.startsLower, s.speaker = startsLower(words[0].GetText()), speakerOf(words)
	s.startsBold = st.fontStyleOf(words[0]).bold
	if text := words[0].GetText(); unicodescript.IsUnspaced(firstRune(text)) {
		s.unspaced = true // a line may end behind any character
		s.firstWidth /= float64(utf8.RuneCountInString(text))
	}
	s.endsBold = st.fontStyleOf(words[len(words)-1]).bold
	s.endsSentence = isSentenceEnd(lastRune(words[len(words)-1].GetText()))
	s.endsComma = strings.HasSuffix(words[len(words)-1].GetText(), ",")
	s.linked = !slices.ContainsFunc(words, func(w *inkstreamv1.Word) bool { return w.GetLink() == 0 })
	if len(words) == 1 {
		s.counter, _ = parseLineNumber(words[0].GetText())
	} else {
		if first := words[0].GetText(); isSectionNumber(first) {
			s.section = first
		}
		s.labelled = parseLabelledCounter(words)
		s.marker = parseSpacedMarker(words[0].GetText())
		if s.marker == "" && st.fontStyleOf(words[0]).symbols && utf8.RuneCountInString(words[0].GetText()) == 1 {
			s.marker, s.bulletMarker = words[0].GetText(), true
		}
		last := t.rotateRect(rectFromBox(words[len(words)-1].GetBbox()))
		before := t.rotateRect(rectFromBox(words[len(words)-2].GetBbox()))
		s.leader = hasLeaderDots(segment{words: words})
		s.endsWithPageNumber = s.leader || isNumeric(words[len(words)-1].GetText()) && last.x0-before.x1 > 2*s.height
	}
	if s.marker == "" {
		s.enumerator = findEnumerator(words, &Blanks{words: words, rotation: t})
		s.marker = s.enumerator.text
	}
	s.bulletMarker = s.bulletMarker || s.marker != "" && isBullet(s.marker)
	if (s.marker != "" || s.section != "") && len(words) > 1 {
		s.textStart = t.rotateRect(rectFromBox(words[1].GetBbox())).x0
	}
	return s
}

// areAllCapitals reports whether words have letters, no small ones among them.
func areAllCapitals(words []*inkstreamv1.Word) bool {
	letters := false
	for _, w := range words {
		for _, r := range w.GetText() {
			if unicode.IsLower(r) {
				return false
			}
			letters = letters || unicode.IsUpper(r)
		}
	}
	return letters
}

// buildBlocks returns the blocks of a leaf in reading order.
func (l leaf) buildBlocks(a *aligner, angle int32) []*inkstreamv1.Block {
	var tables []*table
	text := make([]segment, 0, len(l.segments))
	for _, s := range l.segments {
		if s.table != nil {
			tables = append(tables, s.table)
		} else {
			text = append(text, s)
		}
	}
	rows := leaf{joinSplitSegments(text)}.buildRows(a.em)
	slices.SortStableFunc(tables, func(a, b *table) int { // those side by side from left to right
		return cmp.Or(cmp.Compare(math.Round(a.y0/maxEdgeOffset), math.Round(b.y0/maxEdgeOffset)), cmp.Compare(a.x0, b.x0))
	})
	var out []*inkstreamv1.Block
	for _, t := range tables {
		n := countRowsBefore(rows, t.rect)
		out = append(out, a.buildBlocks(rows[:n], angle)...)
		if t.framed != nil {
			out = append(out, t.framed...)
		} else {
			out = append(out, t.buildBlock(a.em, angle))
		}
		rows = rows[n:]
	}
	return append(out, a.buildBlocks(rows, angle)...)
}

// countRowsBefore returns how many of the rows are read before a table: those above its middle, and those left of it with what
// goes on right below them; none of those on its right are.
func countRowsBefore(rows []row, table rect) int {
	const near = 1.0 // heights of a row
	goesOn := func(n int) bool {
		r := &rows[n]
		return r.x1 <= table.x0 && (r.core.centerY() < table.y1 || n > 0 && rows[n-1].core.centerY() > table.y0 && r.y0-rows[n-1].y1 < near*r.height())
	}
	n := 0
	for n < len(rows) && (rows[n].core.centerY() < table.centerY() || goesOn(n)) {
		n++
	}
	for n > 0 && rows[n-1].core.centerY() > table.y0 && rows[n-1].x0 >= table.x1 {
		n--
	}
	return n
}

// buildBlocks makes blocks of rows that follow one another.
func (a *aligner) buildBlocks(rows []row, angle int32) []*inkstreamv1.Block {
	if len(rows) == 0 {
		return nil
	}
	var out []*inkstreamv1.Block
	for _, p := range a.splitRowGroups(a.joinWrappedNumbers(rows)) {
		if p.table != nil {
			out = append(out, p.table.buildBlock(a.em, angle))
			continue
		}
		text := a.partSideHeadings(a.moveAsides(p.rows))
		lines := make([]*inkstreamv1.Line, len(text))
		for i := range text {
			lines[i] = newLine(text[i].wordsInOrder(a.em, rotation(angle)), angle)
		}
		out = append(out, splitParagraphs(lines, a.textEm, a.style)...)
	}
	return out
}

// splitParagraphs parts lines that follow one another in one column into blocks.
func splitParagraphs(lines []*inkstreamv1.Line, em float64, st *styles) []*inkstreamv1.Block {
	if len(lines) == 0 {
		return nil
	}
	shapes := make([]lineShape, len(lines))
	for i, line := range lines {
		turnEnumerator(line.GetWords())
		shapes[i] = measureShape(line.GetWords(), st)
	}
	clearLinkedCode(shapes)
	clearChanceMarkers(shapes)
	clearRunInCounters(lines, shapes)
	if st.typescript {
		clearTypescript(lines, shapes, st.rotation)
	}
	return splitAtContents(lines, shapes, em, st)
}

// isRightToLeftColumn reports whether most lines run from right to left.
func isRightToLeftColumn(lines []*inkstreamv1.Line) bool {
	const enough = 4 // words of a line
	n := 0
	for _, line := range lines {
		if words := line.GetWords(); isRightToLeft(words[:min(enough, len(words))]) {
			n++
		}
	}
	return 2*n > len(lines)
}

// splitColumn parts lines of one kind that follow one another in one column into blocks: entries of a table of
// contents, or others.
func splitColumn(
	lines []*inkstreamv1.Line, shapes []lineShape, em float64, st *styles, contents bool,
) []*inkstreamv1.Block {
	if len(lines) == 0 {
		return nil
	}
	p := textColumn{
		shapes: shapes, pitch: usualLinePitch(shapes, em), em: em, left: math.Inf(1), right: math.Inf(-1),
		runsIn: st.runsIn, leads: st.leads, tableOfContents: contents, pagePitch: st.pitch,
	}
	markGluedBullets(lines, shapes)
	measureWidth(&p)
	if isRightToLeftColumn(lines) {
		for i, s := range shapes { // mirrored, so that lines begin at the left
			shapes[i].x0, shapes[i].x1 = p.left+p.right-s.x1, p.left+p.right-s.x0
			if words := lines[i].GetWords(); s.textStart != 0 {
				shapes[i].textStart = p.left + p.right - st.rotation.rotateRect(rectFromBox(words[1].GetBbox())).x1
			}
		}
	}
	p.tightenPitch()
	p.measureSteps()
	measureRoom(&p)
	p.measureEdge()
	p.measureIndent()
	p.measureFirstLines()
	p.verse = isVerse(&p)
	p.answers, p.speakers = haveAnswers(shapes, em), haveSpeakers(shapes)
	var blocks []*inkstreamv1.Block
	start := 0
	for i := 1; i <= len(lines); i++ {
		if i == len(lines) || p.startsNewBlock(start, i) {
			blocks = append(blocks, p.assignBlockType(newBlock(lines[start:i:i]), shapes[start:i]))
			start = i
		}
	}
	return blocks
}

// clearLinkedCode says of lines that are links from end to end that they are no code, though they are set in its
// type, unless other code stands right above or below them.
func clearLinkedCode(shapes []lineShape) {
	code := func(i, j int) bool {
		return j >= 0 && j < len(shapes) && shapes[j].style.mono && !shapes[j].linked &&
			math.Abs(shapes[j].baseline-shapes[i].baseline) < 2*shapes[i].height
	}
	for i := range shapes {
		if s := &shapes[i]; s.linked && s.style.mono && !code(i, i-1) && !code(i, i+1) {
			s.style.mono = false
		}
	}
}

// textColumn is a column of lines that is being parted.
type textColumn struct {
	shapes          []lineShape
	pitch, em       float64
	left, right     float64
	steps           []float64 // from each line to the next, sorted
	even            bool      // most steps are alike
	edge            float64   // where many lines end; 0 where they end anywhere
	indent          float64   // of the first lines of paragraphs; 0 where they have none
	hangs           bool      // paragraphs begin at the left edge, and go on at an indent
	runsOn          bool      // among those that hang, sentences go on at the edge
	tableOfContents bool      // it is a table of contents
	runsIn          bool      // text begins with bold words that other text goes on with in their line
	answers         bool      // items go on left of their markers
	leads           bool      // bold words stand nowhere but at the beginning of paragraphs
	pagePitch       float64   // see styles.pitch
	speakers        bool      // names of speakers begin paragraphs
	justified       bool      // lines that run on end at the edge
	room            float64   // from the last line of a paragraph to the next, where that tells; else 0
	apart           bool      // room parts the items
	usual           bool      // the pitch is about the page's
	verse           bool      // lines are indented by turns
}

// startsNewBlock reports whether the block that begins at line start ends before line i: there is more room than
// between other lines, the type changes, or a paragraph or an item of a list begins or ends.
func (p *textColumn) startsNewBlock(start, i int) bool {
	prev, cur := p.shapes[i-1], p.shapes[i]
	step := cur.baseline - prev.baseline
	if prev.counter > 0 && cur.counter == prev.counter+1 && step > 0 { // numbers that count lines
		return false
	}
	if isBesideLine(prev, cur, p.em) {
		return true
	}
	if prev.style.mono && cur.style.mono {
		return step > 3.2*p.pitch || step < -0.5*p.em
	}
	if prev.leader && cur.leader || (p.tableOfContents || prev.leader || cur.leader) && prev.endsWithPageNumber &&
		cur.endsWithPageNumber {
		return true
	}
	if p.tableOfContents { // an entry may take several lines, the last of which leads to its page
		return prev.endsWithPageNumber && !cur.startsLower || !prev.endsWithPageNumber && p.changesStyle(i) ||
			cur.section != "" && followsSection(cur.section, p.shapes[start].section) || step > 2*p.pitch || step < -0.5*p.em
	}
	if step > p.maxStep(i) && !runsOnEvenly(p.shapes, i, p.right, p.em) || step < -0.5*p.em || p.changesStyle(i) || p.beginsParagraph(i) {
		return true
	}
	if first := p.shapes[start].section; first != "" && cur.section != "" && (followsSection(cur.section, first) || prev.endsSentence && countsOn(first, cur.section)) {
		return true
	}
	if p.isHeadingAbove(start, i) || p.isCentredAbove(start, i) || cur.marker != "" && p.beginsItem(start, i) {
		return true
	}
	if isIndentedBelowSentence(p, start, i) || cur.labelled.follows(p.shapes[start].labelled) || isAtRightEdge(p, i) && !isAtRightEdge(p, i-1) {
		return true
	}
	return p.shapes[start].marker != "" && p.leavesItem(start, i)
}

// beginsParagraph reports whether a paragraph begins with line i: by the room above it, by where the line above ends,
// by its own indent or lack of one, by bold type, by the name of who speaks, or where a contract is signed.
func (p *textColumn) beginsParagraph(i int) bool {
	const edge = 0.3 // ems
	prev, cur := p.shapes[i-1], p.shapes[i]
	isFull := p.right-prev.x1 < edge*p.em || cur.startsLower && p.fillsLine(prev, cur)
	goesOn := p.runsOn && isFull && !prev.endsSentence // an entry hardly ends so
	return p.endsParagraph(i) || p.endsEarly(i) || p.leads && cur.startsBold && !prev.endsBold ||
		p.hangs && !goesOn && cur.x0-p.left < maxEdgeIndent*p.em || p.isFirstLine(i) || p.isBoldLineBetween(i) ||
		prev.endsSentence && (cur.writtenOn && !prev.writtenOn || p.speakers && cur.speaker != "") || isShortAbove(p, i) || beginsBelowRow(p, i)
}

// maxStep returns how far line i may stand below the line before if they belong to one block. Lines of larger type, as
// in headings and quotations, stand as far apart as their own size asks for.
func (p *textColumn) maxStep(i int) float64 {
	prev, cur := p.shapes[i-1], p.shapes[i]
	own := cur.height // boxes of some fonts are half as high again as their type
	if cur.style.size > 0.5*cur.height {
		own = min(cur.style.size, 4*p.em)
	}
	limit := 1.3*p.pitch + max(0, own-p.em)
	if size := min(prev.style.size, cur.style.size); size > 1.1*p.em && size > 0.98*max(prev.style.size, cur.style.size) {
		return max(limit, 1.5*min(size, 12*p.em))
	}
	return limit
}

// isHeadingAbove reports whether a line that stands alone above line i heads the text that begins there: it is short,
// and farther from the text than the text's own lines are from one another. In a column of lists, the usual pitch is
// that of the items, and says nothing about it.
func (p *textColumn) isHeadingAbove(start, i int) bool {
	prev, cur := p.shapes[i-1], p.shapes[i]
	if start != i-1 || prev.marker != "" || cur.marker != "" || i+1 >= len(p.shapes) || p.right-prev.x1 < 3*p.em ||
		p.right-cur.x1 > 2*p.em {
		return false
	}
	next := p.shapes[i+1]
	pitch := next.baseline - cur.baseline
	return next.marker == "" && pitch > 0.9*p.em && cur.baseline-prev.baseline > 1.4*pitch
}

// isCentredAbove reports whether a line that stands alone above line i is a heading in the middle of the column, in capitals
// or far from its edges, and line i is one of text that fills the column.
func (p *textColumn) isCentredAbove(start, i int) bool {
	const room, far, indent = 2.0, 4.0, 3.0 // ems
	prev, cur := p.shapes[i-1], p.shapes[i]
	left, right := prev.x0-p.left, p.right-prev.x1
	return start == i-1 && (prev.capitals && !cur.capitals && min(left, right) > room*p.em || !prev.endsSentence && !prev.startsLower && prev.style.size > 0 && prev.style.size <= p.em && min(left, right) > far*p.em) &&
		math.Abs(left-right) < p.em && cur.x0-p.left < indent*p.em && p.right-cur.x1 < p.em
}

// changesStyle reports whether the type changes before line i, for good and not for a word: its size, between bold
// and not, or to and from code.
func (p *textColumn) changesStyle(i int) bool {
	prev, cur := p.shapes[i-1], p.shapes[i]
	large, small := max(prev.height, cur.height), min(prev.height, cur.height)
	a, b := prev.style, cur.style
	sized := a.size > 0 && b.size > 0
	alike := max(a.size, b.size) <= 1.12*min(a.size, b.size)
	// The boxes of some fonts are higher than those of others of the same size, and formulas make a line higher; so do
	// letters that go above and below others, which a heading in capitals has none of.
	sameSize := sized && alike && prev.capitals == cur.capitals && !p.isDisplayFormula(prev, cur) &&
		!p.isDisplayFormula(cur, prev)
	if large > 1.35*small && large > 1.1*p.em && small > 0.3*p.em && !sameSize {
		return true
	}
	if sized && !alike && min(a.math, b.math) == 0 && small > 0.3*p.em {
		return true
	}
	if a.mono != b.mono {
		return true
	}
	if p.runsIn && a.bold && !b.bold && alike && (p.fillsLine(prev, cur) || prev.endsComma) {
		return false
	}
	// A line in a font of its own above text in another is a heading, unless it fills the line and goes on in the next;
	// so is a bold one. Where the size changes with the font, it does not go on.
	if a.font != b.font && a.font > 0 && b.font > 0 && (p.right-prev.x1 > 3*p.em || a.size > 1.05*b.size && b.size > 0) {
		return true
	}
	if a.bold && !b.bold && alike && p.wrapsBold(prev, cur) {
		return false
	}
	if a.bold && !b.bold && !cur.startsLower { // a heading in a narrow column fills it
		return true
	}
	return a.bold != b.bold && (p.right-prev.x1 > 3*p.em || i >= 2 && p.shapes[i-2].style.bold == a.bold && a.bold)
}

// isBoldLineBetween reports whether line i is a short bold one between others that are not, or the first of several bold
// ones, below the end of a sentence: a question above its answer. A bold word at the end of a paragraph is seldom all of
// its last line.
func (p *textColumn) isBoldLineBetween(i int) bool {
	const room = 3.0 // ems
	prev, cur := p.shapes[i-1], p.shapes[i]
	if i+1 == len(p.shapes) || !cur.style.bold || prev.style.bold || !prev.endsSentence {
		return false
	}
	next := p.shapes[i+1]
	return cur.startsBold && next.startsBold && next.style.bold || !next.style.bold && p.right-cur.x1 > room*p.em
}

// wrapsBold reports whether bold text goes on in the next line, in front of other text: that begins with a bold word
// for which the line before had no room, and that ends no sentence.
func (p *textColumn) wrapsBold(prev, cur lineShape) bool {
	return cur.startsBold && !prev.endsSentence && p.fillsLine(prev, cur)
}

// fillsLine reports whether a line has no room for the first word of the next.
func (p *textColumn) fillsLine(prev, next lineShape) bool {
	return endWithNext(prev, next, p.em) > p.right
}

// endWithNext returns where a line would end if the first word of the next stood in it.
func endWithNext(prev, next lineShape, em float64) float64 {
	return prev.x1 + blankShare*em + next.firstWidth
}

// isDisplayFormula reports whether a line is a formula that is set apart from another line by its indent.
func (p *textColumn) isDisplayFormula(line, other lineShape) bool {
	return line.style.math > minMathShare && line.x0 > other.x0+3*p.em
}

// minMathShare is the share of a line's letters that makes it a formula.
const minMathShare = 0.4

// beginsItem reports whether line i, which begins with a marker, is an item of a list. A number at the beginning of a
// line may have come there by chance, in the middle of a sentence: then the line before it is full.
func (p *textColumn) beginsItem(start, i int) bool {
	prev, cur := p.shapes[i-1], p.shapes[i]
	if cur.enumerator.form != "" {
		return p.continuesNumbering(start, i)
	}
	isDash := cur.marker == "-" || cur.marker == "–" || cur.marker == "—"
	if isDash && p.shapes[start].marker != cur.marker && !prev.endsSentence && p.fillsLine(prev, cur) { // one in a sentence
		return false
	}
	if cur.bulletMarker && !isDash && cur.marker != "*" && cur.marker != "·" {
		return true
	}
	if first := p.shapes[start]; first.marker != "" &&
		(cur.x0 < first.x0-0.5*p.em || cur.x0 < first.x0+0.5*p.em && first.bulletMarker == cur.bulletMarker) {
		return true
	}
	if prev.endsSentence && isCountedOn(p, i) {
		return true
	}
	hangs := i+1 < len(p.shapes) && p.shapes[i+1].x0 > cur.x0+0.5*p.em && p.shapes[i+1].marker == ""
	return p.right-prev.x1 > 2*p.em || hangs && math.Abs(prev.x0-cur.x0) > 0.5*p.em || cur.x0 > prev.x0+0.8*p.em
}

// maxListDistance is how many lines off another item may be that bears one out.
const maxListDistance = 40

// continuesNumbering reports whether line i, which begins with a counter, is an item. A line of running text may
// begin with the like by chance, as no blank sets it apart: so the line before ends short, or the item stands out by
// its indent, or others that are level with it make it a list.
func (p *textColumn) continuesNumbering(start, i int) bool {
	first, prev, cur := p.shapes[start], p.shapes[i-1], p.shapes[i]
	level := func(s lineShape) bool { return math.Abs(s.x0-cur.x0) < 0.5*p.em }
	if p.right-prev.x1 > 2*p.em || cur.x0 > prev.x0+0.8*p.em || level(first) &&
		cur.enumerator.isSuccessorOf(first.enumerator) {
		return true
	}
	if i+1 < len(p.shapes) && p.shapes[i+1].x0 > cur.x0+0.5*p.em && p.shapes[i+1].marker == "" &&
		prev.x0 > cur.x0+0.5*p.em {
		return true
	}
	for _, next := range p.shapes[i+1 : min(i+1+maxListDistance, len(p.shapes))] {
		if level(next) && next.enumerator.isSuccessorOf(cur.enumerator) {
			return true
		}
	}
	for _, before := range p.shapes[max(0, i-maxListDistance):i] { // a sign in the line may be one of a name's parts
		if cur.enumerator.number > 0 && level(before) && cur.enumerator.isSuccessorOf(before.enumerator) {
			return true
		}
	}
	return false
}

// leavesItem reports whether line i no longer belongs to the item that begins at line start: it stands left of the
// item's text, and the item's lines hang, or the line before is its last, as the next word had room in it.
func (p *textColumn) leavesItem(start, i int) bool {
	first, prev, cur := p.shapes[start], p.shapes[i-1], p.shapes[i]
	if cur.x0 > first.x0+0.5*p.em || p.answers && isLeftOfMarker(first, cur, p.em) {
		return false
	}
	if i-start > 1 && prev.x0 > first.x0+0.5*p.em {
		return true
	}
	if p.apart && cur.baseline-prev.baseline < (1+leastRoom)*p.pitch {
		return false
	}
	return p.right-prev.x1 > 3*p.em && !cur.startsLower && !p.fillsLine(prev, cur)
}

// assignBlockType gives a block the type that its own lines tell: code, an item of a list, a formula. The rest is
// known from the page, or the document.
func (p *textColumn) assignBlockType(b *inkstreamv1.Block, shapes []lineShape) *inkstreamv1.Block {
	mono, formula, counters := true, true, true
	for _, s := range shapes {
		mono, counters = mono && s.style.mono, counters && s.counter > 0
		formula = formula && s.style.math > minMathShare
	}
	first := shapes[0]
	switch {
	case mono && !counters && (len(shapes) > 1 || len(b.GetLines()[0].GetWords()) > 1):
		b.Type = Code
	case formula && len(shapes) <= 6:
		b.Type = Formula
	case (shapes[len(shapes)-1].leader || p.tableOfContents && shapes[len(shapes)-1].endsWithPageNumber) && len(shapes) <= 3: // an entry of a table of contents
		b.Type, b.Level = ListItem, 1
	case first.marker != "" && (first.bulletMarker || !first.style.bold && !(first.enumerator.form != "" && first.style.size > 1.05*p.em)): // else a heading
		b.Type, b.Level, b.Marker = ListItem, 1, first.marker
	}
	return b
}

func newLine(words []*inkstreamv1.Word, angle int32) *inkstreamv1.Line {
	return &inkstreamv1.Line{Bbox: boundingBox(words).toBox(), Words: words, Angle: angle}
}

func newBlock(lines []*inkstreamv1.Line) *inkstreamv1.Block {
	box := rectFromBox(lines[0].GetBbox())
	for _, line := range lines[1:] {
		box = box.union(rectFromBox(line.GetBbox()))
	}
	return &inkstreamv1.Block{Type: Paragraph, Bbox: box.toBox(), Lines: lines}
}
