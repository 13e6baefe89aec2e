package layout

import (
	"math"
	"slices"
	"strings"
)

// largerThanTable is how many times as large as a table's type that of a line is which is no part of the table.
const largerThanTable = 1.12

// isHeadingBetween reports whether a row with text in one place is none of the table that a row belongs to: a caption, or
// a heading in larger type.
func isHeadingBetween(row, single tableLine) bool {
	return single.largestType() > largerThanTable*row.largestType() || isCaption(segmentsText(single.segments))
}

// isJustifiedText reports whether what looks like a table of two or three columns are a few lines of a narrow justified column with wide
// blanks: they fill it from edge to edge, the blanks end anywhere, and so wide is a line of text among them, right above or below too.
func (a *aligner) isJustifiedText(t *table, lines []tableLine, first, end int) bool {
	const mostRows, widest, slack, near, aligned = 16, 22.0, 0.15, 1.2, 0.6 // rows, ems, the share of them
	if t.columns > 3 || end-first > mostRows || t.width() > widest*a.em {
		return false
	}
	var starts []float64 // of what stands right of the blanks
	figures := 0
	for _, r := range lines[first:end] {
		if !r.several {
			continue
		}
		last := r.cells[len(r.cells)-1]
		if r.x0 > t.x0+slack*a.em || r.x1 < t.x1-slack*a.em {
			return false
		}
		if isNumeric(segmentsText([]segment{last})) {
			figures++
		}
		starts = append(starts, last.x0)
	}
	if 2*figures > len(starts) || alignedShare(starts, slack*a.em) > aligned {
		return false
	}
	for i := max(0, first-1); i < min(end+1, len(lines)); i++ {
		if r := &lines[i]; !r.several && math.Abs(r.x0-t.x0) < slack*a.em && math.Abs(r.x1-t.x1) < slack*a.em && countRowWords(r.row) > 1 &&
			spanDistance(r.y0, r.y1, t.y0, t.y1) < near*a.em {
			return true
		}
	}
	return false
}

// isNumberedHeading reports whether a row is a heading with its number set apart, in larger type than the table that a row belongs to.
func isNumberedHeading(row, heading tableLine) bool {
	if len(heading.cells) != 2 || heading.largestType() <= largerThanTable*row.largestType() {
		return false
	}
	number := segmentsText(heading.cells[:1])
	return number != "" && strings.Trim(number, "0123456789.") == ""
}

// isBetweenTables reports whether the line above a row closes another table, and a line below the row begins one.
func isBetweenTables(a *aligner, rows []tableLine, k int, x0, x1 float64) bool {
	return k > 0 && rows[k-1].several && a.hasRulingBetween(rows[k].y1, rows[k+1].y0, x0, x1)
}

// isListHeading reports whether row k, with text in one place, is a heading in a list of names and figures that a row belongs to: it is bold, as
// the row is not, and there is more room above than below it.
func isListHeading(a *aligner, rows []tableLine, i, k int) bool {
	const columns, more = 2, 0.15 // ems
	if len(rows[i].cells) != columns || !isNumeric(segmentsText(rows[i].cells[1:])) || k+1 == len(rows) || rows[k].y0-rows[k-1].y1 < rows[k+1].y0-rows[k].y1+more*a.em {
		return false
	}
	isBold := func(r tableLine) bool { return a.style.lineStyleOf(segmentWords(r.segments)).bold }
	return isBold(rows[k]) && !isBold(rows[i])
}

// standsApart reports whether more room than between its rows sets what follows a table apart from it: a row, or what heads that.
func standsApart(a *aligner, rows []tableLine, row tableLine) bool {
	const more = 0.3 // ems
	usual := usualRowGap(rows)
	for k := len(rows); k > 0; k-- {
		next := row
		if k < len(rows) {
			next = rows[k]
		}
		if rows[k-1].several {
			return next.y0-rows[k-1].y1 > usual+more*a.em
		}
	}
	return false
}

// repeatsHead reports whether a row says the same as the first of the rows of a table, or as one below a row with text in one place, but for
// one cell at most, and has no figures, as where another table begins.
func repeatsHead(rows []tableLine, row tableLine) bool {
	const first, fewest = 6, 2 // rows, and cells that are the same
	for i := range row.cells {
		if text := segmentsText(row.cells[i : i+1]); isNumeric(text) && !isYear(text) {
			return false
		}
	}
	for k, head := range rows[:min(first, len(rows))] {
		if len(head.cells) != len(row.cells) || k > 0 && rows[k-1].several {
			continue
		}
		same := 0
		for i := range row.cells {
			if segmentsText(row.cells[i:i+1]) == segmentsText(head.cells[i:i+1]) {
				same++
			}
		}
		if same >= max(fewest, len(row.cells)-1) {
			return true
		}
	}
	return false
}

// isBelowLastRule reports whether a line runs close below a row and much room lies between that line and the next text: it
// closes the table, and what follows heads another.
func (a *aligner) isBelowLastRule(row, next tableLine, x0, x1 float64) bool {
	const near, room = 0.8, 1.0
	return next.y0-row.y1 > (near+room)*a.em && a.hasRulingBetween(row.y1, row.y1+near*a.em, x0, x1) &&
		!a.hasRulingBetween(row.y1+near*a.em, next.y0, x0, x1)
}

// largestType returns the size of the largest type in a row.
func (r *row) largestType() float64 {
	size := 0.0
	for i := range r.segments {
		size = max(size, r.segments[i].size)
	}
	return size
}

const (
	// minRunGap is the least room, in ems, above a row at which a run of rows is parted, minRunGapRatio how many times the
	// usual room between its rows that is.
	minRunGap, minRunGapRatio = 1.2, 2
	// minSplitRows is how many rows with text in several places a part has at least.
	minSplitRows = 3
	// maxSplitPlaces is at how many places a run is tried to be parted.
	maxSplitPlaces = 32
)

// splitRun returns the first part of rows that may be a table, where they are two tables, or a table and what only stands
// in line with it: apart from each other the parts have more columns than together.
func (a *aligner) splitRun(rows []tableLine, first, end int) (int, int) {
	whole := a.countColumns(rows[first:end])
	if whole == 0 {
		return first, end
	}
	usual := usualRowGap(rows[first:end])
	best, at, tried := 0, 0, 0
	for k := first + 1; k < end && tried < maxSplitPlaces; k++ {
		gap := rows[k].y0 - rows[k-1].y1
		wide := gap > max(minRunGap*a.em, minRunGapRatio*usual)
		if !wide && rows[k].several {
			continue
		}
		tried++
		upper, lower := a.countColumns(rows[first:k]), a.countColumns(rows[k:end])
		parted := upper > whole && lower > whole || wide && (lower > whole && countSeveral(rows[k:end]) >= minSplitRows ||
			upper > whole && countSeveral(rows[first:k]) >= minSplitRows)
		if parted && upper+lower > best {
			best, at = upper+lower, k
		}
	}
	if best == 0 {
		return first, end
	}
	end = at
	for end > first+1 && !rows[end-1].several {
		end--
	}
	return first, end
}

// countColumns returns how many columns the rows with text in several places have; 0 where those are too few to tell.
func (a *aligner) countColumns(rows []tableLine) int {
	several := slices.DeleteFunc(slices.Clone(rows), func(r tableLine) bool { return !r.several })
	if len(several) < 2 {
		return 0
	}
	return len(a.findGutters(several)) + 1
}

func countSeveral(rows []tableLine) int {
	n := 0
	for i := range rows {
		if rows[i].several {
			n++
		}
	}
	return n
}

// usualRowGap returns the median of the room between rows.
func usualRowGap(rows []tableLine) float64 {
	gaps := make([]float64, 0, len(rows))
	for i := 1; i < len(rows); i++ {
		gaps = append(gaps, max(0, rows[i].y0-rows[i-1].y1))
	}
	return median(gaps)
}
