package tesseract

/*
#include <stdlib.h>
#include <tesseract/capi.h>
*/
import "C"

import (
	"fmt"
	"slices"
	"strings"
)

// osdModel is the model that tells scripts and orientations.
const osdModel = "osd"

// scripts lists the languages that are not written in Latin letters by what Tesseract calls their script.
var scripts = map[string][]string{
	"Arabic":     {"ara", "fas", "urd", "pus", "uig", "snd", "kur_ara"},
	"Armenian":   {"hye"},
	"Bengali":    {"ben", "asm"},
	"Cyrillic":   {"rus", "ukr", "bul", "srp", "mkd", "bel", "kaz", "kir", "mon", "tat", "tgk", "uzb_cyrl", "aze_cyrl"},
	"Devanagari": {"hin", "mar", "nep", "san"},
	"Ethiopic":   {"amh", "tir"},
	"Georgian":   {"kat", "kat_old"},
	"Greek":      {"ell", "grc"},
	"Gujarati":   {"guj"},
	"Gurmukhi":   {"pan"},
	"Han":        {"chi_sim", "chi_tra", "jpn"},
	"Hangul":     {"kor"},
	"Hebrew":     {"heb", "yid"},
	"Hiragana":   {"jpn"},
	"Japanese":   {"jpn", "chi_sim", "chi_tra"},
	"Kannada":    {"kan"},
	"Katakana":   {"jpn"},
	"Khmer":      {"khm"},
	"Korean":     {"kor"},
	"Lao":        {"lao"},
	"Malayalam":  {"mal"},
	"Myanmar":    {"mya"},
	"Oriya":      {"ori"},
	"Sinhala":    {"sin"},
	"Syriac":     {"syr"},
	"Tamil":      {"tam"},
	"Telugu":     {"tel"},
	"Thai":       {"tha"},
	"Tibetan":    {"bod", "dzo"},
}

const (
	latin = "Latin"
	// maxTriedLanguages bounds the languages that are tried on a page.
	maxTriedLanguages = 8
	// languageProbeInches is the side of the squares that are read to compare languages: some five lines.
	languageProbeInches = 1.8
)

// languagesInScript returns those of the languages that are written in a script; what stands in no list is written in
// Latin letters.
func languagesInScript(script string, known []string) []string {
	if script == latin {
		return slices.DeleteFunc(slices.Clone(known), func(l string) bool {
			return isNonLatin(l) || strings.Contains(l, "/") || strings.HasSuffix(l, columnSuffix)
		})
	}
	var out []string
	for _, l := range scripts[script] {
		if slices.Contains(known, l) {
			out = append(out, l)
		}
	}
	return out
}

// isNonLatin reports whether a language is written in letters that are not Latin.
func isNonLatin(language string) bool {
	for _, languages := range scripts {
		if slices.Contains(languages, language) {
			return true
		}
	}
	return false
}

// latinModel reads what stands in Latin letters amid other scripts.
const latinModel = "eng"

// scriptsWithLatin are the scripts whose models read Latin letters by themselves, if not as well.
var scriptsWithLatin = []string{"Han", "Hangul", "Hiragana", "Japanese", "Katakana", "Korean"}

// addLatinModel returns the languages to read a page in, and those to read it again in if it reads badly. Pages in
// other scripts hold names, terms, addresses and whole passages in Latin letters, of which a model that has no such
// letters makes words of its own: with English besides, the corpus's pages in Arabic, Greek, Hebrew, Hindi, Russian,
// Thai and Ukrainian came to 540 wrong characters in place of 3,261, in 5 % more CPU, as fewer need a second reading.
// The two Japanese ones, whose model has them, were read a little worse, so that there English is left to the second
// reading.
func (m *handleCache) addLatinModel(languages string) (first, again string) {
	all := strings.Split(languages, "+")
	if slices.ContainsFunc(all, func(l string) bool { return !isNonLatin(l) }) {
		return languages, languages
	}
	if !hasModel(m.datapath, latinModel) {
		return languages, languages
	}
	both := languages + "+" + latinModel
	if slices.ContainsFunc(scriptsWithLatin,
		func(script string) bool { return slices.Contains(scripts[script], all[0]) }) {
		return languages, both
	}
	return both, both
}

// detectLanguage finds out which of the installed languages a page is in: the detector tells the script, and among
// several languages of that script the one wins that two squares of the page read best in. It takes as long as a
// recognition, and as long again for each language that has to be loaded.
func (m *handleCache) detectLanguage(r *reader) (string, error) {
	known, err := listLanguages(m.datapath)
	if err != nil {
		return "", err
	}
	script, turn := m.detectScript(r.img, r.dpi)
	candidates := languagesInScript(script, known)
	// What is loaded anyway is tried first, and wins where others are no better.
	slices.SortStableFunc(candidates, func(a,
		b string) int {
		return languagePriority(b, m.first) - languagePriority(a, m.first)
	})
	switch {
	case len(candidates) == 0:
		return m.first, nil
	case len(candidates) == 1:
		return candidates[0], nil
	}
	return m.bestLanguage(r, candidates, turn)
}

// bestLanguage returns the language, of several, that two squares of the page read best in.
func (m *handleCache) bestLanguage(r *reader, candidates []string, turn int) (string, error) {
	best, bestLanguage := -1.0, candidates[0]
	for _, l := range candidates[:min(len(candidates), maxTriedLanguages)] {
		h, err := m.handleFor(l)
		if err != nil {
			return "", err
		}
		r.switchHandle(h)
		legible, err := r.probeSquares(languageProbeInches, imageSteps{turn: turn}, oneBlock)
		if err != nil {
			return "", fmt.Errorf("try %s: %w", l, err)
		}
		if legible > best*minLanguageLead {
			best, bestLanguage = legible, l
		}
	}
	return bestLanguage, nil
}

// minLanguageLead is by how much a language must read better than one that was tried before it.
const minLanguageLead = 1.01

func languagePriority(language, first string) int {
	if slices.Contains(strings.Split(first, "+"), language) {
		return 1
	}
	return 0
}

// detectScript returns the script of a page and the degrees clockwise by which it must be turned to be upright. Where
// the detector is not installed, or finds too little text, the script is Latin.
func (m *handleCache) detectScript(img greyImage, dpi float32) (string, int) {
	h, err := m.handleFor(osdModel)
	if err != nil {
		return latin, 0
	}
	h.SetImage(img, int(dpi+0.5), segmentation(C.PSM_OSD_ONLY))
	defer h.ClearImage()
	var degrees C.int
	var sureOfTurn, sureOfScript C.float
	var name *C.char // Tesseract's own, not to be freed
	if C.TessBaseAPIDetectOrientationScript(h.api, &degrees, &sureOfTurn, &name, &sureOfScript) == C.FALSE || name == nil {
		return latin, 0
	}
	found := C.GoString(name)
	if _, ok := scripts[found]; !ok {
		found = latin // Fraktur, Vietnamese and what else is a kind of it
	}
	return found, int(degrees) % 360 / 90 * 90
}

// isoCodes holds the languages whose codes differ from ISO 639-3.
var isoCodes = map[string]string{
	"chi_sim": "zho", "chi_tra": "zho", "chi_sim_vert": "zho", "chi_tra_vert": "zho", "jpn_vert": "jpn",
	"kor_vert": "kor", "frk": "deu",
	"deu_frak": "deu", "deu_latf": "deu", "kat_old": "kat", "ita_old": "ita", "spa_old": "spa", "srp_latn": "srp",
	"uzb_cyrl": "uzb",
	"aze_cyrl": "aze", "kur_ara": "kmr",
}

// isoCode returns a language of Tesseract's as ISO 639-3, empty for several and for whole scripts.
func isoCode(language string) string {
	if code, ok := isoCodes[language]; ok {
		return code
	}
	if len(language) == 3 {
		return language
	}
	return ""
}
