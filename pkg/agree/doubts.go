package agree

import (
	"cmp"
	"slices"
	"unicode"
)

// What makes a run of words doubtful. The values were chosen on scans of the corpus. The section Verification of make
// quality measures what they locate in corrupted texts, and how often they are wrong about true ones.
const (
	minRunWords, minRunLetters = 4, 12
	// minCrampedWords and minCrampedLetters are for words between neighbours that leave them no room.
	minCrampedWords, minCrampedLetters = 1, 5
	// crampedShare is the share of a run's letters that must have room.
	crampedShare = 0.35
	// minDroppedConfidence is for a witness's word of a run, minLoneConfidence for one alone.
	minDroppedConfidence, minLoneConfidence = 0.6, 0.9
	minLoneDropped                          = 3 // letters
	// minSoundWords and minSoundLetters, weighed by confidence, are for a run between neighbours that the model has side
	// by side.
	minSoundWords, minSoundLetters         = 2, 7
	minNumberConfidence, minDiffConfidence = 0.8, 0.85
	// minDiffSimilarity is the least similarity of words that are taken for one that is read twice.
	minDiffSimilarity = 0.75
	// minRereadConfidence is for what is asked again, and for the answer.
	minRereadConfidence = 0.3
)

func (a *aligner) findDoubts() {
	a.findLoop()
	a.findUnsupported()
	a.findDropped()
	a.findDifferences()
	a.findMoved()
	if a.opts.Cut {
		n := len(a.model)
		a.doubts = append(a.doubts, Doubt{Kind: Cut, Model: Range{max(0, n-1), n}})
	}
	if a.quality < minQuality {
		for k := range a.doubts {
			if d := &a.doubts[k]; !d.Invented && d.Kind != Loop && d.Kind != Cut {
				d.Kind = Unverified
			}
		}
	}
	for k := range a.doubts {
		d := &a.doubts[k]
		for i := d.Model.First; i < d.Model.End; i++ {
			d.Box = unionOf(d.Box, a.model[i].box)
		}
		for j := d.Witness.First; j < d.Witness.End; j++ {
			d.Box = unionOf(d.Box, a.witness[j].box)
		}
	}
	slices.SortStableFunc(a.doubts, func(x, y Doubt) int { return cmp.Compare(x.Model.First, y.Model.First) })
}

// findLoop finds repetitions at the end of the model's text: four times a period of up to 40 words, eight of one word.
// What the witness has as well is no loop, but a form or a table.
func (a *aligner) findLoop() {
	n := len(a.model)
	for period := 1; period <= 40; period++ {
		times := 1
		for n >= (times+1)*period && a.isRepeated(n-(times+1)*period, n-times*period, period) {
			times++
		}
		if times < 4 || period == 1 && times < 8 {
			continue
		}
		first, supported := n-(times-1)*period, 0
		for i := first; i < n; i++ {
			if a.model[i].partners != nil {
				supported++
			}
		}
		if 2*supported > n-first {
			return
		}
		a.doubts = append(a.doubts, Doubt{Kind: Loop, Model: Range{first, n}, Invented: true})
		for i := first; i < n; i++ {
			a.invented[i] = a.model[i].partners == nil
		}
		return
	}
}

func (a *aligner) isRepeated(i, j, size int) bool {
	for k := range size {
		if a.model[i+k].id != a.model[j+k].id {
			return false
		}
	}
	return true
}

// findUnsupported finds the model's words that the witness lacks, and tells which of them the page cannot have.
func (a *aligner) findUnsupported() {
	isBad := func(i int) bool { return a.model[i].similarity < minSimilarity && !a.invented[i] }
	for _, run := range runsOf(len(a.model), 1, isBad) {
		words, letters := 0, 0
		for i := run.First; i < run.End; i++ {
			if isBad(i) {
				words++
				letters += a.model[i].size()
			}
		}
		long := words >= minRunWords && letters >= minRunLetters
		d := Doubt{Kind: Unsupported, Model: run}
		cramped := false
		if g := a.gapAround(run); g.letters >= 0 && g.others < letters/2 {
			cramped = g.letters < crampedShare*float32(letters)
			d.Invented = cramped || a.opts.HasInk != nil && !slices.ContainsFunc(g.parts, a.opts.HasInk)
			if !d.Invented && g.others == 0 && a.opts.HasInk != nil {
				d.Kind = Unverified // there is ink, and the witness has no word for it
			}
		}
		if !long && !(cramped && words >= minCrampedWords && letters >= minCrampedLetters) {
			continue
		}
		a.doubts = append(a.doubts, d)
		for i := run.First; i < run.End && d.Invented; i++ {
			a.invented[i] = isBad(i)
		}
	}
}

// findDropped finds the witness's words that the model lacks.
func (a *aligner) findDropped() {
	isBad := func(j int) bool {
		t := &a.witness[j]
		return t.similarity < minSimilarity && t.confidence >= minDroppedConfidence
	}
	for _, run := range runsOf(len(a.witness), 1, isBad) {
		words, letters, confidence := 0, 0, float32(1)
		for j := run.First; j < run.End; j++ {
			if isBad(j) {
				words++
				letters += a.witness[j].size()
				confidence = min(confidence, a.witness[j].confidence)
			}
		}
		at, between := a.modelBetween(run)
		long := words >= minRunWords && letters >= minRunLetters
		lone := between && confidence >= minLoneConfidence && letters >= minLoneDropped && a.isWordy(run)
		if long || lone || between && a.isSoundRun(run) {
			a.doubts = append(a.doubts, Doubt{Kind: Dropped, Model: Range{at, at}, Witness: run})
		}
	}
}

// isSoundRun reports whether the witness reads some words well enough that they can be no dirt.
func (a *aligner) isSoundRun(run Range) bool {
	weight := 0.0
	for j := run.First; j < run.End; j++ {
		if t := &a.witness[j]; t.partners == nil {
			weight += float64(t.size()) * float64(t.confidence)
		}
	}
	return run.End-run.First >= minSoundWords && weight >= minSoundLetters
}

// isWordy reports whether the words are made of letters alone: rules and marks are read as anything else.
func (a *aligner) isWordy(run Range) bool {
	for j := run.First; j < run.End; j++ {
		if slices.ContainsFunc(a.witness[j].runes, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
			return false
		}
	}
	return true
}

// modelBetween returns where in the model's text the run of the witness's belongs, and whether its neighbours are equal
// in both and follow each other in the model's.
func (a *aligner) modelBetween(run Range) (int, bool) {
	before, after := run.First-1, run.End
	at := 0
	for j := before; j >= 0; j-- {
		if p := a.witness[j].partners; p != nil {
			at = p[len(p)-1] + 1
			break
		}
	}
	if before < 0 || after >= len(a.witness) || a.witness[before].similarity < 1 || a.witness[after].similarity < 1 {
		return at, false
	}
	p, n := a.witness[before].partners, a.witness[after].partners
	return at, p[len(p)-1]+1 == n[0]
}

// difference is a pair of words that do not read the same.
type difference struct {
	kind              Kind
	model             []int
	witness           []int
	text, witnessText []rune
	confidence, least float32 // the witness's, and what is enough of it
}

// findDifferences finds pairs that do not read the same. Numbers are read again before words: nothing else in a text
// tells that a digit is wrong.
func (a *aligner) findDifferences() {
	var found []difference
	for i := range a.model {
		if d, differs := a.differenceAt(i); differs {
			found = append(found, d)
		}
	}
	slices.SortStableFunc(found, func(x, y difference) int {
		return cmp.Compare(slices.Index(rereadOrder, x.kind), slices.Index(rereadOrder, y.kind))
	})
	for _, d := range found {
		if a.opts.Reread != nil && a.rereads > 0 && d.confidence >= minRereadConfidence && a.model[d.model[0]].box.Exists() {
			if a.isSettled(d.text, d.witnessText, d.witness, d.kind) {
				continue
			}
		} else if d.confidence < d.least {
			continue
		}
		a.doubts = append(a.doubts, Doubt{Kind: d.kind, Model: Range{d.model[0], d.model[len(d.model)-1] + 1},
			Witness: Range{d.witness[0], d.witness[len(d.witness)-1] + 1}})
	}
}

var rereadOrder = []Kind{Number, Differs}

// differenceAt returns how one of the model's words differs from its partners. Words that share a partner count once.
func (a *aligner) differenceAt(i int) (difference, bool) {
	t := &a.model[i]
	if len(t.partners) == 0 || t.similarity == 1 || i > 0 && len(a.witness[t.partners[0]].partners) > 1 &&
		a.witness[t.partners[0]].partners[0] != i {
		return difference{}, false
	}
	of := a.witness[t.partners[0]].partners
	d := difference{model: of, witness: t.partners, text: joinRunes(a.model, of), witnessText: joinRunes(a.witness, t.partners),
		confidence: 1}
	d.kind, d.least = a.differenceOf(d.text, d.witnessText, t.similarity)
	for _, j := range t.partners {
		d.confidence = min(d.confidence, a.witness[j].confidence)
	}
	return d, d.kind != ""
}

// differenceOf says how two words differ, and how sure the witness has to be of its own; nothing where they are
// taken for the same one.
func (a *aligner) differenceOf(model, witness []rune, similarity float64) (Kind, float32) {
	m, w := digitsOf(model), digitsOf(witness)
	switch {
	case m != w && m != "" && w != "":
		return Number, minNumberConfidence
	case similarity < minDiffSimilarity && len(model) >= 4 && len(witness) >= 3 &&
		similarityOf(foldShapes(model), foldShapes(witness), 0) < minDiffSimilarity:
		return Differs, minDiffConfidence
	default:
		return "", 0
	}
}

// isSettled reads the place again and reports whether it says what the model says.
func (a *aligner) isSettled(model, witness []rune, partners []int, kind Kind) bool {
	box := Box{}
	for _, j := range partners {
		box = unionOf(box, a.witness[j].box)
	}
	a.rereads--
	text, confidence := a.opts.Reread(box)
	read := []rune(NormaliseWord(text))
	if len(read) == 0 || confidence < minRereadConfidence {
		lowest := float32(1)
		for _, j := range partners {
			lowest = min(lowest, a.witness[j].confidence)
		}
		return lowest < minNumberConfidence
	}
	if kind == Number {
		return digitsOf(read) == digitsOf(model)
	}
	return similarityOf(read, model, 0) > similarityOf(read, witness, 0)
}

// maxMovedPlaces is how far from each other words that changed their places stand in the witness's text.
const maxMovedPlaces = 2

// findMoved finds neighbours of the model's whose partners stand on one line the other way round, such as the columns
// of a table that were exchanged. Text that runs from right to left is not looked at.
func (a *aligner) findMoved() {
	rightToLeft := 0
	for i := range a.model {
		if slices.ContainsFunc(a.model[i].runes, isRightToLeft) {
			rightToLeft++
		}
	}
	if 4*rightToLeft > len(a.model) {
		return
	}
	last := -1
	for i := range a.model {
		t := &a.model[i]
		if len(t.partners) != 1 || !t.box.Exists() || t.similarity < minDiffSimilarity {
			continue
		}
		if last >= 0 && t.partners[0] < a.model[last].partners[0] {
			p, n := a.model[last].box, t.box
			near := a.model[last].partners[0]-t.partners[0] <= maxMovedPlaces
			if i-last == 1 && (near || isOneLine(p, n) && n[2] <= p[0]) {
				a.doubts = append(a.doubts, Doubt{Kind: Moved, Model: Range{last, i + 1}})
			}
		}
		last = i
	}
}

func isRightToLeft(r rune) bool { return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac) }
