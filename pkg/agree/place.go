package agree

// placer finds where on the page the model's words are, by the words that are paired.
type placer struct{ *aligner }

// placeWords gives every word of the model's the box of its partners, and to words between two of one line their
// share of the room between.
func (a *placer) placeWords() {
	for i := range a.model {
		t := &a.model[i]
		if len(t.partners) == 0 {
			continue
		}
		t.box = a.witness[t.partners[0]].box
		for _, j := range t.partners[1:] {
			if isOneLine(t.box, a.witness[j].box) {
				t.box = unionOf(t.box, a.witness[j].box)
			}
		}
		if of := a.witness[t.partners[0]].partners; len(of) > 1 {
			t.box = a.shareOf(t.box, of, i)
		}
	}
	for _, run := range runsOf(len(a.model), 0, func(i int) bool { return a.model[i].partners == nil }) {
		if gap := a.gapAround(run); gap.sameLine {
			words := make([]int, 0, run.End-run.First)
			for i := run.First; i < run.End; i++ {
				words = append(words, i)
			}
			for _, i := range words {
				a.model[i].box = a.shareOf(gap.box, words, i)
			}
		} else {
			for i := run.First; i < run.End; i++ {
				a.model[i].box = Box{}
			}
		}
	}
}

// shareOf returns the part of a box that one of the words in it takes, by its letters.
func (a *placer) shareOf(b Box, words []int, word int) Box {
	before, own, all := 0, 0, 0
	for _, k := range words {
		n := a.model[k].size()
		if k < word {
			before += n
		}
		if k == word {
			own = n
		}
		all += n
	}
	width := (b[2] - b[0]) / float32(max(all, 1))
	return Box{b[0] + width*float32(before), b[1], b[0] + width*float32(before+own), b[3]}
}

// gap is the place between the partners of the words before and after a run without partners.
type gap struct {
	// box is the room on the line; the zero Box where there is none or the run begins or ends a line.
	box Box
	// sameLine says that both neighbours stand on one line, in order.
	sameLine bool
	// isKnown says that the neighbours are the same words in both readings, and that the place between them is known.
	isKnown bool
	// letters is how many letters have room there, or ink where that is known; of no meaning unless isKnown.
	letters float32
	// isClosed says that the witness has nothing between the neighbours.
	isClosed bool
	// between is how many letters without a partner the witness reads there, others how many it reads there or near.
	between, others int
	// paired is how many letters that have a partner the witness reads there: a run may have such words within.
	paired int
	// sure is how many of those between it is sure of, in sureWords words: a letter may be a syllable.
	sure, sureWords int
	letter          float32 // how wide one is
}

// nearWords is how many of the witness's words before and after a place may be about it, where the order is another.
const nearWords = 8

// minSame is the similarity from which words are the same one, but for letters that look alike.
const minSame = 0.95

// gapAround returns the place of a run of the model's words.
func (a *placer) gapAround(run Range) gap {
	before, after := run.First-1, run.End
	g := gap{}
	if before < 0 || after >= len(a.model) || a.model[before].partners == nil || a.model[after].partners == nil {
		return g
	}
	last, first := a.model[before].partners[len(a.model[before].partners)-1], a.model[after].partners[0]
	for j := max(0, min(last, first)-nearWords); j < min(len(a.witness), max(last, first)+nearWords+1); j++ {
		if a.witness[j].partners != nil {
			if j > last && j < first {
				g.paired += a.witness[j].size()
			}
			continue
		}
		if j > last && j < first {
			g.between += a.witness[j].size()
			if a.witness[j].confidence >= minDiffConfidence {
				g.sure += a.witness[j].size()
				g.sureWords++
			}
		}
		g.others += a.witness[j].size()
	}
	g.isClosed = first == last+1
	p, n := a.witness[last].box, a.witness[first].box
	if !p.Exists() || !n.Exists() || first < last {
		return g
	}
	isSound := a.model[before].similarity >= minSame && a.model[after].similarity >= minSame && !a.rightToLeft
	letter := (p[2] - p[0] + n[2] - n[0]) / float32(max(1, a.witness[last].size()+a.witness[first].size()))
	g.letter = letter
	if isOneLine(p, n) {
		if n[0] < p[0] {
			return g
		}
		g.sameLine, g.isKnown = true, isSound
		g.box = Box{p[2], min(p[1], n[1]), max(n[0], p[2]), max(p[3], n[3])}
		g.letters = max(0, (n[0]-p[2])/letter-1)
		if a.opts.InkWidth != nil {
			g.letters = min(g.letters, a.inkedLetters(g.box, letter))
		}
		g.letters = max(0, g.letters-float32(g.paired))
		return g
	}
	height := max(p[3]-p[1], n[3]-n[1])
	if n[1]-p[3] > height || n[1] < p[1] { // a column's end, or lines between, of which nothing is known
		return g
	}
	g.isKnown = isSound
	left, right := a.lineEnds(p, n)
	g.letters = max(0, (max(right-p[2], 0)+max(n[0]-left, 0))/letter-2)
	if a.opts.InkWidth != nil {
		g.letters = a.inkedLetters(a.roomAfter(p), letter) + a.inkedLetters(a.roomBefore(n), letter)
	}
	return g
}

// inkPerLetter is how much of a letter's width has ink.
const inkPerLetter = 0.7

// inkedLetters returns how many letters of that width the ink within a box is. What reaches in from the letters next to
// them is left out.
func (a *placer) inkedLetters(b Box, letter float32) float32 {
	edge, inner := letter/4, (b[3]-b[1])/8
	b = Box{b[0] + edge, b[1] + inner, b[2] - edge, b[3] - inner}
	if !b.Exists() {
		return 0
	}
	return a.opts.InkWidth(b) / (inkPerLetter * letter)
}

// roomAfter returns the room between a word and the next one that the witness has on its line, at most maxRoom wide.
func (a *placer) roomAfter(p Box) Box {
	right := p[2] + maxRoom*(p[3]-p[1])
	for j := range a.witness {
		if b := a.witness[j].box; isOneLine(p, b) && b[0] >= p[2]-(p[3]-p[1])/2 && b != p {
			right = min(right, b[0])
		}
	}
	return Box{p[2], p[1], max(right, p[2]), p[3]}
}

// roomBefore returns the room between a word and the one before it on its line.
func (a *placer) roomBefore(n Box) Box {
	left := n[0] - maxRoom*(n[3]-n[1])
	for j := range a.witness {
		if b := a.witness[j].box; isOneLine(n, b) && b[2] <= n[0]+(n[3]-n[1])/2 && b != n {
			left = max(left, b[2])
		}
	}
	return Box{min(left, n[0]), n[1], n[0], n[3]}
}

// maxRoom is how far beyond the end of a line words are looked for, in heights of the line.
const maxRoom = 40

// lineEnds returns the edges of the text around two lines: those of the witness's words that stand a few lines about.
func (a *placer) lineEnds(p, n Box) (left, right float32) {
	left, right = n[0], p[2]
	reach := 3 * max(p[3]-p[1], n[3]-n[1])
	for j := range a.witness {
		b := a.witness[j].box
		if !b.Exists() || b[3] < p[1]-reach || b[1] > n[3]+reach {
			continue
		}
		left, right = min(left, b[0]), max(right, b[2])
	}
	return left, right
}

// isOneLine reports whether the boxes share half of the lower one's height.
func isOneLine(a, b Box) bool {
	shared := min(a[3], b[3]) - max(a[1], b[1])
	return shared > 0.5*min(a[3]-a[1], b[3]-b[1]) && shared > 0
}

func unionOf(a, b Box) Box {
	if !a.Exists() {
		return b
	}
	if !b.Exists() {
		return a
	}
	return Box{min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])}
}

// runsOf returns the runs of words that are bad, with up to slack good ones between two.
func runsOf(n, slack int, isBad func(int) bool) []Range {
	var out []Range
	for k := range n {
		if !isBad(k) {
			continue
		}
		if last := len(out) - 1; last >= 0 && k-out[last].End <= slack {
			out[last].End = k + 1
		} else {
			out = append(out, Range{k, k + 1})
		}
	}
	return out
}
