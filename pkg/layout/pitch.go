package layout

import (
	"math"
	"unicode"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// fontPitch gathers how wide the words of one font are.
type fontPitch struct {
	words              map[string]bool // different ones, as many as are needed
	runes              int             // in them
	minPitch, maxPitch float64         // the pitches, in parts of the size, that all words allow
}

const (
	minPitchWords  = 20  // so many different words tell a font of fixed pitch from one in which some words happen to be as wide
	minPitchRunes  = 120 // with so many letters
	maxSideBearing = 0.4 // how much of its pitch a letter may leave free on one side
)

// detectFixedPitch finds the fonts of fixed pitch that do not say so and are not known by their names: those in which
// every word is as wide as it has letters. A font that text of other scripts is set in too is none.
func (s *styles) detectFixedPitch(lines []inputLine) {
	fonts := make([]*fontPitch, len(s.fonts)+1) // by the number of the font's name
	for _, line := range lines {
		if line.angle%90 != 0 {
			continue
		}
		for _, w := range line.words {
			st := s.fontStyleOf(w)
			if st.name == 0 || st.mono || st.symbols || w.GetSize() <= 0 {
				continue
			}
			if fonts[st.name] == nil {
				fonts[st.name] = &fontPitch{maxPitch: math.Inf(1)}
			}
			if f := fonts[st.name]; f.minPitch <= f.maxPitch {
				f.addWord(w, rotation(line.angle))
			}
		}
	}
	for i := range s.fonts {
		if f := fonts[s.fonts[i].name]; f != nil && f.minPitch <= f.maxPitch && len(f.words) >= minPitchWords &&
			f.runes >= minPitchRunes {
			s.fonts[i].mono = true
		}
	}
}

func (f *fontPitch) addWord(w *inkstreamv1.Word, t rotation) {
	text := w.GetText()
	if !isASCII(text) {
		for _, r := range text {
			if r > unicode.MaxLatin1 && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
				f.minPitch = math.Inf(1)
			}
		}
		return
	}
	if !isLatinWord(text) {
		return
	}
	n := float64(len(text))
	width := t.rotateRect(rectFromBox(w.GetBbox())).width() / float64(w.GetSize())
	f.minPitch, f.maxPitch = max(f.minPitch, 0.98*width/n), min(f.maxPitch, 1.02*width/(n-2*maxSideBearing))
	if len(f.words) < minPitchWords && !f.words[text] {
		if f.words == nil {
			f.words = make(map[string]bool, minPitchWords)
		}
		f.words[text] = true
		f.runes += len(text)
	}
}

// isLatinWord reports whether a word has at least four signs, letters of the Latin alphabet at both ends, and none
// from beyond ASCII. Digits are as wide as one another in most fonts, and tell nothing.
func isLatinWord(text string) bool {
	letter := func(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }
	return len(text) >= 4 && letter(text[0]) && letter(text[len(text)-1]) && isASCII(text)
}
