package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestStretchedLabels keeps labels whole that a narrow column sets justified, however wide their blanks are, whether
// their lines are drawn whole or word by word.
func TestStretchedLabels(t *testing.T) {
	t.Parallel()
	// stretch sets words in a line from 50 to 150.
	stretch := func(y float64, words ...string) []*inkstreamv1.Line {
		width := 0.0
		for _, w := range words {
			width += float64(len(w)) * 5
		}
		blank := (100 - width) / float64(max(1, len(words)-1))
		x := 50.0
		var out []*inkstreamv1.Line
		for _, w := range words {
			out = append(out, at(x, y, 10, w))
			x += float64(len(w))*5 + blank
		}
		return out
	}
	figures := func(y float64, a, b string) []*inkstreamv1.Line {
		return []*inkstreamv1.Line{at(200, y, 10, a), at(260, y, 10, b)}
	}
	for _, drawnApart := range []bool{false, true} {
		var lines []*inkstreamv1.Line
		add := func(groups ...[]*inkstreamv1.Line) {
			for i, g := range groups {
				if i == 0 && !drawnApart {
					whole := &inkstreamv1.Line{}
					for _, l := range g {
						whole.Words = append(whole.Words, l.GetWords()...)
					}
					g = []*inkstreamv1.Line{whole}
				}
				lines = append(lines, g...)
			}
		}
		add([]*inkstreamv1.Line{at(50, 100, 10, "Morning")}, figures(100, "Crew", "Boats"))
		add(stretch(112, "Ferries", "connect-"), figures(112, "825", "707"))
		add([]*inkstreamv1.Line{at(50, 124, 10, "ing the islands")})
		add(stretch(136, "Behind", "our", "gate"), figures(136, "509", "215"))
		add([]*inkstreamv1.Line{at(50, 148, 10, "since the spring")})
		add([]*inkstreamv1.Line{at(50, 160, 10, "Nets")}, figures(160, "870", "164"))
		add(stretch(172, "Boat", "of", "govern-"), figures(172, "826", "159"))
		add([]*inkstreamv1.Line{at(50, 184, 10, "ment and captain")})
		page := pageOf(lines)
		ArrangePage(page)
		tables := tablesOf(page)
		if len(tables) != 1 || tables[0].GetColumns() != 3 || tables[0].GetRows() != 5 {
			t.Errorf("drawn apart %t: got %d tables: %q", drawnApart, len(tables), page.GetText())
		}
	}
}

// TestLabelOfManyLines keeps a label of four lines whole, whose third is stretched in the middle of a word beside no figures.
func TestLabelOfManyLines(t *testing.T) {
	t.Parallel()
	lines := []*inkstreamv1.Line{at(50, 100, 10, "Letter"), at(200, 100, 10, "Crew"), at(260, 100, 10, "Boats"),
		at(50, 112, 10, "The old"), at(105, 112, 10, "governor"), at(200, 112, 10, "28"), at(260, 112, 10, "49"),
		at(50, 124, 10, "by the ferry and"), at(50, 136, 10, "before"), at(110, 136, 10, "harbou-"), at(50, 148, 10, "ring"),
		at(50, 160, 10, "Nets"), at(200, 160, 10, "44"), at(260, 160, 10, "45"), at(50, 172, 10, "Lectures of"), at(120, 172, 10, "below"),
		at(200, 172, 10, "80"), at(260, 172, 10, "2"), at(50, 184, 10, "the quay"), at(50, 196, 10, "Surface"), at(200, 196, 10, "27"), at(260, 196, 10, "5")}
	page := pageOf(lines)
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 || tables[0].GetColumns() != 3 || tables[0].GetRows() != 5 {
		t.Errorf("got %v, want a table of 5 rows and 3 columns: %q", tables, page.GetText())
	}
}
