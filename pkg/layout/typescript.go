package layout

import (
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// codeSigns are signs that words of programs have and those of prose hardly do.
const codeSigns = "{}[]<>=_\\|#*+~^@&"

// detectTypescript looks whether the page is written in a font of fixed pitch and is prose, as transcripts and other
// typescript are: then the font does not tell code.
func (s *styles) detectTypescript(lines []inputLine) {
	const most, mostSigns, leastWords, fewest = 0.6, 0.03, 0.7, 60 // shares of all, of fixed pitch twice; words
	all, fixed, signs, written := 0, 0, 0, 0
	for _, line := range lines {
		for _, w := range line.words {
			all++
			if !s.fontStyleOf(w).mono {
				continue
			}
			fixed++
			if strings.ContainsAny(w.GetText(), codeSigns) {
				signs++
			}
			if isWrittenWord(w.GetText()) {
				written++
			}
		}
	}
	s.typescript = fixed >= fewest && float64(fixed) >= most*float64(all) && float64(signs) <= mostSigns*float64(fixed) &&
		float64(written) >= leastWords*float64(fixed)
}

// isWrittenWord reports whether a word is made of letters, but for the signs about it and marks within.
func isWrittenWord(text string) bool {
	letters, others := 0, 0
	for _, r := range strings.TrimFunc(text, unicode.IsPunct) {
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			letters++
		} else if !unicode.IsPunct(r) {
			others++
		}
	}
	return letters > 0 && others == 0
}

// clearTypescript says of lines in fixed pitch that they are no code, unless many of them are set in columns by blanks.
func clearTypescript(lines []*inkstreamv1.Line, shapes []lineShape, t rotation) {
	const blanks, most = 2.5, 0.4 // widths of a letter, share
	columns := 0
	for i, line := range lines {
		words := line.GetWords()
		for j := 2; j < len(words); j++ { // a wide blank behind the first word parts a speaker or a number from the text
			before, w := t.rotateRect(rectFromBox(words[j-1].GetBbox())), t.rotateRect(rectFromBox(words[j].GetBbox()))
			letter := before.width() / float64(max(1, utf8.RuneCountInString(words[j-1].GetText())))
			if shapes[i].style.mono && w.x0-before.x1 > blanks*letter {
				columns++
				break
			}
		}
	}
	if float64(columns) > most*float64(len(lines)) {
		return
	}
	for i := range shapes {
		shapes[i].style.mono = false
	}
}
