package tesseract

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// bullet is what a filled disc or square before a line becomes.
	bullet = "•"
	// minBullets is how many a page has at least, but of those that were read as a word of their own: one by itself may
	// be dirt, or a piece of a letter.
	minBullets = 2
	// maxDiscs and maxListDashes bound what is looked at: a page with more is a drawing. Full stops and the dots of
	// letters are discs.
	maxDiscs, maxListDashes = 1000, 200
)

// markBullets finds the marks of lists, which Tesseract reads as a letter or a sign, or leaves out: filled discs and
// squares, and dashes, that stand before a line of text and above its baseline.
func (r *reader) markBullets(got *reading) {
	height := letterHeight(r.areas)
	if r.inColumns || height == 0 {
		return
	}
	img, areas := r.img.rotated(got.turn), r.turnedAreas(got.turn)
	discs, dashes := findDiscs(img, areas, height, r.below), findListDashes(img, areas, height, r.below)
	var places []bulletPlace
	for _, mark := range append(discs, dashes...) {
		p, found := got.findBulletPlace(mark, height)
		if found && isAboveBaseline(mark, p.next, areas, height, got.skew) {
			places = append(places, p)
		}
	}
	for _, p := range places {
		if p.isSure || len(places) >= minBullets {
			p.insertBullet(height)
		}
	}
	for i := range got.blocks {
		b := &got.blocks[i]
		b.lines = slices.DeleteFunc(b.lines, func(l line) bool { return len(l.words) == 0 })
	}
}

// findDiscs returns the filled discs and squares no higher than small letters; none where there are too many. Of those
// as large as letters there are few: where there are more, letters have run full of ink.
func findDiscs(img greyImage, areas []box, height float64, below byte) []box {
	const (
		least  = 0.68 // a disc fills 0.79 of its box, an e half
		share  = 0.05 // of what is as large as a letter, and as wide as it is high
		smooth = 0.6  // of the height of small letters, what may be one
	)
	var out []box
	large, full := 0, 0
	for _, b := range areas {
		w, h := b[2]-b[0], b[3]-b[1]
		if w < 3 || h < 3 || float64(h) < 0.25*height || float64(h) > 1.1*height || 4*w < 3*h || 4*h < 3*w {
			continue
		}
		isLarge, isFull := float64(h) >= smooth*height, img.filledShare(b, below) >= least
		if isLarge {
			large++
		}
		if isFull {
			out = append(out, b)
			if isLarge {
				full++
			}
		}
	}
	if float64(full) > share*float64(large) {
		out = slices.DeleteFunc(out, func(b box) bool { return float64(b[3]-b[1]) >= smooth*height })
	}
	return atMost(maxDiscs, out)
}

// findListDashes returns the dashes that have nothing left of them, above them and below them, as one between two
// words, a bar of an equals sign and a piece of a broken letter have; none where there are too many.
func findListDashes(img greyImage, areas []box, height float64, below byte) []box {
	const least = 0.5 // of a dash that is a little askew
	var out []box
	for _, b := range areas {
		if isDashOf(b, height) && img.filledShare(b, below) >= least {
			out = append(out, b)
		}
	}
	if len(atMost(maxListDashes, out)) == 0 {
		return nil
	}
	near := int(0.7 * height)
	return slices.DeleteFunc(out, func(b box) bool {
		around := box{b[0] - 2*int(height), b[1] - near, b[2], b[3] + near}
		return slices.ContainsFunc(areas, func(o box) bool { return o != b && around.overlapsAny([]box{o}) })
	})
}

// atMost returns marks, or none where there are more than so many.
func atMost(most int, marks []box) []box {
	if len(marks) > most {
		return nil
	}
	return marks
}

// isDashOf reports whether a box has the shape of a hyphen or a dash between letters of that height.
func isDashOf(b box, height float64) bool {
	long, thick := float64(b[2]-b[0]), float64(b[3]-b[1])
	return long >= 0.4*height && long <= 2*height && thick <= max(2, 0.35*height) && long >= 2*thick
}

// filledShare returns how much of a box is ink.
func (g greyImage) filledShare(b box, below byte) float64 {
	ink := 0
	for y := b[1]; y < b[3]; y++ {
		for _, v := range g.pix[y*g.width+b[0] : y*g.width+b[2]] {
			if v < below {
				ink++
			}
		}
	}
	return float64(ink) / float64((b[2]-b[0])*(b[3]-b[1]))
}

// bulletPlace is where a bullet belongs.
type bulletPlace struct {
	disc    box
	line    *line // begins with it, or has it where items stand beside each other
	next    box   // the word after it
	misread *line // has the word that was read in its place, if any
	read    box   // of that word
	isSure  bool  // that word is the disc, and larger than a dot
}

// findBulletPlace returns the line that a disc stands before, or in which it was read as a word; false if it is part of
// a word, or no line begins there.
func (r *reading) findBulletPlace(disc box, height float64) (bulletPlace, bool) {
	p := bulletPlace{disc: disc}
	around := disc.widenedBy(int(0.1 * height))
	middle, nearest := (disc[1]+disc[3])/2, int(4*height)
	for i := range r.blocks {
		for j := range r.blocks[i].lines {
			l := &r.blocks[i].lines[j]
			if l.angle != 0 || len(l.words) == 0 {
				continue
			}
			at := 0
			for k, w := range l.words {
				if !w.box.overlaps(disc) {
					continue
				}
				isWhole := w.box.union(around) == around
				p.isSure = isWhole && float64(disc[3]-disc[1]) >= 0.4*height
				if k > 0 && !p.isSure || !isWhole && utf8.RuneCountInString(w.text) > 1 {
					return p, false
				}
				p.misread, p.read, at = l, w.box, k+1
			}
			if at == len(l.words) {
				continue
			}
			next := l.words[at].box
			if gap := next[0] - disc[2]; gap >= int(0.2*height) && gap < nearest && middle > next[1] && middle < next[3] {
				p.line, p.next, nearest = l, next, gap
			}
		}
	}
	return p, p.line != nil
}

// isAboveBaseline reports whether a disc ends above the line that the letters right of it stand on, as no letter or
// full stop does. One as large as no full stop is may end right above it.
func isAboveBaseline(disc, next box, areas []box, height, skew float64) bool {
	right := box{next[0] - 1, next[1] - int(height), next[0] + int(12*height), next[3] + int(height)}
	baseline, found := findBaseline(disc, right, areas, height, skew)
	margin := 0.12 * height
	if float64(disc[3]-disc[1]) >= 0.5*height {
		margin = max(1, 0.04*height)
	}
	return found && float64(disc[3]) <= baseline-margin
}

// findBaseline returns where the line that the letters in a place stand on passes a box, on an image whose lines are
// skew degrees from level.
func findBaseline(at, place box, areas []box, height, skew float64) (float64, bool) {
	slope := math.Tan(skew * math.Pi / 180)
	var bottoms []float64
	for _, b := range areas {
		h := float64(b[3] - b[1])
		if b != at && b[0] >= place[0] && b[0] < place[2] && b[1] >= place[1] && b[3] <= place[3] &&
			h > 0.7*height && h < 3*height {
			bottoms = append(bottoms, float64(b[3])+slope*float64(b[0]+b[2]-at[0]-at[2])/2)
		}
	}
	if len(bottoms) == 0 {
		return 0, false
	}
	slices.Sort(bottoms)
	return bottoms[len(bottoms)/2], true
}

// insertBullet puts the bullet or the dash before its line, and takes out what was read in its stead. A dash that was read
// as one stays what it was read as.
func (p bulletPlace) insertBullet(height float64) {
	const longest = 0.9 // hyphen, in heights of small letters
	at, mark := 0, word{text: bullet, box: p.disc}
	if isDashOf(p.disc, height) {
		mark.text = "-"
		if float64(p.disc[2]-p.disc[0]) > longest*height {
			mark.text = "–"
		}
	}
	if p.misread != nil {
		k := slices.IndexFunc(p.misread.words, func(w word) bool { return w.box == p.read })
		if k < 0 { // another mark took its place
			return
		}
		if read := p.misread.words[k].text; mark.text != bullet && strings.Contains("-–—", read) {
			mark.text = read
		}
		if p.misread == p.line {
			at = k
		}
		p.misread.words = slices.Delete(slices.Clone(p.misread.words), k, k+1)
	}
	if len(p.line.words) > 0 {
		mark.confidence = p.line.words[0].confidence
	}
	p.line.words = slices.Insert(slices.Clone(p.line.words), at, mark)
}
