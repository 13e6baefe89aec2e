package pdfium

import "testing"

// TestLigatureOfArabic puts lam and alef in order, which stand in one place, and leaves the article, which has two.
func TestLigatureOfArabic(t *testing.T) {
	t.Parallel()
	one, two := Rect{Left: 10, Right: 20, Top: 12}, Rect{Left: 5, Right: 9, Top: 12}
	for _, tt := range []struct {
		name    string
		letters string
		boxes   []Rect
		want    string
	}{
		{"a ligature that was turned", "خال", []Rect{two, one, one}, "خلا"},
		{"a ligature in order", "لا", []Rect{one, one}, "لا"},
		{"the article", "ال", []Rect{one, two}, "ال"},
		{"no places", "ال", []Rect{{}, {}}, "ال"},
	} {
		r := textReader{}
		for i, letter := range []rune(tt.letters) {
			r.out.Chars = append(r.out.Chars, Char{Rune: letter, Box: tt.boxes[i]})
			if letter == lam {
				r.turnLigature()
			}
		}
		if got := r.out.string(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
