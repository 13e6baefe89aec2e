package layout

import (
	"math"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestLetterSpans tells one size from the boxes of words with all kinds of letters.
func TestLetterSpans(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		word          string
		above, below  float64
		wantUntakable bool
	}{
		{word: "once", above: smallHeight},
		{word: "harbour", above: capitalHeight},
		{word: "CAPITALS", above: capitalHeight},
		{word: "1907", above: capitalHeight},
		{word: "group", above: smallHeight, below: descent},
		{word: "Egypt", above: capitalHeight, below: descent},
		{word: "tin", above: dottedHeight},
		{word: "rosé", above: smallHeight + accentHeight},
		{word: "École", above: capitalHeight + accentHeight},
		{word: "ça", above: smallHeight, below: descent},
		{word: "sea,", above: smallHeight, below: tailDescent},
		{word: "(one)", above: capitalHeight, below: descent},
		{word: "мост", above: smallHeight},
		{word: "улица", above: smallHeight, below: descent},
		{word: "λόγος", above: capitalHeight, below: descent},
		{word: "港口", wantUntakable: true},
		{word: "—", wantUntakable: true},
		{word: "", wantUntakable: true},
	} {
		span, known := measureLetterSpan(tt.word)
		if known == tt.wantUntakable {
			t.Errorf("%q: got known %v, want %v", tt.word, known, !tt.wantUntakable)
		}
		if known && (math.Abs(span.above-tt.above) > 0.03 || math.Abs(span.below-tt.below) > 0.03) {
			t.Errorf("%q: got %v, want %v above and %v below", tt.word, span, tt.above, tt.below)
		}
	}
}

// TestLinesOfLowAndTallLetters keeps the lines of a paragraph together of which one has no letters that rise, and
// the next has tall and low ones: their boxes are of very different heights.
func TestLinesOfLowAndTallLetters(t *testing.T) {
	t.Parallel()
	const size = 10.0
	lines := []string{"as we rose once more we saw", "fig trees beyond the yellow gate",
		"no one ever came near us", "before dusk they bought glasses"}
	b := &inkstreamv1.Block{}
	for i, text := range lines {
		line := &inkstreamv1.Line{}
		x := 40.0
		for _, w := range strings.Fields(text) {
			span, _ := measureLetterSpan(w)
			base, sure := 60+12*float64(i), float32(0.9)
			width := 5 * float64(len(w))
			line.Words = append(line.Words, &inkstreamv1.Word{Text: w, Confidence: &sure,
				Bbox: rect{x, base - size*span.above, x + width, base + size*span.below}.toBox()})
			x += width + 3
		}
		b.Lines = append(b.Lines, line)
	}
	p := &inkstreamv1.Page{Width: 400, Height: 600, Blocks: []*inkstreamv1.Block{b}}
	ArrangePage(p)
	if len(p.GetBlocks()) != 1 {
		t.Errorf("got %d blocks, want one: %q", len(p.GetBlocks()), p.GetText())
	}
}
