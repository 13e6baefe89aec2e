package layout

import (
	"slices"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestVerseIndentedByTurns keeps stanzas whole whose every other line is indented, and parts paragraphs of prose whose
// first lines are.
func TestVerseIndentedByTurns(t *testing.T) {
	t.Parallel()
	stanza := func(room float64) []columnLine {
		return []columnLine{{0, room, false, "When first the ploughman left the hill"}, {20, 12, false, "And evening filled the lane,"},
			{0, 12, false, "I heard across the silent mill"}, {20, 12, false, "The footfall of the rain."}}
	}
	if got, want := linesOfBlocks(columnPageOf(slices.Concat(stanza(0), stanza(20), stanza(20)))), []int{4, 4, 4}; !slices.Equal(got, want) {
		t.Errorf("got blocks of %v lines, want %v", got, want)
	}
	on := columnLine{0, 12, true, "the harbour was closed for all of the winter"}
	prose := []columnLine{{20, 12, true, "The harbour had been closed before."}, on, {0, 12, false, "and the mole."}}
	if got, want := linesOfBlocks(columnPageOf(slices.Concat(prose, prose, prose, prose))), []int{3, 3, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("got blocks of %v lines, want %v", got, want)
	}
}

// columnPageOf sets lines of a column as columnPage does, and arranges them.
func columnPageOf(lines []columnLine) *inkstreamv1.Page {
	page := columnPage(lines...)
	ArrangePage(page)
	return page
}

// TestAddressBesideTable reads an address beside a table before it, and not around it.
func TestAddressBesideTable(t *testing.T) {
	t.Parallel()
	table := rect{300, 50, 500, 90}
	var rows []row
	for _, y := range []float64{45, 60, 75, 90, 120} {
		r := rect{50, y, 150, y + 10}
		rows = append(rows, row{rect: r, core: r})
	}
	if n := countRowsBefore(rows, table); n != 4 {
		t.Errorf("%d rows on the left are read before the table, want 4", n)
	}
	for i := range rows {
		rows[i].x0, rows[i].x1 = 520, 600
	}
	if n := countRowsBefore(rows, table); n != 1 {
		t.Errorf("%d rows on the right are read before the table, want 1", n)
	}
}
