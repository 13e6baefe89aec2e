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

// Recognised reports whether the word was recognised: native text has no confidence.
func Recognised(w *inkstreamv1.Word) bool { return w.Confidence != nil }

// AddText adds the recognised words of p to the page. It reports whether there were any.
func AddText(page *structure.PageUpdate, font *Font, p *inkstreamv1.Page) (bool, error) {
	b := builder{font: font, geometry: page.Geometry}
	b.width, b.height = page.Size()
	// The page may have been measured in other units than the PDF's own.
	if w, h := float64(p.GetWidth()), float64(p.GetHeight()); w > 0 && h > 0 && finite(w) && finite(h) {
		b.scaleX, b.scaleY = b.width/w, b.height/h
	} else {
		b.scaleX, b.scaleY = 1, 1
	}
	for _, block := range p.GetBlocks() {
		for _, line := range block.GetLines() {
			for _, w := range line.GetWords() {
				if w != nil && Recognised(w) {
					b.word(w, line)
				}
			}
		}
	}
	if len(b.out) == 0 {
		return false, nil
	}
	name, err := page.AddFont(fontName, font.number)
	if err != nil {
		return false, err
	}
	const invisible = " 1 Tf 3 Tr\n"
	content := append([]byte("q BT/"+name+invisible), b.out...)
	content = append(content, "ET Q\n"...)
	return true, page.AddContent(content)
}

type builder struct {
	font           *Font
	geometry       structure.Geometry
	width, height  float64
	scaleX, scaleY float64
	out            []byte
	codes          []byte
}

func finite(v float64) bool { return math.Abs(v) < 1e6 }

// maxRunes bounds a word; what is longer is no word.
const maxRunes = 1000

// word writes a word into its box: text as long as the box and as high, with a blank behind it that sets it apart from the next.
func (b *builder) word(w *inkstreamv1.Word, line *inkstreamv1.Line) {
	box, ok := b.box(w.GetBbox())
	if !ok {
		if box, ok = b.box(line.GetBbox()); !ok {
			return
		}
	}
	runes := visual([]rune(w.GetText()))
	if len(runes) == 0 {
		return
	}
	runes = runes[:min(len(runes), maxRunes)]
	x0, y0, x1, y1 := box[0], box[1], box[2], box[3]
	// The corner where the word's base line begins, and the ends of its base line and of its left edge, as displayed.
	var corner, along, up [2]float64
	switch line.GetAngle() {
	case 90:
		corner, along, up = [2]float64{x0, y0}, [2]float64{x0, y1}, [2]float64{x1, y0}
	case 180:
		corner, along, up = [2]float64{x1, y0}, [2]float64{x0, y0}, [2]float64{x1, y1}
	case 270:
		corner, along, up = [2]float64{x1, y1}, [2]float64{x1, y0}, [2]float64{x0, y1}
	default:
		corner, along, up = [2]float64{x0, y1}, [2]float64{x1, y1}, [2]float64{x0, y0}
	}
	ox, oy := b.geometry.User(corner[0], corner[1])
	ax, ay := b.geometry.User(along[0], along[1])
	ux, uy := b.geometry.User(up[0], up[1])
	n := float64(len(runes))
	for _, v := range [6]struct {
		value  float64
		digits int
	}{{(ax - ox) / n, 3}, {(ay - oy) / n, 3}, {ux - ox, 2}, {uy - oy, 2}, {ox, 2}, {oy, 2}} {
		b.out = appendNumber(b.out, v.value, v.digits)
		b.out = append(b.out, ' ')
	}
	b.codes = b.codes[:0]
	for _, r := range append(runes, ' ') {
		c := b.font.code(r)
		b.codes = append(b.codes, byte(c>>8), byte(c))
	}
	b.out = append(b.out, "Tm<"...)
	b.out = hex.AppendEncode(b.out, b.codes)
	b.out = append(b.out, ">Tj\n"...)
}

// box returns a box in the page's units, cut to the page and never without an extent.
func (b *builder) box(v []float32) (box [4]float64, ok bool) {
	if len(v) != 4 {
		return box, false
	}
	for i, scale := range [4]float64{b.scaleX, b.scaleY, b.scaleX, b.scaleY} {
		if box[i] = float64(v[i]) * scale; !finite(box[i]) {
			return box, false
		}
	}
	const least = 0.5
	limit := [2]float64{b.width, b.height}
	for i := range 2 {
		lo := math.Max(0, math.Min(math.Min(box[i], box[i+2]), limit[i]-least))
		hi := math.Min(limit[i], math.Max(box[i], box[i+2]))
		box[i], box[i+2] = lo, math.Max(hi, lo+least)
	}
	return box, true
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

// visual returns the characters of a word in the order in which they stand from left to right, as PDFs hold them: readers turn scripts that
// run from right to left around again.
func visual(r []rune) []rune {
	r = slices.DeleteFunc(r, func(c rune) bool { return unicode.IsControl(c) || unicode.IsSpace(c) })
	if !slices.ContainsFunc(r, rightToLeft) {
		return r
	}
	slices.Reverse(r)
	// Numbers and words of other scripts within it keep their own direction.
	for i := 0; i < len(r); {
		j := i
		for j < len(r) && leftToRight(r[j]) {
			j++
		}
		slices.Reverse(r[i:j])
		i = max(j, i+1)
	}
	return r
}

func rightToLeft(c rune) bool {
	return (c >= 0x590 && c < 0x900 && !unicode.IsDigit(c)) || (c >= 0xFB1D && c < 0xFE00) || (c >= 0xFE70 && c < 0xFF00) ||
		(c >= 0x10800 && c < 0x11000) || (c >= 0x1E800 && c < 0x1F000)
}

func leftToRight(c rune) bool {
	return (unicode.IsLetter(c) || unicode.IsDigit(c)) && !rightToLeft(c)
}
