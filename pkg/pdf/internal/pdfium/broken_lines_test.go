package pdfium

import (
	"strings"
	"testing"
)

// setGlyphs sets each glyph of a line as a text object of its own, half an em wide. Behind each but blanks, which are
// dropped, stands what PDFium made up.
func setGlyphs(t *Text, line string, y float64, behind string) {
	x := 50.0
	for _, r := range line {
		box := Rect{Left: x, Bottom: y, Right: x + em/2, Top: y + em}
		x += em / 2
		if r == ' ' {
			x -= em / 4
			continue
		}
		run := int32(len(t.Runs))
		t.Runs = append(t.Runs, Run{Size: em, DirX: 1, Loose: box})
		t.Chars = append(t.Chars, Char{Rune: r, Run: run, Box: box})
		for _, b := range behind {
			t.Chars = append(t.Chars, Char{Rune: b, Generated: true, Run: run})
		}
	}
}

func (t *Text) string() string {
	var b strings.Builder
	for _, c := range t.Chars {
		if c.Rune != '\r' {
			b.WriteRune(c.Rune)
		}
	}
	return b.String()
}

// TestBrokenLines puts words together behind whose every glyph PDFium has ended the line, and leaves the ends of lines.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	broken := &Text{}
	setGlyphs(broken, "two words", 100, "\r\n")
	setGlyphs(broken, "below", 80, "\r\n")
	broken.repairBrokenLines()
	if got, want := broken.string(), "two words\nbelow\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	whole := &Text{}
	setGlyphs(whole, "words", 100, "")
	setGlyphs(whole, "below", 80, "")
	whole.Chars = append(whole.Chars, Char{Rune: '\n', Generated: true, Run: int32(len(whole.Runs) - 1)})
	setGlyphs(whole, "beside", 80, "") // a cell that the line end before parts from the word
	for i := range whole.Runs[10:] {
		r := &whole.Runs[10+i]
		r.Loose.Left, r.Loose.Right = r.Loose.Left+33, r.Loose.Right+33
	}
	whole.repairBrokenLines()
	if got, want := whole.string(), "wordsbelow\nbeside"; got != want {
		t.Errorf("a line end on a sound page: got %q, want %q", got, want)
	}
}

// TestBrokenColumns leaves the glyphs of columns, which stand below each other, for turnColumns.
func TestBrokenColumns(t *testing.T) {
	t.Parallel()
	s := new(glyphSheet).addColumn("必 | ず | か | の |", 100, 200, 0, 1)
	for i := range s.Runs {
		s.Runs[i].Loose = s.Chars[2*i].Box
	}
	before := s.string()
	if s.repairBrokenLines(); s.string() != before {
		t.Errorf("got %q, want %q", s.string(), before)
	}
}
