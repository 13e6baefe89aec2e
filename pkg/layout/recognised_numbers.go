package layout

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// minLineNumbers is how many numbers that count on stand below each other at least where they count lines.
	minLineNumbers = 6
	// minRunOnShare is the share of counted lines, and minRunOns how many of them at least, that begin amid a
	// sentence: items of a list, or the rows of a table, hardly ever do.
	minRunOnShare, minRunOns = 0.25, 3
)

// numberedLine is a recogniser's line that begins with a number.
type numberedLine struct {
	number rect
	value  int
	block  *inkstreamv1.Block
	line   *inkstreamv1.Line
}

// partLineNumbers takes the numbers in the margin that count lines, as those of transcripts, out of the lines that a
// recogniser read them with, and makes them a block of their own before the text. It reports whether there were any.
func partLineNumbers(page *inkstreamv1.Page) bool {
	var lines []numberedLine
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			if words := l.GetWords(); l.GetAngle() == 0 && len(words) > 0 && isValidBox(words[0].GetBbox()) {
				if value, ok := parseLineNumber(words[0].GetText()); ok {
					lines = append(lines, numberedLine{rectFromBox(words[0].GetBbox()), value, b, l})
				}
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b numberedLine) int { return a.value - b.value })
	parted := false
	for len(lines) >= minLineNumbers {
		var run []numberedLine
		run, lines = takeCountingRun(lines)
		if countsRunningText(run) {
			moveLineNumbers(page, run)
			parted = true
		}
	}
	return parted
}

// CountsLines reports whether a block is a column of numbers that count the lines of the text next to it, as in
// transcripts: no text of the document. Of numbers that were recognised a few may be misread or missing.
func CountsLines(b *inkstreamv1.Block) bool {
	const share = 0.8 // of the lines of a column that was recognised
	counted, last, at := 0, 0, 0
	for i, line := range b.GetLines() {
		words := line.GetWords()
		if len(words) != 1 {
			return false
		}
		n, ok := parseLineNumber(words[0].GetText())
		missing := n - last - (i - at)
		switch {
		case ok && (counted == 0 || missing == 0 || missing == 1 && words[0].Confidence != nil):
			counted, last, at = counted+1, n, i
		case words[0].Confidence == nil:
			return false
		}
	}
	return counted >= minLineNumbers && float64(counted) >= share*float64(len(b.GetLines()))
}

// parseLineNumber returns the number that a word is, if it may count lines. A mark behind it is taken for dirt.
func parseLineNumber(word string) (int, bool) {
	const most = 3 // digits
	digits := strings.TrimRight(word, ")|,'")
	value, err := strconv.Atoi(digits)
	return value, err == nil && value > 0 && len(digits) <= most
}

// takeCountingRun returns the numbers that count on from the first, each right below the one before or with one
// missing between, and the rest. The lines are sorted by number.
func takeCountingRun(lines []numberedLine) (run, rest []numberedLine) {
	run = append(run, lines[0])
	for _, l := range lines[1:] {
		if l.countsOn(run[len(run)-1]) {
			run = append(run, l)
		} else {
			rest = append(rest, l)
		}
	}
	return run, rest
}

// countsOn reports whether the number counts on from the one of a line above, with one missing between at most, and is
// aligned with it.
func (l numberedLine) countsOn(above numberedLine) bool {
	step, height := l.value-above.value, above.number.height()
	isAligned := math.Abs(l.number.x1-above.number.x1) < height || math.Abs(l.number.x0-above.number.x0) < height/2
	return step >= 1 && step <= 2 && isAligned && l.number.y0 > above.number.y1-0.3*height
}

// countsRunningText reports whether the lines that numbers count are those of a text which runs on from line to line.
func countsRunningText(run []numberedLine) bool {
	if len(run) < minLineNumbers {
		return false
	}
	pairs, runOns := 0, 0
	for i := 1; i < len(run); i++ {
		above, words := run[i-1].line.GetWords(), run[i].line.GetWords()
		if len(above) < 2 || len(words) < 2 || run[i].value != run[i-1].value+1 {
			continue
		}
		pairs++
		first, _ := utf8.DecodeRuneInString(words[1].GetText())
		end, _ := utf8.DecodeLastRuneInString(above[len(above)-1].GetText())
		if unicode.IsLower(first) && (unicode.IsLetter(end) || end == ',' || end == '-') {
			runOns++ // rows of tables end in numbers
		}
	}
	return runOns >= minRunOns && float64(runOns) >= minRunOnShare*float64(pairs)
}

// moveLineNumbers takes the numbers out of their lines and puts them into a block before that of the first of them.
func moveLineNumbers(page *inkstreamv1.Page, run []numberedLine) {
	numbers := &inkstreamv1.Block{}
	for _, l := range run {
		words := l.line.GetWords()
		if len(words) < 2 {
			continue // it stands by itself
		}
		numbers.Lines = append(numbers.Lines, &inkstreamv1.Line{Words: slices.Clone(words[:1])})
		l.line.Words = words[1:]
	}
	first := slices.IndexFunc(page.GetBlocks(), func(b *inkstreamv1.Block) bool {
		return slices.ContainsFunc(run, func(l numberedLine) bool { return l.block == b })
	})
	if first >= 0 && len(numbers.Lines) > 0 {
		page.Blocks = slices.Insert(page.GetBlocks(), first, numbers)
	}
}
