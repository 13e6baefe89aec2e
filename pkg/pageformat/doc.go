// Package pageformat writes pages in the formats that other programs for recognised text read: hOCR 1.2 and ALTO 4, a
// file for each page. Both count in pixels of the page's image at a resolution that the file states, so that they lie
// over the raster of the page as displayed. What a page holds is taken as it comes: boxes that are none, and
// characters that XML does not allow, are left out or cut to the page.
package pageformat

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Meta is what the files say beside the page.
type Meta struct {
	// Title is that of the document, or its file name.
	Title string
	// Software and Version made the file.
	Software, Version string
	// Image is the name of the page's image, if there is one.
	Image string
	// DPI is the resolution that boxes are given at; 0 takes the page's own, or 300.
	DPI float32
	// PageCount is the number of pages of the document.
	PageCount int
}

const defaultDPI = 300

// resolution returns the resolution to count in.
func (m Meta) resolution(p *inkstreamv1.Page) float64 {
	for _, v := range []float32{m.DPI, p.GetDpi()} {
		if v >= 1 && v <= 10_000 {
			return float64(v)
		}
	}
	return defaultDPI
}

// boxScaler turns boxes in points into pixels within the page.
type boxScaler struct {
	scale         float64
	width, height int
}

func newBoxScaler(p *inkstreamv1.Page, m Meta) boxScaler {
	s := boxScaler{scale: m.resolution(p) / 72}
	s.width, s.height = s.pixelLength(p.GetWidth()), s.pixelLength(p.GetHeight())
	return s
}

func (s boxScaler) pixelLength(v float32) int {
	const most = 1 << 24
	f := float64(v) * s.scale
	if !(f >= 1) { // NaN as well
		return 1
	}
	return int(math.Min(f+0.5, most)) // as rasters are made
}

// rect is a box in pixels.
type rect struct{ x0, y0, x1, y1 int }

func (r rect) width() int  { return r.x1 - r.x0 }
func (r rect) height() int { return r.y1 - r.y0 }

func (r rect) unionWith(o rect) rect {
	return rect{min(r.x0, o.x0), min(r.y0, o.y0), max(r.x1, o.x1), max(r.y1, o.y1)}
}

// scaleBox returns a box in pixels, cut to the page; false if it is none.
func (s boxScaler) scaleBox(b []float32) (rect, bool) {
	if len(b) != 4 {
		return rect{}, false
	}
	var v [4]float64
	for i := range v {
		if v[i] = float64(b[i]) * s.scale; math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
			return rect{}, false
		}
	}
	clamp := func(v float64, most int) int { return int(math.Max(0, math.Min(v, float64(most)))) }
	return rect{
		clamp(math.Floor(math.Min(v[0], v[2])+0.01), s.width), clamp(math.Floor(math.Min(v[1], v[3])+0.01), s.height),
		clamp(math.Ceil(math.Max(v[0], v[2])-0.01), s.width), clamp(math.Ceil(math.Max(v[1], v[3])-0.01), s.height),
	}, true
}

// scaleBoxOr is box, or the given one where there is none.
func (s boxScaler) scaleBoxOr(b []float32, other rect) rect {
	if r, ok := s.scaleBox(b); ok {
		return r
	}
	return other
}

// pageRect is the whole page.
func (s boxScaler) pageRect() rect { return rect{0, 0, s.width, s.height} }

// writtenWord is a word that can be written.
type writtenWord struct {
	*inkstreamv1.Word
	box rect
}

// scaleWords returns the words of a line that have text.
func (s boxScaler) scaleWords(l *inkstreamv1.Line, around rect) []writtenWord {
	var out []writtenWord
	for _, w := range l.GetWords() {
		if strings.TrimSpace(w.GetText()) != "" {
			out = append(out, writtenWord{w, s.scaleBoxOr(w.GetBbox(), around)})
		}
	}
	return out
}

// wordConfidence is that of a word from 0 to 1; native text is certain.
func wordConfidence(w *inkstreamv1.Word) float64 {
	if w.Confidence == nil {
		return 1
	}
	c := float64(w.GetConfidence())
	if !(c >= 0) {
		return 0
	}
	return math.Min(c, 1)
}

// xmlWriter writes XML, and keeps the first error.
type xmlWriter struct {
	w   *bufio.Writer
	err error
}

func newXMLWriter(w io.Writer) *xmlWriter { return &xmlWriter{w: bufio.NewWriterSize(w, 32<<10)} }

func (w *xmlWriter) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format, args...)
	}
}

func (w *xmlWriter) closeDocument(what string) error {
	if w.err == nil {
		w.err = w.w.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("write %s: %w", what, w.err)
	}
	return nil
}

// escapeXML escapes text for an element or an attribute in double quotes. What XML does not allow becomes U+FFFD.
func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // to memory
	return b.String()
}

// languageForm is that of a language in XML Schema and XHTML.
var languageForm = regexp.MustCompile(`^[a-zA-Z]{2,8}(-[a-zA-Z0-9]{1,8})*$`)

// languageTag returns a language as xml:lang wants it, or nothing.
func languageTag(s string) string {
	if len(s) > 35 || !languageForm.MatchString(s) {
		return ""
	}
	return s
}
