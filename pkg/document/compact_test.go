package document

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

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
		if stored, err = ReplacePage(stored, p); err != nil || (takeColumns(stored) != nil) != (words > 10) {
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
		if got, err := DecodePage(stored); err != nil || !proto.Equal(got, p) || takeColumns(stored) != nil {
			t.Errorf("%s: got %v, %v, want the page in the plain form", name, got, err)
		}
	}
}

func TestDamagedColumns(t *testing.T) {
	t.Parallel()
	p := scatteredPage(30)
	columns := appendColumns(nil, wordsOf(p))
	for i := range columns {
		if err := restoreWords(proto.CloneOf(p), columns[:i]); err == nil {
			t.Fatalf("%d of %d bytes: got no error, want one", i, len(columns))
		}
	}
	if err := restoreWords(scatteredPage(29), columns); err == nil {
		t.Error("the columns of another page: got no error, want one")
	}
	stored, err := EncodeCompactPage(p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range stored {
		_, _ = DecodePage(stored[:i])
	}
}
