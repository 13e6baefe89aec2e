package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestColumnIndex puts a head that begins in a gutter into the column on its right.
func TestColumnIndex(t *testing.T) {
	t.Parallel()
	gaps := []span{{40, 60}, {100, 120}}
	for _, tt := range []struct {
		name   string
		x0, x1 float64
		want   int
	}{
		{"in the first column", 5, 30, 0},
		{"over the gutter", 30, 80, 0},
		{"begins in the gutter, left of its middle", 44, 80, 1},
		{"all of it in the gutter, near the left", 41, 48, 0},
		{"begins in the second gutter", 104, 140, 2},
		{"heads two columns", 44, 140, 0},
	} {
		if got := columnIndex(gaps, tt.x0, tt.x1); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestJoinHeadColumns joins a head with the figures that stand beside it, and no two columns that both have a head.
func TestJoinHeadColumns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		cells [][]string // with the column before the text
		want  int
	}{
		{"a head left of its figures", [][]string{{"00Set", "11Recall"}, {"00one", "220.5"}, {"00two", "220.6"}}, 2},
		{"a head right of its figures", [][]string{{"00Set", "22Recall"}, {"00one", "110.5"}, {"00two", "110.6"}}, 2},
		{"words beside a head", [][]string{{"00Set", "11Recall"}, {"00one", "22often"}, {"00two", "22seldom"}}, 3},
		{"heads of both", [][]string{{"00Set", "11Recall", "22F1"}, {"00one", "220.5"}, {"00two", "220.6"}}, 3},
		{"a word below the head", [][]string{{"00Set", "11Recall"}, {"00one", "11a", "220.5"}, {"00two", "220.6"}}, 3},
	} {
		table := tableOfText(func(int, int) float64 { return 10 }, tt.cells...)
		table.columns = 3
		if joinHeadColumns(table); table.columns != tt.want {
			t.Errorf("%s: got %d columns, want %d", tt.name, table.columns, tt.want)
		}
	}
}

// TestLinesToSignOn makes no table of the lines that a contract is signed on.
func TestLinesToSignOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		cells [][]string
		want  bool
	}{
		{"signatures", [][]string{{"00________", "11________"}, {"00Landlord", "11Tenant"}}, true},
		{"a field to fill in", [][]string{{"00Name", "11________"}, {"00Date", "11________"}}, false},
		{"figures", [][]string{{"00one", "111"}, {"00two", "112"}}, false},
	} {
		table := tableOfText(func(int, int) float64 { return 10 }, tt.cells...)
		if got := (&tableCandidate{table: table}).hasLinesToSignOn(); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestBeginWithAmounts tells rows whose figures begin what stands right of a gutter from columns of text and from
// lists.
func TestBeginWithAmounts(t *testing.T) {
	t.Parallel()
	side := func(firsts ...string) []sideLine {
		var out []sideLine
		for i, text := range firsts {
			word := &inkstreamv1.Word{Text: text}
			box := rect{0, 12 * float64(i), 90, 12*float64(i) + 10}
			out = append(out, sideLine{rect: box, first: word, last: word, words: 3})
		}
		return out
	}
	for _, tt := range []struct {
		name        string
		left, right []sideLine
		want        bool
	}{
		{"prices", side("One", "Two", "The", "New"), side("12.50", "8.20", "9.90", "17.00"), true},
		{"two columns of amounts", side("2", "250", "75", "3"), side("12", "300", "45", "7"), false},
		{"line numbers", side("One", "Two", "The", "New"), side("11", "12", "13", "14"), false},
		{"years", side("One", "Two", "The", "New"), side("1987", "1999", "2003", "2011"), false},
		{"items", side("One", "Two", "The", "New"), side("1.", "7.", "3.", "9."), false},
		{"words", side("One", "Two", "The", "New"), side("and", "so", "on", "it"), false},
	} {
		if got := beginWithAmounts(tt.right, tt.left, 10); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestSectionsInARow parts the headings of a section and its first subsection, which stand as close as two lines of
// one heading.
func TestSectionsInARow(t *testing.T) {
	t.Parallel()
	page := pageOf(down(72, 72, 12, "4.1 Narrow copper", "4.1.1 Workshops on the coast and", "what they need"))
	ArrangePage(page)
	if got := len(page.Blocks); got != 2 {
		t.Errorf("got %d blocks, want 2:\n%s", got, page.Text)
	}
}

// TestSpanningHead takes the head of several columns, which a line below it shows, into the table, and no caption.
func TestSpanningHead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		x     float64      // of the head, which is 50 wide
		lines [][2]float64 // below the head, from and to
		want  int          // rows of the table
	}{
		{"a line over the figures", 330, [][2]float64{{250, 460}}, 5},
		{"a line in pieces", 330, [][2]float64{{250, 300}, {325, 385}, {400, 460}}, 5},
		{"a line over all columns", 330, [][2]float64{{50, 460}}, 4},
		{"a head that is not in the middle", 250, [][2]float64{{250, 460}}, 4},
		{"a line over one column", 400, [][2]float64{{400, 460}}, 4},
		{"no line", 330, nil, 4},
	} {
		lines := []*inkstreamv1.Line{at(tt.x, 100, 10, "Year ended")}
		for i, row := range [][]string{{"", "2025", "2024", "2023"}, {"Revenue", "178", "141", "138"},
			{"Research", "3,423", "2,532", "1,892"}, {"Sales", "1,136", "876", "680"}} {
			for k, cell := range row {
				if cell != "" {
					lines = append(lines, at([]float64{50, 260, 340, 420}[k], 114+14*float64(i), 10, cell))
				}
			}
		}
		page := pageOf(lines)
		for _, l := range tt.lines {
			page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: rect{l[0], 112, l[1], 112.5}.toBox()})
		}
		ArrangePage(page)
		tables := tablesOf(page)
		if len(tables) != 1 || int(tables[0].GetRows()) != tt.want {
			t.Errorf("%s: got %v, want one table of %d rows", tt.name, tables, tt.want)
		}
	}
}
