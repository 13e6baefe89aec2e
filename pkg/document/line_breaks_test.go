package document

import (
	"strings"
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestMarkdownLineBreaks keeps the lines of an address, and parts paragraphs that one block holds.
func TestMarkdownLineBreaks(t *testing.T) {
	t.Parallel()
	block := func(lines ...string) *inkstreamv1.Block {
		b := &inkstreamv1.Block{Type: layout.Paragraph, Bbox: []float32{50, 50, 400, 50 + 12*float32(len(lines))}}
		for i, text := range lines {
			x, y, line := float32(50), 50+12*float32(i), &inkstreamv1.Line{}
			for _, word := range strings.Fields(text) {
				end := x + 5*float32(len(word))
				line.Words = append(line.Words, &inkstreamv1.Word{Text: word, Size: 10, Bbox: []float32{x, y, end, y + 10}})
				x = end + 5
			}
			b.Lines = append(b.Lines, line)
		}
		return b
	}
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"an address", []string{"Dubois", "27 rue Henri Rolland", "- 69100 Villeurbanne", "France"},
			"Dubois  \n27 rue Henri Rolland  \n\\- 69100 Villeurbanne  \nFrance"},
		{"running text", []string{"words of a text that runs", "on from line to line and", "has no room for another", "one."},
			"words of a text that runs on from line to line and has no room for another one."},
		{"two paragraphs", []string{"A paragraph of the text, whose last line", "is short.", "Another goes on as long as the column is",
			"wide, and longer, until it is at an end,", "which comes soon, and is short."},
			"A paragraph of the text, whose last line is short.\n\nAnother goes on as long as the column is wide, and longer, until it is at an end, which comes soon, and is short."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.TrimSpace(markdown(t, nil, page(1, block(tt.lines...)))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	verse := block("1. Winter", "- and the harbour closed", "Again and for the year", "Alas")
	verse.Type, verse.Level, verse.Marker = layout.ListItem, 1, "1."
	if got, want := strings.TrimSpace(markdown(t, nil, page(1, verse))), "1. Winter  \n   \\- and the harbour closed  \n   Again and for the year  \n   Alas"; got != want {
		t.Errorf("a verse: got %q, want %q", got, want)
	}
}
