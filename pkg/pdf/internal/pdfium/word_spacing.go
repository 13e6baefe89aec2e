package pdfium

// A blank that word spacing makes (PDF 32000-1, 9.3.3) belongs to the character code 32 alone, and fonts that were made
// for one file use that code for any letter: the room behind that letter is all that parts two words. PDFium makes up
// blanks for the room that numbers between glyphs make, not for this.

const (
	// minSpacedInk is how far apart, in ems, the ink of two glyphs stands at least for their advance widths to be asked
	// for, and minWordSpace how far those are apart where words part.
	minSpacedInk, minWordSpace = 0.3, 0.2
	// maxSpacedShare is the share of a run's pairs of glyphs that may stand as far apart: more are letters set apart.
	maxSpacedShare = 0.25
)

// spacedPair is a glyph that stands apart from the one before it in its text object, without a blank between them.
type spacedPair struct {
	at    int    // of the glyph, in out.Chars
	index uint64 // in PDFium's list
}

// noteSpacedPair looks at the glyph that is to come next, and the one before it in the running run.
func (r *textReader) noteSpacedPair(c *Char, index uint64) {
	n := len(r.out.Chars)
	if n == 0 {
		return
	}
	before, run := &r.out.Chars[n-1], &r.out.Runs[r.run]
	if before.Run != r.run || before.Generated || before.Rune == ' ' || c.Rune == ' ' || run.DirY != 0 || run.DirX <= 0 {
		return
	}
	r.pairs[r.run]++
	if c.Box.Left-before.Box.Right >= minSpacedInk*run.Size {
		r.spaced = append(r.spaced, spacedPair{n, index})
	}
}

// addSpacedBlanks makes up the blanks of word spacing.
func (r *textReader) addSpacedBlanks() {
	spaced := map[int32]int{}
	for _, p := range r.spaced {
		spaced[r.out.Chars[p.at].Run]++
	}
	kept, from := []Char(nil), 0
	for _, p := range r.spaced {
		c := &r.out.Chars[p.at]
		if float64(spaced[c.Run]) > maxSpacedShare*float64(r.pairs[c.Run]) || !r.isWordSpace(p) {
			continue
		}
		kept = append(append(kept, r.out.Chars[from:p.at]...), Char{Rune: ' ', Generated: true, Run: c.Run})
		from = p.at
	}
	if from > 0 {
		r.out.Chars = append(kept, r.out.Chars[from:]...)
	}
}

func (r *textReader) isWordSpace(p spacedPair) bool {
	before, ok := r.looseBox(p.index - 1)
	after, has := r.looseBox(p.index)
	return ok && has && after.Left-before.Right >= minWordSpace*r.out.Runs[r.out.Chars[p.at].Run].Size
}
