package pdfium

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestLigatureOfArabic puts lam and alef in order, which stand in one place, and leaves the article, which has two.
func TestLigatureOfArabic(t *testing.T) {
	t.Parallel()
	one, two := Rect{Left: 10, Right: 20, Top: 12}, Rect{Left: 5, Right: 9, Top: 12}
	left, right := Rect{Left: 10, Right: 15, Top: 12}, Rect{Left: 15, Right: 20, Top: 12} // halves of one
	for _, tt := range []struct {
		name    string
		letters string
		boxes   []Rect
		want    string
	}{
		{"a ligature that was turned, its box parted", "خال", []Rect{two, left, right}, "خلا"},
		{"a ligature in order, its box parted", "لا", []Rect{left, right}, "لا"},
		{"letters of one pitch", "الب", []Rect{left, right, {Left: 20, Right: 25, Top: 12}}, "الب"},
		{"a ligature that was turned", "خال", []Rect{two, one, one}, "خلا"},
		{"a ligature in order", "لا", []Rect{one, one}, "لا"},
		{"letters of any ligature that were turned", "حرش", []Rect{two, one, one}, "حشر"},
		{"three letters in one glyph", "جاس", []Rect{one, one, one}, "ساج"},
		{"a letter and its mark", "\u0651ب", []Rect{one, one}, "ب\u0651"},
		{"letters with marks", "\u0651ب\u0650ل", []Rect{one, one, one, one}, "ل\u0650ب\u0651"},
		{"marks that a text object begins with", "\u05b5א", []Rect{two, one}, "א\u05b5"},
		{"a mark after its letter", "א\u05b5ת", []Rect{two, one, two}, "א\u05b5ת"},
		{"marks of a script that runs from left to right", "\u0947\u0902", []Rect{one, one}, "\u0947\u0902"},
		{"Latin letters", "if", []Rect{one, one}, "if"},
		{"the article", "ال", []Rect{one, two}, "ال"},
		{"no places", "ال", []Rect{{}, {}}, "ال"},
	} {
		r := textReader{}
		for i, letter := range []rune(tt.letters) {
			r.out.Chars = append(r.out.Chars, Char{Rune: letter, Box: tt.boxes[i]})
			r.turnLigature()
		}
		r.out.turnPartedLigatures()
		if got := r.out.string(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLoneGlyphs takes the letters of a ligature for one glyph: they share its box.
func TestLoneGlyphs(t *testing.T) {
	t.Parallel()
	first, second := Rect{Left: 10, Right: 20, Top: 12}, Rect{Left: 20, Right: 25, Top: 12}
	for _, tt := range []struct {
		name  string
		boxes []Rect // of the run's characters
		want  bool
	}{
		{"a letter", []Rect{first}, true},
		{"a ligature", []Rect{first, first}, true},
		{"two letters", []Rect{first, second}, false},
		{"nothing", nil, false},
	} {
		r := textReader{run: 1, out: Text{Chars: []Char{{Rune: 'a', Box: first}}}}
		for _, box := range tt.boxes {
			r.out.Chars = append(r.out.Chars, Char{Rune: 'f', Box: box, Run: 1})
		}
		r.out.Chars = append(r.out.Chars, Char{Rune: ' ', Generated: true, Run: 1})
		if got := r.isLoneGlyph(); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestTightBlanks believes no blank that advance widths leave no room for, but one behind a letter that reaches over
// its width, where PDFium knows the widths of others.
func TestTightBlanks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, font string
		ink, next  float64 // the right edge of the ink before the blank, whose advance width ends at 20; the left edge behind it
		bearing    float64 // from that edge to the ink
		reaching   int     // of ten glyphs
		want       bool
	}{
		{"no room", "F", 19, 20, 0.2, 1, true},
		{"little room", "F", 19, 20.6, 0.2, 1, true},
		{"a blank", "F", 19, 22, 0.2, 1, false},
		{"little room behind ink that reaches over", "F", 20, 20.6, 0.2, 5, false},
		{"little room before ink that reaches over", "F", 19, 20.6, 0, 5, false},
		{"the same in a font of drawings", "", 19, 20.6, 0, 5, true},
		{"no room behind ink that reaches over", "F", 20, 19.5, 0.2, 5, true},
		{"little room where no widths are known", "F", 20, 20.6, 0.2, 10, true},
	} {
		r := textReader{blank: 1, glyphs: 10, reaching: tt.reaching, out: Text{Runs: []Run{{Size: 10}}, Fonts: []Font{{Name: tt.font}},
			Chars: []Char{{Rune: 'f', Box: Rect{Left: 15, Right: tt.ink, Top: 10}}, {Rune: ' ', Generated: true}}}}
		binary.LittleEndian.PutUint32(r.gap[8:], charGenerated|charBefore|charAfter)
		for i, v := range []float64{15, 10, 20, 0, tt.next, 10, tt.next + 5, 0} { // left, top, right and bottom of both
			binary.LittleEndian.PutUint32(r.gap[16+4*i:], math.Float32bits(float32(v)))
		}
		r.out.Chars[1].Tight = r.isTightBlank(Rect{Left: tt.next + tt.bearing, Right: tt.next + 4, Top: 10})
		r.believeDoubtfulBlanks()
		if got := r.out.Chars[1].Tight; got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}
