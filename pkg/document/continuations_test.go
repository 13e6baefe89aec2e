package document

import (
	"fmt"
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestParagraphsGoOnWithCapitals joins a paragraph with its rest at the head of the next column, which begins with a name:
// no sentence ended there, or its first line alone is not indented. Paragraphs that end as all others do stay apart, and
// so do entries, which end anyhow.
func TestParagraphsGoOnWithCapitals(t *testing.T) {
	t.Parallel()
	const full, last = "the harbour was closed for the whole of winter", "and nobody came to see what became of the sea."
	paragraph := func(x, y, indent float32, lines ...string) *inkstreamv1.Block {
		b := text(layout.Paragraph, x, y, 10, 1, lines...)
		for _, w := range b.Lines[0].Words {
			w.Bbox[0], w.Bbox[2] = w.Bbox[0]+indent, w.Bbox[2]+indent
		}
		b.Lines[0].Bbox[0] += indent
		return b
	}
	for _, tt := range []struct {
		name   string
		indent float32 // of first lines
		end    string  // of the others
		last   string  // of the first column
		next   float32 // the indent at the head of the next column
		want   bool
	}{
		{"in a sentence", 0, last, full, 0, true},
		{"below a sentence, not indented", 14, last, last, 0, true},
		{"below a sentence, indented", 14, last, last, 14, false},
		{"below a sentence, none indented", 0, last, last, 0, false},
		{"entries", 0, full, full, 0, false},
	} {
		var blocks []*inkstreamv1.Block
		for i := range 7 {
			blocks = append(blocks, paragraph(72, 72+40*float32(i), tt.indent, "The mole of the north and all of the stone in", full, tt.end))
		}
		blocks = append(blocks, paragraph(72, 360, tt.indent, "The mole of the north and all of the stone in", full, tt.last),
			paragraph(330, 72, tt.next, "Radley kept the keys of the tower and of the", last))
		p := page(1, blocks...)
		planned(t, nil, p)
		if got := p.GetBlocks()[7].GetContinued(); got != tt.want {
			t.Errorf("%s: goes on: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestRaggedParagraphsGoOn joins a paragraph whose last line is short with its rest in the next column, which begins with a
// small letter, where all others end as sentences do. Entries end with numbers.
func TestRaggedParagraphsGoOn(t *testing.T) {
	t.Parallel()
	const full, last = "the harbour was closed for the whole of winter", "and nobody came to see what became of the sea."
	for end, want := range map[string]bool{"until then, and of": true, "of all harbours 12": false} {
		for _, others := range []int{7, 1} {
			var blocks []*inkstreamv1.Block
			for i := range others {
				blocks = append(blocks, text(layout.Paragraph, 72, 72+40*float32(i), 10, 1, full, full, last))
			}
			blocks = append(blocks, text(layout.Paragraph, 72, 360, 10, 1, full, full, end), text(layout.Paragraph, 330, 72, 10, 1, "the keys of it."))
			p := page(1, blocks...)
			planned(t, nil, p)
			if got := p.GetBlocks()[others].GetContinued(); got != want {
				t.Errorf("%q below %d others: goes on: %t, want %t", end, others, got, want)
			}
		}
	}
}

// TestParagraphsGoOnBeside joins a paragraph at the head of a column with its rest at the head of the next, which begin at
// one height where columns are balanced.
func TestParagraphsGoOnBeside(t *testing.T) {
	t.Parallel()
	const full = "the harbour was closed for the whole of winter"
	p := page(1, text(layout.Paragraph, 72, 72, 10, 1, "The mole of the north and all of the stone in", full, full),
		text(layout.Paragraph, 330, 72, 10, 1, full, "and nobody came to see what became of the sea."))
	planned(t, nil, p)
	if !p.GetBlocks()[0].GetContinued() {
		t.Error("the paragraph does not go on beside")
	}
}

// TestLastLineGoesOnBeside joins a paragraph that fills a column with its last line at the head of the next. A name and
// what is said of it beside are entries.
func TestLastLineGoesOnBeside(t *testing.T) {
	t.Parallel()
	const full = "the harbour was closed for the whole of winter"
	for _, tt := range []struct {
		name  string
		lines []string
		want  bool
	}{
		{"a paragraph", []string{"The mole of the north and all of the stone in", full, full}, true},
		{"an entry", []string{"Harbour of the north"}, false},
	} {
		p := page(1, text(layout.Paragraph, 72, 72, 10, 1, tt.lines...), text(layout.Paragraph, 330, 72, 10, 1, "sea and sand."))
		planned(t, nil, p)
		if got := p.GetBlocks()[0].GetContinued(); got != tt.want {
			t.Errorf("%s: goes on: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestHeadsOfColumnsEndNoParagraph joins a paragraph with its rest, which begins with a name, where all paragraphs end as
// sentences do, but for those at the heads of columns that go on beside them, and headings of two lines.
func TestHeadsOfColumnsEndNoParagraph(t *testing.T) {
	t.Parallel()
	const full, last = "the harbour was closed for the whole of winter", "and nobody came to see what became of the sea."
	blocks := []*inkstreamv1.Block{text(layout.Paragraph, 72, 72, 10, 1, "The mole of the north and all of the stone in", full, full)}
	for i := range 7 {
		y := 72 + 100*float32(i)
		if i > 0 {
			blocks = append(blocks, text(layout.Paragraph, 330, y-31, 14, 1, "The harbour of the", "north in winter"))
		}
		blocks = append(blocks, text(layout.Paragraph, 330, y, 10, 1, "Radley and the keys of the tower and of the pier", full, last),
			text(layout.Paragraph, 330, y+38, 10, 1, full, full, last))
	}
	p := page(1, blocks...)
	planned(t, nil, p)
	if !p.GetBlocks()[0].GetContinued() {
		t.Error("the paragraph does not go on beside")
	}
}

// TestParagraphsGoOnWider joins the lines beside what text runs around with those below it, which are wider.
func TestParagraphsGoOnWider(t *testing.T) {
	t.Parallel()
	const narrow, wide = "the harbour was closed for", "the harbour was closed for the whole of winter, as the stones"
	for _, tt := range []struct {
		name   string
		beside []string
		x      float32
		below  string
		want   bool
	}{
		{"around a box", []string{"The mole of the north and", narrow, narrow}, 72, wide, true},
		{"two lines", []string{"The mole of the north and", narrow}, 72, wide, false},
		{"no wider", []string{"The mole of the north and", narrow, narrow}, 72, narrow, false},
		{"another edge", []string{"The mole of the north and", narrow, narrow}, 40, wide, false},
	} {
		beside := text(layout.Paragraph, 72, 72, 10, 1, tt.beside...)
		below := text(layout.Paragraph, tt.x, beside.GetBbox()[3]+2, 10, 1, tt.below, "were moved.")
		planned(t, nil, page(1, beside, below))
		if got := beside.GetContinued(); got != tt.want {
			t.Errorf("%s: goes on: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestRunningHeadInASentence takes a line with the page's number for a running head where a paragraph goes on below it in the
// middle of a sentence, though no other page has such a line.
func TestRunningHeadInASentence(t *testing.T) {
	t.Parallel()
	const full = "the harbour was closed for the whole of winter"
	for last, want := range map[string]string{full: layout.Header, "and nobody came to see what became of the sea.": layout.Paragraph} {
		head := text(layout.Paragraph, 72, 40, 10, 1, "Of Harbours")
		head.Lines[0].Words = append(head.Lines[0].Words, text(layout.Paragraph, 330, 40, 10, 1, "102").Lines[0].Words...)
		head.Lines[0].Bbox = []float32{72, 40, 345, 49}
		head.Bbox = head.Lines[0].Bbox
		first, next := page(1, text(layout.Paragraph, 72, 700, 10, 1, "The mole of the north and all of the stone in", full, last)),
			page(2, head, text(layout.Paragraph, 72, 72, 10, 1, full, "and nobody came to see what became of the sea."))
		planned(t, nil, first, next)
		if got := head.GetType(); got != want || first.GetBlocks()[0].GetContinued() != (want == layout.Header) {
			t.Errorf("below %q: the head is a %s, and the paragraph goes on: %t", last, got, first.GetBlocks()[0].GetContinued())
		}
	}
}

// TestParagraphsGoOnBelow joins a paragraph with its rest past a table where both stand in one column, and no address with
// what stands in another.
func TestParagraphsGoOnBelow(t *testing.T) {
	t.Parallel()
	for x, want := range map[float32]bool{72: true, 330: false} {
		p := page(1, text(layout.Paragraph, x, 72, 10, 1, "The mole of the north", "and all of the stone in"), &inkstreamv1.Block{Type: layout.Table,
			Bbox: []float32{72, 110, 500, 180}, Lines: text(layout.Paragraph, 72, 110, 10, 1, "Stone").Lines}, text(layout.Paragraph, 72, 200, 10, 1, "bridge over the stream."))
		planned(t, nil, p)
		if got := p.GetBlocks()[0].GetContinued(); got != want {
			t.Errorf("at %.0f: goes on: %t, want %t", x, got, want)
		}
	}
}

func TestMerges(t *testing.T) {
	t.Parallel()
	captionAt := func(y float32) *inkstreamv1.Block {
		return text(layout.Caption, 72, y, 10, 1, "Table 1: What was sold")
	}
	head, rows := []string{"Item", "Count"}, []string{"Pears", "12"}
	for _, tt := range []struct {
		name  string
		pages []*inkstreamv1.Page
		want  []Merge
	}{
		{
			"over three pages, with the headings again",
			[]*inkstreamv1.Page{page(1, prose(72), table(72, 300, 600, head, rows)), page(2, table(72, 300, 72, head, rows)),
				page(3, table(72, 300, 72, head, rows), prose(300))},
			[]Merge{{Tables: []TableRef{{1, 1}, {2, 1}, {3, 1}}, HeaderRows: 1}},
		},
		{
			"without the headings",
			[]*inkstreamv1.Page{page(1, table(72, 300, 600, head, rows)), page(2, table(72, 300, 72, rows, rows))},
			[]Merge{{Tables: []TableRef{{1, 1}, {2, 1}}}},
		},
		{"text between them", []*inkstreamv1.Page{page(1, table(72, 300, 600, head, rows)),
			page(2, prose(72), table(72, 300, 150, head, rows))}, nil},
		{"a caption below the first", []*inkstreamv1.Page{page(1, table(72, 300, 600, head, rows), captionAt(700)), page(2, table(72, 300, 72, rows, rows))}, nil},
		{"other columns", []*inkstreamv1.Page{page(1, table(72, 300, 600, head, rows)),
			page(2, table(72, 300, 72, []string{"a", "b", "c"}, []string{"d", "e", "f"}))}, nil},
		{"another place", []*inkstreamv1.Page{page(1, table(72, 300, 600, head, rows)),
			page(2, table(172, 400, 72, rows, rows))}, nil},
		{"another place, with the headings again", []*inkstreamv1.Page{page(1, table(310, 520, 600, head, rows)),
			page(2, table(72, 282, 72, head, rows))}, []Merge{{Tables: []TableRef{{1, 1}, {2, 1}}, HeaderRows: 1}}},
		{"in the next column", []*inkstreamv1.Page{page(1, prose(72), table(72, 280, 600, head, rows), table(310, 520, 72, head, rows))},
			[]Merge{{Tables: []TableRef{{1, 1}, {1, 2}}, HeaderRows: 1}}},
		{"in the next column, without the headings", []*inkstreamv1.Page{page(1, table(72, 280, 600, head, rows), table(310, 520, 72, rows, rows))}, nil},
		{"beside each other", []*inkstreamv1.Page{page(1, table(72, 280, 600, head, rows), table(310, 520, 600, head, rows))}, nil},
		{"below each other", []*inkstreamv1.Page{page(1, table(72, 280, 100, head, rows), table(72, 280, 300, head, rows))}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			plan := planned(t, nil, tt.pages...)
			if got, want := fmt.Sprint(plan.Merges), fmt.Sprint(tt.want); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
