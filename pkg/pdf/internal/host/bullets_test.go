package host

import (
	"testing"

	"inkstream.dev/pkg/pdf/internal/pdfium"
)

// TestAddBullets adds bullets for discs that stand below each other before lines, and for no others.
func TestAddBullets(t *testing.T) {
	t.Parallel()
	// Three lines of type of 10 points, that begin at 100 and whose small letters reach from 0 to 5 above their baselines.
	text := func() *pdfium.Text {
		out := &pdfium.Text{Runs: []pdfium.Run{{Size: 10, DirX: 1}}}
		for _, y := range []float64{700, 680, 660} {
			for i, r := range "sea" {
				x := 100 + 5*float64(i)
				out.Chars = append(out.Chars, pdfium.Char{Rune: r, Box: pdfium.Rect{Left: x, Bottom: y, Right: x + 4, Top: y + 5}})
			}
			out.Chars = append(out.Chars, pdfium.Char{Rune: '\n', Generated: true})
		}
		return out
	}
	discAt := func(x, y, side float64) pdfium.Rect {
		return pdfium.Rect{Left: x, Bottom: y, Right: x + side, Top: y + side}
	}
	for _, tt := range []struct {
		name  string
		discs []pdfium.Rect
		want  string
	}{
		{"two below each other", []pdfium.Rect{discAt(90, 661, 4), discAt(90, 701, 4)}, "• sea\nsea\n• sea\n"},
		{"one", []pdfium.Rect{discAt(90, 701, 4)}, "sea\nsea\nsea\n"},
		{"not below each other", []pdfium.Rect{discAt(90, 661, 4), discAt(85, 701, 4)}, "sea\nsea\nsea\n"},
		{"far from the text", []pdfium.Rect{discAt(60, 661, 4), discAt(60, 701, 4)}, "sea\nsea\nsea\n"},
		{"too large", []pdfium.Rect{discAt(88, 659, 9), discAt(88, 699, 9)}, "sea\nsea\nsea\n"},
		{"between lines", []pdfium.Rect{discAt(90, 670, 4), discAt(90, 690, 4)}, "sea\nsea\nsea\n"},
		{"within lines", []pdfium.Rect{discAt(105, 661, 4), discAt(105, 701, 4)}, "sea\nsea\nsea\n"},
	} {
		got := text()
		addBullets(got, tt.discs, 1)
		var runes []rune
		for _, c := range got.Chars {
			runes = append(runes, c.Rune)
		}
		if string(runes) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, string(runes), tt.want)
		}
	}
}
