package layout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// at sets a line of text in type of the given size, every character half an em wide, with the top of the letters at y.
func at(x, y, size float64, text string) *inkstreamv1.Line {
	line := &inkstreamv1.Line{}
	for _, word := range strings.Fields(text) {
		w := float64(len([]rune(word))) * size / 2
		line.Words = append(line.Words, &inkstreamv1.Word{Text: word, Bbox: rect{x, y, x + w, y + size*0.9}.toBox(),
			Size: float32(size)})
		x += w + size*0.3
	}
	return line
}

// down sets lines of text one below the other.
func down(x, y, size float64, lines ...string) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for i, text := range lines {
		out = append(out, at(x, y+float64(i)*size*1.2, size, text))
	}
	return out
}

// set sets lines in a font.
func set(font int32, lines ...*inkstreamv1.Line) []*inkstreamv1.Line {
	for _, line := range lines {
		for _, w := range line.Words {
			w.Font = font
		}
	}
	return lines
}

// fonts gives a page two fonts.
func fonts(page *inkstreamv1.Page) *inkstreamv1.Page {
	page.Fonts = []*inkstreamv1.Font{{Name: "Times"}, {Name: "Garamond"}}
	return page
}

// turned gives lines an angle, and moves their words to where they stand on a page when the lines run that way.
func turned(angle int32, lines ...*inkstreamv1.Line) []*inkstreamv1.Line {
	for _, line := range lines {
		line.Angle = angle
		for _, w := range line.Words {
			r := rotation(angle).unrotateRect(rectFromBox(w.Bbox))
			// The page begins at the origin; where text that is turned about it lies, does not matter.
			w.Bbox = r.toBox()
		}
	}
	return lines
}

func pageOf(groups ...[]*inkstreamv1.Line) *inkstreamv1.Page {
	return &inkstreamv1.Page{Width: 595, Height: 842, Blocks: []*inkstreamv1.Block{{Lines: slices.Concat(groups...)}}}
}

func interleaved(a, b []*inkstreamv1.Line) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			out = append(out, a[i])
		}
		if i < len(b) {
			out = append(out, b[i])
		}
	}
	return out
}

var (
	leftText = []string{"the left column begins here", "and goes on with another line", "then a third one follows it",
		"and a fourth line is last"}
	rightText = []string{"while the right column has", "a text of its own in lines", "that are level with the left",
		"but have nothing to do with it"}
)

func TestArrange(t *testing.T) {
	t.Parallel()
	columns := strings.Join(leftText, "\n") + "\n\n" + strings.Join(rightText, "\n") + "\n"
	for _, tt := range []struct {
		name string
		page *inkstreamv1.Page
		want string
	}{
		{"nothing", pageOf(), ""},
		{"one line", pageOf(down(72, 72, 10, "one line")), "one line\n"},
		{
			"paragraphs are set apart by more room than lines are",
			pageOf(down(72, 72, 10, "first line of", "the first paragraph"), down(72, 110, 10, "second paragraph")),
			"first line of\nthe first paragraph\n\nsecond paragraph\n",
		},
		{
			"a heading is a block of its own",
			pageOf(down(72, 72, 16, "A heading"), down(72, 92, 10, "text below it", "in two lines")),
			"A heading\n\ntext below it\nin two lines\n",
		},
		{
			"a heading as wide as the column is in a font of its own, and larger",
			fonts(pageOf(set(1, down(72, 72, 10.8, "(1) a heading that is wide")...),
				set(2, down(72, 86, 10, "and the text that is below it", "in three lines which are all",
					"of the width of that heading")...))),
			"(1) a heading that is wide\n\nand the text that is below it\nin three lines which are all\nof the width of that heading\n",
		},
		{
			"lines drawn from the bottom up",
			pageOf(down(72, 96, 10, "third line"), down(72, 84, 10, "second line"), down(72, 72, 10, "first line")),
			"first line\nsecond line\nthird line\n",
		},
		{"columns drawn one after the other", pageOf(down(72, 72, 10, leftText...), down(300, 72, 10, rightText...)),
			columns},
		{"columns drawn line by line", pageOf(interleaved(down(72, 72, 10, leftText...), down(300, 72, 10, rightText...))),
			columns},
		{"columns drawn in the wrong order", pageOf(down(300, 72, 10, rightText...), down(72, 72, 10, leftText...)), columns},
		{"columns whose lines are not level", pageOf(down(300, 77, 10, rightText...), down(72, 72, 10, leftText...)),
			columns},
		{
			"a title stands above both columns",
			pageOf(down(300, 100, 10, rightText...), down(72, 100, 10, leftText...),
				down(110, 72, 18, "A title across both the columns")),
			"A title across both the columns\n\n" + columns,
		},
		{
			"a heading between parts in columns",
			pageOf(down(72, 100, 10, leftText...), down(300, 100, 10, rightText...),
				down(72, 160, 12, "a heading that goes across the whole of the page"),
				down(72, 190, 10, leftText...), down(300, 190, 10, rightText...)),
			columns + "\na heading that goes across the whole of the page\n\n" + columns,
		},
		{
			"the rows of a table are read across",
			pageOf(down(72, 72, 10, "Item", "Pears", "Plums", "Sum"), down(250, 72, 10, "Count", "12", "3", "15"),
				down(400, 72, 10, "Price", "1.20", "0.90", "2.10")),
			"Item\tCount\tPrice\nPears\t12\t1.20\nPlums\t3\t0.90\nSum\t15\t2.10\n",
		},
		{
			"the title of a letter's head stands in no row of the address",
			pageOf(down(72, 72, 10, "Esther Vogel", "6 Wexcombe Square", "Ravensbourne 70533"), down(400, 82, 20, "INVOICE")),
			"Esther Vogel\n6 Wexcombe Square\nRavensbourne 70533\n\nINVOICE\n",
		},
		{
			"labels of a list stay with their items",
			pageOf(down(72, 72, 10, "1."), down(100, 72, 10, "the first item of the list", "which has two lines"),
				down(72, 96, 10, "2."), down(100, 96, 10, "the second item of it", "has two lines as well")),
			"1. the first item of the list\nwhich has two lines\n2. the second item of it\nhas two lines as well\n",
		},
		{
			"a raised mark belongs to its word",
			pageOf(down(72, 72, 10, "with a note"), []*inkstreamv1.Line{at(72+11*5-4+0.2, 69, 6, "1")},
				down(130, 72, 10, "and on")),
			"with a note1 and on\n",
		},
		{
			"text along the margin comes after the text",
			pageOf(turned(270, at(-700, 20, 8, "stamped along the margin")),
				down(72, 72, 10, "the text of the page", "in two lines")),
			"the text of the page\nin two lines\n\nstamped along the margin\n",
		},
		{
			"a page whose text runs downwards",
			pageOf(turned(90, at(72, -500, 10, "first line"), at(72, -488, 10, "second line"))),
			"first line\nsecond line\n",
		},
		{
			"a heading above text that runs downwards comes first, and what is beside and below it last",
			pageOf(turned(90, at(72, -500, 10, "first line of the text"), at(72, -488, 10, "second line")),
				down(400, 40, 10, "Heading"),
				down(100, 90, 10, "beside"), down(400, 300, 10, "below")),
			"Heading\n\nfirst line of the text\nsecond line\n\nbeside\n\nbelow\n",
		},
		{
			"slanted type is upright text",
			pageOf([]*inkstreamv1.Line{{Angle: 12, Words: at(72, 72, 10, "slanted").Words}}, down(72, 84, 10, "upright")),
			"slanted\nupright\n",
		},
		{
			"one line in two pieces",
			pageOf(down(150, 72, 10, "of the line"), down(72, 72, 10, "the beginning")),
			"the beginning of the line\n",
		},
		{
			"a leader of dots is no gap",
			pageOf([]*inkstreamv1.Line{at(72, 72, 10, "Contents . . . . . . . . . 12"),
				at(72, 84, 10, "Index . . . . . . . . . . . 99")}),
			"Contents . . . . . . . . . 12\nIndex . . . . . . . . . . . 99\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ArrangePage(tt.page)
			if tt.page.Text != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", tt.page.Text, tt.want)
			}
			ArrangePage(tt.page)
			if tt.page.Text != tt.want {
				t.Errorf("arranged again:\n%s\nwant:\n%s", tt.page.Text, tt.want)
			}
		})
	}
}

func TestRightToLeftKeepsItsOrder(t *testing.T) {
	t.Parallel()
	// Two lines of Hebrew as an engine gives them: in the order in which they are read, each word left of the one
	// before.
	line := func(y float64, words ...string) *inkstreamv1.Line {
		l := &inkstreamv1.Line{}
		x := 400.0
		for _, w := range words {
			width := float64(len([]rune(w))) * 5
			l.Words = append(l.Words, &inkstreamv1.Word{Text: w, Bbox: rect{x - width, y, x, y + 9}.toBox()})
			x -= width + 3
		}
		return l
	}
	page := pageOf([]*inkstreamv1.Line{line(84, "שנייה", "שורה"), line(72, "שלום", "לכל", "העולם", "2024", "abc")})
	ArrangePage(page)
	if want := "שלום לכל העולם 2024 abc\nשנייה שורה\n"; page.Text != want {
		t.Errorf("got %q, want %q", page.Text, want)
	}
}

func TestBlocksHoldTheText(t *testing.T) {
	t.Parallel()
	page := pageOf(down(72, 72, 10, leftText...), down(300, 72, 10, rightText...))
	ArrangePage(page)
	if len(page.Blocks) != 2 {
		t.Fatalf("%d blocks, want 2", len(page.Blocks))
	}
	for i, b := range page.Blocks {
		if b.Type != Paragraph || len(b.Lines) != 4 {
			t.Errorf("block %d: type %q with %d lines, want a paragraph of 4", i, b.Type, len(b.Lines))
		}
		box := rectFromBox(b.Bbox)
		for _, l := range b.Lines {
			if u := box.union(rectFromBox(l.Bbox)); u != box {
				t.Errorf("block %d: line %v is outside of %v", i, l.Bbox, b.Bbox)
			}
		}
	}
	if got, want := len(PageWords(page)), len(strings.Fields(page.Text)); got != want {
		t.Errorf("%d words, the text has %d", got, want)
	}
}

// recognised makes blocks as a recogniser gives them.
func recognised(blocks ...[]*inkstreamv1.Line) *inkstreamv1.Page {
	page := &inkstreamv1.Page{Width: 595, Height: 842}
	for _, lines := range blocks {
		for _, l := range lines {
			for _, w := range l.Words {
				w.Confidence = proto.Float32(0.9)
				w.Size = 0
			}
		}
		page.Blocks = append(page.Blocks, &inkstreamv1.Block{Lines: lines})
	}
	return page
}

// tightlyRecognised makes blocks as recognised does, with boxes as tight as the ink.
func tightlyRecognised(blocks ...[]*inkstreamv1.Line) *inkstreamv1.Page {
	for _, lines := range blocks {
		for _, l := range lines {
			for _, w := range l.Words {
				if span, known := measureLetterSpan(w.Text); known {
					baseline := w.Bbox[1] + 0.7*w.Size
					w.Bbox[1], w.Bbox[3] = baseline-float32(span.above)*w.Size, baseline+float32(span.below)*w.Size
				}
			}
		}
	}
	return recognised(blocks...)
}

func TestRecognisedPages(t *testing.T) {
	t.Parallel()
	left, right := strings.Join(leftText, "\n")+"\n", strings.Join(rightText, "\n")+"\n"
	for _, tt := range []struct {
		name string
		page *inkstreamv1.Page
		want string
	}{
		{
			"the recogniser's order stays",
			recognised(down(300, 72, 10, rightText...), down(72, 72, 10, leftText...)),
			right + "\n" + left,
		},
		{
			"unless it goes up the page",
			recognised(down(72, 200, 10, "the end of it"), down(72, 150, 10, "the middle of it"),
				down(72, 100, 10, "the beginning")),
			"the beginning\n\nthe middle of it\n\nthe end of it\n",
		},
		{
			"paragraphs in one of its blocks are parted",
			recognised(append(down(72, 72, 10, leftText...), down(72, 135, 10, rightText...)...)),
			left + "\n" + right,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ArrangePage(tt.page)
			if tt.page.Text != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", tt.page.Text, tt.want)
			}
		})
	}
}

func TestMergeNativeAndOCR(t *testing.T) {
	t.Parallel()
	native := pageOf(down(72, 72, 10, "native text above the picture"), down(72, 300, 10, "native text below it"))
	native.Number, native.Outcome = 3, "native_text"
	before := proto.Clone(native)
	ocr := recognised(down(72.5, 72.4, 9.8, "nat1ve text abcve the picture"),
		down(90, 150, 12, "words in the picture", "in two lines"),
		down(72, 300.3, 10, "native text below it"), down(85, 200, 10, "| ~ &"))
	for i, w := range ocr.Blocks[3].Lines[0].Words {
		w.Confidence = proto.Float32([]float32{0.2, 0.4, 0.9}[i])
	}
	ocr.Dpi, ocr.Skew, ocr.Quality, ocr.Notes, ocr.Engine = 300, 1.5, 0.6, []string{"much noise"}, "reader 1.2"
	ocr.Rulings = across(72, 300, 500)

	got := MergeNativeAndOCR(native, ocr)
	want := "native text above the picture\n\nwords in the picture\nin two lines\n\n&\n\nnative text below it\n"
	if got.Text != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.Text, want)
	}
	if len(got.Rulings) != 1 {
		t.Errorf("rulings %v, want those that were seen, where none are drawn", got.Rulings)
	}
	if got.Engine != "reader 1.2" {
		t.Errorf("engine %q, want reader 1.2", got.Engine)
	}
	if got.Dpi != 300 || math.Abs(float64(got.Confidence)-0.9) > 1e-6 || got.Number != 3 || got.Outcome != "native_text" {
		t.Errorf("dpi %v, confidence %v, number %d, outcome %q; want 300, 0.9, 3, native_text", got.Dpi, got.Confidence,
			got.Number, got.Outcome)
	}
	// Of the words, 9 are native and 8 recognised.
	if want := (9 + 8*0.6) / 17; math.Abs(float64(got.Quality)-want) > 1e-6 || got.Skew != 1.5 ||
		!slices.Equal(got.Notes, []string{"much noise"}) {
		t.Errorf("quality %v, skew %v, notes %q; want %v, 1.5 and the recogniser's", got.Quality, got.Skew, got.Notes, want)
	}
	if !proto.Equal(native, before) {
		t.Error("the native page was changed")
	}
	if got := MergeNativeAndOCR(nil, nil); got.Text != "" {
		t.Errorf("of nothing: %q, want nothing", got.Text)
	}
}

// allText returns the characters of a page, sorted: what no arrangement may change.
func allText(page *inkstreamv1.Page) string {
	var runes []rune
	for _, w := range PageWords(page) {
		runes = append(runes, []rune(w.GetText())...)
	}
	slices.Sort(runes)
	return string(runes)
}

func hostilePage(rng *rand.Rand, words int, box func(i int) []float32) *inkstreamv1.Page {
	page := &inkstreamv1.Page{}
	line := &inkstreamv1.Line{}
	block := &inkstreamv1.Block{Lines: []*inkstreamv1.Line{line}}
	page.Blocks = append(page.Blocks, block)
	for i := range words {
		line.Words = append(line.Words, &inkstreamv1.Word{Text: fmt.Sprint("w", i), Bbox: box(i), Size: 10})
		if rng.IntN(8) == 0 {
			line = &inkstreamv1.Line{Angle: []int32{0, 0, 0, 90, 33, -720}[rng.IntN(6)]}
			block.Lines = append(block.Lines, line)
		}
		if rng.IntN(100) == 0 {
			block = &inkstreamv1.Block{Lines: []*inkstreamv1.Line{line}}
			page.Blocks[len(page.Blocks)-1].Lines = page.Blocks[len(page.Blocks)-1].Lines[:len(page.Blocks[len(page.Blocks)-1].Lines)-1]
			page.Blocks = append(page.Blocks, block)
		}
	}
	return page
}

func TestHostileGeometryIsFast(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rng := rand.New(rand.NewPCG(1, 2))
	anywhere := func(scale float32) []float32 {
		x, y := rng.Float32()*scale, rng.Float32()*scale
		return []float32{x, y, x + rng.Float32()*40, y + rng.Float32()*12}
	}
	for _, tt := range []struct {
		name  string
		words int
		box   func(i int) []float32
	}{
		{"all in one place", 100_000, func(int) []float32 { return []float32{10, 10, 50, 20} }},
		{"no boxes", 10_000, func(int) []float32 { return nil }},
		{"not numbers", 10_000, func(int) []float32 { return []float32{nan, inf, -inf, nan} }},
		{"far away", 10_000, func(int) []float32 { return []float32{-3e38, -3e38, 3e38, 3e38} }},
		{"anywhere", 100_000, func(int) []float32 { return anywhere(800) }},
		{"anywhere on a large page", 10_000, func(int) []float32 { return anywhere(14400) }},
		{"all on one line", 10_000, func(i int) []float32 { return []float32{float32(i) * 20, 10, float32(i)*20 + 8, 20} }},
		{"all on one line in no order", 100_000,
			func(int) []float32 { x := rng.Float32() * 2e6; return []float32{x, 10, x + 8, 20} }},
		{"one below the other", 10_000, func(i int) []float32 {
			return []float32{10, float32(i) * 20, 20,
				float32(i)*20 + 8}
		}},
		{"a staircase", 10_000, func(i int) []float32 { v := float32(i) * 9; return []float32{v, v, v + 8, v + 8} }},
		{"boxes in boxes", 10_000, func(i int) []float32 { v := float32(i) / 250; return []float32{v, v, 800 - v, 800 - v} }},
		{"a grid", 100_000, func(i int) []float32 {
			x, y := float32(i%300)*30, float32(i/300)*14
			return []float32{x, y, x + 10, y + 10}
		}},
		{"corners the wrong way round", 10_000,
			func(int) []float32 { b := anywhere(800); return []float32{b[2], b[3], b[0], b[1]} }},
	} {
		page := hostilePage(rng, tt.words, tt.box)
		if strings.Contains(tt.name, "no order") {
			for _, w := range PageWords(page) {
				page.Blocks = append(page.Blocks, &inkstreamv1.Block{Lines: []*inkstreamv1.Line{{Words: []*inkstreamv1.Word{w}}}})
			}
			page.Blocks = page.Blocks[len(page.Blocks)-tt.words:]
		}
		want := allText(page)
		begin := time.Now()
		ArrangePage(page)
		took := time.Since(begin)
		if took > 30*time.Second { // it takes a second at most; the bound is for a loaded machine and the race detector
			t.Errorf("%s: took %v", tt.name, took)
		}
		if allText(page) != want {
			t.Errorf("%s: words were lost or doubled", tt.name)
		}
	}
}

func FuzzArrange(f *testing.F) {
	f.Add([]byte("some bytes that make a page of a few words, with boxes that may be anything at all"))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0x80, 0x7f})
	f.Fuzz(func(t *testing.T, data []byte) {
		page, ocr := fuzzPage(data), fuzzPage(data[len(data)/2:])
		want := allText(page)
		ArrangePage(page)
		if got := allText(page); got != want {
			t.Errorf("characters %q became %q", want, got)
		}
		for _, w := range PageWords(page) {
			if !isValidBox(w.GetBbox()) || len(w.GetBbox()) != 4 || w.Bbox[0] > w.Bbox[2] || w.Bbox[1] > w.Bbox[3] {
				t.Errorf("box %v of %q is no box", w.GetBbox(), w.GetText())
			}
		}
		MergeNativeAndOCR(page, ocr)
	})
}

// fuzzPage makes a page of the bytes: eight a word, of which one says what kind of box it has.
func fuzzPage(data []byte) *inkstreamv1.Page {
	page := &inkstreamv1.Page{}
	line := &inkstreamv1.Line{}
	block := &inkstreamv1.Block{Lines: []*inkstreamv1.Line{line}}
	page.Blocks = append(page.Blocks, block)
	texts := []string{"a", "word", "12", ".", "שלום", "日本語の文章です", "—", "", "longer-word", "\xff"}
	for ; len(data) >= 8; data = data[8:] {
		b := func(i int) float32 { return float32(int8(data[i])) * 4 }
		box := []float32{b(1), b(2), b(1) + b(3), b(2) + b(4)}
		switch data[0] % 8 {
		case 1:
			box[data[1]%4] = math.Float32frombits(uint32(data[2])<<24 | uint32(data[3])<<16 | uint32(data[4])<<8 | uint32(data[5]))
		case 2:
			box = box[:data[1]%5%4]
		case 3:
			line = &inkstreamv1.Line{Angle: int32(int8(data[5])) * 15}
			block.Lines = append(block.Lines, line)
		case 4:
			block = &inkstreamv1.Block{}
			line = &inkstreamv1.Line{}
			block.Lines = append(block.Lines, line)
			page.Blocks = append(page.Blocks, block)
		}
		w := &inkstreamv1.Word{Text: texts[int(data[6])%len(texts)], Bbox: box, Size: b(5)}
		if data[7]%3 == 0 {
			w.Confidence = proto.Float32(float32(data[7]) / 255)
		}
		line.Words = append(line.Words, w)
	}
	return page
}

// typical returns a page of about 500 words in two columns under a title, drawn line by line.
func typical() *inkstreamv1.Page {
	lines := func(x float64, seed uint64) []*inkstreamv1.Line {
		rng := rand.New(rand.NewPCG(seed, 1))
		var text []string
		for range 48 {
			words := make([]string, 5+rng.IntN(2))
			for i := range words {
				words[i] = strings.Repeat("x", 3+rng.IntN(7))
			}
			text = append(text, strings.Join(words, " "))
		}
		return down(x, 120, 9, text...)
	}
	return pageOf(down(72, 72, 18, "A title that goes across both columns"), interleaved(lines(60, 1), lines(310, 2)))
}

func BenchmarkArrange(b *testing.B) {
	page := typical()
	b.ReportMetric(float64(len(PageWords(page))), "words/page")
	given := page.Blocks
	for b.Loop() {
		page.Blocks = given
		ArrangePage(page)
	}
}

func BenchmarkMergeNativeAndOCR(b *testing.B) {
	native, ocr := typical(), typical()
	for _, w := range PageWords(ocr) {
		w.Confidence = proto.Float32(0.9)
	}
	for b.Loop() {
		MergeNativeAndOCR(native, ocr)
	}
}

// TestBoldFonts tells bold fonts by their names first: the weight that a file gives is often a guess.
func TestBoldFonts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		weight int32
		want   bool
	}{
		{"NotoSerif-Regular", 704, false}, {"NotoSerif-Italic", 900, false}, {"NotoSerif-BoldItalic", 300, true},
		{"DejaVuSans-Bold", 455, true}, {"Arial", 700, true}, {"Arial", 400, false}, {"", 700, true}, {"Times,Italic", 650, false}, {"CMR12", 732, false},
		{"CMSSBX10", 400, true}, {"CMBR10", 700, false}, {"CMBRBX10", 300, true}, {"SFRB1095", 300, true}, {"EUFB10", 300, true},
	} {
		if got := IsBoldFont(&inkstreamv1.Font{Name: tt.name, Weight: tt.weight}); got != tt.want {
			t.Errorf("%s of weight %d: got %t, want %t", tt.name, tt.weight, got, tt.want)
		}
	}
}
