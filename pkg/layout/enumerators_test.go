package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// stack sets lines of East Asian text one below the other; blanks at the beginning of a line indent it.
func stack(x, y float64, lines ...string) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for i, text := range lines {
		out = append(out, squares(x, y+float64(i)*16, 11, text))
	}
	return out
}

const fullLine = "本系统支持以下功能用户可以根据实际需要进行选择和配置"

func TestEnumerators(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []*inkstreamv1.Line
		want  []string // type and marker of each block
	}{
		{"signs", stack(50, 50, "・検索機能", "・解析機能", "・認識機能"), []string{"list_item ・", "list_item ・", "list_item ・"}},
		{"Chinese numerals", stack(50, 50, "九、全文检索", "十、版面分析", "十一、表格识别"),
			[]string{"list_item 九、", "list_item 十、", "list_item 十一、"}},
		{"numerals in brackets", stack(50, 50, "（一）首期款项", "（二）二期款项"), []string{"list_item （一）", "list_item （二）"}},
		{"digits and a comma", stack(50, 50, "1、第一个项目", "2、第二个项目"), []string{"list_item 1、", "list_item 2、"}},
		{"wide digits in brackets", stack(50, 50, "（１）検索機能", "（２）解析機能"), []string{"list_item （１）", "list_item （２）"}},
		{"wide digits and a stop", stack(50, 50, "１．検索機能", "２．解析機能"), []string{"list_item １．", "list_item ２．"}},
		{"digits and a stop without a blank", stack(50, 50, "1.检索功能", "2.分析功能"), []string{"list_item 1.", "list_item 2."}},
		{"circled numbers", stack(50, 50, "①检索功能", "②分析功能"), []string{"list_item ①", "list_item ②"}},
		{"circled numbers in Korean", stack(50, 50, "① 검색 기능", "② 분석 기능"), []string{"list_item ①", "list_item ②"}},
		{"discs", stack(50, 50, "●検索機能", "●「解析」機能"), []string{"list_item ●", "list_item ●"}},
		{"kana and a blank", stack(50, 50, "ア　検索機能", "イ　解析機能", "ウ　認識機能",
			"エ　保存機能"), []string{"list_item ア", "list_item イ", "list_item ウ", "list_item エ"}},
		{"kana in the old order", stack(50, 50, "イ）検索機能", "ロ）解析機能"), []string{"list_item イ）", "list_item ロ）"}},
		{"a marker that a blank follows", stack(50, 50, "（１） 検索機能", "（２） 解析機能"), []string{"list_item （１）", "list_item （２）"}},
		{
			"numbers far from their text are no column of a table",
			stack(50, 50, "（１）　　　検索機能", "（２）　　　解析機能", "（３）　　　認識機能", "（４）　　　保存機能", "（５）　　　表示機能", "（６）　　　印刷機能"),
			[]string{"list_item （１）", "list_item （２）", "list_item （３）", "list_item （４）", "list_item （５）", "list_item （６）"},
		},
		{
			"nor are kana with a blank behind them",
			stack(50, 50, "ア　検索の機能", "イ　解析の機能", "ウ　認識の機能", "エ　保存の機能", "オ　表示の機能", "カ　印刷"),
			[]string{"list_item ア", "list_item イ", "list_item ウ", "list_item エ", "list_item オ", "list_item カ"},
		},
		{
			"kana far from their text are too",
			stack(50, 50, "ア　　　検索の機能", "イ　　　解析の機能", "ウ　　　認識の機能", "エ　　　保存の機能", "オ　　　表示の機能", "カ　　　印刷"),
			[]string{"list_item ア", "list_item イ", "list_item ウ", "list_item エ", "list_item オ", "list_item カ"},
		},
		{
			"what a recogniser reads letter by letter",
			[]*inkstreamv1.Line{read(spread(50, 50, 11, 0.2, 0, "一、全文检索")), read(spread(50, 66, 11, 0.2, 0, "二、版面分析"))},
			[]string{"list_item 一、", "list_item 二、"},
		},
		{"columns that read downwards", turned(90, stack(50, -500, "一、全文检索", "二、版面分析")...),
			[]string{"list_item 一、", "list_item 二、"}},
		{"below a full line", stack(50, 50, fullLine, "・検索機能", "・解析機能"), []string{"paragraph", "list_item ・", "list_item ・"}},
		{
			"items of more than one line",
			stack(50, 50, "一、"+fullLine[6:], "进行选择和配置并按照说明书的要求完成安装和调试等工作", "二、"+fullLine[6:], "进行选择"),
			[]string{"list_item 一、", "list_item 二、"},
		},
		{
			"items whose lines hang",
			slices.Concat(stack(50, 50, "・"+fullLine[3:]), stack(61, 66, fullLine[3:]), stack(50, 82, "・"+fullLine[3:]),
				stack(61, 98, "进行选择")),
			[]string{"list_item ・", "list_item ・"},
		},
		{
			"paragraphs that are indented",
			slices.Concat(stack(72, 50, "一、"+fullLine[12:]), stack(50, 66, fullLine), stack(72, 82, "二、"+fullLine[12:]),
				stack(50, 98, "进行选择")),
			[]string{"list_item 一、", "list_item 二、"},
		},
		{
			"a list in a list",
			slices.Concat(stack(50, 50, "１．検索機能"), stack(72, 66, "ア）全文検索", "イ）部分検索"), stack(50, 98, "２．解析機能")),
			[]string{"list_item １．", "list_item ア）", "list_item イ）", "list_item ２．"},
		},
		{"a sentence whose line begins as an item does",
			stack(50, 50, fullLine, "一、检索功能和分析功能都可以使用配置并按照说明书的要", fullLine), []string{"paragraph"}},
		{"a sentence that goes on in brackets",
			stack(50, 50, fullLine, "（二）的规定执行进行选择和配置并按照说明书的要求完成", "进行选择"), []string{"paragraph"}},
		{"a name that is broken at its dot", stack(50, 50, fullLine,
			"・スミスは功能用户可以根据实际需要进行选择和配置", fullLine), []string{"paragraph"}},
		{"an enumeration in a sentence", stack(50, 50, "二、三个功能", "三、四个功能"), []string{"paragraph"}},
		{"figures", stack(50, 50, "１．５倍です", "２．５倍です"), []string{"paragraph"}},
		{"placeholders", stack(50, 50, "○○県の場合", "○○市の場合"), []string{"paragraph"}},
		{"a letter-spaced heading", stack(50, 50, "ア　ン　ケ　ー　ト"), []string{"paragraph"}},
		{"a heading in larger type", append([]*inkstreamv1.Line{squares(50, 20, 15, "一、背景")},
			stack(50, 60, fullLine, fullLine, fullLine)...), []string{"paragraph", "paragraph"}},
		{"Latin text", stack(50, 50, "●Item", "a、b", "A.B", "(1)st"), []string{"paragraph"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page := pageOf(tt.lines)
			ArrangePage(page)
			var got []string
			for _, b := range page.GetBlocks() {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s", b.GetType(), b.GetMarker())))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q; the page reads\n%s", got, tt.want, page.Text)
			}
		})
	}
}

func TestTrimMarker(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ word, marker, want string }{
		{"・検索", "・", "検索"},
		{"・", "・", ""},
		{"•", "•", ""},
		{"1.", "1.", ""},
		{"1.検索", "1.", "検索"},
		{"一、検索", "一、", "一、検索"},
		{"（２）", "（２）", "（２）"},
		{"①", "①", "①"},
		{"ア", "ア", "ア"},
		{"\uf0fc", "\uf0fc", ""},
		{"☒", "☒", "☒"},
		{"word", "", "word"},
		{"other", "1.", "other"},
	} {
		if got := TrimMarker(tt.word, tt.marker); got != tt.want {
			t.Errorf("%q without %q: got %q, want %q", tt.word, tt.marker, got, tt.want)
		}
	}
}

// TestHeadingInAColumnOfLists has a heading that is farther from the text below it than that text's lines are from
// one another, but not than the items above it are.
func TestHeadingInAColumnOfLists(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for i := range 8 {
		lines = append(lines, at(60, 50+float64(i)*20, 10, "• an item of one line"))
	}
	lines = append(lines, at(50, 240, 10, "6.3.4.2 The heading"),
		at(50, 260, 10, "text that fills the line below the heading and goes on"),
		at(50, 272, 10, "in a second one which is as long as the one above it"), at(50, 284, 10, "and ends"))
	page := pageOf(lines)
	ArrangePage(page)
	if want := "\n\n6.3.4.2 The heading\n\ntext that fills"; !strings.Contains(page.Text, want) {
		t.Errorf("got\n%s\nwant %q", page.Text, want)
	}
}
