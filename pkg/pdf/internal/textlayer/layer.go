package textlayer

import (
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"unicode"

	"inkstream.dev/pkg/pdf/internal/structure"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// fontName is what the pages' content calls the font.
const fontName = "InkText"

// IsRecognised reports whether the word was recognised: native text has no confidence.
func IsRecognised(w *inkstreamv1.Word) bool { return w.Confidence != nil }

// OwnText is text that a page has of its own: its place and the size of its font, 0 if that is not known, in points
// as displayed.
type OwnText struct {
	Box  []float32
	Size float64
}

// AddText adds the recognised words of p to the page, which has text of its own. It reports whether there were any
// words.
func AddText(page *structure.PageUpdate, font *Font, p *inkstreamv1.Page, own []OwnText) (bool, error) {
	t := textLayer{pageCanvas: newPageCanvas(page, p), font: font}
	var lines []*textLine
	for _, block := range p.GetBlocks() {
		for _, l := range block.GetLines() {
			if l := t.placeLine(l); len(l.words) > 0 {
				lines = append(lines, l)
			}
		}
	}
	if len(lines) == 0 {
		return false, nil
	}
	var err error
	if t.names, err = page.AddFonts(fontName, font.numbers[:]...); err != nil {
		return false, err
	}
	t.avoidOverlaps(lines, own)
	t.keepTallWords(lines, own)
	t.out = append(t.out, "q BT 3 Tr\n"...)
	backward := mostlyRightToLeft(lines)
	for _, l := range lines {
		if l.face == smallFace {
			closeGaps(l.words, t.maxShift(), smallFace)
		}
		t.writeLine(l, backward)
	}
	t.out = append(t.out, "ET Q\n"...)
	return true, page.AddContent(t.out)
}

// pageCanvas is a page to write on. It may have been measured in other units than the PDF's own.
type pageCanvas struct {
	geometry       structure.Geometry
	width, height  float64
	scaleX, scaleY float64
	out            []byte
}

func newPageCanvas(page *structure.PageUpdate, p *inkstreamv1.Page) pageCanvas {
	c := pageCanvas{geometry: page.Geometry, scaleX: 1, scaleY: 1}
	c.width, c.height = page.DisplaySize()
	if w, h := float64(p.GetWidth()), float64(p.GetHeight()); w > 0 && h > 0 && isFinite(w) && isFinite(h) {
		c.scaleX, c.scaleY = c.width/w, c.height/h
	}
	return c
}

func isFinite(v float64) bool { return math.Abs(v) < 1e6 }

// minExtent is the least extent of a box.
const minExtent = 0.5

// toPageBox returns a box in the page's units, cut to the page and never without an extent.
func (c *pageCanvas) toPageBox(v []float32) (box [4]float64, ok bool) {
	if len(v) != 4 {
		return box, false
	}
	for i, scale := range [4]float64{c.scaleX, c.scaleY, c.scaleX, c.scaleY} {
		if box[i] = float64(v[i]) * scale; !isFinite(box[i]) {
			return box, false
		}
	}
	limit := [2]float64{c.width, c.height}
	for i := range 2 {
		lo := math.Max(0, math.Min(math.Min(box[i], box[i+2]), limit[i]-minExtent))
		hi := math.Min(limit[i], math.Max(box[i], box[i+2]))
		box[i], box[i+2] = lo, math.Max(hi, lo+minExtent)
	}
	return box, true
}

// textLayer is the text of a page as it is being written.
type textLayer struct {
	pageCanvas
	font        *Font
	names       []string // of the faces, in the page's content
	currentFace face     // that is written in
	codes       []byte
}

// textLine is a line of recognised words.
type textLine struct {
	words []*placedWord
	face  face
}

// placeLine places the recognised words of a line.
func (t *textLayer) placeLine(in *inkstreamv1.Line) *textLine {
	out := &textLine{face: regularFace}
	for _, w := range in.GetWords() {
		if w == nil || !IsRecognised(w) {
			continue
		}
		box, ok := t.toPageBox(w.GetBbox())
		if !ok {
			if box, ok = t.toPageBox(in.GetBbox()); !ok {
				continue
			}
		}
		if p := placeWord([]rune(w.GetText()), box, in.GetAngle()); p != nil {
			out.words = append(out.words, p)
		}
	}
	if !adjustWords(out.words, t.maxShift()) {
		out.face = smallFace
	}
	return out
}

// unitsPerPoint is what a point measures in the page's units.
func (c *pageCanvas) unitsPerPoint() float64 { return math.Min(c.scaleX, c.scaleY) }

// maxShift is slack in the page's units.
func (t *textLayer) maxShift() float64 { return maxShiftPoints * t.unitsPerPoint() }

// writeLine writes the words of a line. backward says that most of the page runs from right to left.
func (t *textLayer) writeLine(l *textLine, backward bool) {
	if !backward && !slices.ContainsFunc(l.words,
		func(w *placedWord) bool { return slices.ContainsFunc(w.runes, isRightToLeft) }) {
		for _, w := range l.words {
			t.writeWord(w, l.face, w.runes, false)
		}
		return
	}
	leftwards := true
	for i, w := range l.words {
		first, last := i == 0 || leftwards, true
		if i+1 < len(l.words) { // the last word goes on as the one before
			leftwards = l.words[i+1].from < w.from
			last = leftwards
		}
		t.writeWord(w, l.face, addDirectionMarks(w.runes, first, last), leftwards)
	}
}

// blankWidth is how wide a blank is, in parts of a character: about what it is in fonts, so that it mostly fills the
// gap between two words.
const blankWidth = 0.5

// selectFace turns to a face.
func (t *textLayer) selectFace(f face) {
	if f != t.currentFace {
		t.currentFace = f
		t.out = append(t.out, "/"+t.names[slices.Index(faces[:], f)]+" 1 Tf\n"...)
	}
}

// writeWord writes a word into its box: text as long as the box and as high, and a blank on the side of the next
// word, which sets the two apart.
func (t *textLayer) writeWord(w *placedWord, f face, runes []rune, leftwards bool) {
	if w.usesRegularFace {
		f = regularFace
	}
	t.selectFace(f)
	n, from := float64(len(runes)), w.from
	if leftwards {
		from -= blankWidth * w.charPitch()
		runes = slices.Insert(slices.Clone(runes), 0, ' ')
	} else {
		runes = append(runes, ' ')
	}
	size := w.fontSize(f)
	base := w.base + size*float64(f.descent)/unitsPerEm
	ox, oy := t.geometry.DisplayToUser(w.displayPoint(from, base))
	ax, ay := t.geometry.DisplayToUser(w.displayPoint(from+w.to-w.from, base))
	ux, uy := t.geometry.DisplayToUser(w.displayPoint(from, base+size))
	for _, v := range [6]struct {
		value  float64
		digits int
	}{{(ax - ox) / n, 3}, {(ay - oy) / n, 3}, {ux - ox, 2}, {uy - oy, 2}, {ox, 2}, {oy, 2}} {
		t.out = appendNumber(t.out, v.value, v.digits)
		t.out = append(t.out, ' ')
	}
	t.codes = t.codes[:0]
	for _, r := range runes {
		c := t.font.charCode(r)
		t.codes = append(t.codes, byte(c>>8), byte(c))
	}
	t.out = append(t.out, "Tm<"...)
	t.out = hex.AppendEncode(t.out, t.codes)
	t.out = append(t.out, ">Tj\n"...)
}

// mostlyRightToLeft reports whether more letters run from right to left than from left to right.
func mostlyRightToLeft(lines []*textLine) bool {
	n := 0
	for _, l := range lines {
		for _, w := range l.words {
			for _, r := range w.runes {
				if isRightToLeft(r) {
					n++
				} else if unicode.IsLetter(r) {
					n--
				}
			}
		}
	}
	return n > 0
}

func appendNumber(b []byte, v float64, digits int) []byte {
	from := len(b)
	b = strconv.AppendFloat(b, v, 'f', digits, 64)
	for digits > 0 && b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	if b[len(b)-1] == '.' {
		b = b[:len(b)-1]
	}
	if string(b[from:]) == "-0" {
		b = append(b[:from], '0')
	}
	return b
}
