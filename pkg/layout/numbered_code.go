package layout

import (
	"strconv"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// markNumberedCode finds the numbers that count lines of code, which are often set in another and smaller font than
// that, and takes each for code like its line: else lines and numbers look like the columns of a table. Of a few lines
// there may be the number alone.
func (s *styles) markNumberedCode(lines []inputLine) {
	const fewest, mostDigits = 2, 5
	if s.typescript {
		return
	}
	var run []numberedLine
	mark := func() {
		if code := trimToCode(run); len(code) >= fewest {
			s.markCode(code)
		}
		run = run[:0]
	}
	for _, line := range lines {
		number := line.words[0]
		value, err := strconv.Atoi(number.GetText())
		if err != nil || value <= 0 || len(number.GetText()) > mostDigits || line.angle != 0 || s.fontStyleOf(number).mono ||
			len(line.words) > 1 && !s.isMonospaced(line.words[1:]) {
			continue
		}
		next := numberedLine{value: value, line: &inkstreamv1.Line{Words: line.words}, number: rectFromBox(number.GetBbox())}
		if len(run) > 0 && !next.countsOn(run[len(run)-1]) {
			mark()
		}
		run = append(run, next)
	}
	mark()
}

// trimToCode leaves off what counts no code at the ends of a run, and the run where little of it does.
func trimToCode(run []numberedLine) []numberedLine {
	isEmpty := func(l numberedLine) bool { return len(l.line.GetWords()) == 1 }
	for len(run) > 0 && isEmpty(run[0]) {
		run = run[1:]
	}
	for len(run) > 0 && isEmpty(run[len(run)-1]) {
		run = run[:len(run)-1]
	}
	empty := 0
	for _, l := range run {
		if isEmpty(l) {
			empty++
		}
	}
	if 2*empty >= len(run) {
		return nil
	}
	return run
}

// markCode marks the numbers of a run.
func (s *styles) markCode(run []numberedLine) {
	if s.codeNumbers == nil {
		s.codeNumbers = map[*inkstreamv1.Word]fontStyle{}
	}
	code := s.fontStyleOf(run[0].line.GetWords()[1])
	for _, l := range run {
		words := l.line.GetWords()
		if len(words) > 1 {
			code = s.fontStyleOf(words[1])
		}
		s.codeNumbers[words[0]] = code
	}
}
