package pdfium

import (
	"math"
	"unicode"
)

// columnScripts are written in columns; their punctuation, wide blanks and all, comes last.
var columnScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	{R16: []unicode.Range16{{Lo: 0x3000, Hi: 0x303F, Stride: 1}, {Lo: 0x30FB, Hi: 0x30FC, Stride: 1},
		{Lo: 0xFF01, Hi: 0xFF60, Stride: 1}}},
}

const firstOfColumns = 0x1100 // the first character of columnScripts

func isColumnScript(r rune) bool { return r >= firstOfColumns && unicode.In(r, columnScripts...) }

// stepBetween returns how far, in ems, the middle of b lies below that of a and along from it, as the run says where
// that is; NaN of a run without a size.
func (r *Run) stepBetween(a, b Rect) (down, along float64) {
	x, y := (b.Left+b.Right-a.Left-a.Right)/2, (b.Bottom+b.Top-a.Bottom-a.Top)/2
	length := math.Hypot(r.DirX, r.DirY) * r.Size
	return (x*r.DirY - y*r.DirX) / length, (x*r.DirX + y*r.DirY) / length
}

// standsBelow reports whether b stands below a as the next of a column does. Punctuation stands in a corner of its
// square.
func (r *Run) standsBelow(a, b Rect) bool {
	down, along := r.stepBetween(a, b)
	return down > 0.5 && down < 2 && math.Abs(along) < 0.4
}

// turnDownwards makes the run one that goes down.
func (r *Run) turnDownwards() { r.DirX, r.DirY, r.Column = r.DirY, -r.DirX, true }

// columnPart is a run as a part of a column may be: a glyph alone, or a short number that stands upright in it.
type columnPart struct {
	box       Rect
	chars     int
	candidate bool // it may be one
	glyph     bool
	continues bool // it stands below the part before it
}

// turnColumns turns the runs of columns in which each glyph is a text object of its own, as browsers and word
// processors write them: where they stand is all that tells.
func (t *Text) turnColumns() {
	parts := t.columnParts()
	for i := 1; i < len(parts); i++ {
		a, b := &parts[i-1], &parts[i]
		b.continues = a.candidate && b.candidate && (a.glyph || b.glyph) && sameStyle(&t.Runs[i-1], &t.Runs[i]) &&
			t.Runs[i].standsBelow(a.box, b.box)
	}
	for from := 0; from < len(parts); {
		to := from + 1
		for to < len(parts) && parts[to].continues {
			to++
		}
		if !t.turnColumn(parts, from, to) {
			t.turnColumnEnd(parts, from, to)
		}
		from = to
	}
	t.dropGeneratedBreaks(parts)
}

// turnColumn turns the parts from ≤ i < to, each of which stands below the one before it, if they make a column for
// sure.
func (t *Text) turnColumn(parts []columnPart, from, to int) bool {
	const fewest, widest = 4, 1.45 // fewer glyphs, or wider apart, may be what stands in the cells of a table
	glyphs := 0
	for _, p := range parts[from:to] {
		if p.glyph {
			glyphs++
		}
	}
	down, _ := t.Runs[from].stepBetween(parts[from].box, parts[to-1].box)
	if glyphs < fewest || down > widest*float64(to-from-1) {
		return false
	}
	for i := from; i < to; i++ {
		t.Runs[i].turnDownwards()
	}
	return true
}

// turnColumnEnd turns the parts from ≤ i < to if they go on or end the text of columns: they follow one, or letters
// that lie on their side, and nothing stands beside them. If they do not, each is on its own.
func (t *Text) turnColumnEnd(parts []columnPart, from, to int) {
	end := from > 0 && parts[from].glyph && t.followsColumn(parts, from) &&
		(to == len(parts) || !t.continuesBeside(parts, to))
	for i := from; i < to; i++ {
		if end {
			t.Runs[i].turnDownwards()
		} else {
			parts[i].continues = false
		}
	}
}

// followsColumn reports whether the run before part i is a column, or lies on its side and ends above the part.
func (t *Text) followsColumn(parts []columnPart, i int) bool {
	before, down := &t.Runs[i-1], t.Runs[i]
	if before.Column {
		return true
	}
	a, b := parts[i-1].box, parts[i].box
	below, along := down.stepBetween(a, b)
	down.turnDownwards()
	length := max(a.Right-a.Left, a.Top-a.Bottom) / down.Size // of the letters, which may be many
	return sameStyle(before, &down) && math.Abs(along) < 0.5 && below > 0.5 && below < 2+length/2
}

// continuesBeside reports whether run i goes on beside the part before it, as a line does.
func (t *Text) continuesBeside(parts []columnPart, i int) bool {
	if !sameStyle(&t.Runs[i-1], &t.Runs[i]) {
		return false
	}
	down, along := t.Runs[i-1].stepBetween(parts[i-1].box, parts[i].box)
	return math.Abs(down) < 0.5 && along < 3+float64(parts[i].chars)
}

// sameStyle reports whether two runs go the same way in about the same size.
func sameStyle(a, b *Run) bool {
	across, along := a.DirX*b.DirY-a.DirY*b.DirX, a.DirX*b.DirX+a.DirY*b.DirY
	return along > 0 && math.Abs(across) < 0.01*along && a.Size < 1.6*b.Size && b.Size < 1.6*a.Size
}

// columnParts looks at each run whether it may be a part of a column.
func (t *Text) columnParts() []columnPart {
	const longest = 4 // characters of an upright number, no wider than that many ems:
	const widest = 1.4
	parts := make([]columnPart, len(t.Runs))
	for i := range t.Chars {
		c := &t.Chars[i]
		if c.Generated || c.Run < 0 {
			continue
		}
		p := &parts[c.Run]
		if p.chars == 0 {
			p.box, p.glyph = c.Box, isColumnScript(c.Rune)
		} else {
			p.box = Rect{min(p.box.Left, c.Box.Left), min(p.box.Bottom, c.Box.Bottom), max(p.box.Right, c.Box.Right),
				max(p.box.Top, c.Box.Top)}
			p.glyph = p.glyph && isColumnScript(c.Rune)
		}
		p.chars++
	}
	for i := range parts {
		p, r := &parts[i], &t.Runs[i]
		wide := max(p.box.Right-p.box.Left, p.box.Top-p.box.Bottom) > widest*r.Size
		p.candidate = !r.Column && !wide && p.chars > 0 && p.chars <= longest && !(p.glyph && p.chars > 1)
		p.glyph = p.candidate && p.glyph
	}
	return parts
}

// dropGeneratedBreaks drops the blanks and line ends that PDFium made up within columns.
func (t *Text) dropGeneratedBreaks(parts []columnPart) {
	kept := t.Chars[:0]
	for _, c := range t.Chars {
		if within := c.Generated && c.Run >= 0 && int(c.Run)+1 < len(parts) && parts[c.Run+1].continues; !within {
			kept = append(kept, c)
		}
	}
	t.Chars = kept
}
