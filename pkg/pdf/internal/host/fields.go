package host

import (
	"math"
	"strings"
	"unicode"

	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/structure"
)

// addFieldText adds what form fields hold that nothing draws, as text at their places. PDFium can draw fields too,
// but not those that the document does not ask it to, and none in letters that their font does not have.
func (s *pageReader) addFieldText(text *pdfium.Text, fields []structure.Field) {
	var shown []string // what stands in the place of each field
	for i := range fields {
		shown = append(shown, textWithin(text.Chars, fieldRect(&fields[i])))
	}
	font := -1
	for i := range fields {
		f := &fields[i]
		if f.Drawn && shown[i] != "" || strings.Contains(shown[i], removeBlanks(f.Text)) {
			continue
		}
		if len(text.Chars)+len(f.Text) > maxChars {
			text.Cut = true
			return
		}
		if font < 0 {
			font = len(text.Fonts)
			text.Fonts = append(text.Fonts, pdfium.Font{Name: "Helvetica", Weight: 400})
		}
		w := fieldWriter{text: text, field: f, font: font, unit: s.page.Unit}
		w.writeText()
	}
}

func fieldRect(f *structure.Field) pdfium.Rect {
	return pdfium.Rect{Left: f.Left, Bottom: f.Bottom, Right: f.Right, Top: f.Top}
}

// textWithin returns the characters that stand in a rectangle, without blanks.
func textWithin(chars []pdfium.Char, r pdfium.Rect) string {
	var out strings.Builder
	for i := range chars {
		c := &chars[i]
		x, y := (c.Box.Left+c.Box.Right)/2, (c.Box.Bottom+c.Box.Top)/2
		if !c.Generated && x > r.Left && x < r.Right && y > r.Bottom && y < r.Top && !unicode.IsSpace(c.Rune) {
			out.WriteRune(c.Rune)
		}
	}
	return out.String()
}

func removeBlanks(text string) string { return strings.Join(strings.Fields(text), "") }

// fieldWriter sets the text of a field.
type fieldWriter struct {
	text  *pdfium.Text
	field *structure.Field
	font  int
	unit  float64

	width, height, size float64
}

// Sizes in a field, those of letters as shares of the font size.
const (
	fieldMargin     = 2.0
	defaultFontSize = 12.0 // of fields that leave it to their viewer
	minFontSize     = 4.0
	lineHeight      = 1.15
	ascent          = 0.93
	descent         = 0.22
	capitalHeight   = 0.72
)

func (w *fieldWriter) writeText() {
	f := w.field
	w.width, w.height = f.Right-f.Left, f.Top-f.Bottom
	if f.Turns%2 == 1 {
		w.width, w.height = w.height, w.width
	}
	w.size = f.Size
	if w.size == 0 {
		w.size = defaultFontSize
	}
	w.size = min(w.size, w.height/lineHeight)
	var lines []string
	if !f.Lines {
		lines = []string{strings.Join(strings.Fields(f.Text), " ")}
	} else {
		if f.Size > 0 { // of a field of one line the height was not a hint
			w.size = f.Size
		}
		for lines = w.breakLines(); float64(len(lines))*lineHeight*w.size > w.height &&
			w.size > minFontSize; lines = w.breakLines() {
			w.size *= 0.9
		}
	}
	step := lineHeight * w.size
	top := w.height - min(fieldMargin, w.height/8)
	if len(lines) == 1 && !f.Lines {
		top = (w.height + step) / 2
	} else if room := top / float64(len(lines)); step > room {
		step = room
	}
	for i, line := range lines {
		w.writeLine(line, top-float64(i)*step-ascent*w.size)
	}
}

// breakLines breaks the text into lines that the field has room for.
func (w *fieldWriter) breakLines() (out []string) {
	room := w.width - 2*fieldMargin
	for text := range strings.SplitSeq(strings.TrimSpace(w.field.Text), "\n") {
		var line []string
		used := 0.0
		for _, word := range strings.Fields(text) {
			need := textAdvance(word) * w.size
			if len(line) > 0 && used+need > room {
				out = append(out, strings.Join(line, " "))
				line, used = nil, 0
			}
			line = append(line, word)
			used += need + textAdvance(" ")*w.size
		}
		out = append(out, strings.Join(line, " "))
	}
	return out
}

// writeLine sets a line whose letters stand at that height of the field. It keeps to the field.
func (w *fieldWriter) writeLine(text string, base float64) {
	f := w.field
	room := max(w.width-2*fieldMargin, w.width/2)
	scale, x, cell := w.size, fieldMargin, 0.0
	if need := textAdvance(text) * scale; f.Cells > 0 {
		cell, x = w.width/float64(max(f.Cells, len([]rune(text)))), 0
	} else if need > room {
		scale *= room / need
	} else if f.Align == 1 || f.Align == 2 {
		x += (room - need) * float64(f.Align) / 2
	}
	run := pdfium.Run{Font: w.font, Size: w.size * w.unit,
		Loose: w.toUserSpace(x, base-descent*w.size, x+scale, base+ascent*w.size)}
	run.DirX, run.DirY = rotateQuarters(1, 0, f.Turns)
	index := int32(len(w.text.Runs))
	w.text.Runs = append(w.text.Runs, run)
	w.text.Chars = append(w.text.Chars, pdfium.Char{Rune: '\n', Run: index, Generated: true})
	for _, r := range text {
		step := textAdvance(string(r)) * scale
		left := x
		if cell > 0 {
			left, step = x+max(0, cell-step)/2, min(step, cell)
			x += cell
		} else {
			x += step
		}
		w.text.Chars = append(w.text.Chars, pdfium.Char{Rune: r, Run: index,
			Box: w.toUserSpace(left, base, left+step, base+capitalHeight*w.size)})
	}
	w.text.Chars = append(w.text.Chars, pdfium.Char{Rune: '\n', Run: index, Generated: true})
}

// toUserSpace turns a rectangle of the field, from its lower left as it is written, into user space, and cuts it to
// the field.
func (w *fieldWriter) toUserSpace(x0, y0, x1, y1 float64) pdfium.Rect {
	f := w.field
	x0, x1 = max(0, x0), min(x1, w.width)
	y0, y1 = max(0, y0), min(y1, w.height)
	corner := [4][2]float64{{f.Left, f.Bottom}, {f.Right, f.Bottom}, {f.Right, f.Top}, {f.Left, f.Top}}[f.Turns&3]
	ax, ay := rotateQuarters(x0, y0, f.Turns)
	bx, by := rotateQuarters(x1, y1, f.Turns)
	return pdfium.Rect{
		Left: corner[0] + math.Min(ax, bx), Right: corner[0] + math.Max(ax, bx),
		Bottom: corner[1] + math.Min(ay, by), Top: corner[1] + math.Max(ay, by),
	}
}

// rotateQuarters turns a point by quarter turns counterclockwise.
func rotateQuarters(x, y float64, turns int) (float64, float64) {
	switch turns & 3 {
	case 1:
		return -y, x
	case 2:
		return -x, -y
	case 3:
		return y, -x
	default:
		return x, y
	}
}

// textAdvance is about how far a text of size 1 goes in Helvetica.
func textAdvance(text string) (sum float64) {
	for _, r := range text {
		switch {
		case strings.ContainsRune(" .,;:!'|iljtfIr()[]/\\-", r):
			sum += 0.29
		case strings.ContainsRune("mwMW@%", r):
			sum += 0.85
		case unicode.IsUpper(r):
			sum += 0.68
		case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			sum++
		default:
			sum += 0.54
		}
	}
	return sum
}
