package layout

import (
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestPartedParagraphs joins paragraphs that the recogniser parted, and those alone.
func TestPartedParagraphs(t *testing.T) {
	t.Parallel()
	whole := []string{"The council met on Tuesday and agreed, after a debate of hours, to close the", "bridge for repairs in autumn, and the ferry will run at night until the work",
		"on the western pier has been done and paid for."}
	for _, tt := range []struct {
		name          string
		above, below  []string
		wantParagraph string
	}{
		{"in a sentence", whole[:1], whole[1:], strings.Join(whole, " ")},
		{"before its last line", whole[:2], whole[2:], strings.Join(whole, " ")},
		{"before a name", []string{whole[0], "bridge for repairs in autumn and said so to the Board of Works and to the"},
			[]string{"Board of Trade in the capital, which had asked for it in June."}, "to the Board of Trade"},
		{"after a sentence", []string{whole[0], whole[1], "on the western pier has been done and paid for by those who use it in July."},
			[]string{"Members spoke of the price of coal, and of who was to buy it before the snow"}, "by those who use it in July.\n"},
		{"a running head", []string{"of the Works on the Western Bridge and of the Ferry in the Years before 127"},
			[]string{"bridge for repairs in autumn, and the ferry will run at night until the work", whole[2]}, "before 127\n"},
		{"an address", []string{"Board of Works, Western Bridge"}, []string{"Harbour Street 12, Ashford"}, "Western Bridge\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			above := down(40, 60, 10, tt.above...)
			p := recognised(above, down(40, 60+12*float64(len(above)), 10, tt.below...))
			ArrangePage(p)
			var text strings.Builder
			for _, b := range p.GetBlocks() {
				text.WriteString(strings.Join(wordsOf(b), " ") + "\n")
			}
			if !strings.Contains(text.String(), tt.wantParagraph) {
				t.Errorf("got %q, want %q in it", text.String(), tt.wantParagraph)
			}
		})
	}
}

func wordsOf(b *inkstreamv1.Block) (out []string) {
	for _, line := range b.GetLines() {
		for _, w := range line.GetWords() {
			out = append(out, w.GetText())
		}
	}
	return out
}

// TestPartedItem joins an item of a list with its rest, and it stays one.
func TestPartedItem(t *testing.T) {
	t.Parallel()
	p := recognised(down(40, 60, 10, "3. The council met on Tuesday and agreed, after a debate of hours, to close the"),
		down(40, 72, 10, "bridge for repairs in autumn, and the ferry will run at night until the work"))
	ArrangePage(p)
	if b := p.GetBlocks()[0]; len(p.GetBlocks()) != 1 || b.GetType() != ListItem || b.GetMarker() != "3." || b.GetLevel() != 1 {
		t.Errorf("got %d blocks, the first %v; want one, an item with its marker", len(p.GetBlocks()), b)
	}
}

// TestHangingEntriesOfOneParagraph parts entries that hang, of which the recogniser took two at a time for a paragraph:
// too few lines to tell, as the whole column does. A heading of two lines stays one.
func TestHangingEntriesOfOneParagraph(t *testing.T) {
	t.Parallel()
	var blocks [][]*inkstreamv1.Line
	for i := range 4 {
		var pair []*inkstreamv1.Line
		for j := range 2 {
			y := 100 + 24*float64(2*i+j)
			pair = append(pair, at(40, y, 10, "Harbour of the north where vessels from the islands bring their goods and the"),
				at(60, y+12, 10, "merchants meet in summer."))
		}
		blocks = append(blocks, pair)
	}
	heading := []*inkstreamv1.Line{at(40, 40, 18, "The Harbours of the"), at(40, 62, 18, "Northern Coast")}
	p := tightlyRecognised(append([][]*inkstreamv1.Line{heading}, blocks...)...)
	ArrangePage(p)
	if got := len(p.GetBlocks()); got != 9 {
		t.Errorf("got %d blocks, want a heading and eight entries:\n%s", got, p.GetText())
	}
	if got := len(p.GetBlocks()[0].GetLines()); got != 2 {
		t.Errorf("got a heading of %d lines, want 2", got)
	}
}
