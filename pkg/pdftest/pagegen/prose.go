package pagegen

import (
	"embed"
	"fmt"
	"html"
	"math/rand/v2"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The words of each language, by their part of speech. They and the sentences made of them were written for this
// package.
//
//go:embed lexicon/*.txt
var lexiconFiles embed.FS

// lexicon holds the words of a language by their part of speech.
type lexicon map[string][]string

var lexicons = readLexicons()

func readLexicons() map[string]lexicon {
	out := map[string]lexicon{}
	files, err := lexiconFiles.ReadDir("lexicon")
	if err != nil {
		panic(err) // the folder is embedded
	}
	for _, file := range files {
		data, err := lexiconFiles.ReadFile("lexicon/" + file.Name())
		if err != nil {
			panic(err)
		}
		words := lexicon{}
		for line := range strings.Lines(string(data)) {
			part, list, _ := strings.Cut(line, ":")
			for word := range strings.FieldsSeq(list) {
				words[part] = append(words[part], strings.ReplaceAll(word, "-", " "))
			}
		}
		out[strings.TrimSuffix(path.Base(file.Name()), ".txt")] = words
	}
	return out
}

// chance is a source of random choices.
type chance struct{ *rand.Rand }

func newChance(seed uint64, purpose string) chance {
	hash := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(purpose) {
		hash = (hash ^ uint64(b)) * 1099511628211
	}
	return chance{rand.New(rand.NewPCG(seed, hash))}
}

// between returns a number from lowest to highest.
func (c chance) between(lowest, highest float64) float64 {
	return lowest + (highest-lowest)*c.Float64()
}

// count returns a whole number from lowest to highest.
func (c chance) count(lowest, highest int) int { return lowest + c.IntN(highest-lowest+1) }

// happens reports true with a probability.
func (c chance) happens(probability float64) bool { return c.Float64() < probability }

// choose returns one of the choices.
func choose[T any](c chance, choices ...T) T { return choices[c.IntN(len(choices))] }

// writer makes up text in a language.
type writer struct {
	chance
	code  string // as Tesseract names the language
	words lexicon
}

func newWriter(c chance, code string) writer { return writer{c, code, lexicons[code]} }

// sentencePatterns are sequences of parts of speech; "," stands for itself.
var sentencePatterns = []string{
	"det adj noun verb det noun prep det noun",
	"det noun verb det adj noun conj det noun verb det noun",
	"prep det adj noun , det noun aux adv adj",
	"adv det noun verb det noun prep det adj noun",
	"det noun prep det noun verb det noun , conj det adj noun aux adj",
	"conj det noun verb det noun , det adj noun verb det noun prep det noun",
	"det adj adj noun aux adv adj prep det noun",
	"det noun of-name verb det noun prep place",
	"name adv verb det adj noun prep det noun of-name",
	"prep year det noun prep place aux adj conj det noun verb number noun",
	"number noun prep det noun aux adj , conj number verb det noun",
	"det noun , det noun conj det noun verb adv prep det adj noun",
	"det noun aux adj",
	"name verb det noun",
}

var (
	surnames = strings.Fields(`Adler Bianchi Carver Dubois Ellery Fontaine Grant Hollis Ivanov Jansen Kowalski Lindqvist Marsh Novak
		Okafor Pereira Quinn Rossi Schneider Tanaka Underhill Vogel Whitlock Yilmaz Zimmer Abbott Barlow Crane Drummond Everett Fairfax
		Garrick Hathaway Ingram Jarvis Keating Langley Mercer Norris Osborne Prescott Radley Sutton Thorne Upjohn Vance Wycliffe`)
	forenames = strings.Fields(`Anna Bernard Clara Daniel Elena Felix Greta Hugo Irene Jonas Karla Leo Marta Nils Olga Paul Rosa Simon
		Teresa Ulrich Vera Walter Yara Zoe Alice Bruno Cecilia David Esther Frank Hanna Ivo Judith Lukas Miriam Oscar Petra Ruben`)
	townNames = strings.Fields(`Ashford Belmont Carrow Dunmore Eastleigh Fernhill Glenford Harwick Ilford Kelton Larkfield Millbrook
		Northam Oakridge Penrose Quarley Ravensbourne Stonebridge Tilbury Wexcombe Yarrow Brackley Cresswell Hollingford Marlow`)
	monthNames = strings.Fields(`January February March April May June July August September October November December`)
)

// usesLatinNames reports whether names and places are written into the language's text.
func (w writer) usesLatinNames() bool {
	switch w.code {
	case "rus", "ell", "ara", "heb":
		return false
	}
	return true
}

func (w writer) pickWord(part string) string {
	switch part {
	case "name", "of-name":
		if !w.usesLatinNames() {
			return w.pickWord("noun")
		}
		return choose(w.chance, surnames...)
	case "place":
		if !w.usesLatinNames() {
			return w.pickWord("noun")
		}
		return choose(w.chance, townNames...)
	case "year":
		return fmt.Sprint(w.count(1780, 2024))
	case "number":
		return fmt.Sprint(w.count(2, 980))
	}
	return choose(w.chance, w.words[part]...)
}

// sentence returns a sentence.
func (w writer) sentence() string {
	if w.code == "jpn" {
		return w.japaneseSentence()
	}
	text := w.clause()
	if w.happens(0.2) {
		text += choose(w.chance, ", ", "; ", ": ", " – ") + w.clause()
	}
	return upperFirst(text) + choose(w.chance, ".", ".", ".", ".", ".", ".", ".", "?", "!", ".")
}

func (w writer) clause() string {
	var out strings.Builder
	for part := range strings.FieldsSeq(choose(w.chance, sentencePatterns...)) {
		if part == "," {
			out.WriteString(",")
			continue
		}
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(w.pickWord(part))
	}
	return out.String()
}

// paragraph returns a number of sentences.
func (w writer) paragraph(sentences int) string {
	list := make([]string, sentences)
	for i := range list {
		list[i] = w.sentence()
	}
	if w.code == "jpn" {
		return strings.Join(list, "")
	}
	return strings.Join(list, " ")
}

// phrase returns a few words without a full stop, as headings and captions have them.
func (w writer) phrase() string {
	if w.code == "jpn" {
		return w.pickWord("adj") + w.pickWord("noun") + "と" + w.pickWord("noun")
	}
	patterns := []string{"det adj noun", "noun prep det noun", "adj noun conj adj noun", "det noun prep det adj noun",
		"noun , noun conj noun", "det noun of-name", "prep det noun", "adj noun"}
	var out []string
	for part := range strings.FieldsSeq(choose(w.chance, patterns...)) {
		if part == "," {
			out[len(out)-1] += ","
			continue
		}
		out = append(out, w.pickWord(part))
	}
	return upperFirst(strings.Join(out, " "))
}

// term returns one or two words.
func (w writer) term() string {
	if w.happens(0.5) || w.code == "jpn" {
		return w.pickWord("noun")
	}
	return w.pickWord("adj") + " " + w.pickWord("noun")
}

func (w writer) japaneseSentence() string {
	text := ""
	if w.happens(0.3) {
		text = w.pickWord("conj") + "、"
	}
	text += w.pickWord("adj") + w.pickWord("noun") + "は" + w.pickWord("noun") + w.pickWord("prep") + w.pickWord("noun") + "を"
	if w.happens(0.4) {
		text += w.pickWord("adv")
	}
	return text + w.pickWord("verb") + "。"
}

// fullName returns a person's name.
func (w writer) fullName() string {
	name := choose(w.chance, forenames...) + " " + choose(w.chance, surnames...)
	if w.happens(0.2) {
		name = choose(w.chance, forenames...) + " " + string(rune('A'+w.IntN(26))) + ". " + choose(w.chance, surnames...)
	}
	return name
}

func (w writer) date() string {
	switch w.IntN(3) {
	case 0:
		return fmt.Sprintf("%d %s %d", w.count(1, 28), choose(w.chance, monthNames...), w.count(1920, 2024))
	case 1:
		return fmt.Sprintf("%02d.%02d.%d", w.count(1, 28), w.count(1, 12), w.count(1990, 2024))
	default:
		return fmt.Sprintf("%d-%02d-%02d", w.count(1990, 2024), w.count(1, 12), w.count(1, 28))
	}
}

// amount returns a sum of money of up to so many digits before the point.
func (w writer) amount(digits int) string {
	whole := w.IntN(pow10(w.count(1, digits)))
	return groupThousands(whole) + fmt.Sprintf(".%02d", w.IntN(100))
}

func (w writer) street() string {
	return fmt.Sprintf("%d %s %s", w.count(1, 240), choose(w.chance, townNames...),
		choose(w.chance, "Street", "Road", "Lane", "Avenue", "Square"))
}

func (w writer) phone() string { return fmt.Sprintf("%03d %04d", w.count(200, 999), w.IntN(10000)) }

// sampleNames returns names as directories sort them.
func (w writer) sampleNames(number int) []string {
	out := make([]string, number)
	for i := range out {
		out[i] = choose(w.chance, surnames...) + ", " + choose(w.chance, forenames...)
	}
	return out
}

// address returns the lines of an address, in HTML.
func (w writer) address() string {
	return strings.Join([]string{html.EscapeString(w.fullName()), html.EscapeString(w.street()),
		fmt.Sprintf("%s %d", choose(w.chance, townNames...), w.count(10000, 99999))}, "<br>")
}

// title returns one to three words that begin with a capital.
func (w writer) title() string {
	out := w.term()
	if w.happens(0.4) {
		out += " " + w.pickWord("noun")
	}
	return upperFirst(out)
}

// numberMaker returns a source of numbers that look alike.
func (w writer) numberMaker() func() string {
	digits, kind := w.count(2, 6), w.IntN(5)
	return func() string {
		if w.happens(0.04) {
			return choose(w.chance, "–", "n/a", "–")
		}
		n := w.IntN(pow10(digits))
		switch kind {
		case 0:
			return fmt.Sprint(n)
		case 1:
			return groupThousands(n)
		case 2:
			return fmt.Sprintf("%d.%02d", n/100, n%100)
		case 3:
			return fmt.Sprintf("%d.%d%%", w.IntN(100), w.IntN(10))
		default:
			if w.happens(0.2) {
				return fmt.Sprintf("(%s)", groupThousands(n))
			}
			return groupThousands(n)
		}
	}
}

func pow10(digits int) int {
	out := 1
	for range digits {
		out *= 10
	}
	return out
}

func groupThousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func upperFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

const vowels = "aeiouyäöüáéíóúàèìòùâêîôûąęóаеёиоуыэюяαεηιουωάέήίόύώ"

// softHyphen marks where a word may be broken.
const softHyphen = '\u00ad'

// hyphenate puts soft hyphens between the syllables of long words, near enough to what a hyphenator does.
func hyphenate(text string) string {
	var out strings.Builder
	letters := []rune(text)
	start := 0
	for i, letter := range letters {
		if !unicode.IsLetter(letter) {
			start = i + 1
		}
		out.WriteRune(letter)
		end := i + 1
		for end < len(letters) && unicode.IsLetter(letters[end]) {
			end++
		}
		if i-start >= 2 && end-i > 3 && isVowel(letters[i+2]) && !isVowel(letters[i+1]) && unicode.IsLetter(letter) &&
			(isVowel(letter) || isVowel(letters[i-1])) {
			out.WriteRune(softHyphen)
		}
	}
	return out.String()
}

func isVowel(letter rune) bool { return strings.ContainsRune(vowels, unicode.ToLower(letter)) }
