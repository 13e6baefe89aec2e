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

// longestRun returns the longest run of equal words, the first of those of one length.
func (a *aligner) longestRun(model, witness Range) equalRun {
	if model.First >= model.End || witness.First >= witness.End {
		return equalRun{}
	}
	best := equalRun{}
	// The lengths of the runs that end at a word of the witness's, for the model's word before and for this one.
	size := witness.End - witness.First
	lengths, next := make([]int32, size+1), make([]int32, size+1)
	var set, nextSet []int
	for i := model.First; i < model.End && a.budget > 0; i++ {
		for _, j := range a.placesOf(a.model[i].id, witness) {
			n := lengths[j-witness.First] + 1
			next[j-witness.First+1] = n
			nextSet = append(nextSet, j-witness.First+1)
			if int(n) > best.size {
				best = equalRun{i - int(n) + 1, j - int(n) + 1, int(n)}
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

// steps of the table: which words the best pairing up to here ends with.
const (
	stepNone = iota
	skipModel
	skipWitness
	pairOne
	joinModel
	joinWitness
)

// pairGap pairs two short lists of words by the greatest sum of similarities.
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
	sums, steps := make([]float32, (n+1)*width), make([]byte, (n+1)*width)
	for i := range n + 1 {
		for j := range width {
			if i+j > 0 {
				sums[i*width+j], steps[i*width+j] = a.bestStep(model.First, witness.First, i, j, width, sums)
			}
		}
	}
	var pairs []gapPair
	for i, j := n, m; i > 0 || j > 0; {
		switch steps[i*width+j] {
		case skipModel:
			i--
		case skipWitness:
			j--
		case joinModel:
			pairs = append(pairs, a.newGapPair(model.First+i-2, 2, witness.First+j-1, 1))
			i, j = i-2, j-1
		case joinWitness:
			pairs = append(pairs, a.newGapPair(model.First+i-1, 1, witness.First+j-2, 2))
			i, j = i-1, j-2
		default:
			pairs = append(pairs, a.newGapPair(model.First+i-1, 1, witness.First+j-1, 1))
			i, j = i-1, j-1
		}
	}
	sparse := min(n, m) >= 6 && 2*len(pairs) < max(n, m)
	for _, p := range pairs {
		if !sparse || p.similarity >= minSparse {
			a.pair(p.model, p.witness, p.similarity)
		}
	}
	if !sparse {
		a.pairByPlace(model, witness)
	}
}

type gapPair struct {
	model, witness []int
	similarity     float64
}

func (a *aligner) newGapPair(i, n, j, m int) gapPair {
	p := gapPair{}
	for k := range n {
		p.model = append(p.model, i+k)
	}
	for k := range m {
		p.witness = append(p.witness, j+k)
	}
	p.similarity = similarityOf(joinRunes(a.model, p.model), joinRunes(a.witness, p.witness), 0)
	return p
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
func (a *aligner) bestStep(model, witness, i, j, width int, sums []float32) (float32, byte) {
	best, step := float32(-1), byte(stepNone)
	take := func(sum float32, by byte) {
		if sum > best {
			best, step = sum, by
		}
	}
	if i > 0 {
		take(sums[(i-1)*width+j], skipModel)
	}
	if j > 0 {
		take(sums[i*width+j-1], skipWitness)
	}
	if i == 0 || j == 0 {
		return best, step
	}
	w, v := a.model[model+i-1].runes, a.witness[witness+j-1].runes
	if s := similarityOf(w, v, minSimilarity); s >= minSimilarity {
		take(sums[(i-1)*width+j-1]+float32(s), pairOne)
	}
	if i > 1 {
		if u := a.model[model+i-2].runes; isJoinedLength(len(u)+len(w), len(v)) {
			if s := similarityOf(append(slices.Clone(u), w...), v, minJoined); s >= minJoined {
				take(sums[(i-2)*width+j-1]+2*float32(s), joinModel)
			}
		}
	}
	if j > 1 {
		if u := a.witness[witness+j-2].runes; isJoinedLength(len(u)+len(v), len(w)) {
			if s := similarityOf(w, append(slices.Clone(u), v...), minJoined); s >= minJoined {
				take(sums[(i-1)*width+j-2]+2*float32(s), joinWitness)
			}
		}
	}
	return best, step
}

func isJoinedLength(two, one int) bool { return 4*min(two, one) >= 3*max(two, one) }

// pairByPlace pairs words that stand alone between the same neighbours: they are one place, whatever they read.
func (a *aligner) pairByPlace(model, witness Range) {
	freeModel, freeWitness := freeTokens(a.model, model), freeTokens(a.witness, witness)
	if len(freeModel) != len(freeWitness) || len(freeModel) > 2 {
		return
	}
	for k, i := range freeModel {
		s := similarityOf(a.model[i].runes, a.witness[freeWitness[k]].runes, 0)
		a.pair([]int{i}, []int{freeWitness[k]}, max(0.01, s))
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
