package tesseract

import (
	"cmp"
	"math"
	"slices"
)

const (
	// minLineLetters is how many letters in a row make a line of text, minStackRows how many shorter rows below each
	// other make a column, as of figures, and minStackLetters how many letters those have together.
	minLineLetters, minStackRows, minStackLetters = 6, 3, 5
	// maxLostShare is the share of a page's letters under no word from which the places are read again.
	maxLostShare = 0.01
	// maxRegions bounds the places that are read again, and that are listed.
	maxRegions = 48
)

// unreadInk is what was not read of a page.
type unreadInk struct {
	share   float64 // of the letters, those that stand in lines under no word
	regions []box   // in pixels of the image as turned
}

// readLostInk looks for lines of letters that no word covers, reads their places again as a block and as scattered
// text, and notes what is left.
func (r *reader) readLostInk(got *reading) error {
	turned := r.img.rotated(got.turn)
	areas := r.turnedAreas(got.turn)
	got.unread = findUnreadInk(areas, got, turned)
	ways := []segmentation{oneBlock, scattered}
	if r.inColumns {
		ways = []segmentation{columns}
	}
	for _, as := range ways {
		if got.unread.share < maxLostShare {
			return nil
		}
		for _, region := range got.unread.regions {
			if err := r.readRegion(turned, region, as, got); err != nil {
				return err
			}
		}
		got.unread = findUnreadInk(areas, got, turned)
	}
	return nil
}

// turnedAreas returns the areas of ink on the turned image.
func (r *reader) turnedAreas(turn int) []box {
	if turn == 0 {
		return r.areas
	}
	width, height := r.img.width, r.img.height
	if turn%180 != 0 {
		width, height = height, width
	}
	out := make([]box, len(r.areas))
	for i, b := range r.areas {
		out[i] = b.rotatedBack(360-turn, width, height)
	}
	return out
}

// readRegion reads a place of the turned image, and adds the lines that are new.
func (r *reader) readRegion(turned greyImage, region box, as segmentation, got *reading) error {
	part, err := r.readImage(turned.cropped(region), imageSteps{angle: got.skew}, as)
	if err != nil {
		return err
	}
	for w := range allWords(part.blocks) {
		w.box = box{w.box[0] + region[0], w.box[1] + region[1], w.box[2] + region[0], w.box[3] + region[1]}
	}
	known := slices.DeleteFunc(got.placedLines(), placedLine.isDoubtful)
	for _, p := range part.placedLines() {
		p.line.words = slices.DeleteFunc(p.line.words, func(w word) bool {
			return slices.ContainsFunc(known, func(k placedLine) bool { return k.hasWordAt(w.box) })
		})
	}
	var stack []placedLine
	lines := slices.DeleteFunc(part.placedLines(), func(p placedLine) bool { return p.meanConfidence() < minNewLineConfidence })
	for _, p := range lines {
		switch {
		case len(p.line.words) == 1 && p.standsInStack(lines):
			stack = append(stack, p)
		case p.characterCount() > 2:
			got.insertLines(p)
		default:
			continue
		}
		got.dropDoubtfulAt(p)
	}
	if len(stack) > 0 {
		got.insertLines(stack...)
	}
	got.confidence = got.meanConfidence()
	return nil
}

// isDoubtful reports whether a line runs up or down, and was hardly read, as what Tesseract makes of a column of
// figures.
func (p placedLine) isDoubtful() bool {
	return p.line.angle%180 != 0 && !p.line.upright && p.meanConfidence() < minConfidence
}

// dropDoubtfulAt drops doubtful lines where another was read.
func (r *reading) dropDoubtfulAt(p placedLine) {
	for _, k := range r.placedLines() {
		if k.isDoubtful() && p.hasWordAt(k.bounds) {
			k.line.words = nil
		}
	}
}

// standsInStack reports whether a line is one of several below each other.
func (p placedLine) standsInStack(lines []placedLine) bool {
	rows := 0
	for _, o := range lines {
		if p.bounds[0] < o.bounds[2] && o.bounds[0] < p.bounds[2] {
			rows++
		}
	}
	return rows >= minStackRows
}

// hasWordAt reports whether a word of the line stands in a box.
func (p placedLine) hasWordAt(b box) bool {
	return p.bounds.overlaps(b) && slices.ContainsFunc(p.line.words, func(w word) bool { return w.box.overlaps(b) })
}

// findUnreadInk returns the lines of letters that no word covers, joined where they are close.
func findUnreadInk(areas []box, got *reading, img greyImage) unreadInk {
	height := letterHeight(areas)
	if height == 0 {
		return unreadInk{}
	}
	covered := newCoverage(img.width, img.height, max(2, int(height/2)))
	for _, l := range got.placedLines() {
		if l.isDoubtful() {
			continue
		}
		for _, w := range l.line.words {
			covered.mark(w.box)
		}
	}
	letters := 0
	var lost []box
	for _, b := range areas {
		w, h := float64(b[2]-b[0]), float64(b[3]-b[1])
		if h < 0.6*height || h > 4*height || w > 8*height || w < 0.15*height {
			continue // dust, rulings, frames, pictures
		}
		letters++
		if !covered.covers(b) {
			lost = append(lost, b)
		}
	}
	lines, count := textLines(lost)
	out := unreadInk{share: float64(count) / float64(max(1, letters))}
	out.regions = joinLines(lines, int(height), img)
	return out
}

// letterRow is a row of letters that follow each other.
type letterRow struct {
	bounds, last box
	letters, sum int // sum of heights
}

// textLines returns the boxes of rows of letters that follow each other as those of a text do, and their number.
func textLines(letters []box) (lines []box, count int) {
	slices.SortFunc(letters, func(a, b box) int { return cmp.Compare(a[0], b[0]) })
	var open []letterRow
	for _, b := range letters {
		best, nearest := -1, math.MaxInt
		for i := range open {
			r := &open[i]
			high := max(b[3]-b[1], r.sum/r.letters)
			down := min(b[3], r.last[3]) - max(b[1], r.last[1])
			gap := b[0] - r.bounds[2]
			alike := 3*min(b[3]-b[1], r.last[3]-r.last[1]) >= max(b[3]-b[1], r.last[3]-r.last[1])
			if alike && gap < 3*high/2 && 2*down >= min(b[3]-b[1], r.last[3]-r.last[1]) && gap < nearest {
				best, nearest = i, gap
			}
		}
		if best < 0 {
			open = append(open, letterRow{b, b, 1, b[3] - b[1]})
			continue
		}
		r := &open[best]
		r.bounds, r.last, r.letters, r.sum = r.bounds.union(b), b, r.letters+1, r.sum+b[3]-b[1]
	}
	var short []letterRow
	for _, r := range open {
		// A row of text is about as high as its letters; hatching, maps and pictures wander.
		switch {
		case r.bounds[3]-r.bounds[1] > 3*r.sum/r.letters:
		case r.letters >= minLineLetters:
			lines = append(lines, r.bounds)
			count += r.letters
		default:
			short = append(short, r)
		}
	}
	stacked, more := stackedRows(short)
	return append(lines, stacked...), count + more
}

// stackedRows returns the boxes around short rows of letters that stand below each other at the distance of lines, as
// figures in the columns of a table do, and the number of their letters.
func stackedRows(rows []letterRow) (boxes []box, count int) {
	slices.SortFunc(rows, func(a, b letterRow) int { return cmp.Compare(a.bounds[1], b.bounds[1]) })
	above := make([]int, len(rows)) // the row above each, or the row itself
	for i := range rows {
		above[i] = i
		for j := i - 1; j >= 0; j-- {
			if rows[j].stacksAbove(rows[i]) {
				above[i] = j
				break
			}
		}
	}
	top, members, letters := make([]int, len(rows)), make([]int, len(rows)), make([]int, len(rows))
	for i := range rows {
		if top[i] = i; above[i] != i {
			top[i] = top[above[i]]
		}
		members[top[i]]++
		letters[top[i]] += rows[i].letters
	}
	at := map[int]int{} // the box of each stack, by its top
	for i, r := range rows {
		if members[top[i]] < minStackRows || letters[top[i]] < minStackLetters {
			continue
		}
		count += r.letters
		if known, found := at[top[i]]; found {
			boxes[known] = boxes[known].union(r.bounds)
		} else {
			at[top[i]], boxes = len(boxes), append(boxes, r.bounds)
		}
	}
	return boxes, count
}

// stacksAbove reports whether a row stands above another at the distance of lines.
func (r letterRow) stacksAbove(o letterRow) bool {
	const farthest = 3 // times the height of the higher
	high, low := max(r.sum/r.letters, o.sum/o.letters), min(r.sum/r.letters, o.sum/o.letters)
	gap := o.bounds[1] - r.bounds[3]
	overlaps := min(r.bounds[2], o.bounds[2]) > max(r.bounds[0], o.bounds[0])
	return overlaps && 3*low >= 2*high && 2*gap > -high && gap < farthest*high
}

// joinLines joins lines that are close to one another, gives them a margin, and returns the largest.
func joinLines(lines []box, height int, img greyImage) []box {
	grow := func(b box, by int) box {
		return box{max(0, b[0]-by), max(0, b[1]-by), min(img.width, b[2]+by), min(img.height, b[3]+by)}
	}
	out := slices.Clone(lines)
	for joined := true; joined; {
		joined = false
		for i := 0; i < len(out); i++ {
			for j := len(out) - 1; j > i; j-- {
				if a := grow(out[i], 2*height); a.overlapsAny(out[j : j+1]) {
					out[i] = out[i].union(out[j])
					out = slices.Delete(out, j, j+1)
					joined = true
				}
			}
		}
	}
	size := func(b box) int { return (b[2] - b[0]) * (b[3] - b[1]) }
	slices.SortFunc(out, func(a, b box) int { return cmp.Compare(size(b), size(a)) })
	out = out[:min(len(out), maxRegions)]
	slices.SortFunc(out, func(a, b box) int { return cmp.Compare(a[1], b[1]) })
	for i := range out {
		out[i] = grow(out[i], height)
	}
	return out
}

// coverage tells where on an image words stand, in cells.
type coverage struct {
	cell, columns, rows int
	marked              []bool
}

func newCoverage(width, height, cell int) coverage {
	columns, rows := width/cell+1, height/cell+1
	return coverage{cell, columns, rows, make([]bool, columns*rows)}
}

func (c coverage) mark(b box) {
	for y := max(0, b[1]/c.cell); y <= min(c.rows-1, b[3]/c.cell); y++ {
		for x := max(0, b[0]/c.cell); x <= min(c.columns-1, b[2]/c.cell); x++ {
			c.marked[y*c.columns+x] = true
		}
	}
}

// covers reports whether the middle of a box is marked.
func (c coverage) covers(b box) bool {
	x, y := (b[0]+b[2])/2/c.cell, (b[1]+b[3])/2/c.cell
	return x < c.columns && y < c.rows && c.marked[y*c.columns+x]
}
