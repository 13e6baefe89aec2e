package document

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/pdftest/score"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// FuzzDocument lets the rules and the writers loose on pages of anything.
func FuzzDocument(f *testing.F) {
	f.Add([]byte("a page of a few words, the boxes of which may be anything at all, and tables of any size"))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0x80, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte("\x05\x01\x02\x03\x04\x05\x06\x07\x06\x01\x02\x03\x04\x05\x06\x07\x07\x01\x02\x03\x04\x05\x06\x07"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pages := []*inkstreamv1.Page{fuzzPage(1, data), fuzzPage(2, data[len(data)/2:]), fuzzPage(3, data)}
		var evidence []*Evidence
		for _, p := range pages {
			layout.ArrangePage(p)
			DetectLanguages(p)
			stored, err := EncodeObservedPage(p)
			if err != nil {
				return // text that is no UTF-8 does not come from an engine
			}
			e, err := DecodeEvidence(stored)
			if err != nil {
				t.Fatal(err)
			}
			evidence = append(evidence, e)
		}
		plan := NewPlan(evidence, []*inkstreamv1.OutlineEntry{{Title: "word", Level: -3, Page: 1}})
		var b strings.Builder
		m, c := NewMarkdownWriter(&b, plan), NewChunkWriter(&b, 50)
		for _, p := range pages {
			n := len(layout.PageWords(p))
			plan.ApplyTo(p)
			if got := len(layout.PageWords(p)); got != n {
				t.Errorf("page %d: %d words became %d", p.GetNumber(), n, got)
			}
			if err := m.WritePage(p); err != nil {
				t.Fatal(err)
			}
			if err := c.WritePage(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(m.Close(), c.Close()); err != nil {
			t.Fatal(err)
		}
	})
}

// fuzzPage makes a page of bytes, eight of them a word or a line that is drawn.
func fuzzPage(n int32, data []byte) *inkstreamv1.Page {
	p := page(n)
	line := &inkstreamv1.Line{}
	block := &inkstreamv1.Block{Lines: []*inkstreamv1.Line{line}}
	p.Blocks = append(p.Blocks, block)
	texts := []string{"a", "word", "12", "•", "שלום", "日本語", "1.2", "....", "Figure", "\ue000\uf8ff", "-", "longer-"}
	for ; len(data) >= 8; data = data[8:] {
		b := func(i int) float32 { return float32(data[i]) * 3 }
		box := []float32{b(1), b(2), b(1) + b(3)/8, b(2) + b(4)/16}
		switch data[0] % 8 {
		case 1:
			line = &inkstreamv1.Line{Angle: int32(data[5]%8) * 45}
			block.Lines = append(block.Lines, line)
		case 2:
			block = &inkstreamv1.Block{Lines: []*inkstreamv1.Line{{}}}
			line = block.Lines[0]
			p.Blocks = append(p.Blocks, block)
		case 3:
			p.Rulings = append(p.Rulings, &inkstreamv1.Ruling{Bbox: []float32{b(1), b(2), b(1) + b(3), b(2)}})
			continue
		case 4:
			p.Rulings = append(p.Rulings, &inkstreamv1.Ruling{Bbox: []float32{b(1), b(2), b(1), b(2) + b(3)}})
			continue
		case 5:
			p.Images = append(p.Images, &inkstreamv1.Image{Bbox: box, Name: "images/1-1.png",
				Kind: []string{"embedded", "drawing"}[data[5]%2]})
			continue
		case 6:
			p.Tags = append(p.Tags, &inkstreamv1.Tag{Role: []string{"H1", "P", "H"}[data[5]%3], Bbox: box})
			continue
		}
		line.Words = append(line.Words, &inkstreamv1.Word{Text: texts[int(data[6])%len(texts)], Bbox: box, Size: b(5) / 8,
			Font: int32(data[7] % 5), Link: int32(data[7] % 3)})
	}
	return p
}

// schema reads the published schema of document.json.
func schema(t testing.TB) *score.Schema {
	t.Helper()
	s, err := score.ParseSchema(readFile(t, "../../proto/inkstream/v1/document.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHostilePages has what no page of a book has: 100,000 words, words all in one place, text that runs down or from
// the right, characters of private use, and boxes that are none.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	nan := float32(0)
	nan /= nan
	for _, tt := range []struct {
		name  string
		words int
		angle int32
		text  func(i int) string
		box   func(i int) []float32
	}{
		{"100,000 words", 100_000, 0, func(i int) string { return fmt.Sprint("word", i%977) }, func(i int) []float32 {
			x, y := float32(i%250)*24, float32(i/250)*14
			return []float32{x, y, x + 20, y + 10}
		}},
		{"all in one place", 20_000, 0, func(int) string { return "same" },
			func(int) []float32 { return []float32{10, 10, 40, 20} }},
		{"from the right", 2_000, 0, func(int) string { return "שלום" }, func(i int) []float32 {
			x, y := 560-float32(i%20)*28, float32(i/20)*14
			return []float32{x, y, x + 20, y + 10}
		}},
		{"downwards", 2_000, 90, func(int) string { return "縦書き" }, func(i int) []float32 {
			x, y := 560-float32(i/20)*14, float32(i%20)*28
			return []float32{x, y, x + 10, y + 20}
		}},
		{"private use", 2_000, 0, func(int) string { return "\ue000\uf8ff\U000f0000" }, func(i int) []float32 {
			x, y := float32(i%20)*28, float32(i/20)*14
			return []float32{x, y, x + 20, y + 10}
		}},
		{"no boxes", 5_000, 0, func(int) string { return "12.5" },
			func(i int) []float32 { return [][]float32{nil, {nan, nan, nan, nan}, {3e38, -3e38, 1, 2}}[i%3] }},
	} {
		line := &inkstreamv1.Line{Angle: tt.angle}
		for i := range tt.words {
			line.Words = append(line.Words, &inkstreamv1.Word{Text: tt.text(i), Bbox: tt.box(i), Size: 10})
		}
		p := page(1, &inkstreamv1.Block{Lines: []*inkstreamv1.Line{line}})
		layout.ArrangePage(p)
		DetectLanguages(p)
		plan := planned(t, nil, p)
		if n := len(layout.PageWords(p)); n != tt.words {
			t.Errorf("%s: %d words became %d", tt.name, tt.words, n)
		}
		if md := markdown(t, plan, p); md == "" {
			t.Errorf("%s: the markdown is empty", tt.name)
		}
		var b strings.Builder
		j, err := NewJSONWriter(&b, Head{Version: "inkstream.v1", Job: "j", SHA256: strings.Repeat("0", 64), PageCount: 1,
			Words: tt.words})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.WritePage(p), j.Close()); err != nil {
			t.Fatal(err)
		}
		if err := schema(t).Validate([]byte(b.String())); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestLongTextHeadsNothing has what structure, outline or type call a heading, in words of any length: headings are
// repeated in every passage.
func TestLongTextHeadsNothing(t *testing.T) {
	t.Parallel()
	long, short := strings.Repeat("w", maxHeadingLetters-3)+" end.", strings.Repeat("w", maxHeadingLetters-3)+" end"
	body := []*inkstreamv1.Block{prose(200), prose(300), prose(400), prose(500)}
	tag := func(role string) func(p *inkstreamv1.Page) []*inkstreamv1.OutlineEntry {
		return func(p *inkstreamv1.Page) []*inkstreamv1.OutlineEntry {
			p.Tags = []*inkstreamv1.Tag{{Role: role, Bbox: p.GetBlocks()[0].GetBbox()}}
			return nil
		}
	}
	for _, tt := range []struct {
		name  string
		size  float32
		named func(p *inkstreamv1.Page) []*inkstreamv1.OutlineEntry
		kind  string // of what is not too long
	}{
		{"by its tag", 10, tag("H1"), layout.Heading},
		{"as the title by its tag", 10, tag("Title"), layout.Title},
		{"in the outline", 10, func(p *inkstreamv1.Page) []*inkstreamv1.OutlineEntry {
			return []*inkstreamv1.OutlineEntry{{Title: layout.PageText(page(1, p.GetBlocks()[0])), Level: 1, Page: 1}}
		}, layout.Heading},
		{"by its type", 20, func(*inkstreamv1.Page) []*inkstreamv1.OutlineEntry { return nil }, layout.Title},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for line, want := range map[string]string{long: layout.Paragraph, short: tt.kind} {
				p := page(1, append([]*inkstreamv1.Block{text(layout.Paragraph, 72, 72, tt.size, 1, line)}, clones(body)...)...)
				planned(t, tt.named(p), p)
				if got := p.GetBlocks()[0].GetType(); got != want {
					t.Errorf("%d letters: got %s, want %s", len(line), got, want)
				}
			}
		})
	}
}

func clones(blocks []*inkstreamv1.Block) []*inkstreamv1.Block {
	var out []*inkstreamv1.Block
	for _, b := range blocks {
		out = append(out, proto.Clone(b).(*inkstreamv1.Block))
	}
	return out
}

func TestRepeatedHeadingsAreBounded(t *testing.T) {
	t.Parallel()
	heading := func(level int32, s string) *inkstreamv1.Block {
		b := text(layout.Heading, 72, 72, 14, 1, s)
		b.Level = level
		return b
	}
	title := func(s string) *inkstreamv1.Block { return text(layout.Title, 72, 40, 20, 1, s) }
	long, words := strings.Repeat("長", 100_000), strings.Repeat("heading ", 10_000)
	deep := []*inkstreamv1.Block{title(long)}
	for level := range int32(maxHeadingLevels) {
		deep = append(deep, heading(level+1, words))
	}
	few, many := text(layout.Paragraph, 72, 100, 10, 1, "word"),
		text(layout.Paragraph, 72, 100, 10, 1, strings.Repeat("word ", 500))
	for _, tt := range []struct {
		name   string
		blocks []*inkstreamv1.Block
		want   string // how the headings end
	}{
		{"what people write", []*inkstreamv1.Block{title("A Study"), heading(1, "One"), few}, "Study One"},
		{"a title", []*inkstreamv1.Block{title(long), few}, "長…"},
		{"a title in a thousand parts", append(slices.Repeat([]*inkstreamv1.Block{title("A part of the title")}, 1000), few),
			"the…"},
		{"seven levels over a word", append(slices.Clone(deep), few), "heading…"},
		{"seven levels over a long passage", append(slices.Clone(deep), many), "heading…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range passages(t, 2000, page(1, tt.blocks...)) {
				all := strings.Join(c.Headings, " ")
				if !strings.HasSuffix(all, tt.want) || !utf8.ValidString(all) || strings.ContainsRune(all, utf8.RuneError) {
					t.Errorf("the headings are %.300q, want them to end with %q", all, tt.want)
				}
				if n := len(strings.Join(c.Headings, "")); n > maxHeadingsBytes+len(c.Text) {
					t.Errorf("the headings have %d bytes, the text %d", n, len(c.Text))
				}
				for _, h := range c.Headings {
					if len(h) > maxHeadingBytes {
						t.Errorf("a heading has %d bytes, want at most %d", len(h), maxHeadingBytes)
					}
				}
			}
		})
	}
}

func TestShortened(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"twelve bytes", "twelve bytes"},
		{"between two words", "between…"},
		{"one two three", "one two…"},
		{"a verylongword", "a verylon…"},
		{"unbrokenbytes", "unbrokenb…"},
		{"長い見出し", "長い見…"},
		{"12345678e\u0301\u0301", "12345678…"},
		{strings.Repeat("\u0301", 20), "…"},
		{strings.Repeat("\x80", 20), "…"},
	} {
		if got := shortenText(tt.text, 12); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

// linkedPage has words of one letter, each with the next link in turn.
func linkedPage(n int32, words int, addresses ...string) *inkstreamv1.Page {
	p := page(n, text(layout.Paragraph, 72, 72, 10, 1, strings.Repeat("w ", words)))
	for _, uri := range addresses {
		p.Links = append(p.Links, &inkstreamv1.Link{Uri: uri})
	}
	for i, w := range layout.PageWords(p) {
		w.Link = int32(i%len(addresses)) + 1
	}
	return p
}

func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	long := func(i int) string { return fmt.Sprintf("https://example.com/%d%s", i, strings.Repeat("a", 1900)) }
	const words, pages = 2000, 20
	alternating := func() (out []*inkstreamv1.Page) {
		for n := range pages {
			out = append(out, linkedPage(int32(n+1), words, long(1), long(2)))
		}
		return out
	}
	small := func() (out []*inkstreamv1.Page) { // a block for every word
		for _, p := range alternating() {
			var blocks []*inkstreamv1.Block
			for _, w := range layout.PageWords(p) {
				line := &inkstreamv1.Line{Words: []*inkstreamv1.Word{w}, Bbox: w.GetBbox()}
				blocks = append(blocks, &inkstreamv1.Block{Type: layout.Paragraph, Lines: []*inkstreamv1.Line{line},
					Bbox: w.GetBbox()})
			}
			p.Blocks = blocks
			out = append(out, p)
		}
		return out
	}
	var many []string
	for i := range 1000 {
		many = append(many, long(i))
	}
	for _, tt := range []struct {
		name  string
		pages []*inkstreamv1.Page
		most  int // bytes
		links int // at least
	}{
		{"two long addresses in turn", alternating(), baseLinkBytes + (linkBytesPerTextByte+4)*words*pages + 5000, 100},
		{"each in a block of its own", small(), baseLinkBytes + (linkBytesPerTextByte+4)*words*pages + 5000, 100},
		{"long addresses, each once", []*inkstreamv1.Page{linkedPage(1, len(many), many...)}, 1 << 30, len(many)},
		{"an ordinary page", []*inkstreamv1.Page{linkedPage(1, 400, strings.Repeat("https://example.com/", 7),
			"https://example.org/")}, 1 << 30, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := markdown(t, nil, tt.pages...)
			if len(got) > tt.most {
				t.Errorf("got %d bytes, want at most %d", len(got), tt.most)
			}
			if n := strings.Count(got, "](https://"); n < tt.links {
				t.Errorf("got %d links, want at least %d", n, tt.links)
			}
			all := 0
			for _, p := range tt.pages {
				all += len(layout.PageWords(p))
			}
			if n := strings.Count(got, "w"); n != all {
				t.Errorf("got %d words, want all %d", n, all)
			}
		})
	}
}

func TestCodeStaysBetweenItsFences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		fence string
	}{
		{"plain", []string{"x := `a` + ``b``", "~~~~"}, "```"},
		{"a fence of backticks", []string{"```", "<b>"}, "~~~~"},
		{"both fences", []string{"```", "~~~~", "<script>alert(1)</script>"}, "~~~~~"},
		{"long fences", []string{"``````", "x~~~~~~", "~~~~~~~"}, "~~~~~~~~"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Split(string(formatCodeBlock(text(layout.Code, 72, 72, 10, 3, tt.lines...))), "\n")
			if first, last := got[0], got[len(got)-1]; first != tt.fence || last != tt.fence {
				t.Errorf("got the fences %q and %q, want %q", first, last, tt.fence)
			}
		})
	}
}

// TestPlanOfAnyPages plans documents of blocks anywhere, in any type, and finds every word of them again.
func TestPlanOfAnyPages(t *testing.T) {
	t.Parallel()
	phrases := []string{"The Growth of Pears", "1 Pears", "Anna Keller", "Table 1: Pears", "12", "- 3 -", "• of orchards", "the pears of the orchard grow",
		"Name:", "See page 9 of it.", "PEARS", "2026"}
	kinds := []string{layout.Paragraph, layout.Paragraph, layout.ListItem, layout.Caption, layout.Code}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var pages []*inkstreamv1.Page
		for n := range 1 + random.IntN(4) {
			var blocks []*inkstreamv1.Block
			y := 40 + random.Float32()*60
			for range random.IntN(9) {
				lines := make([]string, 1+random.IntN(2)*random.IntN(4))
				for i := range lines {
					lines[i] = phrases[random.IntN(len(phrases))]
				}
				size := []float32{10, 10, 10, 12, 14, 20}[random.IntN(6)]
				blocks = append(blocks, text(kinds[random.IntN(len(kinds))], []float32{72, 72, 200, 320}[random.IntN(4)], y, size, 1+random.Int32N(3), lines...))
				y += float32(random.IntN(3)) * size * 1.4 * float32(len(lines))
				if random.IntN(2) == 0 {
					blocks = append(blocks, prose(y))
					y += 30
				}
			}
			pages = append(pages, page(int32(n+1), blocks...))
		}
		before := countAllWords(pages)
		plan := planned(t, nil, pages...)
		for _, pg := range pages {
			plan.ApplyTo(pg)
		}
		if after := countAllWords(pages); after != before {
			t.Fatalf("%d words of %d", after, before)
		}
	}
}

func countAllWords(pages []*inkstreamv1.Page) int {
	n := 0
	for _, pg := range pages {
		for _, b := range pg.GetBlocks() {
			for _, l := range b.GetLines() {
				n += len(l.GetWords())
			}
		}
	}
	return n
}
