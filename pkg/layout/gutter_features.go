package layout

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// gutterFeatures is what is measured of a gutter and of the text on both of its sides, in the order of
// gutterFeatureNames.
type gutterFeatures [gutterFeatureCount]float64

const gutterFeatureCount = 32

// gutterFeatureNames names the features. Lengths are in ems; "less" and "more" are the lower and the higher value of
// the two sides.
var gutterFeatureNames = []string{
	"rows with both sides", "share of rows with both sides", "gutter width", "row pitch",
	"words less", "words more", "letters less", "width less", "width more", "fill less", "fill more",
	"numbers less", "numbers more", "small starts less", "small starts more", "runs on less", "runs on more",
	"breaks words", "stops within less", "capital starts more",
	"right side's left edge", "left side's left edge", "left side's right edge", "right side's right edge",
	"crossings a row", "rules across", "rule in gutter", "gutters level",
	"number of rows left", "number of rows right", "counts lines", "single words more",
}

// sideLine is a line of text on one side of a gutter.
type sideLine struct {
	rect
	first, last *inkstreamv1.Word
	words       int
	letters     int
	number      bool
	figures     bool // it is figures from end to end, and most words between are
	order       int
}

// buildSide makes the lines of one side of a gutter, from top to bottom: segments that share a baseline make one.
func buildSide(segments []segment, em float64) []sideLine {
	out := make([]sideLine, 0, len(segments))
	segments = slices.Clone(segments)
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.centerY(), b.centerY()) })
	for _, s := range segments {
		if s.table != nil || len(s.words) == 0 {
			continue
		}
		line := newSideLine(s.words)
		line.rect, line.letters, line.order = s.rect, s.text, s.order
		if n := len(out); n > 0 && s.centerY()-out[n-1].centerY() < 0.4*min(s.height(), out[n-1].height())+0.05*em {
			out[n-1].appendLine(line)
			continue
		}
		out = append(out, line)
	}
	return out
}

// newSideLine returns what words say of their line, without its box, its letters and its place.
func newSideLine(words []*inkstreamv1.Word) sideLine {
	line := sideLine{first: words[0], last: words[len(words)-1], words: countWords(words), figures: areFigures(words)}
	line.number = line.words <= 3 && isNumeric(segmentsText([]segment{{words: words}}))
	return line
}

// areFigures reports whether words begin and end with a figure, and most of them are figures. An entry of a list may
// have a number at either end.
func areFigures(words []*inkstreamv1.Word) bool {
	if !isNumeric(words[0].GetText()) || !isNumeric(words[len(words)-1].GetText()) {
		return false
	}
	n := 0
	for _, w := range words {
		if isNumeric(w.GetText()) {
			n++
		}
	}
	return 2*n > len(words)
}

// appendLine joins a line with another of the same baseline.
func (l *sideLine) appendLine(next sideLine) {
	if next.x0 < l.x0 {
		l.first = next.first
	}
	if next.x1 > l.x1 {
		l.last = next.last
	}
	l.rect = l.rect.union(next.rect)
	l.words, l.letters, l.number = l.words+next.words, l.letters+next.letters, l.number && next.number
	l.figures = l.figures && next.figures
	l.order = min(l.order, next.order)
}

// sideStats is what the lines of one side tell.
type sideStats struct {
	words, letters, width, fill  float64
	numbers, smallStarts, runsOn float64
	breaksWords, stops, capitals float64
	leftEdge, rightEdge, singles float64
	pitch, counts                float64
	lines                        int
}

// measureSide measures the lines of one side.
func measureSide(lines []sideLine, em float64) sideStats {
	s := sideStats{lines: len(lines)}
	if len(lines) == 0 {
		return s
	}
	n := float64(len(lines))
	lefts, rights, steps := make([]float64, len(lines)), make([]float64, len(lines)), make([]float64, 0, len(lines))
	x0, x1 := lines[0].x0, lines[0].x1
	for i, l := range lines {
		x0, x1 = min(x0, l.x0), max(x1, l.x1)
		lefts[i], rights[i] = l.x0, l.x1
		s.words, s.letters, s.width = s.words+float64(l.words)/n, s.letters+float64(l.letters)/n, s.width+l.width()/em/n
		first, last := firstRune(l.first.GetText()), lastRune(l.last.GetText())
		s.numbers += share(l.number, n)
		s.smallStarts += share(unicode.IsLower(first), n)
		s.capitals += share(unicode.IsUpper(first), n)
		s.singles += share(l.words == 1, n)
		s.stops += share(isSentenceEnd(last), n)
		if i == 0 {
			continue
		}
		before := lines[i-1]
		s.counts += share(countsOn(before.last.GetText(), l.first.GetText()), max(1, n-1))
		steps = append(steps, l.y1-before.y1)
		end := lastRune(before.last.GetText())
		s.runsOn += share(unicode.IsLower(first) && !isSentenceEnd(end), max(1, n-1))
		s.breaksWords += share(end == '-' || end == 0x2010 || end == 0xad, max(1, n-1))
	}
	if width := (x1 - x0) / em; width > 0 {
		s.fill = s.width / width
	}
	s.leftEdge, s.rightEdge = alignedShare(lefts, 0.15*em), alignedShare(rights, 0.15*em)
	s.pitch = 1.3
	if len(steps) > 0 {
		slices.Sort(steps)
		s.pitch = steps[len(steps)/2] / em
	}
	return s
}

// countsOn reports whether a number is the next after another, as those in the margin that count lines are.
func countsOn(before, next string) bool {
	if !unicode.IsDigit(firstRune(before)) || !unicode.IsDigit(firstRune(next)) {
		return false // for almost all words: an error takes longer to make than a number to read
	}
	a, err := strconv.Atoi(before)
	b, err2 := strconv.Atoi(next)
	return err == nil && err2 == nil && (b == a+1 || b == a+5)
}

func share(is bool, of float64) float64 {
	if is {
		return 1 / of
	}
	return 0
}

func firstRune(text string) rune { r, _ := utf8.DecodeRuneInString(text); return r }
func lastRune(text string) rune  { r, _ := utf8.DecodeLastRuneInString(text); return r }

func isSentenceEnd(r rune) bool {
	switch r {
	case '.', '!', '?', ':', ';', '。', '"', '”', ')':
		return true
	}
	return false
}

// alignedShare returns the largest share of places that lie within the slack of one of them.
func alignedShare(at []float64, slack float64) float64 {
	at = slices.Clone(at)
	slices.Sort(at)
	best := 0
	for i, j := 0, 0; i < len(at); i++ {
		for at[i]-at[j] > 2*slack {
			j++
		}
		best = max(best, i-j+1)
	}
	return float64(best) / float64(len(at))
}

// gutterContext is what lies around a gutter.
type gutterContext struct {
	gap          span
	across, down []ruling
	gutters      int // that lie level with it, itself included
	em           float64
}

// measureGutter measures a gutter between the lines on its two sides.
func measureGutter(left, right []sideLine, c gutterContext) gutterFeatures {
	l, r := measureSide(left, c.em), measureSide(right, c.em)
	both, crossings := matchSides(left, right, c.em)
	rows := len(left) + len(right) - both
	y0, y1 := math.Inf(1), math.Inf(-1)
	for _, side := range [][]sideLine{left, right} {
		for _, line := range side {
			y0, y1 = min(y0, line.y0), max(y1, line.y1)
		}
	}
	order := 0.0
	if both > 0 {
		order = float64(crossings) / float64(both)
	}
	return gutterFeatures{
		float64(both), float64(both) / float64(max(1, rows)), min((c.gap.to-c.gap.from)/c.em, 20), max(min(l.pitch, r.pitch, 5), 0),
		min(l.words, r.words), max(l.words, r.words), min(l.letters, r.letters),
		min(l.width, r.width), max(l.width, r.width), min(l.fill, r.fill), max(l.fill, r.fill),
		min(l.numbers, r.numbers), max(l.numbers, r.numbers),
		min(l.smallStarts, r.smallStarts), max(l.smallStarts, r.smallStarts),
		min(l.runsOn, r.runsOn), max(l.runsOn, r.runsOn),
		l.breaksWords + r.breaksWords, min(l.stops, r.stops), max(l.capitals, r.capitals),
		r.leftEdge, l.leftEdge, l.rightEdge, r.rightEdge,
		order, c.rulesAcross(y0, y1) / float64(max(1, rows)), c.ruleInGutter(y0, y1), float64(c.gutters),
		float64(l.lines), float64(r.lines), max(l.counts, r.counts), max(l.singles, r.singles),
	}
}

// matchSides returns how many lines on the left have one level with them on the right, and how often the order in which
// those came in goes from one side to the other.
func matchSides(left, right []sideLine, em float64) (both, crossings int) {
	type drawn struct {
		order int
		right bool
	}
	var all []drawn
	j := 0
	for _, l := range left {
		for j < len(right) && right[j].centerY() < l.centerY()-0.3*em {
			j++
		}
		if j < len(right) && right[j].centerY() <= l.centerY()+0.3*em {
			both++
			all = append(all, drawn{l.order, false}, drawn{right[j].order, true})
			j++
		}
	}
	slices.SortFunc(all, func(a, b drawn) int { return cmp.Compare(a.order, b.order) })
	for i := 1; i < len(all); i++ {
		if all[i].right != all[i-1].right {
			crossings++
		}
	}
	return both, crossings
}

// rulesAcross counts the lines between two heights that are drawn across the gutter.
func (c *gutterContext) rulesAcross(y0, y1 float64) float64 {
	n := 0.0
	first, _ := slices.BinarySearchFunc(c.across, y0-c.em, func(r ruling, y float64) int { return cmp.Compare(r.at, y) })
	for _, r := range c.across[first:] {
		if r.at > y1+c.em {
			break
		}
		if r.from <= c.gap.from+0.1*c.em && r.to >= c.gap.to-0.1*c.em {
			n++
		}
	}
	return n
}

// ruleInGutter returns how much of the height between two places a line drawn down the gutter takes.
func (c *gutterContext) ruleInGutter(y0, y1 float64) float64 {
	best := 0.0
	first, _ := slices.BinarySearchFunc(c.down, c.gap.from-0.2*c.em, func(r ruling, x float64) int { return cmp.Compare(r.at, x) })
	for _, r := range c.down[first:] {
		if r.at > c.gap.to+0.2*c.em {
			break
		}
		best = max(best, min(r.to, y1)-max(r.from, y0))
	}
	return min(max(best, 0)/max(y1-y0, 1), 1)
}
