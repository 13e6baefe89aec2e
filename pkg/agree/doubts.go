package agree

import (
	"cmp"
	"slices"
	"strings"
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
	minSureWords                            = 3 // of a run, where each has minLoneConfidence
	minLoneDropped                          = 3 // letters
	// maxPictureLetters is how many letters the words have on average that a witness reads in a picture, among dirt.
	maxPictureLetters = 3
	// minSoundWords and minSoundLetters, weighed by confidence, are for a run between neighbours that the model has side
	// by side.
	minSoundWords, minSoundLetters         = 2, 7
	minNumberConfidence, minDiffConfidence = 0.8, 0.85
	// minDiffSimilarity is the least similarity of words that are taken for one that is read twice.
	minDiffSimilarity = 0.75
	// clearlyNearer is by how much what is read again must be more like the witness's word than like the model's, where the
	// witness was not sure. Numbers less alike than minAlike need not be the same place then.
	clearlyNearer, minAlike = 0.25, 0.05
	// minEqualReread is for a number that is read twice, and both times the same.
	minEqualReread, minEqualFirst = 0.3, 0.4
	// minThirdReading is for a number that is read otherwise each time.
	minThirdReading = 0.85
	// minRereadConfidence is for what is read again, minSureReread for what is read then.
	minRereadConfidence, minSureReread = 0.3, 0.85
	// minDirtReread is for a word of which the witness read nothing that it was sure of before.
	minDirtReread = 0.75
	// maxForeign is the similarity up to which a word is no misreading of another one: what was read wrong has most letters of
	// what it is.
	maxForeign = 0.4
)

// doubtFinder finds where the readings do not agree, once words are paired and placed.
type doubtFinder struct {
	*placer
	quality  float64 // of the witness
	rereads  int     // that may still be made
	doubts   []Doubt // in tokens
	invented []bool  // of the model's tokens
}

func newDoubtFinder(p *placer) *doubtFinder {
	f := &doubtFinder{placer: p, quality: p.opts.WitnessQuality, rereads: p.opts.MaxRereads, invented: make([]bool, len(p.model))}
	if f.quality == 0 {
		f.quality = meanConfidence(f.witness)
	}
	if f.rereads == 0 {
		f.rereads = defaultRereads
	}
	return f
}

func (a *doubtFinder) findDoubts() {
	a.findLoop()
	a.findUnsupported()
	a.findDropped()
	a.findDifferences()
	a.findMoved()
	if a.opts.Cut {
		n := len(a.model)
		a.doubts = append(a.doubts, Doubt{Kind: Cut, Model: Range{max(0, n-1), n}})
	}
	if a.quality < MinQuality {
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
func (a *doubtFinder) findLoop() {
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

func (a *doubtFinder) isRepeated(i, j, size int) bool {
	for k := range size {
		if a.model[i+k].id != a.model[j+k].id {
			return false
		}
	}
	return true
}

// findUnsupported finds the model's words that the witness lacks, and tells which of them the page cannot have.
func (a *doubtFinder) findUnsupported() {
	isBad := func(i int) bool { return a.model[i].similarity < minSimilarity && !a.invented[i] }
	for _, run := range runsOf(len(a.model), 1, isBad) {
		words, letters, alone := 0, 0, 0
		for i := run.First; i < run.End; i++ {
			if isBad(i) {
				words++
				letters += a.model[i].size()
			}
			if a.model[i].partners == nil {
				alone += a.model[i].size()
			}
		}
		long := words >= minRunWords && letters >= minRunLetters
		d := Doubt{Kind: Unsupported, Model: run}
		g := a.gapAround(run)
		hasNoPlace := g.letter > 0 && 2*g.others < letters && a.unreadLetters(g.letter) < crampedShare*float32(letters)
		if g.isKnown && 2*alone > letters && 2*g.between < letters {
			isCramped := g.letters < crampedShare*float32(letters)
			d.Invented = isCramped && hasNoPlace
			if !isCramped && g.between == 0 && a.opts.InkWidth != nil {
				d.Kind = Unverified // there is ink, and the witness has no word for it
			}
		}
		if !d.Invented && !hasNoPlace && !g.isClosed && 2*g.sure < letters && 2*g.sureWords < words && !a.readsScriptOf(run) {
			d.Kind = Unverified
		}
		isClosed := g.isClosed && g.isKnown && words >= minRunWords
		if !long && !isClosed && !(d.Invented && words >= minCrampedWords && letters >= minCrampedLetters) {
			continue
		}
		a.doubts = append(a.doubts, d)
		for i := run.First; i < run.End && d.Invented; i++ {
			a.invented[i] = a.model[i].partners == nil
		}
	}
}

// lettersHigh is how many times as high as wide a letter is, with the blank below its line.
const lettersHigh = 2.5

// scripts are those that a reader of one does not take for another.
var scripts = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic, unicode.Hangul,
	unicode.Han, unicode.Devanagari, unicode.Thai, unicode.Armenian, unicode.Georgian}

// readsScriptOf reports whether the witness has any word in the script that most letters of a run are in.
func (a *doubtFinder) readsScriptOf(run Range) bool {
	for _, script := range scripts {
		own, all := 0, 0
		for i := run.First; i < run.End; i++ {
			for _, r := range a.model[i].runes {
				if unicode.IsLetter(r) {
					all++
					own += oneIf(unicode.Is(script, r))
				}
			}
		}
		if 2*own > all {
			return slices.ContainsFunc(a.witness, func(t token) bool {
				return slices.ContainsFunc(t.runes, func(r rune) bool { return unicode.Is(script, r) })
			})
		}
	}
	return true
}

// oneIf returns 1 for true, so that what holds can be counted.
func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// unreadLetters returns how many letters of a width may stand where the witness has no words for ink.
func (a *doubtFinder) unreadLetters(letter float32) float32 {
	sum := float32(0)
	for _, b := range a.opts.Unread {
		sum += (b[2] - b[0]) * (b[3] - b[1]) / (lettersHigh * letter * letter)
	}
	return sum
}

// findDropped finds the witness's words that the model lacks.
func (a *doubtFinder) findDropped() {
	isBad := func(j int) bool {
		t := &a.witness[j]
		return t.similarity < minSimilarity && t.confidence >= minDroppedConfidence
	}
	var found []Range
	for _, run := range a.runsBeyondDirt(isBad) {
		words, dirt, letters, least := 0, 0, 0, float32(1)
		for j := run.First; j < run.End; j++ {
			if isBad(j) {
				words++
				letters += a.witness[j].countLetters()
				least = min(least, a.witness[j].confidence)
			} else if a.witness[j].partners == nil {
				dirt++
			}
		}
		isSure := words >= minSureWords && least >= minLoneConfidence
		isPicture := dirt > 1 && letters <= maxPictureLetters*words
		if (words >= minRunWords || isSure) && letters >= minRunLetters && !isPicture {
			found = append(found, run)
		}
	}
	isFree := func(j int) bool { return a.witness[j].partners == nil }
	for _, run := range runsOf(len(a.witness), 0, isFree) {
		isFound := slices.ContainsFunc(found, func(r Range) bool { return r.First < run.End && run.First < r.End })
		_, likeness := a.modelBetween(run)
		if likeness == 0 || isFound || a.rightToLeft && !a.hasRightToLeft(run) {
			continue // what runs the other way has other neighbours in each reading
		}
		if run = a.trimDirt(run); run.First == run.End {
			continue
		}
		if likeness >= minDiffSimilarity && (a.isSoundRun(run, minSoundLetters) || a.isSureWord(run)) ||
			likeness >= minSimilarity && a.isSoundRun(run, minRunLetters) { // its neighbours may be read badly
			found = append(found, run)
		}
	}
	for _, run := range found {
		at, _ := a.modelBetween(run)
		a.doubts = append(a.doubts, Doubt{Kind: Dropped, Model: Range{at, at}, Witness: run})
	}
}

// runsBeyondDirt returns the runs of the witness's words that are bad, with up to one good one between two, and between
// them as much as there is that it is not sure of and that the model lacks.
func (a *doubtFinder) runsBeyondDirt(isBad func(int) bool) []Range {
	var sound []int
	for j := range a.witness {
		if a.witness[j].partners != nil || isBad(j) {
			sound = append(sound, j)
		}
	}
	runs := runsOf(len(sound), 1, func(k int) bool { return isBad(sound[k]) })
	for k, run := range runs {
		runs[k] = Range{sound[run.First], sound[run.End-1] + 1}
	}
	return runs
}

func (a *doubtFinder) hasRightToLeft(run Range) bool {
	return slices.ContainsFunc(a.witness[run.First:run.End], func(t token) bool { return slices.ContainsFunc(t.runes, isRightToLeft) })
}

// trimDirt returns a run without the words at its ends that the witness is not sure of at all.
func (a *doubtFinder) trimDirt(run Range) Range {
	for run.First < run.End && a.witness[run.First].confidence < minRereadConfidence {
		run.First++
	}
	for run.First < run.End && a.witness[run.End-1].confidence < minRereadConfidence {
		run.End--
	}
	return run
}

// isSoundRun reports whether the witness reads some words well enough that they can be no dirt: words of so many letters,
// weighed by how sure it is of them. Of a long run only what is made of letters counts.
func (a *doubtFinder) isSoundRun(run Range, least float64) bool {
	weight := 0.0
	for j := run.First; j < run.End; j++ {
		t := &a.witness[j]
		if t.confidence >= minRereadConfidence && (least < minRunLetters || a.isWordy(Range{j, j + 1})) {
			weight += float64(t.countLetters()) * float64(t.confidence)
		}
	}
	return run.End-run.First >= minSoundWords && weight >= least
}

// isSureWord reports whether a run is one word that the witness is sure of, at once or when it reads the place again.
func (a *doubtFinder) isSureWord(run Range) bool {
	letters, confidence := 0, float32(1)
	for j := run.First; j < run.End; j++ {
		letters += a.witness[j].size()
		confidence = min(confidence, a.witness[j].confidence)
	}
	if letters < minLoneDropped || !a.isWordy(run) {
		return false
	}
	if confidence >= minLoneConfidence {
		return true
	}
	if run.End-run.First > 1 || a.opts.Reread == nil || a.rereads <= 0 || !a.witness[run.First].box.Exists() {
		return false
	}
	a.rereads--
	text, sure := a.opts.Reread(a.witness[run.First].box)
	read, is := []rune(NormaliseWord(text)), &a.witness[run.First]
	return sure >= minDirtReread && similarityOfShapes(read, is.runes, foldShapes(read), is.shape, minSame) >= minSame
}

// wordyShare is the share of letters in words that are no rules or marks, which are read as anything else.
const wordyShare = 0.85

// isWordy reports whether the words are made of letters, or nearly so.
func (a *doubtFinder) isWordy(run Range) bool {
	letters, all := 0, 0
	for j := run.First; j < run.End; j++ {
		for _, r := range a.witness[j].runes {
			letters += oneIf(unicode.IsLetter(r) || unicode.IsMark(r) || r == '\'')
			all++
		}
	}
	return float64(letters) >= wordyShare*float64(all)
}

// modelBetween returns where in the model's text the run of the witness's belongs, and how alike its neighbours are in
// both readings, the less alike of the two: 0 where they do not follow each other in the model's.
func (a *doubtFinder) modelBetween(run Range) (int, float64) {
	before, after := run.First-1, run.End
	at := 0
	for j := before; j >= 0; j-- {
		if p := a.witness[j].partners; p != nil {
			at = p[len(p)-1] + 1
			break
		}
	}
	if before < 0 || after >= len(a.witness) {
		return at, 0
	}
	p, n := a.witness[before].partners, a.witness[after].partners
	if len(p) == 0 || len(n) == 0 || p[len(p)-1]+1 != n[0] {
		return at, 0
	}
	return at, min(a.witness[before].similarity, a.witness[after].similarity)
}

// difference is a pair of words that do not read the same.
type difference struct {
	kind              Kind
	similarity        float64
	model             []int
	witness           []int
	text, witnessText []rune
	confidence, least float32 // the witness's, and what is enough of it
}

// findDifferences finds pairs that do not read the same. Numbers are read again before words: nothing else in a text
// tells that a digit is wrong.
func (a *doubtFinder) findDifferences() {
	var found []difference
	for i := range a.model {
		if d, differs := a.differenceAt(i); differs {
			found = append(found, d)
		}
	}
	slices.SortStableFunc(found, func(x, y difference) int {
		return cmp.Or(cmp.Compare(slices.Index(rereadOrder, x.kind), slices.Index(rereadOrder, y.kind)),
			cmp.Compare(y.confidence, x.confidence))
	})
	for _, d := range found {
		if !a.isReadInPart(d) && a.isDoubtful(d) {
			a.doubts = append(a.doubts, Doubt{Kind: d.kind, Model: Range{d.model[0], d.model[len(d.model)-1] + 1},
				Witness: Range{d.witness[0], d.witness[len(d.witness)-1] + 1}})
		}
	}
}

var rereadOrder = []Kind{Number, Differs}

// differenceAt returns how one of the model's words differs from its partners. Words that share a partner count once.
func (a *doubtFinder) differenceAt(i int) (difference, bool) {
	t := &a.model[i]
	if len(t.partners) == 0 || t.similarity == 1 || i > 0 && len(a.witness[t.partners[0]].partners) > 1 &&
		a.witness[t.partners[0]].partners[0] != i {
		return difference{}, false
	}
	of := a.witness[t.partners[0]].partners
	d := difference{similarity: t.similarity, model: of, witness: t.partners, text: joinRunes(a.model, of), witnessText: joinRunes(a.witness, t.partners),
		confidence: 1}
	d.kind, d.least = differenceOf(d.text, d.witnessText, t.similarity)
	for _, j := range t.partners {
		d.confidence = min(d.confidence, a.witness[j].confidence)
	}
	return d, d.kind != ""
}

// differenceOf says how two words differ, and how sure the witness has to be of its own; nothing where they are
// taken for the same one.
func differenceOf(model, witness []rune, similarity float64) (Kind, float32) {
	m, w := digitsOf(model), digitsOf(witness)
	isShort := len(model) < 4 || len(witness) < 3
	if part := plainPart(model); len(part) < len(model) {
		model, witness = part, plainPart(witness)
		similarity = max(similarity, similarityOf(model, witness, 0))
	}
	switch {
	case m != w && m != "" && w != "":
		return Number, minNumberConfidence
	case similarity < minDiffSimilarity && !isShort &&
		similarityOf(foldShapes(model), foldShapes(witness), 0) < minDiffSimilarity:
		return Differs, minDiffConfidence
	default:
		return "", 0
	}
}

// plainPart returns a word without letters that run from right to left, where it has others: names in Latin letters with
// a prefix before them are read in parts.
func plainPart(word []rune) []rune {
	rest := slices.DeleteFunc(slices.Clone(word), func(r rune) bool { return isRightToLeft(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(rest) == 0 || !slices.ContainsFunc(word, isRightToLeft) {
		return word
	}
	return rest
}

// isReadInPart reports whether the witness has the beginning or the end of the model's word, and beside that there is ink for
// the rest that is no other word's.
func (a *doubtFinder) isReadInPart(d difference) bool {
	if d.kind != Differs || len(d.witness) != 1 || a.opts.InkWidth == nil || a.rightToLeft {
		return false
	}
	text, part, b := string(d.text), string(d.witnessText), a.witness[d.witness[0]].box
	rest := len(d.text) - len(d.witnessText)
	if rest <= 0 || !b.Exists() {
		return false
	}
	letter := (b[2] - b[0]) / float32(len(d.witnessText))
	room := b
	switch width := letter * float32(rest+1); {
	case strings.HasPrefix(text, part):
		room[0], room[2] = b[2], b[2]+width
	case strings.HasSuffix(text, part):
		room[0], room[2] = b[0]-width, b[0]
	default:
		return false
	}
	for j := range a.witness {
		if other := a.witness[j].box; a.witness[j].partners != nil && j != d.witness[0] && isOneLine(other, b) {
			if room[0] >= b[2] && other[0] >= b[2]-letter {
				room[2] = min(room[2], other[0])
			} else if room[2] <= b[0] && other[2] <= b[0]+letter {
				room[0] = max(room[0], other[2])
			}
		}
	}
	return a.inkedLetters(room, letter) >= crampedShare*float32(rest)
}

// isDoubtful reports whether a difference is the model's as far as can be told: the place is read again if it may be.
func (a *doubtFinder) isDoubtful(d difference) bool {
	box := Box{}
	for _, j := range d.witness {
		box = unionOf(box, a.witness[j].box)
	}
	mayBeDirt := d.confidence < minRereadConfidence
	if a.opts.Reread == nil || a.rereads <= 0 || mayBeDirt && d.similarity >= minSimilarity || !box.Exists() {
		return d.confidence >= d.least
	}
	a.rereads--
	text, confidence := a.opts.Reread(box)
	read := []rune(NormaliseWord(text))
	if len(read) == 0 {
		return d.confidence >= d.least
	}
	model, witness := similarityOf(read, d.text, 0), similarityOf(read, d.witnessText, 0)
	if d.kind == Number {
		m, w, r := []rune(digitsOf(d.text)), []rune(digitsOf(d.witnessText)), []rune(digitsOf(read))
		model, witness = similarityOf(r, m, 0), similarityOf(r, w, 0)
		if model < witness && witness < 1 && len(r) == len(m) && confidence >= minThirdReading {
			return true // three readings, of which the model's is no other one's
		}
	}
	if model == witness { // what is read again tells nothing
		return d.confidence >= d.least
	}
	isClear := witness-model >= clearlyNearer || d.kind == Number && witness == 1 && model < 1
	if mayBeDirt {
		return isClear && confidence >= minDirtReread
	}
	if d.kind == Number && witness == 1 && model < 1 && confidence >= minEqualReread && d.confidence >= minEqualFirst {
		return true
	}
	if d.kind == Differs && max(model, d.similarity) <= maxForeign && witness >= minDiffSimilarity && !slices.ContainsFunc(d.text, isRightToLeft) {
		return true // read twice as one word, however badly, and it is not the model's
	}
	if confidence < minSureReread {
		return (isClear || d.kind == Number && witness > model) && d.confidence >= d.least
	}
	return witness > model && d.confidence >= d.least || isClear && (d.similarity >= minAlike || d.kind != Number)
}

// maxMovedPlaces is how far from each other words that changed their places stand in the witness's text.
const maxMovedPlaces = 1

// findMoved finds neighbours of the model's whose partners stand on one line the other way round, such as the columns
// of a table that were exchanged. Text that runs from right to left is not looked at.
func (a *doubtFinder) findMoved() {
	if a.rightToLeft {
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

// runsRightToLeft reports whether a text does so in good part.
func runsRightToLeft(tokens []token) bool {
	n := 0
	for i := range tokens {
		if slices.ContainsFunc(tokens[i].runes, isRightToLeft) {
			n++
		}
	}
	return 4*n > len(tokens)
}

func isRightToLeft(r rune) bool { return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac) }
