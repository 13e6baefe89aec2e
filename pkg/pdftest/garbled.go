package pdftest

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Garbling is a way for text to look right and read wrong.
type Garbling string

// The ways of garbling.
const (
	// PrivateUse maps every character to one from Unicode's private use area.
	PrivateUse Garbling = "private-use"
	// Control maps every character to a control character.
	Control Garbling = "control"
	// Unmapped draws characters by a font that says neither what its codes nor what its glyphs mean, and whose codes
	// follow no order.
	Unmapped Garbling = "unmapped"
)

// GarbledText returns a file of two pages that a person reads with ease, and whose characters make no sense to a
// program.
func GarbledText(g Garbling) File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	measure := textMeasure(helveticaWidth)
	encode := func(s string) string { return s }
	switch g {
	case PrivateUse:
		d.fonts = d.addMappedFonts(func(code int) int { return 0xE000 + code })
	case Control:
		d.fonts = d.addMappedFonts(func(code int) int { return 1 + code%8 })
	case Unmapped:
		measure = newTextRenderer(72 * 8).textWidth
		encode = scrambleText
		d.fonts = fmt.Sprintf("/F1 %v /F2 %v", d.addDrawnFont(regular), d.addDrawnFont(bold))
	}
	f := File{Name: "garbled-" + string(g) + ".pdf"}
	words := newProseGenerator(61)
	for n := 1; n <= 2; n++ {
		s := composePage(Report, n, 2, 11, a4Width, a4Height, measure, words)
		for i := range s.runs {
			s.runs[i].text = encode(s.runs[i].text)
		}
		d.addPage(fmt.Sprintf("%s /Contents %v", a4Boxes, w.addStream("", s.drawOperators(0, 0, 0))))
		page := describeNativePage(s, n)
		page.Kind = GarbledPage
		f.Pages = append(f.Pages, page)
	}
	f.PDF = d.finishDocument("", "")
	return f
}

// addMappedFonts returns the two fonts with a ToUnicode map of their own.
func (d *pdfDocument) addMappedFonts(to func(code int) int) string {
	var b bytes.Buffer
	b.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /Odd def\n/CMapType 2 def\n" +
		"1 begincodespacerange\n<00> <FF>\nendcodespacerange\n")
	b.WriteString("95 beginbfchar\n")
	for code := int(' '); code <= '~'; code++ {
		fmt.Fprintf(&b, "<%02X> <%04X>\n", code, to(code))
	}
	b.WriteString("endbfchar\nendcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n")
	cmap := d.w.addStream("", b.Bytes())
	font := func(name string) objectRef {
		return d.w.addObject("<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding /ToUnicode %v >>",
			name, cmap)
	}
	return fmt.Sprintf("/F1 %v /F2 %v", font("Helvetica"), font("Helvetica-Bold"))
}

// scrambleText replaces characters with the codes of the drawn fonts.
func scrambleText(s string) string {
	out := make([]byte, len(s))
	for i := range len(s) {
		out[i] = scrambleByte(s[i])
	}
	return string(out)
}

// scrambleByte returns the code for an ASCII character: 37 and 95 share no factor, so each has its own, and
// the codes are no simple shift of the characters.
func scrambleByte(c byte) byte { return byte(0x80 + int(c-' ')*37%95) }

// addDrawnFont adds a Type 3 font: each glyph is a little drawing, and its name says nothing.
func (d *pdfDocument) addDrawnFont(f face) objectRef {
	outline := outlineFonts()[f]
	var buf sfnt.Buffer
	const em = 1000
	var procs, differences strings.Builder
	widths := make([]int, 95)
	byCode := map[byte]byte{}
	for c := byte(' '); c <= '~'; c++ {
		byCode[scrambleByte(c)] = c
	}
	for i := range 95 {
		c := byCode[byte(0x80+i)]
		index, err := outline.GlyphIndex(&buf, rune(c))
		if err != nil {
			panic(err) // the font is part of the program
		}
		advance, err := outline.GlyphAdvance(&buf, index, fixed.I(em), font.HintingNone)
		if err != nil {
			panic(err)
		}
		segments, err := outline.LoadGlyph(&buf, index, fixed.I(em), nil)
		if err != nil {
			panic(err)
		}
		widths[i] = advance.Round()
		glyph := d.w.addStream("", fmt.Appendf(nil, "%d 0 -200 -300 1300 1100 d1\n%s", widths[i], glyphOutline(segments)))
		fmt.Fprintf(&procs, "/a%d %v ", i, glyph)
		fmt.Fprintf(&differences, "/a%d ", i)
	}
	return d.w.addObject("<< /Type /Font /Subtype /Type3 /FontBBox [-200 -300 1300 1100] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 128 /LastChar 222"+
		" /Widths %v /Encoding << /Type /Encoding /Differences [128 %s] >> /CharProcs << %s >> /Resources << >> >>",
		widths, differences.String(), procs.String())
}

// glyphOutline returns the outline of a glyph as PDF operators.
func glyphOutline(segments sfnt.Segments) string {
	var b strings.Builder
	var at [2]float64
	point := func(p fixed.Point26_6) [2]float64 { return [2]float64{float64(p.X) / 64, -float64(p.Y) / 64} }
	for _, s := range segments {
		end := point(s.Args[0])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			fmt.Fprintf(&b, "%.1f %.1f m\n", end[0], end[1])
		case sfnt.SegmentOpLineTo:
			fmt.Fprintf(&b, "%.1f %.1f l\n", end[0], end[1])
		case sfnt.SegmentOpQuadTo: // PDF has cubic curves only
			q := end
			end = point(s.Args[1])
			fmt.Fprintf(&b, "%.1f %.1f %.1f %.1f %.1f %.1f c\n", at[0]+(q[0]-at[0])*2/3, at[1]+(q[1]-at[1])*2/3,
				end[0]+(q[0]-end[0])*2/3, end[1]+(q[1]-end[1])*2/3, end[0], end[1])
		case sfnt.SegmentOpCubeTo:
			p, q := end, point(s.Args[1])
			end = point(s.Args[2])
			fmt.Fprintf(&b, "%.1f %.1f %.1f %.1f %.1f %.1f c\n", p[0], p[1], q[0], q[1], end[0], end[1])
		}
		at = end
	}
	b.WriteString("f\n")
	return b.String()
}
