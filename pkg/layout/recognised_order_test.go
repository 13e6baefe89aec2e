package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestColumnsReadToAndFro puts a page in order whose recogniser went from column to column with each paragraph, and
// keeps the order of one that changed columns once more than it had to.
func TestColumnsReadToAndFro(t *testing.T) {
	t.Parallel()
	column := func(x float64, name string) (paragraphs [][]*inkstreamv1.Line) {
		for i := range 4 {
			paragraphs = append(paragraphs, down(x, 60+42*float64(i), 9, fmt.Sprintf("%s%d begins this text of the column", name, i),
				"which goes on from line to line", "until it is full and ends here."))
		}
		return paragraphs
	}
	left, right := column(40, "L"), column(310, "R")
	for name, tt := range map[string]struct {
		blocks [][]*inkstreamv1.Line
		want   string
	}{
		"to and fro": {[][]*inkstreamv1.Line{left[0], right[0], left[1], right[1], left[2], right[2], left[3], right[3]},
			"L0 L1 L2 L3 R0 R1 R2 R3"},
		"in two bands": {[][]*inkstreamv1.Line{left[0], left[1], right[0], right[1], left[2], left[3], right[2], right[3]},
			"L0 L1 R0 R1 L2 L3 R2 R3"},
		"column by column": {slices.Concat(left, right), "L0 L1 L2 L3 R0 R1 R2 R3"},
	} {
		page := recognised(tt.blocks...)
		ArrangePage(page)
		if order := markedWords(page); order != tt.want {
			t.Errorf("%s: got %q, want %q", name, order, tt.want)
		}
	}
}

// markedWords returns the words with an L or an R, in their order.
func markedWords(page *inkstreamv1.Page) string {
	var out []string
	for _, w := range PageWords(page) {
		if strings.ContainsAny(w.GetText(), "LR") {
			out = append(out, w.GetText())
		}
	}
	return strings.Join(out, " ")
}

// TestTablesReadToAndFro counts a table as one place, at its first word, however often a recogniser comes back to it.
func TestTablesReadToAndFro(t *testing.T) {
	t.Parallel()
	var blocks, arranged []*inkstreamv1.Block
	of := map[*inkstreamv1.Word]*inkstreamv1.Block{}
	texts := [2][]*inkstreamv1.Block{}
	var rows []*inkstreamv1.Line
	for x := range 2 {
		for y := range 3 {
			lines := gridLines(60+200*float64(y), []float64{40 + 250*float64(x), 120 + 250*float64(x)}, "Lamps 48", "Chairs 53")
			table := &inkstreamv1.Block{Lines: lines, Bbox: rect{40 + 250*float64(x), 60 + 200*float64(y), 160 + 250*float64(x), 90 + 200*float64(y)}.toBox()}
			for _, l := range lines {
				of[l.Words[0]] = table
			}
			rows = append(rows, lines...)
			text := &inkstreamv1.Block{Lines: down(40+250*float64(x), 120+200*float64(y), 9, "a text of five words")}
			texts[x] = append(texts[x], table, text)
			arranged = append(arranged, table, text)
		}
	}
	for i := range texts[0] {
		blocks = append(blocks, texts[0][i], texts[1][i])
	}
	if !switchesColumns(blocks, arranged, of, 0) {
		t.Error("tables and texts of two columns in turn: not found")
	}
	if once := append([]*inkstreamv1.Block{{Lines: rows}}, arranged...); switchesColumns(once, arranged, of, 0) {
		t.Error("all tables, and then the texts column by column: taken for columns in turn")
	}
}
