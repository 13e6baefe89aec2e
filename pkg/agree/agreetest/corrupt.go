// Package agreetest corrupts true texts as vision models do, so that what a check locates can be measured.
package agreetest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"inkstream.dev/pkg/agree"
)

// Corruption is a way in which a text goes wrong.
type Corruption struct {
	Name string
	// Kinds are the doubts that locate it; none where the text is right as it is, and no doubt may be added.
	Kinds []agree.Kind
	// Apply changes a text, with the words of other pages at hand. It reports where in the new text the change stands, and
	// false where the text has no place for it.
	Apply func(rng *rand.Rand, text, other []string) (changed []string, at agree.Range, ok bool)
}

// Corruptions returns the ways, from whole pages down to a digit.
func Corruptions() []Corruption {
	return []Corruption{
		{"8 to 20 words inserted", []agree.Kind{agree.Unsupported}, insertWords(8, 20)},
		{"5 words inserted", []agree.Kind{agree.Unsupported}, insertWords(5, 5)},
		{"8 to 20 words dropped", []agree.Kind{agree.Dropped}, dropWords(8, 20)},
		{"5 words dropped", []agree.Kind{agree.Dropped}, dropWords(5, 5)},
		{"last 30 % cut", []agree.Kind{agree.Dropped}, cutEnd},
		{"3 to 12 words repeated 20 times", []agree.Kind{agree.Loop, agree.Unsupported}, repeatWords},
		{"10 to 20 words of another language in their place", []agree.Kind{agree.Unsupported, agree.Differs},
			translateWords},
		{"text of another page", []agree.Kind{agree.Unsupported}, otherPage},
		{"word exchanged", []agree.Kind{agree.Differs, agree.Unsupported, agree.Number}, exchangeWord},
		{"negation dropped", []agree.Kind{agree.Dropped}, dropNegation},
		{"digit changed", []agree.Kind{agree.Number, agree.Differs}, changeDigit},
		{"neighbours on a line exchanged", []agree.Kind{agree.Moved, agree.Differs, agree.Number, agree.Unsupported},
			exchangeNumbers},
		{"half of the page in another order", nil, reorderHalf},
	}
}

// Locates reports whether the doubts hold the corruption: one of its kinds in its place.
func (c Corruption) Locates(doubts []agree.Doubt, at agree.Range) bool {
	return slices.ContainsFunc(doubts, func(d agree.Doubt) bool {
		if !slices.Contains(c.Kinds, d.Kind) {
			return false
		}
		if d.Kind == agree.Dropped { // between two words
			const slack = 6 // the words around may be the same as those dropped
			return d.Model.First >= at.First-slack && d.Model.First <= at.End+slack
		}
		return d.Model.First < at.End && d.Model.End > at.First
	})
}

func insertWords(least, most int) func(*rand.Rand, []string, []string) ([]string, agree.Range, bool) {
	return func(rng *rand.Rand, text, other []string) ([]string, agree.Range, bool) {
		n := least + rng.IntN(most-least+1)
		if len(other) < n {
			return nil, agree.Range{}, false
		}
		from, at := rng.IntN(len(other)-n+1), rng.IntN(len(text))
		changed := slices.Insert(slices.Clone(text), at, other[from:from+n]...)
		return changed, slideRange(changed, agree.Range{First: at, End: at + n}), true
	}
}

// slideRange returns where the words in a range may as well have been inserted, or may as well be dropped: all that gives
// the same text.
func slideRange(text []string, at agree.Range) agree.Range {
	out := at
	for size := at.End - at.First; out.First > 0 && text[out.First-1] == text[out.First-1+size]; {
		out.First--
	}
	for size := at.End - at.First; out.End < len(text) && text[out.End] == text[out.End-size]; {
		out.End++
	}
	return out
}

func dropWords(least, most int) func(*rand.Rand, []string, []string) ([]string, agree.Range, bool) {
	return func(rng *rand.Rand, text, _ []string) ([]string, agree.Range, bool) {
		n := least + rng.IntN(most-least+1)
		if len(text) <= n {
			return nil, agree.Range{}, false
		}
		at := rng.IntN(len(text) - n)
		place := slideRange(text, agree.Range{First: at, End: at + n})
		return slices.Delete(slices.Clone(text), at, at+n), agree.Range{First: place.First, End: place.End - n}, true
	}
}

func cutEnd(_ *rand.Rand, text, _ []string) ([]string, agree.Range, bool) {
	at := len(text) * 7 / 10
	return slices.Clone(text[:at]), agree.Range{First: at, End: at}, at > 0
}

func repeatWords(rng *rand.Rand, text, _ []string) ([]string, agree.Range, bool) {
	n := 3 + rng.IntN(10)
	if len(text) < 4*n {
		return nil, agree.Range{}, false
	}
	at := len(text)/2 + rng.IntN(len(text)/2)
	out := slices.Clone(text[:at])
	for range 20 {
		out = append(out, text[at-n:at]...)
	}
	return out, agree.Range{First: at, End: len(out)}, true
}

// foreign are words of a language that no page of the corpus is in.
var foreign = strings.Fields("talo ikkuna seuraava kirjoitettu yleensä hallitus pöytäkirja kuitenkin mukaisesti vuonna " +
	"ilmoitus käytettävä valmistaja perusteella jälkeen suomalainen koskeva hakemus määräys toimenpide yhteydessä")

func translateWords(rng *rand.Rand, text, _ []string) ([]string, agree.Range, bool) {
	n := 10 + rng.IntN(11)
	if len(text) < 2*n {
		return nil, agree.Range{}, false
	}
	at := rng.IntN(len(text) - n)
	out := slices.Clone(text)
	for k := range n {
		out[at+k] = foreign[rng.IntN(len(foreign))]
	}
	return out, agree.Range{First: at, End: at + n}, true
}

func otherPage(_ *rand.Rand, text, other []string) ([]string, agree.Range, bool) {
	return slices.Clone(other), agree.Range{First: 0, End: len(other)}, len(other) > 0 && !slices.Equal(text, other)
}

func exchangeWord(rng *rand.Rand, text, other []string) ([]string, agree.Range, bool) {
	isPlain := func(w string) bool {
		return len(w) >= 5 && !strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' })
	}
	at, ok := pick(rng, text, isPlain)
	if !ok {
		return nil, agree.Range{}, false
	}
	is := text[at]
	from, ok := pick(rng, other, func(w string) bool {
		return isPlain(w) && w != is && max(len(w)-len(is), len(is)-len(w)) <= 2
	})
	if !ok {
		return nil, agree.Range{}, false
	}
	out := slices.Clone(text)
	out[at] = other[from]
	return out, agree.Range{First: at, End: at + 1}, true
}

func dropNegation(rng *rand.Rand, text, _ []string) ([]string, agree.Range, bool) {
	at, ok := pick(rng, text, func(w string) bool {
		return slices.Contains([]string{"not", "never", "nicht", "kein", "keine", "without", "non"}, w)
	})
	if !ok {
		return nil, agree.Range{}, false
	}
	return slices.Delete(slices.Clone(text), at, at+1), agree.Range{First: at, End: at}, true
}

func changeDigit(rng *rand.Rand, text, _ []string) ([]string, agree.Range, bool) {
	at, ok := pick(rng, text, hasTwoDigits)
	if !ok {
		return nil, agree.Range{}, false
	}
	runes := []rune(text[at])
	var places []int
	for k, r := range runes {
		if r >= '0' && r <= '9' {
			places = append(places, k)
		}
	}
	k := places[rng.IntN(len(places))]
	runes[k] = '0' + (runes[k]-'0'+1+rng.Int32N(9))%10
	out := slices.Clone(text)
	out[at] = string(runes)
	return out, agree.Range{First: at, End: at + 1}, true
}

func hasTwoDigits(w string) bool {
	n := 0
	for _, r := range w {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n >= 2
}

// exchangeNumbers exchanges two numbers that follow each other, as where columns of a table are mixed up.
func exchangeNumbers(rng *rand.Rand, text, _ []string) ([]string, agree.Range, bool) {
	var places []int
	for i := range len(text) - 1 {
		if hasTwoDigits(text[i]) && hasTwoDigits(text[i+1]) && text[i] != text[i+1] {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return nil, agree.Range{}, false
	}
	at := places[rng.IntN(len(places))]
	out := slices.Clone(text)
	out[at], out[at+1] = out[at+1], out[at]
	return out, agree.Range{First: at, End: at + 2}, true
}

func reorderHalf(_ *rand.Rand, text, _ []string) ([]string, agree.Range, bool) {
	a, b, c := len(text)/4, len(text)/2, 3*len(text)/4
	return slices.Concat(text[:a], text[b:c], text[a:b], text[c:]), agree.Range{}, true
}

// pick returns one of the words that are wanted.
func pick(rng *rand.Rand, text []string, isWanted func(string) bool) (int, bool) {
	var places []int
	for i, w := range text {
		if isWanted(w) {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return 0, false
	}
	return places[rng.IntN(len(places))], true
}

// SplitTruth returns the words of a true text, with those that are broken at the ends of lines in one piece.
func SplitTruth(text string) []string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\f' })
	var out []string
	for _, line := range lines {
		words := strings.Fields(line)
		if len(out) > 0 && len(words) > 0 && isBroken(out[len(out)-1], words[0]) {
			last := []rune(out[len(out)-1])
			out[len(out)-1] = string(last[:len(last)-1]) + words[0]
			words = words[1:]
		}
		out = append(out, words...)
	}
	return out
}

// isBroken reports whether a word at the end of a line goes on in the next one. Some truths have ¬ there.
func isBroken(word, next string) bool {
	runes := []rune(word)
	n := len(runes)
	first := []rune(next)[0]
	return n > 1 && (runes[n-1] == '-' || runes[n-1] == '¬') && unicode.IsLetter(runes[n-2]) && unicode.IsLetter(first) && !unicode.IsUpper(first)
}
