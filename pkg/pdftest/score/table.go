package score

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Grid is a table as rows of cells. A cell that spans several holds its text at its first row and column; the others
// are empty.
type Grid [][]string

// ReadCSV reads a table.
func ReadCSV(r io.Reader) (Grid, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = -1 // rows of the truths differ in length where the last cells are empty
	c.LazyQuotes = true
	rows, err := c.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	return rows, nil
}

// countFilled counts the cells that hold text.
func (g Grid) countFilled() int {
	n := 0
	for _, row := range g {
		for _, cell := range row {
			if cell != "" {
				n++
			}
		}
	}
	return n
}

// normaliseCells returns the grid with its cells in the form in which they are compared. White space and hyphens
// between letters do not count, because a cell of several lines may be joined in more than one way. In a cell with
// right-to-left letters the order of the letters does not count: some truths hold them in the order of reading,
// others in the order of the page.
func (g Grid) normaliseCells() Grid {
	out := make(Grid, len(g))
	for i, row := range g {
		out[i] = make([]string, len(row))
		for j, cell := range row {
			text := []rune(strings.Join(strings.Fields(NormaliseText(cell, Options{Lenient: true})), ""))
			for k := len(text) - 2; k > 0; k-- {
				if text[k] == '-' && unicode.IsLetter(text[k-1]) && unicode.IsLetter(text[k+1]) {
					text = slices.Delete(text, k, k+1)
				}
			}
			out[i][j] = SortRightToLeft(string(text))
		}
	}
	return out
}

// SortRightToLeft returns a text with right-to-left letters with its characters sorted, and any other as it is.
// Programs hold such texts in the order of reading, in that of the page, or with the punctuation at the other end,
// and all of them read the same.
func SortRightToLeft(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Hebrew, unicode.Arabic) }) {
		return text
	}
	letters := []rune(text)
	slices.Sort(letters)
	return string(letters)
}

// Cells counts the cells with text of a comparison.
type Cells struct {
	Equal, Truth, Got int
}

// F1 returns the F1 of the cells.
func (c Cells) F1() float64 { return F1(c.Equal, c.Truth, c.Got) }

// Add returns the sum of two comparisons.
func (c Cells) Add(d Cells) Cells { return Cells{c.Equal + d.Equal, c.Truth + d.Truth, c.Got + d.Got} }

// CompareTables counts the cells of got that hold the text of the truth's in the same place. The place is that in the
// most similar subtable, as in GriTS: rows are aligned in order so that the most cells are equal, then the columns,
// so that a row or column too many or too few costs its own cells and shifts no other.
func CompareTables(truth, got Grid) Cells {
	t, g := truth.normaliseCells(), got.normaliseCells()
	rows := alignSequences(len(t), len(g), func(i, j int) int {
		return len(alignSequences(len(t[i]), len(g[j]), func(a, b int) int { return countEqualCells(t[i][a], g[j][b]) }))
	})
	columns := alignSequences(gridWidth(t), gridWidth(g), func(a, b int) int {
		n := 0
		for _, r := range rows {
			n += countEqualCells(cellAt(t[r.a], a), cellAt(g[r.b], b))
		}
		return n
	})
	c := Cells{Truth: t.countFilled(), Got: g.countFilled()}
	for _, col := range columns {
		c.Equal += col.worth
	}
	return c
}

func countEqualCells(a, b string) int {
	if a != "" && a == b {
		return 1
	}
	return 0
}

func cellAt(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
}

func gridWidth(g Grid) int {
	w := 0
	for _, row := range g {
		w = max(w, len(row))
	}
	return w
}

// alignedPair is a pair of an alignment with what it is worth.
type alignedPair struct{ a, b, worth int }

// alignSequences pairs items of two sequences, in order and each at most once, so that the sum of what the pairs are
// worth is greatest. Pairs that are worth nothing are left out.
func alignSequences(n, m int, worth func(a, b int) int) []alignedPair {
	best := make([][]int, n+1) // best[i][j]: of the first i and the first j items
	for i := range best {
		best[i] = make([]int, m+1)
	}
	w := make([]int, n*m)
	for i := range n {
		for j := range m {
			w[i*m+j] = worth(i, j)
			best[i+1][j+1] = max(best[i][j+1], best[i+1][j], best[i][j]+w[i*m+j])
		}
	}
	var out []alignedPair
	for i, j := n, m; i > 0 && j > 0; {
		switch worth := w[(i-1)*m+j-1]; {
		case worth > 0 && best[i][j] == best[i-1][j-1]+worth:
			out = append(out, alignedPair{i - 1, j - 1, worth})
			i, j = i-1, j-1
		case best[i][j] == best[i-1][j]:
			i--
		default:
			j--
		}
	}
	slices.Reverse(out)
	return out
}

// PlacedTable is a table with its page, 0 where that is not known.
type PlacedTable struct {
	Page int
	Grid Grid
}

// MatchTables pairs each table of the truth with the one of got that has the most equal cells, each at most once and
// only on its page. It returns the comparison of each table of the truth, with nothing got where none is like it, and
// those of got that were paired with none.
func MatchTables(truth, got []PlacedTable) (matches []Cells, spurious []PlacedTable) {
	type candidate struct {
		t, g  int
		cells Cells
	}
	var all []candidate
	for t := range truth {
		for g := range got {
			if truth[t].Page != 0 && got[g].Page != 0 && truth[t].Page != got[g].Page {
				continue
			}
			if c := CompareTables(truth[t].Grid, got[g].Grid); c.Equal > 0 {
				all = append(all, candidate{t, g, c})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return b.cells.Equal - a.cells.Equal })
	matches = make([]Cells, len(truth))
	for t := range truth {
		matches[t].Truth = truth[t].Grid.countFilled()
	}
	done, used := make([]bool, len(truth)), make([]bool, len(got))
	for _, c := range all {
		if !done[c.t] && !used[c.g] {
			done[c.t], used[c.g] = true, true
			matches[c.t] = c.cells
		}
	}
	for g := range got {
		if !used[g] {
			spurious = append(spurious, got[g])
		}
	}
	return matches, spurious
}

// CountFilledCells returns the number of cells with text of all the tables.
func CountFilledCells(tables []PlacedTable) int {
	n := 0
	for _, t := range tables {
		n += t.Grid.normaliseCells().countFilled()
	}
	return n
}
