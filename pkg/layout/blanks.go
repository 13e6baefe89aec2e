package layout

import (
	"slices"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Blanks tells where blanks stand between the words of one line. In scripts that are written without, it is the room
// between two words that tells a blank from the seam that an engine happened to part its words at.
type Blanks struct {
	words           []*inkstreamv1.Word
	rotation        rotation
	em              float64 // the size of the line; 0 until it is measured
	pitch           float64 // the room between letters of the line that are set apart one by one
	withoutSentence bool    // the line is no sentence
}

// NewBlanks returns the blanks of a line, whose angle says which way its words follow one another.
func NewBlanks(line *inkstreamv1.Line) Blanks { return newBlanks(line.GetWords(), line.GetAngle()) }

func newBlanks(words []*inkstreamv1.Word, angle int32) Blanks {
	return Blanks{words: words, rotation: rotation(nearestQuarterTurn(angle))}
}

const (
	// wideBlank is the least room, in ems, that is a blank in any line: an ideographic blank is one em wide, less what
	// letters and marks leave free in their squares or take of it. Links in Japanese text have room of up to three
	// quarters of an em beside them, and no blank.
	wideBlank = 0.8
	// narrowBlank is the least room that is a blank in a line of names, whose words only a blank sets apart: one of the
	// keyboard is a quarter to half an em wide.
	narrowBlank = 0.2
	// widestPitch is how far apart, in ems, letters may be set one by one. What is farther are words of one letter.
	widestPitch = 4
	// maxBlankSample is how many words of a line are measured: enough to tell.
	maxBlankSample = 64
)

// Before reports whether a blank stands between a word of the line, counted from 0, and the one before it.
func (l *Blanks) Before(i int) bool {
	if i < 1 || i >= len(l.words) {
		return false
	}
	before, next := l.words[i-1].GetText(), l.words[i].GetText()
	if before == "" || next == "" {
		return false
	}
	return NeedsSpace(before, next) || l.isWideGap(i)
}

// isWideGap reports whether there is more room before a word than its script leaves between letters.
func (l *Blanks) isWideGap(i int) bool {
	gap := l.gapBefore(i)
	if gap <= 0 {
		return false
	}
	if l.em == 0 {
		l.measureLine()
	}
	gap -= l.punctuationSpace(i)
	if l.isLetterSpaced(i) {
		return gap-l.pitch > wideBlank*l.em
	}
	return gap > wideBlank*l.em || l.withoutSentence && gap > narrowBlank*l.em
}

// gapBefore returns how far a word is from the one before it; 0 where there is no telling.
func (l *Blanks) gapBefore(i int) float64 {
	a, b := l.words[i-1].GetBbox(), l.words[i].GetBbox()
	if !isValidBox(a) || !isValidBox(b) {
		return 0
	}
	return l.rotation.rotateRect(rectFromBox(b)).x0 - l.rotation.rotateRect(rectFromBox(a)).x1
}

// punctuationSpace returns how much of the room before a word belongs to the marks on both sides of it, which fill
// half of their squares.
func (l *Blanks) punctuationSpace(i int) float64 {
	last, _ := utf8.DecodeLastRuneInString(l.words[i-1].GetText())
	first, _ := utf8.DecodeRuneInString(l.words[i].GetText())
	room := 0.0
	if isClosingMark(last) {
		room += l.em / 2
	}
	if isOpeningMark(first) {
		room += l.em / 2
	}
	return room
}

// isLetterSpaced reports whether a word and the one before it are letters set one by one, as in headings and in what
// a recogniser reads.
func (l *Blanks) isLetterSpaced(i int) bool {
	return isSingleLetter(l.words[i-1].GetText()) && isSingleLetter(l.words[i].GetText())
}

// measureLine finds the size of the line, the usual room between its letters, and what it is.
func (l *Blanks) measureLine() {
	var sizes, gaps [maxBlankSample]float64
	n, m := 0, 0
	for _, w := range l.words[:min(len(l.words), maxBlankSample)] {
		if isValidBox(w.GetBbox()) && countLetters(w.GetText()) > 0 {
			sizes[n] = wordTypeSize(w, l.rotation.rotateRect(rectFromBox(w.GetBbox())))
			n++
		}
	}
	l.em = 1
	if n > 0 {
		slices.Sort(sizes[:n]) // boxes of recognised words are as low as their letters: the larger ones tell
		l.em = max(sizes[n*7/10], 1)
	}
	for i := 1; i < len(l.words) && i < maxBlankSample; i++ {
		if l.isLetterSpaced(i) && !NeedsSpace(l.words[i-1].GetText(), l.words[i].GetText()) {
			gaps[m] = l.gapBefore(i) - l.punctuationSpace(i)
			m++
		}
	}
	if m > 0 {
		slices.Sort(gaps[:m])
		l.pitch = min(max(gaps[(m-1)/2], 0), widestPitch*l.em)
	}
	l.withoutSentence = isNamesOnly(l.words)
}

// isNamesOnly reports whether a line is made of names and headings, with nothing of a sentence: no hiragana, and no
// commas or stops. What was recognised has blanks where its recogniser had doubts, and is none.
func isNamesOnly(words []*inkstreamv1.Word) bool {
	for _, w := range words {
		if w.Confidence != nil {
			return false
		}
		for _, r := range w.GetText() {
			switch {
			case r >= 0x3041 && r <= 0x309f, r >= 0x0e00 && r < 0x2000: // scripts of the south have blanks within sentences only
				return false
			case r != '（' && r != '）' && r != '：' && isHalfSquareMark(r):
				return false
			}
		}
	}
	return true
}

// isSingleLetter reports whether a word is a letter, with the marks next to it, or nothing but marks.
func isSingleLetter(text string) bool {
	n := 0
	for _, r := range text {
		if !unicode.IsMark(r) && !unicode.IsPunct(r) {
			if n++; n > 1 {
				return false
			}
		}
	}
	return true
}

// isClosingMark reports the marks of Chinese and Japanese that leave the second half of their square free.
func isClosingMark(r rune) bool {
	switch r {
	case '、', '。', '，', '．', '：', '；', '！', '？', '）', '」', '』', '】', '》', '〉', '〕', '］', '｝', '”', '’':
		return true
	}
	return false
}

// isOpeningMark reports those that leave the first half free.
func isOpeningMark(r rune) bool {
	switch r {
	case '（', '「', '『', '【', '《', '〈', '〔', '［', '｛', '“', '‘':
		return true
	}
	return false
}
