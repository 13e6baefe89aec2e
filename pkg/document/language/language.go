// Package language tells which language a text is written in: by its script, and among languages of one script by
// their commonest words.
package language

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Detector gathers what words say of their language. The zero value is ready.
type Detector struct {
	votes [len(languageCodes)]int32
	// scripts counts characters of scripts that tell a language by themselves.
	scripts map[string]int
	letters int
	words   int
}

// Reset makes the counter empty.
func (c *Detector) Reset() { *c = Detector{} }

// AddWord counts a word.
func (c *Detector) AddWord(word string) {
	var lower [maxStopWord]byte
	ascii := true
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if !ascii {
		c.addNonASCIIWord(word)
		return
	}
	n := 0
	for i := range len(word) {
		b := word[i]
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b < 'a' || b > 'z' {
			if b == '\'' && n > 0 {
				break // l'eau, don't: the part before it
			}
			continue
		}
		if n == maxStopWord {
			n++
			break
		}
		lower[n] = b
		n++
	}
	if n == 0 {
		return
	}
	c.letters += n
	c.words++
	if n <= maxStopWord {
		c.voteForWord(string(lower[:n]))
	}
}

// addNonASCIIWord counts a word that is not plain ASCII.
func (c *Detector) addNonASCIIWord(word string) {
	word = strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }))
	if word == "" {
		return
	}
	c.words++
	for _, r := range word {
		if !unicode.IsLetter(r) {
			continue
		}
		c.letters++
		if r < 0x370 {
			if langs, ok := rareLetters[r]; ok {
				for _, l := range langs {
					c.votes[l]++
				}
			}
			continue
		}
		if name := scriptOf(r); name != "" {
			if c.scripts == nil {
				c.scripts = map[string]int{}
			}
			c.scripts[name]++
		}
	}
	if len(word) <= 4*maxStopWord {
		c.voteForWord(word)
	}
}

func (c *Detector) voteForWord(word string) {
	for _, l := range stopWords[word] {
		c.votes[l] += 3
	}
}

// Language returns the language (ISO 639-3) that most of what was added is written in; empty where there is too
// little to tell.
func (c *Detector) Language() string {
	most, best := 0, ""
	for name, n := range c.scripts {
		if n > most || n == most && name < best {
			most, best = n, name
		}
	}
	if best != "" && 2*most > c.letters {
		return c.languageOfScript(best)
	}
	// kana or Hangul among Latin words and Han
	if n := c.scripts["jpn"]; n > 0 && 5*(n+c.scripts["zho"]) > c.letters {
		return "jpn"
	}
	first, second, at := int32(0), int32(0), -1
	for i, v := range c.votes {
		if isCyrillic(languageCodes[i]) {
			continue
		}
		if v > first {
			first, second, at = v, first, i
		} else if v > second {
			second = v
		}
	}
	// One common word in a dozen at least, and a lead over the next language.
	if at < 0 || first < 6 || int(first)*4 < c.words || first*10 < second*11 {
		return ""
	}
	return languageCodes[at]
}

// languageOfScript returns the language of a script; some scripts are shared.
func (c *Detector) languageOfScript(name string) string {
	switch name {
	case "zho":
		if 12*c.scripts["jpn"] > c.scripts["zho"] {
			return "jpn"
		}
	case "cyr":
		best, at := int32(0), "rus"
		for i, v := range c.votes {
			if isCyrillic(languageCodes[i]) && v > best {
				best, at = v, languageCodes[i]
			}
		}
		return at
	}
	return name
}

func isCyrillic(name string) bool {
	return name == "rus" || name == "ukr" || name == "bul" || name == "srp"
}

// scriptOf returns the language that is written in the script of a character, or the script's own name where several
// are.
func scriptOf(r rune) string {
	switch {
	case r >= 0x370 && r <= 0x3ff || r >= 0x1f00 && r <= 0x1fff:
		return "ell"
	case r >= 0x400 && r <= 0x52f:
		return "cyr"
	case r >= 0x530 && r <= 0x58f:
		return "hye"
	case r >= 0x590 && r <= 0x5ff || r >= 0xfb1d && r <= 0xfb4f:
		return "heb"
	case r >= 0x600 && r <= 0x6ff || r >= 0x750 && r <= 0x77f || r >= 0xfb50 && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc:
		if r == 'پ' || r == 'چ' || r == 'ژ' || r == 'گ' || r == 'ی' || r == 'ک' {
			return "fas"
		}
		return "ara"
	case r >= 0x900 && r <= 0x97f:
		return "hin"
	case r >= 0x980 && r <= 0x9ff:
		return "ben"
	case r >= 0xb80 && r <= 0xbff:
		return "tam"
	case r >= 0xc00 && r <= 0xc7f:
		return "tel"
	case r >= 0xe00 && r <= 0xe7f:
		return "tha"
	case r >= 0x10a0 && r <= 0x10ff:
		return "kat"
	case r >= 0xac00 && r <= 0xd7a3 || r >= 0x1100 && r <= 0x11ff:
		return "kor"
	case r >= 0x3040 && r <= 0x30ff || r >= 0x31f0 && r <= 0x31ff:
		return "jpn"
	case r >= 0x3400 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff || r >= 0x20000 && r <= 0x3ffff:
		return "zho"
	}
	return ""
}

// MergeFrom adds what another counter has gathered.
func (c *Detector) MergeFrom(o *Detector) {
	for i, v := range o.votes {
		c.votes[i] += v
	}
	for name, n := range o.scripts {
		if c.scripts == nil {
			c.scripts = map[string]int{}
		}
		c.scripts[name] += n
	}
	c.letters += o.letters
	c.words += o.words
}

// IsCertain reports whether the script alone tells the language.
func (c *Detector) IsCertain() bool {
	for _, n := range c.scripts {
		if 2*n > c.letters && c.letters >= 4 {
			return true
		}
	}
	return false
}
