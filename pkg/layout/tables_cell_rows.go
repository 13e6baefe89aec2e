package layout

// holdsRows reports whether the cells of a ruled table hold most of its words in rows and columns of their own, as
// those of a page do that lines part into sections: these lines rule no table.
func (t ruledTable) holdsRows() bool {
	const share = 0.3
	inRows, all := 0, 0
	for i := range t.cells {
		words := 0
		for _, s := range t.cells[i].segments {
			words += len(s.words)
		}
		if all += words; t.holdsRowsIn(&t.cells[i]) {
			inRows += words
		}
	}
	return inRows > 0 && float64(inRows) > share*float64(all)
}

// holdsRowsIn reports whether the text of a cell stands in three columns or more, in several rows: in many more than
// the cells at its side part it into, as boxes at the ends of a form's lines do.
func (t ruledTable) holdsRowsIn(c *tableCell) bool {
	const fewest, columns, share = 4, 3, 0.6 // rows, and those with text in several places
	if len(c.segments) < fewest*max(1, c.rowSpan) {
		return false
	}
	setting := textSetting{em: t.em, style: &styles{rotation: t.rotation, em: t.em}}
	split := aligner{textSetting: setting}
	rows := leaf{append([]segment(nil), c.segments...)}.buildRows(t.em)
	var several []tableLine
	for _, r := range rows {
		if cells := split.splitRowCells(r); split.hasSeveralCells(cells) && !hasLeaderDots(segment{words: segmentWords(cells)}) {
			several = append(several, tableLine{row: r, cells: cells, several: true})
		}
	}
	return len(several) >= fewest*max(1, c.rowSpan) && float64(len(several)) >= share*float64(len(rows)) &&
		len(columnFinder{setting}.findGutters(several)) >= columns-1
}

// holdsPanel reports whether a cell that reaches down all rows has most of the words, as many as a column of text: the
// lines around it part the page, and those of a table next to it meet them.
func (t ruledTable) holdsPanel() bool {
	const fewest, share = 120, 0.5 // words
	most, all := 0, 0
	for i := range t.cells {
		c, words := &t.cells[i], 0
		for _, s := range c.segments {
			words += len(s.words)
		}
		if all += words; c.rowSpan == t.rows {
			most = max(most, words)
		}
	}
	return most >= fewest && float64(most) > share*float64(all)
}
