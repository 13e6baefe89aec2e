package agree

// placeWords gives every word of the model's the box of its partners, and to words between two of one line their
// share of the room between.
func (a *aligner) placeWords() {
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
func (a *aligner) shareOf(b Box, words []int, word int) Box {
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
	// letters is how many letters have room there; -1 where there is no telling.
	letters float32
	// others is how many letters the witness reads there that have no partner.
	others int
	// parts are the rooms: one, or the end of one line and the start of the next.
	parts []Box
}

// gapAround returns the place of a run of the model's words.
func (a *aligner) gapAround(run Range) gap {
	before, after := run.First-1, run.End
	g := gap{letters: -1}
	if before < 0 || after >= len(a.model) || a.model[before].partners == nil || a.model[after].partners == nil {
		return g
	}
	last, first := a.model[before].partners[len(a.model[before].partners)-1], a.model[after].partners[0]
	for j := last + 1; j < first; j++ {
		if a.witness[j].partners == nil {
			g.others += a.witness[j].size()
		}
	}
	p, n := a.witness[last].box, a.witness[first].box
	if !p.Exists() || !n.Exists() || first < last {
		return g
	}
	letter := (p[2] - p[0] + n[2] - n[0]) / float32(max(1, a.witness[last].size()+a.witness[first].size()))
	if isOneLine(p, n) {
		if n[0] < p[0] {
			return g
		}
		g.sameLine = true
		g.box = Box{p[2], min(p[1], n[1]), max(n[0], p[2]), max(p[3], n[3])}
		g.parts, g.letters = []Box{g.box}, max(0, (n[0]-p[2])/letter-1)
		return g
	}
	left, right := a.lineEnds(p, n)
	height := max(p[3]-p[1], n[3]-n[1])
	if n[1]-p[3] > height || n[1] < p[1] { // a column's end, or lines between, of which nothing is known
		return g
	}
	g.parts = []Box{{p[2], p[1], max(right, p[2]), p[3]}, {min(left, n[0]), n[1], n[0], n[3]}}
	g.letters = max(0, (max(right-p[2], 0)+max(n[0]-left, 0))/letter-2)
	return g
}

// lineEnds returns the edges of the text around two lines: those of the witness's words that stand a few lines about.
func (a *aligner) lineEnds(p, n Box) (left, right float32) {
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
