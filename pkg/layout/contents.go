package layout

import (
	"slices"
	"strconv"
	"strings"
)

// isContentsRows reports whether rows are entries of a table of contents: many have dots that lead to a page number.
// The entries of the upper levels often have none; then it is one if nearly all rows end with the number of a page
// that is not before that of the row above, and some dots lead to one of them. Entries without any dots are found by
// contentsFinder.
func isContentsRows(rows []tableLine) bool {
	leaders, paged, before, rising := 0, 0, 0, true
	for _, r := range rows {
		if hasLeaderDots(segment{words: segmentWords(r.segments)}) {
			leaders++
		}
		if page := trailingPageNumber(r); page > 0 {
			rising = rising && page >= before
			paged, before = paged+1, page
		}
	}
	return leaders >= 3 && 4*leaders >= len(rows) || rising && mostEndWithPage(leaders, paged, len(rows))
}

const (
	// maxContentsParts is how many parts a table of contents in columns has at most: titles and pages, column by
	// column.
	maxContentsParts = 12
	// minContentsEntries is how many entries a column of one has at least.
	minContentsEntries = 4
)

// areContentsColumns reports whether the parts left and right of a gutter are columns of a table of contents: on both
// sides lines end with the number of a page, the numbers rise from line to line, and those on the right go on
// where those on the left end. The pages stand apart from their titles, as the cells of a table do.
func (c columnSplitter) areContentsColumns(left, right [][]segment) bool {
	if len(left)+len(right) > maxContentsParts {
		return false
	}
	_, end, found := risingPages(buildSide(slices.Concat(left...), c.em))
	if !found {
		return false
	}
	begin, _, found := risingPages(buildSide(slices.Concat(right...), c.em))
	return found && begin >= end
}

// risingPages returns the first and the last page of the entries of one column of a table of contents. Entries may take
// several lines, the last of which ends with the page.
func risingPages(lines []sideLine) (first, last int, found bool) {
	entries, counted := 0, 0
	for _, l := range lines {
		if isSectionNumber(l.first.GetText()) && l.words > 1 {
			counted++
		}
		page, err := strconv.ParseUint(strings.TrimLeft(l.last.GetText(), ".…·_"), 10, 14)
		if err != nil || l.words < 2 {
			continue
		}
		if entries == 0 {
			first = int(page)
		}
		if int(page) < last {
			return 0, 0, false
		}
		entries, last = entries+1, int(page)
	}
	return first, last, entries >= minContentsEntries && 2*entries >= len(lines) && 3*counted >= 2*entries
}

// isSectionNumber reports whether a word is the number of a chapter or a section: "3", "3." or "3.1".
func isSectionNumber(word string) bool {
	digits := 0
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c != '.' || i == 0:
			return false
		}
	}
	return digits > 0 && digits <= 5
}

// mostEndWithPage reports whether nearly all of so many lines end with a page number, and dots lead to some of those.
func mostEndWithPage(leaders, paged, all int) bool {
	return leaders > 0 && paged >= 6 && 5*paged >= 4*all
}

// trailingPageNumber returns the number that a row ends with, set apart from the rest or led to by dots; 0 where
// there is none.
func trailingPageNumber(r tableLine) int {
	words := segmentWords(r.segments)
	if len(words) < 2 || len(r.cells) < 2 && !hasLeaderDots(segment{words: words}) {
		return 0
	}
	last := r.cells[len(r.cells)-1].words
	n, err := strconv.ParseUint(last[len(last)-1].GetText(), 10, 16)
	if err != nil || len(r.cells) > 1 && len(last) > 1 && !hasLeaderDots(segment{words: last}) {
		return 0
	}
	return int(n)
}

// haveLeaders reports whether most segments beside a gutter lead to what ends them, as the lines of a list do.
func haveLeaders(side []segment) bool {
	without := len(side) * 2 / 5
	for _, s := range side {
		if without < 0 {
			return false
		}
		if !hasLeaderDots(s) {
			without--
		}
	}
	return without >= 0
}

// isContentsColumn reports whether lines are those of a table of contents: many have dots that lead to a page number,
// or some have, and nearly all the others end with one too.
func isContentsColumn(shapes []lineShape) bool {
	leaders, paged := 0, 0
	for _, s := range shapes {
		if s.leader {
			leaders++
		}
		if s.endsWithPageNumber {
			paged++
		}
	}
	return leaders >= 3 && 5*leaders >= len(shapes) || mostEndWithPage(leaders, paged, len(shapes))
}

// contentsEntries returns where the entries of a table of contents begin among the lines of its column, and where they
// end: text above and below has its own pitch and paragraphs. The first entry may take several lines, of which the
// last leads to its page.
func contentsEntries(shapes []lineShape, em float64) (first, end int) {
	const most = 1.6 // ems; from a line of an entry to the next
	paged := func(s lineShape) bool { return s.endsWithPageNumber }
	first, end = slices.IndexFunc(shapes, paged), len(shapes)
	for first > 0 && !shapes[first-1].endsSentence && shapes[first].baseline-shapes[first-1].baseline < most*em &&
		shapes[first].style == shapes[first-1].style {
		first--
	}
	for !paged(shapes[end-1]) {
		end--
	}
	return first, end
}
