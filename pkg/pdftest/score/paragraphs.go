package score

import (
	"regexp"
	"slices"
	"strings"
)

// runLength is how many words make a run: enough that the same run hardly stands twice in a document.
const runLength = 5

// RunIndex finds runs of words in a text.
type RunIndex struct{ places map[string]int }

// NewRunIndex indexes a text that was read. Hyphens at line ends are undone, and quotes and dashes folded.
func NewRunIndex(read string) *RunIndex {
	index := &RunIndex{places: map[string]int{}}
	for place, run := range listRuns(read) {
		if _, seen := index.places[run]; !seen {
			index.places[run] = place
		}
	}
	return index
}

// leaderDots are the dots that lead from an entry to its page. They are no words: truths and readers write them or not.
var leaderDots = regexp.MustCompile(`(?:[.·…]\s*){4,}`)

// listRuns returns the runs of a text. Where a word begins, a run begins.
func listRuns(text string) []string {
	words := splitRunWords(text)
	var out []string
	for i := 0; i+runLength <= len(words); i++ {
		out = append(out, strings.Join(words[i:i+runLength], " "))
	}
	return out
}

// splitRunWords returns the words of a text that runs are made of.
func splitRunWords(text string) []string {
	return SplitWords(leaderDots.ReplaceAllString(NormaliseText(text, Options{Lenient: true}), " "))
}

// ParagraphRuns says what of a paragraph was read.
type ParagraphRuns struct {
	// Whole of Total runs stand in the text unbroken. A paragraph of fewer words than a run has none.
	Whole, Total int
	// Place is where the paragraph stands in the text, in words; -1 if none of its runs was found.
	Place int
}

// FindParagraph looks for the runs of a paragraph. Runs with one of the marked words, which end in the mark of a footnote,
// do not count, because readers write such marks in more than one way.
func (x *RunIndex) FindParagraph(text string, marked []string) ParagraphRuns {
	found := ParagraphRuns{Place: -1}
	var places []int
	for _, run := range listRuns(text) {
		if slices.ContainsFunc(strings.Fields(run), func(word string) bool { return slices.Contains(marked, word) }) {
			continue
		}
		found.Total++
		if place, ok := x.places[run]; ok {
			found.Whole++
			places = append(places, place)
		}
	}
	if len(places) > 0 {
		slices.Sort(places)
		found.Place = places[len(places)/2]
	}
	return found
}
