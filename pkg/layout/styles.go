package layout

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// styles knows the fonts of a page, and which way the text that is looked at is turned.
type styles struct {
	fonts    []fontStyle
	rotation rotation
	em       float64
	runsIn   bool // see findRunIns
	leads    bool // likewise
	// pitch is the distance of baselines within the page's paragraphs, where that is even; else 0.
	pitch float64
	// typescript says that fixed pitch tells no code: see detectTypescript.
	typescript bool
	// codeNumbers are the numbers that count lines of code, each with the style of the code: see markNumberedCode.
	codeNumbers map[*inkstreamv1.Word]fontStyle
	links       []*inkstreamv1.Link // of the page
}

// findRunIns finds out whether text begins with bold words more often than bold lines stand alone, as in
// advertisements and entries, and whether bold words stand hardly anywhere else: then each begins a paragraph.
func (s *styles) findRunIns(lines []inputLine) {
	const fewest = 4
	const mostWithin = 0.2 // of the lines that begin so
	runIns, alone, within := 0, 0, 0
	for i, line := range lines {
		if n := len(line.words); n == 0 || !s.fontStyleOf(line.words[0]).bold {
			if slices.ContainsFunc(line.words, func(w *inkstreamv1.Word) bool { return s.fontStyleOf(w).bold }) {
				within++
			}
		} else if s.fontStyleOf(line.words[n-1]).bold {
			if !s.hasNoRoomForNext(lines[i:]) {
				alone++
			}
		} else {
			runIns++
		}
	}
	s.runsIn = runIns >= fewest && runIns > alone
	s.leads = s.runsIn && float64(within) <= mostWithin*float64(runIns)
}

// measurePitch finds out how far apart the lines of the page's paragraphs stand, in type of its usual size: of two that
// follow each other, the first ends no sentence, and the second begins with a small letter at the same place.
func (s *styles) measurePitch(lines []inputLine) {
	const fewest, enough, near, most, alike = 6, 48, 0.3, 2.2, 0.04 // lines, lines, ems, ems, a part of the size
	var steps []float64
	for i := 1; i < len(lines) && len(steps) < enough; i++ {
		first, second := lines[i-1].words, lines[i].words
		if len(first) == 0 || len(second) == 0 || !startsLower(second[0].GetText()) || isSentenceEnd(lastRune(first[len(first)-1].GetText())) ||
			math.Abs(float64(second[0].GetSize())-s.em) > alike*s.em || first[0].GetSize() != second[0].GetSize() ||
			!s.typescript && s.fontStyleOf(second[0]).mono {
			continue
		}
		above, below := s.rotation.rotateRect(rectFromBox(first[0].GetBbox())), s.rotation.rotateRect(rectFromBox(second[0].GetBbox()))
		if math.Abs(above.x0-below.x0) > near*s.em || below.y1-above.y1 > 2*most*s.em {
			continue
		}
		step := measureExtent(second, s.rotation).baseline - measureExtent(first, s.rotation).baseline
		if step > 0.5*s.em && step < most*s.em {
			steps = append(steps, step)
		}
	}
	if middle := median(steps); len(steps) >= fewest && float64(countNear(steps, middle, lineSlack*middle)) >= evenShare*float64(len(steps)) {
		s.pitch = middle
	}
}

// hasNoRoomForNext reports whether the first word of the second line, right below the first or at an indent, had no
// room in that: the lines that begin there end before where it would.
func (s *styles) hasNoRoomForNext(lines []inputLine) bool {
	const near, hang, pitch, most = 0.3, 2.5, 2.0, 6 // ems; lines
	first := s.rotation.rotateRect(boundingBox(lines[0].words))
	end, right, before := math.Inf(-1), first.x1, first
	for i, line := range lines[1:min(most, len(lines))] {
		if len(line.words) == 0 {
			break
		}
		next := s.rotation.rotateRect(boundingBox(line.words))
		if next.x0 < first.x0-near*s.em || next.x0 > first.x0+hang*s.em || next.y1 <= before.y1 || next.y1-before.y1 > pitch*s.em {
			break
		}
		if i == 0 {
			end = first.x1 + blankShare*s.em + s.rotation.rotateRect(rectFromBox(line.words[0].GetBbox())).width()
		}
		right, before = max(right, next.x1), next
	}
	return end > right
}

// fontStyle is what a font says about the text that is set in it.
type fontStyle struct {
	name                              int // the same for fonts of one name
	bold, italic, mono, math, symbols bool
}

func newStyles(fonts []*inkstreamv1.Font) *styles {
	s := &styles{fonts: make([]fontStyle, len(fonts)+1)}
	names := map[string]int{}
	for i, f := range fonts {
		name := names[f.GetName()]
		if name == 0 {
			name = len(names) + 1
			names[f.GetName()] = name
		}
		s.fonts[i+1] = fontStyle{name: name, bold: IsBoldFont(f), italic: f.GetItalic(), mono: IsMonospaceFont(f),
			math: isMathFont(f.GetName()), symbols: isSymbolFont(f.GetName())}
	}
	return s
}

func (s *styles) fontStyleOf(w *inkstreamv1.Word) fontStyle {
	if len(s.codeNumbers) > 0 {
		if code, ok := s.codeNumbers[w]; ok {
			return code
		}
	}
	if n := int(w.GetFont()); n > 0 && n < len(s.fonts) {
		return s.fonts[n]
	}
	return fontStyle{}
}

// isMonospaced reports whether all words are set in a font of fixed pitch.
func (s *styles) isMonospaced(words []*inkstreamv1.Word) bool {
	for _, w := range words {
		if !s.fontStyleOf(w).mono {
			return false
		}
	}
	return len(words) > 0
}

// IsBoldFont reports whether a font is a bold one, by its name, or by its weight where the name says nothing of that.
// What files tell as the weight is often a guess.
func IsBoldFont(f *inkstreamv1.Font) bool {
	name := strings.ToLower(f.GetName())
	for _, mark := range []string{"bold", "black", "heavy", "demi", "-bd", ",bd"} {
		if strings.Contains(name, mark) {
			return true
		}
	}
	if tex := texFont.FindStringSubmatch(name); tex != nil {
		return strings.Contains(tex[1], "bx") || texBold[tex[1]]
	}
	if at := strings.LastIndexAny(name, "-,"); at >= 0 && plainStyles[name[at+1:]] {
		return false
	}
	return f.GetWeight() >= 600
}

// texFont matches the names of TeX's fonts, which say what is bold: family, style and size, as in CMR12 or SFTI1095.
var texFont = regexp.MustCompile(`^(?:cm|ec|tc|sf|la|eu|ms)([a-z]{1,6})\d{1,4}$`)

// texBold are the bold styles of those without bx, for bold extended, in their names.
var texBold = map[string]bool{"b": true, "bi": true, "bl": true, "rb": true, "sx": true, "so": true, "xc": true, "bsy": true,
	"mib": true, "fb": true, "sb": true, "syb": true}

// plainStyles are the styles, as they stand at the end of fonts' names, of which none is bold.
var plainStyles = map[string]bool{"regular": true, "roman": true, "book": true, "italic": true, "oblique": true, "ital": true,
	"it": true, "light": true, "lightitalic": true, "medium": true, "mediumitalic": true, "regularitalic": true, "bookitalic": true}

// IsMonospaceFont reports whether a font has a fixed pitch, by what the document says of it or by its name.
func IsMonospaceFont(f *inkstreamv1.Font) bool {
	name := strings.ToLower(f.GetName())
	for _, mark := range []string{"courier", "mono", "consol", "typewriter", "cmtt", "sftt", "cmsltt", "menlo",
		"lettergothic", "inconsolata", "fixed"} {
		if strings.Contains(name, mark) {
			return true
		}
	}
	// Fonts for East Asian text have one pitch too, and are no typewriter's.
	return f.GetFixedPitch() && isASCII(f.GetName()) && !isEastAsianFontName(name)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func isEastAsianFontName(name string) bool {
	for _, mark := range []string{"gothic", "mincho", "ming", "song", "simsun", "simhei", "hei", "kai", "batang", "dotum",
		"gulim", "cjk", "ryumin", "meiryo", "yahei", "pmingliu", "ipa"} {
		if strings.Contains(name, mark) {
			return true
		}
	}
	return false
}

// isMathFont reports whether a font holds the letters and signs of formulas.
func isMathFont(name string) bool {
	name = strings.ToLower(name)
	for _, mark := range []string{"cmmi", "cmsy", "cmex", "msam", "msbm", "math", "eufm", "mtmi", "mtsy", "symbolmt"} {
		if strings.Contains(name, mark) {
			return true
		}
	}
	return false
}

// symbolFonts are parts of the names of fonts whose characters are signs.
var symbolFonts = []string{"wingding", "dingbat", "webding", "bullet", "marlett", "typographicsymbol", "iconicsymbol"}

// isSymbolFont reports whether a font holds signs in the places of letters: a lone letter of it is a bullet.
func isSymbolFont(name string) bool {
	name = strings.ToLower(name)
	for _, mark := range symbolFonts {
		if strings.Contains(name, mark) {
			return true
		}
	}
	return false
}

// lineStyle is what a line of text looks like.
type lineStyle struct {
	size         float64 // of most of its text; 0 where unknown
	bold, italic bool    // all of it
	mono         bool
	font         int     // number of the one font that all words with letters are set in; 0 where there are several
	math         float64 // share of letters that are set in a font for formulas, or are signs of one
}

// lineStyleOf tells the style of a line.
func (s *styles) lineStyleOf(words []*inkstreamv1.Word) lineStyle {
	out := lineStyle{bold: true, italic: true, mono: true}
	total, most, math, lettered := 0, 0, 0, false
	var sizes [8]struct {
		size float32
		n    int
	}
	for _, w := range words {
		n := utf8.RuneCountInString(w.GetText())
		st := s.fontStyleOf(w)
		total += n
		if countLetters(w.GetText()) > 0 {
			out.bold, out.italic = out.bold && st.bold, out.italic && st.italic
			switch {
			case !lettered:
				out.font, lettered = st.name, true
			case out.font != st.name:
				out.font = 0
			}
		}
		out.mono = out.mono && st.mono
		if st.math || isMathSigns(w.GetText()) {
			math += n
		}
		for i := range sizes {
			if sizes[i].n == 0 || sizes[i].size == w.GetSize() {
				sizes[i].size = w.GetSize()
				sizes[i].n += n
				if sizes[i].n > most {
					most, out.size = sizes[i].n, float64(sizes[i].size)
				}
				break
			}
		}
	}
	if total > 0 {
		out.math = float64(math) / float64(total)
	}
	if len(words) == 0 {
		return lineStyle{}
	}
	return out
}

// isMathSigns reports whether a word is made of mathematical signs and Greek letters alone.
func isMathSigns(text string) bool {
	some := false
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			return false
		case r >= 0x2200 && r <= 0x22ff || r >= 0x2a00 && r <= 0x2aff || r >= 0x1d400 && r <= 0x1d7ff ||
			strings.ContainsRune("=+×÷±∑∏√∫", r):
			some = true
		case unicode.IsLetter(r):
			return false
		}
	}
	return some
}
