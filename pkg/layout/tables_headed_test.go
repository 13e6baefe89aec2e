package layout

import (
	"fmt"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// headed sets the columns of a table below their heads in a font of its own. A line stands at the height that is written
// before it, in lines from the head.
func headed(x, y float64, head string, cells ...string) []*inkstreamv1.Line {
	const pitch = 12
	lines := set(1, at(x, y, 10, head))
	row := y + 8
	for _, cell := range cells {
		if cell == "" { // room
			row += 8
			continue
		}
		row += pitch
		if cell == "-" { // the cell beside it has more lines
			continue
		}
		lines = append(lines, at(x, row, 10, cell))
	}
	return lines
}

// justified sets a line whose blanks are as wide as it takes to fill a column.
func justified(x, y, width float64, text string) *inkstreamv1.Line {
	line := at(x, y, 10, text)
	letters := 0.0
	for _, w := range line.Words {
		letters += float64(w.Bbox[2] - w.Bbox[0])
	}
	blank := (width - letters) / float64(len(line.Words)-1)
	for _, w := range line.Words {
		own := float64(w.Bbox[2] - w.Bbox[0])
		w.Bbox[0], w.Bbox[2] = float32(x), float32(x+own)
		x += own + blank
	}
	return line
}

// TestHeadedTables reads tables without lines by their heads, however their cells wrap, and no tables of what only looks
// like them.
func TestHeadedTables(t *testing.T) {
	t.Parallel()
	paragraph := down(60, 60, 10, "The council met on Tuesday and agreed after a long debate to close the bridge for", "repairs in autumn, when fewer farmers use it for their carts than now.")
	for _, tt := range []struct {
		name  string
		lines [][]*inkstreamv1.Line
		want  string // of the table; empty where there is none
	}{
		{
			"room between rows of uneven cells",
			[][]*inkstreamv1.Line{paragraph, headed(60, 100, "Journey", "The harbour measured", "the magazine", "", "Sales", "-", "-", "", "Our early railway", "across a river"),
				headed(200, 100, "Purpose", "A small village reported", "-", "", "The river follows that law", "in the winter before the", "council of the town", "",
					"Every structure stood", "below the hill")},
			"0: 0=Journey 1=Purpose\n1: 0=The harbour measured the magazine 1=A small village reported\n2: 0=Sales 1=The river follows that law in the winter before the council of the town\n" +
				"3: 0=Our early railway across a river 1=Every structure stood below the hill",
		},
		{
			"labels beside text that wraps, without room",
			[][]*inkstreamv1.Line{paragraph, headed(60, 100, "Label", "Harbour", "-", "Railway", "-", "-", "Museum", "-"),
				headed(200, 100, "Description of it", "The river follows that law in", "the winter before all", "Every structure stood below", "a hill at the end of the", "northern islands",
					"Some narrow distance opened", "the movement")},
			"0: 0=Label 1=Description of it\n1: 0=Harbour 1=The river follows that law in the winter before all\n" +
				"2: 0=Railway 1=Every structure stood below a hill at the end of the northern islands\n3: 0=Museum 1=Some narrow distance opened the movement",
		},
		{
			"cells in the middle of their row's height",
			[][]*inkstreamv1.Line{paragraph, set(1, at(60, 100, 10, "Report"), at(160, 100, 10, "Member")),
				centredRow(122, []float64{60, 160}, "Network", "Each summer restored this\nearly workshop near it"),
				centredRow(154, []float64{60, 160}, "Northern\ncontract", "That average street\ncarried their storm"),
				centredRow(186, []float64{60, 160}, "Narrow\nknowledge", "The family behind the\nsurface of the river")},
			"0: 0=Report 1=Member\n1: 0=Network 1=Each summer restored this early workshop near it\n2: 0=Northern contract 1=That average street carried their storm\n" +
				"3: 0=Narrow knowledge 1=The family behind the surface of the river",
		},
		{
			"few rows of one line",
			[][]*inkstreamv1.Line{paragraph, headed(60, 100, "Town", "Bremen", "Northern Saxony", "Hesse"), headed(150, 100, "Known for its", "old market", "two castles", "green hills")},
			"0: 0=Town 1=Known for its\n1: 0=Bremen 1=old market\n2: 0=Northern Saxony 1=two castles\n3: 0=Hesse 1=green hills",
		},
		{
			"lists side by side, each with its heading",
			[][]*inkstreamv1.Line{paragraph, headed(60, 100, "Indoors", "• Aisle signs", "", "• Hanging signs", "-", "", "• Warehouse", "Barcode signs"),
				headed(170, 100, "Outdoors", "• Dock door signs", "", "• Rack load signs", "and others", "", "• Facility &", "Safety signs")},
			"",
		},
		{
			"texts side by side, each with its heading",
			[][]*inkstreamv1.Line{paragraph, headed(60, 100, "The bridge", "The council met on Tuesday", "and agreed after a long", "debate to close the bridge", "", "Repairs will take place in",
				"autumn, when fewer farmers", "use it for their carts", "", "It is open until then"),
				headed(220, 100, "The market", "The mayor, a former teacher,", "said that there were two", "other ways to reach the", "market, of which one is", "longer, and the road is not", "",
					"as wide as the old one, but", "it will do for the summer")},
			"",
		},
	} {
		page := fonts(pageOf(tt.lines...))
		ArrangePage(page)
		var got []string
		for _, table := range tablesOf(page) {
			got = append(got, tableOf(table))
		}
		if strings.Join(got, "\n\n") != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, strings.Join(got, "\n\n"), tt.want)
		}
	}
}

// TestHeadsAboveFigures reads a table of several columns with one of figures, beside whose labels the text above ends.
func TestHeadsAboveFigures(t *testing.T) {
	t.Parallel()
	lines := [][]*inkstreamv1.Line{down(60, 76, 10, "The council met on Tuesday and agreed after a long debate to close the bridge for", "repairs in autumn."),
		headed(60, 112, "Town", "Bremen", "Northern Saxony", "Hesse"), headed(180, 112, "Sales", "4,190", "1,720", "136"),
		headed(260, 112, "Known for", "The river follows that", "Every structure stood", "Some narrow distance"),
		headed(420, 112, "Market", "A great hall stood", "Our mayor opened it", "The church beside")}
	page := fonts(pageOf(lines...))
	ArrangePage(page)
	want := "0: 0=Town 1=Sales 2=Known for 3=Market\n1: 0=Bremen 1=4,190 2=The river follows that 3=A great hall stood\n" +
		"2: 0=Northern Saxony 1=1,720 2=Every structure stood 3=Our mayor opened it\n3: 0=Hesse 1=136 2=Some narrow distance 3=The church beside"
	if tables := tablesOf(page); len(tables) != 1 || tableOf(tables[0]) != want {
		t.Errorf("got %d tables, want one:\n%s\n%s", len(tables), want, page.GetText())
	}
}

// TestStretchedLinesAreNoRows reads a table below justified lines whose blanks are as wide as its gaps.
func TestStretchedLinesAreNoRows(t *testing.T) {
	t.Parallel()
	lines := []*inkstreamv1.Line{justified(60, 76, 270, "The council met on Tuesday and will agree"),
		justified(60, 88, 270, "remarkable extraordinary neighbourhood bridges"), justified(60, 100, 270, "considerable farmers reported responsibilities")}
	page := pageOf(lines, rowsAt(118, 10, []string{"60:Region", "180:Sales", "240:Costs"}, []string{"60:Bremen", "180:7,515", "240:5,382"}, []string{"60:Hesse", "180:9,083", "240:136"},
		[]string{"60:Saxony", "180:9,084", "240:137"}))
	ArrangePage(page)
	want := "0: 0=Region 1=Sales 2=Costs\n1: 0=Bremen 1=7,515 2=5,382\n2: 0=Hesse 1=9,083 2=136\n3: 0=Saxony 1=9,084 2=137"
	if tables := tablesOf(page); len(tables) != 1 || tableOf(tables[0]) != want {
		t.Errorf("got %d tables, want one:\n%s\n%s", len(tables), want, page.GetText())
	}
}

// TestRowsOfShortWords reads a table of words that are all about as long, in columns of one width: its rows have even blanks
// too, but their words stand below each other.
func TestRowsOfShortWords(t *testing.T) {
	t.Parallel()
	var rows [][]string
	for _, words := range []string{"Time Mond Tues Wedn Thur", "Nine Arts Gyms Arts Labs", "Noon Maps Labs Gyms Song", "Five Song Arts Labs Maps"} {
		var row []string
		for i, w := range strings.Fields(words) {
			row = append(row, fmt.Sprintf("%d:%s", 60+50*i, w))
		}
		rows = append(rows, row)
	}
	page := pageOf(rowsAt(118, 10, rows...))
	ArrangePage(page)
	if tables := tablesOf(page); len(tables) != 1 || tables[0].GetRows() != 4 || tables[0].GetColumns() != 5 {
		t.Errorf("got %d tables, want one of 4 rows and 5 columns: %q", len(tables), page.GetText())
	}
}
