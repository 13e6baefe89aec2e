package layout

import (
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// PageText returns the text of a page from its blocks as they stand: lines end with a line feed, blocks are set apart
// by a blank line but for the items of a list. A row of a table is one line, its cells set apart by a tab.
func PageText(page *inkstreamv1.Page) string {
	n := 0
	for _, block := range page.GetBlocks() {
		n++
		for _, line := range block.GetLines() {
			for _, w := range line.GetWords() {
				n += len(w.GetText()) + 1
			}
		}
	}
	b := make([]byte, 0, n)
	first, list := true, false
	for _, block := range page.GetBlocks() {
		if len(block.GetLines()) == 0 {
			continue
		}
		item := block.GetType() == ListItem
		if !first && !(item && list) {
			b = append(b, '\n')
		}
		first, list = false, item
		if block.GetTable() != nil {
			b = appendTable(b, block.GetTable())
			continue
		}
		for _, line := range block.GetLines() {
			b = append(appendWords(b, line), '\n')
		}
	}
	return string(b)
}

func appendTable(b []byte, t *inkstreamv1.Table) []byte {
	row := int32(0)
	for i, c := range t.GetCells() {
		switch {
		case i == 0:
		case c.GetRow() != row:
			b = append(b, '\n')
		default:
			b = append(b, '\t')
		}
		row = c.GetRow()
		b = append(b, c.GetText()...)
	}
	return append(b, '\n')
}

// appendWords writes the words of a line, with blanks where the line has blanks.
func appendWords(b []byte, line *inkstreamv1.Line) []byte {
	blanks := NewBlanks(line)
	for i, w := range line.GetWords() {
		if blanks.Before(i) {
			b = append(b, ' ')
		}
		b = append(b, w.GetText()...)
	}
	return b
}

// AppendLine appends a line to running text: with a blank where the script has one, and without the hyphen that
// breaks a word at the end of a line.
func AppendLine(b []byte, line *inkstreamv1.Line) []byte {
	words := line.GetWords()
	if len(words) == 0 {
		return b
	}
	return appendWords(AppendLineBreak(b, words[0].GetText()), line)
}

// maxWordLookback is how much of a text is looked at to tell how it goes on.
const maxWordLookback = 64

// AppendLineBreak appends what stands between a text and what it goes on with in the next line: a blank, or nothing,
// less the hyphen that breaks a word.
func AppendLineBreak(b []byte, next string) []byte {
	if len(b) == 0 || next == "" {
		return b
	}
	end := string(b[max(0, len(b)-maxWordLookback):])
	switch DecideLineJoin(end, next) {
	case JoinDehyphenated:
		return b[:len(b)-trailingHyphenLength(end)]
	case JoinWithSpace:
		return append(b, ' ')
	default:
		return b
	}
}

// LineJoin says how two lines of running text are put together.
type LineJoin int

// The joints: with a blank; with nothing between them; with nothing, and without the hyphen that the first ends with.
const (
	JoinWithSpace LineJoin = iota
	JoinDirectly
	JoinDehyphenated
)

// DecideLineJoin tells how a text goes on in the next line. A hyphen between two letters breaks a word if the next
// line begins with a small letter, or all of the text is in capitals. It stays where the word before it is a prefix
// that keeps it, a number, or the first part of a compound that is written with capitals.
func DecideLineJoin(before, next string) LineJoin {
	n := trailingHyphenLength(before)
	if n == 0 {
		if breaksRange(before, next) {
			return JoinDirectly
		}
		if NeedsSpace(before, next) {
			return JoinWithSpace
		}
		return JoinDirectly
	}
	last, _ := utf8.DecodeLastRuneInString(before[:len(before)-n])
	first, _ := utf8.DecodeRuneInString(next)
	if end := strings.IndexAny(next, " \t\n"); end >= 0 {
		next = next[:end]
	}
	switch {
	case !unicode.IsLetter(last):
		if unicode.IsDigit(last) {
			return JoinDirectly
		}
		return JoinWithSpace
	case unicode.IsLower(first) && keepsHyphen(before[:len(before)-n], next):
		return JoinDirectly
	case unicode.IsLower(first):
		return JoinDehyphenated
	case isAllCapitals(next) && endsInCapitals(before[:len(before)-n]) && !keepsHyphen(before[:len(before)-n], next):
		return JoinDehyphenated
	default:
		return JoinDirectly
	}
}

// breaksRange reports whether a line ends with the dash of a range of figures that the next goes on with: "pp. 12–",
// "34".
func breaksRange(before, next string) bool {
	before, found := strings.CutSuffix(before, "–")
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(next)
	return found && unicode.IsDigit(last) && unicode.IsDigit(first)
}

// endsInCapitals reports whether a text ends with words in capitals, so that those of a last word that is cut short
// say nothing of it: licences and warnings are written so, and their words are broken as any others. A name in
// capitals is that one word, or two.
func endsInCapitals(text string) bool {
	words := strings.Fields(text)
	const enough = 4
	if len(words) < enough {
		return false
	}
	for _, w := range words[len(words)-enough:] {
		if !isAllCapitals(w) {
			return false
		}
	}
	return true
}

// isAllCapitals reports whether a word has letters, no small ones among them.
func isAllCapitals(word string) bool {
	letters := false
	for _, r := range word {
		if unicode.IsLower(r) {
			return false
		}
		letters = letters || unicode.IsUpper(r)
	}
	return letters
}

// keepsHyphen reports whether the word before a hyphen has one already, as in "state-of-the-art", or is a prefix that
// is set off by one, and not the stem of what follows. (Far more words that begin with "ex" are broken there than are
// set off.)
func keepsHyphen(text, next string) bool {
	word := text[strings.LastIndexAny(text, " \t\n")+1:]
	if strings.ContainsAny(word, "-–/") {
		return true
	}
	switch strings.ToLower(strings.TrimLeft(word, "(\"'“‘")) {
	case "high", "low", "long", "short", "real", "third", "first":
		switch strings.ToLower(strings.TrimRight(next, ".,;:!?)\"'”’")) {
		case "er", "est", "ly", "ness", "ish", "en", "age", "ism", "ist", "istic", "ity", "ities", "ize", "ized", "izes",
			"ise", "ised", "ises":
			return false
		}
		return true
	case "self", "non", "all", "half", "quasi", "well", "two", "three", "four", "one", "cross":
		return true
	}
	return false
}

// trailingHyphenLength returns the length of the hyphen that a text ends with; 0 if it ends with none.
func trailingHyphenLength(text string) int {
	r, size := utf8.DecodeLastRuneInString(text)
	if r == '-' || r == 0x2010 || r == 0xad {
		return size
	}
	return 0
}

// NeedsSpace reports whether a blank stands between two words by their letters alone: not between characters of
// scripts that are written without, nor beside their punctuation, which has its own room. Where their places are
// known, [Blanks] tells more.
func NeedsSpace(before, next string) bool {
	if before == "" || next == "" {
		return false
	}
	if before[len(before)-1] < utf8.RuneSelf && next[0] < utf8.RuneSelf {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(next)
	return !(isUnspacedRune(last) && isUnspacedRune(first) || isHalfSquareMark(last) || isHalfSquareMark(first))
}

// isHalfSquareMark reports the commas, full stops and other marks of Chinese and Japanese, which fill half of their
// square and leave the other half free. Their brackets and quotation marks are none: Korean has them too, and blanks
// beside them.
func isHalfSquareMark(r rune) bool {
	switch r {
	case '、', '。', '，', '．', '：', '；', '！', '？', '（', '）':
		return true
	}
	return false
}

// isUnspacedRune reports characters of scripts that are written without blanks: Thai, Lao, Myanmar, Khmer, Han with
// its punctuation, kana.
func isUnspacedRune(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r <= 0x0eff, r >= 0x1000 && r <= 0x109f, r >= 0x1780 && r <= 0x17ff, r >= 0x2e80 && r <= 0x30ff && r != 0x3000,
		r >= 0x31f0 && r <= 0x4dbf, r >= 0x4e00 && r <= 0x9fff, r >= 0xf900 && r <= 0xfaff, r >= 0xff01 &&
			r <= 0xff60, r >= 0x20000 && r <= 0x3ffff:
		return true
	}
	return false
}
