package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Cells of one ruled row that list entries side by side have a row for each entry; lines that may have wrapped are none.
func TestRuledLists(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		entries []*inkstreamv1.Line
		want    string
	}{
		"entries": {down(175, 88, 10, "Mass", "Morning Prayer", "Mass"),
			"0: 0=Time 1=Place 2=What\n1: 0=9am 1=SP 2=Mass\n2: 0=11am 1=TT 2=Morning Prayer\n3: 0=6pm 1=SP 2=Mass"},
		"an entry of parts set apart": {append(down(175, 88, 10, "Mass", "Morning Prayer of", "Mass"), down(280, 98, 10, "the whole parish")...),
			"0: 0=Time 1=Place 2=What\n1: 0=9am 1=SP 2=Mass\n2: 0=11am 1=TT 2=Morning Prayer of the whole parish\n3: 0=6pm 1=SP 2=Mass"},
		"lines that may have wrapped": {down(175, 88, 10, "Mass with the hymns of the whole parish", "and a sermon of the priest, with incense", "and bells"),
			"0: 0=Time 1=Place 2=What\n1: 0=9am 11am 6pm 1=SP TT SP 2=Mass with the hymns of the whole parish and a sermon of the priest, with incense and bells"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := ruledPage(latticeOf([]float64{70, 120, 170, 370}, []float64{70, 85, 124}), down(75, 73, 10, "Time", "9am", "11am", "6pm"),
				down(125, 73, 10, "Place", "SP", "TT", "SP"), down(175, 73, 10, "What"), tt.entries)
			ArrangePage(page)
			tables := tablesOf(page)
			if len(tables) != 1 {
				t.Fatalf("got %d tables, want 1", len(tables))
			}
			if got := tableOf(tables[0]); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
