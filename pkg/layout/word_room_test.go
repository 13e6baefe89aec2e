package layout

import "testing"

// TestWordRoom tells lines with text in two places from justified ones, whose blanks are all wide.
func TestWordRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		gaps []float64
		want bool
	}{
		{"a name and a number", []float64{3, 3, 90}, true},
		{"a name, a kind and what it is", []float64{40, 3, 30, 3, 3, 3, 3}, true},
		{"wide blanks", []float64{20, 20, 20}, false},
		{"two words of a justified line", []float64{30}, false},
		{"two words far apart", []float64{120}, true},
	} {
		var room wordRoom
		for _, gap := range tt.gaps {
			room.addGap(gap)
		}
		if got := room.isParted(10); got != tt.want {
			t.Errorf("%s: parted: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestTextBelowRows begins a paragraph below a row with text in two places, such as a name and years at the edge, and below one
// that ends in bold type well before the edge.
func TestTextBelowRows(t *testing.T) {
	t.Parallel()
	style := lineStyle{size: 10}
	text := lineShape{x0: 57, x1: 480, firstWidth: 25, style: style}
	row, label, full := text, text, text
	row.x1, row.room = 500, wordRoom{widest: 200, sum: 209, gaps: 4}
	label.x0, label.second, label.x1, label.endsBold = 40, 57, 200, true
	lower := text
	lower.startsLower = true
	for _, tt := range []struct {
		name        string
		above, line lineShape
		want        bool
	}{
		{"a row", row, text, true},
		{"a row that goes on", row, lower, false},
		{"a label in bold type", label, text, true},
		{"a line of text", full, text, false},
	} {
		p := &textColumn{em: 10, left: 40, right: 500, shapes: []lineShape{tt.above, tt.line}}
		if got := beginsBelowRow(p, 1); got != tt.want {
			t.Errorf("below %s a paragraph begins: %t, want %t", tt.name, got, tt.want)
		}
	}
}
