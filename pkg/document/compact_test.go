package document

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/pagejson"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// scatteredPage returns a page of many words with all that a word can have, and with extremes.
func scatteredPage(words int) *inkstreamv1.Page {
	p := &inkstreamv1.Page{Number: 7, Width: 612, Height: 792, Outcome: "native_text", Language: "eng"}
	texts := []string{"a", "", "漢字", "naïve", "line\nbreak", "😀", strings.Repeat("x", 300), "\x00"}
	extremes := []float32{0, -1.5, 612, 1e30, -1e-30, float32(math.Inf(1)), float32(math.Copysign(0, -1)), 72.887}
	var line *inkstreamv1.Line
	for i := range words {
		if i%9 == 0 {
			line = &inkstreamv1.Line{Bbox: []float32{1, 2, 3, 4}}
			p.Blocks = append(p.Blocks, &inkstreamv1.Block{Type: "paragraph", Lines: []*inkstreamv1.Line{{}, line}})
		}
		w := &inkstreamv1.Word{Text: texts[rand.IntN(len(texts))], Font: rand.Int32N(3), Size: extremes[rand.IntN(6)]}
		for range 4 {
			w.Bbox = append(w.Bbox, rand.Float32()*612)
		}
		w.Bbox[rand.IntN(4)] = extremes[rand.IntN(8)]
		if i%3 == 0 {
			w.Confidence, w.Link = proto.Float32(rand.Float32()), 2
		}
		line.Words = append(line.Words, w)
		p.Text += w.Text + " "
	}
	return p
}

// ordinaryPage returns a page as they are: lines below each other, in boxes around their words, and the text of all;
// its numbers are no thousandths.
func ordinaryPage(words int) *inkstreamv1.Page {
	p := &inkstreamv1.Page{Number: 7, Width: 612, Height: 792, Outcome: "native_text", Language: "eng"}
	var line *inkstreamv1.Line
	x, y := float32(72.8871), float32(0)
	for i := range words {
		switch {
		case i%40 == 0:
			x, y, line = 72.8871, y+20.0007, &inkstreamv1.Line{}
			p.Blocks = append(p.Blocks, &inkstreamv1.Block{Type: "paragraph", Lines: []*inkstreamv1.Line{line}})
			p.Text += "\n\n"
		case i%8 == 0:
			x, y, line = 72.8871, y+12.3459, &inkstreamv1.Line{}
			b := p.Blocks[len(p.Blocks)-1]
			b.Lines = append(b.Lines, line)
			p.Text += "\n"
		default:
			p.Text += " "
		}
		w := &inkstreamv1.Word{Text: strings.Repeat("wörd", 1+rand.IntN(3)), Size: 9.9626, Font: 1}
		w.Bbox = []float32{x, y, x + 5.1234*float32(len(w.Text)), y + 9.8765}
		x = w.Bbox[2] + 3.3333
		line.Words = append(line.Words, w)
		p.Text += w.Text
	}
	p.Text = strings.TrimSpace(p.Text)
	for _, b := range p.Blocks {
		for _, l := range b.Lines {
			first, last := l.Words[0].Bbox, l.Words[len(l.Words)-1].Bbox
			l.Bbox = []float32{first[0], first[1], last[2], last[3]}
		}
		b.Bbox = boundingBox(b.Lines)
	}
	return p
}

// roundPage rounds the boxes of a page and the sizes of its words.
func roundPage(p *inkstreamv1.Page) *inkstreamv1.Page {
	p = proto.CloneOf(p)
	round := func(numbers []float32) {
		for i := range numbers {
			numbers[i] = float32(math.Round(1000*float64(numbers[i])) / 1000)
		}
	}
	for _, b := range p.Blocks {
		round(b.Bbox)
		for _, l := range b.Lines {
			round(l.Bbox)
			for _, w := range l.Words {
				round(w.Bbox)
				w.Size = float32(math.Round(1000*float64(w.Size)) / 1000)
			}
		}
	}
	return p
}

func TestCompactPageIsThePageInThousandths(t *testing.T) {
	t.Parallel()
	p := ordinaryPage(700)
	tables := proto.CloneOf(p) // with its text in another order, and boxes that are not those around words
	tables.Text = "something else"
	tables.Blocks[1].Bbox[0] = 60.0004
	tables.Blocks[2].Lines[1].Bbox[3] += 0.25
	tables.Blocks = append(tables.Blocks, &inkstreamv1.Block{Type: "image"}, &inkstreamv1.Block{Lines: []*inkstreamv1.Line{{}}})
	for name, p := range map[string]*inkstreamv1.Page{"ordinary": p, "other": tables} {
		before := proto.CloneOf(p)
		stored, err := EncodeCompactPage(p)
		if err != nil || !proto.Equal(p, before) {
			t.Fatalf("%s: got error %v, and a page that is as before: %t", name, err, proto.Equal(p, before))
		}
		got, err := DecodePage(stored)
		if err != nil {
			t.Fatal(err)
		}
		if want := roundPage(p); name == "ordinary" && !proto.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if !proto.Equal(roundPage(got), roundPage(p)) {
			t.Errorf("%s: got %v, want %v", name, got, p)
		}
		if a, b := pagejson.Append(nil, got), pagejson.Append(nil, p); !bytes.Equal(a, b) {
			t.Errorf("%s: its JSON is %s, want %s", name, a, b)
		}
		if text, language, err := DecodeText(stored); err != nil || text != p.Text || language != "eng" {
			t.Errorf("%s: got text %.20q in %s, %v", name, text, language, err)
		}
		again, err := ReplacePage(stored, got)
		if err != nil || !bytes.Equal(again, stored) {
			t.Errorf("%s: stored once more it is other bytes, %v", name, err)
		}
	}
	plain, err := EncodeObservedPage(p)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := EncodeCompactPage(p)
	if err != nil || len(stored) > len(plain)*4/5 {
		t.Errorf("got %d bytes, %v, want fewer than the %d of the plain form", len(stored), err, len(plain))
	}
}

func TestCompactPageIsTheSamePage(t *testing.T) {
	t.Parallel()
	for _, words := range []int{0, 1, 2, 10, 700} {
		p := scatteredPage(words)
		want := proto.CloneOf(p)
		stored, err := EncodeCompactPage(p)
		if err != nil || !proto.Equal(p, want) {
			t.Fatalf("%d words: got error %v, and a page that is as before: %v", words, err, proto.Equal(p, want))
		}
		got, err := DecodePage(stored)
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("%d words: got %v, %v, want %v", words, got, err, want)
		}
		plain, err := EncodeObservedPage(p)
		if err != nil {
			t.Fatal(err)
		}
		if words <= 10 && !bytes.Equal(stored, plain) {
			t.Errorf("%d words: a small page is not in the form that older versions read", words)
		}
		if len(stored) > len(plain)*5/4+40 {
			t.Errorf("%d words: got %d bytes, want about the %d of the plain form", words, len(stored), len(plain))
		}
		evidence, err := DecodeEvidence(stored)
		if err != nil || !bytes.Equal(evidence.appendEncoded(nil), ObservePage(p).appendEncoded(nil)) {
			t.Errorf("%d words: got evidence %v, %v", words, evidence, err)
		}
		if text, language, err := DecodeText(stored); err != nil || text != p.Text || language != "eng" {
			t.Errorf("%d words: got text %.20q in %s, %v", words, text, language, err)
		}
		p.Label = "changed"
		if stored, err = ReplacePage(stored, p); err != nil || isCompact(stored) != (words > 10) {
			t.Errorf("%d words: replaced in another form, error %v", words, err)
		}
		if got, err = DecodePage(stored); err != nil || !proto.Equal(got, p) {
			t.Errorf("%d words: got %v, %v, want the page in its place", words, got, err)
		}
	}
}

func TestWordsThatColumnsCannotTell(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]*inkstreamv1.Word{
		"a blank in the text": {Text: "two words", Bbox: []float32{1, 2, 3, 4}}, "no box": {Text: "a"},
	} {
		p := scatteredPage(400)
		p.Blocks[0].Lines[0].Words = []*inkstreamv1.Word{word}
		stored, err := EncodeCompactPage(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodePage(stored); err != nil || !proto.Equal(got, p) || isCompact(stored) {
			t.Errorf("%s: got %v, %v, want the page in the plain form", name, got, err)
		}
	}
}

func isCompact(stored []byte) bool {
	columns, _ := takeColumns(stored)
	return columns != nil
}

func TestDamagedColumns(t *testing.T) {
	t.Parallel()
	for _, p := range []*inkstreamv1.Page{scatteredPage(30), ordinaryPage(30)} {
		for _, form := range []compactForm{{exactField}, {roundedField}} {
			columns, _ := form.appendColumns(nil, p.GetText(), wordsOf(p))
			for i := range columns {
				if err := form.restoreWords(proto.CloneOf(p), columns[:i]); err == nil {
					t.Fatalf("%d of %d bytes: got no error, want one", i, len(columns))
				}
			}
			if err := form.restoreWords(scatteredPage(29), columns); err == nil {
				t.Error("the columns of another page: got no error, want one")
			}
		}
	}
	for _, p := range []*inkstreamv1.Page{scatteredPage(300), ordinaryPage(600)} {
		stored, err := EncodeCompactPage(p)
		if err != nil || !isCompact(stored) {
			t.Fatal(err, len(stored))
		}
		for i := range stored {
			_, _ = DecodePage(stored[:i])
			_, _, _ = DecodeText(stored[:i])
		}
	}
}
