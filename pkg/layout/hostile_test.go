package layout

import (
	"fmt"
	"runtime"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// alone makes a page of words that are each a line, n of them.
func alone(n int, text string, box func(i int) rect) *inkstreamv1.Page {
	lines := make([]*inkstreamv1.Line, n)
	for i := range lines {
		b := box(i)
		lines[i] = newLine([]*inkstreamv1.Word{{Text: text, Bbox: b.toBox(), Size: float32(b.height())}}, 0)
	}
	page := pageOf(lines)
	page.Width, page.Height = 14_400, 14_400
	return page
}

// columnOfNumbers is a table of one ruled row, with all of its numbers in the first of many columns.
func columnOfNumbers(columns, n int) *inkstreamv1.Page {
	step := 13_600 / float64(n)
	page := alone(n, "123", func(i int) rect { y := 200 + float64(i)*step; return rect{101, y, 103, y + 0.7*step} })
	xs := make([]float64, columns+1)
	for i := range xs {
		xs[i] = 100 + float64(i)*13_800/float64(columns)
	}
	page.Rulings = latticeOf(xs, []float64{100, 13_900})
	return page
}

// spannedNumbers is a table whose second row is one cell below all of its columns.
func spannedNumbers(columns, n int) *inkstreamv1.Page {
	step := 13_600 / float64(n)
	page := alone(n+columns, "123", func(i int) rect {
		if i < columns {
			x := 100 + float64(i)*100
			return rect{x + 5, 30, x + 30, 40}
		}
		y := 200 + float64(i-columns)*step
		return rect{101, y, 103, y + 0.7*step}
	})
	line := func(x0, y0, x1, y1 float64) {
		page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: rect{x0, y0, x1, y1}.toBox()})
	}
	right := 100 + float64(columns)*100
	for _, y := range []float64{20, 60, 13_900} {
		line(100, y, right, y)
	}
	for j := range columns + 1 {
		x := 100 + float64(j)*100
		line(x, 20, x, 60)
	}
	line(100, 20, 100, 13_900)
	line(right, 20, right, 13_900)
	return page
}

// framed is a page of words with frames around all of them, each a grid of two cells.
func framed(frames, n int) *inkstreamv1.Page {
	page := alone(n, "word", func(i int) rect {
		x, y := 6000+float64(i%300)*6, 6000+float64(i/300)*4
		return rect{x, y, x + 4, y + 3}
	})
	for k := range frames {
		a, b := float64(k)*12, 14_400-float64(k)*12
		page.Rulings = append(page.Rulings, latticeOf([]float64{a, b}, []float64{a, b})...)
		page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: rect{a + 50, a, a + 50, a + 4}.toBox()})
	}
	return page
}

// It is not parallel to others, for it measures what they all allocate.
func TestHostilePagesTakeMemoryLikeTheirWords(t *testing.T) {
	const perWord = 24 << 10 // bytes in all, not at once: real pages take some 3,000; frames, the most
	for name, page := range map[string]*inkstreamv1.Page{
		"a column of numbers in a wide grid":   columnOfNumbers(1400, 10_000),
		"a column of numbers in a narrow grid": columnOfNumbers(100, 10_000),
		"numbers below many columns":           spannedNumbers(130, 10_000),
		"frames around all":                    framed(400, 10_000),
		"all in one place":                     alone(20_000, "a", func(int) rect { return rect{100, 100, 110, 110} }),
		"boxes in boxes": alone(20_000, "a",
			func(i int) rect { d := float64(i) / 70; return rect{d, d, 600 - d, 800 - d} }),
		"raised behind raised": alone(20_000, "Abcdefghij", func(i int) rect {
			x, y := float64(i)*9, float64(100-2*(i%2))
			return rect{x, y, x + 10, y + 10 - float64(4*(i%2))}
		}),
		"a row of words far apart over lines": alone(20_000, "ab", func(i int) rect {
			if i < 10_000 {
				return rect{float64(i) * 3, 1, float64(i)*3 + 1, 2}
			}
			y := 2.5 + 1.1*float64(i-10_000)
			return rect{-9000, y, -8999, y + 1}
		}),
	} {
		words := len(PageWords(page))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ArrangePage(page)
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / uint64(words); got > perWord {
			t.Errorf("%s: %d bytes a word, want at most %d", name, got, perWord)
		}
		for _, tab := range tablesOf(page) {
			if grid := int(tab.GetRows() * tab.GetColumns()); grid > max(maxGridCells, 8*len(tab.GetCells())) {
				t.Errorf("%s: a grid of %d for %d cells with text", name, grid, len(tab.GetCells()))
			}
		}
	}
}

func TestRowsArePartedIntoNoMoreThanMostCells(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ columns, numbers, rows int }{
		{10, 1900, 1900},
		{10, 2100, 1}, // more than maxGridCells: it stays whole
	} {
		tab := &table{rows: 1, columns: tt.columns}
		for j := range tt.columns {
			tab.cells = append(tab.cells, tableCell{column: j, rowSpan: 1, columnSpan: 1})
		}
		for i := range tt.numbers {
			y := float64(i) * 12
			w := &inkstreamv1.Word{Text: fmt.Sprint(100 + i), Bbox: rect{0, y, 20, y + 10}.toBox()}
			tab.cells[0].segments = append(tab.cells[0].segments, newSegment([]*inkstreamv1.Word{w}, 0))
		}
		ruledTable{table: tab, em: 10}.splitRuledRows()
		if tab.rows != tt.rows || len(tab.cells) > tt.numbers+tt.columns {
			t.Errorf("%d numbers in %d columns: %d rows and %d cells, want %d rows", tt.numbers, tt.columns, tab.rows,
				len(tab.cells), tt.rows)
		}
	}
}

func TestGridTakesLargeBoxesWithinItsRoom(t *testing.T) {
	t.Parallel()
	g := newBoxGrid()
	const n = 2000
	for i := range n {
		v := float64(i) * 4000
		g.addBox(rect{v, v, v + 3000, v + 3000})
	}
	if most := baseCellBudget + n*cellBudgetPerBox; len(g.cells) > most {
		t.Errorf("%d cells for %d boxes, want at most %d", len(g.cells), n, most)
	}
	if !g.coversBox(rect{10, 10, 60, 30}) {
		t.Error("the first box covers nothing")
	}
}
