package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// text makes a block of lines, one below the other; every character is half an em wide.
func text(kind string, x, y, size float32, font int32, lines ...string) *inkstreamv1.Block {
	b := &inkstreamv1.Block{Type: kind}
	for i, s := range lines {
		line := &inkstreamv1.Line{}
		at, top := x, y+float32(i)*size*1.2
		for word := range strings.FieldsSeq(s) {
			w := float32(len([]rune(word))) * size / 2
			line.Words = append(line.Words, &inkstreamv1.Word{Text: word, Bbox: []float32{at, top, at + w, top + size*0.9},
				Font: font, Size: size})
			at += w + size*0.3
		}
		line.Bbox = []float32{x, top, at, top + size*0.9}
		b.Lines = append(b.Lines, line)
	}
	b.Bbox = boundingBox(b.Lines)
	if kind == layout.ListItem {
		b.Level, b.Marker = 1, strings.Fields(lines[0])[0]
	}
	return b
}

func page(n int32, blocks ...*inkstreamv1.Block) *inkstreamv1.Page {
	return &inkstreamv1.Page{
		Number: n, Width: 595, Height: 842, Outcome: "native_text", Blocks: blocks,
		Fonts: []*inkstreamv1.Font{{Name: "Times"}, {Name: "Times-Bold", Weight: 700}, {Name: "Courier", FixedPitch: true}},
	}
}

// read makes a block one that was recognised.
func read(b *inkstreamv1.Block) *inkstreamv1.Block {
	for _, l := range b.GetLines() {
		for _, w := range l.GetWords() {
			w.Confidence = proto.Float32(0.9)
		}
	}
	return b
}

// prose is a paragraph of the document's body.
func prose(y float32) *inkstreamv1.Block {
	return text(layout.Paragraph, 72, y, 10, 1, "the body of the document is set in this type, and there is a good deal",
		"of it, so that nobody takes it for anything else than what it is.")
}

// planned observes pages, decides about them, and carries that out.
func planned(t *testing.T, outline []*inkstreamv1.OutlineEntry, pages ...*inkstreamv1.Page) *Plan {
	t.Helper()
	var evidence []*Evidence
	for _, p := range pages {
		data, err := EncodeObservedPage(p)
		if err != nil {
			t.Fatal(err)
		}
		e, err := DecodeEvidence(data)
		if err != nil {
			t.Fatal(err)
		}
		evidence = append(evidence, e)
	}
	plan := NewPlan(evidence, outline)
	stored := plan.EncodePages(len(pages))
	for _, p := range pages {
		again := proto.Clone(p).(*inkstreamv1.Page)
		plan.ApplyTo(p)
		if one, err := DecodePlanOfPage(stored, int(p.GetNumber())); err != nil {
			t.Errorf("page %d: decode the stored plan: %v", p.GetNumber(), err)
		} else if one.ApplyTo(again); !proto.Equal(p, again) || one.Title != plan.Title {
			t.Errorf("page %d: the stored plan does other than the plan", p.GetNumber())
		}
		if plan.ApplyTo(p) {
			t.Errorf("page %d changes when the plan is applied again", p.GetNumber())
		}
	}
	return plan
}

func markdown(t *testing.T, plan *Plan, pages ...*inkstreamv1.Page) string {
	t.Helper()
	var b strings.Builder
	m := NewMarkdownWriter(&b, plan)
	for _, p := range pages {
		if err := m.WritePage(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func kinds(p *inkstreamv1.Page) string {
	var out []string
	for _, b := range p.GetBlocks() {
		k := b.GetType()
		if b.GetType() == layout.Heading {
			k += fmt.Sprint(b.GetLevel())
		}
		if b.GetContinued() {
			k += "…"
		}
		out = append(out, k)
	}
	return strings.Join(out, " ")
}

func TestRunningLines(t *testing.T) {
	t.Parallel()
	many := func(build func(n int32) *inkstreamv1.Page) []*inkstreamv1.Page {
		var out []*inkstreamv1.Page
		for n := int32(1); n <= 6; n++ {
			out = append(out, build(n))
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		pages []*inkstreamv1.Page
		want  []string
	}{
		{
			"a head and a page number",
			many(func(n int32) *inkstreamv1.Page {
				return page(n, text(layout.Paragraph, 72, 30, 9, 1, "The Annual Report"), prose(200),
					text(layout.Paragraph, 290, 800, 9, 1, fmt.Sprint(n+10)))
			}),
			slices.Repeat([]string{"header paragraph page_number"}, 6),
		},
		{
			"numbers in the text of a foot differ",
			many(func(n int32) *inkstreamv1.Page {
				return page(n, prose(200), text(layout.Paragraph, 72, 800, 9, 1, fmt.Sprintf("The Annual Report, page %d of 6", n)))
			}),
			slices.Repeat([]string{"paragraph footer"}, 6),
		},
		{
			"heads change with the chapters",
			many(func(n int32) *inkstreamv1.Page {
				return page(n, text(layout.Paragraph, 72, 30, 9, 1, []string{"Apples", "Pears"}[n/4]), prose(200))
			}),
			slices.Repeat([]string{"header paragraph"}, 6),
		},
		{
			"a head that was read with the text below it",
			many(func(n int32) *inkstreamv1.Page {
				return page(n, text(layout.Paragraph, 72, 100, 10, 1, "The Annual Report",
					fmt.Sprintf("text %s of its own", strings.Repeat("ab", int(n)))), prose(200))
			}),
			slices.Repeat([]string{"header paragraph paragraph"}, 6),
		},
		{
			"lines that differ are text",
			many(func(n int32) *inkstreamv1.Page {
				return page(n, text(layout.Paragraph, 72, 30, 10, 1, strings.Repeat("ab", int(n))+" begins this page."), prose(200))
			}),
			slices.Repeat([]string{"paragraph paragraph"}, 6),
		},
		{"the number of a single page", []*inkstreamv1.Page{page(1, prose(200),
			text(layout.Paragraph, 290, 800, 9, 1, "7"))}, []string{"paragraph page_number"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			planned(t, nil, tt.pages...)
			for i, p := range tt.pages {
				if got := kinds(p); got != tt.want[i] {
					t.Errorf("page %d: got %q, want %q", i+1, got, tt.want[i])
				}
			}
		})
	}
}

func TestHeadings(t *testing.T) {
	t.Parallel()
	para := layout.Paragraph
	for _, tt := range []struct {
		name    string
		outline []*inkstreamv1.OutlineEntry
		tags    []*inkstreamv1.Tag
		blocks  []*inkstreamv1.Block
		want    string
	}{
		{
			name: "larger is higher", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{
				text(para, 72, 60, 16, 1, "Chapter one"), prose(100), text(para, 72, 150, 12, 1, "A section"), prose(170),
				prose(200), text(para, 72, 250, 12, 1, "Another"), prose(270),
				text(para, 72, 310, 16, 1, "Chapter two"), prose(340),
			},
			want: "heading1 paragraph heading2 paragraph paragraph heading2 paragraph heading1 paragraph",
		},
		{
			name: "the largest type at the beginning is the title", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{text(para, 72, 60, 24, 1, "A Study of Pears"), text(para, 72, 100, 14, 1, "Introduction"),
				prose(130), text(para, 72, 170, 14, 1, "Method"), prose(200), prose(230)},
			want: "title heading1 paragraph heading1 paragraph paragraph",
		},
		{
			name: "letters of a directory, and others", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{text(para, 72, 60, 15, 1, "A"), text(para, 72, 80, 10, 1, "Abbott, Clara"), prose(100),
				text(para, 72, 150, 15, 1, "B"), text(para, 72, 170, 10, 1, "Barlow, Ivo"), prose(190), text(para, 72, 240, 15, 1, "C"), prose(260)},
			want: "heading1 paragraph paragraph heading1 paragraph paragraph paragraph paragraph",
		},
		{
			name: "a quotation in large type", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{text(para, 72, 60, 15, 1, "Pears"), prose(100), text(para, 72, 150, 16, 1, "“None of us had seen it”"),
				prose(180), text(para, 72, 210, 15, 1, "Apples"), prose(240)},
			want: "heading1 paragraph paragraph paragraph heading1 paragraph",
		},
		{
			name: "a title of two lines", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{text(para, 72, 60, 24, 1, "A Study of Pears"), text(para, 72, 90, 24, 1, "and of Apples"),
				prose(130), prose(170)},
			want: "title title paragraph paragraph",
		},
		{
			name: "lines of the largest type with text between them are no title", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{
				prose(60), text(para, 72, 100, 15, 1, "Scope of the agreement"), prose(130),
				text(para, 72, 170, 15, 1, "Payment terms"), prose(200), text(para, 72, 240, 15, 1, "Liability"), prose(270),
			},
			want: "paragraph heading1 paragraph heading1 paragraph heading1 paragraph",
		},
		{
			name: "nor are they in Chinese", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{
				text(para, 72, 60, 10, 1, "本合同由甲方与乙方签订，双方就软件开发服务达成如下协议。"), text(para, 72, 100, 15, 1, "第一条服务内容"),
				text(para, 72, 130, 10, 1, "甲方委托乙方开发系统，乙方应当按照约定的时间和质量标准完成开发工作。"), text(para, 72, 170, 15, 1, "第二条合同金额"),
				text(para, 72, 200, 10, 1, "甲方应于签订后支付首期款项百分之三十，其余款项在验收之后付清。"),
			},
			want: "paragraph heading1 paragraph heading1 paragraph",
		},
		{
			name: "the structure names one title, and others that are none", outline: nil,
			tags: []*inkstreamv1.Tag{
				{Role: "Title", Bbox: []float32{70, 58, 300, 82}}, {Role: "Title", Bbox: []float32{70, 88, 300, 112}},
				{Role: "Title", Bbox: []float32{70, 198, 300, 222}},
				{Role: "H1", Bbox: []float32{70, 258, 300, 272}},
			},
			blocks: []*inkstreamv1.Block{
				text(para, 72, 60, 24, 1, "A Study of Pears"), text(para, 72, 90, 24, 1, "and of Apples"), prose(130),
				text(para, 72, 200, 24, 1, "A Study of Figs"), prose(230),
				text(para, 72, 260, 12, 1, "Method"), prose(290),
			},
			want: "title title paragraph heading1 paragraph heading1 paragraph",
		},
		{
			name: "bold type of the body's size", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{text(para, 72, 60, 10, 2, "Introduction"), prose(100), prose(140),
				text(para, 72, 180, 10, 2, "Method"), prose(200), prose(240)},
			want: "heading1 paragraph paragraph heading1 paragraph paragraph",
		},
		{
			name: "numbers tell the depth", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{
				text(para, 72, 60, 12, 2, "1 Introduction"), prose(100), text(para, 72, 130, 12, 2, "1.1 History"), prose(150),
				text(para, 72, 180, 12, 2, "1.1.1 Early times"), prose(200),
				text(para, 72, 250, 12, 2, "2 Method"), prose(270), prose(310), prose(350),
			},
			want: "heading1 paragraph heading2 paragraph heading3 paragraph heading1 paragraph paragraph paragraph",
		},
		{
			name: "the outline knows better",
			outline: []*inkstreamv1.OutlineEntry{{Title: "Introduction", Level: 2, Page: 1}, {Title: "METHOD", Level: 3, Page: 1},
				{Title: "Elsewhere", Level: 1, Page: 9}},
			tags: nil,
			blocks: []*inkstreamv1.Block{text(para, 72, 60, 10, 1, "Introduction"), prose(100), text(para, 72, 150, 10, 1, "Method"),
				prose(170), text(para, 72, 220, 10, 1, "Elsewhere"), prose(250)},
			want: "heading2 paragraph heading3 paragraph paragraph paragraph",
		},
		{
			name:    "the outline leaves out numbers, or has them",
			outline: []*inkstreamv1.OutlineEntry{{Title: "Introduction", Level: 2, Page: 1}, {Title: "2.1 Method", Level: 3, Page: 1}},
			tags:    nil,
			blocks: []*inkstreamv1.Block{text(para, 72, 60, 10, 1, "1. Introduction"), prose(100), text(para, 72, 150, 10, 1, "Method"),
				prose(170), prose(220)},
			want: "heading2 paragraph heading3 paragraph paragraph",
		},
		{
			name: "what the outline does not name stands below, with the heading right under it, or is a label that comes again",
			outline: []*inkstreamv1.OutlineEntry{
				{Title: "Pears", Level: 1}, {Title: "Early", Level: 2}, {Title: "Late", Level: 2}, {Title: "Apples", Level: 1},
				{Title: "Red", Level: 2}, {Title: "Green", Level: 2},
				{Title: "Brown", Level: 2},
			},
			tags: nil,
			blocks: []*inkstreamv1.Block{
				text(para, 72, 60, 20, 1, "Pears"), prose(90), text(para, 72, 120, 13, 1, "Early"), prose(140),
				text(para, 72, 170, 11, 2, "Note"), prose(185),
				text(para, 72, 220, 13, 1, "Late"), text(para, 72, 240, 11, 2, "Note"), prose(255),
				text(para, 72, 285, 10, 2, "An aside"), prose(300),
				text(para, 72, 330, 17, 1, "Part 2"), text(para, 72, 350, 20, 1, "Apples"), prose(380),
				text(para, 72, 410, 13, 1, "Red"), text(para, 72, 430, 11, 2, "Note"), prose(445),
				text(para, 72, 480, 13, 1, "Green"), prose(500), text(para, 72, 530, 13, 1, "Brown"), prose(550),
			},
			want: "heading1 paragraph heading2 paragraph paragraph paragraph heading2 paragraph paragraph heading3 paragraph " +
				"heading1 heading1 paragraph heading2 paragraph paragraph heading2 paragraph heading2 paragraph",
		},
		{
			name: "what is read in a picture", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{
				text(para, 72, 60, 16, 1, "Chapter one"), prose(100), read(text(para, 72, 150, 30, 0, "Stop")),
				text(para, 72, 190, 12, 1, "A section"), prose(210),
				text(para, 72, 250, 16, 1, "Chapter two"), prose(280),
			},
			want: "heading1 paragraph paragraph heading1 paragraph heading1 paragraph",
		},
		{
			name: "a bullet in another font is an item all the same", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{prose(60), text(layout.ListItem, 72, 100, 10, 3, "• initrd.gz (the image)"), prose(120),
				text(layout.ListItem, 72, 160, 10, 3, "3. Images of disks"), prose(180)},
			want: "paragraph list_item paragraph heading1 paragraph",
		},
		{
			name: "so does the structure", outline: nil,
			tags: []*inkstreamv1.Tag{{Role: "H2", Bbox: []float32{70, 58, 200, 72}}, {Role: "P", Bbox: []float32{70, 148, 200, 164}}},
			blocks: []*inkstreamv1.Block{text(para, 72, 60, 10, 1, "Introduction"), prose(100),
				text(para, 72, 150, 13, 2, "Bold, and no heading"), prose(170), prose(210)},
			want: "heading2 paragraph paragraph paragraph paragraph",
		},
		{
			name: "sentences and long passages are none", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{
				text(para, 72, 60, 10, 2, "Note that this whole sentence is bold."), prose(100),
				text(para, 72, 150, 10, 2, strings.Repeat("bold words that go on and on ", 3), strings.Repeat("and on and on ", 5),
					"in three lines"), prose(200), prose(240),
			},
			want: "paragraph paragraph paragraph paragraph paragraph",
		},
		{
			name: "where all is bold, bold says nothing", outline: nil, tags: nil,
			blocks: []*inkstreamv1.Block{text(para, 72, 60, 10, 2, "short line"),
				text(para, 72, 100, 10, 2, "all of the body of this document", "is set in bold type.", "It goes on."),
				text(para, 72, 150, 10, 2, "all of the body of this document", "is set in bold type.", "It goes on.")},
			want: "paragraph paragraph paragraph",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := page(1, tt.blocks...)
			p.Tags = tt.tags
			planned(t, tt.outline, p)
			if got := kinds(p); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func table(x0, x1, y float32, rows ...[]string) *inkstreamv1.Block {
	t := &inkstreamv1.Table{Rows: int32(len(rows)), Columns: int32(len(rows[0])), Number: 1, HeaderRows: 1}
	b := &inkstreamv1.Block{Type: layout.Table, Table: t, Bbox: []float32{x0, y, x1, y + 20*float32(len(rows))}}
	for i, row := range rows {
		for j, s := range row {
			if s == "" {
				continue
			}
			cell := text(layout.Paragraph, x0+float32(j)*60, y+float32(i)*20, 10, 1, s)
			t.Cells = append(t.Cells, &inkstreamv1.Cell{Row: int32(i), Column: int32(j), RowSpan: 1, ColumnSpan: 1,
				Bbox: cell.Bbox, Text: s})
			b.Lines = append(b.Lines, cell.Lines...)
		}
	}
	return b
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	para := layout.Paragraph
	code := text(layout.Code, 72, 72, 10, 3, "if x {", "print(x)", "}")
	for i, w := range code.Lines[1].Words {
		w.Bbox[0] += 20 + float32(i)
		w.Bbox[2] += 20 + float32(i)
	}
	spanning := table(72, 300, 72, []string{"All of it", ""}, []string{"a", "b"})
	spanning.Table.Cells[0].ColumnSpan = 2
	linked := text(para, 72, 72, 10, 1, "see the manual of it.")
	linked.Lines[0].Words[1].Link, linked.Lines[0].Words[2].Link = 1, 1
	unsafe := text(para, 72, 72, 10, 1, "click here")
	unsafe.Lines[0].Words[1].Link = 2
	inner := text(layout.ListItem, 92, 96, 10, 1, "• inner")
	inner.Level = 2
	for _, tt := range []struct {
		name  string
		pages []*inkstreamv1.Page
		want  string
	}{
		{"nothing", []*inkstreamv1.Page{page(1)}, ""},
		{
			"a paragraph over a page break, past notes and running heads",
			[]*inkstreamv1.Page{
				page(1, text(para, 72, 600, 10, 1, "This sentence was not finished when the page came to an"),
					text(layout.Footnote, 72, 700, 8, 1, "1 a note"), text(layout.PageNumber, 290, 800, 9, 1, "1")),
				page(2, text(layout.Header, 72, 30, 9, 1, "Report"), text(para, 72, 72, 10, 1, "end, but it is now.")),
			},
			"This sentence was not finished when the page came to an end, but it is now.\n\n1 a note",
		},
		{
			"a word over a page break",
			[]*inkstreamv1.Page{page(1, text(para, 72, 600, 10, 1, "The word was bro-")),
				page(2, text(para, 72, 72, 10, 1, "ken here."))},
			"The word was broken here.",
		},
		{
			"a paragraph past a figure",
			[]*inkstreamv1.Page{func() *inkstreamv1.Page {
				p := page(1, text(para, 72, 72, 10, 1, "It goes on below"),
					&inkstreamv1.Block{Type: layout.Figure, Image: 1, Bbox: []float32{72, 100, 200, 200}},
					text(layout.Caption, 72, 210, 10, 1, "Figure 1: a pear"), text(para, 72, 240, 10, 1, "the figure."))
				p.Images = []*inkstreamv1.Image{{Name: "images/1-1.jpg"}}
				return p
			}()},
			"It goes on below the figure.\n\n![Figure on page 1](images/1-1.jpg)\n\nFigure 1: a pear",
		},
		{
			"a list with a list in it",
			[]*inkstreamv1.Page{page(1, text(layout.ListItem, 72, 72, 10, 1, "• first"), inner,
				text(layout.ListItem, 72, 120, 10, 1, "2. second"), text(layout.ListItem, 72, 132, 10, 1, "(b) third"))},
			"- first\n  - inner\n2. second\n- (b) third",
		},
		{"code keeps its indents", []*inkstreamv1.Page{page(1, code)}, "```\nif x {\n    print(x)\n}\n```"},
		{"a table", []*inkstreamv1.Page{page(1,
			table(72, 300, 72, []string{"Item", "Count"}, []string{"Pears | figs", ""}))},
			"| Item | Count |\n| --- | --- |\n| Pears &#124; figs |  |"},
		{
			"a table with cells that span",
			[]*inkstreamv1.Page{page(1, spanning)},
			"<table>\n<tr><th colspan=\"2\">All of it</th></tr>\n<tr><td>a</td><td>b</td></tr>\n</table>",
		},
		{
			"links that lead outside, and those that nobody should follow",
			[]*inkstreamv1.Page{func() *inkstreamv1.Page {
				p := page(1, linked, unsafe)
				p.Links = []*inkstreamv1.Link{{Uri: "https://example.org/a (b)"}, {Uri: "javascript:alert(1)"}}
				return p
			}()},
			"see [the manual](https://example.org/a%20%28b%29) of it.\n\nclick here",
		},
		{
			"what markdown would take for its own",
			[]*inkstreamv1.Page{page(1, text(para, 72, 72, 10, 1, "# *not* [a] <b> snake_case _x_"),
				text(para, 72, 92, 10, 1, "1. is no list"), text(para, 72, 112, 10, 1, "- nor is this"))},
			"\\# \\*not\\* \\[a\\] &lt;b> snake_case \\_x\\_\n\n1\\. is no list\n\n\\- nor is this",
		},
		{
			"entries of a table of contents",
			[]*inkstreamv1.Page{page(1, func() *inkstreamv1.Block {
				b := text(layout.ListItem, 72, 72, 10, 1, "First chapter . . . . . . 12")
				b.Marker = ""
				return b
			}())},
			"- First chapter 12",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			plan := planned(t, nil, tt.pages...)
			if got := strings.TrimRight(markdown(t, plan, tt.pages...), "\n"); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestChunks(t *testing.T) {
	t.Parallel()
	long := make([]string, 30)
	for i := range long {
		long[i] = "ten words are in this line of the long paragraph"
	}
	pages := []*inkstreamv1.Page{
		page(1, text(layout.Title, 72, 40, 20, 1, "Title"), text(layout.Paragraph, 72, 72, 10, 1, "before any heading"),
			text(layout.Heading, 72, 90, 14, 1, "One"), prose(110)),
		page(2, text(layout.Header, 72, 30, 9, 1, "head"), text(layout.Paragraph, 72, 72, 10, 1, long...),
			table(72, 300, 600, []string{"a", "b"}, []string{"c", "d"})),
	}
	pages[0].Blocks[2].Level = 1
	var b strings.Builder
	c := NewChunkWriter(&b, 100)
	for _, p := range pages {
		if err := c.WritePage(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	words := 0
	for i, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		var got Chunk
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		want := []string{"Title", "One"}
		if i == 0 {
			want = want[:1]
		}
		if got.ID != i+1 || !slices.Equal(got.Headings, want) || got.Words > 120 || len(got.Boxes) == 0 ||
			len(got.Pages) == 0 {
			t.Errorf("passage %d: id %d, under %q, %d words, pages %v, %d boxes", i+1, got.ID, got.Headings, got.Words,
				got.Pages, len(got.Boxes))
		}
		if strings.Contains(got.Text, "head") && i > 0 {
			t.Errorf("passage %d has the running head: %q", i+1, got.Text)
		}
		words += got.Words
	}
	if want := 3 + 30 + 300 + 4; words != want {
		t.Errorf("%d words in all passages, want %d", words, want)
	}
}

// TestLineNumbersAreLeftOut leaves the numbers that count the lines of a page out of its Markdown and its passages,
// and goes on with a sentence past them.
func TestLineNumbersAreLeftOut(t *testing.T) {
	t.Parallel()
	numbers := text(layout.Paragraph, 40, 100, 10, 1, "11", "12", "13", "14", "15", "16", "17")
	open := text(layout.Paragraph, 72, 100, 10, 1, "the harbour was closed for the whole of that winter, as")
	rest := text(layout.Paragraph, 72, 100, 10, 1, "the ice had not gone.")
	first, second := page(1, open), page(2, proto.Clone(numbers).(*inkstreamv1.Block), rest)
	plan := planned(t, nil, first, second)
	plan.ApplyTo(first)
	plan.ApplyTo(second)
	if got, want := markdown(t, plan, first, second), "for the whole of that winter, as the ice"; !strings.Contains(got, want) {
		t.Errorf("got the Markdown %q, want the sentence to go on past the numbers of the next page", got)
	}
	pg := page(1, numbers, prose(100))
	if got := markdown(t, nil, pg); strings.Contains(got, "1") || got == "" {
		t.Errorf("got the Markdown %q, want the text alone", got)
	}
	var b strings.Builder
	c := NewChunkWriter(&b, 50)
	if err := c.WritePage(pg); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "13 14") || got == "" {
		t.Errorf("got the passages %q, want the text alone", got)
	}
}
