package layout

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// minPageNumbers is how many page numbers stand below each other at least where a recogniser read them apart from
	// the entries of a table of contents.
	minPageNumbers = 6
	// minEntryShare is the share of such numbers at least that end a line to their left, and minRisingShare the share
	// of those that are not smaller than the one above.
	minEntryShare, minRisingShare = 0.8, 0.9
	// maxStepShare is the share of the numbers at most that are larger than the one above by the same: those that count
	// lines all are.
	maxStepShare = 0.6
	// maxRunOnEntries is the share of those lines at most that begin with a small letter: the second lines of
	// entries do, but most lines of running text do too.
	maxRunOnEntries = 0.5
)

// apartNumber is a line of a recogniser that is nothing but a number, and the line that it ends.
type apartNumber struct {
	rect
	value       int
	block, line int // its place
	ends        *levelLine
}

// joinPageNumbers puts page numbers that a recogniser read as a column of their own behind the entries of the table of
// contents that they belong to, and reports whether there were any.
func joinPageNumbers(page *inkstreamv1.Page) bool {
	blocks := page.GetBlocks()
	if len(blocks) > maxComparedBlocks {
		return false
	}
	placed := make([]levelBlock, len(blocks))
	var numbers []apartNumber
	for i, b := range blocks {
		placed[i] = newLevelBlock(b)
		for j, l := range placed[i].lines {
			if value, ok := parseApartNumber(l.line.GetWords()); ok {
				numbers = append(numbers, apartNumber{rect: l.rect, value: value, block: i, line: j})
			}
		}
	}
	slices.SortStableFunc(numbers, func(a, b apartNumber) int { return cmp.Compare(a.y0, b.y0) })
	joined := false
	for len(numbers) >= minPageNumbers {
		var column []apartNumber
		column, numbers = takeNumberColumn(numbers)
		if findEntriesOfNumbers(column, placed) {
			moveToEntries(column, placed)
			joined = true
		}
	}
	if !joined {
		return false
	}
	for _, b := range blocks {
		b.Lines = slices.DeleteFunc(b.GetLines(), func(l *inkstreamv1.Line) bool { return len(l.GetWords()) == 0 })
	}
	page.Blocks = slices.DeleteFunc(blocks, func(b *inkstreamv1.Block) bool { return len(b.GetLines()) == 0 })
	return true
}

// parseApartNumber returns the number that a line is. A mark before or behind it is taken for the end of a leader.
func parseApartNumber(words []*inkstreamv1.Word) (int, bool) {
	const most = 3 // digits
	var text strings.Builder
	for _, w := range words {
		text.WriteString(w.GetText())
	}
	isSign := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	digits := strings.TrimFunc(text.String(), isSign)
	value, err := strconv.Atoi(digits)
	return value, err == nil && len(digits) <= most
}

// takeNumberColumn returns the numbers whose right edges are on that of the first, and the rest.
func takeNumberColumn(numbers []apartNumber) (column, rest []apartNumber) {
	for _, n := range numbers {
		if math.Abs(n.x1-numbers[0].x1) <= numbers[0].height() {
			column = append(column, n)
		} else {
			rest = append(rest, n)
		}
	}
	return column, rest
}

// findEntriesOfNumbers looks for the lines that the numbers of a column end, and reports whether those are entries of
// a table of contents: hardly a number is smaller than the one above, they do not just count lines, and few of the
// lines go on from the one above.
func findEntriesOfNumbers(column []apartNumber, blocks []levelBlock) bool {
	if len(column) < minPageNumbers {
		return false
	}
	found, rising, runOns := 0, 1, 0
	steps, often := map[int]int{}, 0
	for i := range column {
		n := &column[i]
		if i > 0 {
			step := n.value - column[i-1].value
			if step >= 0 {
				rising++
			}
			if steps[step]++; step > 0 {
				often = max(often, steps[step])
			}
		}
		if n.ends = findEntry(n.rect, blocks); n.ends == nil {
			continue
		}
		found++
		if first, _ := utf8.DecodeRuneInString(n.ends.line.GetWords()[0].GetText()); unicode.IsLower(first) {
			runOns++
		}
	}
	n := float64(len(column))
	return found >= minPageNumbers && float64(found) >= minEntryShare*n && float64(rising) >= minRisingShare*n &&
		float64(often) <= maxStepShare*n && float64(runOns) <= maxRunOnEntries*float64(found)
}

// findEntry returns the line of several letters that stands nearest to the left of a number; nil if none does.
func findEntry(number rect, blocks []levelBlock) *levelLine {
	var nearest *levelLine
	for i := range blocks {
		for j := range blocks[i].lines {
			l := &blocks[i].lines[j]
			if len(l.line.GetWords()) == 0 { // a number that went to its entry
				continue
			}
			low := min(number.height(), l.height())
			isLevel := min(number.y1, l.y1)-max(number.y0, l.y0) > 0.5*low
			if isLevel && l.x1 < number.x0 && (nearest == nil || l.x1 > nearest.x1) {
				nearest = l
			}
		}
	}
	if nearest == nil {
		return nil
	}
	if _, isNumber := parseApartNumber(nearest.line.GetWords()); isNumber {
		return nil
	}
	return nearest
}

// moveToEntries moves the numbers of a column to the ends of their lines.
func moveToEntries(column []apartNumber, blocks []levelBlock) {
	for _, n := range column {
		if n.ends != nil {
			from := blocks[n.block].lines[n.line].line
			n.ends.line.Words = slices.Concat(n.ends.line.GetWords(), from.GetWords())
			n.ends.rect, from.Words = n.ends.union(n.rect), nil
		}
	}
}

// moveFootNumber puts the number of a page that stands below all else last: a recogniser reads one in the middle of the
// foot with the column above it, before the next column.
func moveFootNumber(page *inkstreamv1.Page) {
	blocks := page.GetBlocks()
	foot, bottom := -1, math.Inf(-1)
	var at rect
	for i, b := range blocks {
		for _, line := range b.GetLines() {
			r := boundingBox(line.GetWords())
			if r.y0 >= bottom {
				foot, at = i, r
			} else if foot >= 0 && r.y1 > at.y0 {
				foot = -1
			}
			bottom = max(bottom, r.y1)
		}
	}
	if foot < 0 || len(blocks[foot].GetLines()) != 1 {
		return
	}
	if _, isNumber := parseApartNumber(blocks[foot].GetLines()[0].GetWords()); isNumber {
		number := blocks[foot]
		page.Blocks = append(slices.Delete(slices.Clone(blocks), foot, foot+1), number)
	}
}
