package layout

import (
	"slices"
	"strconv"
)

// areColumnsWithLabels reports whether the gutter left of part at parts columns of running text of which one has
// labels beside its text, left or right of it: marks, dates or names, each level with the beginning of an entry. By
// themselves, labels look like the cells of a table. The column on the left begins at part first.
func (c columnSplitter) areColumnsWithLabels(parts [][]segment, gaps []span, first, at int) bool {
	left, right := parts[at-1], parts[at]
	width := func(i int) float64 { return gaps[i].to - gaps[i].from }
	switch {
	case at+1 < len(parts) && c.areLabelsOf(right, parts[at+1], left, width(at+1)/width(at)):
		right = slices.Concat(right, parts[at+1])
	case at-2 >= first && c.areLabelsOf(left, parts[at-2], right, width(at-1)/width(at)):
		left = slices.Concat(parts[at-2], left)
	default:
		return false
	}
	return c.areSeparateColumns(left, right, gaps[at], len(parts)-1)
}

// areLabelsOf reports whether a part holds labels of the entries in the part on one side of it, and not of what stands
// on its other side, which is text as well. They are fewer and shorter than the lines there, and many are level with
// one that begins a piece of the text. The gap to the text is so many times as wide as that on the other side.
func (c columnSplitter) areLabelsOf(labels, text, other []segment, gap float64) bool {
	const (
		fewest, most  = 3, 0.9   // labels, and the share of lines that have one
		words, wordy  = 2.5, 1.5 // of a label at most, of a line of text at least, on average
		level, narrow = 0.4, 0.6 // share of labels; width of the labels, in parts of the text's
		denser, wider = 1.3, 2.0 // times the room from line to line of the text, times the gap
	)
	l, t, o := buildSide(labels, c.em), buildSide(text, c.em), buildSide(other, c.em)
	if gap > wider || len(l) < fewest || float64(len(l)) > most*float64(len(t)) || sideWidth(l) > narrow*sideWidth(t) {
		return false
	}
	own, beside := measureSide(t, c.em), measureSide(o, c.em)
	if measureSide(l, c.em).words > words || min(own.words, beside.words) < wordy || beside.pitch > denser*own.pitch {
		return false
	}
	n := c.countBeginnings(l, t)
	return float64(n) >= level*float64(len(l)) && (wider*gap < 1 || n > c.countBeginnings(l, o))
}

// countBeginnings returns how many labels are level with a line that begins a piece of a text.
func (c columnSplitter) countBeginnings(labels, text []sideLine) int {
	begins := findBeginnings(text, measureSide(text, c.em).pitch*c.em, c.em)
	lines := make([]sideLine, 0, len(text))
	for i, l := range text {
		if begins[i] != 0 {
			lines = append(lines, l)
		}
	}
	level, _ := matchSides(labels, lines, c.em)
	return level
}

// repeatCounters reports whether a part begins with the numbers that the lines level with it on the left begin with: in
// a form the number of a line stands before its text, and again before the box at its end.
func (c columnSplitter) repeatCounters(left [][]segment, right []segment) bool {
	const fewest, most, level = 3, 3, 0.5 // numbers; parts on the left; ems
	if len(left) > most || len(right) < fewest {
		return false
	}
	numbers := buildSide(right, c.em)
	if len(numbers) < fewest || slices.ContainsFunc(numbers, func(l sideLine) bool {
		_, err := strconv.Atoi(l.first.GetText())
		return err != nil
	}) {
		return false
	}
	lines, at := buildSide(slices.Concat(left...), c.em), 0
	for _, again := range numbers {
		for at < len(lines) && lines[at].centerY() < again.centerY()-level*c.em {
			at++
		}
		if at == len(lines) || lines[at].centerY() > again.centerY()+level*c.em || lines[at].first.GetText() != again.first.GetText() {
			return false
		}
	}
	return true
}
