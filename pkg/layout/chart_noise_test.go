package layout

import (
	"testing"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestChartNoise tells what a recogniser makes of a chart from rows and columns that it read surely.
func TestChartNoise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		words      string
		confidence float32
		want       bool
	}{
		{"2 8 3 b", 0.7, true}, {"3 3 8 £ 5", 0.8, true}, {"28 53 £8 22", 0.6, true},
		{"3 3 8 4 5", 0.95, false}, {"28 53 18 22", 0.8, false}, {"Town Sales Bremen 28", 0.7, false},
	} {
		words := at(50, 100, 10, tt.words).Words
		for _, w := range words {
			w.Confidence = &tt.confidence
		}
		table := &table{cells: []tableCell{{segments: []segment{{words: words}}}}}
		if got := table.isChartNoise(); got != tt.want {
			t.Errorf("%q read with confidence %v: noise: %v, want %v", tt.words, tt.confidence, got, tt.want)
		}
	}
}

func TestNoiseOfAChartIsNoTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		sure    float32
		columns [3]string
		tables  int
	}{
		{"single characters that are not sure", 0.5, [3]string{"&", "8", "s"}, 0},
		{"single characters that are", 0.95, [3]string{"B", "8", "3"}, 1},
		{"words that are not sure", 0.5, [3]string{"Pears", "812", "1.20"}, 1},
	} {
		var lines [][]*inkstreamv1.Line
		for i, text := range tt.columns {
			lines = append(lines, down(72+float64(i)*120, 72, 10, text, text, text, text, text, text))
		}
		p := recognised(lines...)
		for _, b := range p.GetBlocks() {
			for _, l := range b.GetLines() {
				for _, w := range l.GetWords() {
					w.Confidence = proto.Float32(tt.sure)
				}
			}
		}
		ArrangePage(p)
		if got := len(tablesOf(p)); got != tt.tables {
			t.Errorf("%s: got %d tables, want %d", tt.name, got, tt.tables)
		}
	}
}
