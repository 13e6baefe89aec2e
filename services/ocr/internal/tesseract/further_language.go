package tesseract

import (
	"slices"
	"strings"
)

// addFurtherLanguage reads a page once more where it has blocks in a further language than those that it was read in,
// which are joined by plus signs, and takes the lines that are in that.
func (c *pageHandler) addFurtherLanguage(got reading, languages string, req request, img greyImage) (reading, error) {
	further, err := c.handles.furtherLanguage(&got, strings.Split(languages, "+"))
	if err != nil || further == "" {
		return got, err
	}
	again, err := c.readPageIn(further, req, img)
	if err != nil || again.turn != got.turn {
		return got, err
	}
	c.handles.takeLinesIn(further, &got, &again, strings.Split(languages, "+"))
	got.confidence = got.meanConfidence()
	return got, nil
}

// furtherLanguage returns the language in Latin letters that a good part of a page is in besides those that it was read
// in: of the words of some blocks it has more than those have. It is "" where there is none.
func (m *handleCache) furtherLanguage(got *reading, languages []string) (string, error) {
	installed, err := listLanguages(m.datapath)
	if err != nil {
		return "", err
	}
	all := 0
	words, known := make([][][]rune, len(got.blocks)), make([]int, len(got.blocks))
	for i, b := range got.blocks {
		words[i] = differentWordsOf(b.lines...)
		known[i] = m.countKnown(words[i], languages)
		all += len(words[i])
	}
	further, most, isKnown := "", 0, usualCodes(strings.Join(languages, "+"))
	for _, l := range languagesInScript(latin, installed) {
		code := isoCode(l)
		if isKnown[code] || code != l && slices.Contains(installed, code) { // what is new is hardly in old letters
			continue
		}
		told, gained := 0, 0
		for i := range words {
			if more := m.countKnown(words[i], []string{l}) - known[i]; more > 0 {
				told, gained = told+len(words[i]), gained+more
			}
		}
		isEnough := told >= minOtherWords && float64(told) >= minOtherShare*float64(all) &&
			gained >= minNewWords && float64(gained) >= minNewShare*float64(told)
		if isEnough && gained > most {
			further, most = l, gained
		}
	}
	return further, nil
}

// takeLinesIn takes those lines from a reading in a further language that have more words of that than the line as it
// was read before has of the others.
func (m *handleCache) takeLinesIn(further string, got, again *reading, languages []string) {
	others := again.placedLines()
	for _, p := range got.placedLines() {
		i := slices.IndexFunc(others, func(o placedLine) bool { return p.bounds.nearlyEquals(o.bounds) })
		if i < 0 {
			continue
		}
		in := m.countKnown(differentWordsOf(*others[i].line), []string{further})
		if in > m.countKnown(differentWordsOf(*p.line), languages) {
			p.line.words = others[i].line.words
		}
	}
}

// countKnown returns how many of the words one of the languages has.
func (m *handleCache) countKnown(words [][]rune, languages []string) int {
	known, _, _ := m.partWords(slices.Clone(words), languages)
	return len(known)
}

func differentWordsOf(lines ...line) [][]rune {
	return (&reading{blocks: []block{{lines: lines}}}).differentWords()
}
