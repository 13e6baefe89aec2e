package layout

import (
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// engineLines is a page as an engine gave it.
type engineLines struct {
	lines      []inputLine
	recognised bool // every word was recognised in an image
}

// inputLine is one line of it, with at least one word.
type inputLine struct {
	words []*inkstreamv1.Word
	angle int32
}

// collectLines takes the lines of a page, leaves out what is empty, and gives every word a box that can be reckoned
// with.
func collectLines(page *inkstreamv1.Page) engineLines {
	var in engineLines
	words, recognised := 0, 0
	var last rect
	for _, block := range page.GetBlocks() {
		for _, line := range block.GetLines() {
			kept := make([]*inkstreamv1.Word, 0, len(line.GetWords()))
			for _, word := range line.GetWords() {
				if word.GetText() == "" {
					continue
				}
				last = repairWordBox(word, last)
				if word.Confidence != nil {
					recognised++
				}
				kept = append(kept, word)
			}
			if len(kept) > 0 {
				in.lines = append(in.lines, inputLine{kept, nearestQuarterTurn(line.GetAngle())})
				words += len(kept)
			}
		}
	}
	in.recognised = words > 0 && recognised == words
	return in
}

// nearestQuarterTurn brings an angle to the nearest quarter turn, as slanted type may be given a slanted angle. Lines
// that run askew in earnest all get 45: they are kept as they are, in one group.
func nearestQuarterTurn(angle int32) int32 {
	angle = (angle%360 + 360) % 360
	near := (angle + 45) / 90 * 90
	if off := angle - near; off < -20 || off > 20 {
		return 45
	}
	return near % 360
}

// repairWordBox puts the corners of a word's box in order and within bounds, and returns the box. A word whose box
// makes no sense is put, without width, where the word before it ends.
func repairWordBox(word *inkstreamv1.Word, before rect) rect {
	if bbox := word.GetBbox(); isValidBox(bbox) {
		r := rectFromBox(bbox)
		if len(bbox) != 4 || bbox[0] > bbox[2] || bbox[1] > bbox[3] || r.x0 == -maxCoordinate || r.y0 == -maxCoordinate ||
			r.x1 == maxCoordinate || r.y1 == maxCoordinate {
			word.Bbox = r.toBox()
		}
		return r
	}
	r := rect{before.x1, before.y0, before.x1, before.y1}
	word.Bbox = r.toBox()
	return r
}

// segment is a run of words of one input line without a wide gap: the piece that the page is put together of.
type segment struct {
	rect
	words         []*inkstreamv1.Word
	text          int     // how many letters and digits it has
	size          float64 // of its largest type
	order         int     // place in the input
	continuesLine bool    // nothing but a gap sets it apart from the segment before it, which stands on the same line
	rtl           bool    // most of its letters are written from right to left
	numbered      bool    // its first word counts a line of code, and stays with the second
	table         *table  // the segment stands for a table that was found before, and has no words
}

// measureText counts the text of a segment and finds its largest type.
func (s *segment) measureText(t rotation) {
	s.text, s.size = 0, 0
	for _, w := range s.words {
		if n := countLetters(w.GetText()); n > 0 {
			s.text += n
			s.size = max(s.size, wordTypeSize(w, t.rotateRect(rectFromBox(w.GetBbox()))))
		}
	}
}

// newSegment makes a segment of words.
func newSegment(words []*inkstreamv1.Word, t rotation) segment {
	s := segment{rect: t.rotateRect(rectFromBox(words[0].GetBbox())), words: words}
	for _, w := range words[1:] {
		s.rect = s.rect.union(t.rotateRect(rectFromBox(w.GetBbox())))
	}
	s.measureText(t)
	return s
}

// wideGap is how far apart, in ems, words of one segment may be. Justified lines have blanks of up to three quarters
// of an em, gutters between columns begin at one.
const wideGap = 0.95

// splitSegments cuts lines into segments; em is the height of most of them, in points. A number that counts a line of
// code stays with it.
func splitSegments(lines []inputLine, t rotation, em float64, st *styles) []segment {
	segments := make([]segment, 0, len(lines)+len(lines)/4)
	for _, line := range lines {
		rtl := isRightToLeft(line.words)
		_, numbered := st.codeNumbers[line.words[0]]
		goes := false
		start, cur := 0, t.rotateRect(rectFromBox(line.words[0].GetBbox()))
		last := cur
		flush := func(end int) {
			s := segment{rect: cur, words: line.words[start:end:end], order: len(segments), continuesLine: goes, rtl: rtl, numbered: numbered && start == 0}
			s.measureText(t)
			segments = append(segments, s)
		}
		for i, word := range line.words[1:] {
			box := t.rotateRect(rectFromBox(word.GetBbox()))
			if isSplitWordBox(word, box, em) {
				box = rect{last.x1, last.y0, last.x1, last.y1}
				word.Bbox = t.unrotateRect(box).toBox()
			}
			if !(numbered && i == 0) && startsNewSegment(cur, last, box, em, rtl) {
				flush(i + 1)
				goes = !rtl && box.x0 >= last.x1 && spanDistance(last.y0, last.y1, box.y0, box.y1) <= 0 &&
					!areHalfLineApart(last, line.words[i], box, word)
				start, cur = i+1, box
			} else {
				cur = cur.union(box)
			}
			last = box
		}
		flush(len(line.words))
	}
	return segments
}

// startsNewSegment reports whether a word begins a new segment: it is far from the last one, on another line, or back
// where the segment has been.
func startsNewSegment(cur, last, box rect, em float64, rtl bool) bool {
	size := max(last.height(), box.height(), em*0.7)
	if spanDistance(last.x0, last.x1, box.x0, box.x1) > wideGap*size {
		return true
	}
	if rtl { // numbers and Latin words in it run the other way: only what is far away is elsewhere
		return spanDistance(cur.y0, cur.y1, box.y0, box.y1) > 0
	}
	if box.x0 < last.x0-0.5*size {
		return true
	}
	return spanDistance(cur.y0, cur.y1, box.y0, box.y1) > 0.1*size
}

// areHalfLineApart reports whether two words in one type stand half a line higher and lower, as those of cells in the
// middle of a row's height do: boxes may be higher than lines are apart, so that an engine takes them for one line.
func areHalfLineApart(a rect, first *inkstreamv1.Word, b rect, second *inkstreamv1.Word) bool {
	const off, alike = 0.45, 1.1 // of the type's size; times as high
	const least = 0.8            // of a box's height: of fonts whose glyphs are drawings the size says nothing
	size := max(float64(first.GetSize()), least*min(a.height(), b.height()))
	return first.GetSize() > 0 && first.GetSize() == second.GetSize() && math.Abs(a.centerY()-b.centerY()) > off*size &&
		max(a.height(), b.height()) < alike*min(a.height(), b.height())
}

// isSplitWordBox reports whether the box of a word spans places that lie apart, as when an engine joins the two parts
// of a word that is broken at the end of a line or of a column. Such a box would tie the columns together.
func isSplitWordBox(word *inkstreamv1.Word, box rect, em float64) bool {
	n := utf8.RuneCountInString(word.GetText())
	if n < 2 || box.height() < 1.6*em || box.width() < 2*em || float64(word.GetSize()) > 0.5*box.height() {
		return false
	}
	each := box.width() / float64(n)
	return each > 1.6*em || box.height() > 5*each
}

// medianTypeSize returns the size of most of the text: the median over the words that have letters or digits. Leaders
// of dots and rules drawn with dashes are no text.
func medianTypeSize(lines []inputLine, t rotation) float64 {
	return medianSize(lines, t, wordTypeSize)
}

// medianSize returns the median of the sizes of words.
func medianSize(lines []inputLine, t rotation, sizeOf func(*inkstreamv1.Word, rect) float64) float64 {
	n := 0
	for _, line := range lines {
		n += len(line.words)
	}
	heights := make([]float64, 0, n)
	for _, line := range lines {
		for _, w := range line.words {
			if countLetters(w.GetText()) == 0 {
				continue
			}
			if height := sizeOf(w, t.rotateRect(rectFromBox(w.GetBbox()))); height > 0 {
				heights = append(heights, height)
			}
		}
	}
	if len(heights) == 0 {
		return 10
	}
	slices.Sort(heights)
	return min(max(heights[len(heights)/2], 1), 200)
}

// wordTypeSize returns the size of a word's type. The font size is the better measure, as boxes may be as tight as
// the letters; but it can be that of a font which the page scales.
func wordTypeSize(w *inkstreamv1.Word, box rect) float64 {
	if size := float64(w.GetSize()); size > 0.55*box.height() && size < 3*box.height() {
		return size
	}
	return 1.2 * box.height()
}

// countLetters counts the letters and digits of a text, and whatever else is neither ASCII nor a blank.
func countLetters(text string) int {
	n := 0
	for _, r := range text {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0xbf && !(r >= 0x2000 && r < 0x2c00) {
			n++
		}
	}
	return n
}

// isRightToLeft reports whether most letters of the words belong to scripts written from right to left.
func isRightToLeft(words []*inkstreamv1.Word) bool {
	right, left := 0, 0
	for _, w := range words {
		for _, r := range w.GetText() {
			switch {
			case r < 0x590:
				if r >= 'A' && unicode.IsLetter(r) {
					left++
				}
			case r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc || r >= 0x10800 && r <= 0x10fff ||
				r >= 0x1e800 && r <= 0x1efff:
				right++
			default:
				left++
			}
		}
	}
	return right > left
}
