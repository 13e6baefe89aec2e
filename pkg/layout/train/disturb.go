package main

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// disturbances are the ways in which a page is seen: as it is, as a recogniser gives it, with its words drawn in rows
// across the columns, and with a few of its rows alone.
var disturbances = []struct {
	weight float64
	apply  func(*inkstreamv1.Page, *rand.Rand) *inkstreamv1.Page
}{
	{1, func(p *inkstreamv1.Page, _ *rand.Rand) *inkstreamv1.Page { return p }},
	{0.5, blurWords},
	{0.5, func(p *inkstreamv1.Page, _ *rand.Rand) *inkstreamv1.Page { return joinRows(p) }},
	{0.5, cutRows},
}

func newRandom(seed uint64, page int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(page))) }

// wordsOf returns the words of a page in the order of its lines.
func wordsOf(page *inkstreamv1.Page) []*inkstreamv1.Word {
	var words []*inkstreamv1.Word
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			words = append(words, l.GetWords()...)
		}
	}
	return words
}

// middle returns the height at which a word stands, in points from the top of the page.
func middle(w *inkstreamv1.Word) float32 { return (w.GetBbox()[1] + w.GetBbox()[3]) / 2 }

// blurWords moves the edges of words a little and takes away fonts, sizes and, for half of the pages, rulings.
func blurWords(page *inkstreamv1.Page, random *rand.Rand) *inkstreamv1.Page {
	for _, w := range wordsOf(page) {
		em := w.GetSize()
		if em == 0 {
			em = 10
		}
		move := func() float32 { return 0.03 * em * float32(random.NormFloat64()) }
		b := w.GetBbox()
		// A recogniser's boxes end where the ink ends, PDFium's at the font's ascent and descent.
		w.Bbox = []float32{b[0] + move(), b[1] + 0.2*em + move(), b[2] + move(), b[3] - 0.12*em + move()}
		w.Confidence = proto.Float32(0.9)
		w.Font, w.Size = 0, 0
	}
	page.Fonts = nil
	if random.IntN(2) == 0 {
		page.Rulings = nil
	}
	return page
}

// joinRows makes one line of all words that are level with each other, as engines do that read across.
func joinRows(page *inkstreamv1.Page) *inkstreamv1.Page {
	words := wordsOf(page)
	slices.SortStableFunc(words, func(a, b *inkstreamv1.Word) int { return cmp.Compare(middle(a), middle(b)) })
	var lines []*inkstreamv1.Line
	for i := 0; i < len(words); {
		end, height := i+1, words[i].GetBbox()[3]-words[i].GetBbox()[1]
		for end < len(words) && middle(words[end])-middle(words[i]) < 0.4*height {
			end++
		}
		row := slices.Clone(words[i:end])
		slices.SortStableFunc(row, func(a, b *inkstreamv1.Word) int {
			return cmp.Compare(a.GetBbox()[0], b.GetBbox()[0])
		})
		lines = append(lines, &inkstreamv1.Line{Words: row})
		i = end
	}
	page.Blocks = []*inkstreamv1.Block{{Lines: lines}}
	return page
}

// cutRows keeps a band of the page, 36 to 146 points high, because short columns look most like tables.
func cutRows(page *inkstreamv1.Page, random *rand.Rand) *inkstreamv1.Page {
	words := wordsOf(page)
	if len(words) == 0 {
		return page
	}
	byHeight := func(a, b *inkstreamv1.Word) int { return cmp.Compare(middle(a), middle(b)) }
	from := middle(slices.MinFunc(words, byHeight)) - 20
	top := from + random.Float32()*(middle(slices.MaxFunc(words, byHeight))-from)
	bottom := top + 36 + 110*random.Float32()
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			l.Words = slices.DeleteFunc(l.GetWords(), func(w *inkstreamv1.Word) bool {
				return middle(w) < top || middle(w) > bottom
			})
		}
		b.Lines = slices.DeleteFunc(b.GetLines(), func(l *inkstreamv1.Line) bool { return len(l.GetWords()) == 0 })
	}
	page.Blocks = slices.DeleteFunc(page.GetBlocks(), func(b *inkstreamv1.Block) bool { return len(b.GetLines()) == 0 })
	return page
}
