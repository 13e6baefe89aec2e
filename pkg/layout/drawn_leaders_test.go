package layout

import (
	"fmt"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// priceLines sets prices at a place, and names in lines of their own before them.
func priceLines(behind float64, prices ...string) []*inkstreamv1.Line {
	var lines []*inkstreamv1.Line
	for i, price := range prices {
		y := 72 + 14*float64(i)
		name := []string{"Harbour", "Herring", "Lantern", "Orchard"}[i%4]
		lines = append(lines, at(72, y, 10, name), at(behind, y, 10, price))
	}
	return lines
}

// TestDrawnLeaders joins names and prices that drawn leaders lead to, and leaves tables and lines that do something
// else.
func TestDrawnLeaders(t *testing.T) {
	t.Parallel()
	prices := []string{"12.50", "9.00", "3.20", "4.00", "17.30", "2.00", "8.10", "6.00"}
	leaders := func(from, to float64, n int) (out []*inkstreamv1.Ruling) {
		for i := range n {
			out = append(out, across(from, to, 80+14*float64(i))...)
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		page   *inkstreamv1.Page
		tables int
	}{
		{"prices", ruledPage(leaders(110, 297, 8), priceLines(300, prices...)), 0},
		{"no lines", pageOf(priceLines(300, prices...)), 1},
		{"lines that end early", ruledPage(leaders(110, 250, 8), priceLines(300, prices...)), 1},
		{"two lines alone", ruledPage(leaders(110, 297, 2), priceLines(300, prices...)), 1},
		{"rows of a table", ruledPage(leaders(110, 297, 8),
			interleaved(priceLines(300, prices...), down(360, 72, 10, prices...))), 1},
	} {
		ArrangePage(tt.page)
		text := tt.page.GetText()
		if strings.Contains(text, drawnLeaderText) {
			t.Errorf("%s: the words for the leaders are left: %q", tt.name, text)
		}
		if got := len(tablesOf(tt.page)); got != tt.tables {
			t.Errorf("%s: got %d tables, want %d: %q", tt.name, got, tt.tables, text)
		}
		if tt.tables == 0 && !strings.HasPrefix(text, "Harbour 12.50\nHerring 9.00\n") {
			t.Errorf("%s: got %q, want names and prices line by line", tt.name, text)
		}
	}
}

// TestListsWithLeadersInColumns reads lists with leaders, drawn or set as dots, that stand side by side one after the
// other.
func TestListsWithLeadersInColumns(t *testing.T) {
	t.Parallel()
	var lines, dots []*inkstreamv1.Line
	var rulings []*inkstreamv1.Ruling
	for i := range 6 {
		y := 72 + 14*float64(i)
		rulings = append(rulings, across(118, 247, y+8)...)
		rulings = append(rulings, across(348, 477, y+8)...)
		lines = append(lines, at(72, y, 10, fmt.Sprintf("Harbour %d", i)), at(250, y, 10, "12"),
			at(302, y, 10, fmt.Sprintf("Orchard %d", i)), at(480, y, 10, "14"))
		dots = append(dots, at(72, y, 10, fmt.Sprintf("Harbour %d ....................... 12", i)),
			at(302, y, 10, fmt.Sprintf("Orchard %d ....................... 14", i)))
	}
	for name, page := range map[string]*inkstreamv1.Page{"lines": ruledPage(rulings, lines), "dots": pageOf(dots)} {
		ArrangePage(page)
		text := strings.Join(strings.Fields(strings.ReplaceAll(page.GetText(), ".", "")), " ")
		last, next := strings.Index(text, "Harbour 5 12"), strings.Index(text, "Orchard 0 14")
		if len(tablesOf(page)) > 0 || last < 0 || last > next {
			t.Errorf("%s: got %d tables, want the columns one after the other: %q", name, len(tablesOf(page)), page.GetText())
		}
	}
}

// TestLeadersInACircle keeps the words of lines that lead to each other.
func TestLeadersInACircle(t *testing.T) {
	t.Parallel()
	var lines []inputLine
	for _, l := range []*inkstreamv1.Line{at(72, 72, 10, "Harbour"), at(200, 72, 10, "Orchard")} {
		lines = append(lines, inputLine{words: l.GetWords()})
	}
	f := leaderFinder{lines: lines, em: 10}
	there := drawnLeader{before: placedInLine{line: 0}, behind: placedInLine{line: 1}}
	back := drawnLeader{before: placedInLine{line: 1}, behind: placedInLine{line: 0}}
	made := 0
	joined := f.joinLines([]drawnLeader{there, back}, func(*inkstreamv1.Word) { made++ })
	if len(joined) != 1 || len(joined[0].words) != 3 || made != 1 {
		t.Errorf("got %d lines and %d leaders, want one line of two words and a leader", len(joined), made)
	}
}
