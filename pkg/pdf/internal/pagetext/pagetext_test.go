package pagetext

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdf/internal/pdfium"
)

const (
	pageWidth  = 600
	pageHeight = 800
)

var upright = Frame{Display: func(x, y float64) (float64, float64) { return x, pageHeight - y }, Width: pageWidth,
	Height: pageHeight}

// textSetter writes characters as PDFium would list them: 6 points wide, 10 high, a run for each call.
type textSetter struct{ text pdfium.Text }

func (s *textSetter) addRun(x, y float64, chars string, change ...func(*pdfium.Run)) *textSetter {
	if len(s.text.Fonts) == 0 {
		s.text.Fonts = []pdfium.Font{{Name: "ABCDEF+Helvetica-Bold", Weight: 700, Color: 0x12ab00}}
	}
	r := pdfium.Run{Size: 10, DirX: 1, Loose: pdfium.Rect{Left: x, Bottom: y - 2, Right: x + 6, Top: y + 8}}
	for _, c := range change {
		c(&r)
	}
	s.text.Runs = append(s.text.Runs, r)
	length := math.Hypot(r.DirX, r.DirY)
	for _, c := range chars {
		box := pdfium.Rect{Left: x, Bottom: y, Right: x + 5, Top: y + 7}
		s.text.Chars = append(s.text.Chars, pdfium.Char{Rune: c, Box: box, Run: int32(len(s.text.Runs) - 1)})
		x, y = x+6*r.DirX/length, y+6*r.DirY/length
	}
	return s
}

// addDash adds a character whose ink is that of a hyphen.
func (s *textSetter) addDash(x, y float64, r rune) *textSetter {
	s.addRun(x, y, string(r))
	box := &s.text.Chars[len(s.text.Chars)-1].Box
	box.Bottom, box.Top = y+2, y+3
	return s
}

// addGenerated adds a character that PDFium made up.
func (s *textSetter) addGenerated(r rune) *textSetter {
	s.text.Chars = append(s.text.Chars, pdfium.Char{Rune: r, Generated: true, Run: int32(len(s.text.Runs) - 1)})
	return s
}

// formatText writes the result as text: a blank between words, a slash between lines, two between blocks.
func formatText(t Text) string {
	var blocks []string
	for _, b := range t.Blocks {
		var lines []string
		for _, l := range b.Lines {
			var words []string
			for _, w := range l.Words {
				words = append(words, w.Text)
			}
			lines = append(lines, strings.Join(words, " "))
		}
		blocks = append(blocks, strings.Join(lines, "/"))
	}
	return strings.Join(blocks, "//")
}

func TestBuildText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		text *textSetter
		want string
	}{
		{"a line without blanks that leaves the page", new(textSetter).addRun(570, 700, "0123456789abcdef"), "01234"},
		{"a word that leaves the page", new(textSetter).addRun(570, 700, "012345678"), "012345678"},
		{"one that comes from outside", new(textSetter).addRun(-90, 700, "0123456789abcdefghi"), "fghi"},
		{"one that is not seen", new(textSetter).addRun(650, 700, "away"), ""},
		{"one of which the page's edge leaves a strip", new(textSetter).addRun(50, -5, "High ox"), "High ox"},
		{"one of which it leaves less", new(textSetter).addRun(50, -7, "High ox"), ""},
		{"a line printed anew after the whole of it", new(textSetter).addRun(50, 700, "one two three").addGenerated('\r').
			addRun(50, 688, "four").addGenerated('\r').addRun(50.9, 700.9, "one two three"), "one two three/four"},
		{"the same words elsewhere", new(textSetter).addRun(50, 700, "one two").addGenerated('\r').
			addRun(50, 698, "one two"), "one two//one two"},
		{"words and lines", new(textSetter).addRun(50, 700, "one two").addGenerated('\r').addGenerated('\n').addRun(50, 688,
			"three"), "one two/three"},
		{"made-up blank", new(textSetter).addRun(50, 700, "one").addGenerated(' ').addRun(80, 700, "two"), "one two"},
		{"no-break and ideographic blanks part words", new(textSetter).addRun(50, 700, "one\u00a0two\u3000three"),
			"one two three"},
		{"hyphen at the end of a line", new(textSetter).addRun(50, 700, "exam\x02").addRun(50, 688, "ple"), "exam-/ple"},
		{"hyphen at the end of a line within a run", new(textSetter).addRun(50, 700, "exam\ufffe").addRun(50, 699, "ple"),
			"exam-//ple"},
		{"hyphen within a line", new(textSetter).addRun(50, 700, "exam\x02ple"), "exam-ple"},
		{"soft hyphens", new(textSetter).addRun(50, 700, "ex\u00adam\u00ad").addGenerated('\n').addRun(50, 688, "ple"),
			"exam-/ple"},
		{"soft hyphens that are drawn", new(textSetter).addRun(50, 700, "co").addDash(62, 700, softHyphen).
			addRun(68, 700, "work").addDash(92, 700, softHyphen).addRun(50, 688, "er"), "co-work-/er"},
		{"zero-width characters", new(textSetter).addRun(50, 700, "\ufeffo\u200bn\u2060e"), "one"},
		{"joiners stay", new(textSetter).addRun(50, 700, "a\u200cb"), "a\u200cb"},
		{"control characters go", new(textSetter).addRun(50, 700, "o\x01n\u0086e\ufffd"), "one"},
		{"ligature parts share a place", ligatureText("off"), "off"},
		{"bold by overprinting", new(textSetter).addRun(50, 700, "A").addRun(50.3, 700, "A").addRun(56, 700,
			"B").addRun(56.3, 700, "B"), "AB"},
		{"blocks", new(textSetter).addRun(50, 700, "one").addGenerated('\n').addRun(50, 688,
			"two").addGenerated('\n').addRun(50, 600, "three"), "one/two//three"},
		{"a run above the line", new(textSetter).addRun(50, 700, "one").addRun(70, 750, "two"), "one//two"},
		{"cells set from right to left in one run", cellsFromRight("two", "one"), "two//one"},
		{"letters of Hebrew", cellsFromRight("ב", "א"), "בא"},
		{"a raised mark stays", new(textSetter).addRun(50, 700, "one").addRun(68, 703, "2"), "one2"},
		{"off the page", new(textSetter).addRun(50, 700, "one").addGenerated('\n').addRun(900, 700,
			"two").addGenerated('\n').addRun(50, 688, "three"), "one/three"},
		{"beyond Unicode's first plane", new(textSetter).addRun(50, 700, "𝑄𝑄"), "𝑄𝑄"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := formatText(BuildText(tt.text.text, upright)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// cellsFromRight sets two cells of a row in one run, the right one first.
func cellsFromRight(right, left string) *textSetter {
	s := new(textSetter).addRun(200, 700, right)
	n := len(s.text.Chars)
	s.addRun(50, 700, left)
	s.text.Runs = s.text.Runs[:1]
	for i := range s.text.Chars[n:] {
		s.text.Chars[n+i].Run = 0
	}
	return s
}

// ligatureText sets characters whose last two share one glyph's box.
func ligatureText(chars string) *textSetter {
	s := new(textSetter).addRun(50, 700, chars)
	n := len(s.text.Chars)
	s.text.Chars[n-1].Box = s.text.Chars[n-2].Box
	return s
}

func TestBoxesAndFonts(t *testing.T) {
	t.Parallel()
	text := BuildText(new(textSetter).addRun(50, 700, "one").text, upright)
	word := text.Blocks[0].Lines[0].Words[0]
	// Across by the glyphs, up and down by ascent and descent.
	if got, want := fmt.Sprint(word.Bbox), "[50 92 67 102]"; got != want {
		t.Errorf("box: got %s, want %s", got, want)
	}
	if word.Size != 10 || word.Font != 1 {
		t.Errorf("got size %v, font %d, want 10 and 1", word.Size, word.Font)
	}
	if f := text.Fonts[0]; f.Name != "Helvetica-Bold" || f.Weight != 700 || f.Color != "#12ab00" {
		t.Errorf("font: got %v", f)
	}
}

func TestInvisibleTextHasNoFont(t *testing.T) {
	t.Parallel()
	text := BuildText(new(textSetter).addRun(50, 700, "layer", func(r *pdfium.Run) { r.Invisible = true }).text, upright)
	if word := text.Blocks[0].Lines[0].Words[0]; word.Text != "layer" || word.Size != 0 || word.Font != 0 {
		t.Errorf("got %q of size %v, font %d, want it without size and font", word.Text, word.Size, word.Font)
	}
	if len(text.Fonts) > 0 {
		t.Errorf("fonts: got %v, want none", text.Fonts)
	}
}

func TestAngles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ x, y, want float64 }{{1, 0, 0}, {0, 1, 270}, {-1, 0, 180}, {0, -1, 90}, {1, 0.2, 0}} {
		s := new(textSetter).addRun(300, 400, "one two", func(r *pdfium.Run) { r.DirX, r.DirY = tt.x, tt.y })
		text := BuildText(s.text, upright)
		if len(text.Blocks) != 1 || len(text.Blocks[0].Lines) != 1 {
			t.Errorf("direction %v,%v: got %q, want one line", tt.x, tt.y, formatText(text))
			continue
		}
		if got := text.Blocks[0].Lines[0].Angle; got != int32(tt.want) {
			t.Errorf("direction %v,%v: angle: got %d, want %v", tt.x, tt.y, got, tt.want)
		}
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	s := new(textSetter).addRun(50, 700, "ab \x01\ue000\ufffdcd").addRun(50, 688, "xyz",
		func(r *pdfium.Run) { r.Invisible = true }).addRun(900, 688, "off the page")
	for i := range s.text.Chars {
		s.text.Chars[i].Asked, s.text.Chars[i].Unmapped = i%2 == 0, i == 0
	}
	got := BuildText(s.text, upright).Stats
	if got.Chars != 10 || got.Bad != 3 || got.Invisible != 3 || got.Unmapped != 1 || got.Asked != 5 {
		t.Errorf("got %+v, want 10 characters, 3 bad, 3 invisible, 1 of 5 unmapped", got)
	}
}

func TestIsOddWord(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"fdeet!fted", "sit*ee", "epOeEr", "melOr", "rew'soes'd", "|,", "\\eeees.", "aaaa", "C}",
	} {
		if !IsOddWord(word) {
			t.Errorf("%q: got sound, want odd", word)
		}
	}
	for _, word := range []string{
		"word", "don't", "McKinley", "PDFium", "JavaScript", "http://a.b/c~d", "someone@example.org", "“quoted”", "(see",
		"1024x768", "3.1415",
		"and/or", "re-entry", "Größe", "слово", "言葉", "कविता", "....", "—", "U.S.A.", "x=1", "§12",
		"*", "tempera-", "HOUSE", "iPhone",
	} {
		if IsOddWord(word) {
			t.Errorf("%q: got odd, want sound", word)
		}
	}
}

func TestFontNameIsBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, want string }{
		{"", ""},
		{"Helvetica", "Helvetica"},
		{"ABCDEF+Times", "Times"},
		{"abcdef+Times", "abcdef+Times"},
		{"ABCDEF+", ""},
		{strings.Repeat("n", 16<<10), strings.Repeat("n", maxFontName)},
		{strings.Repeat("n", maxFontName-1) + "\u00e9", strings.Repeat("n", maxFontName-1)},
	} {
		if got := baseFontName(tt.name); got != tt.want {
			t.Errorf("baseFontName(%.20q…) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWordsHeapedInOnePlace(t *testing.T) {
	t.Parallel()
	heap := new(textSetter)
	for i := range 20_000 { // in a time that grows with their number
		heap.addRun(50, 700, fmt.Sprint("w", i)).addGenerated('\r')
	}
	heap.addRun(50, 700, "w19999")
	if words := strings.FieldsFunc(formatText(BuildText(heap.text, upright)), func(r rune) bool {
		return r == '/' || r == ' '
	}); len(words) != 20_000 {
		t.Errorf("%d words", len(words))
	}
}

// TestTeXFonts reads ligatures, dashes and quotation marks of fonts without names and tables, and nothing where the
// words say that the codes are something else.
func TestTeXFonts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, font, text, want string
	}{
		{"the encoding of Computer Modern", "", "classi\fers at She\x0eeld|o\x0b \\a" + `"` + " 1{2", "classifiers at Sheffield—off “a” 1–2"},
		{"that of Cork", "", "Di\x1berent o\x1ecers\x15", "Different officers–"},
		{"a font with a name", "Charter", "She\x0eeld", "Sheeld"},
		{"Greek letters", "", "x \x0b y \f z sin\x0b", "x y z sin"},
		{"codes of the file's own", "", "Fun\x0ftional Rea\x0ftive", "Funtional Reative"},
		{"that look like one of the ligatures", "", "S\x0fien\x0fe", "Siene"},
		{"codes of the file's own for all letters", "", "She\x0eeld \x01\x03", "Sheeld"},
	} {
		text := new(textSetter).addRun(50, 700, tt.text).text
		text.Fonts = []pdfium.Font{{Name: tt.font}}
		if got := formatText(BuildText(text, upright)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestWordsWithoutPlace keeps words of glyphs that have no outlines and whose font says nothing of their place, alike or not.
func TestWordsWithoutPlace(t *testing.T) {
	t.Parallel()
	text := new(textSetter).addRun(50, 700, "the pear the pear").text
	for i := range text.Chars {
		text.Chars[i].Box = pdfium.Rect{Left: math.NaN(), Right: math.NaN(), Bottom: math.NaN(), Top: math.NaN()}
	}
	text.Runs[0].Loose = text.Chars[0].Box
	if got, want := formatText(BuildText(text, upright)), "the pear the pear"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
