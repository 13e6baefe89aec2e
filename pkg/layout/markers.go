package layout

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// bullets are the signs that begin an item of a list.
const bullets = tickBoxes + "•‣◦▪▫■□●○◆◇►▶➢➤✓✔❖⁃∙·–—*\uf0b7\uf0a7\uf0d8\uf076\uf0fc\uf02d"

// tickBoxes are the bullets that say something: whether what follows applies.
const tickBoxes = "☐☑☒"

// parseListMarker returns the marker of a list's item if a word is one; else nothing.
func parseListMarker(word string) string {
	if m := parseSpacedMarker(word); m != "" {
		return m
	}
	if c, rest := parseEnumerator(word); rest == "" {
		return c.text
	}
	return ""
}

// parseSpacedMarker returns a marker that a blank follows, if a word is one: a bullet, "2.", "b)", "(iv)".
func parseSpacedMarker(word string) string {
	r, size := utf8.DecodeRuneInString(word)
	if size == len(word) && (strings.ContainsRune(bullets, r) || r == '-') {
		return word
	}
	return parseLatinEnumerator(word)
}

// turnEnumerator turns the counter at the beginning of a line that runs from right to left as it is read: its stop or
// bracket stands left of the number, and was read first (Unicode Standard Annex #9, rules W4 and N2).
func turnEnumerator(words []*inkstreamv1.Word) {
	const most = 3 // digits
	text := words[0].GetText()
	ends := map[byte]string{'.': ".", '(': ")", ')': ")"}
	if len(text) < 2 || len(text) > 1+most || ends[text[0]] == "" || strings.Trim(text[1:], "0123456789") != "" ||
		!isRightToLeft(words) {
		return
	}
	words[0].Text = text[1:] + ends[text[0]]
}

// gluedBullet returns the bullet that a word begins with, where letters follow it without a blank; no sign that words
// have of their own.
func gluedBullet(word string) string {
	const ownSigns = "·–—*"
	r, size := utf8.DecodeRuneInString(word)
	if !strings.ContainsRune(bullets, r) || strings.ContainsRune(ownSigns, r) {
		return ""
	}
	if next, _ := utf8.DecodeRuneInString(word[size:]); !unicode.IsLetter(next) {
		return ""
	}
	return word[:size]
}

// markGluedBullets makes items of lines that begin with a bullet without a blank behind it, where one is below another.
func markGluedBullets(lines []*inkstreamv1.Line, shapes []lineShape) {
	const fewest = 3
	glued := make(map[string]int)
	for _, line := range lines {
		glued[gluedBullet(line.GetWords()[0].GetText())]++
	}
	for i, line := range lines {
		if bullet := gluedBullet(line.GetWords()[0].GetText()); bullet != "" && glued[bullet] >= fewest {
			shapes[i].marker, shapes[i].bulletMarker = bullet, true
		}
	}
}

// isBullet reports whether a marker is a sign, not a number or letter.
func isBullet(marker string) bool {
	r, size := utf8.DecodeRuneInString(marker)
	return size == len(marker) && (strings.ContainsRune(bullets, r) || strings.ContainsRune(eastBullets, r) || r == '-')
}

// parseLatinEnumerator returns a word that counts items: up to three digits or a small Roman number or one letter,
// with a bracket or a stop.
func parseLatinEnumerator(word string) string {
	n := len(word)
	if n < 2 || n > 7 {
		return ""
	}
	last := word[n-1]
	if last != '.' && last != ')' && last != ':' && last != ']' {
		return ""
	}
	body := word[:n-1]
	if body[0] == '(' && last == ')' || body[0] == '[' && last == ']' {
		body = body[1:]
	} else if last == ']' || last == ':' {
		return ""
	}
	if body == "" {
		return ""
	}
	digits, roman := 0, 0
	for i := range len(body) {
		switch c := body[i]; {
		case c >= '0' && c <= '9':
			digits++
		case strings.IndexByte("ivxIVX", c) >= 0:
			roman++
		}
	}
	switch {
	case digits == len(body) && digits <= 3, roman == len(body):
		return word
	case len(body) == 1 && (body[0] >= 'a' && body[0] <= 'z' || body[0] >= 'A' && body[0] <= 'Z'):
		return word
	default:
		return ""
	}
}

// captionPattern matches how captions of figures and tables begin, in the languages that are met most.
var captionPattern = regexp.MustCompile(`^(?i:fig(ure|\.)?|table|tab\.|abb(ildung|\.)|tabelle|tableau|tabla|figura|tabella|scheme|chart|exhibit|box|map|listing|example|рис(унок|\.)|таблица)[\s\x{a0}]*([A-Z]{0,2}[-.]?\d+([.\-–]\s?\d+)*|[IVX]+)[a-z]?([.:)|\s–—-]|$)`)

var captionCJK = regexp.MustCompile(`^[図表图]\s*[0-9０-９]`)

// isCaption reports whether a text begins as a caption does.
func isCaption(text string) bool {
	if text == "" {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(text); !unicode.IsLetter(r) {
		return false
	}
	if len(text) > 64 {
		text = strings.ToValidUTF8(text[:64], "")
	}
	return captionPattern.MatchString(text) || captionCJK.MatchString(text)
}

// parseNoteMark returns how a note at the foot of a page begins: a raised number, or a sign such as * and †; else
// nothing.
func parseNoteMark(word string) string {
	n := 0
	for _, r := range word {
		if strings.ContainsRune("*†‡§¶#", r) || unicode.IsDigit(r) || unicode.Is(unicode.No, r) {
			n += utf8.RuneLen(r)
			if n > 4 {
				return ""
			}
			continue
		}
		break
	}
	return word[:n]
}
