package pagejson_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/pagejson"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// full returns a page in which every field of every message is set.
func full() *inkstreamv1.Page {
	word := func(text string, c *float32) *inkstreamv1.Word {
		return &inkstreamv1.Word{Text: text, Bbox: []float32{72.13, 0, 90.5, 1e-3}, Confidence: c, Font: 2, Size: 9.96,
			Link: 1, Doubt: "number"}
	}
	zero := float32(0)
	box := []float32{1, 2.25, 3, 4}
	return &inkstreamv1.Page{
		Number: 3, Width: 595.276, Height: 841.89, Rotation: 90, Outcome: "ocr", Reason: "r",
		Error: &inkstreamv1.Error{Code: "C", Stage: "ocr", Page: 3, Message: "m", Retryable: true},
		Text:  "a \"quoted\" \\ line\n\ttab \x01 ü 漢字 😀 </script>",
		Blocks: []*inkstreamv1.Block{{Type: "paragraph", Bbox: box, Lines: []*inkstreamv1.Line{
			{Bbox: box, Words: []*inkstreamv1.Word{word("a", nil), word("b", &zero)}, Angle: 180}, {},
		}, Level: 2, Marker: "2.", Language: "eng", Image: 1, Continued: true, Latex: `E = mc^2`, Table: &inkstreamv1.Table{
			Rows: 2, Columns: 3, Ruled: true, Number: 1, HeaderRows: 1,
			Cells: []*inkstreamv1.Cell{{Row: 1, Column: 2, RowSpan: 1, ColumnSpan: 2, Bbox: box, Text: "cell"}, {}},
		}}, {}},
		Words:      []*inkstreamv1.Word{word("w", proto.Float32(0.93))},
		Fonts:      []*inkstreamv1.Font{{Name: "Times", Weight: 700, Italic: true, FixedPitch: true, Color: "#102030"}, {}},
		Confidence: 0.5, Dpi: 300,
		Images: []*inkstreamv1.Image{{Bbox: box, Width: 10, Height: 20, Name: "images/1-1.png", Kind: "embedded",
			Sha256: "ab", Mask: true}},
		Rulings:         []*inkstreamv1.Ruling{{Bbox: box}},
		UprightRotation: 270, Notes: []string{"n", ""}, Quality: 0.75, Language: "deu", Skew: -1.5, Label: "iv",
		Bend:   []float32{0, 1.5, -2},
		Engine: "e 1",
		Links:  []*inkstreamv1.Link{{Bbox: box, Uri: "https://example.org"}, {Page: 3}},
		Tags:   []*inkstreamv1.Tag{{Role: "H1", Bbox: box, Depth: 2, Language: "en"}, {}},

		InkWithoutWords: 0.125, UnreadRegions: []*inkstreamv1.UnreadRegion{{Bbox: box}, {}},
		Doubts:  []*inkstreamv1.Doubt{{Kind: "number", Text: "4152", Witness: "4752", Bbox: box, LeftOut: true}, {}},
		Regions: []*inkstreamv1.Region{{Type: "formula", Bbox: box, Latex: "x", Table: &inkstreamv1.Table{Rows: 1}}, {}},
	}
}

func TestSameAsProtojson(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]*inkstreamv1.Page{"full": full(), "empty": {}, "nil": nil} {
		data := pagejson.Append([]byte("x"), page)[1:]
		want, err := protojson.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(data, &a); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, data)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(a), fmt.Sprint(b); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		var back inkstreamv1.Page
		if err := protojson.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if page != nil && !proto.Equal(&back, page) {
			t.Errorf("%s does not come back: %v", name, &back)
		}
	}
}

// A complete page is what protojson writes with the fields that are not set, to the byte, in pieces of bounded length.
func TestCompleteIsTheSameAsProtojson(t *testing.T) {
	t.Parallel()
	long := full()
	long.Width, long.Height, long.Skew, long.Dpi = math.MaxFloat32, 1.0/3, 1e-7, -0.1
	for range 5000 {
		long.Blocks[0].Lines[0].Words = append(long.Blocks[0].Lines[0].Words, long.GetWords()[0])
	}
	for name, page := range map[string]*inkstreamv1.Page{"full": full(), "empty": {}, "long": long} {
		got := &pieces{}
		if err := pagejson.WriteComplete(got, page); err != nil {
			t.Fatal(err)
		}
		data, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, data); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			at := 0
			for at < min(got.Len(), want.Len()) && got.Bytes()[at] == want.Bytes()[at] {
				at++
			}
			t.Errorf("%s: from %d on:\n got %.100s\nwant %.100s", name, at, got.Bytes()[at:], want.Bytes()[at:])
		}
		if got.longest > 40<<10 {
			t.Errorf("%s: a piece of %d bytes is in memory, want less", name, got.longest)
		}
	}
}

// pieces notes the longest of what is written.
type pieces struct {
	bytes.Buffer
	longest int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.longest = max(p.longest, len(b))
	return p.Buffer.Write(b)
}

// A field that is added to a message and forgotten here must not go unnoticed.
func TestFullSetsEveryField(t *testing.T) {
	t.Parallel()
	p := full()
	for _, m := range []proto.Message{
		p, p.GetError(), p.GetBlocks()[0], p.GetBlocks()[0].GetLines()[0], p.GetWords()[0], p.GetFonts()[0],
		p.GetImages()[0], p.GetRulings()[0], p.GetUnreadRegions()[0], p.GetRegions()[0],
	} {
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if !m.ProtoReflect().Has(fields.Get(i)) {
				t.Errorf("%s is not set", fields.Get(i).FullName())
			}
		}
	}
}

func TestWhatJSONHasNoFormFor(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	data := pagejson.Append(nil, &inkstreamv1.Page{Width: nan, Height: inf, Text: "a\xffb"})
	var v struct {
		Width, Height float64
		Text          string
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if v.Width != 0 || v.Height != 0 || v.Text != "a\ufffdb" {
		t.Errorf("got %+v", v)
	}
}

func BenchmarkAppend(b *testing.B) {
	page := full()
	for range 500 {
		page.Blocks[0].Lines[0].Words = append(page.Blocks[0].Lines[0].Words, page.GetWords()[0])
	}
	b.Run("pagejson", func(b *testing.B) {
		for b.Loop() {
			pagejson.Append(nil, page)
		}
	})
	b.Run("protojson", func(b *testing.B) {
		for b.Loop() {
			if _, err := protojson.Marshal(page); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestLeanIsTheSameWithoutBoxesOfWords(t *testing.T) {
	t.Parallel()
	page := full()
	lean := pagejson.AppendLean(nil, page)
	words := page.Words
	for _, b := range page.Blocks {
		for _, l := range b.Lines {
			words = append(words, l.Words...)
		}
	}
	for _, w := range words {
		w.Bbox, w.Size = nil, 0
	}
	if want := pagejson.Append(nil, page); string(lean) != string(want) {
		t.Errorf("got %s, want %s", lean, want)
	}
}

// Indexes of document.json (pkg/document) keep the lengths of pages that are stored. Where this fails because a page has a
// field more, set new sums; where the JSON of pages that are stored already changes, raise jsonIndexVersion too.
func TestJSONOfStoredPagesStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"whole": {pagejson.Append(nil, full()), "b6422c14306af0dec291d7bbfa76aa9dd5e68eb070c68ca47395869fba8fae68"},
		"lean":  {pagejson.AppendLean(nil, full()), "2a551262e1b872286480843864e140d14a188e27e55ee565438bcad5a58a8337"},
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256(c.data)); got != c.want {
			t.Errorf("%s: the JSON of a page is another: sum %s, want %s\n%s", name, got, c.want, c.data)
		}
	}
}
