package layout

import (
	"fmt"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestCards reads cards row by row, where a recogniser went down their columns, and columns of text one after the other
// though their paragraphs stand apart at the same heights.
func TestCards(t *testing.T) {
	t.Parallel()
	wide := down(40, 20, 12, "A heading that reaches over all the columns of the page, which are two")
	// column has a block for each gap above, in points; the first begins at 60.
	column := func(x float64, name string, lines int, gaps ...float64) (blocks [][]*inkstreamv1.Line) {
		y := 60.0
		for i, gap := range gaps {
			var texts []string
			for range lines {
				texts = append(texts, "text of a narrow column that goes")
			}
			texts[0] = fmt.Sprintf("%s%d begins this text of the column", name, i)
			y += gap
			blocks = append(blocks, down(x, y, 9, texts...))
			y += 12 * float64(lines)
		}
		return blocks
	}
	for name, tt := range map[string]struct {
		left, right [][]*inkstreamv1.Line
		want        string
	}{
		"cards": {column(40, "L", 3, 0, 50, 50), column(310, "R", 3, 0, 50, 50), "L0 R0 L1 R1 L2 R2"},
		"cards of several paragraphs": {column(40, "L", 2, 0, 6, 60, 6), column(310, "R", 2, 0, 6, 60, 6),
			"L0 L1 R0 R1 L2 L3 R2 R3"},
		"cards of unlike length": {column(40, "L", 2, 0, 80, 80), column(310, "R", 4, 0, 56, 56), "L0 R0 L1 R1 L2 R2"},
		"paragraphs apart at one height": {column(40, "L", 3, 0, 20, 20), column(310, "R", 3, 0, 20, 60),
			"L0 L1 L2 R0 R1 R2"},
		"little room":            {column(40, "L", 3, 0, 6, 6), column(310, "R", 3, 0, 6, 6), "L0 L1 L2 R0 R1 R2"},
		"room at unlike heights": {column(40, "L", 3, 0, 50, 50), column(310, "R", 5, 0, 50, 50), "L0 L1 L2 R0 R1 R2"},
		"text that runs on": {column(40, "andL", 3, 0, 50, 50), column(310, "andR", 3, 0, 50, 50),
			"andL0 andL1 andL2 andR0 andR1 andR2"},
		"single lines":             {column(40, "L", 1, 0, 50, 50), column(310, "R", 1, 0, 50, 50), "L0 L1 L2 R0 R1 R2"},
		"columns that begin apart": {column(40, "L", 3, 0, 50, 50), column(310, "R", 2, 12, 50, 62), "L0 L1 L2 R0 R1 R2"},
	} {
		page := recognised(append(append([][]*inkstreamv1.Line{wide}, tt.left...), tt.right...)...)
		ArrangePage(page)
		if order := markedWords(page); order != tt.want {
			t.Errorf("%s: got %q, want %q", name, order, tt.want)
		}
	}
}
