package recognise

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"inkstream.dev/pkg/agree"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Bounds on what a recogniser may say about one page. A dense newspaper page has some 15,000 words.
const (
	maxWords    = 100_000
	maxWordSize = 1_000 // bytes
	maxRulings  = 2_000

	maxUnreadRegions = 100
	maxSkew          = 45 // degrees; beyond it another side would be up
)

// The notes that an engine may say: any other of an engine's is dropped.
const (
	// NoteNoise is the note on a page that was not read.
	NoteNoise = "noise or a screened picture all over; not read, because it would take minutes"
	// NoteNoModel is the note on a page that was read with the usual models for want of better ones.
	NoteNoModel = "in a language or script of which no model is installed; read with the usual ones"
)

// Sanitize rebuilds what a recogniser answered into a page that can be trusted, whatever the answer holds: engines
// read hostile pixels, and one that was taken over answers what it likes. Only what an engine has to say is taken
// over: words with text, box and confidence, in lines in blocks, and how the page was turned. Text is valid UTF-8
// without blanks and control characters, boxes are finite, ordered and inside the page, confidences lie between 0 and
// 1, words and rulings are bounded in number, words in length, and what remains empty is dropped. Sizes, boxes of
// lines and blocks, the text, the mean confidence, the quality and the language are computed again; only where the
// words do not tell the language it is the one that the engine read.
func Sanitize(answer *inkstreamv1.Page, size Size, dpi float32) *inkstreamv1.Page {
	page := &inkstreamv1.Page{
		Width: PixelsToPoints(size.Width, dpi), Height: PixelsToPoints(size.Height, dpi), Dpi: dpi,
		UprightRotation: normaliseAngle(answer.GetUprightRotation()),
	}
	page.Skew = sanitizeSkew(answer.GetSkew())
	page.Bend = sanitizeBend(answer.GetBend(), page.Height)
	left := maxWords
	for _, b := range answer.GetBlocks() {
		if block := sanitizeBlock(b, page, &left); block != nil {
			page.Blocks = append(page.Blocks, block)
		}
	}
	if left <= 0 {
		page.Notes = append(page.Notes, "too many words on the page; the rest is left out")
	}
	for _, note := range []string{NoteNoise, NoteNoModel} {
		if slices.Contains(answer.GetNotes(), note) {
			page.Notes = append(page.Notes, note)
		}
	}
	page.Rulings = sanitizeRulings(answer.GetRulings(), page)
	sanitizeUnreadInk(answer, page)
	page.Confidence = meanConfidence(page)
	page.Quality = pageQuality(page)
	page.Language = pageLanguage(page, answer.GetLanguage())
	page.Text = plainText(page)
	return page
}

func sanitizeBlock(b *inkstreamv1.Block, page *inkstreamv1.Page, left *int) *inkstreamv1.Block {
	out := &inkstreamv1.Block{Type: "paragraph"}
	for _, l := range b.GetLines() {
		line := &inkstreamv1.Line{Angle: normaliseAngle(l.GetAngle())}
		for _, w := range l.GetWords() {
			if *left <= 0 {
				break
			}
			text := cleanWord(w.GetText())
			box, ok := clampBox(w.GetBbox(), page.Width, page.Height)
			if text == "" || !ok {
				continue
			}
			confidence := clampToUnit(w.GetConfidence())
			kept := &inkstreamv1.Word{Text: text, Bbox: box, Confidence: &confidence}
			if agree.Kind(w.GetDoubt()).IsKnown() {
				kept.Doubt = w.GetDoubt()
			}
			if w.GetFont() != 0 { // an engine says no more of its type than that it is bold
				kept.Font, page.Fonts = 1, []*inkstreamv1.Font{BoldFont()}
			}
			line.Words = append(line.Words, kept)
			line.Bbox = unionBox(line.Bbox, box)
			*left--
		}
		if len(line.Words) > 0 {
			out.Lines = append(out.Lines, line)
			out.Bbox = unionBox(out.Bbox, line.Bbox)
		}
	}
	if len(out.Lines) == 0 {
		return nil
	}
	return out
}

// cleanWord repairs bad UTF-8 and drops what has no place inside a word.
func cleanWord(s string) string {
	s = strings.ToValidUTF8(truncateUTF8(s, maxWordSize), "\uFFFD")
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1 // marks of direction are no part of a word; its letters tell theirs
		}
		return r
	}, s)
}

// truncateUTF8 cuts s to at most n bytes, between characters.
func truncateUTF8(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// clampBox returns the part of a box that lies on the page. A box that is no box, or lies elsewhere, is not ok.
func clampBox(box []float32, width, height float32) ([]float32, bool) {
	if len(box) != 4 {
		return nil, false
	}
	for _, v := range box {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, false
		}
	}
	x0, x1 := min(box[0], box[2]), max(box[0], box[2])
	y0, y1 := min(box[1], box[3]), max(box[1], box[3])
	x0, y0, x1, y1 = max(x0, 0), max(y0, 0), min(x1, width), min(y1, height)
	if x0 >= x1 || y0 >= y1 {
		return nil, false
	}
	return []float32{x0, y0, x1, y1}, true
}

func unionBox(a, b []float32) []float32 {
	if a == nil {
		return []float32{b[0], b[1], b[2], b[3]}
	}
	return []float32{min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])}
}

func sanitizeRulings(rulings []*inkstreamv1.Ruling, page *inkstreamv1.Page) []*inkstreamv1.Ruling {
	var out []*inkstreamv1.Ruling
	for _, r := range rulings[:min(len(rulings), maxRulings)] {
		if box, ok := clampBox(r.GetBbox(), page.Width, page.Height); ok {
			out = append(out, &inkstreamv1.Ruling{Bbox: box})
		}
	}
	return out
}

// sanitizeUnreadInk takes over what the engine says that it could not read, and notes it.
func sanitizeUnreadInk(answer, page *inkstreamv1.Page) {
	page.InkWithoutWords = clampToUnit(answer.GetInkWithoutWords())
	for _, r := range answer.GetUnreadRegions()[:min(len(answer.GetUnreadRegions()), maxUnreadRegions)] {
		if box, ok := clampBox(r.GetBbox(), page.Width, page.Height); ok {
			page.UnreadRegions = append(page.UnreadRegions, &inkstreamv1.UnreadRegion{Bbox: box})
		}
	}
	if len(page.UnreadRegions) > 0 {
		page.Notes = append(page.Notes, fmt.Sprintf("what looks like text was not read in %d places; see unreadRegions",
			len(page.UnreadRegions)))
	}
}

func sanitizeSkew(degrees float32) float32 {
	if !(degrees >= -maxSkew && degrees <= maxSkew) { // also NaN
		return 0
	}
	return degrees
}

// sanitizeBend returns no bend where one is not plausible: of too many places, or farther down than a tenth
// of the page's height.
func sanitizeBend(bend []float32, height float32) []float32 {
	const most = 256
	deepest := height / 10
	if len(bend) > most || slices.ContainsFunc(bend, func(v float32) bool { return !(v >= -deepest && v <= deepest) }) {
		return nil
	}
	return bend
}

// clampToUnit returns v within 0 and 1, and 0 for what is no number.
func clampToUnit(v float32) float32 {
	if !(v > 0) { // also NaN
		return 0
	}
	return min(v, 1)
}

// normaliseAngle returns one of the four angles.
func normaliseAngle(degrees int32) int32 {
	switch degrees {
	case 90, 180, 270:
		return degrees
	default:
		return 0
	}
}

// meanConfidence weighs the words by their characters, so that a page is not judged by its commas.
func meanConfidence(page *inkstreamv1.Page) float32 {
	var sum, characters float64
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				n := float64(utf8.RuneCountInString(w.GetText()))
				sum += n * float64(w.GetConfidence())
				characters += n
			}
		}
	}
	if characters == 0 {
		return 0
	}
	return float32(sum / characters)
}

// plainText joins words by blanks, lines by line feeds, and blocks by a blank line.
func plainText(page *inkstreamv1.Page) string {
	var out strings.Builder
	for i, b := range page.GetBlocks() {
		if i > 0 {
			out.WriteString("\n")
		}
		for _, l := range b.GetLines() {
			for j, w := range l.GetWords() {
				if j > 0 {
					out.WriteByte(' ')
				}
				out.WriteString(w.GetText())
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}
