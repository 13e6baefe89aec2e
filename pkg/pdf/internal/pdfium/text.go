package pdfium

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Char is one character of a page, as PDFium's text page lists it.
type Char struct {
	Rune rune
	// Box holds the glyph tightly, in user space; one without outlines from ascent to descent. Empty for generated
	// characters.
	Box Rect
	// Run is the index of its Run.
	Run int32
	// Generated marks blanks and line ends that PDFium made up from the layout.
	Generated bool
	// Tight marks a blank between glyphs whose advance widths leave no gap: a made-up one between narrow letters of a
	// fixed-pitch font, or a written one that the glyph behind it is drawn over.
	Tight bool
	// Unmapped says that the font does not tell which character the glyph stands for. Only some characters are Asked.
	Unmapped, Asked bool
}

// mappingSampleStep says of how many characters one is asked whether its font maps it: a share is all that is wanted.
// It is a power of 2.
const mappingSampleStep = 4

// Run is what characters of one text object share.
type Run struct {
	// Font is an index into Text.Fonts; -1 if unknown.
	Font int
	// Size is the font size in points as drawn.
	Size float64
	// DirX and DirY point along the writing direction in user space: downwards in columns of Japanese or Chinese.
	DirX, DirY float64
	// Column says that the glyphs were seen to stand below each other, although upright.
	Column bool
	// Loose is the box of the run's first character from font ascent to descent.
	Loose Rect
	// Invisible says that the text is not seen, as in the text layer of a scan: it is not painted (render mode 3).
	Invisible bool
}

// Font describes a font, with the colour that it is filled with.
type Font struct {
	Name   string
	Weight int
	Italic bool
	Fixed  bool
	// Color is 0xRRGGBB.
	Color uint32
	// Unnamed is 0 for a font with a name, else the index plus 1 in Text.UnnamedFonts.
	Unnamed int
}

// UnnamedFont is what is known of a font without a name: the advance widths of glyphs that the page shows, in
// thousandths of an em.
type UnnamedFont struct{ Widths []float64 }

// Text is the text of a page in PDFium's order.
type Text struct {
	Chars []Char
	Runs  []Run
	Fonts []Font
	// UnnamedFonts are those whose names PDFium does not tell.
	UnnamedFonts []UnnamedFont
	// WithoutOutlines counts the characters that have no outlines, blanks left out: nothing is drawn of them.
	WithoutOutlines int
	// Cut says that the page has more characters than were read.
	Cut bool
}

// ReadText reads at most maxChars characters of the page. Facts about the font are asked for once per text object,
// not per character, and the font's own once per font: that keeps them below a tenth of the cost of the page.
func (p *Page) ReadText(maxChars int) Text {
	tp := p.in.callFunction(fnTextLoadPage, p.handle) & math.MaxUint32
	if tp == 0 {
		return Text{}
	}
	r := textReader{in: p.in, page: tp, fonts: map[fontKey]int{}, written: map[int]writtenBlanks{}, object: math.MaxUint64, run: -1, blank: -1}
	n := max(0, p.in.callInt(fnTextCountChars, tp))
	if n > maxChars {
		n, r.out.Cut = maxChars, true
	}
	r.out.Chars = make([]Char, 0, n)
	r.readChars(n)
	r.believeDoubtfulBlanks()
	r.dropOverdrawnBlanks()
	r.addSpacedBlanks()
	r.measureUnnamedFonts()
	p.in.callFunction(fnTextClosePage, tp)
	r.out.turnPartedLigatures()
	r.out.repairBrokenLines()
	if r.wide {
		r.out.turnColumns()
	}
	for i := range r.out.Runs {
		r.out.Runs[i].Size *= p.Unit
	}
	return r.out
}

// readChars reads the first n characters.
func (r *textReader) readChars(n int) {
	records := make([]byte, charSize*min(n, charBatch))
	room := r.in.allocate(len(records))
	if room == 0 {
		panic(&Trap{Function: functionNames[fnMalloc], Memory: true, Err: ErrNoMemory})
	}
	for first := 0; first < n; first += charBatch {
		batch := records[:charSize*min(n-first, charBatch)]
		r.in.readCharBatch(r.page, room, first, batch)
		for i := range len(batch) / charSize {
			r.addChar(uint64(first+i), charRecord(batch[charSize*i:][:charSize]))
		}
	}
	r.in.freeMemory(room)
}

type fontKey struct {
	font  uint64
	color uint32
}

type textReader struct {
	in    *Instance
	page  uint64
	fonts map[fontKey]int
	// unnamed are fonts without a name, in the order of Text.UnnamedFonts.
	unnamed []unnamedFont
	object  uint64 // text object of the running run
	run     int32
	wide    bool // there are characters of scripts that are written in columns
	// doubtful are blanks in out.Chars that are tight by the ink of a glyph beside them alone. glyphs counts first
	// glyphs of runs, and reaching those whose ink reaches to the end of their advance width.
	doubtful         []int
	glyphs, reaching int
	spaced           []spacedPair
	written          map[int]writtenBlanks // by font
	high             rune                  // pending first half of a surrogate pair
	blank            int                   // index in out.Chars of a made-up blank whose next character is yet to come; -1 if none
	gap              [charSize]byte        // the record of that blank: the next character may be in the next batch
	out              Text
}

func (r *textReader) addChar(i uint64, at charRecord) {
	c := Char{Rune: at.codePoint()}
	switch {
	case c.Rune >= 0xD800 && c.Rune < 0xDC00:
		r.high = c.Rune
		return
	case c.Rune >= 0xDC00 && c.Rune < 0xE000:
		c.Rune = utf16.DecodeRune(r.high, c.Rune)
	}
	r.high = 0
	if c.Generated = at.charFlags()&charGenerated != 0; c.Generated {
		c.Run = r.run
		if r.blank = -1; c.Rune == ' ' {
			r.blank = len(r.out.Chars)
			copy(r.gap[:], at)
		}
		r.out.Chars = append(r.out.Chars, c)
		return
	}
	object := at.textObject()
	first := object != r.object
	if first {
		lone := r.isLoneGlyph()
		r.object = object
		r.startRun(i, object)
		if r.blank > 0 && r.run > 0 && r.out.Runs[r.run-1].isLevelWith(&r.out.Runs[r.run]) {
			r.out.Chars[r.blank].Tight = lone && r.isTightBlank(at.glyphBox()) || r.isLetterSpace(c.Rune, at.glyphBox())
		}
	} else if r.blank >= 0 {
		r.out.Chars[r.blank].Tight = r.isTightBlank(at.glyphBox())
	}
	r.blank = -1
	c.Run = r.run
	c.Asked, c.Unmapped = i%mappingSampleStep == 0, at.charFlags()&charUnmapped != 0
	c.Box = at.glyphBox()
	if first && c.Box != (Rect{}) {
		r.countReach(&c)
	}
	if r.hasNoOutlines(&c) {
		if c.Rune != wideBlank {
			r.out.WithoutOutlines++
		}
		if loose, ok := r.looseBox(i); ok {
			c.Box = r.columnBox(loose)
		}
	}
	if c.Rune >= firstOfColumns {
		r.wide = true
		if n := len(r.out.Chars); n > 0 && r.out.Chars[n-1].Run == r.run {
			r.turnRun(&r.out.Chars[n-1], &c)
		}
	}
	r.noteWrittenBlank(&c, i)
	r.noteSpacedPair(&c, i)
	r.out.Chars = append(r.out.Chars, c)
	r.noteUnnamedGlyph(c.Rune)
	r.turnLigature()
}

const lam, alefs = 'ل', "اأإآٱ"

// turnLigature puts the letters of a ligature that runs from right to left in order, the last of which came in just
// now. PDFium turns such text round letter by letter, and so the letters of one glyph as well, which share its box,
// and a letter and its marks that are one text object. Lam and alef are known whatever order the file has them in: no
// font joins an alef to a lam after it.
func (r *textReader) turnLigature() {
	last := len(r.out.Chars) - 1
	c := r.out.Chars[last]
	const firstOfHebrew = 0x590 // what comes before runs from left to right, which most text does
	if c.Rune < firstOfHebrew || c.Box == (Rect{}) || !runsRightToLeft(c.Rune) && !isMark(c.Rune) {
		return
	}
	first := r.skipBack(last, func(d *Char) bool { return d.Box == c.Box && (runsRightToLeft(d.Rune) || isMark(d.Rune)) })
	marks := r.skipBack(last, func(d *Char) bool { return isMark(d.Rune) })
	if runsRightToLeft(c.Rune) && (marks == 0 || r.out.Chars[marks-1].Run != c.Run) { // the object begins with them
		first = min(first, marks)
	}
	glyph := r.out.Chars[first : last+1]
	if len(glyph) == 2 && glyph[0].Rune == lam && strings.ContainsRune(alefs, c.Rune) ||
		!slices.ContainsFunc(glyph, func(d Char) bool { return runsRightToLeft(d.Rune) }) {
		return
	}
	for k := last; k > first; k-- {
		r.out.Chars[k].Rune, r.out.Chars[k-1].Rune = r.out.Chars[k-1].Rune, r.out.Chars[k].Rune
	}
}

// turnPartedLigatures puts lam and alef in order where they are one glyph, whose box was parted evenly among its
// letters and not given to each. Letters of one pitch have such boxes too: then there are more than two of them.
func (t *Text) turnPartedLigatures() {
	isPart := func(i, j int) bool { // of the same glyph as the next
		return i >= 0 && j < len(t.Chars) && t.Chars[i].Run == t.Chars[j].Run && t.Chars[i].Box.isPartBefore(t.Chars[j].Box)
	}
	for i := 1; i < len(t.Chars); i++ {
		first, last := &t.Chars[i-1], &t.Chars[i]
		if last.Rune == lam && last.Box != (Rect{}) && strings.ContainsRune(alefs, first.Rune) && isPart(i-1, i) && !isPart(i-2, i-1) && !isPart(i, i+1) {
			first.Rune, last.Rune = last.Rune, first.Rune
		}
	}
}

// isPartBefore reports whether a box is a part of a glyph's that was parted evenly among its letters, right before the
// part o.
func (r Rect) isPartBefore(o Rect) bool {
	const exact = 1e-3 // points
	return r.Top == o.Top && r.Bottom == o.Bottom && math.Abs(r.Right-o.Left) < exact && math.Abs(r.Right-r.Left-o.Right+o.Left) < exact
}

// skipBack returns the first of the characters before one that belong to it, in its text object.
func (r *textReader) skipBack(at int, belongs func(*Char) bool) int {
	run := r.out.Chars[at].Run
	for at > 0 && r.out.Chars[at-1].Run == run && belongs(&r.out.Chars[at-1]) {
		at--
	}
	return at
}

func isMark(c rune) bool { return unicode.Is(unicode.Mn, c) }

// runsRightToLeft reports whether a character is a letter of a script that does. Marks go with their letters.
func runsRightToLeft(c rune) bool {
	return unicode.In(c, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko) && unicode.IsLetter(c)
}

// hasNoOutlines reports whether a glyph has no outlines: PDFium gives it the box of a line, a thousandth of its size
// thick, or none. Blanks have no box to speak of, but for the wide one, which stands in columns as a character does.
func (r *textReader) hasNoOutlines(c *Char) bool {
	const thin = 0.002
	size := r.out.Runs[r.run].Size
	return (c.Box.Right-c.Box.Left <= thin*size || c.Box.Top-c.Box.Bottom <= thin*size) &&
		(c.Rune == wideBlank || !unicode.IsSpace(c.Rune))
}

const wideBlank = 0x3000

// looseBox returns the box of a character from ascent to descent.
func (r *textReader) looseBox(i uint64) (Rect, bool) {
	s := r.in.scratch
	if !r.in.callBool(fnTextLooseBox, r.page, i, s) {
		return Rect{}, false
	}
	box := parseLooseBox(r.in.memoryView(s, 16))
	return box, isUsableRect(box)
}

// columnBox returns the part of a loose box that the glyph has: in a column PDFium takes in as much to its left.
func (r *textReader) columnBox(loose Rect) Rect {
	if run := &r.out.Runs[r.run]; run.Column && run.DirX == 0 && run.DirY < 0 {
		loose.Left = max(loose.Left, loose.Right-run.Size)
	}
	return loose
}

// turnRun turns the direction of a run by what two of its glyphs that follow each other show: in a column each stands
// below the one before. The matrix does not tell, and the font, which does, has no function for that.
func (r *textReader) turnRun(a, b *Char) {
	run := &r.out.Runs[r.run]
	if run.Column || !isColumnScript(a.Rune) || !isColumnScript(b.Rune) || !run.standsBelow(a.Box, b.Box) {
		return
	}
	run.turnDownwards()
	b.Box, run.Loose = r.columnBox(b.Box), r.columnBox(run.Loose)
	for i := len(r.out.Chars) - 1; i >= 0 && r.out.Chars[i].Run == r.run; i-- {
		r.out.Chars[i].Box = r.columnBox(r.out.Chars[i].Box)
	}
}

// isLoneGlyph reports whether the running run has one glyph so far, behind which a blank was made up. Browsers write
// each glyph as a text object. The letters of a ligature are one glyph: they share its box.
func (r *textReader) isLoneGlyph() bool {
	n := len(r.out.Chars) - 1
	if n < 1 || !r.out.Chars[n].Generated || r.out.Chars[n-1].Generated || r.out.Chars[n-1].Run != r.run {
		return false
	}
	glyph := r.out.Chars[n-1].Box
	for i := n - 2; i >= 0 && r.out.Chars[i].Run == r.run; i-- {
		if r.out.Chars[i].Box != glyph {
			return false
		}
	}
	return true
}

// isTightBlank reports whether the glyphs around a blank, of one text object or of one each, stand closer than any
// blank, measured by their advance widths; next is the ink of the glyph that follows. PDFium measures their ink.
// Widths that make glyphs overlap are not believed.
func (r *textReader) isTightBlank(next Rect) bool {
	const widest, widestOfInk = 0.08, 0.03
	a, b, ok := charRecord(r.gap[:]).looseNeighbours()
	size := r.out.Runs[r.run].Size
	if !ok || size <= 0 {
		return false
	}
	gap := math.Max(math.Max(b.Left-a.Right, a.Left-b.Right), math.Max(b.Bottom-a.Top, a.Bottom-b.Top)) / size
	if gap >= widestOfInk && gap < widest && r.blank > 0 && b.Left-a.Right == gap*size &&
		(a.Right <= r.out.Chars[r.blank-1].Box.Right || b.Left >= next.Left && r.hasName(r.out.Runs[r.run].Font)) {
		r.doubtful = append(r.doubtful, r.blank)
	}
	return gap > -0.15 && gap < widest
}

// hasName reports whether a font has one. Of those that have none, which are drawings, PDFium tells neither
// advance widths nor, mostly, the size.
func (r *textReader) hasName(font int) bool {
	return font >= 0 && font < len(r.out.Fonts) && r.out.Fonts[font].Name != ""
}

// countReach counts the first glyph of a run, and whether its ink reaches to the end of its advance width or beyond.
func (r *textReader) countReach(c *Char) {
	r.glyphs++
	if r.out.Runs[r.run].Loose.Right <= c.Box.Right {
		r.reaching++
	}
}

// believeDoubtfulBlanks keeps the blanks that only little room tells from none, beside glyphs whose ink reaches over
// their advance width, as that of an f does, of an italic one on both sides: of those PDFium tells the ink alone, and
// between glyphs of one word that leaves no gap at all. Where all glyphs are so, it knows no advance widths.
func (r *textReader) believeDoubtfulBlanks() {
	if 10*r.reaching > 9*r.glyphs {
		return
	}
	for _, i := range r.doubtful {
		r.out.Chars[i].Tight = false
	}
}

func (r *textReader) startRun(i, object uint64) {
	run := Run{Font: -1, DirX: 1}
	s := r.in.scratch
	size := math.Float64frombits(r.in.callFunction(fnTextFontSize, r.page, i))
	if r.in.callBool(fnTextMatrix, r.page, i, s) {
		var m [6]float64
		r.in.readFloats(m[:])
		if mat := (Matrix{m[0], m[1], m[2], m[3], m[4], m[5]}); mat.IsFinite() {
			size *= math.Hypot(mat.C, mat.D)
			if mat.A != 0 || mat.B != 0 {
				run.DirX, run.DirY = mat.A, mat.B
			}
		}
	}
	// A negative size mirrors the glyphs; writing goes the other way.
	if size < 0 {
		size, run.DirX, run.DirY = -size, -run.DirX, -run.DirY
	}
	if size < 5000 { // false for NaN as well
		run.Size = size
	}
	if loose, ok := r.looseBox(i); ok {
		run.Loose = loose
	}
	if object != 0 {
		const invisible = 3
		run.Invisible = r.in.callInt(fnTextObjRenderMode, object) == invisible
		run.Font = r.fontIndex(object)
	}
	r.run = int32(len(r.out.Runs))
	r.out.Runs = append(r.out.Runs, run)
}

func (r *textReader) fontIndex(object uint64) int {
	s := r.in.scratch
	key := fontKey{font: r.in.callFunction(fnTextObjFont, object) & math.MaxUint32}
	if key.font == 0 {
		return -1
	}
	if r.in.callBool(fnObjFillColor, object, s, s+4, s+8, s+12) {
		b := r.in.memoryView(s, 12)
		key.color = uint32(b[0])<<16 | uint32(b[4])<<8 | uint32(b[8])
	}
	if i, ok := r.fonts[key]; ok {
		return i
	}
	const maxFonts = 1000
	if len(r.out.Fonts) >= maxFonts {
		return -1
	}
	const fixedPitch, italic = 1 << 0, 1 << 6
	p, size := r.in.stringBuffer()
	f := Font{Color: key.color, Name: r.in.readByteString(r.in.callFunction(fnFontBaseName, key.font, p,
		size) & math.MaxUint32)}
	flags := r.in.callInt(fnFontFlags, key.font)
	f.Fixed = flags > 0 && flags&fixedPitch != 0
	f.Italic = flags > 0 && flags&italic != 0
	if r.in.callBool(fnFontItalicAngle, key.font, s) && r.in.readUint32(0) != 0 {
		f.Italic = true
	}
	f.Weight = r.in.callInt(fnFontWeight, key.font)
	if f.Name == "" {
		f.Unnamed = r.unnamedIndex(key.font) + 1
	}
	r.fonts[key] = len(r.out.Fonts)
	r.out.Fonts = append(r.out.Fonts, f)
	return len(r.out.Fonts) - 1
}

// maxMeasuredGlyphs bounds the glyphs of a font that are measured.
const maxMeasuredGlyphs = 128

// unnamedFont is a font without a name, and the characters that the page shows in it.
type unnamedFont struct {
	font  uint64
	shown map[rune]bool
}

// unnamedIndex returns the index of a font without a name. One font may be filled with several colours.
func (r *textReader) unnamedIndex(font uint64) int {
	for i := range r.unnamed {
		if r.unnamed[i].font == font {
			return i
		}
	}
	r.unnamed = append(r.unnamed, unnamedFont{font: font, shown: map[rune]bool{}})
	return len(r.unnamed) - 1
}

// noteUnnamedGlyph remembers a character that the running run shows, if its font has no name.
func (r *textReader) noteUnnamedGlyph(char rune) {
	font := r.out.Runs[r.run].Font
	if font < 0 {
		return
	}
	if n := r.out.Fonts[font].Unnamed; n > 0 && len(r.unnamed[n-1].shown) < maxMeasuredGlyphs {
		r.unnamed[n-1].shown[char] = true
	}
}

// measureUnnamedFonts asks for the advance widths of what is shown in fonts without a name.
func (r *textReader) measureUnnamedFonts() {
	const size = 1000
	for _, f := range r.unnamed {
		var widths []float64
		for char := range f.shown {
			if r.in.callBool(fnFontGlyphWidth, f.font, uint64(uint32(char)), uint64(math.Float32bits(size)), r.in.scratch) {
				if w := float64(math.Float32frombits(r.in.readUint32(0))); w > 0 && w < 10*size {
					widths = append(widths, w)
				}
			}
		}
		r.out.UnnamedFonts = append(r.out.UnnamedFonts, UnnamedFont{Widths: widths})
	}
}
