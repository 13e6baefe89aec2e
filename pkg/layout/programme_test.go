package layout

import (
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// endingAt sets a line that ends at a place.
func endingAt(x1, y, size float64, text string) *inkstreamv1.Line {
	line := at(0, y, size, text)
	dx := float32(x1) - line.GetWords()[len(line.GetWords())-1].GetBbox()[2]
	for _, w := range line.GetWords() {
		w.Bbox[0], w.Bbox[2] = w.Bbox[0]+dx, w.Bbox[2]+dx
	}
	return line
}

// TestPlayersStandAtTheEndsOfLines reads a programme: pieces with their movements below them, a word in the middle of
// the page, and who plays whom. The players end the lines, and are no column; what counts movements is in no cell.
func TestPlayersStandAtTheEndsOfLines(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	y := 60.0
	row := func(name, player string) {
		lines = append(lines, at(50, y, 11, name), endingAt(450, y, 11, player))
		y += 15
	}
	item := func(text string) {
		lines = append(lines, at(80, y, 10, text))
		y += 14
	}
	for _, piece := range [][2]string{{"Serenade, op. 67", "Upjohn"}, {"Quartet, op. 79", "Zimmer"}, {"Sonata, op. 72", "Norris"}, {"Trio, op. 29", "Vance"}} {
		y += 9
		row(piece[0], piece[1])
		item("I. Andante con moto")
		item("II. Menuetto")
	}
	y += 9
	lines = append(lines, at(220, y, 11, "Intermission"))
	y += 24
	for _, part := range [][2]string{{"Neighbour", "Elena Hathaway"}, {"Old student", "Cecilia Radley"}, {"Fast painter", "Walter Marsh"},
		{"Frontier", "Esther V. Carver"}, {"Miller", "Nils Jansen"}} {
		row(part[0], part[1])
	}
	page := pageOf(lines)
	ArrangePage(page)
	text := strings.NewReplacer("\t", " ", "\n", " ").Replace(page.GetText())
	for _, want := range []string{"Quartet, op. 79 Zimmer", "Trio, op. 29 Vance", "Neighbour Elena Hathaway", "Miller Nils Jansen"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, page.GetText())
		}
	}
	for _, table := range tablesOf(page) {
		if cells := strings.Join(cellsOf(table), " "); strings.Contains(cells, "Andante") {
			t.Errorf("movements are in a table: %q", cells)
		}
	}
}

// TestWideBlanksBeginNoTable reads columns of justified text of few words, set far apart, to their ends.
func TestWideBlanksBeginNoTable(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	set := func(x, y float64, words string) {
		n := len(strings.Fields(words))
		var edges []float64
		for i := range n {
			from := x + float64(i)*145/float64(n)
			edges = append(edges, from, from+145/float64(n)-14)
		}
		lines = append(lines, wordsBetween(y, 11, words, edges...))
	}
	left := []string{"distant harbour reason since", "many carts crossed there", "each painter hoped that", "closed before", "quickly in the large", "old river audience met"}
	right := []string{"statement Dubois made once", "another tide came along", "family across any wide", "machine", "a long difference from", "some complex station house"}
	for i := range left {
		set(40, 80+19*float64(i), left[i])
		set(297, 80+19*float64(i), right[i])
	}
	page := pageOf(lines)
	ArrangePage(page)
	text := strings.ReplaceAll(page.GetText(), "\n\n", "\n")
	if !strings.Contains(text, strings.Join(left, "\n")) || !strings.Contains(text, strings.Join(right, "\n")) {
		t.Errorf("the columns are not whole in\n%s", text)
	}
}
