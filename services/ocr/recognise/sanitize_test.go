package recognise_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/enginetest"
	"inkstream.dev/services/ocr/recognise"
)

var size = recognise.Size{Width: 850, Height: 1100}

func TestSanitizeKeepsValidPage(t *testing.T) {
	t.Parallel()
	one, half := float32(1), float32(0.5)
	fonts := []*inkstreamv1.Font{recognise.BoldFont()}
	answer := &inkstreamv1.Page{UprightRotation: 270, Fonts: fonts, Blocks: []*inkstreamv1.Block{
		{Lines: []*inkstreamv1.Line{
			{Angle: 90, Words: []*inkstreamv1.Word{
				{Text: "to", Bbox: []float32{10, 20, 30, 40}, Confidence: &one},
				{Text: "be", Bbox: []float32{35, 18, 50, 40}, Confidence: &half, Font: 1},
			}},
			{Angle: 90, Words: []*inkstreamv1.Word{{Text: "or", Bbox: []float32{10, 50, 30, 60}, Confidence: &one}}},
		}},
		{Lines: []*inkstreamv1.Line{{Words: []*inkstreamv1.Word{{Text: "\u200enaïveté\u2069",
			Bbox: []float32{10, 80, 90, 90}}}}}},
	}}
	got := recognise.Sanitize(answer, size, 100)
	zero := float32(0)
	want := proto.CloneOf(answer)
	want.Quality, want.Language = 0.3, "eng" // hardly sure of anything, but every word looks like one
	want.Width, want.Height, want.Dpi, want.Confidence, want.Text = 612, 792, 100, 5./13, "to be\nor\n\nnaïveté\n"
	want.Blocks[0].Type, want.Blocks[0].Bbox = "paragraph", []float32{10, 18, 50, 60}
	want.Blocks[0].Lines[0].Bbox, want.Blocks[0].Lines[1].Bbox = []float32{10, 18, 50, 40}, []float32{10, 50, 30, 60}
	want.Blocks[1].Type, want.Blocks[1].Bbox, want.Blocks[1].Lines[0].Bbox = "paragraph", []float32{10, 80, 90, 90},
		[]float32{10, 80, 90, 90}
	want.Blocks[1].Lines[0].Words[0].Confidence, want.Blocks[1].Lines[0].Words[0].Text = &zero, "naïveté"
	if !proto.Equal(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
}

func TestSanitizeBoundsNonsense(t *testing.T) {
	t.Parallel()
	page := recognise.Sanitize(enginetest.NonsensePage(), size, 100)
	enginetest.CheckPage(t, page)
	var got []string
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				got = append(got, w.GetText()[:min(8, len(w.GetText()))])
			}
		}
	}
	if g, w := strings.Join(got, " "), "good b\uFFFD(d control swapped over longlong"; g != w {
		t.Errorf("words: got %q, want %q", g, w)
	}
	if page.GetUprightRotation() != 0 || page.GetRotation() != 0 || page.GetNumber() != 0 || page.GetOutcome() != "" {
		t.Errorf("got %v, want nothing that is not an engine's to say", page)
	}
	if len(page.GetText()) > 2000 {
		t.Errorf("text: got %d bytes, want no more than the words have", len(page.GetText()))
	}
}

func TestSanitizeBoundsWordCount(t *testing.T) {
	t.Parallel()
	page := recognise.Sanitize(enginetest.WordFloodPage(150_000), size, 100)
	if got := len(page.GetBlocks()[0].GetLines()[0].GetWords()); got != 100_000 || len(page.GetNotes()) != 1 {
		t.Errorf("got %d words and notes %q, want 100000 and one note", got, page.GetNotes())
	}
}

func TestSanitizeEmptyPage(t *testing.T) {
	t.Parallel()
	for _, answer := range []*inkstreamv1.Page{nil, {}} {
		if got := recognise.Sanitize(answer, size, 100); len(got.GetBlocks()) != 0 || got.GetWidth() != 612 ||
			got.GetText() != "" {
			t.Errorf("got %v, want an empty page of 612 x 792 points", got)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	for _, page := range []*inkstreamv1.Page{{}, enginetest.WordFloodPage(3)} {
		b, err := proto.Marshal(page)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var page inkstreamv1.Page
		if proto.Unmarshal(b, &page) == nil {
			enginetest.CheckPage(t, recognise.Sanitize(&page, size, 100))
		}
	})
}

func TestSanitizeChecksPageFields(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	one := float32(1)
	words := func(text string) []*inkstreamv1.Block {
		line := &inkstreamv1.Line{}
		for w := range strings.FieldsSeq(text) {
			line.Words = append(line.Words, &inkstreamv1.Word{Text: w, Bbox: []float32{1, 1, 2, 2}, Confidence: &one})
		}
		return []*inkstreamv1.Block{{Lines: []*inkstreamv1.Line{line}}}
	}
	got := recognise.Sanitize(&inkstreamv1.Page{
		Skew: nan, Bend: []float32{0, nan}, Language: "deu", Quality: 7, Notes: []string{recognise.NoteNoise, "<script>", recognise.NoteNoModel},
		Rulings: []*inkstreamv1.Ruling{{Bbox: []float32{10, 10, 500, 11}}, {Bbox: []float32{nan, 0, 1, 1}}, {},
			{Bbox: []float32{-9, 5, 9999, 6}}},
		Blocks: words("The ferry leaves the harbour at seven and it is not the only one that does so in the morning"),
	}, size, 100)
	if got.GetSkew() != 0 || got.GetLanguage() != "eng" || got.GetQuality() != 1 ||
		!slices.Equal(got.GetNotes(), []string{recognise.NoteNoise, recognise.NoteNoModel}) {
		t.Errorf("got skew %v, language %q, quality %v, notes %q", got.GetSkew(), got.GetLanguage(), got.GetQuality(),
			got.GetNotes())
	}
	if len(got.GetBend()) != 0 {
		t.Errorf("got the bend %v, want none", got.GetBend())
	}
	bend := []float32{0, 2, -1}
	if got := recognise.Sanitize(&inkstreamv1.Page{Bend: bend}, size, 100); !slices.Equal(got.GetBend(), bend) {
		t.Errorf("got the bend %v, want %v", got.GetBend(), bend)
	}
	if len(got.GetRulings()) != 2 || got.GetRulings()[1].GetBbox()[2] != 612 {
		t.Errorf("rulings: got %v, want two within the page", got.GetRulings())
	}
	for _, tt := range []struct{ read, text, want string }{
		{"tha", "x y z", "tha"}, {"", "x y z", ""}, {"../", "x y z", ""}, {"deu", "", ""},
	} {
		if got := recognise.Sanitize(&inkstreamv1.Page{Language: tt.read, Blocks: words(tt.text)}, size,
			100).GetLanguage(); got != tt.want {
			t.Errorf("%q read as %q: got %q, want %q", tt.text, tt.read, got, tt.want)
		}
	}
	for text, want := range map[string]float32{"": 1, "McDonald's (1,234.50) — naïve FERRY!": 0.97,
		"~|x}{ %%% a.b,c;d:e": 0.7} {
		if got := recognise.Sanitize(&inkstreamv1.Page{Blocks: words(text)}, size,
			100).GetQuality(); math.Abs(float64(got-want)) > 0.04 {
			t.Errorf("quality of %q: got %v, want %v", text, got, want)
		}
	}
}

func TestSanitizeBoundsUnreadInk(t *testing.T) {
	t.Parallel()
	answer := &inkstreamv1.Page{InkWithoutWords: float32(math.NaN()), UnreadRegions: []*inkstreamv1.UnreadRegion{
		{Bbox: []float32{10, 20, 30, 40}}, {Bbox: []float32{-9, 700, 9999, 9999}}, {Bbox: []float32{1}},
	}}
	for range 500 {
		answer.UnreadRegions = append(answer.UnreadRegions, answer.UnreadRegions[0])
	}
	got := recognise.Sanitize(answer, size, 100)
	if got.GetInkWithoutWords() != 0 || len(got.GetUnreadRegions()) > 100 || len(got.GetNotes()) != 1 {
		t.Errorf("got the share %v, %d regions and the notes %q, want 0, at most 100 and one", got.GetInkWithoutWords(),
			len(got.GetUnreadRegions()), got.GetNotes())
	}
	if want := []float32{0, 700, 612, 792}; !slices.Equal(got.GetUnreadRegions()[1].GetBbox(), want) {
		t.Errorf("region: got %v, want %v", got.GetUnreadRegions()[1].GetBbox(), want)
	}
}
