package layout

import "slices"

// areColumnsWithLabels reports whether the gutter left of part at parts columns of running text, of which the right one
// has labels left of its text: marks, dates or names, each beside the beginning of an entry. By themselves, labels look
// like the cells of a table.
func (c columnSplitter) areColumnsWithLabels(parts [][]segment, gaps []span, at int) bool {
	const words, runsOn, filled = 1.5, 0.15, 0.7 // of a left line; shares of the left lines, and of those on the right
	if at+1 >= len(parts) || !c.areLabelsOf(parts[at], parts[at+1]) {
		return false
	}
	left, text := measureSide(buildSide(parts[at-1], c.em), c.em), buildSide(parts[at+1], c.em)
	if left.words < words || left.runsOn < runsOn && float64(left.lines) < filled*float64(len(text)) {
		return false
	}
	return c.areSeparateColumns(parts[at-1], slices.Concat(parts[at], parts[at+1]), gaps[at], len(parts)-1)
}

// areLabelsOf reports whether a part holds labels of the entries in the part right of it: fewer and shorter than the
// lines there, and nearly each level with one.
func (c columnSplitter) areLabelsOf(labels, text []segment) bool {
	const (
		fewest, most  = 3, 0.9   // labels, and the share of lines that have one
		words, wordy  = 2.5, 1.5 // of a label at most, of a line of text at least, on average
		level, narrow = 0.8, 0.6 // share of labels; width of the labels, in parts of the text's
	)
	l, t := buildSide(labels, c.em), buildSide(text, c.em)
	if len(l) < fewest || float64(len(l)) > most*float64(len(t)) || sideWidth(l) > narrow*sideWidth(t) {
		return false
	}
	both, _ := matchSides(l, t, c.em)
	return float64(both) >= level*float64(len(l)) && measureSide(l, c.em).words <= words &&
		measureSide(t, c.em).words >= wordy
}
