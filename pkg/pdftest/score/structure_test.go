package score

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func grid(t *testing.T, csv string) Grid {
	t.Helper()
	g, err := ReadCSV(strings.NewReader(csv))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCompareTables(t *testing.T) {
	t.Parallel()
	const truth = "Country,1996,1993\nAustria,59,54\nBelgium/Lux,62,60\n"
	for _, tt := range []struct {
		name, truth, got string
		want             Cells
	}{
		{"the same", truth, truth, Cells{9, 9, 9}},
		{"nothing", truth, "", Cells{0, 9, 0}},
		{"one cell read wrong", truth, strings.Replace(truth, "62", "82", 1), Cells{8, 9, 9}},
		{"white space does not count", truth, strings.Replace(truth, "Belgium/Lux", "\"Belgium\n/ Lux\"", 1), Cells{9, 9, 9}},
		{"a row too many costs its cells only", truth, "Table 7,,\n" + truth, Cells{9, 9, 10}},
		{"a row is missing", truth, "Country,1996,1993\nBelgium/Lux,62,60\n", Cells{6, 9, 6}},
		{"an empty column is no error", truth, "Country,,1996,1993\nAustria,,59,54\nBelgium/Lux,,62,60\n", Cells{9, 9, 9}},
		{"columns that were not parted", truth, "Country,1996 1993\nAustria,59 54\nBelgium/Lux,62 60\n", Cells{3, 9, 6}},
		{"rows that were swapped", truth, "Country,1996,1993\nBelgium/Lux,62,60\nAustria,59,54\n", Cells{6, 9, 9}},
		{"rows that were not parted", "a,b\nc,d\n", "a c,b d\n", Cells{0, 4, 2}},
		{"rows of different lengths", "a,b,c\nd\n", "a,b,c\nd,,\n", Cells{4, 4, 4}},
		{"a hyphen at a line's end", "heavy- duty,light-weight\n", "\"heavy\nduty\",lightweight\n", Cells{2, 2, 2}},
		{"a sign is no hyphen", "-1.7\n", "1.7\n", Cells{0, 1, 1}},
		{"right-to-left cells in the order of the page", "\u05d0\u05d1\u05d2,1\n", "\u05d2\u05d1\u05d0,1\n", Cells{2, 2, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := CompareTables(grid(t, tt.truth), grid(t, tt.got)); got != tt.want {
				t.Errorf("CompareTables(%q, %q) = %+v, want %+v", tt.truth, tt.got, got, tt.want)
			}
		})
	}
}

func TestMatchTables(t *testing.T) {
	t.Parallel()
	a, b := grid(t, "a,b\nc,d\n"), grid(t, "1,2\n3,4\n")
	truth := []PlacedTable{{2, a}, {2, b}}
	for _, tt := range []struct {
		name     string
		got      []PlacedTable
		want     []Cells
		spurious int
	}{
		{name: "in another order", got: []PlacedTable{{2, b}, {2, a}}, want: []Cells{{4, 4, 4}, {4, 4, 4}}},
		{
			name: "on another page", got: []PlacedTable{{1, a}, {2, b}}, want: []Cells{{0, 4, 0}, {4, 4, 4}},
			spurious: 1,
		},
		{name: "page not known", got: []PlacedTable{{0, a}}, want: []Cells{{4, 4, 4}, {0, 4, 0}}},
		{
			name: "the more similar one is taken", got: []PlacedTable{{2, grid(t, "a,x\n")}, {2, a}},
			want: []Cells{{4, 4, 4}, {0, 4, 0}}, spurious: 1,
		},
		{name: "none", want: []Cells{{0, 4, 0}, {0, 4, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, spurious := MatchTables(truth, tt.got)
			if !slices.Equal(got, tt.want) || len(spurious) != tt.spurious {
				t.Errorf("MatchTables = %+v and %d spurious, want %+v and %d", got, len(spurious), tt.want, tt.spurious)
			}
		})
	}
}

func TestF1(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		equal, truth, got int
		want              float64
	}{{0, 0, 0, 1}, {0, 3, 0, 0}, {0, 0, 3, 0}, {3, 3, 3, 1}, {2, 4, 2, 2. / 3}} {
		if got := F1(tt.equal, tt.truth, tt.got); !near(got, tt.want) {
			t.Errorf("F1(%d, %d, %d) = %v, want %v", tt.equal, tt.truth, tt.got, got, tt.want)
		}
	}
}

func TestParseMarkdown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src string
		want      Markdown
	}{
		{"nothing", "", Markdown{}},
		{"headings", "# One\n\ntext\n\n### 1.1  Two\\_words ###\n", Markdown{
			Text: "One\ntext\n1.1  Two_words", Headings: []Heading{{1, "One"}, {3, "1.1  Two_words"}},
			Blocks: []Block{{Text: "One"}, {Text: "text"}, {Text: "1.1  Two_words"}}}},
		{"no heading", "#tag and a # b\n", Markdown{Text: "#tag and a # b", Blocks: []Block{{Text: "#tag and a # b"}}}},
		{"lists and marks",
			"- **bold** and *thin*\n  * `code` of [a link](http://x.y/z)\n2. second ![alt](images/1-1.png)\n\n---\n", Markdown{
				Text: "bold and thin\ncode of a link\n2. second", Blocks: []Block{{Text: "bold and thin"}, {Text: "code of a link"}, {Text: "second"}}}},
		{"snake_case stays", "a_b_c and 2 * 3 * 4\n", Markdown{Text: "a_b_c and 2 * 3 * 4", Blocks: []Block{{Text: "a_b_c and 2 * 3 * 4"}}}},
		{"stars inside a word are marks", "2*3*4 and 2\\*3\\*4\n", Markdown{Text: "234 and 2*3*4", Blocks: []Block{{Text: "234 and 2*3*4"}}}},
		{"comments go", "a <!-- image\n--> b\n", Markdown{Text: "a  b", Blocks: []Block{{Text: "a  b"}}}},
		{"entities and escapes", "a &lt; b \\| c\n", Markdown{Text: "a < b | c", Blocks: []Block{{Text: "a < b | c"}}}},
		{"code is no heading", "```sh\n# not a heading\n```\n", Markdown{
			Text: "# not a heading", Blocks: []Block{{Code: true, Text: "# not a heading"}}}},
		{"pipe table", "before\n\n| A | B \\| C |\n| :- | -: |\n| 1 |  |\n| **2** | x |\n\nafter\n", Markdown{
			Text: "before\nA B | C\n1\n2 x\nafter", Tables: []Grid{{{"A", "B | C"}, {"1", ""}, {"2", "x"}}},
			Blocks: []Block{{Text: "before"}, {Text: "after"}}}},
		{"table in HTML with spans",
			"<table><tr><th rowspan=\"2\">A</th><th colspan=2>B &amp; C</th></tr>\n<tr><td>1</td><td>2<br>3</td></tr></table>\nx\n", Markdown{
				Text: "A B & C\n1 2 3\nx", Tables: []Grid{{{"A", "B & C", ""}, {"", "1", "2 3"}}},
				Blocks: []Block{{Text: "x"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ParseMarkdown(tt.src); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ParseMarkdown(%q) =\n%#v, want\n%#v", tt.src, got, tt.want)
			}
		})
	}
}

func TestCompareHeadings(t *testing.T) {
	t.Parallel()
	truth := []Heading{{1, "Introduction"}, {2, "Scope of it"}, {1, "Methods"}, {2, "Sampling"}}
	for _, tt := range []struct {
		name       string
		truth, got []Heading
		f1, tree   float64
		flat       bool
	}{
		{name: "the same", truth: truth, got: truth, f1: 1, tree: 1},
		{
			name: "a level lower throughout", truth: truth,
			got: []Heading{{2, "Introduction"}, {3, "Scope of it"}, {2, "Methods"},
				{3, "Sampling"}},
			f1: 1, tree: 1,
		},
		{
			name: "all on one level", truth: truth,
			got: []Heading{{1, "Introduction"}, {1, "Scope of it"}, {1, "Methods"}, {1, "Sampling"}}, f1: 1,
			tree: 0.5,
		},
		{
			name: "one is missing, so that its child stands elsewhere", truth: truth,
			got: []Heading{{1, "Introduction"}, {2, "Scope of it"}, {2, "Sampling"}}, f1: 6. / 7, tree: 4. / 7,
		},
		{name: "texts that are alike", truth: truth[:1], got: []Heading{{1, "1 INTRODUCTION"}}, f1: 1, flat: true},
		{name: "texts that are not", truth: truth[:1], got: []Heading{{1, "Contents"}}, flat: true},
		{name: "none found", truth: truth},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := CompareHeadings(tt.truth, tt.got)
			if !near(got.F1, tt.f1) || !near(got.Tree, tt.tree) || got.Flat != tt.flat {
				t.Errorf("CompareHeadings = %+v, want F1 %v, tree %v, flat %v", got, tt.f1, tt.tree, tt.flat)
			}
		})
	}
}

func TestReadOutline(t *testing.T) {
	t.Parallel()
	got := ReadOutline("+\t\"I Part\"\t#page=1\n|\t\t\"A \\\"quoted\\\" one\"\t#page=2&view=Fit\n-\t\"II\"\t#page=3\nerror: x\n")
	want := []Heading{{1, "I Part"}, {2, `A "quoted" one`}, {1, "II"}}
	if !slices.Equal(got, want) {
		t.Errorf("ReadOutline = %v, want %v", got, want)
	}
}

func TestSimilarity(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		truth, got string
		want       float64
	}{{"", "", 1}, {"abcd", "abcd", 1}, {"abcd", "abxd", 0.75}, {"abcd", "", 0}, {"ab", "abcd", 0.5},
		{"a  b\nc", "a b c", 1}} {
		if got := TextSimilarity(tt.truth, tt.got); !near(got, tt.want) {
			t.Errorf("TextSimilarity(%q, %q) = %v, want %v", tt.truth, tt.got, got, tt.want)
		}
	}
}

func TestReadImageList(t *testing.T) {
	t.Parallel()
	got, err := ReadImageList(`page   num  type   width height color comp bpc  enc interp  object ID x-ppi y-ppi size ratio
--------------------------------------------------------------------------------------------
   1     0 image     882   703  rgb     3   8  jpeg   no        26  0   130   130 66.8K 3.7%
   1     1 smask     882   703  gray    1   8  image  no        27  0   130   130 1.8K 0.3%
   2     2 image      10    10  gray    1   8  image  no   [inline]      72    72   14B  14%
`)
	want := []ListedImage{{1, 0, "image", "jpeg"}, {1, 1, "smask", "image"}, {2, 2, "image", "image"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ReadImageList = %v, %v, want %v", got, err, want)
	}
	if _, err := ReadImageList("a\nb\nno list\n"); err == nil {
		t.Error("ReadImageList took what is no list")
	}
}
