package layout

import (
	"fmt"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestListsInColumns reads lists that go on from column to column down each of them, and makes no table of them.
func TestListsInColumns(t *testing.T) {
	t.Parallel()
	letters := strings.Fields("B B A D A D C B C C C B C B C")
	results := strings.Fields("17.38 35.44 42.92 24.06 18.20 41.67 27.72 10.16 41.03 44.61 47.40 10.06 " +
		"46.06 41.58 21.44 30.24 53.51 12.06")
	names := strings.Fields("Abbott Adler Barlow Bianchi Carver Crane Drummond Dubois Ellery Everett Fairfax Fontaine")
	var counted, sorted, timed []*inkstreamv1.Line
	for i, letter := range letters {
		counted = append(counted, at(72+150*float64(i/5), 100+14*float64(i%5), 10, fmt.Sprintf("%d. %s", i+1, letter)))
	}
	for i, name := range names {
		sorted = append(sorted, at(72+200*float64(i/6), 100+14*float64(i%6), 10, name+" "+names[len(names)-1-i]))
	}
	for i, result := range results {
		x, y := 50+170*float64(i/6), 100+14*float64(i%6)
		name := "Jonas " + names[(i*5)%12]
		timed = append(timed, at(x, y, 10, fmt.Sprint(i%6+1)), at(x+18, y, 10, name), at(x+125, y, 10, result))
	}
	for _, tt := range []struct {
		name   string
		lines  []*inkstreamv1.Line
		first  string // the foot of a column
		next   string // the head of the next
		tables int    // at most
	}{
		{"answers that are counted", counted, "5. A", "6. D", 0},
		{"names that are sorted", sorted, "Crane Drummond", "Drummond Crane", 0},
		{"names and times at equal distances", timed, "41.67", "1", 3},
	} {
		page := pageOf(tt.lines)
		ArrangePage(page)
		if got := tablesOf(page); len(got) > tt.tables {
			t.Errorf("%s: got %d tables, want at most %d", tt.name, len(got), tt.tables)
		}
		if text := strings.Join(strings.Fields(page.GetText()), " "); !strings.Contains(text, tt.first+" "+tt.next) {
			t.Errorf("%s: %q is not followed by %q in %q", tt.name, tt.first, tt.next, text)
		}
	}
}

// TestTableBesideAList reads a list beside a ruled table, of which the part has no lines.
func TestTableBesideAList(t *testing.T) {
	t.Parallel()
	page := ruledPage(latticeOf([]float64{300, 400, 500}, []float64{98, 116, 134, 152}),
		down(72, 100, 10, "Abbott", "Adler", "Barlow", "Crane", "Dubois"),
		down(310, 102, 10, "Town"), down(410, 102, 10, "Votes"), down(310, 120, 10, "Jena"), down(410, 120, 10, "12"),
		down(310, 138, 10, "Bremen"), down(410, 138, 10, "31"))
	ArrangePage(page)
	if got := tablesOf(page); len(got) != 1 {
		t.Errorf("got %d tables in %q, want 1", len(got), page.GetText())
	}
	followEachOther(t, page, "Abbott", "Adler", "Barlow", "Crane", "Dubois")
}

// TestTableOfEqualColumns keeps tables whose columns are equally far from each other whole.
func TestTableOfEqualColumns(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string][]string{
		"figures": {"Town 2019 2020 2021", "Ashford 12 14 15", "Bremen 31 30 28", "Girona 7 9 8", "Jena 22 25 21"},
		"words and figures in turn": {"Town Rank Mayor Votes", "Ashford 3 Adler 141", "Bremen 1 Crane 305",
			"Girona 4 Barlow 86", "Jena 2 Everett 217"},
	} {
		var lines []*inkstreamv1.Line
		for i, row := range rows {
			for j, cell := range strings.Fields(row) {
				lines = append(lines, at(72+90*float64(j), 100+14*float64(i), 10, cell))
			}
		}
		page := pageOf(lines)
		ArrangePage(page)
		if got := tablesOf(page); len(got) != 1 || got[0].GetColumns() != 4 {
			t.Errorf("%s: got %d tables in %q, want one of four columns", name, len(got), page.GetText())
		}
	}
}
