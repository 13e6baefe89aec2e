package tesseract

import (
	"slices"
	"strings"

	"inkstream.dev/pkg/document/language"
)

const (
	// minOtherScriptShare is the share of the characters that stand in badly read lines from which the page is taken
	// for one in another script: of the corpus's pages in others, read in English, 0.42 to 1 do, and of its English
	// ones 0.2 at most.
	minOtherScriptShare = 0.33
	// minOtherScriptGain is by how much a page must read better in another script, whose model may have Latin letters
	// besides, or letters that look like them.
	minOtherScriptGain = 1.1
	// maxBadLineConfidence is the mean confidence below which a line is read badly.
	maxBadLineConfidence = 0.65
	// minOtherCharacters is how many characters tell enough of a page's script.
	minOtherCharacters = 60
	// minOtherWords and minOtherShare are how many words a page must have in another language, and which share of all,
	// to be read in that as well: a quotation has fewer.
	minOtherWords, minOtherShare = 30, 0.15
	// minTellingWords is how many words of a block tell a language.
	minTellingWords = 12
)

// otherLanguages returns the languages to read a page in whose language was not named, and which was read in the usual
// ones; "" where those are right, or missing says that no model of the right ones is installed. A page in another
// script reads badly, and the detector tells which; one in other Latin letters reads well enough for its
// commonest words to tell.
func (m *handleCache) otherLanguages(r *reader, got *reading, usual string) (other string, missing bool, err error) {
	known, err := listLanguages(m.datapath)
	if err != nil {
		return "", false, err
	}
	var candidates []string
	turn, found := got.turn, latin
	if got.illegibleShare() >= minOtherScriptShare {
		found, turn = m.detectScript(r.img, r.dpi)
	}
	if found != latin {
		candidates = languagesInScript(found, known)
	} else if found = languageOfText(got, usual); found != "" {
		candidates = slices.DeleteFunc(languagesInScript(latin, known), func(l string) bool { return isoCode(l) != found })
	}
	if usualOnes := strings.Split(usual, "+"); slices.ContainsFunc(candidates, func(l string) bool {
		return slices.Contains(usualOnes, l)
	}) {
		return "", false, nil
	}
	switch len(candidates) {
	case 0:
		return "", found != "", nil
	case 1:
		return candidates[0], false, nil
	}
	other, err = m.bestLanguage(r, candidates, turn) // the reader's handle may be closed then, and is not needed any more
	return other, false, err
}

// illegibleShare returns the share of the characters that stand in lines which were read badly; 0 of a page with few.
func (r *reading) illegibleShare() float64 {
	all, bad := 0, 0
	for _, l := range r.placedLines() {
		n := l.characterCount()
		all += n
		if l.meanConfidence() < maxBadLineConfidence {
			bad += n
		}
	}
	if all < minOtherCharacters {
		return 0
	}
	return float64(bad) / float64(all)
}

// languageOfText returns the language (ISO 639-3) that a good part of the text is in besides the usual ones, by the
// commonest words of its blocks; "" for none.
func languageOfText(got *reading, usual string) string {
	isUsual := map[string]bool{"": true}
	for l := range strings.SplitSeq(usual, "+") {
		isUsual[isoCode(l)] = true
	}
	words, all := map[string]int{}, 0
	for _, b := range got.blocks {
		var d language.Detector
		n := 0
		for _, l := range b.lines {
			n += len(l.words)
			for _, w := range l.words {
				d.AddWord(w.text)
			}
		}
		all += n
		if code := d.Language(); n >= minTellingWords && !isUsual[code] {
			words[code] += n
		}
	}
	most, other := 0, ""
	for code, n := range words {
		if n > most || n == most && code < other {
			most, other = n, code
		}
	}
	if most < minOtherWords || float64(most) < minOtherShare*float64(all) {
		return ""
	}
	return other
}
