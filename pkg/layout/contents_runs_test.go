package layout

import (
	"fmt"
	"testing"
	"time"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// entryLines sets titles at the left and pages at the right edge of a column, with the page's links to some titles.
func entryLines(y float64, entries [][2]string) []*inkstreamv1.Line {
	const right = 360.0
	var out []*inkstreamv1.Line
	for i, e := range entries {
		line := at(72, y+float64(i)*14, 10, e[0])
		page := at(0, y+float64(i)*14, 10, e[1]).Words[0]
		page.Bbox[0], page.Bbox[2] = right-page.Bbox[2], right
		line.Words = append(line.Words, page)
		out = append(out, line)
	}
	return out
}

// TestContentsWithoutDots reads entries without dots to their pages, above other text, as entries and not as rows of a
// table: their sections count on, or they are links into the document. Rows below a head, and rows whose numbers fall, are a
// table's.
func TestContentsWithoutDots(t *testing.T) {
	t.Parallel()
	counted := [][2]string{{"Foreword", "iv"}, {"1 Of harbours", "1"}, {"1.1 The mole", "2"}, {"2 Of towers", "5"}, {"3 Of islands in the sea", "9"},
		{"A Tables", "12"}}
	for _, tt := range []struct {
		name          string
		head, entries [][2]string
		linked        bool
		want          bool
	}{
		{"sections that count on", nil, counted, false, true},
		{"links", nil, [][2]string{{"Of harbours", "1"}, {"Of towers", "5"}, {"Of islands", "9"}}, true, true},
		{"neither", nil, [][2]string{{"Of harbours", "1"}, {"Of towers", "5"}, {"Of islands", "9"}, {"Of reefs", "11"}}, false, false},
		{"rows below a head", [][2]string{{"No. Harbour", "Ships"}}, [][2]string{{"1 Harwick", "10"}, {"2 Millbrook", "12"}, {"3 Oakley", "17"},
			{"4 Elmstead", "20"}}, false, false},
		{"numbers that fall", nil, [][2]string{{"1 Harwick", "40"}, {"2 Millbrook", "32"}, {"3 Oakley", "17"}, {"4 Elmstead", "2"}}, false, false},
	} {
		entries := entryLines(100, append(tt.head, tt.entries...))
		page := pageOf(down(72, 72, 14, "Contents"), entries, down(72, 320, 10, "The harbour was built before the old road, which leads to the",
			"island and ends there in the sand; nobody lived there."))
		if tt.linked {
			page.Links = []*inkstreamv1.Link{{Page: 3}}
			for _, l := range entries {
				for _, w := range l.Words {
					w.Link = 1
				}
			}
		}
		ArrangePage(page)
		tables, items := 0, 0
		for _, b := range page.Blocks {
			switch b.Type {
			case Table:
				tables++
			case ListItem:
				items++
			}
		}
		if got := tables == 0 && items == len(tt.entries); got != tt.want || !tt.want && tables != 1 {
			t.Errorf("%s: got %d tables and %d items of %d:\n%s", tt.name, tables, items, len(tt.entries), page.Text)
		}
	}
}

// TestIndexColumn parts the entries of an index, of which some take several lines.
func TestIndexColumn(t *testing.T) {
	t.Parallel()
	var lines []string
	for i, term := range []string{"anchors", "beacons of stone", "dikes", "fog", "harbours", "islands", "moles", "reefs", "towers"} {
		lines = append(lines, fmt.Sprintf("%s, %d, %d–%d", term, i+3, i+12, i+14))
	}
	lines = append(lines, "wrecks, 12, 19, 23, 40,", "55, 61")
	page := pageOf(down(72, 72, 10, lines...))
	ArrangePage(page)
	if len(page.Blocks) != 10 || len(page.Blocks[9].Lines) != 2 || page.Blocks[0].Type != ListItem {
		t.Errorf("got %d blocks, want 10 entries:\n%s", len(page.Blocks), page.Text)
	}
}

// Rows that look like entries without being any are looked at a bounded number of times.
func TestManyRowsWithNumbers(t *testing.T) {
	t.Parallel()
	var find contentsFinder
	find.style = &styles{em: 10}
	for i := range 20_000 {
		text := "harbours"
		if i%10 < 3 {
			text = fmt.Sprintf("%d harbours", 3*(i/10)+i%10+1)
		}
		find.lines = append(find.lines, entryLines(float64(40*i), [][2]string{{text, fmt.Sprint(i/10 + 1)}})[0].Words)
	}
	begin := time.Now()
	if _, end := find.findRun(0); end > 0 {
		t.Errorf("rows up to %d are entries", end)
	}
	if took := time.Since(begin); took > 30*time.Second { // it takes a second; the bound is for a loaded machine and the race detector
		t.Errorf("took %v", took)
	}
}
