package tesseract

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

const (
	// leaderText is what a row of dots that leads from one word to another becomes.
	leaderText = "...."
	// minLeaderDots is how many dots make a leader at least.
	minLeaderDots = 6
	// largestDotInches is how wide and high a dot of a leader is at most, farthestDotsInches how far two neighbours
	// stand apart.
	largestDotInches, farthestDotsInches = 0.035, 0.13
	// unevenDots is by how much the room between neighbours may differ from the usual, as a share of it.
	unevenDots = 0.5
	// farthestWord is how far the words before a leader and behind it are at most, in heights of small letters, and
	// farthestShare as a share of the leader's length: rows of a fixed number of dots may end early.
	farthestWord, farthestShare = 3, 0.25
	// maxLeaderEnds is how many places are read again that leaders lead to, and where no word was read surely.
	maxLeaderEnds = 40
	// minLeaderEndConfidence is the least confidence of what is read there.
	minLeaderEndConfidence = 0.7
)

// leader is a row of dots, by the first and the last of them.
type leader struct{ first, last box }

// box returns the box around the dots.
func (l leader) box() box { return l.first.union(l.last) }

// baseAt returns where the lower edge of the row is at a place along it.
func (l leader) baseAt(x int) float64 {
	along := float64(x-l.first[0]) / float64(max(1, l.last[0]-l.first[0]))
	return float64(l.first[3]) + min(1, max(0, along))*float64(l.last[3]-l.first[3])
}

// takeLeaders finds leaders. Their dots are no areas of ink from then on, as a page may have more of them than letters.
func (r *reader) takeLeaders() {
	dropDotsOfLeaders(r)
	rows := findDotRows(r.areas, r.dpi)
	if len(rows) == 0 || r.screened {
		return
	}
	all := r.areas
	r.areas = withoutDots(all, rows)
	height := letterHeight(r.areas)
	if height == 0 {
		return
	}
	letters := lettersOf(r.areas, height)
	for i, row := range rows {
		row = cutUnderLetters(row, letters, height)
		if len(row) < minLeaderDots {
			continue
		}
		if l := (leader{row[0], row[len(row)-1]}); len(l.lettersOver(letters, height)) == 0 {
			r.leaders, rows[i] = append(r.leaders, l), row
		}
	}
	r.areas = withoutDots(all, rows)
}

// withoutDots returns the areas that are no dots of rows.
func withoutDots(areas []box, rows [][]box) []box {
	isDot := map[box]bool{}
	for _, row := range rows {
		for _, dot := range row {
			isDot[dot] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(areas), func(b box) bool { return isDot[b] })
}

// cutUnderLetters returns a row of dots without its first and last quarter, as far as letters stand over those: pieces
// of the broken letters and figures that a leader leads from and to may lie in its row.
func cutUnderLetters(row, letters []box, height float64) []box {
	const part = 4
	l := leader{row[0], row[len(row)-1]}
	from, to := l.first[0], l.last[2]
	quarter := (to - from) / part
	for _, b := range l.lettersOver(letters, height) {
		switch middle := (b[0] + b[2]) / 2; {
		case middle < l.first[0]+quarter:
			from = max(from, b[2])
		case middle > l.last[2]-quarter:
			to = min(to, b[0])
		}
	}
	return slices.DeleteFunc(slices.Clone(row), func(dot box) bool { return dot[0] < from || dot[2] > to })
}

// dropDotsOfLeaders drops the areas that lie in leaders which are known.
func dropDotsOfLeaders(r *reader) {
	if len(r.leaders) == 0 {
		return
	}
	r.areas = slices.DeleteFunc(slices.Clone(r.areas), func(b box) bool {
		return slices.ContainsFunc(r.leaders, func(l leader) bool {
			x, y := (b[0]+b[2])/2, float64(b[1]+b[3])/2
			dot := l.first[3] - l.first[1]
			return b[3]-b[1] <= 2*dot && x >= l.first[0] && x <= l.last[2] && math.Abs(y+float64(dot)/2-l.baseAt(x)) <= float64(dot)
		})
	})
}

// takeDots takes the dots of leaders and broken rules from the image, and then dust, which is as large as they are.
func takeDots(r *reader) {
	r.takeLeaders()
	eraseLeaders(r)
	eraseDashedRules(r)
	r.removeDust()
}

// eraseLeaders makes the dots of leaders paper.
func eraseLeaders(r *reader) {
	if len(r.leaders) == 0 {
		return
	}
	paper := r.img.medianGrey()
	r.img = greyImage{pix: slices.Clone(r.img.pix), width: r.img.width, height: r.img.height}
	for _, l := range r.leaders {
		dot := l.first[3] - l.first[1]
		for x := l.first[0] - 1; x <= l.last[2]; x++ {
			base := int(math.Round(l.baseAt(x)))
			r.img.fillBox(box{x, base - dot - 1, x + 1, base + 1}, paper)
		}
	}
}

// joinLeaders makes one line of what dots lead together, such as a name and its number. Tesseract takes the words on
// the two sides of a leader for columns, the dots for letters, and leaves short numbers out.
func (r *reader) joinLeaders(got *reading) error {
	height := letterHeight(r.areas)
	if height == 0 || r.inColumns || len(r.leaders) == 0 || got.turn != 0 {
		return nil
	}
	letters, lines, read := lettersOf(r.areas, height), got.levelLines(), 0
	for _, l := range r.leaders {
		l.dropReadDots(lines, letters)
		e := findLeaderEnds(lines, l, height)
		if e.before == nil {
			continue
		}
		if place, found := e.placeBehind(letters, r.img); found && !e.isSureBehind() && read < maxLeaderEnds {
			part, err := r.readImage(r.img.cropped(place), imageSteps{}, oneLine)
			if err != nil {
				return err
			}
			got.replaceBehind(&e, part, place)
			read++
		}
		e.joinWords()
	}
	for i := range got.blocks {
		b := &got.blocks[i]
		b.lines = slices.DeleteFunc(b.lines, func(l line) bool { return len(l.words) == 0 })
	}
	return nil
}

// dropReadDots drops the words that were read of the dots. Words of the next line whose boxes reach up to the dots are
// told by the letters in them, which are sorted from top to bottom.
func (l leader) dropReadDots(lines []*line, letters []box) {
	const runes = 3 // for each area of ink in a word, at most
	row := l.box()
	for _, candidate := range lines {
		candidate.words = slices.DeleteFunc(candidate.words, func(w word) bool {
			base := int(l.baseAt((w.box[0] + w.box[2]) / 2))
			shared := min(w.box[2], row[2]) - max(w.box[0], row[0])
			return w.box[1] < base && w.box[3] > base-(l.first[3]-l.first[1]) && 10*shared >= 7*(w.box[2]-w.box[0]) &&
				runes*w.box.countCentres(letters) < utf8.RuneCountInString(w.text)
		})
	}
}

// countCentres returns how many areas of ink, which are sorted from top to bottom, have their middle in a box.
func (b box) countCentres(areas []box) int {
	n := 0
	for _, a := range areas {
		if a[1] >= b[3] {
			break
		}
		if x, y := (a[0]+a[2])/2, (a[1]+a[3])/2; x >= b[0] && x < b[2] && y >= b[1] && y < b[3] {
			n++
		}
	}
	return n
}

// findDotRows returns the rows of dots that stand at even distances from one another.
func findDotRows(areas []box, dpi float32) [][]box {
	largest, farthest := max(3, int(largestDotInches*dpi)), int(farthestDotsInches*dpi)
	var dots []box
	for _, b := range areas {
		if w, h := b[2]-b[0], b[3]-b[1]; w <= largest && h <= largest && w <= 2*h+1 && h <= 2*w+1 {
			dots = append(dots, b)
		}
	}
	rows := chainMarks(dots, func(last, dot box) (int, bool) { return dot[0] - last[0], dot[0]-last[0] <= farthest })
	return slices.DeleteFunc(rows, func(row []box) bool { return !isEvenRow(row) })
}

// chainMarks returns the rows of marks of which each is the nearest behind the one before, at its height: gap returns how
// far it is behind, and whether that is near enough. The marks are sorted on the way.
func chainMarks(marks []box, gap func(last, next box) (int, bool)) [][]box {
	slices.SortFunc(marks, func(a, b box) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	const level = 2 // half pixels by which neighbours may lie higher or lower
	var rows [][]box
	open := map[int]int{} // row by twice the height at which its last mark stands
	for _, mark := range marks {
		best, nearest, y := -1, math.MaxInt, mark[1]+mark[3]
		for at := y - level; at <= y+level; at++ {
			i, found := open[at]
			if !found {
				continue
			}
			if far, near := gap(rows[i][len(rows[i])-1], mark); near && far > 0 && far < nearest {
				best, nearest = i, far
			}
		}
		if best < 0 {
			best = len(rows)
			rows = append(rows, nil)
		}
		rows[best] = append(rows[best], mark)
		open[y] = best
	}
	return rows
}

// isEvenRow reports whether dots are enough for a leader, and stand at even distances from one another.
func isEvenRow(dots []box) bool {
	const share = 0.8 // of the distances are even
	if len(dots) < minLeaderDots {
		return false
	}
	steps := make([]float64, len(dots)-1)
	for i := range steps {
		steps[i] = float64(dots[i+1][0] - dots[i][0])
	}
	slices.Sort(steps)
	middle, even := steps[len(steps)/2], 0
	for _, step := range steps {
		if math.Abs(step-middle) <= max(1, unevenDots*middle) {
			even++
		}
	}
	return float64(even) >= share*float64(len(steps))
}

// lettersOf returns the areas of ink that are as high as letters, from top to bottom.
func lettersOf(areas []box, height float64) []box {
	var out []box
	for _, b := range areas {
		if h := float64(b[3] - b[1]); h > 0.7*height && h < 6*height {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b box) int { return cmp.Compare(a[1], b[1]) })
	return out
}

// lettersOver returns the letters that stand over the dots: where they do all along, the dots are a line below them.
func (l leader) lettersOver(letters []box, height float64) []box {
	const above = 1.5 // letters' heights
	row := l.box()
	from, _ := slices.BinarySearchFunc(letters, row[1]-int(6*height), func(b box, y int) int { return cmp.Compare(b[1], y) })
	var over []box
	for _, b := range letters[from:] {
		if b[1] > row[3] {
			break
		}
		middle := (b[0] + b[2]) / 2
		base := l.baseAt(middle)
		if middle > row[0] && middle < row[2] && float64(b[3]) > base-above*height && float64(b[1]) < base {
			over = append(over, b)
		}
	}
	return over
}

// levelLines returns the lines along the rows that have words.
func (r *reading) levelLines() []*line {
	var out []*line
	for i := range r.blocks {
		for j := range r.blocks[i].lines {
			if l := &r.blocks[i].lines[j]; l.angle == 0 && l.spacedText == "" && len(l.words) > 0 {
				out = append(out, l)
			}
		}
	}
	return out
}

// leaderEnds are a leader, the line whose word at stands before it, and that whose word next stands behind it; nil
// where there is none.
type leaderEnds struct {
	leader
	height         float64 // of small letters
	before, behind *line
	at, next       int
}

// farthestReach returns how far from the leader the words behind it may stand.
func (e *leaderEnds) farthestReach() int {
	return int(max(farthestWord*e.height, farthestShare*float64(e.last[2]-e.first[0])))
}

// findLeaderEnds returns the words that stand before a leader and behind it.
func findLeaderEnds(lines []*line, l leader, height float64) leaderEnds {
	e := leaderEnds{leader: l, height: height}
	for _, candidate := range lines {
		for i, w := range candidate.words {
			switch {
			case w.box[0] < l.first[0] && w.box[2] > l.first[0]-int(farthestWord*height) && e.isLevel(w.box, l.first) &&
				(e.before == nil || e.before.words[e.at].box[0] < w.box[0]):
				e.before, e.at = candidate, i
			case w.box[2] > l.last[2] && w.box[0] >= l.first[0] && w.box[0] < l.last[2]+e.farthestReach() && e.isLevel(w.box, l.last) &&
				(e.behind == nil || e.behind.words[e.next].box[0] > w.box[0]):
				e.behind, e.next = candidate, i
			}
		}
	}
	return e
}

// isLevel reports whether a word or letter stands on the line of a dot.
func (e *leaderEnds) isLevel(b, dot box) bool {
	below := float64(b[3] - dot[3])
	return below > -0.9*e.height && below < 1.1*e.height && b[1] < dot[3]
}

// placeBehind returns where letters stand that the leader leads to, with a margin; false if there are none.
func (e *leaderEnds) placeBehind(letters []box, img greyImage) (box, bool) {
	var near []box
	for _, b := range letters {
		if b[0] >= e.last[2] && b[0] < e.last[2]+e.farthestReach()+int(8*e.height) && e.isLevel(b, e.last) {
			near = append(near, b)
		}
	}
	slices.SortFunc(near, func(a, b box) int { return cmp.Compare(a[0], b[0]) })
	if len(near) == 0 || near[0][0] > e.last[2]+e.farthestReach() {
		return box{}, false
	}
	place := near[0]
	for _, b := range near[1:] {
		if float64(b[0]-place[2]) > 1.5*e.height {
			break
		}
		place = place.union(b)
	}
	place = place.widenedBy(int(0.6 * e.height))
	place[0], place[2] = place[0]-int(2*e.height), place[2]+int(2*e.height) // Tesseract loses digits at the edge of an image
	return box{max(0, place[0]), max(0, place[1]), min(img.width, place[2]), min(img.height, place[3])}, true
}

// replaceBehind takes the words that were read at a place for those behind the leader, if they were read surely, and
// drops those that were read there before, some of which may be of the line before the leader.
func (r *reading) replaceBehind(e *leaderEnds, part reading, place box) {
	name := e.before.words[e.at]
	if !e.addRead(part, place) {
		return
	}
	r.dropTallWords(place, name.box)
	e.at = slices.IndexFunc(e.before.words, func(w word) bool { return w.box == name.box && w.text == name.text })
}

// dropTallWords drops words that were made of the line that stands at a place and its neighbours, but for the one in a
// box.
func (r *reading) dropTallWords(place, kept box) {
	for i := range r.blocks {
		for j := range r.blocks[i].lines {
			l := &r.blocks[i].lines[j]
			l.words = slices.DeleteFunc(l.words, func(w word) bool {
				return w.box != kept && w.box.overlapsAny([]box{place}) && w.box[3]-w.box[1] > 2*(place[3]-place[1])
			})
		}
	}
}

// isSureBehind reports whether the word behind the leader was read surely, and stands clear of the dots.
func (e *leaderEnds) isSureBehind() bool {
	if e.behind == nil {
		return false
	}
	w := e.behind.words[e.next]
	return w.confidence >= minLeaderEndConfidence && w.box[0] >= e.last[0]
}

// addRead takes the words that were read at a place for those behind the leader, and reports whether they were read
// surely.
func (e *leaderEnds) addRead(part reading, place box) bool {
	l := &line{}
	for w := range allWords(part.blocks) {
		w.box = box{w.box[0] + place[0], w.box[1] + place[1], w.box[2] + place[0], w.box[3] + place[1]}
		l.words = append(l.words, *w)
	}
	isSure := len(l.words) > 0 && part.confidence >= minLeaderEndConfidence
	if isSure && e.behind != nil {
		isSure = part.confidence > float64(e.behind.words[e.next].confidence)
	}
	if !isSure {
		return false
	}
	if e.behind != nil { // what was read there before
		name := e.before.words[e.at].box
		e.behind.words = slices.DeleteFunc(e.behind.words, func(w word) bool {
			return w.box != name && w.box.overlaps(place) && w.box[2] > e.last[2]
		})
	}
	e.behind, e.next = l, 0
	return true
}

// joinWords puts the leader behind the word before it, and then the words that it leads to, unless others stand before
// those on their line.
func (e *leaderEnds) joinWords() {
	first, rest := e.before.words[:e.at+1], e.before.words[e.at+1:]
	if e.behind != nil && e.behind != e.before {
		if e.next > 0 {
			return
		}
		rest = slices.Concat(e.behind.words, rest)
		e.behind.words = nil
	}
	e.before.words = slices.Concat(first, []word{{text: leaderText, box: e.box(), confidence: first[e.at].confidence}}, rest)
}
