package document

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestSignatureLine makes no heading of a line to write on, however large it is.
func TestSignatureLine(t *testing.T) {
	t.Parallel()
	pg := page(1, text(layout.Paragraph, 72, 60, 15, 1, "Pears"), prose(100), prose(130),
		text(layout.Paragraph, 72, 180, 14, 1, "Date: ________"))
	plan := planned(t, nil, pg)
	plan.ApplyTo(pg)
	if got, want := kinds(pg), "title paragraph paragraph paragraph"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A running foot is no heading on a document's only page; a line that stands there without a page's number may be.
func TestPageFoot(t *testing.T) {
	t.Parallel()
	for foot, want := range map[string]string{
		"Study of Pears 209": "title paragraph paragraph paragraph", "Pears of Autumn": "title paragraph paragraph heading1",
	} {
		pg := page(1, text(layout.Paragraph, 72, 60, 18, 1, "Pears"), prose(100), prose(130),
			text(layout.Paragraph, 72, 800, 15, 1, foot))
		plan := planned(t, nil, pg)
		plan.ApplyTo(pg)
		if got := kinds(pg); got != want {
			t.Errorf("%s: got %q, want %q", foot, got, want)
		}
	}
}

// TestSlides takes what stands on slides for the body of the document, though the small line at the foot of each has more
// words.
func TestSlides(t *testing.T) {
	t.Parallel()
	var slides []*inkstreamv1.Page
	for n, name := range []string{"Orchards", "Harbours", "Islands", "Towers", "Moles", "Reefs"} {
		slides = append(slides, page(int32(n+1), text(layout.Paragraph, 72, 60, 20, 1, name), text(layout.Paragraph, 72, 200, 12, 1, "The "+name+" of it"),
			text(layout.Paragraph, 72, 815, 6, 1, "The orchard, the harbour, the islands and the towers of all the north in the spring of the year")))
	}
	plan := planned(t, nil, slides...)
	for _, pg := range slides[1:] {
		plan.ApplyTo(pg)
		if got, want := kinds(pg), "heading1 paragraph footer"; got != want {
			t.Errorf("page %d: got %q, want %q", pg.Number, got, want)
		}
	}
}

// TestSpeakersBesideText makes no headings of bold names that announce, with a colon, what stands at their side.
func TestSpeakersBesideText(t *testing.T) {
	t.Parallel()
	const bold = 2
	for name, want := range map[string]string{"Ms Adler:": "paragraph", "Pears of Autumn": "heading1"} {
		pg := page(1, text(layout.Paragraph, 72, 60, 15, bold, "Minutes"), text(layout.Paragraph, 72, 100, 10, bold, name), text(layout.Paragraph, 180, 100, 10, 1,
			"The orchard keeps the pears until the first of the frosts has come."), prose(130), prose(160), prose(190))
		plan := planned(t, nil, pg)
		plan.ApplyTo(pg)
		if got := strings.Fields(kinds(pg))[1]; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestTitlesSideBySide makes headings of two lines in the largest type that stand beside each other, and a title of two that
// stand one below the other.
func TestTitlesSideBySide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		x, y float32
		want string
	}{{300, 60, "heading1 heading1"}, {72, 80, "title title"}} {
		pg := page(1, text(layout.Paragraph, 72, 60, 18, 1, "Departures"), text(layout.Paragraph, tt.x, tt.y, 18, 1, "Ashford North"), prose(120), prose(150), prose(180))
		plan := planned(t, nil, pg)
		plan.ApplyTo(pg)
		if got := strings.Join(strings.Fields(kinds(pg))[:2], " "); got != tt.want {
			t.Errorf("at %v, %v: got %s, want %s", tt.x, tt.y, got, tt.want)
		}
	}
}

// TestEntriesOfDirectories makes no headings of the bold first lines of many short entries, and headings of those over
// longer text.
func TestEntriesOfDirectories(t *testing.T) {
	t.Parallel()
	const bold = 2
	for _, tt := range []struct {
		name, below, want string
	}{
		{"entries", "7 Brackley Road, Ashford 5893, 706 3524, first floor", "paragraph"},
		{"sections", "The text below the heading goes on for long enough to be one that a heading stands above it", "heading1"},
	} {
		var blocks []*inkstreamv1.Block
		for i := range 30 {
			y := 40 + 25*float32(i)
			blocks = append(blocks, text(layout.Paragraph, 72, y, 10, bold, "Adler, Vera"), text(layout.Paragraph, 72, y+12, 10, 1, tt.below))
		}
		pg := page(1, blocks...)
		plan := planned(t, nil, pg)
		plan.ApplyTo(pg)
		if got := strings.Fields(kinds(pg))[2]; got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestLinesSetApart makes headings of bold lines and of capitals in the middle of their column, but not of entries
// that end with their price.
func TestLinesSetApart(t *testing.T) {
	t.Parallel()
	const bold = 2
	priced := text(layout.Paragraph, 72, 160, 10, bold, "Pears in wine 12.50")
	words := priced.GetLines()[0].GetWords()
	last := words[len(words)-1].GetBbox()
	last[0], last[2] = last[0]+200, last[2]+200
	above := prose(180)
	middle := text(layout.Paragraph, 0, 220, 10, 1, "PEARS OF AUTUMN")
	x := (above.GetBbox()[0] + above.GetBbox()[2] - middle.GetBbox()[2]) / 2
	middle.Bbox = []float32{x, 220, x + middle.GetBbox()[2], 229}
	edge := text(layout.Paragraph, 72, 330, 10, 1, "APPLES")
	pg := page(1, text(layout.Paragraph, 72, 60, 10, bold, "Dishes of the day"), prose(100), priced, above, middle, prose(240), prose(290), edge, prose(350))
	scan := page(1, read(prose(100)), read(proto.Clone(above).(*inkstreamv1.Block)), read(proto.Clone(middle).(*inkstreamv1.Block)), read(prose(240)),
		read(proto.Clone(edge).(*inkstreamv1.Block)), read(prose(350)))
	for _, tt := range []struct {
		page *inkstreamv1.Page
		want string
	}{
		{pg, "heading1 paragraph paragraph paragraph heading2 paragraph paragraph paragraph paragraph"},
		{scan, "paragraph paragraph heading1 paragraph paragraph paragraph"},
	} {
		plan := planned(t, nil, tt.page)
		plan.ApplyTo(tt.page)
		if got := kinds(tt.page); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestHeadingsAboveItems makes headings of bold lines where all other text is items, which are no less the body.
func TestHeadingsAboveItems(t *testing.T) {
	t.Parallel()
	const bold = 2
	item := func(y float32) *inkstreamv1.Block {
		b := prose(y)
		b.Type, b.Level, b.Marker = layout.ListItem, 1, "•"
		return b
	}
	pg := page(1, text(layout.Paragraph, 72, 60, 10, bold, "Houses and flats"), item(100), item(140),
		text(layout.Paragraph, 72, 200, 10, bold, "Boats and cars"), item(220), item(260))
	plan := planned(t, nil, pg)
	plan.ApplyTo(pg)
	if got, want := kinds(pg), "heading1 list_item list_item heading1 list_item list_item"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBylineBelowTitle takes the names below a title for no heading.
func TestBylineBelowTitle(t *testing.T) {
	t.Parallel()
	pg := page(1, text(layout.Paragraph, 200, 60, 20, 1, "The growth of pears"), text(layout.Paragraph, 230, 90, 14, 1, "Anna Keller Ruth Collins"), prose(120), prose(160))
	for _, b := range pg.GetBlocks()[:2] { // both in the middle of the page
		half := (b.GetBbox()[2] - b.GetBbox()[0]) / 2
		b.Bbox = []float32{pg.GetWidth()/2 - half, b.GetBbox()[1], pg.GetWidth()/2 + half, b.GetBbox()[3]}
	}
	wide := proto.CloneOf(pg) // a title that fills most of the page, and names in the middle below it
	wide.Blocks[0].Bbox[0], wide.Blocks[0].Bbox[2] = wide.GetBlocks()[0].GetBbox()[0]-180, wide.GetBlocks()[0].GetBbox()[2]+180
	several := proto.CloneOf(wide) // names side by side
	beside := text(layout.Paragraph, 200, 90, 14, 1, "Ruth Collins")
	beside.Bbox = []float32{400, 90, 500, 104}
	several.Blocks[1].Bbox[0], several.Blocks[1].Bbox[2] = several.GetWidth()-500, several.GetWidth()-400
	several.Blocks = slices.Insert(several.Blocks, 2, beside)
	for pg, want := range map[*inkstreamv1.Page]string{pg: "title paragraph paragraph paragraph", wide: "title paragraph paragraph paragraph",
		several: "title paragraph paragraph paragraph paragraph"} {
		plan := planned(t, nil, pg)
		plan.ApplyTo(pg)
		if got := kinds(pg); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestHeadingsByRule tells headings from what looks like them: numbered sentences, the last line of a list of prices;
// and keeps a large title that ends with a number above entries that do.
func TestHeadingsByRule(t *testing.T) {
	t.Parallel()
	const bold, italic = 2, 4
	prices := func() []*inkstreamv1.Block {
		var out []*inkstreamv1.Block
		for i := range 6 {
			out = append(out, text(layout.ListItem, 72, 100+12*float32(i), 10, 1, "Pears ........ 12"))
		}
		return out
	}
	last := text(layout.ListItem, 72, 200, 10, 1, "Late apples of the orchard 70 cm")
	line := last.GetLines()[0]
	price := &inkstreamv1.Word{Text: "2,981.51", Font: 1, Size: 10, Bbox: []float32{480, 200, 520, 209}}
	line.Words = append(line.Words, price)
	note := text(layout.Paragraph, 72, 212, 10, italic, "Of the orchard a good deal was sold in the course of the",
		"year, as is said in what is written below, and so on until the end.")
	numbered := func(heading string) []*inkstreamv1.Block {
		return []*inkstreamv1.Block{text(layout.Paragraph, 72, 60, 10, 1, heading), prose(100), prose(140)}
	}
	title := text(layout.Paragraph, 72, 60, 20, bold, "Price list 2027")
	for _, tt := range []struct {
		name   string
		blocks []*inkstreamv1.Block
		want   string // of the first block
	}{
		{"a numbered sentence", numbered("1.2 The program is covered by this."), "paragraph"},
		{"a numbered heading", numbered("1.2 What the program covers"), "heading1"},
		{"a title above entries", append([]*inkstreamv1.Block{title}, prices()...), "title"},
		{"the last of a list of prices", []*inkstreamv1.Block{last, note}, "list_item"},
	} {
		pg := page(1, tt.blocks...)
		pg.Fonts = append(pg.Fonts, &inkstreamv1.Font{Name: "Times-Italic", Italic: true})
		plan := planned(t, nil, pg)
		plan.ApplyTo(pg)
		if got := strings.Fields(kinds(pg))[0]; got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestWideStructureTag takes a short heading for what the structure says, whose box is as wide as the column because a
// rule goes with it.
func TestWideStructureTag(t *testing.T) {
	t.Parallel()
	for high, want := range map[float32]bool{16: true, 60: false} {
		if got := mostlyContains([4]float32{51, 263, 94, 279}, []float32{51, 262, 560, 262 + high}); got != want {
			t.Errorf("a box %v points high: got %t, want %t", high, got, want)
		}
	}
}

// TestParagraphTags takes paragraphs that stand out for headings where the structure names none, or names others in the
// same type; items and paragraphs in another type are none.
func TestParagraphTags(t *testing.T) {
	t.Parallel()
	const bold = 2
	for _, tt := range []struct {
		name, first, second string  // the tags
		size                float32 // of the second line
		want                string
	}{
		{"no headings are named", "P", "P", 14, "heading1 paragraph heading1 paragraph"},
		{"the other is in the same type", "H1", "P", 14, "heading1 paragraph heading1 paragraph"},
		{"the other is in another type", "H1", "P", 12, "title paragraph paragraph paragraph"},
		{"the other is an item", "H1", "LI", 14, "title paragraph paragraph paragraph"},
		{"a paragraph of an item", "P", "LBody", 14, "title paragraph paragraph paragraph"},
	} {
		pg := page(1, text(layout.Paragraph, 72, 60, 14, bold, "Of pears"), prose(90),
			text(layout.Paragraph, 72, 160, tt.size, bold, "Of plums"), prose(190))
		for i, role := range []string{tt.first, tt.second} {
			box := pg.GetBlocks()[2*i].GetBbox()
			pg.Tags = append(pg.Tags, &inkstreamv1.Tag{Role: role, Bbox: box})
			if role == "LBody" {
				pg.Tags = append(pg.Tags, &inkstreamv1.Tag{Role: "P", Bbox: box})
			}
		}
		plan := planned(t, nil, pg)
		plan.ApplyTo(pg)
		if got := kinds(pg); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestHeadingAfterTitlePage plans a document whose second heading stands on a page with more blocks than the title's.
func TestHeadingAfterTitlePage(t *testing.T) {
	t.Parallel()
	second := page(2, prose(60), prose(200), prose(340), text(layout.Paragraph, 72, 500, 14, 1, "Later Years"), prose(560))
	first := page(1, text(layout.Paragraph, 72, 60, 20, 1, "The Winter Harbour"), prose(200))
	planned(t, nil, first, second)
	if got, want := kinds(first), "title paragraph"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRecognisedHeadings makes headings of large text that was recognised for sure: not of what was read out of a
// drawing, and not of a line of the body in which a bracket or the mark of a note is higher than the words.
func TestRecognisedHeadings(t *testing.T) {
	t.Parallel()
	doubtful := read(text(layout.Paragraph, 72, 60, 18, 0, "Yedh Lye"))
	for _, w := range doubtful.GetLines()[0].GetWords() {
		w.Confidence = proto.Float32(0.4)
	}
	marked := read(text(layout.Paragraph, 72, 60, 10, 0, "and what they have read of [1992-1997,2001] in their books so far"))
	for _, w := range marked.GetLines()[0].GetWords() {
		w.Size = 0
		w.Bbox[1] = w.Bbox[3] - 10/float32(layout.RecognisedTypeSize(w.GetText(), 1)) // as high as its letters
	}
	marked.GetLines()[0].GetWords()[6].Bbox[1] -= 9
	bold := func(b *inkstreamv1.Block) *inkstreamv1.Block {
		for _, w := range b.GetLines()[0].GetWords() {
			w.Font = 2
		}
		return read(b)
	}
	for _, tt := range []struct {
		name, want string
		first      *inkstreamv1.Block
	}{
		{"bold", "heading1", bold(text(layout.Paragraph, 72, 60, 10, 0, "Pears of Autumn"))},
		{"bold and goes on", "paragraph", bold(text(layout.Paragraph, 72, 60, 10, 0, "Pears of Autumn and those of Spring,"))},
		{"somewhat larger", "heading1", read(text(layout.Paragraph, 72, 60, 12, 0, "The Pears of Autumn"))},
		{"large", "heading1", read(text(layout.Paragraph, 72, 60, 18, 0, "The Pears of Autumn"))},
		{"doubtful", "paragraph", doubtful},
		{"numbered", "heading1", read(text(layout.Paragraph, 72, 60, 10, 0, "2.3 Pears of Autumn"))},
		{"numbered and goes on", "paragraph", read(text(layout.Paragraph, 72, 60, 10, 0, "2.3 Pears of Autumn and those of Spring,"))},
		{"higher words", "paragraph", marked},
	} {
		pg := page(1, tt.first, read(prose(100)), read(prose(130)), read(prose(160)))
		pg.Outcome, pg.Fonts = "recognised", []*inkstreamv1.Font{{}, {Weight: 700}}
		planned(t, nil, pg).ApplyTo(pg)
		if got := strings.Fields(kinds(pg))[0]; got != tt.want && !(tt.want == "heading1" && got == "title") {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestHeadingsOfPriceLists finds the headings over tables on a page with no other text: there the tables are the body,
// if they are most of it. Where text runs on, that is the body, and lines of numbers are no headings.
func TestHeadingsOfPriceLists(t *testing.T) {
	t.Parallel()
	prices := func(y float32) *inkstreamv1.Block {
		b := text(layout.Table, 72, y, 10, 2, "Pears", "12.40", "Plums", "13.50", "Quinces", "14.90")
		b.Table = &inkstreamv1.Table{Rows: 3, Columns: 2}
		return b
	}
	for _, tt := range []struct {
		name   string
		blocks []*inkstreamv1.Block
		want   string
	}{
		{"headings", []*inkstreamv1.Block{text(layout.Paragraph, 72, 40, 20, 2, "List of Prices"), text(layout.Paragraph, 72, 70, 13, 2, "Fruit"), prices(90),
			text(layout.Paragraph, 72, 170, 13, 2, "Berries"), prices(190)}, "title heading1 table heading1 table"},
		{"small tables beside text", []*inkstreamv1.Block{prose(40), text(layout.Paragraph, 72, 130, 10, 1, "Fruit"), prices(150)}, "paragraph paragraph table"},
		{"lines of numbers", []*inkstreamv1.Block{prose(40), text(layout.Paragraph, 72, 130, 14, 2, "Tel. 288 9134"), prose(150),
			text(layout.Paragraph, 72, 240, 14, 2, "Since 1998"), prose(260)}, "paragraph paragraph paragraph title paragraph"},
	} {
		pg := page(1, tt.blocks...)
		planned(t, nil, pg).ApplyTo(pg)
		if got := kinds(pg); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLevelsBelowTitle puts headings right below the title of a document whose structure counts that as the first level.
func TestLevelsBelowTitle(t *testing.T) {
	t.Parallel()
	tagged := func(y float32, size float32, words string) *inkstreamv1.Block {
		return text(layout.Paragraph, 72, y, size, 2, words)
	}
	tag := func(y float32, role string) *inkstreamv1.Tag {
		return &inkstreamv1.Tag{Role: role, Bbox: []float32{70, y - 1, 400, y + 15}}
	}
	pg := page(1, tagged(60, 20, "Pears"), prose(100), tagged(130, 14, "Of Autumn"), prose(160), tagged(190, 11, "Their Keeping"), prose(220))
	pg.Tags = []*inkstreamv1.Tag{tag(60, "H1"), tag(130, "H2"), tag(190, "H3")}
	plan := planned(t, nil, pg)
	plan.ApplyTo(pg)
	if got, want := kinds(pg), "title paragraph heading1 paragraph heading2 paragraph"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
