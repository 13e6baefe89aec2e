package pdfium

import (
	"slices"
	"unicode"
)

// PDFium makes up blanks for the room that numbers between glyphs make, and between text objects for a fifth or a
// fourth of an em of ink. Two kinds of blanks it does not see. Word spacing (PDF 32000-1, 9.3.3) belongs to the
// character code 32 alone, and fonts that were made for one file use that code for any letter: the room behind that
// letter is all that parts two words; Ghostscript writes the two letters around a blank as an object with character spacing.
// And tightly set lines, of which each word is an object, have narrower blanks.

const (
	// minSpacedInk is how far apart, in ems, the ink of two glyphs of a text object stands at least for their advance
	// widths to be asked for, and minWordSpace how far those are apart where words part; the others are those between
	// glyphs of two objects.
	minSpacedInk, minWordSpace         = 0.22, 0.2
	minInkOfObjects, minSpaceOfObjects = 0.18, 0.15
	// Where glyphs of a word, of which spacedWindow on either side are looked at, stand farther apart than that in the
	// median, by their advance widths or by their ink, its letters are set apart.
	maxAdvanceApart, maxInkApart, spacedWindow = 0.05, 0.15, 3
	// maxSpacedPairs bounds the pairs of a page that are looked at.
	maxSpacedPairs = 5000
)

// spacedPair is a glyph that stands apart from the one before it on its line, without a blank between them.
type spacedPair struct {
	at    int    // of the glyph, in out.Chars
	index uint64 // in PDFium's list
}

// noteSpacedPair looks at the glyph that is to come next, and the one before it.
func (r *textReader) noteSpacedPair(c *Char, index uint64) {
	n := len(r.out.Chars)
	if n == 0 || len(r.spaced) == maxSpacedPairs || r.out.Chars[n-1].isBlank() || c.isBlank() {
		return
	}
	before, run := &r.out.Chars[n-1], &r.out.Runs[r.run]
	ink := c.Box.Left - before.Box.Right
	if ink < minInkOfObjects*run.Size || run.DirY != 0 || run.DirX <= 0 || !r.hasName(run.Font) {
		return
	}
	if before.Run == r.run && ink >= minSpacedInk*run.Size ||
		before.Run != r.run && before.Run >= 0 && ink < maxWordGap*run.Size && r.out.Runs[before.Run].isLevelWith(run) &&
			max(before.Rune, c.Rune) < firstOfColumns && // such scripts have no blanks
			!(unicode.IsDigit(before.Rune) && unicode.IsDigit(c.Rune)) { // a number keeps its thousands
		r.spaced = append(r.spaced, spacedPair{n, index})
	}
}

// writtenBlanks are the blanks of a font that are written between letters: how many, and which of them the next letter
// steps back over.
type writtenBlanks struct {
	count     int
	overdrawn []int // in out.Chars
}

// noteWrittenBlank notes the written blank before a glyph, and whether the glyph steps back over it to where the one
// before the blank ends: some drivers, as that of groff for PostScript, move by a blank and back where letters are
// kerned.
func (r *textReader) noteWrittenBlank(c *Char, index uint64) {
	const maxKern = 0.05 // in ems, wider than the pairs that fonts set apart and narrower than any word space
	n, run := len(r.out.Chars), &r.out.Runs[r.run]
	if n < 2 || index < 2 || run.Invisible || run.DirY != 0 || run.DirX <= 0 || r.out.Chars[n-1].Generated || r.out.Chars[n-1].Rune != ' ' {
		return
	}
	before := &r.out.Chars[n-2]
	if before.Run != r.run || !unicode.IsLetter(before.Rune) || !unicode.IsLetter(c.Rune) ||
		max(before.Rune, c.Rune) >= firstOfColumns { // such scripts have no kerned pairs
		return
	}
	blanks := r.written[run.Font]
	blanks.count++
	defer func() { r.written[run.Font] = blanks }()
	if c.Box.Left-before.Box.Right > minInkOfObjects*run.Size {
		return
	}
	left, ok := r.looseBox(index - 2)
	right, has := r.looseBox(index)
	gap := right.Left - left.Right
	if !ok || !has || gap > maxKern*run.Size || gap < minTightGap*run.Size {
		return
	}
	if n > 2 && unicode.IsLetter(r.out.Chars[n-3].Rune) && r.out.Chars[n-3].Run == r.run { // letters set closer have no room for blanks
		if apart, ok := r.advanceGap(index - 2); ok && apart < -maxAdvanceApart*run.Size {
			return
		}
	}
	blanks.overdrawn = append(blanks.overdrawn, n-1)
}

// dropOverdrawnBlanks marks blanks that letters step back over as none, but for a font in which many are: its advance
// widths are wrong then.
func (r *textReader) dropOverdrawnBlanks() {
	const many = 4 // one of so many
	for _, blanks := range r.written {
		if many*len(blanks.overdrawn) > blanks.count {
			continue
		}
		for _, at := range blanks.overdrawn {
			r.out.Chars[at].Tight = true
		}
	}
}

func (c *Char) isBlank() bool { return c.Generated || c.Rune == ' ' }

// addSpacedBlanks makes up the blanks that PDFium does not see.
func (r *textReader) addSpacedBlanks() {
	kept, from := []Char(nil), 0
	for _, p := range r.spaced {
		if !r.isWordSpace(p) {
			continue
		}
		kept = append(append(kept, r.out.Chars[from:p.at]...), Char{Rune: ' ', Generated: true, Run: r.out.Chars[p.at].Run})
		from = p.at
	}
	if from > 0 {
		r.out.Chars = append(kept, r.out.Chars[from:]...)
	}
}

// isWordSpace reports whether the advance widths of two glyphs leave the room of a blank, and those of the glyphs
// around them do not.
func (r *textReader) isWordSpace(p spacedPair) bool {
	size, space := r.out.Runs[r.out.Chars[p.at].Run].Size, minSpaceOfObjects
	if r.out.Chars[p.at-1].Run == r.out.Chars[p.at].Run {
		space = minWordSpace
	}
	room, ok := r.advanceGap(p.index)
	if !ok || room < (space-maxAdvanceApart)*size {
		return false
	}
	var advance, ink []float64
	note := func(step int) bool { // the gap before the glyph so many steps away
		at := p.at + step
		if at <= 0 || at >= len(r.out.Chars) || r.out.Chars[at-1].isBlank() || r.out.Chars[at].isBlank() {
			return false
		}
		if r.out.Chars[at-1].Box.isPartBefore(r.out.Chars[at].Box) { // of one glyph
			return true
		}
		gap, ok := r.advanceGap(p.index + uint64(step))
		advance, ink = append(advance, gap), append(ink, r.out.Chars[at].Box.Left-r.out.Chars[at-1].Box.Right)
		return ok
	}
	for step := -1; step >= -spacedWindow && note(step); step-- {
	}
	for step := 1; step <= spacedWindow && note(step); step++ {
	}
	slices.Sort(advance)
	slices.Sort(ink)
	middle := (len(ink) - 1) / 2
	if len(ink) == 0 || advance[middle] > maxAdvanceApart*size || ink[middle] > maxInkApart*size {
		return false
	}
	if advance[middle] < 0 && advance[middle] >= -maxAdvanceApart*size { // letters set closer leave less room for blanks
		room -= advance[middle]
	}
	return room >= space*size
}

// isLetterSpace reports whether the room between two text objects of a scan's text layer that PDFium took for a blank
// is no more than that between the letters of the first: such layers stretch words to the width that they have in
// print, and some write the last letter of each as an object of its own. next is that letter, and at its ink.
func (r *textReader) isLetterSpace(next rune, at Rect) bool {
	const spare = 0.03 // of the size
	last, apart, before := r.blank-1, 0.0, r.run-1
	if !r.out.Runs[before].Invisible || !r.out.Runs[r.run].Invisible || !unicode.IsLetter(next) {
		return false
	}
	for i := last; i > max(0, last-spacedWindow); i-- {
		if c := &r.out.Chars[i-1]; c.Run != before || !unicode.IsLetter(c.Rune) {
			break
		}
		apart = max(apart, r.out.Chars[i].Box.Left-r.out.Chars[i-1].Box.Right)
	}
	size := r.out.Runs[before].Size
	return apart > maxInkApart*size && at.Left-r.out.Chars[last].Box.Right <= apart+spare*size
}

// advanceGap returns the room between a character and the one before it, by their advance widths.
func (r *textReader) advanceGap(index uint64) (float64, bool) {
	before, ok := r.looseBox(index - 1)
	after, has := r.looseBox(index)
	return after.Left - before.Right, ok && has
}
