package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestTypescript reads prose in a font of fixed pitch as text, and keeps programs and tables set with blanks as code.
func TestTypescript(t *testing.T) {
	t.Parallel()
	prose := []string{"     The harbour was closed for the whole of", "the winter, as the ice had not gone, and", "nobody came to see it until the summer.",
		"     Q.   And who was to pay for all that", "work on the pier, and for the ferry?", "     A.   The council never said a word."}
	program := []string{"for i := range lines {", "    if lines[i] != nil && lines[i].Text == name {", "        out = append(out, lines[i].Words...)",
		"    }", "}", "return out[:len(out)-1]"}
	table := []string{"Name        Place       Trade", "Adler       Ashford     baker", "Berg        Tilbury     smith", "Carver      Glenford    tailor",
		"Ellery      Quarley     miller", "Fairfax     Yarrow      cooper"}
	for _, tt := range []struct {
		name  string
		lines []string
		code  bool
	}{{"prose", prose, false}, {"a program", program, true}, {"a table", table, true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var lines []*inkstreamv1.Line
			for i := range 18 {
				lines = append(lines, typed(72, 72+12*float64(i), 10, tt.lines[i%len(tt.lines)]))
			}
			p := pageOf(lines)
			p.Fonts = []*inkstreamv1.Font{{Name: "Courier", FixedPitch: true}}
			ArrangePageWith(p, Options{})
			for _, b := range p.GetBlocks() {
				if (b.GetType() == Code) != tt.code {
					t.Errorf("got a %s, want code %t: %q", b.GetType(), tt.code, p.GetText())
				}
			}
		})
	}
}

// typed sets a line in a font of fixed pitch, in which blanks are as wide as letters.
func typed(x, y, size float64, text string) *inkstreamv1.Line {
	line := &inkstreamv1.Line{}
	pitch := 0.6 * size
	for start := 0; start < len(text); {
		if text[start] == ' ' {
			start++
			continue
		}
		end := start
		for end < len(text) && text[end] != ' ' {
			end++
		}
		line.Words = append(line.Words, &inkstreamv1.Word{Text: text[start:end], Font: 1, Size: float32(size),
			Bbox: rect{x + pitch*float64(start), y, x + pitch*float64(end), y + 0.9*size}.toBox()})
		start = end
	}
	return line
}

// TestTurnedTypescript keeps a table set with blanks as code on a page that lies on its side.
func TestTurnedTypescript(t *testing.T) {
	t.Parallel()
	for _, turn := range []rotation{0, 90, 180, 270} {
		var lines []*inkstreamv1.Line
		shapes := make([]lineShape, 5)
		for i := range shapes {
			line := typed(72, 72+12*float64(i), 10, "Adler       Ashford     baker")
			for _, w := range line.GetWords() {
				w.Bbox = ((360 - turn) % 360).rotateRect(rectFromBox(w.GetBbox())).toBox()
			}
			lines, shapes[i].style.mono = append(lines, line), true
		}
		clearTypescript(lines, shapes, turn)
		if !shapes[0].style.mono {
			t.Errorf("turned by %d: the table is no code", turn)
		}
	}
}
