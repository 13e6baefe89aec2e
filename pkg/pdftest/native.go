package pdftest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// BornDigitalOptions says what BornDigitalWith makes.
type BornDigitalOptions struct {
	Pages  int        // 1 if 0
	Seed   uint64     // files of different seeds have different text
	Design PageDesign // of every page; empty: reports with a page of another design now and then
	Size   float64
	Width  float64 // of the page, points; A4 if 0
	Height float64
	// Scatter draws the lines of each page in no order at all, word by word, as some programs do: only their places tell
	// how they read.
	Scatter bool
}

// BornDigital returns a file of that many pages of text, as a word processor writes it: headings, paragraphs, and now
// and then a page in two columns, with a table, or a letter. Three thousand pages take about a second.
func BornDigital(pages int) File { return BornDigitalWith(BornDigitalOptions{Pages: pages}) }

// BornDigitalWith is BornDigital with a say in it.
func BornDigitalWith(o BornDigitalOptions) File {
	o.Pages = max(o.Pages, 1)
	name := fmt.Sprintf("born-digital-%d.pdf", o.Pages)
	if o.Design != "" {
		name = fmt.Sprintf("born-digital-%s-%d.pdf", o.Design, o.Pages)
	}
	if o.Scatter {
		name = "scattered-" + name
	}
	return buildNativeFile(nativeFileOptions{
		name: name, pages: o.Pages, seed: o.Seed + 1, design: o.Design, size: o.Size, width: o.Width, height: o.Height,
		scatter: o.Scatter,
	})
}

// RotatedPages returns a file of four pages of text whose /Rotate is 0, 90, 180 and 270. The text is set so that it
// reads upright once the rotation is applied.
func RotatedPages() File {
	return buildNativeFile(nativeFileOptions{name: "rotated.pdf", pages: 4, seed: 21, design: Report,
		rotate: []int{0, 90, 180, 270}})
}

// SidewaysText returns a file of four pages without /Rotate whose text runs upwards, downwards and upside down, as on
// plans and wide tables that were never turned.
func SidewaysText() File {
	return buildNativeFile(nativeFileOptions{name: "sideways-text.pdf", pages: 4, seed: 22, design: Report,
		turn: []int{0, 90, 180, 270}})
}

// CropOffsetPages returns a file whose pages show the middle of a larger sheet: the MediaBox begins far from the
// origin, and the CropBox leaves a margin of 72 points around the page.
func CropOffsetPages() File {
	return buildNativeFile(nativeFileOptions{
		name: "crop-offset.pdf", pages: 2, seed: 23, design: Report, originX: 1172, originY: -528,
		boxes: "/MediaBox [1100 -600 1839 386] /CropBox [1172 -528 1767 314]",
	})
}

// UserUnits returns a file of one page whose unit is 1/36 inch: it measures 595 by 842 units, which is 1190 by 1684
// points.
func UserUnits() File {
	f := buildNativeFile(nativeFileOptions{name: "user-unit.pdf", pages: 1, seed: 24, design: Report,
		boxes: a4Boxes + " /UserUnit 2"})
	f.Pages[0].Width *= 2
	f.Pages[0].Height *= 2
	return f
}

// BlankPages returns a file of pages that show nothing.
func BlankPages(pages int) File {
	return buildNativeFile(nativeFileOptions{name: fmt.Sprintf("blank-%d.pdf", pages), pages: pages, seed: 25,
		design: blankPage})
}

// ManyPages returns a file of n pages that all show the same content. It is small (about 100 bytes a page), and quick
// to make: a document for limits on pages and for memory.
func ManyPages(n int) File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	s := composePage(Report, 1, 1, 11, a4Width, a4Height, helveticaWidth, newProseGenerator(31))
	content := w.addStream("", s.drawOperators(0, 0, 0))
	page := describeNativePage(s, 1)
	f := File{Name: fmt.Sprintf("many-pages-%d.pdf", n), Pages: slices.Repeat([]Page{page}, n)}
	for range n {
		d.addPage(fmt.Sprintf("%s /Contents %v", a4Boxes, content))
	}
	f.PDF = d.finishDocument("", "")
	return f
}

const a4Boxes = "/MediaBox [0 0 595 842]"

// nativeFileOptions is all that varies in a file of text pages.
type nativeFileOptions struct {
	name             string
	pages            int
	seed             uint64
	design           PageDesign
	size             float64
	width, height    float64
	rotate           []int  // by page, repeated; /Rotate with text that it sets upright
	turn             []int  // by page, repeated; text turned clockwise on an unrotated page
	boxes            string // instead of the MediaBox that the sheet calls for
	originX, originY float64
	encryption       *encryption
	scatter          bool
}

// buildNativeFile makes a file whose pages are all text.
func buildNativeFile(o nativeFileOptions) File {
	if o.size == 0 {
		o.size = 11
	}
	if o.width == 0 || o.height == 0 {
		o.width, o.height = a4Width, a4Height
	}
	if o.design == "" {
		o.design = alternate
	}
	w := newPDFWriter()
	w.encryption = o.encryption
	d := newPDFDocument(w)
	words := newProseGenerator(o.seed)
	f := File{Name: o.name, Pages: make([]Page, o.pages)}
	for i := range f.Pages {
		rotate, turn := cycleAt(o.rotate, i), cycleAt(o.turn, i)
		s := composePage(o.design, i+1, o.pages, o.size, o.width, o.height, helveticaWidth, words)
		if o.scatter {
			s.scatterRuns(words.rng)
		}
		page := describeNativePage(s, i+1)
		page.Rotate, page.UprightTurn = rotate, (360-turn)%360
		pw, ph := s.w, s.h
		if (rotate+turn)%180 != 0 {
			pw, ph = ph, pw
		}
		boxes := o.boxes
		if boxes == "" {
			boxes = fmt.Sprintf("/MediaBox [0 0 %s %s]", formatNumber(pw), formatNumber(ph))
		}
		if rotate != 0 {
			boxes += fmt.Sprintf(" /Rotate %d", rotate)
		}
		if turn%180 != 0 {
			page.Width, page.Height = s.h, s.w
		}
		content := w.addStream("", s.drawOperators(360-rotate+turn, o.originX, o.originY))
		d.addPage(fmt.Sprintf("%s /Contents %v", boxes, content))
		f.Pages[i] = page
	}
	f.PDF = d.finishDocument("", "")
	return f
}

// scatterRuns parts the runs into words and shuffles them.
func (s *typesetPage) scatterRuns(rng *rand.Rand) {
	var words []textRun
	for _, r := range s.runs {
		at := r.x
		for _, word := range strings.SplitAfter(r.text, " ") {
			words = append(words, textRun{x: at, y: r.y, size: r.size, face: r.face, text: strings.TrimSuffix(word, " ")})
			at += helveticaWidth(r.face, r.size, word)
		}
	}
	rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	s.runs = words
}

func cycleAt(list []int, i int) int {
	if len(list) == 0 {
		return 0
	}
	return list[i%len(list)]
}

// describeNativePage describes page n that shows s as characters.
func describeNativePage(s *typesetPage, n int) Page {
	p := Page{Kind: NativePage, Text: s.truth.String(), Width: s.w, Height: s.h}
	if p.Text == "" {
		p.Kind = BlankPage
	} else if m := MarkerWord(n); strings.Contains(p.Text, m) {
		p.Marker = m
	}
	return p
}

// drawOperators returns the sheet as PDF operators, turned clockwise by a multiple of 90 degrees and moved so that
// its corner is at the origin given.
func (s *typesetPage) drawOperators(turn int, originX, originY float64) []byte {
	var b bytes.Buffer
	b.Grow(64 * len(s.runs))
	m := turnMatrix(turn, s.w, s.h)
	m[4] += originX
	m[5] += originY
	if m != [6]float64{1, 0, 0, 1, 0, 0} {
		fmt.Fprintf(&b, "%s %s %s %s %s %s cm\n", formatNumber(m[0]), formatNumber(m[1]), formatNumber(m[2]),
			formatNumber(m[3]), formatNumber(m[4]), formatNumber(m[5]))
	}
	for _, r := range s.rules {
		fmt.Fprintf(&b, "%.2f %.2f %.2f %.2f re f\n", r.x, s.h-r.y-r.h, r.w, r.h)
	}
	var scratch []byte
	for _, r := range s.runs {
		scratch = append(scratch[:0], "BT /F"...)
		scratch = strconv.AppendInt(scratch, int64(r.face)+1, 10)
		scratch = append(scratch, ' ')
		scratch = strconv.AppendFloat(scratch, r.size, 'f', 2, 64)
		scratch = append(scratch, " Tf "...)
		scratch = strconv.AppendFloat(scratch, r.x, 'f', 2, 64)
		scratch = append(scratch, ' ')
		scratch = strconv.AppendFloat(scratch, s.h-r.y, 'f', 2, 64)
		scratch = append(scratch, " Td "...)
		scratch = append(scratch, formatLiteral(r.text)...)
		scratch = append(scratch, " Tj ET\n"...)
		b.Write(scratch)
	}
	return b.Bytes()
}

// turnMatrix returns the matrix that turns a page of the given size clockwise and puts its lower left corner back at
// the origin.
func turnMatrix(degrees int, w, h float64) [6]float64 {
	switch (degrees%360 + 360) % 360 {
	case 90:
		return [6]float64{0, -1, 1, 0, 0, w}
	case 180:
		return [6]float64{-1, 0, 0, -1, w, h}
	case 270:
		return [6]float64{0, 1, -1, 0, h, 0}
	default:
		return [6]float64{1, 0, 0, 1, 0, 0}
	}
}
