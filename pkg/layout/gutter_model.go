package layout

import (
	_ "embed"
	"fmt"
	"sync"

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

// isColumnGutter reports whether the lines left and right of a gutter belong to columns that are read one after the
// other, and not to the cells of rows, which are read across.
func (c *cutter) isColumnGutter(left, right []sideLine, gap span, gutters int) bool {
	if c.inPart && (areMostlyFigures(left) || areMostlyFigures(right)) {
		return false // the rest of a table
	}
	f := measureGutter(left, right, gutterContext{gap: gap, across: c.across, down: c.down, gutters: gutters,
		em: c.em})
	column := gutterModel().Probability(f[:]) >= c.requiredProbability()
	if c.judge != nil {
		s := newGutterSample(f, left, right, c.em)
		s.Column = column
		return c.judge(s)
	}
	return column
}

// areMostlyFigures reports whether most of several lines are figures from end to end.
func areMostlyFigures(lines []sideLine) bool {
	n := 0
	for _, l := range lines {
		if isNumeric(l.first.GetText()) && isNumeric(l.last.GetText()) {
			n++
		}
	}
	return len(lines) > 1 && 2*n > len(lines)
}

// requiredProbability returns how sure the model has to be of a gutter between columns: surer of one in a part of a band,
// which may be a table's.
func (c *cutter) requiredProbability() float64 {
	if c.inPart {
		return 0.75
	}
	return 0.5
}

// newGutterSample returns a sample of a gutter.
func newGutterSample(f gutterFeatures, left, right []sideLine, em float64) GutterSample {
	s := GutterSample{Features: f[:]}
	j := 0
	for _, l := range left {
		for j < len(right) && right[j].centerX() < l.centerX()-0.3*em {
			j++
		}
		if j < len(right) && right[j].centerX() <= l.centerX()+0.3*em {
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

// ArrangeJudged arranges a page as ArrangePage does, and lets judge decide. It is for training and measuring the models.
func ArrangeJudged(page *inkstreamv1.Page, judge Judge) {
	arrangePage(page, Options{Tables: true}, judge)
}

// GutterFeatureNames returns the names of the features, in order.
func GutterFeatureNames() []string { return gutterFeatureNames }
