// Package pagetext turns the characters that PDFium lists for a page into words, lines and provisional blocks, in
// PDFium's order and in points from the top left of the page as displayed. An accent and the letter that it is drawn
// over are one character, and what is printed twice is there once. It is pure: no engine, no files.
package pagetext

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/syntax"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Stats are facts about the text that triage wants.
type Stats struct {
	// Chars counts what would leave ink: characters that are no blanks and were not made up.
	Chars int
	// Bad counts those of them that are no readable character: control and private-use characters, replacement
	// characters.
	Bad int
	// Unmapped counts glyphs without a mapping among those Asked.
	Unmapped, Asked int
	// Invisible counts those that are not painted.
	Invisible int
	// Odd counts words that no language writes: symbols or capitals inside words, letters mixed with digits. Words
	// counts all words of at least three characters.
	Odd, Words int
}

// Text is what BuildText makes of a page.
type Text struct {
	Blocks []*inkstreamv1.Block
	Fonts  []*inkstreamv1.Font
	Stats  Stats
}

// Frame is the page as displayed.
type Frame struct {
	// Display maps a point of user space to points from the top left of the page.
	Display       func(x, y float64) (float64, float64)
	Width, Height float64
}

// BuildText assembles the text of a page. Words whose middle lies off the page are cut to the characters that are
// seen, and left out where there are none; boxes are cut to the page. A page that has characters in its Stats has
// text as well.
func BuildText(text pdfium.Text, frame Frame) Text {
	decodeTeXFonts(&text)
	b := builder{text: text, display: frame.Display, page: box{0, 0, frame.Width, frame.Height},
		runs: make([]runInfo, len(text.Runs)), fonts: make([]int32, len(text.Fonts))}
	b.word.reset()
	for i := range text.Runs {
		b.runs[i] = b.displayRun(&text.Runs[i])
	}
	for i := range text.Chars {
		if accentMark(text.Chars[i].Rune) != 0 {
			b.placeAccent(i)
		}
	}
	for i := range text.Chars {
		b.addChar(i)
	}
	b.finishLine()
	if len(b.lines) == 0 {
		// Unreadable characters make no native text: a recogniser has to say what they show.
		b.out.Stats = Stats{}
	}
	b.out.Blocks = groupBlocks(b.lines)
	return b.out
}

// box is a rectangle in display coordinates: y down.
type box struct{ x0, y0, x1, y1 float64 }

var emptyBox = box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}

func (b *box) extendBy(o box) {
	b.x0, b.y0 = min(b.x0, o.x0), min(b.y0, o.y0)
	b.x1, b.y1 = max(b.x1, o.x1), max(b.y1, o.y1)
}

func (b box) isEmpty() bool { return !(b.x1 >= b.x0 && b.y1 >= b.y0) }

// clipTo cuts the box to the page and reports whether its middle lies on it.
func (b box) clipTo(page box) (box, bool) {
	if b.isEmpty() {
		return box{}, true // a word without a place is better than none
	}
	x, y := (b.x0+b.x1)/2, (b.y0+b.y1)/2
	seen := x >= page.x0 && x <= page.x1 && y >= page.y0 && y <= page.y1
	return box{max(b.x0, page.x0), max(b.y0, page.y0), min(b.x1, page.x1), min(b.y1, page.y1)}, seen
}

// acrossExtent is the box's extent at right angles to the writing direction.
func (b box) acrossExtent(angle int32) (float64, float64) {
	if angle%180 == 0 {
		return b.y0, b.y1
	}
	return b.x0, b.x1
}

func (b *box) setAcrossExtent(angle int32, lo, hi float64) {
	if angle%180 == 0 {
		b.y0, b.y1 = lo, hi
	} else {
		b.x0, b.x1 = lo, hi
	}
}

// alongExtent is the box's extent along the writing direction, growing with it.
func (b box) alongExtent(angle int32) (float64, float64) {
	switch angle {
	case 90:
		return b.y0, b.y1
	case 180:
		return -b.x1, -b.x0
	case 270:
		return -b.y1, -b.y0
	default:
		return b.x0, b.x1
	}
}

// runInfo is a run in display coordinates.
type runInfo struct {
	angle int32
	size  float64
	// lo and hi are ascent and descent across the writing direction; sane says whether they can be trusted.
	lo, hi    float64
	trusted   bool
	invisible bool
	font      int
}

func (b *builder) displayBox(r pdfium.Rect) box {
	x0, y0 := b.display(r.Left, r.Bottom)
	x1, y1 := b.display(r.Right, r.Top)
	return box{min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)}
}

func (b *builder) displayRun(r *pdfium.Run) runInfo {
	x0, y0 := b.display(0, 0)
	x1, y1 := b.display(r.DirX, r.DirY)
	turn := math.Round(math.Atan2(y1-y0, x1-x0)/(math.Pi/2)) * 90
	info := runInfo{angle: int32(turn+360) % 360, size: r.Size, invisible: r.Invisible, font: r.Font}
	if !r.Loose.IsEmpty() {
		info.lo, info.hi = b.displayBox(r.Loose).acrossExtent(info.angle)
		// Fonts lie about their ascent and descent; a line is some 1.2 times its font size high.
		height := info.hi - info.lo
		info.trusted = r.Size > 0 && height > 0.5*r.Size && height < 1.6*r.Size
	}
	return info
}

// builder holds the word and the line that are being read.
type builder struct {
	text    pdfium.Text
	display func(x, y float64) (float64, float64)
	page    box
	runs    []runInfo
	fonts   []int32 // index into text.Fonts to index into out.Fonts plus 1; 0 while unused
	out     Text

	lines []line
	line  line
	word  word

	composed map[int]rune // letters with the accents drawn over them, by their places; 0 for the accent itself

	hyphen bool // the last character was a hyphen that may end a line: PDFium took it for one, or the file has a soft one

	last    rune // the last character, where it stood, and in which run
	lastAt  box
	lastRun int32
	printed printedWords
}

type line struct {
	words []*inkstreamv1.Word
	box   box
	angle int32
	size  float64
}

type word struct {
	text []byte
	box  box
	run  int32
	// lo and hi enclose ascent and descent of its sane runs.
	lo, hi float64
	soft   bool // a soft hyphen came last
	// from and to enclose, in bytes, the characters that are seen, and visible is where those stand.
	from, to int
	visible  box
	lastAt   box // of its last character
}

func (w *word) reset() {
	w.text = w.text[:0]
	w.box, w.run, w.soft = emptyBox, -1, false
	w.lo, w.hi = math.Inf(1), math.Inf(-1)
	w.from, w.to, w.visible = -1, 0, emptyBox
}

const (
	hyphenMark     = 0x02   // what PDFium puts in place of a hyphen at the end of a line
	hyphenMarkOld  = 0xFFFE // what it put there before
	softHyphen     = 0xAD
	nonJoiner      = 0x200C
	joiner         = 0x200D
	replacement    = 0xFFFD
	byteOrderMark  = 0xFEFF
	lastC1         = 0x9F
	firstPrintable = 0x20
)

func (b *builder) addChar(i int) {
	c := &b.text.Chars[i]
	switch {
	case c.Rune == '\n' || c.Rune == '\r':
		b.finishLine()
		return
	case c.Tight:
		return
	case c.Generated && b.isBlankAtAccent(i):
		return
	case c.Generated || unicode.IsSpace(c.Rune):
		b.finishWord()
		return
	case isInvisible(c.Rune):
		return
	}
	run := b.runOf(c)
	if run == nil {
		return
	}
	r, at := c.Rune, b.displayBox(c.Box)
	hyphen := r == hyphenMark || r == hyphenMarkOld || r == softHyphen && isDash(at, run)
	if hyphen {
		r = '-'
		b.hyphen = true
	}
	seen := b.isSeen(at, run)
	if seen {
		b.countChar(r, c, run)
	}
	if r == softHyphen {
		b.word.soft = true
		return
	}
	if r < firstPrintable || (r > 0x7E && r <= lastC1) || r == replacement {
		return // counted as bad; it is unreadable
	}
	if b.isOverprint(r, at, c.Run) {
		return
	}
	if composed, ok := b.composed[i]; ok {
		if composed == 0 {
			return // its letter stands for it
		}
		r = composed
	}
	if c.Run == b.word.run && b.stepsBack(r, at, run) {
		b.finishLine()
		b.hyphen = false
	}
	b.breakLineBefore(at, run, c.Run)
	b.addToWord(r, at, run, c.Run, seen)
	b.hyphen = hyphen
}

// isSeen reports whether a character is on the page: its middle along the line is, and a fifth of the line's height.
// So the letters of a line that the page's edge cuts lengthwise are all seen, or none.
func (b *builder) isSeen(at box, run *runInfo) bool {
	if at.isEmpty() {
		return true // a word without a place is better than none
	}
	if run.trusted {
		at.setAcrossExtent(run.angle, run.lo, run.hi)
	}
	start, end := at.alongExtent(run.angle)
	first, last := b.page.alongExtent(run.angle)
	lo, hi := at.acrossExtent(run.angle)
	top, bottom := b.page.acrossExtent(run.angle)
	return (start+end)/2 >= first && (start+end)/2 <= last && 5*(min(hi, bottom)-max(lo, top)) >= hi-lo
}

// isDash reports whether the ink of a character lies within half of its size, as that of a hyphen does. A soft hyphen
// that is not drawn has no outlines, and the box of a line. One that is drawn is a hyphen wherever it stands: many fonts
// have one glyph for both.
func isDash(at box, run *runInfo) bool {
	lo, hi := at.acrossExtent(run.angle)
	return hi > lo && hi-lo < run.size/2
}

// isInvisible tells characters that carry no text of their own. The joiners stay: Persian and the Indic scripts spell
// with them.
func isInvisible(r rune) bool {
	return (r >= 0x200B && r <= 0x200F && r != nonJoiner && r != joiner) || (r >= 0x202A && r <= 0x202E) ||
		(r >= 0x2060 && r <= 0x2069) || r == byteOrderMark
}

func (b *builder) countChar(r rune, c *pdfium.Char, run *runInfo) {
	s := &b.out.Stats
	s.Chars++
	if run.invisible {
		s.Invisible++
	}
	if c.Asked {
		s.Asked++
	}
	if c.Unmapped {
		s.Unmapped++
	}
	if r < firstPrintable || (r > 0x7E && r <= lastC1) || r == replacement || unicode.Is(unicode.Co, r) ||
		r > unicode.MaxRune {
		s.Bad++
	}
}

// breakLineBefore ends the line where PDFium joined what does not stand on one: after a hyphen at the end of a line,
// where the writing direction turns, and where a run lies wholly above or below the line.
func (b *builder) breakLineBefore(at box, run *runInfo, index int32) {
	hyphen := b.hyphen
	b.hyphen = false
	if b.word.run < 0 && len(b.line.words) == 0 {
		return
	}
	if run.angle != b.line.angle {
		b.finishLine()
		return
	}
	if index == b.word.run && !hyphen {
		return
	}
	here := b.line.box
	if b.word.run >= 0 {
		here.extendBy(b.word.box)
	}
	lo, hi := here.acrossExtent(run.angle)
	rlo, rhi := at.acrossExtent(run.angle)
	if run.trusted {
		rlo, rhi = run.lo, run.hi
	}
	overlap := min(hi, rhi) - max(lo, rlo)
	if overlap < 0.1*min(hi-lo, rhi-rlo) {
		b.finishLine()
		return
	}
	if !hyphen {
		return
	}
	if _, end := here.alongExtent(run.angle); alongStart(at, run.angle) < end-2*run.size {
		b.finishLine()
	}
}

// stepsBack reports whether a character of a script that runs from left to right stands before the word that it
// follows, in one text object: the program that wrote the file set the cells of a table's row from right to left, and
// PDFium makes up nothing between them.
func (b *builder) stepsBack(r rune, at box, run *runInfo) bool {
	const firstOfHebrew, farthest = 0x590, 1 // ems that accents and the parts of a glyph step back
	if before, _ := utf8.DecodeLastRune(b.word.text); max(r, before) >= firstOfHebrew || at.isEmpty() || b.word.lastAt.isEmpty() || run.angle != b.line.angle {
		return false
	}
	start := alongStart(b.word.box, run.angle)
	_, end := at.alongExtent(run.angle)
	return end < start-farthest*run.size && alongStart(b.word.lastAt, run.angle) > start // the word itself runs to the right
}

func alongStart(b box, angle int32) float64 {
	s, _ := b.alongExtent(angle)
	return s
}

func (b *builder) addToWord(r rune, at box, run *runInfo, index int32, seen bool) {
	w := &b.word
	if w.run < 0 {
		if len(b.line.words) == 0 {
			b.line = line{box: emptyBox, angle: run.angle, size: run.size}
		}
		w.run = index
	}
	w.soft = false
	if seen && w.from < 0 {
		w.from = len(w.text)
	}
	w.text = utf8.AppendRune(w.text, r)
	w.lastAt = at
	if !at.isEmpty() {
		w.box.extendBy(at)
	}
	if seen {
		w.to = len(w.text)
		w.visible.extendBy(at)
	}
	if run.trusted {
		w.lo, w.hi = min(w.lo, run.lo), max(w.hi, run.hi)
	}
}

func (b *builder) finishWord() {
	w := &b.word
	if w.run < 0 {
		return
	}
	run := &b.runs[w.run]
	if w.soft {
		w.text = append(w.text, '-')
	}
	bounds := w.box
	if bounds.isEmpty() { // glyphs without outlines: place the word by its run
		bounds = b.displayBox(b.text.Runs[w.run].Loose)
	}
	if w.lo < w.hi {
		bounds.setAcrossExtent(run.angle, w.lo, w.hi)
	}
	text := string(w.text)
	bounds, seen := bounds.clipTo(b.page)
	if !seen {
		if w.from < 0 {
			w.reset()
			return
		}
		// A line without blanks is one word, and may have its middle off the page though most of what it says can be
		// read.
		text = text[w.from:w.to]
		bounds, _ = w.visible.clipTo(b.page)
	}
	if b.printed.isPrinted(text, bounds, run.size) {
		w.reset()
		return
	}
	b.countWord(text)
	out := &inkstreamv1.Word{Text: text, Bbox: boxFloats(bounds)}
	if !run.invisible { // a text layer's font and size, made to fill the word's place, tell nothing of the print
		out.Font, out.Size = b.fontIndex(run.font), float32(run.size)
	}
	b.line.words = append(b.line.words, out)
	b.line.box.extendBy(bounds)
	w.reset()
}

func (b *builder) finishLine() {
	b.finishWord()
	b.hyphen = false
	if len(b.line.words) > 0 {
		b.lines = append(b.lines, b.line)
		b.line = line{}
	}
}

// fontIndex returns the index plus 1 of a font in the page's list, which holds only fonts in use.
func (b *builder) fontIndex(i int) int32 {
	if i < 0 || i >= len(b.fonts) {
		return 0
	}
	if b.fonts[i] == 0 {
		f := b.text.Fonts[i]
		b.out.Fonts = append(b.out.Fonts, &inkstreamv1.Font{
			Name: baseFontName(f.Name), Weight: int32(min(max(f.Weight, 0), 900)), Italic: f.Italic, FixedPitch: f.Fixed,
			Color: hexColor(f.Color),
		})
		b.fonts[i] = int32(len(b.out.Fonts))
	}
	return b.fonts[i]
}

// maxFontName bounds the name of a font in bytes, as the format itself does. Engines do not, and a page has up to
// 1,000 fonts.
const maxFontName = 127

// baseFontName is a font's name without the tag of a subset.
func baseFontName(name string) string {
	return syntax.WithoutSubsetTag(strings.ToValidUTF8(name[:min(len(name), maxFontName)], ""))
}

func hexColor(rgb uint32) string {
	const digits = "0123456789abcdef"
	out := []byte("#000000")
	for i := 6; i > 0; i-- {
		out[i] = digits[rgb&15]
		rgb >>= 4
	}
	return string(out)
}

func boxFloats(b box) []float32 {
	if b.isEmpty() {
		return []float32{0, 0, 0, 0}
	}
	return []float32{float32(b.x0), float32(b.y0), float32(b.x1), float32(b.y1)}
}
