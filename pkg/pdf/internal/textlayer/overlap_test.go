package textlayer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// placedLines returns a layer of a page of 600 by 800 points, and the lines of the given boxes, a word each.
func placedLines(boxes ...[4]float64) (*textLayer, []*textLine) {
	t := &textLayer{pageCanvas: pageCanvas{width: 600, height: 800, scaleX: 1, scaleY: 1}}
	var lines []*textLine
	for _, box := range boxes {
		lines = append(lines, &textLine{words: []*placedWord{placeWord([]rune("word"), box, 0)}, face: regularFace})
	}
	return t, lines
}

func TestOverlappingLinesUseSmallFace(t *testing.T) {
	t.Parallel()
	type boxes [][4]float64
	for _, tt := range []struct {
		name  string
		lines boxes
		own   []OwnText
		small []int
	}{
		{name: "lines one below the other", lines: boxes{{50, 100, 90, 110}, {50, 112, 90, 122}}},
		{name: "columns", lines: boxes{{50, 100, 90, 110}, {100, 100, 140, 110}}},
		{
			name: "side by side", lines: boxes{{50, 100, 90, 110}, {90.5, 102, 130, 111}, {200, 100, 240, 110}},
			small: []int{0, 1},
		},
		{
			name:  "on top of each other",
			lines: boxes{{50, 100, 90, 110}, {200, 100, 240, 110}, {60, 101, 80, 109}}, small: []int{0, 2},
		},
		{
			name: "on text of the page", lines: boxes{{50, 100, 90, 110}, {50, 300, 90, 310}},
			own: []OwnText{{Box: []float32{40, 98, 500, 112}}}, small: []int{0},
		},
		{
			name: "beside text of the page", lines: boxes{{50, 100, 90, 110}},
			own: []OwnText{{Box: []float32{100, 98, 500, 112}}, {Box: []float32{50, 120, 90, 130}}},
		},
		{
			name: "text of the page that has no place", lines: boxes{{50, 100, 90, 110}},
			own: []OwnText{{}, {Box: []float32{float32(math.NaN()), 0, 1, 1}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, lines := placedLines(tt.lines...)
			l.avoidOverlaps(lines, tt.own)
			var got []int
			for i, l := range lines {
				if l.face == smallFace {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, tt.small) {
				t.Errorf("got lines %v in the small face, want %v", got, tt.small)
			}
		})
	}
}

// TestOverlappingPairsFindEveryLine compares with looking at every pair.
func TestOverlappingPairsFindEveryLine(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 1))
	for range 200 {
		var extents []rowExtent
		for range 30 {
			from := rng.Float64() * 100
			extents = append(extents, rowExtent{row: rng.IntN(3), from: from, to: from + 12*rng.Float64(),
				line: rng.IntN(12) - 1})
		}
		want, got := map[int]bool{}, map[int]bool{}
		for i, a := range extents {
			for _, b := range extents[:i] {
				if a.row == b.row && a.line != b.line && a.from < b.to && b.from < a.to {
					want[a.line], want[b.line] = true, true
				}
			}
		}
		for _, pair := range overlappingPairs(slices.Clone(extents)) {
			got[pair[0].line], got[pair[1].line] = true, true
		}
		for line := range want {
			if !got[line] {
				t.Fatalf("line %d is not found in %+v", line, extents)
			}
		}
		for line := range got {
			if !want[line] {
				t.Fatalf("line %d is found in %+v", line, extents)
			}
		}
	}
}

// Words of a line in the small face are drawn together as far as they may, and no further.
func TestCloseGaps(t *testing.T) {
	t.Parallel()
	l := &textLayer{pageCanvas: pageCanvas{width: 600, height: 800, scaleX: 1, scaleY: 1}}
	confidence := float32(1)
	var in inkstreamv1.Line
	for _, x := range []float32{50, 75, 98, 140} { // 5, 3 and 22 apart
		in.Words = append(in.Words, &inkstreamv1.Word{Text: "word", Bbox: []float32{x, 100, x + 20, 110},
			Confidence: &confidence})
	}
	line := l.placeLine(&in)
	if line.face != regularFace {
		t.Errorf("words with gaps: got face %v, want %v", line.face, regularFace)
	}
	closeGaps(line.words, l.maxShift(), smallFace)
	for i, together := range []bool{true, true, false} {
		a, b := line.words[i], line.words[i+1]
		if got := b.from-a.to <= b.fontSize(smallFace); got != together {
			t.Errorf("words %d and %d: %.2f apart at a size of %.2f, want them together: %v", i, i+1, b.from-a.to,
				b.fontSize(smallFace), together)
		}
	}
	for _, w := range line.words {
		if math.Abs(w.from-w.start) > maxShiftPoints || math.Abs(w.to-w.end) > maxShiftPoints {
			t.Errorf("got %.2f to %.2f, want within %.2f of %.2f to %.2f", w.from, w.to, maxShiftPoints, w.start, w.end)
		}
	}
}

// Words that cannot be set apart in the even face are, in the small one; those of scripts without blanks need not.
func TestTightLines(t *testing.T) {
	t.Parallel()
	confidence := float32(1)
	for _, tt := range []struct {
		name string
		text [2]string
		gap  float32
		want face
	}{
		{"a gap", [2]string{"some", "words"}, 3, regularFace},
		{"an overlap that can be undone", [2]string{"some", "words"}, -1, regularFace},
		{"an overlap that cannot", [2]string{"some", "words"}, -3, smallFace},
		{"a script without blanks", [2]string{"漢字", "かな"}, -3, regularFace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &textLayer{pageCanvas: pageCanvas{width: 600, height: 800, scaleX: 1, scaleY: 1}}
			got := l.placeLine(&inkstreamv1.Line{Words: []*inkstreamv1.Word{
				{Text: tt.text[0], Bbox: []float32{50, 100, 80, 110}, Confidence: &confidence},
				{Text: tt.text[1], Bbox: []float32{80 + tt.gap, 100, 120, 110}, Confidence: &confidence},
			}})
			if got.face != tt.want {
				t.Errorf("got %v, want %v", got.face, tt.want)
			}
		})
	}
}

// Words that overlap too much to be set apart, and hardly enough for readers to see two lines, are moved further over
// each other, as far as they may.
func TestOverlappingWords(t *testing.T) {
	t.Parallel()
	confidence := float32(1)
	for _, tt := range []struct {
		name   string
		text   [2]string
		lap    float32
		deeper bool
	}{
		{"hardly enough", [2]string{"some", "words"}, 6, true},
		{"enough", [2]string{"some", "words"}, 12, false},
		{"too little", [2]string{"some", "words"}, 4, false},
		{"a script without blanks", [2]string{"漢字", "かな"}, 6, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &textLayer{pageCanvas: pageCanvas{width: 600, height: 800, scaleX: 1, scaleY: 1}}
			got := l.placeLine(&inkstreamv1.Line{Words: []*inkstreamv1.Word{
				{Text: tt.text[0], Bbox: []float32{50, 100, 150, 160}, Confidence: &confidence},
				{Text: tt.text[1], Bbox: []float32{150 - tt.lap, 100, 250, 160}, Confidence: &confidence},
			}})
			a, b := got.words[0], got.words[1]
			const read = 0.5 // of the size of the font, where pdftotext sees two lines
			if over := a.to - b.from; tt.deeper && over <= read*a.fontSize(smallFace) || !tt.deeper && over != float64(tt.lap) {
				t.Errorf("got an overlap of %.2f instead of %.2f at a size of %.2f, want a deeper one: %v", over, tt.lap,
					a.fontSize(smallFace), tt.deeper)
			}
			if a.to-a.end > maxShiftPoints || b.start-b.from > maxShiftPoints {
				t.Errorf("edges are moved by %.2f and %.2f, want at most %.2f", a.to-a.end, b.start-b.from, maxShiftPoints)
			}
		})
	}
}
