package agree

import (
	"slices"
	"unicode"
)

// Box is x0, y0, x1, y1 in any unit, x to the right and y down. The zero Box is none.
type Box [4]float32

// Exists reports whether the box has a place and a size.
func (b Box) Exists() bool { return b[2] > b[0] && b[3] > b[1] }

// Word is a word of a reading.
type Word struct {
	Text string
	Box  Box
	// Confidence is 0 to 1: how sure the reader is; 1 for the text of a PDF.
	Confidence float32
}

// Kind says what is doubtful.
type Kind string

// What may be doubtful.
const (
	// Unsupported are words that the witness does not have.
	Unsupported Kind = "unsupported"
	// Dropped are words that only the witness has.
	Dropped Kind = "dropped"
	// Number is a word whose digits differ.
	Number Kind = "number"
	// Differs is a word that the witness reads as another one.
	Differs Kind = "word"
	// Moved are words of one line that stand in another order.
	Moved Kind = "moved"
	// Loop is a text that ends in repetitions.
	Loop Kind = "loop"
	// Cut is a text that ends before the page does.
	Cut Kind = "cut"
	// Unverified are words that the witness cannot judge, because it reads the page, or this part of it, badly itself.
	Unverified Kind = "unverified"
)

// IsKnown reports whether it is one of the kinds.
func (k Kind) IsKnown() bool {
	switch k {
	case Unsupported, Dropped, Number, Differs, Moved, Loop, Cut, Unverified:
		return true
	}
	return false
}

// Range is the words from First up to, but not with, End.
type Range struct{ First, End int }

// Doubt is a place where the readings do not agree.
type Doubt struct {
	Kind Kind
	// Model and Witness are the words in question; empty where a reading has none there. An empty range of the model's
	// says between which words the witness has more.
	Model, Witness Range
	// Box is around the place, as far as it is known.
	Box Box
	// Invented says that there is no room or no ink for the words: the page does not have them.
	Invented bool
}

// Match is what is known of a word of the model's.
type Match struct {
	// Witness is the witness's words that stand for it; empty if there are none.
	Witness []int
	// Similarity is 1 for equal words, 0 for one without a partner.
	Similarity float64
	// Box is the witness's box, or the place between its neighbours.
	Box Box
	// Doubt is the kind of the doubt that the word is in; empty if it is in none.
	Doubt Kind
	// Invented says that the page has no ink for the word.
	Invented bool
}

// Options says what is known beside the words.
type Options struct {
	// Regions are the boxes of the model's blocks, in its order. With them the witness's words are put into the model's
	// order before anything is compared.
	Regions []Box
	// InkWidth returns how wide the ink within a box is: the sum of the columns that have any. Without it only the room
	// between words tells what is invented.
	InkWidth func(Box) float32
	// Unread are places with ink like that of text that the witness has no words for. What it lacks may stand there.
	Unread []Box
	// Reread reads a place of the page again, enlarged, and decides where a word or a number differs. It returns nothing
	// where it cannot tell.
	Reread func(Box) (text string, confidence float32)
	// MaxRereads bounds the calls of Reread; defaultRereads if 0.
	MaxRereads int
	// Cut says that the model's text ended at a limit.
	Cut bool
	// WitnessQuality is how well the witness reads the page, 0 to 1; told by its confidences if 0. Below MinQuality
	// nothing of the model's is wrong: it is unverified.
	WitnessQuality float64
}

const (
	defaultRereads = 12
	// MinQuality is the quality of a witness below which it proves nothing, such as that of handwriting, which Tesseract does
	// not read. Scans of 0.48 had a fifth of their letters read wrong, those of 0.63 and more a tenth or less.
	MinQuality = 0.6
)

// Result is what the comparison of two readings tells.
type Result struct {
	// Words has one entry for each of the model's words.
	Words  []Match
	Doubts []Doubt
	// Support is the share of the model's letters that the witness has, Coverage the share of the witness's letters,
	// weighed by confidence, that the model has; both as similar as they are. An empty side is wholly covered.
	Support, Coverage float64
	// WitnessPartner is the model's word that stands for each of the witness's; -1 where none does.
	WitnessPartner []int
}

// AgreesWithWitness reports whether the model's text is that of the witness's page at all, rather than another page's,
// a refusal or nothing.
func (r *Result) AgreesWithWitness() bool { return r.Support >= 0.5 && r.Coverage >= 0.5 }

// HasDoubt reports whether there is a doubt of one of the kinds.
func (r *Result) HasDoubt(kinds ...Kind) bool {
	return slices.ContainsFunc(r.Doubts, func(d Doubt) bool { return slices.Contains(kinds, d.Kind) })
}

// maxWords bounds each side. A dense newspaper page has some 15,000 words.
const maxWords = 30_000

// Align compares the model's words with the witness's. Words beyond some 30,000 are not compared.
func Align(model, witness []Word, opts Options) Result {
	a := newAligner(model[:min(len(model), maxWords)], witness[:min(len(witness), maxWords)], opts)
	a.pairEqualRuns(Range{0, len(a.model)}, Range{0, len(a.witness)})
	a.pairGaps()
	a.pairElsewhere()
	a.exchangePartners()
	a.pairGapsElsewhere()
	p := &placer{a}
	p.placeWords()
	f := newDoubtFinder(p)
	f.findDoubts()
	result := Result{Words: make([]Match, len(model)), WitnessPartner: make([]int, len(witness))}
	f.report(&result)
	return result
}

// token is a word as it is compared.
type token struct {
	text       string
	runes      []rune
	shape      []rune // with one letter for those that look alike
	id         int    // equal texts have equal ids
	index      int    // in the reading as it was given
	confidence float32
	box        Box
	similarity float64
	partners   []int // tokens of the other side
}

func (t *token) size() int { return len(t.runes) }

// countLetters returns how many letters of an alphabet say as much: a character that is a syllable or a word counts twice.
func (t *token) countLetters() int {
	n := len(t.runes)
	for _, r := range t.runes {
		n += oneIf(unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana))
	}
	return n
}

// aligner pairs the words of both readings: see pair.go.
type aligner struct {
	model, witness []token
	opts           Options
	budget         int           // comparisons of words that may still be made
	places         map[int][]int // of the witness's words, by their ids
	runs           []equalRun
	rightToLeft    bool
}

// workBudget bounds the comparisons of words of one page, to some 0.3 s.
const workBudget = 20_000_000

func newAligner(model, witness []Word, opts Options) *aligner {
	a := &aligner{opts: opts, budget: workBudget}
	ids := map[string]int{}
	tokenise := func(words []Word) []token {
		out := make([]token, 0, len(words))
		for i, w := range words {
			text := NormaliseWord(w.Text)
			if text == "" {
				continue
			}
			id, known := ids[text]
			if !known {
				id = len(ids)
				ids[text] = id
			}
			out = append(out, token{text: text, runes: []rune(text), shape: foldShapes([]rune(text)), id: id, index: i, confidence: w.Confidence, box: w.Box})
		}
		return out
	}
	a.model, a.witness = tokenise(model), tokenise(witness)
	a.orderWitness()
	a.rightToLeft = runsRightToLeft(a.model)
	return a
}

// meanConfidence weighs the words by their letters; 1 where there is no word.
func meanConfidence(tokens []token) float64 {
	sum, size := 0.0, 0.0
	for i := range tokens {
		n := float64(tokens[i].size())
		sum += n * float64(tokens[i].confidence)
		size += n
	}
	if size == 0 {
		return 1
	}
	return sum / size
}

// orderWitness puts the witness's words into the order of the model's blocks. Words in no block keep their place after
// the word before them.
func (a *aligner) orderWitness() {
	if len(a.opts.Regions) == 0 {
		return
	}
	type placed struct{ block, at int }
	order := make(map[int]placed, len(a.witness))
	last := -1
	for j := range a.witness {
		if block := smallestRegion(a.opts.Regions, a.witness[j].box); block >= 0 {
			last = block
		}
		order[a.witness[j].index] = placed{last, j}
	}
	slices.SortStableFunc(a.witness, func(x, y token) int { return order[x.index].block - order[y.index].block })
}

// smallestRegion returns the smallest region that the middle of the box is in; -1 if it is in none.
func smallestRegion(regions []Box, b Box) int {
	best, area := -1, float32(0)
	x, y := (b[0]+b[2])/2, (b[1]+b[3])/2
	for i, r := range regions {
		if !r.Exists() || !b.Exists() || x < r[0] || x > r[2] || y < r[1] || y > r[3] {
			continue
		}
		if size := (r[2] - r[0]) * (r[3] - r[1]); best < 0 || size < area {
			best, area = i, size
		}
	}
	return best
}

// pair makes the tokens partners.
func (a *aligner) pair(model, witness []int, similarity float64) {
	for _, i := range model {
		a.model[i].partners, a.model[i].similarity = witness, similarity
	}
	for _, j := range witness {
		a.witness[j].partners, a.witness[j].similarity = model, similarity
	}
}

// report writes what was found into the result, in the indices of the words as they were given.
func (a *doubtFinder) report(r *Result) {
	for j := range r.WitnessPartner {
		r.WitnessPartner[j] = -1
	}
	for i := range a.model {
		t := &a.model[i]
		m := &r.Words[t.index]
		m.Similarity, m.Box, m.Invented = t.similarity, t.box, a.invented[i]
		for _, j := range t.partners {
			m.Witness = append(m.Witness, a.witness[j].index)
			r.WitnessPartner[a.witness[j].index] = t.index
		}
	}
	for _, d := range a.doubts {
		for i := d.Model.First; i < d.Model.End; i++ {
			r.Words[a.model[i].index].Doubt = d.Kind
		}
		d.Model = givenRange(a.model, d.Model, len(r.Words))
		d.Witness = givenRange(a.witness, d.Witness, len(r.WitnessPartner))
		r.Doubts = append(r.Doubts, d)
	}
	r.Support = sharedLetters(a.model, false)
	r.Coverage = sharedLetters(a.witness, true)
}

// givenRange returns the words from the first to the last of the tokens, as they were given.
func givenRange(tokens []token, r Range, size int) Range {
	if r.First >= r.End {
		if r.First < len(tokens) {
			return Range{tokens[r.First].index, tokens[r.First].index}
		}
		return Range{size, size}
	}
	out := Range{tokens[r.First].index, tokens[r.First].index + 1}
	for k := r.First; k < r.End; k++ {
		out.First, out.End = min(out.First, tokens[k].index), max(out.End, tokens[k].index+1)
	}
	return out
}

// sharedLetters returns the share of the letters that the other side has, as similar as they are.
func sharedLetters(tokens []token, weighed bool) float64 {
	shared, all := 0.0, 0.0
	for i := range tokens {
		n := float64(tokens[i].size())
		if weighed {
			n *= float64(tokens[i].confidence)
		}
		shared += n * tokens[i].similarity
		all += n
	}
	if all == 0 {
		return 1
	}
	return shared / all
}
