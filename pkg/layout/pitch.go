package layout

import (
	"math"
	"unicode"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// pitchOf gathers how wide the words of one font are.
type pitchOf struct {
	words       map[string]bool // different ones, as many as are needed
	runes       int             // in them
	least, most float64         // the pitches, in parts of the size, that all words allow
}

const (
	pitchWords = 20  // so many different words tell a font of fixed pitch from one in which some words happen to be as wide
	pitchRunes = 120 // with so many letters
	bearing    = 0.4 // how much of its pitch a letter may leave free on one side
)

// measure finds the fonts of fixed pitch that do not say so and are not known by their names: those in which every word is as wide as it has
// letters. A font that text of other scripts is set in too is none.
func (s *styles) measure(lines []inputLine) {
	fonts := make([]*pitchOf, len(s.fonts)+1) // by the number of the font's name
	for _, line := range lines {
		if line.angle%90 != 0 {
			continue
		}
		for _, w := range line.words {
			st := s.of(w)
			if st.name == 0 || st.mono || st.symbols || w.GetSize() <= 0 {
				continue
			}
			if fonts[st.name] == nil {
				fonts[st.name] = &pitchOf{most: math.Inf(1)}
			}
			if f := fonts[st.name]; f.least <= f.most {
				f.add(w, turn(line.angle))
			}
		}
	}
	for i := range s.fonts {
		if f := fonts[s.fonts[i].name]; f != nil && f.least <= f.most && len(f.words) >= pitchWords && f.runes >= pitchRunes {
			s.fonts[i].mono = true
		}
	}
}

func (f *pitchOf) add(w *inkstreamv1.Word, t turn) {
	text := w.GetText()
	if !isASCII(text) {
		for _, r := range text {
			if r > unicode.MaxLatin1 && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
				f.least = math.Inf(1)
			}
		}
		return
	}
	if !spelled(text) {
		return
	}
	n := float64(len(text))
	width := t.apply(boxOf(w.GetBbox())).width() / float64(w.GetSize())
	f.least, f.most = max(f.least, 0.98*width/n), min(f.most, 1.02*width/(n-2*bearing))
	if len(f.words) < pitchWords && !f.words[text] {
		if f.words == nil {
			f.words = make(map[string]bool, pitchWords)
		}
		f.words[text] = true
		f.runes += len(text)
	}
}

// spelled reports whether a word has at least four signs, letters of the Latin alphabet at both ends, and none from beyond ASCII. Digits are as
// wide as one another in most fonts, and tell nothing.
func spelled(text string) bool {
	letter := func(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }
	return len(text) >= 4 && letter(text[0]) && letter(text[len(text)-1]) && isASCII(text)
}
