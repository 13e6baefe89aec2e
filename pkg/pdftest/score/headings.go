package score

import (
	"regexp"
	"strconv"
	"strings"
)

// minSimilarity is how similar two headings' texts have to be to be the same heading: a blank or a number that one of
// them lacks does not matter.
const minSimilarity = 0.8

// HeadingScore says how well headings agree with a truth.
type HeadingScore struct {
	// F1 is that of the headings' texts.
	F1 float64
	// Tree is the F1 of the headings that also stand below the same heading; 0 where the truth is flat.
	Tree float64
	// Flat says that the truth has one level only, so that it tells nothing of the tree.
	Flat       bool
	Truth, Got int
}

// CompareHeadings pairs the headings of two documents in order, and says how many agree. Levels are compared by what
// a heading stands below, so that it does not matter whether a document starts with level 1 or 2.
func CompareHeadings(truth, got []Heading) HeadingScore {
	tt, gt := headingRunes(truth), headingRunes(got)
	pairs := alignSequences(len(truth), len(got), func(a, b int) int {
		if runeSimilarity(tt[a], gt[b]) >= minSimilarity {
			return 1
		}
		return 0
	})
	s := HeadingScore{F1: F1(len(pairs), len(truth), len(got)), Flat: hasOneLevel(truth), Truth: len(truth), Got: len(got)}
	if s.Flat {
		return s
	}
	partner := map[int]int{-1: -1} // of each heading of the truth; -1 is the document
	for _, p := range pairs {
		partner[p.a] = p.b
	}
	tp, gp := parentIndexes(truth), parentIndexes(got)
	equal := 0
	for _, p := range pairs {
		if of, ok := partner[tp[p.a]]; ok && of == gp[p.b] {
			equal++
		}
	}
	s.Tree = F1(equal, len(truth), len(got))
	return s
}

func headingRunes(hs []Heading) [][]rune {
	out := make([][]rune, len(hs))
	for i, h := range hs {
		text := NormaliseText(h.Text, Options{Lenient: true, IgnoreCase: true})
		out[i] = []rune(strings.ReplaceAll(text, " ", ""))
	}
	return out
}

// runeSimilarity is one less the edit distance over the length of the longer text.
func runeSimilarity(a, b []rune) float64 {
	longer, shorter := max(len(a), len(b)), min(len(a), len(b))
	if longer == 0 {
		return 1
	}
	if float64(shorter) < minSimilarity*float64(longer) {
		return 0 // it cannot reach alike; the distance need not be known
	}
	return 1 - float64(EditDistance(a, b))/float64(longer)
}

func hasOneLevel(hs []Heading) bool {
	for _, h := range hs {
		if h.Level != hs[0].Level {
			return false
		}
	}
	return true
}

// parentIndexes returns, for each heading, the index of the one that it stands below; -1 if there is none.
func parentIndexes(hs []Heading) []int {
	out := make([]int, len(hs))
	var open []int // headings that the next one may stand below, from the outside in
	for i, h := range hs {
		for len(open) > 0 && hs[open[len(open)-1]].Level >= h.Level {
			open = open[:len(open)-1]
		}
		out[i] = -1
		if len(open) > 0 {
			out[i] = open[len(open)-1]
		}
		open = append(open, i)
	}
	return out
}

// TextSimilarity returns how near a text is to the truth, from 0 to 1: one less the edit distance in characters over
// the length of the longer one. Text in another order costs as much as wrong text.
func TextSimilarity(truth, got string) float64 {
	o := Options{Lenient: true}
	t, g := []rune(NormaliseText(truth, o)), []rune(NormaliseText(got, o))
	longer := max(len(t), len(g))
	if longer == 0 {
		return 1
	}
	return 1 - float64(EditDistance(t, g))/float64(longer)
}

var outlineEntry = regexp.MustCompile(`^[-+|](\t+)"(.*)"\t`)

// ReadOutline reads what mutool show outline writes: an entry a line, indented by its level, with its title in quotes.
func ReadOutline(text string) []Heading {
	var out []Heading
	for line := range strings.SplitSeq(text, "\n") {
		m := outlineEntry.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		title, err := strconv.Unquote(`"` + m[2] + `"`)
		if err != nil {
			title = m[2] // its escapes are not quite those of Go
		}
		out = append(out, Heading{Level: len(m[1]), Text: title})
	}
	return out
}
