package layout

import (
	"cmp"
	"slices"
	"strconv"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// markNumberedCode finds the numbers that count lines of code, which are often set in another and smaller font than
// that, and takes each for code like its line: else lines and numbers look like the columns of a table.
func (s *styles) markNumberedCode(lines []inputLine) {
	const fewest, mostDigits = 2, 5
	if s.typescript {
		return
	}
	var counted []numberedLine
	for _, line := range lines {
		number := line.words[0]
		value, err := strconv.Atoi(number.GetText())
		if err == nil && value > 0 && len(number.GetText()) <= mostDigits && line.angle == 0 && !s.fontStyleOf(number).mono &&
			s.isMonospaced(line.words[1:]) {
			counted = append(counted, numberedLine{value: value, line: &inkstreamv1.Line{Words: line.words}, number: rectFromBox(number.GetBbox())})
		}
	}
	slices.SortStableFunc(counted, func(a, b numberedLine) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.number.y0, b.number.y0))
	})
	for len(counted) >= fewest {
		run, rest := takeCountingRun(counted)
		if len(run) >= fewest {
			for _, l := range run {
				words := l.line.GetWords()
				if s.codeNumbers == nil {
					s.codeNumbers = map[*inkstreamv1.Word]fontStyle{}
				}
				s.codeNumbers[words[0]] = s.fontStyleOf(words[1])
			}
		}
		counted = rest
	}
}
