package textlayer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"
)

func TestFontIsValid(t *testing.T) {
	t.Parallel()
	for _, face := range faces {
		checkValidFont(t, face)
	}
}

func checkValidFont(t *testing.T, face face) {
	t.Helper()
	f, err := sfnt.Parse(buildGlyphlessFont(face))
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
		{'a', 'a'}, {'漢', '漢'}, {'𠀋', 0xD800}, {'𠂉', 0xD801}, {'𠀋', 0xD800}, {0, replacement},
		{0xD900, replacement}, {-1, replacement},
		{0x110000, replacement}, {'b', 'b'}, {'c', 'c'},
	} {
		if got := f.charCode(tt.r); got != tt.want {
			t.Errorf("%U: got %04X, want %04X", tt.r, got, tt.want)
		}
	}
	cmap := string(f.unicodeCMap())
	for _, want := range []string{"<0061> <0063> <0061>\n", "<6F22> <6F22> <6F22>\n", "<D800> <D800> <D840DC0B>\n",
		"<D801> <D801> <D840DC89>\n"} {
		if !strings.Contains(cmap, want) {
			t.Errorf("no %q in %s", want, cmap)
		}
	}
}

// Ends of words that say nothing of their direction are marked in lines that run from right to left.
func TestDirectedWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"שלום": "םולש", "שלום.": "\u200f.םולש", "12": "\u200f12", "(12)": "\u200f(12)\u200e",
		"!": "\u200f!\u200e", "(אב": "בא(",
		"\u200eabc)\u200f": "\u200fabc)\u200e", // as recognition has it, with marks of its own
	} {
		var got []rune
		for _, r := range addDirectionMarks(visualOrder([]rune(in)), true, true) {
			got = append(got, appendMarks(r)...)
		}
		if string(got) != want {
			t.Errorf("%q: got %q, want %q", in, string(got), want)
		}
	}
	for _, tt := range []struct {
		first, last bool
		want        string
	}{{true, false, "\u200f(a)"}, {false, true, "(a)\u200e"}, {false, false, "(a)"}} {
		var got []rune
		for _, r := range addDirectionMarks([]rune("(a)"), tt.first, tt.last) {
			got = append(got, appendMarks(r)...)
		}
		if string(got) != tt.want {
			t.Errorf("a word of several, first %v, last %v: got %q, want %q", tt.first, tt.last, string(got), tt.want)
		}
	}
	f := &Font{used: map[uint16]rune{}, high: map[rune]uint16{}, next: firstSurrogate}
	if got := f.charCode('.' | marksLeft | marksRight); got != firstSurrogate {
		t.Errorf("code: got %04X, want %04X", got, firstSurrogate)
	}
	if want := "<D800> <D800> <200F002E200E>\n"; !strings.Contains(string(f.unicodeCMap()), want) {
		t.Errorf("no %q in %s", want, f.unicodeCMap())
	}
}

// Every edge stays within reach of where it was; what is to be apart is apart, in any direction.
func TestAdjustWords(t *testing.T) {
	t.Parallel()
	type boxes [][4]float64 // as displayed
	for _, tt := range []struct {
		name   string
		texts  string
		in     boxes
		joined bool // two words still are where readers take them for one
	}{
		{"words with a gap", "some words", boxes{{10, 10, 40, 20}, {45, 10, 80, 20}}, false},
		{"words that touch", "some words", boxes{{10, 10, 40, 20}, {40, 10, 80, 20}}, false},
		{"words that overlap a little", "noted ;", boxes{{74, 170, 107, 181}, {106, 169, 110, 183}}, false},
		{"words of different depths", "going on —", boxes{{10, 12, 40, 22}, {41, 12, 60, 20}, {61, 15, 70, 16}}, false},
		{"a narrow word beside tall ones", "A il A", boxes{{10, 10, 30, 18}, {35, 14, 37, 19}, {42, 10, 60, 18}}, false},
		{"words from right to left", "שלום לכם", boxes{{50, 10, 80, 20}, {20, 10, 50, 20}}, false},
		{"words that lie on each other", "one two", boxes{{10, 10, 40, 20}, {12, 10, 38, 20}}, true},
		{"a word without a width", "gedankenloien", boxes{{182, 212, 182.5, 219}}, false},
	} {
		for _, angle := range []int32{0, 90, 180, 270} {
			t.Run(fmt.Sprintf("%s at %d", tt.name, angle), func(t *testing.T) {
				t.Parallel()
				var words []*placedWord
				for i, text := range strings.Fields(tt.texts) {
					turned := &placedWord{}
					turned.setFrame(tt.in[i], 0)
					turned.angle = angle
					x0, y0 := turned.displayPoint(turned.from, turned.base)
					x1, y1 := turned.displayPoint(turned.to, turned.top)
					words = append(words, placeWord([]rune(text), [4]float64{min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)},
						angle))
				}
				checkAdjusted(t, words, tt.joined)
			})
		}
	}
}

func checkAdjusted(t *testing.T, words []*placedWord, joined bool) {
	t.Helper()
	var before []placedWord
	for _, w := range words {
		before = append(before, *w)
	}
	face := regularFace
	if !adjustWords(words, maxShiftPoints) {
		face = smallFace
	}
	for i, w := range words {
		was := before[i]
		if w.isNarrow() {
			t.Errorf("%s: characters of %.2f at a size of %.2f", string(w.runes), w.charPitch(), w.fontSize(regularFace))
		}
		for _, moved := range []float64{w.from - was.from, w.to - was.to, w.base - was.base, w.top - was.top} {
			if math.Abs(moved) > maxShiftPoints+1e-9 {
				t.Errorf("%s: an edge is moved by %.2f, want at most %.2f", string(w.runes), moved, maxShiftPoints)
			}
		}
		if w.to-w.from < minExtent || w.top-w.base < minExtent {
			t.Errorf("%s: got %+v, want an extent", string(w.runes), *w)
		}
		if i == 0 {
			continue
		}
		a, b := words[i-1], w
		if b.from < a.from {
			a, b = b, a
		}
		const read = 0.15 // of the size of the font, where pdftotext -raw sees two words
		if apart := b.from-a.to > read*max(a.fontSize(face), b.fontSize(face)); apart == joined {
			t.Errorf("%s and %s: apart %v, %.2f at a size of %.2f", string(a.runes), string(b.runes), apart, b.from-a.to,
				a.fontSize(face))
		}
	}
}

func TestCodesRunOut(t *testing.T) {
	t.Parallel()
	f := &Font{used: map[uint16]rune{}, high: map[rune]uint16{}, next: firstSurrogate}
	f.charCode(0xE000) // a private character keeps its own code
	seen := map[uint16]bool{0xE000: true}
	last := uint16(0)
	for r := rune(0x20000); last != replacement; r++ {
		if last = f.charCode(r); last != replacement && seen[last] {
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
		"word": "word", "שלום": "םולש", "שלום2024": "2024םולש", "": "", " a\tb\x00": "ab",
		"مرحبا": "ابحرم", "שלום.": ".םולש", "ב-12.5%": "%12.5-ב",
	} {
		if got := string(visualOrder([]rune(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
