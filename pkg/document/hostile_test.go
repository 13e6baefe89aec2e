package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/quality"
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
			layout.Arrange(p)
			Languages(p)
			stored, err := Store(p)
			if err != nil {
				return // text that is no UTF-8 does not come from an engine
			}
			e, err := EvidenceOf(stored)
			if err != nil {
				t.Fatal(err)
			}
			evidence = append(evidence, e)
		}
		plan := NewPlan(evidence, []*inkstreamv1.OutlineEntry{{Title: "word", Level: -3, Page: 1}})
		var b strings.Builder
		m, c := NewMarkdown(&b, plan), NewChunks(&b, 50)
		for _, p := range pages {
			n := len(layout.Words(p))
			plan.Apply(p)
			if got := len(layout.Words(p)); got != n {
				t.Errorf("page %d: %d words became %d", p.GetNumber(), n, got)
			}
			if err := m.Page(p); err != nil {
				t.Fatal(err)
			}
			if err := c.Page(p); err != nil {
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
			p.Images = append(p.Images, &inkstreamv1.Image{Bbox: box, Name: "images/1-1.png", Kind: []string{"embedded", "drawing"}[data[5]%2]})
			continue
		case 6:
			p.Tags = append(p.Tags, &inkstreamv1.Tag{Role: []string{"H1", "P", "H"}[data[5]%3], Bbox: box})
			continue
		}
		line.Words = append(line.Words, &inkstreamv1.Word{Text: texts[int(data[6])%len(texts)], Bbox: box, Size: b(5) / 8, Font: int32(data[7] % 5), Link: int32(data[7] % 3)})
	}
	return p
}

// schema reads the published schema of document.json.
func schema(t testing.TB) *quality.Schema {
	t.Helper()
	s, err := quality.ParseSchema(readFile(t, "../../proto/inkstream/v1/document.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHostilePages has what no page of a book has: 100,000 words, words all in one place, text that runs down or from the right, characters
// that nobody else knows, and boxes that are none.
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
		{"all in one place", 20_000, 0, func(int) string { return "same" }, func(int) []float32 { return []float32{10, 10, 40, 20} }},
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
		{"no boxes", 5_000, 0, func(int) string { return "12.5" }, func(i int) []float32 { return [][]float32{nil, {nan, nan, nan, nan}, {3e38, -3e38, 1, 2}}[i%3] }},
	} {
		line := &inkstreamv1.Line{Angle: tt.angle}
		for i := range tt.words {
			line.Words = append(line.Words, &inkstreamv1.Word{Text: tt.text(i), Bbox: tt.box(i), Size: 10})
		}
		p := page(1, &inkstreamv1.Block{Lines: []*inkstreamv1.Line{line}})
		layout.Arrange(p)
		Languages(p)
		plan := planned(t, nil, p)
		if n := len(layout.Words(p)); n != tt.words {
			t.Errorf("%s: %d words became %d", tt.name, tt.words, n)
		}
		if md := markdown(t, plan, p); md == "" {
			t.Errorf("%s: the markdown is empty", tt.name)
		}
		var b strings.Builder
		j, err := NewJSON(&b, Head{Version: "inkstream.v1", Job: "j", SHA256: strings.Repeat("0", 64), PageCount: 1, Words: tt.words})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.Page(p), j.Close()); err != nil {
			t.Fatal(err)
		}
		if err := schema(t).Validate([]byte(b.String())); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
