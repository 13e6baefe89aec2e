package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// passages writes pages as passages of that many words.
func passages(t *testing.T, words int, pages ...*inkstreamv1.Page) []Chunk {
	t.Helper()
	var b strings.Builder
	c := NewChunkWriter(&b, words)
	for _, p := range pages {
		if err := c.WritePage(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var out []Chunk
	for line := range strings.Lines(b.String()) {
		var got Chunk
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		out = append(out, got)
	}
	return out
}

func textsOf(chunks []Chunk) []string {
	var out []string
	for _, c := range chunks {
		out = append(out, c.Text)
	}
	return out
}

func TestCountWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want string // the words that it counts for
	}{
		{"word", "word"},
		{"—", "—"},
		{"3.14", "3.14"},
		{"state-of-the-art,", "state-of-the-art,"},
		{"検索する。", "検|索|す|る。"},
		{"「検索」（全文）を", "「検|索」|（全|文）|を"},
		{"データ", "デ|ー|タ"},
		{"ｶﾞｲﾄﾞ", "ｶﾞ|ｲ|ﾄﾞ"},
		{"か\u3099く", "か\u3099|く"},
		{"約1,000円をPDFで", "約|1,000|円|を|PDF|で"},
		{"合同金额120元", "合|同|金|额|120|元"},
		{"ที่๒๕", "ที่|๒๕"},
		{"데이터베이스는", "데이터베이스는"},
		{"𠮷野家", "𠮷|野|家"},
	} {
		var got []string
		start := 0
		for end := range wordEnds(tt.text) {
			got = append(got, tt.text[start:end])
			start = end
		}
		if strings.Join(got, "|") != tt.want || countWords(tt.text) != len(got) {
			t.Errorf("%q: got %q, %d of them; want %q", tt.text, strings.Join(got, "|"), countWords(tt.text), tt.want)
		}
	}
}

func TestLongBlocksAreParted(t *testing.T) {
	t.Parallel()
	sentence := "これは長い文章であり改行の途中で語句が分かれる。" // 23 letters and a full stop
	japanese := []rune(strings.Repeat(sentence, 8))
	var unbroken []string
	for i := 0; i < len(japanese); i += 40 {
		unbroken = append(unbroken, string(japanese[i:min(i+40, len(japanese))]))
	}
	ten := "ten words are in this line of the long paragraph"
	for _, tt := range []struct {
		name  string
		kind  string
		size  int
		lines []string
		want  []string
	}{
		{name: "Japanese between sentences", kind: layout.Paragraph, size: 50, lines: unbroken,
			want: slices.Repeat([]string{strings.Repeat(sentence, 2)}, 4)},
		{name: "Chinese without a full stop at a comma", kind: layout.Paragraph, size: 10,
			lines: []string{"双方就软件开发，服务达成协议乙方应当"},
			want:  []string{"双方就软件开发，", "服务达成协议乙方应当"}},
		{name: "a run without any break where it is full", kind: layout.Paragraph, size: 5,
			lines: []string{"双方就软件开发服务达成"},
			want:  []string{"双方就软件", "开发服务达成"}},
		{name: "English between sentences", kind: layout.Paragraph, size: 10,
			lines: []string{"One two three four five six. Seven eight nine", "ten eleven twelve thirteen. Fourteen fifteen."},
			want:  []string{"One two three four five six.", "Seven eight nine ten eleven twelve thirteen. Fourteen fifteen."}},
		{name: "a sentence that makes it a little longer", kind: layout.Paragraph, size: 10,
			lines: []string{"One two three four five six seven eight nine ten eleven. Twelve thirteen."},
			want:  []string{"One two three four five six seven eight nine ten eleven.", "Twelve thirteen."}},
		{name: "the nearest of two sentences", kind: layout.Paragraph, size: 10,
			lines: []string{"One two three four five six. Seven eight nine ten eleven. Twelve thirteen."},
			want:  []string{"One two three four five six. Seven eight nine ten eleven.", "Twelve thirteen."}},
		{name: "full stops that end no sentence", kind: layout.Paragraph, size: 10,
			lines: []string{"One two three four five approx. six seven 8. J. e.g. nine", "ten eleven twelve thirteen"},
			want:  []string{"One two three four five approx. six seven 8. J.", "e.g. nine ten eleven twelve thirteen"}},
		{name: "no sentences, between lines", kind: layout.Paragraph, size: 25,
			lines: []string{ten, ten, ten, ten}, want: []string{ten + " " + ten, ten + " " + ten}},
		{name: "not in a word", kind: layout.Paragraph, size: 10,
			lines: []string{"a b c d e f g h i mo-", "re j k l m n"},
			want:  []string{"a b c d e f g h i", "more j k l m n"}},
		{name: "code between lines", kind: layout.Code, size: 4, lines: []string{"if x. {", "a, b.", "}"},
			want: []string{"```\nif x. {\n```", "```\na, b.\n}\n```"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			chunks := passages(t, tt.size, page(1, text(tt.kind, 72, 72, 10, 3, tt.lines...)))
			if got := textsOf(chunks); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			for _, c := range chunks {
				if c.Words > tt.size+tt.size/5 || len(c.Boxes) != 1 {
					t.Errorf("passage %d has %d words and %d boxes; want at most %d, and 1", c.ID, c.Words, len(c.Boxes),
						tt.size+tt.size/5)
				}
			}
		})
	}
}

func TestPassagesKeepParagraphsTogether(t *testing.T) {
	t.Parallel()
	first, rest := "It was not finished when the page came to an", "end, but it is now."
	start := text(layout.Paragraph, 72, 600, 10, 1, first)
	start.Continued = true
	note, second := text(layout.Footnote, 72, 700, 8, 1, "1 a note"), text(layout.Footnote, 72, 72, 8, 1, "2 another")
	end := text(layout.Paragraph, 72, 90, 10, 1, rest)
	values := table(72, 300, 650, []string{"a", "b"}, []string{"c", "d"})
	item := text(layout.ListItem, 72, 72, 10, 1, "• next")
	heading := text(layout.Heading, 72, 72, 14, 1, "Next")
	filler := text(layout.Paragraph, 72, 500, 10, 1, strings.Repeat("word ", 20))
	more := text(layout.Paragraph, 72, 300, 10, 1, "After it.")
	for _, tt := range []struct {
		name  string
		words int
		pages []*inkstreamv1.Page
		want  []string
		types string
	}{
		{name: "a note stands behind the paragraph", words: 100,
			pages: []*inkstreamv1.Page{page(1, start, note), page(2, end, more)},
			want:  []string{first + " " + rest + "\n\n1 a note\n\nAfter it."},
			types: "paragraph footnote paragraph"},
		{
			name: "so do a table and all that interrupts it", words: 100,
			pages: []*inkstreamv1.Page{page(1, start, values, note, text(layout.PageNumber, 290, 800, 9, 1, "1")),
				page(2, text(layout.Header, 72, 30, 9, 1, "Report"), second, end)},
			want:  []string{first + " " + rest + "\n\n| a | b |\n| --- | --- |\n| c | d |\n\n1 a note\n\n2 another"},
			types: "paragraph table footnote",
		},
		{name: "a paragraph that does not go on after all", words: 100,
			pages: []*inkstreamv1.Page{page(1, start, note), page(2, heading, item)},
			want:  []string{first + "\n\n1 a note", "• next"}, types: "paragraph footnote"},
		{name: "an item ends it", words: 100, pages: []*inkstreamv1.Page{page(1, start, note), page(2, item)},
			want: []string{first + "\n\n1 a note\n\n• next"}, types: "paragraph footnote list_item"},
		{name: "at the end of the document", words: 100, pages: []*inkstreamv1.Page{page(1, start, note)},
			want: []string{first + "\n\n1 a note"}, types: "paragraph footnote"},
		{name: "what does not fit goes to the next passage as a whole", words: 26,
			pages: []*inkstreamv1.Page{page(1, filler, start, note), page(2, end)},
			want:  []string{strings.TrimSpace(strings.Repeat("word ", 20)), first + " " + rest + "\n\n1 a note"},
			types: "paragraph"},
		{name: "what is longer than a passage is parted where it can be, not where the page ends", words: 11,
			pages: []*inkstreamv1.Page{page(1, start, note), page(2, end, more)},
			want:  []string{first + " end,", "but it is now.\n\n1 a note\n\nAfter it."}, types: "paragraph"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			chunks := passages(t, tt.words, tt.pages...)
			if got := textsOf(chunks); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if got := strings.Join(chunks[0].Types, " "); got != tt.types {
				t.Errorf("types %q, want %q", got, tt.types)
			}
			for _, c := range chunks {
				if !slices.IsSorted(c.Pages) || len(slices.Compact(slices.Clone(c.Pages))) != len(c.Pages) {
					t.Errorf("passage %d is on pages %v", c.ID, c.Pages)
				}
			}
		})
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	t.Parallel()
	start := text(layout.Paragraph, 72, 600, 10, 1, "It goes on")
	start.Continued = true
	pages := []*inkstreamv1.Page{page(1, start)}
	note := text(layout.Footnote, 72, 72, 10, 1, strings.Repeat("word ", maxPendingWords/8))
	for n := int32(2); n < 20; n++ {
		pages = append(pages, page(n, note))
	}
	pages = append(pages, page(20, text(layout.Paragraph, 72, 72, 10, 1, "and on.")))
	chunks := passages(t, 2000, pages...)
	if first, last := chunks[0].Text, chunks[len(chunks)-1].Text; first != "It goes on" ||
		!strings.HasSuffix(last, "\n\nand on.") {
		t.Errorf("the first passage is %.40q, the last ends with %q", first, last[max(0, len(last)-20):])
	}
}

func TestBoxesOfColumns(t *testing.T) {
	t.Parallel()
	left := text(layout.Paragraph, 72, 600, 10, 1, "It goes on in the next")
	left.Continued = true
	chunks := passages(t, 100, page(1, left, text(layout.Paragraph, 320, 72, 10, 1, "column of the page.")))
	if len(chunks) != 1 || len(chunks[0].Boxes) != 2 || chunks[0].Boxes[0].Bbox != [4]float32(left.Bbox) {
		t.Errorf("got %+v; want one passage with the boxes of both blocks", chunks)
	}
}

func TestHeadingsOfPassages(t *testing.T) {
	t.Parallel()
	title := func(y float32, s string) *inkstreamv1.Block { return text(layout.Title, 72, y, 20, 1, s) }
	heading := text(layout.Heading, 72, 300, 14, 1, "One")
	heading.Level = 1
	for _, tt := range []struct {
		name   string
		blocks []*inkstreamv1.Block
		want   string
	}{
		{"a title in parts", []*inkstreamv1.Block{title(40, "A Study"), title(70, "of Pears"), prose(100)},
			"[[A Study of Pears]]"},
		{"in Chinese", []*inkstreamv1.Block{title(40, "软件开发"), title(70, "服务合同"), prose(100)}, "[[软件开发服务合同]]"},
		{"a title goes on with nothing but what follows it",
			[]*inkstreamv1.Block{title(40, "Scope"), prose(70), title(120, "Terms"), prose(150)}, "[[Scope] [Terms]]"},
		{"nor past a heading", []*inkstreamv1.Block{title(40, "Scope"), heading, title(120, "Terms"), prose(150)},
			"[[Terms]]"},
		{"headings stand under it", []*inkstreamv1.Block{title(40, "Scope"), heading, prose(70)}, "[[Scope One]]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got [][]string
			for _, c := range passages(t, 100, page(1, tt.blocks...)) {
				got = append(got, c.Headings)
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}
