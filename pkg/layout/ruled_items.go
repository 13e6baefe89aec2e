package layout

import (
	"slices"
	"sort"
	"strings"
	"unicode"
)

// splitItemCells parts cells that reach over several rows for want of lines between them, where they hold the items
// that numbers in the cells at their side count, as on forms: each number stands in a box at the end of its item.
func (t ruledTable) splitItemCells() {
	counters := make([][]string, t.rows) // what counts in cells that end in each row
	tall := false
	for i := range t.cells {
		c := &t.cells[i]
		tall = tall || c.rowSpan > 1
		if len(c.segments) == 1 && len(c.segments[0].words) == 1 {
			if word := c.segments[0].words[0].GetText(); isItemCounter(word) {
				end := c.row + c.rowSpan - 1
				counters[end] = append(counters[end], word)
			}
		}
	}
	if !tall {
		return
	}
	for i := range t.cells {
		c := t.cells[i]
		if c.rowSpan < 2 || len(c.segments) < 2 {
			continue
		}
		if starts := t.findItemRows(&c, counters[c.row:c.row+c.rowSpan]); len(starts) > 1 {
			parts := t.splitAtRows(&c, starts)
			t.cells[i] = parts[0]
			t.cells = append(t.cells, parts[1:]...)
		}
	}
	t.sortCells()
}

// findItemRows returns the rows of a cell, from 0 on, in which the items begin that counters count; nil if the cell
// does not hold most of them.
func (t ruledTable) findItemRows(c *tableCell, counters [][]string) []int {
	lines := leaf{slices.Clone(c.segments)}.buildRows(t.em)
	starts := []int{0}
	found, all, at := 0, 0, 0 // at is the first line of the item
	for k, words := range counters {
		if len(words) == 0 {
			continue
		}
		all++
		for i := at; i < len(lines) && t.rowWithin(c, lines[i].centerY()) <= k; i++ {
			first := lines[i].wordsInOrder(t.em, t.rotation)[0].GetText()
			if slices.ContainsFunc(words, func(w string) bool { return countsItem(w, first) }) {
				if row := t.rowWithin(c, lines[i].centerY()); row > starts[len(starts)-1] {
					starts = append(starts, row)
				}
				found++
				break
			}
		}
		for at < len(lines) && t.rowWithin(c, lines[at].centerY()) <= k {
			at++
		}
	}
	if found < 2 || 3*found < 2*all {
		return nil
	}
	return starts
}

// rowWithin returns which of a cell's rows a height lies in.
func (t ruledTable) rowWithin(c *tableCell, y float64) int {
	return min(max(sort.SearchFloat64s(t.grid.ys, y)-1-c.row, 0), c.rowSpan-1)
}

// splitAtRows returns the parts of a cell that begin in the rows given.
func (t ruledTable) splitAtRows(c *tableCell, starts []int) []tableCell {
	parts := make([]tableCell, len(starts))
	for i, first := range starts {
		end := c.rowSpan
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		parts[i] = *c
		parts[i].row, parts[i].rowSpan, parts[i].segments = c.row+first, end-first, nil
		parts[i].y0, parts[i].y1 = t.grid.ys[c.row+first], t.grid.ys[c.row+end]
	}
	for _, s := range c.segments {
		i, found := slices.BinarySearch(starts, t.rowWithin(c, s.centerY()))
		if !found {
			i--
		}
		parts[i].segments = append(parts[i].segments, s)
	}
	return parts
}

// isItemCounter reports whether a word is a number of at most three digits, or one with a letter: "7", "12", "3b".
func isItemCounter(word string) bool {
	digits := strings.TrimRightFunc(word, unicode.IsLower)
	return digits != "" && len(digits) <= 3 && len(word)-len(digits) <= 1 && strings.Trim(digits, "0123456789") == ""
}

// countsItem reports whether a counter is that of an item which begins with the word: "3b" of one with "3b" or "b",
// "3a" of one with "3" as well.
func countsItem(counter, word string) bool {
	word = strings.TrimRight(word, ".):")
	letter := strings.TrimLeft(counter, "0123456789")
	return word != "" && (word == counter || word == letter || letter == "a" && word+letter == counter)
}
