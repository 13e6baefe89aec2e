package layout

import (
	"math"
	"slices"
)

// findRuledRows parts columns at the lines that are drawn across all of them, where those part texts that stand beside
// one another: a question and its answer, a clause and its comment. It returns the parts of the columns in each row;
// nil if there are no such rows. Text begins level in all columns of a row that has several.
func (c *cutter) findRuledRows(columns [][]segment) [][][]segment {
	const fewest = 2
	area := rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, column := range columns {
		for _, s := range column {
			area = area.union(s.rect)
		}
	}
	at := c.rulings.across.spanning(area, c.em)
	if len(at)+1 < fewest {
		return nil
	}
	rows := make([][][]segment, len(at)+1)
	for _, column := range columns {
		parts := make([][]segment, len(rows))
		for _, s := range column {
			i, _ := slices.BinarySearch(at, s.centerY())
			parts[i] = append(parts[i], s)
		}
		for i, part := range parts {
			if len(part) > 0 {
				rows[i] = append(rows[i], part)
			}
		}
	}
	level := 0
	for _, row := range rows {
		if len(row) > 1 {
			if !beginLevel(row, c.em) {
				return nil
			}
			level++
		}
	}
	if level == 0 {
		return nil
	}
	return rows
}

// beginLevel reports whether the first lines of all parts are level.
func beginLevel(parts [][]segment, em float64) bool {
	const slack = 0.5 // ems
	highest, lowest := math.Inf(1), math.Inf(-1)
	for _, part := range parts {
		top := math.Inf(1)
		for _, s := range part {
			top = min(top, s.centerY())
		}
		highest, lowest = min(highest, top), max(lowest, top)
	}
	return lowest-highest < slack*em
}

// spanning returns the heights of the lines that are drawn through an area from side to side.
func (l rulingsAcross) spanning(area rect, em float64) []float64 {
	var out []float64
	for _, r := range l[l.indexAt(area.y0):] {
		if r.at >= area.y1 {
			break
		}
		if r.from <= area.x0+em && r.to >= area.x1-em {
			out = append(out, r.at)
		}
	}
	return out
}
