package layout

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"inkstream.dev/pkg/layout/internal/boost"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

//go:embed gutter_model.json
var gutterModelJSON []byte

// gutterModel tells gutters between columns, which are read one after the other, from gaps within a table or a line.
// The command pkg/layout/train learns such weights. Those here also saw the pages of the corpus, with the answers that
// the layout gave before as labels, four times as heavy as generated pages.
var gutterModel = sync.OnceValue(func() *boost.Model {
	m, err := boost.Parse(gutterModelJSON, gutterFeatureNames)
	if err != nil {
		panic(fmt.Sprintf("layout: gutter_model.json: %v", err)) // the build is broken
	}
	return m
})

// GutterSample is a gutter as the model sees it.
type GutterSample struct {
	Features []float64
	// Left and Right are the words next to it, in lines that are level with each other.
	Left, Right []*inkstreamv1.Word
	// Column is the model's answer: the gutter parts columns.
	Column bool
}

// gutterJudge tells gutters between columns from gaps within a table or a line.
type gutterJudge struct {
	em      float64
	rulings rulingSet
	// judge decides in the place of the model, if it is set.
	judge  func(GutterSample) bool
	inPart bool // a part of a band is looked at by itself
}

// isColumnGutter reports whether the lines left and right of a gutter belong to columns that are read one after the
// other, and not to the cells of rows, which are read across.
func (j *gutterJudge) isColumnGutter(left, right []sideLine, gap span, gutters int) bool {
	if j.inPart && (areMostlyFigures(left) || areMostlyFigures(right)) || areFiguresOfRows(right, left, j.em) ||
		beginWithAmounts(right, left, j.em) || areEndsOfRows(left, right, j.em) {
		return false // the rest of a table
	}
	if j.isWithinFramedRows(left, right, gap) || countAcross(left, right, j.em) || j.areCellsBetweenRules(left, right, gap) ||
		j.areRowsBelowHead(left, right) || areHeadedRows(left, right, j.em) || areCentredRows(left, right, j.em) {
		return false
	}
	if gutters > 1 && (beginsNumberedLines(left, right) || numbersLines(left, right)) || areMarginNotes(right, left, j.em) ||
		areMarginNotes(left, right, j.em) {
		return true
	}
	f := measureGutter(left, right, gutterContext{gap: gap, across: j.rulings.across, down: j.rulings.down, gutters: gutters,
		em: j.em})
	column := gutterModel().Probability(f[:]) >= j.requiredProbability()
	if j.judge != nil {
		s := newGutterSample(f, left, right, j.em)
		s.Column = column
		return j.judge(s)
	}
	return column
}

// areCellsBetweenRules reports whether lines are drawn across a gutter that part the text on its sides into rows of a
// few short lines, most with text on both sides.
func (j *gutterJudge) areCellsBetweenRules(left, right []sideLine, gap span) bool {
	const fewest, words, lines, filled, slack = 4, 3.0, 3.0, 0.6, 0.1 // rows; of a line; of a row; share of the rows; ems
	if len(left) == 0 || len(right) == 0 {                            // a side may be tables alone
		return false
	}
	y0, y1 := min(left[0].y0, right[0].y0), max(left[len(left)-1].y1, right[len(right)-1].y1)
	var heights []float64
	across := j.rulings.across
	for _, r := range across[across.indexAt(y0):] {
		if r.at >= y1 {
			break
		}
		if r.from <= gap.from+slack*j.em && r.to >= gap.to-slack*j.em {
			heights = append(heights, r.at)
		}
	}
	rows := len(heights) + 1
	if rows < fewest {
		return false
	}
	counts, said := make([][2]int, rows), 0
	for side, of := range [][]sideLine{left, right} {
		for _, l := range of {
			i, _ := slices.BinarySearch(heights, l.centerY())
			counts[i][side]++
			said += l.words
		}
	}
	both := 0
	for _, n := range counts {
		if n[0] > 0 && n[1] > 0 {
			both++
		}
	}
	n := float64(len(left) + len(right))
	return float64(both) >= filled*float64(rows) && float64(said) <= words*n && n <= 2*lines*float64(rows)
}

// areMostlyFigures reports whether most lines are figures.
func areMostlyFigures(lines []sideLine) bool {
	n := 0
	for _, l := range lines {
		if l.figures {
			n++
		}
	}
	return 2*n > len(lines)
}

// areEndsOfRows reports whether what stands on the right ends rows that begin on the left, as the names in a list of
// who plays whom do: it is set flush right, begins anywhere, and each of its lines is level with one on the left, but
// for those above and below all of them. No column of text is set so.
func areEndsOfRows(left, right []sideLine, em float64) bool {
	const fewest, words, slack, flush, ragged = 4, 4.0, 0.2, 0.9, 0.5
	if len(left) == 0 {
		return false
	}
	top, bottom := left[0].y0, left[len(left)-1].y1
	right = slices.DeleteFunc(slices.Clone(right), func(l sideLine) bool { return l.y1 < top || l.y0 > bottom })
	if len(right) < fewest || isRightToLeft([]*inkstreamv1.Word{right[0].first, right[1].first, right[2].first}) {
		return false
	}
	level, _ := matchSides(left, right, em)
	starts, ends, count := make([]float64, len(right)), make([]float64, len(right)), 0
	for i, l := range right {
		starts[i], ends[i] = l.x0, l.x1
		count += l.words
	}
	return level == len(right) && float64(count) <= words*float64(len(right)) && alignedShare(ends, slack*em) >= flush &&
		alignedShare(starts, slack*em) <= ragged
}

// areMarginNotes reports whether lines are notes in the margin of a text: a few words each, in smaller type, beginning
// at one edge, beside a part of the lines of the text, which are long.
func areMarginNotes(notes, text []sideLine, em float64) bool {
	const fewest, most, smaller, words, slack, aligned = 3, 0.5, 0.93, 3.5, 0.2, 0.9
	const wordy, narrow, runsOn = 5.0, 4.0, 0.2 // words of a line of text; of one in a narrow column; share of its lines
	const marks = 2                             // letters of a table's cell that is ticked
	if len(notes) < fewest || float64(len(notes)) > most*float64(len(text)) || areMostlyFigures(notes) {
		return false
	}
	ofNotes, ofText, letters := 0, 0, 0
	starts, heights, others := make([]float64, len(notes)), make([]float64, len(notes)), make([]float64, len(text))
	for i, l := range notes {
		starts[i], heights[i], ofNotes, letters = l.x0, l.height(), ofNotes+l.words, letters+l.letters
	}
	for i, l := range text {
		others[i], ofText = l.height(), ofText+l.words
	}
	least := wordy
	if measureSide(text, em).runsOn >= runsOn {
		least = narrow
	}
	return letters > marks*len(notes) && float64(ofNotes) <= words*float64(len(notes)) && float64(ofText) >= least*float64(len(text)) &&
		median(heights) <= smaller*median(others) && alignedShare(starts, slack*em) >= aligned
}

// areFiguresOfRows reports whether lines are the figures of a table's rows: nearly all stand level with text on their
// left, and they do not count the lines there. Figures with text on their right may end the rows of another column.
func areFiguresOfRows(figures, others []sideLine, em float64) bool {
	if len(figures) < minFigureRows || !areMostlyFigures(figures) {
		return false
	}
	level, _ := matchSides(figures, others, em)
	counting := 0
	for i := 1; i < len(figures); i++ {
		if countsOn(figures[i-1].last.GetText(), figures[i].first.GetText()) {
			counting++
		}
	}
	return 5*level >= 4*len(figures) && 3*counting < len(figures)
}

// beginWithAmounts reports whether nearly all lines begin with a figure that is no year and counts nothing, and are
// level with lines on their left that do not: rows of a table whose first columns are wordy. Lists of amounts in two
// columns have them on both sides.
func beginWithAmounts(lines, others []sideLine, em float64) bool {
	const most, level, onLeft = 6.0, 0.85, 0.3 // words of a line on average; shares of lines
	if len(lines) < minFigureRows {
		return false
	}
	amounts, words, counting := 0, 0, 0
	for i, l := range lines {
		words += l.words
		if i > 0 && countsOn(lines[i-1].first.GetText(), l.first.GetText()) {
			counting++
		}
		if isAmount(l.first.GetText()) {
			amounts++
		}
	}
	both, _ := matchSides(others, lines, em)
	n := float64(len(lines))
	if 3*counting >= len(lines) || float64(words) > most*n || float64(amounts) < level*n ||
		float64(both) < level*float64(max(len(lines), len(others))) {
		return false
	}
	figures := 0
	for _, l := range others {
		if isAmount(l.first.GetText()) {
			figures++
		}
	}
	return float64(figures) <= onLeft*float64(len(others))
}

// isAmount reports whether a word is a figure, and no year and no counter of items.
func isAmount(word string) bool {
	return strings.ContainsFunc(word, unicode.IsDigit) && !strings.ContainsFunc(word, unicode.IsLetter) &&
		!isYear(word) && parseLatinEnumerator(word) == ""
}

// isWithinFramedRows reports whether lines are drawn over the whole width of both sides, above and below rows of a
// word or two that are level with each other: a gap within a table.
func (j *gutterJudge) isWithinFramedRows(left, right []sideLine, gap span) bool {
	const mostWords, fewestRows = 2.5, 3
	level, _ := matchSides(left, right, j.em)
	if level < fewestRows || 5*level < 4*max(len(left), len(right)) {
		return false
	}
	area := left[0].rect
	words := 0
	for _, side := range [][]sideLine{left, right} {
		for _, l := range side {
			area = area.union(l.rect)
			words += l.words
		}
	}
	if float64(words) > mostWords*float64(len(left)+len(right)) {
		return false
	}
	above, below := false, false
	for _, r := range j.rulings.across {
		if r.from > gap.from || r.to < gap.to || min(r.to, area.x1)-max(r.from, area.x0) < 0.9*area.width() {
			continue
		}
		above = above || r.at > area.y0-2*j.em && r.at < area.y0+0.5*j.em
		below = below || r.at > area.y1-0.5*j.em && r.at < area.y1+2*j.em
	}
	return above && below
}

// beginsNumberedLines reports whether the right side counts lines of text that stand farther to the right, as a
// transcript's second page on a sheet does, and the left side is text.
func beginsNumberedLines(left, right []sideLine) bool {
	const fewest, words = 8, 3
	if len(right) < fewest || len(left) < fewest {
		return false
	}
	ofLeft, counting := 0, 0
	for _, l := range left {
		ofLeft += l.words
	}
	for i := 1; i < len(right); i++ {
		if right[i].words == 1 && countsOn(right[i-1].last.GetText(), right[i].first.GetText()) {
			counting++
		}
	}
	return ofLeft >= words*len(left) && 5*counting >= 4*(len(right)-1)
}

// numbersLines reports whether the left side counts the lines of running text on the right, as in the margin of a
// transcript. A few of the numbers may be misread.
func numbersLines(left, right []sideLine) bool {
	const fewest, words, runsOn = 10, 3, 0.2
	if len(left) < fewest || len(right) < fewest {
		return false
	}
	atOffset := map[int]int{} // how many numbers there are by how much larger they are than that of their line
	most, goesOn, ofRight := 0, 0, 0
	small := 0.0
	for i, l := range left {
		if n, err := strconv.Atoi(l.first.GetText()); err == nil && l.words == 1 {
			atOffset[n-i]++
			most = max(most, atOffset[n-i])
		}
		if i > 0 && l.words == 1 && countsOn(left[i-1].last.GetText(), l.first.GetText()) {
			goesOn++
		}
	}
	// A misread number stands between two that do not follow on it; one that is missing changes the offset of all that
	// follow.
	counting := max(most, goesOn+1)
	for _, l := range right {
		ofRight += l.words
		small += share(unicode.IsLower(firstRune(l.first.GetText())), float64(len(right)))
	}
	return 5*counting >= 4*len(left) && ofRight >= words*len(right) && small >= runsOn
}

// minFigureRows is how many lines of figures make a column of a table.
const minFigureRows = 4

// isDisplayBeside reports whether one side is a single line in larger type than the lines on the other side, as the
// title of a letter's head is beside the address: no row holds both.
func isDisplayBeside(display, lines []sideLine) bool {
	const larger, letters = 1.35, 3
	if len(display) != 1 || len(lines) < 2 || display[0].letters < letters {
		return false
	}
	beside := 0
	for _, l := range lines {
		if display[0].height() < larger*l.height() {
			return false
		}
		if min(l.y1, display[0].y1)-max(l.y0, display[0].y0) > 0.15*l.height() {
			beside++
		}
	}
	return beside > 1 || beside == 1 && len(lines) > 2
}

// requiredProbability returns how sure the model has to be of a gutter between columns: surer of one in a part of a
// band, which may be a table's.
func (j *gutterJudge) requiredProbability() float64 {
	if j.inPart {
		return 0.75
	}
	return 0.5
}

// newGutterSample returns a sample of a gutter.
func newGutterSample(f gutterFeatures, left, right []sideLine, em float64) GutterSample {
	s := GutterSample{Features: f[:]}
	j := 0
	for _, l := range left {
		for j < len(right) && right[j].centerY() < l.centerY()-0.3*em {
			j++
		}
		if j < len(right) && right[j].centerY() <= l.centerY()+0.3*em {
			s.Left, s.Right = append(s.Left, l.last), append(s.Right, right[j].first)
			j++
		}
	}
	return s
}

// Judge decides in the place of the models, where it is set: which gutters part columns, and what is a table.
type Judge struct {
	Gutter func(GutterSample) bool
	Table  func(TableSample) bool
}

// ArrangeJudged arranges a page as ArrangePage does, and lets judge decide. It is for training and measuring the
// models.
func ArrangeJudged(page *inkstreamv1.Page, judge Judge) {
	arrangePage(page, Options{Tables: true}, judge)
}

// GutterFeatureNames returns the names of the features, in order.
func GutterFeatureNames() []string { return gutterFeatureNames }
