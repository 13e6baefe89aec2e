package layout

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// squares sets a line of East Asian text, each character in a square of its own. Blanks part words: an ideographic
// one is as wide as a square, one of ASCII half as wide, as are the characters of ASCII.
func squares(x, y, size float64, text string) *inkstreamv1.Line {
	line := &inkstreamv1.Line{}
	word := &inkstreamv1.Word{}
	for _, r := range text + " " {
		width := size
		if r < 0x80 {
			width = size / 2
		}
		if r == ' ' || r == '　' {
			if word.Text != "" {
				line.Words = append(line.Words, word)
			}
			word = &inkstreamv1.Word{}
		} else {
			if word.Text == "" {
				word.Size, word.Bbox = float32(size), rect{x, y, x, y + size}.toBox()
			}
			word.Text += string(r)
			word.Bbox[2] = float32(x + width)
		}
		x += width
	}
	return line
}

// spread sets every character apart as a word of its own, with so many ems between them, more where text has a blank.
func spread(x, y, size, room, blank float64, text string) *inkstreamv1.Line {
	line := &inkstreamv1.Line{}
	for _, r := range text {
		if r == ' ' {
			x += blank * size
			continue
		}
		line.Words = append(line.Words, &inkstreamv1.Word{Text: string(r), Bbox: rect{x, y, x + size, y + size}.toBox(),
			Size: float32(size)})
		x += (1 + room) * size
	}
	return line
}

// read makes words those of a recogniser, whose boxes are as tight as the letters.
func read(line *inkstreamv1.Line) *inkstreamv1.Line {
	for _, w := range line.Words {
		w.Confidence, w.Size = proto.Float32(0.9), 0
		w.Bbox[1], w.Bbox[3] = w.Bbox[1]+0.5, w.Bbox[3]-0.5
		if r := []rune(w.Text); len(r) == 1 && isClosingMark(r[0]) {
			w.Bbox[2] -= (w.Bbox[2] - w.Bbox[0]) / 2
		}
	}
	return line
}

// tight draws in the boxes of words that end with a mark that fills half of its square, or begin with one.
func tight(line *inkstreamv1.Line) *inkstreamv1.Line {
	for _, w := range line.Words {
		r := []rune(w.Text)
		if isClosingMark(r[len(r)-1]) {
			w.Bbox[2] -= w.Size / 2
		}
		if isOpeningMark(r[0]) {
			w.Bbox[0] += w.Size / 2
		}
	}
	return line
}

func TestBlanks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		line *inkstreamv1.Line
		want string
	}{
		{"ideographic blanks", squares(50, 50, 11, "姓名　山田太郎　電話　０３－１２３４"), "姓名 山田太郎 電話 ０３－１２３４"},
		{"wide gaps in a form", squares(50, 50, 11, "氏名　　　　　山田太郎　　　　　　　電話　　　　　本社"), "氏名 山田太郎 電話 本社"},
		{"a chapter and its name", squares(50, 50, 16, "第一条　服务内容"), "第一条 服务内容"},
		{"names with half a blank between them", squares(50, 50, 11, "東京 大阪 名古屋 福岡"), "東京 大阪 名古屋 福岡"},
		{"half a blank beside a link in a sentence", squares(50, 50, 10, "誰でも メンテナ になることができます"), "誰でもメンテナになることができます"},
		{"half a blank behind a comma", squares(50, 50, 10, "说明， 安装手册"), "说明，安装手册"},
		{"a heading of two letters set apart", squares(50, 50, 18, "目　　录"), "目录"},
		{"letters set apart in a line", spread(50, 50, 10, 0.3, 0, "全世界无产者，联合起来"), "全世界无产者，联合起来"},
		{"letters set apart, and words farther", spread(50, 50, 10, 1, 2, "氏名 住所"), "氏名 住所"},
		{"a label set apart, and what it labels", squares(50, 50, 10, "氏　名　山田太郎"), "氏名 山田太郎"},
		{"words of one letter far apart", squares(50, 50, 10, "甲　　　　　　　　乙　　　　　　　　丙"), "甲 乙 丙"},
		{"room behind a full stop is its own", tight(squares(50, 50, 10, "文が終わる。 次の文です")), "文が終わる。次の文です"},
		{"room beside brackets is theirs", tight(squares(50, 50, 10, "これは「手順書」 「説明書」")), "これは「手順書」「説明書」"},
		{"a blank behind a full stop", tight(squares(50, 50, 10, "文が終わる。　次の文です")), "文が終わる。 次の文です"},
		{"a recogniser's doubts", read(squares(50, 50, 10, "東京 大阪 名古屋")), "東京大阪名古屋"},
		{"a wide gap in recognised text", read(spread(50, 50, 10, 0.2, 3, "氏名 山田")), "氏名 山田"},
		{"columns that read downwards", turned(90, squares(50, -500, 11, "姓名　山田太郎　電話"))[0], "姓名 山田太郎 電話"},
		{"letters in a column that reads downwards", turned(90, spread(50, -500, 11, 0.4, 0, "目次の文字"))[0], "目次の文字"},
		{"Latin words beside Han", squares(50, 50, 11, "価格 3,000 円"), "価格 3,000 円"},
		{"Thai phrases", squares(50, 50, 11, "กรุณา เลือก"), "กรุณาเลือก"},
		{"words without places", &inkstreamv1.Line{Words: []*inkstreamv1.Word{{Text: "東京"}, {Text: "大阪"},
			{Text: "in"}, {Text: "one"}}}, "東京大阪 in one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := string(AppendLine(nil, tt.line)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			page := &inkstreamv1.Page{Blocks: []*inkstreamv1.Block{{Lines: []*inkstreamv1.Line{tt.line}}}}
			if got := strings.TrimSpace(PageText(page)); got != tt.want {
				t.Errorf("the page reads %q, want %q", got, tt.want)
			}
		})
	}
}
