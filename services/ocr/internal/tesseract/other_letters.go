package tesseract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// minOwnShare is the share of a page's letters that are those of its language from which words in Latin letters
	// are read again.
	minOwnShare = 0.6
	// maxLatinWords bounds the words that are read again.
	maxLatinWords = 150
	// minOwnConfidence is how sure the language's own model must be of a word that the page has nowhere else, and
	// minKnownConfidence of one that it has, or where the first reading was of letters of both kinds.
	minOwnConfidence, minKnownConfidence = 0.7, 0.2
	// minRepeatConfidence is how surely the other word was read.
	minRepeatConfidence = 0.8
)

// readLatinWordsAgain reads words with Latin letters once more by the page's language alone, on a page that is written
// in other letters. Of two models that each read a word the one that is surer wins, and of short words in letters that
// look alike that is often the model of English.
func (r *reader) readLatinWordsAgain(got *reading) error {
	if r.ownHandle == nil || r.inColumns || got.ownShare() < minOwnShare {
		return nil
	}
	both := r.handle
	var turned greyImage
	err := got.replaceLatinWords(func(l *line, at int) (word, error) {
		if turned.pix == nil { // the first such word
			own, err := r.ownHandle()
			if err != nil {
				return word{}, err
			}
			r.switchHandle(own)
			turned = r.img.rotated(got.turn)
		}
		return r.readWordAgain(turned, got.skew, l, at)
	})
	r.switchHandle(both)
	return err
}

// replaceLatinWords puts the words that readAgain returns of a line's words in the place of those with Latin letters
// where they are better.
func (r *reading) replaceLatinWords(readAgain func(l *line, at int) (word, error)) error {
	known, left := r.ownWords(), maxLatinWords
	for _, l := range r.levelLines() {
		if !l.isMostlyOwn() {
			continue
		}
		for i := range l.words {
			if _, latin := l.words[i].countLetters(); latin == 0 || l.isAmidLatin(i) || left == 0 {
				continue
			}
			left--
			again, err := readAgain(l, i)
			if err != nil {
				return err
			}
			if again.isBetterThan(&l.words[i], known) {
				l.words[i].text, l.words[i].confidence = again.text, again.confidence
			}
		}
	}
	return nil
}

// readWordAgain reads a word of a line, with its neighbours or, where it does not come out by itself then, without.
func (r *reader) readWordAgain(turned greyImage, skew float64, l *line, at int) (word, error) {
	w := l.words[at]
	around := w.box
	for _, near := range l.words[max(0, at-1):min(len(l.words), at+2)] {
		around = around.union(near.box)
	}
	for _, place := range []box{around, w.box} {
		place = place.widenedBy((w.box[3] - w.box[1]) / 3)
		place = box{max(0, place[0]), max(0, place[1]), min(turned.width, place[2]), min(turned.height, place[3])}
		part, err := r.readImage(turned.cropped(place), imageSteps{angle: skew}, oneLine)
		if err != nil {
			return word{}, err
		}
		var again word
		for v := range allWords(part.blocks) {
			v.box = box{v.box[0] + place[0], v.box[1] + place[1], v.box[2] + place[0], v.box[3] + place[1]}
			if 2*(min(v.box[2], w.box[2])-max(v.box[0], w.box[0])) < v.box[2]-v.box[0] {
				continue
			}
			if again.text == "" {
				again = *v
			} else {
				again.appendWord(*v)
			}
		}
		if again.text != "" {
			return again, nil
		}
	}
	return word{}, nil
}

// isBetterThan reports whether a word that was read by the page's language alone is to stand in the place of one with
// Latin letters. known are the words of the page in letters of its language.
func (w *word) isBetterThan(first *word, known map[string]bool) bool {
	own, latin := w.countLetters()
	if own == 0 || latin > 0 || strings.ContainsFunc(w.text, unicode.IsDigit) || !hasOneCase(w.text) {
		return false
	}
	before, _ := first.countLetters()
	hasSmall := strings.ContainsFunc(w.text, func(c rune) bool { return !unicode.IsUpper(c) && unicode.IsLetter(c) })
	switch {
	case before > 0:
		return w.confidence >= minKnownConfidence
	case !hasSmall: // it may be an acronym
		return false
	case known[foldWord(w.text)]:
		return w.confidence >= minKnownConfidence
	}
	return w.confidence >= max(minOwnConfidence, first.confidence)
}

// hasOneCase reports whether a word is in small letters, but for the first, or in capitals: what a model makes of
// letters that it does not know is not.
func hasOneCase(text string) bool {
	upper, lower, first := 0, 0, true
	for _, c := range text {
		switch {
		case !unicode.IsLetter(c):
		case unicode.IsUpper(c) && !first:
			upper++
		case unicode.IsLower(c):
			lower++
		}
		first = first && !unicode.IsLetter(c)
	}
	return upper == 0 || lower == 0
}

// ownShare returns the share of the page's letters that are not Latin.
func (r *reading) ownShare() float64 {
	own, latin := 0, 0
	for w := range allWords(r.blocks) {
		o, l := w.countLetters()
		own, latin = own+o, latin+l
	}
	return float64(own) / float64(max(1, own+latin))
}

// ownWords returns the words of two letters and more that have no Latin one and were read surely, folded.
func (r *reading) ownWords() map[string]bool {
	out := map[string]bool{}
	for w := range allWords(r.blocks) {
		if own, latin := w.countLetters(); own > 1 && latin == 0 && w.confidence >= minRepeatConfidence {
			out[foldWord(w.text)] = true
		}
	}
	return out
}

// foldWord returns a word in small letters without accents and the marks around it.
func foldWord(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsLetter(c) {
			return -1
		}
		return unicode.ToLower(c)
	}, norm.NFKD.String(text))
}

// isMostlyOwn reports whether no more of a line's letters are Latin than are not.
func (l *line) isMostlyOwn() bool {
	own, latin := 0, 0
	for i := range l.words {
		o, n := l.words[i].countLetters()
		own, latin = own+o, latin+n
	}
	return own >= latin
}

// isAmidLatin reports whether a short word stands beside a long one in Latin letters that was read surely, as in a
// name or a phrase.
func (l *line) isAmidLatin(at int) bool {
	const long, sure = 4, 0.9
	if utf8.RuneCountInString(l.words[at].text) >= long {
		return false
	}
	for i := max(0, at-1); i < min(len(l.words), at+2); i++ {
		w := &l.words[i]
		if own, latin := w.countLetters(); i != at && own == 0 && latin >= long && w.confidence >= sure {
			return true
		}
	}
	return false
}

// countLetters returns how many of a word's letters are not Latin, and how many are.
func (w *word) countLetters() (own, latin int) {
	for _, c := range w.text {
		switch {
		case unicode.Is(unicode.Latin, c):
			latin++
		case unicode.IsLetter(c):
			own++
		}
	}
	return own, latin
}
