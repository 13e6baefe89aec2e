package textlayer

import (
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"inkstream.dev/pkg/pdf/internal/structure"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// fontName is what the pages' content calls the font.
const fontName = "InkText"

// Recognised reports whether the word was recognised: native text has no confidence.
func Recognised(w *inkstreamv1.Word) bool { return w.Confidence != nil }

// AddText adds the recognised words of p to the page. It reports whether there were any.
func AddText(page *structure.PageUpdate, font *Font, p *inkstreamv1.Page) (bool, error) {
	t := layer{canvas: newCanvas(page, p), font: font}
	for _, block := range p.GetBlocks() {
		for _, line := range block.GetLines() {
			t.line(line)
		}
	}
	if len(t.out) == 0 {
		return false, nil
	}
	name, err := page.AddFont(fontName, font.number)
	if err != nil {
		return false, err
	}
	const invisible = " 1 Tf 3 Tr\n"
	content := append([]byte("q BT/"+name+invisible), t.out...)
	content = append(content, "ET Q\n"...)
	return true, page.AddContent(content)
}

// canvas is a page to write on. It may have been measured in other units than the PDF's own.
type canvas struct {
	geometry       structure.Geometry
	width, height  float64
	scaleX, scaleY float64
	out            []byte
}

func newCanvas(page *structure.PageUpdate, p *inkstreamv1.Page) canvas {
	c := canvas{geometry: page.Geometry, scaleX: 1, scaleY: 1}
	c.width, c.height = page.Size()
	if w, h := float64(p.GetWidth()), float64(p.GetHeight()); w > 0 && h > 0 && finite(w) && finite(h) {
		c.scaleX, c.scaleY = c.width/w, c.height/h
	}
	return c
}

func finite(v float64) bool { return math.Abs(v) < 1e6 }

// least is the least extent of a box.
const least = 0.5

// box returns a box in the page's units, cut to the page and never without an extent.
func (c *canvas) box(v []float32) (box [4]float64, ok bool) {
	if len(v) != 4 {
		return box, false
	}
	for i, scale := range [4]float64{c.scaleX, c.scaleY, c.scaleX, c.scaleY} {
		if box[i] = float64(v[i]) * scale; !finite(box[i]) {
			return box, false
		}
	}
	limit := [2]float64{c.width, c.height}
	for i := range 2 {
		lo := math.Max(0, math.Min(math.Min(box[i], box[i+2]), limit[i]-least))
		hi := math.Min(limit[i], math.Max(box[i], box[i+2]))
		box[i], box[i+2] = lo, math.Max(hi, lo+least)
	}
	return box, true
}

// layer is the text of a page as it is being written.
type layer struct {
	canvas
	font  *Font
	codes []byte
}

// line writes the recognised words of a line.
func (t *layer) line(line *inkstreamv1.Line) {
	var words []*placed
	for _, w := range line.GetWords() {
		if w == nil || !Recognised(w) {
			continue
		}
		box, ok := t.box(w.GetBbox())
		if !ok {
			if box, ok = t.box(line.GetBbox()); !ok {
				continue
			}
		}
		if p := place([]rune(w.GetText()), box, line.GetAngle()); p != nil {
			words = append(words, p)
		}
	}
	adjust(words, slack*math.Min(t.scaleX, t.scaleY))
	mixed := slices.ContainsFunc(words, func(w *placed) bool { return slices.ContainsFunc(w.runes, rightToLeft) })
	leftwards := mixed
	for i, w := range words {
		if i+1 < len(words) { // the last word goes on as the one before
			leftwards = mixed && words[i+1].from < w.from
		}
		t.word(w, leftwards)
	}
}

// blank is how wide a blank is, in parts of a character: about what it is in fonts, so that it mostly fills the gap between two words.
const blank = 0.5

// word writes a word into its box: text as long as the box and as high, and a blank on the side of the next word, which sets the two apart.
func (t *layer) word(w *placed, leftwards bool) {
	n := float64(len(w.runes))
	from, runes := w.from, append(w.runes, ' ')
	if leftwards {
		from -= blank * w.pitch()
		runes = append([]rune{' '}, directed(w.runes)...)
	}
	ox, oy := t.geometry.User(w.point(from, w.base))
	ax, ay := t.geometry.User(w.point(from+w.to-w.from, w.base))
	ux, uy := t.geometry.User(w.point(from, w.base+w.size()))
	for _, v := range [6]struct {
		value  float64
		digits int
	}{{(ax - ox) / n, 3}, {(ay - oy) / n, 3}, {ux - ox, 2}, {uy - oy, 2}, {ox, 2}, {oy, 2}} {
		t.out = appendNumber(t.out, v.value, v.digits)
		t.out = append(t.out, ' ')
	}
	t.codes = t.codes[:0]
	for _, r := range runes {
		c := t.font.code(r)
		t.codes = append(t.codes, byte(c>>8), byte(c))
	}
	t.out = append(t.out, "Tm<"...)
	t.out = hex.AppendEncode(t.out, t.codes)
	t.out = append(t.out, ">Tj\n"...)
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
