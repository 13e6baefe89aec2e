package pdfium

import "math"

// PDFium guesses whether the lines of a page run across it or down it. Where it guesses wrong, on pages with little
// text above all, it ends the line behind every text object, and drops the blanks there. It also ends a line where the
// ink of two glyphs without a font's ascent and descent (Type 3) overlaps little. Browsers write each glyph as an
// object of its own, so that words fall to pieces.

const (
	// maxTightGap is the widest gap, in ems, between two glyphs of one word, by their advance widths, and maxWordGap that
	// between two words of one line. minTightGap is how far glyphs of one word reach over each other at most.
	minTightGap, maxTightGap, maxWordGap = -0.12, 0.09, 0.45
	// On a page of which that share of all glyphs ends a line in the middle of a word, words of one line may be
	// maxLineGap apart.
	minBrokenShare, maxLineGap = 0.25, 0.9
)

// brokenLine is a line end that PDFium made up between two glyphs of one line.
type brokenLine struct {
	from, to int // in the characters
	gap      float64
}

// repairBrokenLines takes away the line ends that PDFium made up in the middle of words, and leaves blanks in the
// place of those between words, on pages where each glyph is an object of its own.
func (t *Text) repairBrokenLines() {
	if 6*len(t.Runs) < len(t.Chars) {
		return
	}
	broken, glyphs := t.findBrokenLines()
	tight := 0
	for _, b := range broken {
		if b.gap <= maxTightGap {
			tight++
		}
	}
	if tight == 0 {
		return
	}
	limit := maxWordGap
	if float64(tight) >= minBrokenShare*float64(glyphs) {
		limit = maxLineGap
	}
	kept, at := make([]Char, 0, len(t.Chars)), 0
	for _, b := range broken {
		if b.gap > limit {
			continue
		}
		kept = append(kept, t.Chars[at:b.from]...)
		if at = b.to; b.gap > maxTightGap {
			kept = append(kept, Char{Rune: ' ', Generated: true, Run: t.Chars[b.from].Run})
		}
	}
	t.Chars = append(kept, t.Chars[at:]...)
}

// findBrokenLines returns the line ends between glyphs of one line, and counts all glyphs.
func (t *Text) findBrokenLines() (broken []brokenLine, glyphs int) {
	for i := 0; i < len(t.Chars); i++ {
		if !t.Chars[i].Generated {
			glyphs++
			continue
		}
		from, ends := i, t.Chars[i].endsLine()
		for i+1 < len(t.Chars) && t.Chars[i+1].Generated {
			i++
			ends = ends || t.Chars[i].endsLine()
		}
		if from == 0 || i+1 == len(t.Chars) || !ends {
			continue
		}
		if gap, ok := t.gapOnLine(&t.Chars[from-1], &t.Chars[i+1]); ok {
			broken = append(broken, brokenLine{from, i + 1, gap})
		}
	}
	return broken, glyphs
}

func (c *Char) endsLine() bool { return c.Rune == '\n' || c.Rune == '\r' }

// gapOnLine returns how far apart, in ems, two glyphs stand that are text objects of their own; false if they do not
// follow each other on one line that runs across the page.
func (t *Text) gapOnLine(a, b *Char) (float64, bool) {
	if a.Run < 0 || b.Run < 0 || a.Run == b.Run {
		return 0, false
	}
	before, after := &t.Runs[a.Run], &t.Runs[b.Run]
	if !before.isLevelWith(after) {
		return 0, false
	}
	// The loose box of a run is that of its first glyph; where it has several, the last one's ink has to do.
	left := before.Loose
	left.Right = max(left.Right, a.Box.Right)
	gap := max(after.Loose.Left-left.Right, left.Left-after.Loose.Right) / max(before.Size, after.Size)
	return gap, gap > minTightGap && gap < maxLineGap
}

// isLevelWith reports whether two runs of one size go across the page, side by side.
func (r *Run) isLevelWith(o *Run) bool {
	if r.Column || o.Column || !sameStyle(r, o) || r.DirX <= 0 || math.Abs(r.DirY) > 0.01*r.DirX ||
		min(r.Size, o.Size) < 0.95*max(r.Size, o.Size) || r.Loose.IsEmpty() || o.Loose.IsEmpty() {
		return false
	}
	height := min(r.Loose.Top-r.Loose.Bottom, o.Loose.Top-o.Loose.Bottom)
	return min(r.Loose.Top, o.Loose.Top)-max(r.Loose.Bottom, o.Loose.Bottom) > 0.2*height
}
