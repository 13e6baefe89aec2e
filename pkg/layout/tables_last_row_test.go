package layout

import (
	"testing"
)

// TestLastRowWraps reads the second line of a cell in the last row of a table as part of that row, and leaves a line
// below the table that begins like one but had room in the line above, or that a line parts from the table.
func TestLastRowWraps(t *testing.T) {
	t.Parallel()
	rows := func(last ...string) [][]string {
		return [][]string{{"100:Region", "200:Sales", "260:Costs"}, {"100:Northern Saxony", "200:4,190", "260:1,720"}, {"100:Bremen", "200:7,515", "260:5,382"}, last}
	}
	const head = "0: 0=Region 1=Sales 2=Costs\n1: 0=Northern Saxony 1=4,190 2=1,720\n2: 0=Bremen 1=7,515 2=5,382\n3: "
	for _, tt := range []struct {
		name        string
		last, below []string
		rule        float64
		want        string
	}{
		{"a label", []string{"100:Offices along", "200:9,083", "260:136"}, []string{"100:harbours"}, 0, head + "0=Offices along harbours 1=9,083 2=136"},
		{"a label with a capital, where rows stand farther apart", []string{"100:Offices along", "200:9,083", "260:136"}, []string{"100:Hamburg"}, -1,
			head + "0=Offices along Hamburg 1=9,083 2=136"},
		{"a line that had room", []string{"100:Hesse", "200:9,083", "260:136"}, []string{"100:all"}, 0, head + "0=Hesse 1=9,083 2=136"},
		{"a line as long as text", []string{"100:Offices along", "200:9,083", "260:136"}, []string{"100:harbours of the north and their islands"}, 0,
			head + "0=Offices along 1=9,083 2=136"},
		{"a line below a rule", []string{"100:Offices along", "200:9,083", "260:136"}, []string{"100:harbours"}, 146.5, head + "0=Offices along 1=9,083 2=136"},
	} {
		page := ruledPage(nil, rowsAt(100, 10, append(rows(tt.last...), tt.below)...))
		for i, l := range page.Blocks[0].Lines { // three words in each but the last
			if row := min(i/3, 3); tt.rule < 0 {
				for _, w := range l.Words {
					w.Bbox[1], w.Bbox[3] = w.Bbox[1]+float32(4*row), w.Bbox[3]+float32(4*row)
				}
			}
		}
		if tt.rule > 0 {
			page.Rulings = across(100, 290, tt.rule)
		}
		ArrangePage(page)
		tables := tablesOf(page)
		if len(tables) != 1 || tableOf(tables[0]) != tt.want {
			t.Errorf("%s: got %d tables, want one:\n%s", tt.name, len(tables), tt.want)
			for _, table := range tables {
				t.Log(tableOf(table))
			}
		}
	}
}
