package recognise

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"inkstream.dev/pkg/document/language"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// The shares of the page's quality. They add up to 1.
const (
	confidenceShare = 0.7
	shapeShare      = 0.3
)

// lowConfidence and highConfidence are mean confidences of pages of which hardly a word is right, and of faultless
// ones.
const (
	lowConfidence  = 0.40
	highConfidence = 0.95
)

// pageQuality says how well a page was read:
//
//	0.7 · c + 0.3 · s, where
//	c   is the mean confidence of the characters, stretched so that 0.40 is 0 and 0.95 is 1, and
//	s   is the share of the characters that are in words shaped like words: letters of one script and one case (or a capital first), or
//	    numbers, with no more than the punctuation that a word may have.
//
// A page without words is of quality 1: nothing was read wrong.
func pageQuality(page *inkstreamv1.Page) float32 {
	var characters, shaped float64
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				n := float64(utf8.RuneCountInString(w.GetText()))
				characters += n
				if isWordShaped(w.GetText()) {
					shaped += n
				}
			}
		}
	}
	if characters == 0 {
		return 1
	}
	c := (float64(page.GetConfidence()) - lowConfidence) / (highConfidence - lowConfidence)
	return float32(confidenceShare*math.Min(1, math.Max(0, c)) + shapeShare*shaped/characters)
}

// isWordShaped reports whether a word looks like one in any language, not like the litter that noise is read as.
func isWordShaped(word string) bool {
	core := strings.TrimFunc(word, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) })
	size := utf8.RuneCountInString(core)
	if around := utf8.RuneCountInString(word) - size; size == 0 || around > min(3, size+1) {
		return false
	}
	letters, digits, upper, lower, inner := 0, 0, 0, 0, 0
	startsUpper := false
	for i, r := range core {
		switch {
		case unicode.IsUpper(r):
			startsUpper = startsUpper || i == 0
			upper++
			letters++
		case unicode.IsLower(r):
			lower++
			letters++
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		default:
			inner++
		}
	}
	switch {
	case digits > 0 && letters == 0:
		return inner <= digits
	case inner > max(1, letters/2):
		return false
	case upper == 0, lower == 0:
		return true
	default: // a few capitals inside are names: McDonald, iPhone, eBay
		return startsUpper && upper == 1 || upper <= max(2, lower/2)
	}
}

// pageLanguage returns the language that the words are in, as ISO 639-3, or the one that they were read in where they
// do not tell.
func pageLanguage(page *inkstreamv1.Page, read string) string {
	var c language.Detector
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				c.AddWord(w.GetText())
			}
		}
	}
	if found := c.Language(); found != "" {
		return found
	}
	if len(read) != 3 || len(page.GetBlocks()) == 0 || page.GetConfidence() < minTrustedConfidence {
		return ""
	}
	for _, r := range read {
		if r < 'a' || r > 'z' {
			return ""
		}
	}
	return read
}

// minTrustedConfidence is the mean confidence from which the language that a page was read in is believed to be its
// own: a wrong one reads badly.
const minTrustedConfidence = 0.8
