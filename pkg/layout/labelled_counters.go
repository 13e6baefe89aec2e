package layout

import (
	"strconv"
	"strings"
	"unicode"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// labelledCounter is what a line begins with that counts by a word and a number: "Step 3:", "Rule 4."; without a
// label where it begins otherwise.
type labelledCounter struct {
	label  string
	number int
}

// parseLabelledCounter returns the counter with a label that words begin with.
func parseLabelledCounter(words []*inkstreamv1.Word) labelledCounter {
	if len(words) < 3 {
		return labelledCounter{}
	}
	digits := words[1].GetText()
	if n := len(digits); n < 2 || n > 4 || digits[n-1] != ':' && digits[n-1] != '.' || !unicode.IsUpper(firstRune(words[0].GetText())) {
		return labelledCounter{}
	}
	label := words[0].GetText()
	number, err := strconv.Atoi(digits[:len(digits)-1])
	if err != nil || strings.ContainsFunc(label, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return labelledCounter{}
	}
	return labelledCounter{label, number}
}

// follows reports whether a counter comes right behind another with the same label.
func (c labelledCounter) follows(before labelledCounter) bool {
	return c.label != "" && c.label == before.label && c.number == before.number+1
}
