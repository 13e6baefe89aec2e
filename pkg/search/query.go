package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"inkstream.dev/pkg/fault"
)

const (
	// maxQueryRunes and maxClauses are far more than people type, and bound the work that a query can cause.
	maxQueryRunes = 1000
	maxClauses    = 32
	maxPhrase     = 128 // words, or characters of scripts without blanks
	// minPrefix keeps a* from fetching a large part of the index. One rune of a script without letters says enough.
	minPrefix = 2
)

// clause is one thing that a page must have, or must not have: the words of text one after the other, the last of
// them only by its beginning if prefix is set.
type clause struct {
	text   string
	prefix bool
	not    bool
	exact  bool // in quotes: other forms of its words will not do
}

// parseQuery reads a query. Its errors are INVALID_ARGUMENT faults that do not repeat the query: it may be as private
// as a document.
func parseQuery(text string) ([]clause, error) {
	if utf8.RuneCountInString(text) > maxQueryRunes {
		return nil, fault.New(fault.InvalidArgument, "the query is longer than %d characters", maxQueryRunes)
	}
	clauses, err := splitClauses(quoteNormaliser.Replace(cleanText(text)))
	if err != nil {
		return nil, err
	}
	positive := 0
	for _, c := range clauses {
		if !c.not {
			positive++
		}
		folded := foldWords(c.text)
		if n := len(folded); n > maxPhrase {
			return nil, fault.New(fault.InvalidArgument, "a phrase of the query has %d words, at most %d are taken", n,
				maxPhrase)
		}
		if last := folded[len(folded)-1]; c.prefix && utf8.RuneCountInString(last) < minPrefix && last[0] < utf8.RuneSelf {
			return nil, fault.New(fault.InvalidArgument, "a word that ends with * needs at least %d letters", minPrefix)
		}
	}
	switch {
	case len(clauses) > maxClauses:
		return nil, fault.New(fault.InvalidArgument, "the query has more than %d words and phrases", maxClauses)
	case len(clauses) == 0:
		return nil, fault.New(fault.InvalidArgument, "the query has no words")
	case positive == 0:
		return nil, fault.New(fault.InvalidArgument, "the query says only what pages must not have")
	}
	return clauses, nil
}

// quoteNormaliser has the signs of a query as keyboards and word processors write them.
var quoteNormaliser = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‟", `"`, "＂", `"`, "«", `"`, "»",
	`"`, "－", "-", "−", "-", "＊", "*")

// splitClauses splits a query at blanks and quotation marks, and drops what has no words.
func splitClauses(text string) ([]clause, error) {
	var clauses []clause
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if text == "" {
			return clauses, nil
		}
		var c clause
		if text[0] == '-' {
			c.not = true
			text = strings.TrimLeft(text, "-")
		}
		if strings.HasPrefix(text, `"`) {
			phrase, rest, closed := strings.Cut(text[1:], `"`)
			if !closed {
				return nil, fault.New(fault.InvalidArgument, "a quotation mark is not closed")
			}
			c.text, text, c.exact = phrase, rest, true
			if strings.HasPrefix(text, "*") {
				c.prefix, text = true, text[1:]
			}
		} else {
			end := strings.IndexFunc(text, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
			if end < 0 {
				end = len(text)
			}
			c.text, text = text[:end], text[end:]
			c.prefix = strings.HasSuffix(c.text, "*")
		}
		if len(foldWords(c.text)) > 0 {
			clauses = append(clauses, c)
		}
	}
}

// isWordRune reports what the index takes for part of a word: the categories that its tokenizer has, and the radicals
// and squared kana, which are symbols, but stand for characters.
func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r) || unicode.IsMark(r) ||
		isStandaloneRune(r)
}

// matchExpression writes clauses as an FTS5 expression. Every text is a quoted string, so nothing in it is syntax.
func matchExpression(clauses []clause) string {
	var must, mustNot []string
	for _, c := range clauses {
		phrases := c.phrases()
		s := strings.Join(phrases, " OR ")
		if len(phrases) > 1 {
			s = "(" + s + ")"
		}
		if c.not {
			mustNot = append(mustNot, s)
		} else {
			must = append(must, s)
		}
	}
	expr := "(" + strings.Join(must, " AND ") + ")"
	if len(mustNot) > 0 {
		expr += " NOT (" + strings.Join(mustNot, " OR ") + ")"
	}
	return expr
}

// quoteTerms writes the words of a text as FTS5 finds them in what indexed gave it. What is no word, as a mark that
// stands alone, is not FTS5's to judge.
func quoteTerms(text string) string { return `"` + strings.Join(foldWords(text), " ") + `"` }

// phrases returns the phrases of FTS5 of which a page that the clause matches has one: where it is one word, any of its
// forms.
func (c *clause) phrases() []string {
	words := foldWords(c.text)
	if c.prefix {
		return []string{quoteTerms(c.text) + " *"}
	}
	if c.exact || len(words) != 1 {
		return []string{quoteTerms(c.text)}
	}
	forms := inflections(words[0])
	for i, f := range forms {
		forms[i] = quoteTerms(f)
	}
	return forms
}

// hasManyWords reports whether the index finds the clause only by looking where its words stand.
func (c *clause) hasManyWords() bool { return len(foldWords(c.text)) > 1 }
