package agree

import "slices"

// equalRun is a run of words that both readings have.
type equalRun struct{ model, witness, size int }

// pairEqualRuns pairs the longest run of equal words within the ranges, then the longest ones before and after it. It
// stops where the budget of comparisons ends.
func (a *aligner) pairEqualRuns(model, witness Range) {
	type part struct{ model, witness Range }
	open := []part{{model, witness}}
	for len(open) > 0 && a.budget > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		run := a.longestRun(p.model, p.witness)
		if run.size == 0 {
			continue
		}
		a.runs = append(a.runs, run)
		for k := range run.size {
			a.pair([]int{run.model + k}, []int{run.witness + k}, 1)
		}
		open = append(open,
			part{Range{p.model.First, run.model}, Range{p.witness.First, run.witness}},
			part{Range{run.model + run.size, p.model.End}, Range{run.witness + run.size, p.witness.End}})
	}
	slices.SortFunc(a.runs, func(x, y equalRun) int { return x.model - y.model })
}

// longestRun returns the longest run of equal words, of those of one length that with the most letters, and of those the
// one whose places in both readings are the most alike.
func (a *aligner) longestRun(model, witness Range) equalRun {
	if model.First >= model.End || witness.First >= witness.End {
		return equalRun{}
	}
	best, letters, off := equalRun{}, 0, 0
	// The lengths of the runs that end at a word of the witness's, for the model's word before and for this one.
	size := witness.End - witness.First
	lengths, next := make([]int32, size+1), make([]int32, size+1)
	var set, nextSet []int
	for i := model.First; i < model.End && a.budget > 0; i++ {
		for _, j := range a.placesOf(a.model[i].id, witness) {
			n := lengths[j-witness.First] + 1
			next[j-witness.First+1] = n
			nextSet = append(nextSet, j-witness.First+1)
			if int(n) < best.size {
				continue
			}
			sum := a.countLetters(Range{i - int(n) + 1, i + 1})
			away := (i-model.First)*size - (j-witness.First)*(model.End-model.First)
			away = max(away, -away)
			if int(n) > best.size || sum > letters || sum == letters && away < off {
				best, letters, off = equalRun{i - int(n) + 1, j - int(n) + 1, int(n)}, sum, away
			}
		}
		a.budget -= 1 + len(nextSet)
		for _, k := range set {
			lengths[k] = 0
		}
		lengths, next, set, nextSet = next, lengths, nextSet, set[:0]
	}
	a.budget -= size
	return best
}

func (a *aligner) countLetters(r Range) int {
	n := 0
	for i := r.First; i < r.End; i++ {
		n += a.model[i].size()
	}
	return n
}

// placesOf returns where the witness has a word, within a range.
func (a *aligner) placesOf(id int, within Range) []int {
	if a.places == nil {
		a.places = map[int][]int{}
		for j := range a.witness {
			a.places[a.witness[j].id] = append(a.places[a.witness[j].id], j)
		}
	}
	all := a.places[id]
	first, _ := slices.BinarySearch(all, within.First)
	end, _ := slices.BinarySearch(all, within.End)
	return all[first:end]
}

// pairGaps pairs what lies between the runs of equal words, which both readings have in one order.
func (a *aligner) pairGaps() {
	i, j := 0, 0
	for _, run := range append(slices.Clone(a.runs), equalRun{len(a.model), len(a.witness), 0}) {
		a.pairGap(Range{i, run.model}, Range{j, run.witness})
		i, j = run.model+run.size, run.witness+run.size
	}
}

const (
	// minSimilarity is the least similarity of words that stand for each other; minJoined that of one word with two.
	minSimilarity, minJoined = 0.5, 0.75
	// maxGapCells bounds the table of one gap.
	maxGapCells = 250_000
	// cellCost is what a cell of it takes of the budget, where a comparison of two equal words takes 1.
	cellCost = 20
	// minSparse is the least similarity in a gap where hardly a word has a partner: another text has similar words too.
	minSparse = 0.7
)

// maxJoined is how many words of one reading may stand for one of the other's.
const maxJoined = 4

// step is how the best pairing up to a cell of the table ends: with so many words of each reading, which are a pair unless
// one has none.
type step struct{ model, witness int8 }

// pairGap pairs two short lists of words by the greatest sum of letters that are alike.
func (a *aligner) pairGap(model, witness Range) {
	n, m := model.End-model.First, witness.End-witness.First
	if n == 0 || m == 0 {
		return
	}
	if n*m > maxGapCells || cellCost*n*m > a.budget {
		return
	}
	a.budget -= cellCost * n * m
	width := m + 1
	sums, steps := make([]float32, (n+1)*width), make([]step, (n+1)*width)
	for i := range n + 1 {
		for j := range width {
			if i+j > 0 {
				sums[i*width+j], steps[i*width+j] = a.bestStep(model.First, witness.First, i, j, width, sums)
			}
		}
	}
	var pairs []gapPair
	for i, j := n, m; i > 0 || j > 0; {
		s := steps[i*width+j]
		if s.model > 0 && s.witness > 0 {
			pairs = append(pairs, a.newGapPair(model.First+i-int(s.model), int(s.model), witness.First+j-int(s.witness), int(s.witness)))
		}
		i, j = i-int(s.model), j-int(s.witness)
	}
	slices.Reverse(pairs)
	sparse := min(n, m) >= 6 && 2*len(pairs) < max(n, m)
	i, j := model.First, witness.First
	for _, p := range pairs {
		if sparse && p.similarity < minSparse {
			continue
		}
		a.pair(p.model, p.witness, p.similarity)
		if !sparse {
			a.pairByPlace(Range{i, p.model[0]}, Range{j, p.witness[0]})
		}
		i, j = p.model[len(p.model)-1]+1, p.witness[len(p.witness)-1]+1
	}
	if !sparse {
		a.pairByPlace(Range{i, model.End}, Range{j, witness.End})
	}
}

type gapPair struct {
	model, witness []int
	similarity     float64
}

func (a *aligner) newGapPair(i, n, j, m int) gapPair {
	p := gapPair{similarity: a.similarityOfRuns(i, n, j, m, 0)}
	for k := range n {
		p.model = append(p.model, i+k)
	}
	for k := range m {
		p.witness = append(p.witness, j+k)
	}
	return p
}

// similarityOfRuns returns how alike n of the model's words are to m of the witness's. Punctuation within does not count
// where several stand for one.
func (a *aligner) similarityOfRuns(i, n, j, m int, floor float64) float64 {
	if n == 1 && m == 1 {
		w, v := &a.model[i], &a.witness[j]
		return similarityOfShapes(w.runes, v.runes, w.shape, v.shape, floor)
	}
	w, v := lettersOf(joinTokens(a.model[i:i+n])), lettersOf(joinTokens(a.witness[j:j+m]))
	return similarityOfShapes(w, v, foldShapes(w), foldShapes(v), floor)
}

func joinTokens(tokens []token) []rune {
	var out []rune
	for i := range tokens {
		out = append(out, tokens[i].runes...)
	}
	return out
}

func joinRunes(tokens []token, of []int) []rune {
	if len(of) == 1 {
		return tokens[of[0]].runes
	}
	var out []rune
	for _, k := range of {
		out = append(out, tokens[k].runes...)
	}
	return out
}

// bestStep returns the greatest sum at a cell of the table, and the step that it comes by.
func (a *aligner) bestStep(model, witness, i, j, width int, sums []float32) (float32, step) {
	best, by := float32(-1), step{}
	if i > 0 {
		best, by = sums[(i-1)*width+j], step{1, 0}
	}
	if j > 0 && sums[i*width+j-1] > best {
		best, by = sums[i*width+j-1], step{0, 1}
	}
	take := func(n, m int, floor float64) {
		size, of := 0, 0
		for k := range n {
			size += a.model[model+i-1-k].size()
		}
		for k := range m {
			of += a.witness[witness+j-1-k].size()
		}
		if n+m > 2 && !isJoinedLength(size, of) {
			return
		}
		s := a.similarityOfRuns(model+i-n, n, witness+j-m, m, floor)
		if sum := sums[(i-n)*width+j-m] + float32(s)*float32(size+of)/2; s >= floor && sum > best {
			best, by = sum, step{int8(n), int8(m)}
		}
	}
	if i > 0 && j > 0 {
		take(1, 1, minSimilarity)
		for n := 2; n <= min(i, maxJoined); n++ {
			take(n, 1, minJoined)
		}
		for m := 2; m <= min(j, maxJoined); m++ {
			take(1, m, minJoined)
		}
	}
	return best, by
}

func isJoinedLength(two, one int) bool { return 4*min(two, one) >= 3*max(two, one) }

// maxByPlace is how many words are paired for standing between the same neighbours.
const maxByPlace = 3

// pairByPlace pairs words that stand alone between the same neighbours: they are one place, whatever they read. One word
// is the place of several that are as long together.
func (a *aligner) pairByPlace(model, witness Range) {
	freeModel, freeWitness := freeTokens(a.model, model), freeTokens(a.witness, witness)
	n, m := len(freeModel), len(freeWitness)
	if min(n, m) == 1 && max(n, m) <= maxByPlace && n != m {
		one, several := len(joinRunes(a.model, freeModel)), len(joinRunes(a.witness, freeWitness))
		if isJoinedLength(one, several) {
			similarity := similarityOf(joinRunes(a.model, freeModel), joinRunes(a.witness, freeWitness), 0)
			a.pair(freeModel, freeWitness, max(0.01, similarity))
		}
	}
	if n != m || n > maxByPlace {
		return
	}
	for k, i := range freeModel {
		a.pair([]int{i}, []int{freeWitness[k]}, max(0.01, a.similarityOfRuns(i, 1, freeWitness[k], 1, 0)))
	}
}

func freeTokens(tokens []token, within Range) []int {
	var out []int
	for k := within.First; k < within.End; k++ {
		if tokens[k].partners == nil {
			out = append(out, k)
		}
	}
	return out
}

const (
	// maxElsewhere is how often the rest is looked through for text that stands elsewhere.
	maxElsewhere = 6
	// minLoneLetters is the length from which a word alone is known again elsewhere.
	minLoneLetters = 5
)

// pairElsewhere pairs what the readings have in another order: runs of two words or more, and long single words.
func (a *aligner) pairElsewhere() {
	for range maxElsewhere {
		model := freeTokens(a.model, Range{0, len(a.model)})
		witness := freeTokens(a.witness, Range{0, len(a.witness)})
		if len(model) == 0 || len(witness) == 0 || a.budget <= 0 {
			return
		}
		rest := &aligner{model: make([]token, len(model)), witness: make([]token, len(witness)), budget: a.budget}
		for k, i := range model {
			rest.model[k] = token{id: a.model[i].id, runes: a.model[i].runes}
		}
		for k, j := range witness {
			rest.witness[k] = token{id: a.witness[j].id, runes: a.witness[j].runes}
		}
		rest.pairEqualRuns(Range{0, len(model)}, Range{0, len(witness)})
		a.budget = rest.budget
		found := false
		for _, run := range rest.runs {
			if run.size < 2 && rest.model[run.model].size() < minLoneLetters &&
				!a.isNear(model[run.model], witness[run.witness]) {
				continue
			}
			found = true
			for k := range run.size {
				a.pair([]int{model[run.model+k]}, []int{witness[run.witness+k]}, 1)
			}
		}
		if !found {
			return
		}
	}
}

// pairGapsElsewhere pairs what lies between neighbours that were paired elsewhere, as pairGaps does in the common order.
func (a *aligner) pairGapsElsewhere() {
	isFree := func(i int) bool { return a.model[i].partners == nil }
	for _, run := range runsOf(len(a.model), 0, isFree) {
		last, first := a.partnerAfter(run.First-1), a.partnerBefore(run.End)
		if last < 0 || first < last {
			continue
		}
		between := Range{last, first + 1}
		if len(freeTokens(a.witness, between)) == between.End-between.First {
			a.pairGap(run, between)
		}
	}
}

// isNear reports whether words without partners stand hardly a word apart.
func (a *aligner) isNear(i, j int) bool {
	const near = 2
	for k := max(0, i-near); k < min(len(a.model), i+near+1); k++ {
		for _, p := range a.model[k].partners {
			if max(p-j, j-p) <= near {
				return true
			}
		}
	}
	return false
}

// exchangePartners gives equal words that stand several times on the page the partners that stand where their neighbours'
// partners do.
func (a *aligner) exchangePartners() {
	for i := range a.model {
		if len(a.model[i].partners) != 1 || a.model[i].similarity < 1 {
			continue
		}
		for _, j := range [...]int{a.partnerAfter(i - 1), a.partnerBefore(i + 1)} {
			is := a.model[i].partners[0]
			if j < 0 || j >= len(a.witness) || j == is || a.witness[j].id != a.model[i].id {
				continue
			}
			others := a.witness[j].partners
			if len(others) > 1 || len(others) == 1 && a.model[others[0]].id != a.model[i].id {
				continue
			}
			gain := a.countNeighbours(i, j) - a.countNeighbours(i, is)
			if len(others) == 1 {
				gain += a.countNeighbours(others[0], is) - a.countNeighbours(others[0], j)
			}
			if gain <= 0 {
				continue
			}
			a.witness[is].partners, a.witness[is].similarity = nil, 0
			a.pair([]int{i}, []int{j}, 1)
			if len(others) == 1 {
				a.pair(others, []int{is}, 1)
			}
			break
		}
	}
}

// partnerAfter returns the witness's word after the partners of one of the model's; -1 where there is none.
func (a *aligner) partnerAfter(i int) int {
	if i < 0 || a.model[i].partners == nil {
		return -1
	}
	return a.model[i].partners[len(a.model[i].partners)-1] + 1
}

func (a *aligner) partnerBefore(i int) int {
	if i >= len(a.model) || a.model[i].partners == nil {
		return -1
	}
	return a.model[i].partners[0] - 1
}

// countNeighbours counts the neighbours of one of the model's words whose partners stand beside a word of the witness's.
func (a *aligner) countNeighbours(i, j int) int {
	n := 0
	if a.partnerAfter(i-1) == j {
		n++
	}
	if a.partnerBefore(i+1) == j {
		n++
	}
	return n
}
