package answer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/services/ocr/internal/vision/answer"
)

func readFixture(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatalf("fixture: %v", err)
	}
	return string(data)
}

// describe writes blocks a line each, so that a test can say what it wants.
func describe(blocks []answer.Block) string {
	var out strings.Builder
	for _, b := range blocks {
		text := b.Text
		if len(text) > 40 {
			text = text[:40] + "…"
		}
		fmt.Fprintf(&out, "%s", b.Kind)
		if b.Level > 0 {
			fmt.Fprintf(&out, "%d", b.Level)
		}
		if b.Box.Exists() {
			fmt.Fprintf(&out, " @%.2f,%.2f", b.Box[0], b.Box[1])
		}
		if b.Table != nil {
			fmt.Fprintf(&out, " %dx%d/%d", b.Table.Rows, b.Table.Columns, b.Table.HeaderRows)
		}
		fmt.Fprintf(&out, " %s\n", strings.ReplaceAll(text, "\n", "|"))
	}
	return out.String()
}

const groundedPage = `Text before any tag, of a high- quality page.

<|ref|>sub_title<|/ref|><|det|>[[217, 209, 520, 225]]<|/det|>
### 5.1 Hyper **Parameter** Optimization  

<|ref|>table<|/ref|><|det|>[[225, 421, 777, 595]]<|/det|>
<|ref|>table_caption<|/ref|><|det|>[[217, 342, 785, 413]]<|/det|>
<center>Table 1. What was measured \(2x\) </center>

<table><tr><th rowspan="2">a</th><th colspan="2">b</th></tr><tr><th>c</th><th>d</th></tr><tr><td>1</td><td>2</td><td>3</td></tr></table>

<|ref|>equation<|/ref|><|det|>[[100, 600, 300, 650]]<|/det|>
\[E = mc^{2} \cdot \alpha\]

<|ref|>image<|/ref|><|det|>[[530, 700, 905, 766]]<|/det|>
<|ref|>text<|/ref|><|det|>[[900, 800, 100, 999], [100, 900, 5000, 999]]<|/det|>
- one
- two of them
`

const groundedWant = `paragraph Text before any tag, of a high-quality p…
heading3 @0.22,0.21 5.1 Hyper Parameter Optimization
caption @0.22,0.34 Table 1. What was measured 2x
table @0.23,0.42 3x3/2 a b|c d|1 2 3
formula @0.10,0.60 E = mc2 · α
figure @0.53,0.70 
list_item @0.10,0.80 one
list_item @0.10,0.80 two of them
`

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		format     answer.Format
		scale      float64
		want       string
		broken     bool
	}{
		{name: "deepseek", text: groundedPage, format: answer.Grounded, scale: 999, want: groundedWant},
		{name: "deepseek without special tokens",
			text:   "title[[100, 100, 500, 200]]\n# A title\n\ntext[[100, 300, 500, 400]]\nWords.\n",
			format: answer.Grounded, scale: 999,
			want: "title @0.10,0.10 A title\nparagraph @0.10,0.30 Words.\n"},
		{name: "unlimited",
			text:   "<|det|>title [100, 100, 500, 200]<|/det|># A title\n<|det|>text [100, 300, 500, 400]<|/det|>Words.",
			format: answer.Grounded, scale: 999,
			want: "title @0.10,0.10 A title\nparagraph @0.10,0.30 Words.\n"},
		{name: "code that a box must not be",
			text:   "<|ref|>text<|/ref|><|det|>[[__import__('os').system('id')]]<|/det|>\nWords.",
			format: answer.Grounded, scale: 999, want: "paragraph Words.\n"},
		{name: "dots", text: `[{"bbox": [100, 200, 300, 400], "category": "Section-header", "text": "## A part"},
			{"bbox": [1, 2, 3], "category": "Table", "text": "<table><tr><td>x</td><td>y</td></tr></table>"},
			{"bbox": [100, 500, 300, 600], "category": "Picture"}, {"bbox": "no", "category": "Text", "text": "kept"}]`,
			format: answer.DotsJSON, scale: 1000, want: "heading2 @0.10,0.20 A part\ntable 1x2/0 x y\nfigure @0.10,0.50 \nparagraph kept\n", broken: false},
		{name: "dots, cut",
			text:   `[{"bbox": [100, 200, 300, 400], "category": "Text", "text": "whole"}, {"bbox": [1, 2`,
			format: answer.DotsJSON, scale: 1000, want: "paragraph @0.10,0.20 whole\n", broken: true},
		{name: "chandra", text: `<div data-bbox="100 200 300 400" data-label="Section-Header"><h2>A <b>part</b></h2></div>
			<div data-bbox="[100, 500, 300, 600]" data-label="Equation-Block"><math display="block">x^2 + 1</math></div>
			<div data-bbox="100 700 300 800" data-label="List-Group"><ul><li>• one</li><li>two</li></ul></div>
			<div data-bbox="1 2 3 900" data-label="Figure"><img alt="a chart"/><table><tr><td>guessed</td></tr></table></div>
			<div data-bbox="100 910 300 950" data-label="Page-Footer">foot</div>`, format: answer.HTML, scale: 1000,
			want: "heading2 @0.10,0.20 A part\nformula @0.10,0.50 x2 + 1\nlist_item @0.10,0.70 one\nlist_item @0.10,0.70 two\n" +
				"figure @0.00,0.00 guessed\nfooter @0.10,0.91 foot\n", broken: false},
		{name: "qwen", text: "```html\n" + `<html><body><h2 data-bbox="100 100 300 200">Head</h2><p data-bbox="100 300 300 400">Words.</p>` +
			`<table data-bbox="100 500 300 600"><tr><td>a</td><td>b</td></tr></table></body></html>` + "\n```", format: answer.HTML, scale: 1000,
			want: "heading2 @0.10,0.10 Head\nparagraph @0.10,0.30 Words.\ntable @0.10,0.50 1x2/0 a b\n", broken: false},
		{name: "doctags", text: `<doctag><section_header_level_1><loc_110><loc_107><loc_260><loc_113>5.1 Part</section_header_level_1>
			<otsl><loc_100><loc_200><loc_300><loc_400><caption><loc_100><loc_180><loc_300><loc_190>Table 1</caption>` +
			`<ched>a<ched>b<lcel><nl><fcel>1<fcel>2<fcel>3<nl><ucel><fcel>4<ecel><nl></otsl>
			<picture><loc_1><loc_2><loc_30><loc_40></picture><text><loc_1><loc_2><loc_3>no box</text></doctag>`, format: answer.DocTags, scale: 500,
			want: "heading1 @0.22,0.21 5.1 Part\ncaption @0.20,0.36 Table 1\ntable @0.20,0.40 3x3/1 a b|1 2 3|4\n" +
				"figure @0.00,0.00 \nparagraph no box\n", broken: false},
		{name: "olmocr", text: "---\nprimary_language: en\nis_rotation_valid: False\nrotation_correction: 90\nis_table: False\n---\n# Head\n\n" +
			"| a | b |\n|---|---|\n| 1 | $5 and $6 |\n\n1. first\n2. second\n   goes on\n", format: answer.Markdown, scale: 0,
			want: "heading1 Head\ntable 2x2/1 a b|1 $5 and $6\nlist_item 1. first\nlist_item 2. second goes on\n", broken: false},
		{name: "latex table", text: "<!-- Table (100, 100, 300, 200) -->\n\\begin{tabular}{|l|c|}\n\\hline\n\\multicolumn{2}{|c|}{Head} \\\\\n\\hline\n" +
			"\\multirow{2}{*}{a} & 50\\% \\\\\n & x \\& y \\\\\n\\end{tabular}\n", format: answer.Markdown, scale: 1000,
			want: "table @0.10,0.10 3x2/1 Head|a 50%|x & y\n", broken: false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := answer.Parse(tt.format, tt.text, answer.Options{ScaleX: tt.scale, ScaleY: tt.scale})
			if got := describe(a.Blocks); got != tt.want || a.Broken != tt.broken {
				t.Errorf("broken %v, got\n%s\nwant\n%s", a.Broken, got, tt.want)
			}
		})
	}
}

func TestRotationOfOlmOCR(t *testing.T) {
	t.Parallel()
	a := answer.Parse(answer.Markdown, "---\nis_rotation_valid: False\nrotation_correction: 90\n---\nx", answer.Options{})
	if a.Turn != 90 {
		t.Errorf("got %d, want 90", a.Turn)
	}
}

func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		format answer.Format
		scale  [2]float64
		blocks int
		kinds  map[answer.Kind]int
		broken bool
	}{
		{name: "chandra_list_group.html", format: answer.HTML, scale: [2]float64{1000, 1000}, blocks: 14,
			kinds: map[answer.Kind]int{answer.Heading: 4, answer.ListItem: 4, answer.Paragraph: 6}},
		{name: "chandra_multiblock.html", format: answer.HTML, scale: [2]float64{1000, 1000},
			kinds: map[answer.Kind]int{answer.Figure: 1, answer.Caption: 1}},
		{name: "dots_list.json", format: answer.DotsJSON, scale: [2]float64{1224, 1584}, blocks: 14,
			kinds: map[answer.Kind]int{answer.Heading: 4, answer.ListItem: 4}, broken: true},
		{name: "olmocr_earnings.md", format: answer.Markdown, scale: [2]float64{},
			kinds: map[answer.Kind]int{answer.TableBlock: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := answer.Parse(tt.format, readFixture(t, tt.name), answer.Options{ScaleX: tt.scale[0], ScaleY: tt.scale[1]})
			count := map[answer.Kind]int{}
			for _, b := range a.Blocks {
				count[b.Kind]++
				if b.Kind != answer.TableBlock && strings.ContainsAny(b.Text, "*<>") {
					t.Errorf("marks in %q", b.Text)
				}
				if tt.scale[0] > 0 && !b.Box.Exists() {
					t.Errorf("%s %q has no box", b.Kind, b.Text)
				}
			}
			if tt.blocks > 0 && len(a.Blocks) != tt.blocks || a.BadBoxes > 0 || a.Broken != tt.broken {
				t.Errorf("got %d blocks, %d bad boxes, broken %v:\n%s", len(a.Blocks), a.BadBoxes, a.Broken, describe(a.Blocks))
			}
			for kind, n := range tt.kinds {
				if count[kind] != n {
					t.Errorf("%s: got %d, want %d\n%s", kind, count[kind], n, describe(a.Blocks))
				}
			}
		})
	}
}

// FuzzParse holds every format to what a page may have, whatever a model writes.
func FuzzParse(f *testing.F) {
	formats := []answer.Format{answer.Grounded, answer.DotsJSON, answer.HTML, answer.DocTags, answer.Markdown}
	f.Add(groundedPage, 0)
	f.Add(`[{"bbox":[1,2,3,4],"category":"Table","text":"<table><tr><td rowspan=9999 colspan=-3>"}]`, 1)
	f.Add(`<div data-bbox="1 2 3"><table><tr><td colspan=3>a<table><tr><td>`, 2)
	f.Add(`<otsl><loc_1><loc_2><loc_3><loc_4><fcel>a<lcel><xcel><nl><ucel>`, 3)
	f.Add("\\begin{tabular}{l}a & \\multirow{9}{*}{x}\\\\\n| a |\n|--|\n$$x", 4)
	f.Fuzz(func(t *testing.T, text string, which int) {
		format := formats[max(which, -which)%len(formats)]
		a := answer.Parse(format, text, answer.Options{ScaleX: 999, ScaleY: 999})
		for _, b := range a.Blocks {
			if b.Kind == "" || b.Box != (answer.Box{}) && !(b.Box.Exists() && b.Box[0] >= 0 && b.Box[2] <= 1 && b.Box[1] >= 0 && b.Box[3] <= 1) {
				t.Fatalf("block %+v", b)
			}
			if b.Table == nil {
				continue
			}
			taken := map[[2]int]bool{}
			for _, c := range b.Table.Cells {
				for r := range c.RowSpan {
					for k := range c.ColumnSpan {
						at := [2]int{c.Row + r, c.Column + k}
						if taken[at] || at[0] >= b.Table.Rows || at[1] >= b.Table.Columns {
							t.Fatalf("cell %+v of %dx%d", c, b.Table.Rows, b.Table.Columns)
						}
						taken[at] = true
					}
				}
			}
		}
	})
}
