package tesseract

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	tonos   = '\u0301'
	greekMu = '\u03bc'
	microMu = '\u00b5'
)

// minPolytonicShare is the share of accented Greek letters with the accents and breathings of ancient Greek from which
// a page is written with them. Where every word that begins with a vowel has a breathing, it is more than half; modern
// Greek read from a scan at 100 dpi has up to a tenth.
const minPolytonicShare = 0.25

// useModernGreek writes a page of modern Greek with the one accent that it has: Tesseract, whose model also learnt
// ancient Greek, reads breathings and circumflexes in it on coarse scans, and micro signs for the letter.
func (r *reading) useModernGreek() {
	modern, ancient := 0, 0
	for w := range allWords(r.blocks) {
		for _, c := range w.text {
			switch {
			case isAncientGreek(c):
				ancient++
			case isAccentedGreek(c):
				modern++
			}
		}
	}
	isModern := float64(ancient) < minPolytonicShare*float64(ancient+modern)
	for w := range allWords(r.blocks) {
		if !strings.ContainsFunc(w.text, func(c rune) bool { return unicode.Is(unicode.Greek, c) }) {
			continue
		}
		w.text = strings.ReplaceAll(w.text, string(microMu), string(greekMu))
		if isModern && strings.ContainsFunc(w.text, isAncientGreek) {
			w.text = modernGreekWord(w.text)
		}
	}
}

// isAncientGreek reports whether a letter is one of those of ancient Greek with accents or breathings.
func isAncientGreek(c rune) bool { return c >= 0x1f00 && c <= 0x1fff }

// isAccentedGreek reports whether a letter has the accent of modern Greek.
func isAccentedGreek(c rune) bool {
	return strings.ContainsRune("άέήίόύώΐΰΆΈΉΊΌΎΏ", c)
}

// modernGreekWord returns a word with one kind of accent and without breathings. A breathing in a word that has no
// accent was one; words of one vowel have none.
func modernGreekWord(word string) string {
	var out []rune
	vowels, accents, breathing := 0, 0, -1 // breathing is where in out the first stood
	for _, c := range norm.NFD.String(word) {
		switch c {
		case tonos, '\u0300', '\u0342': // acute, grave, circumflex
			out = append(out, tonos)
			accents++
		case '\u0313', '\u0314': // smooth and rough breathing
			if breathing < 0 {
				breathing = len(out)
			}
		case '\u0345': // iota below
		default:
			if strings.ContainsRune("αεηιουωΑΕΗΙΟΥΩ", c) {
				vowels++
			}
			out = append(out, c)
		}
	}
	if accents == 0 && breathing >= 0 && vowels > 1 {
		out = append(out[:breathing], append([]rune{tonos}, out[breathing:]...)...)
	}
	return norm.NFC.String(string(out))
}
