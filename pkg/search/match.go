package search

import (
	"slices"
	"strings"
)

// Matcher finds what a query matches in a page. With it the boxes of the matching words of a hit are had without
// storing them: read the page's result, and ask for the numbers of its words that match.
//
//	m, err := search.NewMatcher(query)           // once for a query
//	for _, match := range m.Find(texts) { … }    // texts are the page's words in order; the box of match.Word is what to show
type Matcher struct {
	clauses []clausePattern
}

// clausePattern is a clause made ready: its words in order, each in all the forms that will do.
type clausePattern struct {
	words  [][]string
	prefix bool
	not    bool
}

// NewMatcher returns the Matcher of a query's Text. A text that Search refuses is refused here with the same
// INVALID_ARGUMENT fault.
func NewMatcher(text string) (*Matcher, error) {
	clauses, err := parseQuery(text)
	if err != nil {
		return nil, err
	}
	return newMatcher(clauses), nil
}

func newMatcher(clauses []clause) *Matcher {
	m := &Matcher{}
	for _, c := range clauses {
		p := clausePattern{prefix: c.prefix, not: c.not}
		for _, w := range splitWords(c.text) {
			p.words = append(p.words, []string{w})
		}
		switch {
		case len(p.words) == 0: // of marks alone
			continue
		case len(p.words) == 1 && !c.prefix && !c.exact:
			p.words[0] = inflections(p.words[0][0])
		}
		m.clauses = append(m.clauses, p)
	}
	return m
}

// Match is what matches in a word of a page.
type Match struct {
	// Word is the number of the word, from 0.
	Word int
	// Span is the part of it: all of it, but where the page has no blanks between words, as in Chinese.
	Span Span
}

// FindMatches returns what matches of the words of a page, in order. A word of a page may be several to the index, as
// "well-known" is; it counts whole if one of them matches. Whether the page is a hit at all is not looked at.
func (m *Matcher) FindMatches(pageWords []string) []Match {
	var folded []string
	var of []Match // where each is
	for n, w := range pageWords {
		whole := !strings.ContainsFunc(w, isStandaloneRune)
		for span, f := range splitWords(w) {
			if whole {
				span = Span{End: len(w)}
			}
			folded = append(folded, f)
			of = append(of, Match{Word: n, Span: span})
		}
	}
	var out []Match
	for _, i := range markedIndexes(m.markMatches(folded)) {
		next := of[i]
		if last := len(out) - 1; last >= 0 && out[last].Word == next.Word && out[last].Span.End >= next.Span.Start {
			out[last].Span.End = next.Span.End
			continue
		}
		out = append(out, next)
	}
	return out
}

// markMatches tells of each folded word whether it matches what a page must have, and with which others: 0 if it does
// not, else 1 more than the number of the word that what it is part of begins with.
func (m *Matcher) markMatches(folded []string) []int {
	of := make([]int, len(folded))
	for _, p := range m.clauses {
		if p.not {
			continue
		}
		for i := range folded {
			if !p.matchesAt(folded, i) {
				continue
			}
			for j := range p.words {
				if of[i+j] == 0 {
					of[i+j] = i + 1
				}
			}
		}
	}
	return of
}

// markedIndexes returns the numbers of the words that are marked, in order.
func markedIndexes(of []int) []int {
	var out []int
	for i, n := range of {
		if n > 0 {
			out = append(out, i)
		}
	}
	return out
}

// hasPhrases reports whether more must be looked at than whether the words are there.
func (m *Matcher) hasPhrases() bool {
	return slices.ContainsFunc(m.clauses, func(p clausePattern) bool { return len(p.words) > 1 })
}

// foldWords returns the folded words of a text.
func foldWords(text string) []string {
	var folded []string
	for _, w := range splitWords(text) {
		folded = append(folded, w)
	}
	return folded
}

// matchesPage reports whether a page of these words has all that it must have, and nothing that it must not have.
func (m *Matcher) matchesPage(folded []string) bool {
	for _, p := range m.clauses {
		found := false
		for i := range folded {
			if found = p.matchesAt(folded, i); found {
				break
			}
		}
		if found == p.not {
			return false
		}
	}
	return true
}

// matchesAt reports whether the pattern matches from word i on.
func (p *clausePattern) matchesAt(folded []string, i int) bool {
	if i+len(p.words) > len(folded) {
		return false
	}
	for j, forms := range p.words {
		w := folded[i+j]
		if p.prefix && j == len(p.words)-1 {
			if !strings.HasPrefix(w, forms[0]) {
				return false
			}
			continue
		}
		if w != forms[0] && !slices.Contains(forms, w) {
			return false
		}
	}
	return true
}

// snippetWords is how many words a snippet has at most.
const snippetWords = 32

// cutSnippet returns a piece of the text around what matches: that stretch of snippetWords words that has most
// different matches, the earliest of several, and the rest of what its ends would cut.
func (m *Matcher) cutSnippet(text string) Snippet {
	var spans []Span
	var folded []string
	for span, w := range splitWords(text) {
		spans = append(spans, span)
		folded = append(folded, w)
	}
	if len(spans) == 0 {
		return Snippet{}
	}
	of := m.markMatches(folded)
	first, last := snippetRange(of, folded)
	from, to := spans[first].Start, spans[last].End
	if first == 0 {
		from = 0
	}
	if last == len(spans)-1 {
		to = len(text)
	}
	var s Snippet
	var b strings.Builder
	if first > 0 {
		b.WriteString("…")
	}
	at := from
	for i := first; i <= last; i++ {
		b.WriteString(shortenRun(text[at:spans[i].Start]))
		start := b.Len()
		b.WriteString(shortenRun(text[spans[i].Start:spans[i].End]))
		at = spans[i].End
		switch {
		case of[i] == 0:
		case i > first && of[i] == of[i-1]: // a phrase is marked as one
			s.Highlights[len(s.Highlights)-1].End = b.Len()
		default:
			s.Highlights = append(s.Highlights, Span{Start: start, End: b.Len()})
		}
	}
	b.WriteString(shortenRun(text[at:to]))
	if last < len(spans)-1 {
		b.WriteString("…")
	}
	s.Text = lineBreaks.Replace(b.String())
	return s
}

// snippetRange returns the first and the last word of a snippet.
func snippetRange(of []int, folded []string) (first, last int) {
	first = max(0, min(bestSnippetStart(markedIndexes(of), folded), len(of)-snippetWords))
	last = min(first+snippetWords, len(of)) - 1
	for n := 0; n < snippetWords/2 && first > 0 && of[first] > 0 && of[first] == of[first-1]; n++ {
		first--
	}
	for n := 0; n < snippetWords && last+1 < len(of) && of[last] > 0 && of[last] == of[last+1]; n++ {
		last++
	}
	return first, last
}

// shortenRun returns a word, or what stands between two, as a snippet shows it: of a run that is longer than words
// are, such as dots to the end of a line over and over, or a key, the beginning.
func shortenRun(run string) string {
	if len(run) <= maxWordBytes {
		return run
	}
	return truncateWord(run) + "…"
}

// lineBreaks makes one line of a text, of the same length.
var lineBreaks = strings.NewReplacer("\n", " ", "\t", " ")

// bestSnippetStart returns where to begin a snippet, a few words ahead of the first match in it.
func bestSnippetStart(hits []int, folded []string) int {
	const ahead = 4
	best, most := 0, 0
	distinct := map[string]int{} // those of hits[k:end], and how often
	end := 0
	for k, i := range hits {
		for ; end < len(hits) && hits[end] < i+snippetWords-ahead; end++ {
			distinct[folded[hits[end]]]++
		}
		if len(distinct) > most {
			best, most = i, len(distinct)
		}
		if w := folded[hits[k]]; distinct[w] == 1 {
			delete(distinct, w)
		} else {
			distinct[w]--
		}
	}
	return max(0, best-ahead)
}
