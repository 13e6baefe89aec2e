package layout

// areItems reports whether rows are the items of an agenda or of a day rather than a table: each has a number or a
// time, and most have sentences in the next column, but no figures; no row heads them, and no lines part them.
func areItems(t *table, across rulingsAcross) bool {
	const columns, words = 3, 10 // at most; of sentences at least
	if t.columns > columns || across.hasBetween(t.y0+1, t.y1-1, t.x0, t.x1) {
		return false
	}
	labels, sentences := 0, 0
	for i := range t.cells {
		c := &t.cells[i]
		n := 0
		for _, s := range c.segments {
			n += len(s.words)
		}
		if n == 0 {
			continue
		}
		last := c.segments[len(c.segments)-1]
		switch isNumber := n == 1 && isNumeric(segmentsText(c.segments)); {
		case c.column == 0 && !isNumber:
			return false
		case c.column == 0:
			labels++
		case isNumber:
			return false
		case n >= words && isSentenceEnd(lastRune(last.words[len(last.words)-1].GetText())):
			sentences++
		}
	}
	return labels == t.rows && 2*sentences >= t.rows
}
