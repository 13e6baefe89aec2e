package layout

import (
	"fmt"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestItemsAreNoTable makes no table of numbered items with sentences beside their numbers, and one of short texts there.
func TestItemsAreNoTable(t *testing.T) {
	t.Parallel()
	for _, texts := range [][]string{{entryText[0], "were many in the years after the storm."}, nil} {
		var lines []*inkstreamv1.Line
		y := 80.0
		for i := range 6 {
			lines = append(lines, at(40, y, 10, fmt.Sprint(i+1)), at(80, y, 10, fmt.Sprintf("Item number %d", i+1)))
			if i > 0 || texts == nil {
				lines = append(lines, at(600, y, 10, "P. Quill"))
			}
			lines = append(lines, down(80, y+12, 10, texts...)...)
			y += 28 + 12*float64(len(texts))
		}
		p := pageOf(lines)
		ArrangePage(p)
		if got := len(tablesOf(p)); got > 0 != (texts == nil) {
			t.Errorf("with %d lines of text: got %d tables: %q", len(texts), got, p.GetText())
		}
	}
}
