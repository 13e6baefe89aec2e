package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// lattices draws the lines of a grid with edges at the places given.
func latticeOf(xs, ys []float64) []*inkstreamv1.Ruling {
	var out []*inkstreamv1.Ruling
	for _, x := range xs {
		out = append(out, &inkstreamv1.Ruling{Bbox: rect{x - 0.25, ys[0], x + 0.25, ys[len(ys)-1]}.toBox()})
	}
	for _, y := range ys {
		out = append(out, &inkstreamv1.Ruling{Bbox: rect{xs[0], y - 0.25, xs[len(xs)-1], y + 0.25}.toBox()})
	}
	return out
}

// across draws lines across the page.
func across(x0, x1 float64, ys ...float64) []*inkstreamv1.Ruling {
	var out []*inkstreamv1.Ruling
	for _, y := range ys {
		out = append(out, &inkstreamv1.Ruling{Bbox: rect{x0, y, x1, y + 0.5}.toBox()})
	}
	return out
}

func ruledPage(rulings []*inkstreamv1.Ruling, groups ...[]*inkstreamv1.Line) *inkstreamv1.Page {
	p := pageOf(groups...)
	p.Rulings = rulings
	return p
}

// tableOf writes a table's cells, one row a line: text@row,column+rowspan×columnspan where it spans.
func tableOf(t *inkstreamv1.Table) string {
	var b strings.Builder
	row := int32(-1)
	for _, c := range t.GetCells() {
		if c.GetRow() != row {
			if row >= 0 {
				b.WriteByte('\n')
			}
			row = c.GetRow()
			fmt.Fprintf(&b, "%d:", row)
		}
		fmt.Fprintf(&b, " %d=%s", c.GetColumn(), c.GetText())
		if c.GetRowSpan() > 1 || c.GetColumnSpan() > 1 {
			fmt.Fprintf(&b, "(%dx%d)", c.GetRowSpan(), c.GetColumnSpan())
		}
	}
	return b.String()
}

func tablesOf(p *inkstreamv1.Page) []*inkstreamv1.Table {
	var out []*inkstreamv1.Table
	for _, b := range p.GetBlocks() {
		if b.GetTable() != nil {
			out = append(out, b.GetTable())
		}
	}
	return out
}

func TestRuledTables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		page *inkstreamv1.Page
		want string // "" for no table
	}{
		{
			"a grid",
			ruledPage(latticeOf([]float64{70, 170, 270}, []float64{70, 85, 100}), down(75, 73, 10, "Item", "Pears"),
				down(175, 73, 10, "Count", "12")),
			"0: 0=Item 1=Count\n1: 0=Pears 1=12",
		},
		{
			"text that wraps in a cell stays in it",
			ruledPage(latticeOf([]float64{70, 170, 270}, []float64{70, 85, 112}),
				down(75, 73, 10, "Item", "Pears and", "plums"), down(175, 73, 10, "Count", "12")),
			"0: 0=Item 1=Count\n1: 0=Pears and plums 1=12",
		},
		{
			"a hyphen at the end of a cell's line goes",
			ruledPage(latticeOf([]float64{70, 170, 270}, []float64{70, 85, 112}), down(75, 73, 10, "Item", "pome-", "granates"),
				down(175, 73, 10, "Count", "12")),
			"0: 0=Item 1=Count\n1: 0=pomegranates 1=12",
		},
		{
			"a cell without a wall spans columns",
			ruledPage(append(latticeOf([]float64{70, 370}, []float64{70, 85, 100, 115}),
				latticeOf([]float64{170, 270}, []float64{85, 115})...),
				down(150, 73, 10, "A heading over all"), down(75, 88, 10, "a", "d"), down(175, 88, 10, "b", "e"),
				down(275, 88, 10, "c", "f")),
			"0: 0=A heading over all(1x3)\n1: 0=a 1=b 2=c\n2: 0=d 1=e 2=f",
		},
		{
			"a cell without a wall spans rows",
			ruledPage(append(latticeOf([]float64{70, 170, 270}, []float64{70, 100}), across(170, 270, 85)...),
				down(75, 80, 10, "both"), down(175, 73, 10, "one", "two")),
			"0: 0=both(2x1) 1=one\n1: 1=two",
		},
		{
			"items of a form in a cell without lines, counted in boxes at their ends",
			ruledPage(append(latticeOf([]float64{70, 370, 390, 450}, []float64{70, 118}), across(370, 450, 82, 106)...),
				down(75, 71, 10, "1 Gross receipts", "2 Cost of goods, from the", "schedule below", "3 Subtract line 2"),
				down(375, 71, 10, "1"), down(375, 95, 10, "2", "3")),
			"0: 0=1 Gross receipts 1=1\n1: 0=2 Cost of goods, from the schedule below 1=2\n2: 0=3 Subtract line 2 1=3",
		},
		{
			"lines of a cell beside rows that are counted",
			ruledPage(append(latticeOf([]float64{70, 370, 390, 450}, []float64{70, 106}), across(370, 450, 82, 94)...),
				down(75, 71, 10, "The parts of the", "machine in the", "order of their use"), down(375, 71, 10, "1", "2", "3"),
				down(400, 71, 10, "Wheel", "Axle", "Brake")),
			"0: 0=The parts of the machine in the order of their use(3x1) 1=1 2=Wheel\n1: 1=2 2=Axle\n2: 1=3 2=Brake",
		},
		{
			"sides that are not drawn",
			ruledPage(append(across(70, 370, 70, 85, 100), latticeOf([]float64{170, 270}, []float64{70, 100})...),
				down(75, 73, 10, "a", "d"), down(175, 73, 10, "b", "e"), down(275, 73, 10, "c", "f")),
			"0: 0=a 1=b 2=c\n1: 0=d 1=e 2=f",
		},
		{
			"rows without lines between them, told by their numbers",
			ruledPage(latticeOf([]float64{70, 170, 270}, []float64{70, 85, 125}), down(75, 73, 10, "Item"),
				down(75, 88, 10, "Pears", "Plums", "Figs"),
				down(175, 73, 10, "Count"), down(175, 88, 10, "12", "3", "7")),
			"0: 0=Item 1=Count\n1: 0=Pears 1=12\n2: 0=Plums 1=3\n3: 0=Figs 1=7",
		},
		{
			"a range of numbers that wraps is no two rows",
			ruledPage(latticeOf([]float64{70, 170, 270}, []float64{70, 85, 115}), down(75, 73, 10, "Item"),
				down(75, 88, 10, "Pears"),
				down(175, 73, 10, "When"), down(175, 88, 10, "20.12.2009 to", "3.1.2010")),
			"0: 0=Item 1=When\n1: 0=Pears 1=20.12.2009 to 3.1.2010",
		},
		{
			"columns without lines between them in some rows",
			ruledPage(append(across(70, 370, 70, 85, 100, 115),
				append(latticeOf([]float64{70, 370}, []float64{70, 115}), latticeOf([]float64{170, 270}, []float64{70, 85})...)...),
				down(75, 73, 10, "a", "d", "g"), down(175, 73, 10, "b", "e", "h"), down(275, 73, 10, "c", "f", "i")),
			"0: 0=a 1=b 2=c\n1: 0=d 1=e 2=f\n2: 0=g 1=h 2=i",
		},
		{"a frame around text is no table", ruledPage(latticeOf([]float64{60, 300}, []float64{60, 130}),
			down(72, 72, 10, leftText...)), ""},
		{
			"graph paper with a legend is no table",
			ruledPage(latticeOf([]float64{70, 90, 110, 130, 150, 170, 190}, []float64{70, 90, 110, 130, 150, 170, 190}),
				down(72, 73, 10, "y"), down(175, 175, 10, "x")),
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := allText(tt.page)
			ArrangePage(tt.page)
			if got := allText(tt.page); got != want {
				t.Errorf("the characters %q became %q", want, got)
			}
			tables := tablesOf(tt.page)
			if tt.want == "" {
				if len(tables) > 0 {
					t.Errorf("got a table:\n%s\nwant none", tableOf(tables[0]))
				}
				return
			}
			if len(tables) != 1 {
				t.Fatalf("%d tables, want 1; the page reads\n%s", len(tables), tt.page.Text)
			}
			if got := tableOf(tables[0]); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
			if !tables[0].GetRuled() || tables[0].GetNumber() != 1 {
				t.Errorf("ruled %v, number %d; want true and 1", tables[0].GetRuled(), tables[0].GetNumber())
			}
		})
	}
}

func TestAlignedTables(t *testing.T) {
	t.Parallel()
	figures := func(y float64) [][]*inkstreamv1.Line {
		return [][]*inkstreamv1.Line{
			down(72, y, 10, "Item", "Pears", "Plums", "Figs"), down(250, y, 10, "Count", "12", "3", "7"),
			down(400, y, 10, "Price", "1.20", "0.90", "2.10"),
		}
	}
	const want = "0: 0=Item 1=Count 2=Price\n1: 0=Pears 1=12 2=1.20\n2: 0=Plums 1=3 2=0.90\n3: 0=Figs 1=7 2=2.10"
	for _, tt := range []struct {
		name string
		page *inkstreamv1.Page
		want string
	}{
		{"columns of figures", pageOf(figures(72)...), want},
		{
			"between paragraphs",
			pageOf(append(figures(200), down(72, 140, 10, leftText...), down(72, 290, 10, rightText...))...),
			want,
		},
		{
			"a caption above is none of it",
			pageOf(append(figures(90), []*inkstreamv1.Line{at(72, 72, 10, "Table 3."), at(130, 72, 10, "Fruit in stock")})...),
			want,
		},
		{
			"a label that wraps with an indent",
			pageOf(down(72, 72, 10, "Item", "Pears from the south"), []*inkstreamv1.Line{at(86, 96, 10, "of the country")},
				down(72, 108, 10, "Plums", "Figs"),
				down(250, 72, 10, "Count", "12"), down(250, 108, 10, "3", "7"), down(400, 72, 10, "Price", "1.20"),
				down(400, 108, 10, "0.90", "2.10")),
			"0: 0=Item 1=Count 2=Price\n1: 0=Pears from the south of the country 1=12 2=1.20\n2: 0=Plums 1=3 2=0.90\n3: 0=Figs 1=7 2=2.10",
		},
		{"two columns of prose are no table", pageOf(down(72, 72, 10, leftText...), down(300, 72, 10, rightText...)), ""},
		{
			"a table of contents is none",
			pageOf([]*inkstreamv1.Line{at(72, 72, 10, "First . . . . . . . . . 12"),
				at(72, 84, 10, "Second . . . . . . . . . 15"), at(72, 96, 10, "Third . . . . . . . . . . . 99")}),
			"",
		},
		{
			"a table of contents whose upper entries have no dots is none",
			pageOf(contentsPage("12", "12", "13", "15", "15", "20", "21")),
			"",
		},
		{
			"numbers that go up and down are a table's, for all the dots in one row",
			pageOf(contentsPage("12", "9", "13", "15", "2", "20", "21")),
			"0: 0=Arrows 1=12\n1: 0=Bee swarms 1=9\n2: 0=Boxes 1=13\n3: 0=Boxes in space . . . . . . . . . . . . 1=15\n4: 0=Circles 1=2\n5: 0=Dots 1=20\n6: 0=Ellipses 1=21",
		},
		{
			"a column of names beside the number of every third line is none",
			pageOf(down(72, 72, 10, "Ann Lee", "Analyst", "ann.lee@example.com", "Bob Ray", "Analyst", "bob.ray@example.com",
				"Cy Dow", "Strategist", "cy.dow@example.com"),
				[]*inkstreamv1.Line{at(300, 96, 10, "6494"), at(300, 132, 10, "8055"), at(300, 168, 10, "3017")}),
			"",
		},
		{
			"a list is none",
			pageOf(down(72, 72, 10, "1.", "2.", "3."), down(100, 72, 10, "the first item", "the second item", "the third item")),
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ArrangePage(tt.page)
			tables := tablesOf(tt.page)
			switch {
			case tt.want == "" && len(tables) == 0:
			case len(tables) != 1 || tt.want == "":
				t.Errorf("%d tables; the page reads\n%s", len(tables), tt.page.Text)
			default:
				if got := tableOf(tables[0]); got != tt.want || tables[0].GetRuled() {
					t.Errorf("ruled %v, got:\n%s\nwant:\n%s", tables[0].GetRuled(), got, tt.want)
				}
			}
		})
	}
	p := pageOf(figures(72)...)
	ArrangePageWith(p, Options{})
	if n := len(tablesOf(p)); n != 0 {
		t.Errorf("%d tables where none are wanted", n)
	}
}

// contentsPage is a list of names with numbers at the right, in which dots lead to the fourth.
func contentsPage(numbers ...string) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for i, name := range []string{"Arrows", "Bee swarms", "Boxes", "Boxes in space . . . . . . . . . . . .", "Circles",
		"Dots", "Ellipses"} {
		y := 120 + 20*float64(i)
		if out = append(out, at(72, y, 10, name), at(400, y, 10, numbers[i])); i == 3 {
			out[len(out)-2].Words[0].Bbox[0] += 12
		}
	}
	return out
}

func TestTableOfARecognisedPage(t *testing.T) {
	t.Parallel()
	page := recognised(down(72, 50, 10, "text above the table"), down(75, 103, 10, "Item", "Pears"),
		down(175, 103, 10, "Count", "12"), down(72, 160, 10, "text below it"))
	page.Rulings = latticeOf([]float64{70, 170, 270}, []float64{100, 115, 130})
	ArrangePage(page)
	if want := "text above the table\n\nItem\tCount\nPears\t12\n\ntext below it\n"; page.Text != want {
		t.Errorf("got %q, want %q", page.Text, want)
	}
}

func TestTurnedTable(t *testing.T) {
	t.Parallel()
	cell := func(x, y float64, text string) *inkstreamv1.Line {
		l := at(x, y, 10, text)
		for _, w := range l.Words {
			w.Bbox = rotation(90).unrotateRect(rectFromBox(w.Bbox)).toBox()
		}
		l.Angle = 90
		return l
	}
	page := pageOf([]*inkstreamv1.Line{cell(75, -197, "Item"), cell(75, -182, "Pears"), cell(175, -197, "Count"),
		cell(175, -182, "12")})
	for _, r := range latticeOf([]float64{70, 170, 270}, []float64{-200, -185, -170}) {
		page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: rotation(90).unrotateRect(rectFromBox(r.Bbox)).toBox()})
	}
	ArrangePage(page)
	tables := tablesOf(page)
	if len(tables) != 1 {
		t.Fatalf("%d tables, want 1; the page reads %q", len(tables), page.Text)
	}
	if got, want := tableOf(tables[0]), "0: 0=Item 1=Count\n1: 0=Pears 1=12"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if box := rectFromBox(page.Blocks[0].Bbox); box.x0 < 160 || box.x1 > 210 || box.y0 < 60 || box.y1 > 280 {
		t.Errorf("the table lies at %v, want it where it was drawn", box)
	}
}

// fonts of pages of blocks.
func withFonts(p *inkstreamv1.Page, fonts ...*inkstreamv1.Font) *inkstreamv1.Page {
	p.Fonts = fonts
	return p
}

func inFont(n int32, lines []*inkstreamv1.Line) []*inkstreamv1.Line {
	for _, l := range lines {
		for _, w := range l.Words {
			w.Font = n
		}
	}
	return lines
}

// higher makes the boxes of a line's words higher than their letters.
func higher(lines []*inkstreamv1.Line) *inkstreamv1.Line {
	for _, w := range lines[0].Words {
		w.Bbox[1] -= 4
		w.Bbox[3] += 4
	}
	return lines[0]
}

// alongside puts what stands beside a line into it.
func alongside(line, more *inkstreamv1.Line) *inkstreamv1.Line {
	line.Words = append(line.Words, more.Words...)
	return line
}

// linked makes lines a link.
func linked(lines []*inkstreamv1.Line) []*inkstreamv1.Line {
	for _, l := range lines {
		for _, w := range l.Words {
			w.Link = 1
		}
	}
	return lines
}

func TestBlockTypes(t *testing.T) {
	t.Parallel()
	mono := &inkstreamv1.Font{Name: "Courier", FixedPitch: true}
	maths := &inkstreamv1.Font{Name: "CMMI10"}
	dingbats := &inkstreamv1.Font{Name: "Wingdings"}
	image := &inkstreamv1.Image{Bbox: []float32{72, 150, 300, 250}, Name: "images/1-1.png", Kind: "embedded"}
	for _, tt := range []struct {
		name string
		page *inkstreamv1.Page
		want []string // type, level and marker of each block
	}{
		{
			"items of a list, one with two lines",
			pageOf(down(72, 72, 10, "text that leads to the list of"), down(84, 84, 10, "• the first item has a line that"),
				down(92, 96, 10, "goes on in the next"), down(84, 108, 10, "• the second item")),
			[]string{"paragraph 0", "list_item 1 •", "list_item 1 •"},
		},
		{
			"a list in a list",
			pageOf(down(72, 72, 10, "1. first"), down(92, 84, 10, "a) inner one", "b) inner two"),
				down(72, 108, 10, "2. second")),
			[]string{"list_item 1 1.", "list_item 2 a)", "list_item 2 b)", "list_item 1 2."},
		},
		{
			"signs of a symbol font are bullets",
			withFonts(pageOf(inFont(1, down(72, 72, 10, "r")), down(90, 72, 10, "first item"), inFont(1, down(72, 84, 10, "r")),
				down(90, 84, 10, "second item")), dingbats),
			[]string{"list_item 1 r", "list_item 1 r"},
		},
		{
			"code between paragraphs",
			withFonts(pageOf(down(72, 72, 10, "text above the code"),
				inFont(1, down(72, 90, 10, "for i := range 10 {", "print (i)", "}")), down(72, 132, 10, "text below it")), mono),
			[]string{"paragraph 0", "code 0", "paragraph 0"},
		},
		{
			"a link in the type of code ends a sentence, another stands in code",
			withFonts(pageOf(down(72, 72, 10, "text that fills its line and goes on with a"),
				linked(inFont(1, down(72, 84, 10, "linked demo"))),
				inFont(1, down(72, 132, 10, "get the file from")), linked(inFont(1, down(72, 144, 10, "http://example.com/"))),
				inFont(1, down(72, 156, 10, "and read it"))), mono),
			[]string{"paragraph 0", "code 0"},
		},
		{
			"a formula",
			withFonts(pageOf(down(72, 72, 10, leftText...), inFont(1, down(150, 140, 10, "a + b = c")),
				down(72, 180, 10, rightText...)), maths),
			[]string{"paragraph 0", "formula 0", "paragraph 0"},
		},
		{
			"formulas in an item, whose type has higher boxes than its letters",
			withFonts(pageOf(down(72, 72, 10, "1. the distance that it goes in each of the hours of"),
				[]*inkstreamv1.Line{alongside(at(72, 84, 10, "a day is given by"),
					higher(inFont(1, down(172, 84, 10, "s(t) = ab(t) + xy(t)"))))},
				down(72, 96, 10, "2. the time that it takes")), maths),
			[]string{"list_item 1 1.", "list_item 1 2."},
		},
		{
			"a formula right below its sentence",
			withFonts(pageOf(down(72, 72, 10, "the distance that it goes in each of the hours of a day is"),
				[]*inkstreamv1.Line{higher(inFont(1, down(172, 84, 10, "s(t) = ab(t) + xy(t)")))}), maths),
			[]string{"paragraph 0", "formula 0"},
		},
		{
			"a figure with its caption, between paragraphs",
			&inkstreamv1.Page{
				Width: 595, Height: 842, Images: []*inkstreamv1.Image{image},
				Blocks: pageOf(down(72, 72, 10, leftText...), down(72, 258, 10, "Figure 1: what is seen"),
					down(72, 300, 10, rightText...)).Blocks,
			},
			[]string{"paragraph 0", "figure 0", "caption 0", "paragraph 0"},
		},
		{
			"a sentence that begins as a caption does is none",
			pageOf(down(72, 72, 10, "Figure 1 shows how it is done, and the rest of", "the text says why")),
			[]string{"paragraph 0"},
		},
		{
			"notes at the foot of the page",
			pageOf(down(72, 72, 10, leftText...), down(72, 130, 10, rightText...),
				down(72, 700, 8, "1 this is a note in small type"), down(72, 716, 8, "2 and so is this one")),
			[]string{"paragraph 0", "paragraph 0", "footnote 0", "footnote 0"},
		},
		{
			"bold type above plain",
			withFonts(pageOf(inFont(1, down(72, 72, 10, "What is new")), down(72, 84, 10, leftText...)),
				&inkstreamv1.Font{Name: "Helvetica-Bold", Weight: 700}),
			[]string{"paragraph 0", "paragraph 0"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ArrangePage(tt.page)
			var got []string
			for _, b := range tt.page.GetBlocks() {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %d %s", b.GetType(), b.GetLevel(), b.GetMarker())))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q; the page reads\n%s", got, tt.want, tt.page.Text)
			}
		})
	}
}

func TestDecideLineJoin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, next, want string }{
		{"one", "two", "one two"},
		{"exam-", "ple", "example"},
		{"exam\u00ad", "ple", "example"},
		{"Anglo-", "Saxon", "Anglo-Saxon"},
		{"state-of-", "the-art", "state-of-the-art"},
		{"self-", "made", "self-made"},
		{"real-", "time", "real-time"},
		{"the high-", "est.", "the highest."},
		{"can be ex-", "pected", "can be expected"},
		{"the high-", "est of all", "the highest of all"},
		{"1990-", "1995", "1990-1995"},
		{"pp. 66–", "167", "pp. 66–167"},
		{"the year 1990 –", "1995 was", "the year 1990 – 1995 was"},
		{"PROVIDED BY THE COPY-", "RIGHT HOLDERS", "PROVIDED BY THE COPYRIGHT HOLDERS"},
		{"PROVIDED BY THE COPY-", "RIGHT HOLDERS and others", "PROVIDED BY THE COPYRIGHT HOLDERS and others"},
		{"SOFERN NICHT SCHRIFT-", "LICH", "SOFERN NICHT SCHRIFT-LICH"},
		{"LIABLE FOR ALL NON-", "COMMERCIAL", "LIABLE FOR ALL NON-COMMERCIAL"},
		{"Install it from CD-", "ROM", "Install it from CD-ROM"},
		{"THE CITY OF STRATFORD-", "Upon", "THE CITY OF STRATFORD-Upon"},
		{"a dash -", "and on", "a dash - and on"},
		{"漢字", "仮名", "漢字仮名"},
		{"漢字", "ABC", "漢字 ABC"},
		{"漢字、", "ABC", "漢字、ABC"},
		{"ABC", "（漢字）", "ABC（漢字）"},
		{"100％", "ABC", "100％ ABC"},
		{"대신에", "「감염병", "대신에 「감염병"},
		{"", "first", "first"},
		{"한국", "어", "한국 어"},
	} {
		got := string(append(AppendLineBreak([]byte(tt.before), tt.next), tt.next...))
		if got != tt.want {
			t.Errorf("%q and %q: got %q, want %q", tt.before, tt.next, got, tt.want)
		}
	}
}

// TestHostileRulings has the lines of drawings, of graph paper, and of nothing that can be reckoned with.
func TestHostileRulings(t *testing.T) {
	t.Parallel()
	nan := float32(0)
	nan /= nan
	lines := func(n int, box func(i int) []float32) []*inkstreamv1.Ruling {
		out := make([]*inkstreamv1.Ruling, n)
		for i := range out {
			out[i] = &inkstreamv1.Ruling{Bbox: box(i)}
		}
		return out
	}
	for name, rulings := range map[string][]*inkstreamv1.Ruling{
		"no numbers": lines(100, func(int) []float32 { return []float32{nan, 1, 2, nan} }),
		"no boxes":   lines(100, func(int) []float32 { return nil }),
		"far away":   lines(100, func(i int) []float32 { return []float32{-3e38, float32(i), 3e38, float32(i)} }),
		"graph paper": append(lines(1400, func(i int) []float32 { return []float32{0, float32(i), 800, float32(i)} }),
			lines(1400, func(i int) []float32 { return []float32{float32(i), 0, float32(i), 800} })...),
		"a coarse grid": append(lines(130, func(i int) []float32 { y := float32(i) * 6; return []float32{0, y, 800, y} }),
			lines(130, func(i int) []float32 { x := float32(i) * 6; return []float32{x, 0, x, 800} })...),
		"one on another": lines(20_000, func(int) []float32 { return []float32{10, 10, 500, 10} }),
		"points":         lines(2000, func(i int) []float32 { v := float32(i % 40 * 20); return []float32{v, v, v, v} }),
	} {
		page := ruledPage(rulings, down(72, 72, 10, leftText...), down(300, 72, 10, rightText...))
		want := allText(page)
		ArrangePage(page)
		if got := allText(page); got != want {
			t.Errorf("%s: the characters %q became %q", name, want, got)
		}
		again := proto.Clone(page).(*inkstreamv1.Page)
		ArrangePage(again)
		if got := allText(again); got != want {
			t.Errorf("%s, again: the characters %q became %q", name, want, got)
		}
	}
}

// TestShiftedBoxesAreOneColumn takes boxes for one column that rows have at places a little apart.
func TestShiftedBoxesAreOneColumn(t *testing.T) {
	t.Parallel()
	var rulings []*inkstreamv1.Ruling
	var lines []*inkstreamv1.Line
	for i := range 4 {
		x, y := 300+5*float64(i%2), 100+20*float64(i)
		rulings = append(rulings, latticeOf([]float64{x, x + 22, 400}, []float64{y, y + 20})...)
		lines = append(lines, at(x+8, y+5, 10, fmt.Sprint(i+1)), at(350, y+5, 10, fmt.Sprintf("%d.75", 10*i)))
	}
	page := ruledPage(rulings, lines)
	ArrangePage(page)
	want := "0: 0=1 1=0.75\n1: 0=2 1=10.75\n2: 0=3 1=20.75\n3: 0=4 1=30.75"
	if tables := tablesOf(page); len(tables) != 1 || tableOf(tables[0]) != want {
		t.Errorf("got %v in\n%s\nwant\n%s", tables, page.GetText(), want)
	}
}
