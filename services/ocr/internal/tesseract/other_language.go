package tesseract

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

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
	// minOtherLatinGain is the same for another language in Latin letters, which the page's words tell: what the usual
	// models make of letters that they do not know, they may be surer of than the right ones are of those.
	minOtherLatinGain = 0.9
	// maxBadLineConfidence is the mean confidence below which a line is read badly.
	maxBadLineConfidence = 0.65
	// minOtherCharacters is how many characters tell enough of a page's script.
	minOtherCharacters = 60
	// minOtherWords and minOtherShare are how many words a page must have in another language, and which share of all,
	// to be read in that as well: a quotation has fewer.
	minOtherWords, minOtherShare = 30, 0.15
	// minNewWords is how many different words of a page the usual languages must lack and another have to be that of the
	// page, and minNewShare which share of all: of the corpus's English pages and 42 generated ones, another has 0.03 at
	// most, but on receipts in Malay English; of pages in others it has 0.1 and more.
	minNewWords, minNewShare = 6, 0.07
	// maxLostToNew is how many words that the usual languages have the other may lack for each that it has alone.
	maxLostToNew = 2
	// minTellingLength is the length of the words that tell a language of which they are.
	minTellingLength = 4
	// allWordsNumber is more than there are words in any list: the more one has, the less tells that it has a word. Of 102
	// generated pages in 25 languages, with 54 lists to choose from, 99 fall to their own.
	allWordsNumber = 1e8
	// commonestWordsGain is by how much more the words tell a language that the commonest ones tell too.
	commonestWordsGain = 1.1
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
	} else {
		candidates = languagesInScript(latin, known)
		found = m.languageOfWords(got.differentWords(), usual, candidates, languageOfText(got, usual))
		candidates = slices.DeleteFunc(candidates, func(l string) bool { return found == "" || isoCode(l) != found })
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
	isUsual := usualCodes(usual)
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

// languageOfWords returns the language (ISO 639-3) that has many of a page's words which the usual ones lack; where there
// is none, the one that the commonest words tell, which lists and tables have none of.
func (m *handleCache) languageOfWords(words [][]rune, usual string, among []string, commonest string) string {
	all := len(words)
	known, unknown, ok := m.partWords(words, strings.Split(usual, "+"))
	least := max(minNewWords, int(minNewShare*float64(all)))
	switch {
	case ok && len(unknown) < minNewWords: // all is in the usual languages, and letters by themselves pass for words
		return ""
	case !ok || len(unknown) < least:
		return commonest
	}
	isUsual := usualCodes(usual)
	most, best := 0.0, commonest
	for _, l := range among {
		code := isoCode(l)
		if isUsual[code] {
			continue
		}
		d := m.dictionaryOf(l)
		if d == nil {
			continue
		}
		gained, lost := d.countWords(unknown), len(known)-d.countWords(known)
		told := d.tellingOf(gained)
		if code == commonest {
			told *= commonestWordsGain
		}
		if gained >= least && maxLostToNew*gained >= lost && told > most {
			most, best = told, code
		}
	}
	return best
}

// usualCodes holds the usual languages as ISO 639-3, and what is none.
func usualCodes(usual string) map[string]bool {
	out := map[string]bool{"": true}
	for l := range strings.SplitSeq(usual, "+") {
		out[isoCode(l)] = true
	}
	return out
}

// tellingOf returns how much it tells that a dictionary has a number of a page's words.
func (d *dictionary) tellingOf(words int) float64 {
	return float64(words) * math.Log(allWordsNumber/float64(max(1, len(d.edges)/edgeBytes)))
}

// partWords parts words into those that the languages know and the others; ok is false where none of the languages has a
// list of words.
func (m *handleCache) partWords(words [][]rune, languages []string) (known, unknown [][]rune, ok bool) {
	for _, l := range languages {
		d := m.dictionaryOf(l)
		if d == nil {
			continue
		}
		words = slices.DeleteFunc(words, func(w []rune) bool {
			has := d.hasWord(w)
			if has {
				known = append(known, w)
			}
			return has
		})
		ok = true
	}
	return known, words, ok
}

func (d *dictionary) countWords(words [][]rune) int {
	n := 0
	for _, w := range words {
		if d.hasWord(w) {
			n++
		}
	}
	return n
}

// differentWords returns the words of some length, folded, each once.
func (r *reading) differentWords() [][]rune {
	var out [][]rune
	seen := map[string]bool{}
	for w := range allWords(r.blocks) {
		text := foldLatin(w.text)
		if letters := []rune(text); len(letters) >= minTellingLength && !seen[text] {
			seen[text] = true
			out = append(out, letters)
		}
	}
	return out
}

// dropForeignLines drops the lines of a page, as read in the usual languages, that are not in those: lines that the other
// reading has as well, but for the marks of letters, and lines with words that no list of the usual languages has. A
// model that does not know a letter may be surer of the one that it takes it for than another is of the right one. Their
// numbers stay where they are surer.
func (m *handleCache) dropForeignLines(first, second *reading, usual string) {
	others := second.placedLines()
	known, _, ok := m.partWords(first.differentWords(), strings.Split(usual, "+"))
	isKnown := map[string]bool{}
	for _, w := range known {
		isKnown[string(w)] = true
	}
	for _, l := range first.placedLines() {
		isForeign := ok && slices.ContainsFunc(l.line.words, func(w word) bool {
			text := foldLatin(w.text)
			return utf8.RuneCountInString(text) >= minTellingLength && !isKnown[text]
		})
		for _, o := range others {
			if !l.bounds.nearlyEquals(o.bounds) {
				continue
			}
			if isForeign = isForeign || foldLatin(l.joinedWords()) == foldLatin(o.joinedWords()); isForeign {
				o.line.takeNumbers(l.line)
			}
		}
		if isForeign {
			l.line.words = nil
		}
	}
}

// takeNumbers takes over words without letters that another reading of the line is surer of.
func (l *line) takeNumbers(other *line) {
	for i := range l.words {
		w := &l.words[i]
		for _, o := range other.words {
			if o.confidence > w.confidence && foldLatin(w.text+o.text) == "" && w.box.nearlyEquals(o.box) {
				*w = o
			}
		}
	}
}

// joinedWords returns the words of a line without the room between them, which two readings part in other ways.
func (p placedLine) joinedWords() string {
	var out strings.Builder
	for _, w := range p.line.words {
		out.WriteString(w.text)
	}
	return out.String()
}
