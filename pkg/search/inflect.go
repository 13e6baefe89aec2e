package search

import (
	"slices"
	"strings"
)

// minInflected is the shortest word whose other forms are looked for; shorter ones change their meaning too easily.
const minInflected = 4

// inflections returns the forms of an English word that a search for it finds as well: plurals, and the endings of
// verbs. The word itself is the first. Words of other scripts, and those with digits or accents, have no other forms.
//
// The query is widened and not the index stemmed, so that phrases stay exact, beginnings of words* stay beginnings of
// what is written, and pages of other languages are not bent to English. The forms need not be words: those that no
// page has cost nothing.
func inflections(word string) []string {
	forms := []string{word}
	if len(word) < minInflected || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return forms
	}
	for _, base := range baseForms(word) {
		forms = append(forms, regularForms(base)...)
	}
	slices.Sort(forms[1:])
	first := forms[0]
	forms = slices.DeleteFunc(slices.Compact(forms[1:]),
		func(s string) bool { return s == first || len(s) < minInflected-1 })
	return append([]string{first}, forms...)
}

// baseForms returns what a word may be a form of.
func baseForms(word string) []string {
	out := []string{word}
	add := func(ending string, instead ...string) {
		stem, ok := strings.CutSuffix(word, ending)
		if !ok || len(stem) < minInflected-1 || !strings.ContainsAny(stem, "aeiouy") {
			return
		}
		for _, s := range instead {
			out = append(out, stem+s)
		}
		if n := len(stem); len(instead) == 2 && stem[n-1] == stem[n-2] { // planned: plan
			out = append(out, stem[:n-1])
		}
	}
	switch {
	case strings.HasSuffix(word, "ss"), strings.HasSuffix(word, "us"), strings.HasSuffix(word, "is"):
	case strings.HasSuffix(word, "ies"):
		add("ies", "y")
	case strings.HasSuffix(word, "es"):
		add("es", "")
		add("s", "")
	case strings.HasSuffix(word, "s"):
		add("s", "")
	case strings.HasSuffix(word, "ied"):
		add("ied", "y")
	case strings.HasSuffix(word, "ed"):
		add("ed", "", "e")
	case strings.HasSuffix(word, "ing"):
		add("ing", "", "e")
	}
	return out
}

// regularForms returns the regular forms of a base.
func regularForms(base string) []string {
	last := base[len(base)-1]
	switch {
	case last == 'y' && !isVowel(base[len(base)-2]):
		return []string{base, base[:len(base)-1] + "ies", base[:len(base)-1] + "ied", base + "ing"}
	case last == 'e':
		return []string{base, base + "s", base + "d", base[:len(base)-1] + "ing"}
	case last == 's', last == 'x', last == 'z', strings.HasSuffix(base, "ch"), strings.HasSuffix(base, "sh"):
		return []string{base, base + "es", base + "ed", base + "ing"}
	default:
		forms := []string{base, base + "s", base + "ed", base + "ing"}
		if n := len(base); n >= 3 && isVowel(base[n-2]) && !isVowel(base[n-3]) && !isVowel(last) && last != 'w' && last != 'y' { // plan: planned
			forms = append(forms, base+string(last)+"ed", base+string(last)+"ing")
		}
		return forms
	}
}

func isVowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
