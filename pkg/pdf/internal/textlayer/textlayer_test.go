package textlayer

import (
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"
)

func TestFontIsSound(t *testing.T) {
	t.Parallel()
	f, err := sfnt.Parse(glyphless())
	if err != nil {
		t.Fatal(err)
	}
	if got := f.NumGlyphs(); got != 2 {
		t.Errorf("glyphs: got %d, want 2", got)
	}
	if got := f.UnitsPerEm(); got != unitsPerEm {
		t.Errorf("units: got %d, want %d", got, unitsPerEm)
	}
	var b sfnt.Buffer
	for glyph, want := range []int{0, 5} {
		segments, err := f.LoadGlyph(&b, sfnt.GlyphIndex(glyph), unitsPerEm<<6, nil)
		if err != nil || len(segments) != want {
			t.Errorf("glyph %d: %d segments, want %d, error %v", glyph, len(segments), want, err)
		}
	}
}

func TestCodesAreCharacters(t *testing.T) {
	t.Parallel()
	f := &Font{used: map[uint16]rune{}, high: map[rune]uint16{}, next: firstSurrogate}
	for _, tt := range []struct {
		r    rune
		want uint16
	}{
		{'a', 'a'}, {'漢', '漢'}, {'𠀋', 0xD800}, {'𠂉', 0xD801}, {'𠀋', 0xD800}, {0, replacement}, {0xD900, replacement}, {-1, replacement},
		{0x110000, replacement}, {'b', 'b'}, {'c', 'c'},
	} {
		if got := f.code(tt.r); got != tt.want {
			t.Errorf("%U: got %04X, want %04X", tt.r, got, tt.want)
		}
	}
	cmap := string(f.toUnicode())
	for _, want := range []string{"<0061> <0063> <0061>\n", "<6F22> <6F22> <6F22>\n", "<D800> <D800> <D840DC0B>\n", "<D801> <D801> <D840DC89>\n"} {
		if !strings.Contains(cmap, want) {
			t.Errorf("no %q in %s", want, cmap)
		}
	}
}

func TestCodesRunOut(t *testing.T) {
	t.Parallel()
	f := &Font{used: map[uint16]rune{}, high: map[rune]uint16{}, next: firstSurrogate}
	f.code(0xE000) // a private character keeps its own code
	seen := map[uint16]bool{0xE000: true}
	last := uint16(0)
	for r := rune(0x20000); last != replacement; r++ {
		if last = f.code(r); last != replacement && seen[last] {
			t.Fatalf("%U: code %04X is taken", r, last)
		}
		seen[last] = true
	}
	if want := lastPrivate - firstSurrogate + 2; len(seen) != want {
		t.Errorf("codes: got %d, want %d", len(seen), want)
	}
}

func TestVisualOrder(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"word": "word", "שלום": "םולש", "שלום2024": "2024םולש", "": "", " a\tb\x00": "ab", "مرحبا": "ابحرم",
	} {
		if got := string(visual([]rune(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
