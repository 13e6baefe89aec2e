package layout

import (
	"cmp"
	"math"
	"slices"
)

// cutter cuts a page into regions that hold one column each, and gathers them in reading order.
type cutter struct {
	em     float64
	across []ruling // lines drawn across the page, from top to bottom
	down   []ruling // lines drawn down the page, from left to right
	// pictures are those of the page, from top to bottom.
	pictures []rect
	// judge decides in the place of the model which gutters part columns, if it is set.
	judge  func(GutterSample) bool
	inPart bool // a part of a band is looked at by itself
	leaves []leaf
}

// leaf is a region that is not cut further: its rows are read from top to bottom.
type leaf struct {
	segments []segment
}

// maxCutDepth bounds how often columns are cut within columns. Real pages need five; a hostile one must not exhaust
// the stack.
const maxCutDepth = 40

// span is a stretch of the horizontal axis.
type span struct{ from, to float64 }

// pageBand is a horizontal band of a region that a line can be drawn above and below without touching any segment.
type pageBand struct {
	segments  []segment
	y0, y1    float64
	rows      int    // about how many lines of text
	freeSpans []span // where no segment stands, from the region's left edge to its right
}

// cutRegion cuts segments into bands, bands into columns, and columns as regions again.
func (c *cutter) cutRegion(segments []segment, depth int) {
	if len(segments) < 2 || depth > maxCutDepth {
		c.leaves = append(c.leaves, leaf{segments})
		return
	}
	// Bands that are not cut and follow one another are one leaf: a line of justified text with a wide blank is no band
	// by itself.
	first, end := 0, 0
	flush := func() {
		if end > first {
			c.leaves = append(c.leaves, leaf{segments[first:end:end]})
		}
	}
	take := func(band pageBand) bool {
		var columns [][]segment
		if len(band.freeSpans) > 0 {
			columns = c.splitColumns(band)
		}
		if len(columns) < 2 {
			return false
		}
		c.inPart = false
		flush()
		end += len(band.segments)
		first = end
		for _, column := range columns {
			c.cutRegion(column, depth+1)
		}
		return true
	}
	bands := c.splitBands(segments)
	if depth == 0 {
		bands = c.mergePageBands(bands)
	} else {
		bands = c.mergeBands(bands)
	}
	for _, band := range bands {
		if take(band) {
			continue
		}
		for _, part := range c.splitAtGaps(band) {
			c.inPart = true
			if len(part.freeSpans) == 0 || !take(part) {
				end += len(part.segments)
			}
			c.inPart = false
		}
	}
	flush()
}

const (
	// minPartGap is the least room, in ems, between two parts of a band that are looked at by themselves, minPartGapRatio
	// how many times the usual room between its lines that is.
	minPartGap, minPartGapRatio = 0.9, 1.8
	// maxBandParts is how many parts a band has at most: one with more is a table with room between its rows.
	maxBandParts = 8
)

// splitAtGaps parts a band whose gutters part no columns where there is more room than between its lines: a letter's head
// may stand in line with the table below it. A band that falls to no parts comes back without gutters.
func (c *cutter) splitAtGaps(band pageBand) []pageBand {
	whole := band
	whole.freeSpans = nil
	if len(band.freeSpans) == 0 || band.rows < 4 {
		return []pageBand{whole}
	}
	slabs := c.splitBands(band.segments)
	gaps := make([]float64, 0, len(slabs))
	for i := 1; i < len(slabs); i++ {
		gaps = append(gaps, max(0, slabs[i].y0-slabs[i-1].y1))
	}
	limit := max(minPartGap*c.em, minPartGapRatio*median(gaps))
	var parts []pageBand
	start := 0
	for i := 1; i <= len(slabs); i++ {
		if i < len(slabs) && gaps[i-1] < limit {
			continue
		}
		if len(parts) == maxBandParts {
			return []pageBand{whole}
		}
		free := slabs[start].freeSpans
		for _, slab := range slabs[start+1 : i] {
			free = c.intersectSpans(free, slab.freeSpans)
		}
		parts = append(parts, joinBands(slabs[start:i], innerSpans(free)))
		start = i
	}
	if len(parts) < 2 {
		return []pageBand{whole}
	}
	return parts
}

// splitBands sorts the segments from top to bottom and parts them wherever a horizontal line fits between them. The
// overlap of ascenders and descenders of neighbouring lines does not count.
func (c *cutter) splitBands(segments []segment) []pageBand {
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.y0, b.y0) })
	left, right := segments[0].x0, segments[0].x1
	for _, s := range segments {
		left, right = min(left, s.x0), max(right, s.x1)
	}
	var out []pageBand
	start, reach := 0, segmentBottom(segments[0])
	cut := func(end int) {
		part := segments[start:end]
		s := pageBand{segments: part, y0: part[0].y0, y1: reach}
		for _, p := range part {
			s.y1 = max(s.y1, p.y1)
		}
		s.rows = max(1, int((s.y1-s.y0)/(1.3*c.em)+0.5))
		s.freeSpans = c.freeSpans(part, left, right)
		out = append(out, s)
	}
	for i, s := range segments[1:] {
		if segmentTop(s) >= reach {
			cut(i + 1)
			start, reach = i+1, segmentBottom(s)
		} else {
			reach = max(reach, segmentBottom(s))
		}
	}
	cut(len(segments))
	return out
}

// segmentTop and lower return where a segment begins and ends for the purpose of finding room between lines. What is
// let go is little: a raised mark must stay with its line.
func segmentTop(s segment) float64    { return s.y0 + 0.08*s.height() }
func segmentBottom(s segment) float64 { return s.y1 - 0.08*s.height() }

const (
	// minGutterWidth is the least width of a gutter in ems.
	minGutterWidth = minStripWidth
	// maxGutters bounds the stretches of a slab that may be gutters: each slab is compared with what is left of those
	// above it.
	maxGutters = 256
)

// freeSpans returns the stretches between left and right, edges included, that no segment covers and that are wide
// enough for a gutter. The stretches at the edges are unbounded, so that they stay free when they meet the bands
// above and below.
func (c *cutter) freeSpans(segments []segment, left, right float64) []span {
	covered := make([]span, len(segments))
	for i, s := range segments {
		covered[i] = span{s.x0, s.x1}
	}
	slices.SortFunc(covered, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	const edge = 10 * maxCoordinate
	free := make([]span, 0, 4)
	at := -float64(edge)
	for _, s := range covered {
		if s.from-at >= minGutterWidth*c.em && len(free) < maxGutters {
			free = append(free, span{at, s.from})
		}
		at = max(at, s.to)
	}
	return append(free, span{at, edge})
}

// intersectSpans returns the stretches that are free in both lists and wide enough.
func (c *cutter) intersectSpans(a, b []span) []span {
	out := make([]span, 0, min(len(a), len(b)))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		from, to := max(a[i].from, b[j].from), min(a[i].to, b[j].to)
		if to-from >= minGutterWidth*c.em {
			out = append(out, span{from, to})
		}
		if a[i].to < b[j].to {
			i++
		} else {
			j++
		}
	}
	return out
}

// innerSpans returns the stretches that have text on both sides: all but the two at the edges.
func innerSpans(free []span) []span {
	const edge = 10 * maxCoordinate
	if len(free) > 0 && free[0].from <= -edge {
		free = free[1:]
	}
	if len(free) > 0 && free[len(free)-1].to >= edge {
		free = free[:len(free)-1]
	}
	return free
}

// mergeBands puts slabs together again that go together: those that a common gutter runs through, and those that none
// does. In what it returns, free holds the gutters of the band; there are none in a band of plain lines.
//
// A slab with text on one side of the gutter only may be the end of a longer column, or a page number: it belongs to
// the columns if it is near.
func (c *cutter) mergeBands(slabs []pageBand) []pageBand {
	var out []pageBand
	leading := c.regularLeading(slabs)
	for i := 0; i < len(slabs); {
		end := i
		gutters := innerSpans(slabs[i].freeSpans)
		if len(gutters) == 0 { // plain lines, up to the next slab that has columns
			for end = i + 1; end < len(slabs) && len(innerSpans(slabs[end].freeSpans)) == 0; end++ {
			}
			keep := end
			if end < len(slabs) {
				keep = c.findColumnHead(slabs, i, end)
			}
			if keep > i {
				out = append(out, joinBands(slabs[i:keep], nil))
			}
			if keep == end {
				i = end
				continue
			}
			// The slabs from keep on stand in one column of the band that begins at end.
			i, gutters = keep, innerSpans(slabs[end].freeSpans)
		}
		last := c.findColumnsEnd(slabs, end, leading, &gutters)
		out = append(out, joinBands(slabs[i:last], gutters))
		i = last
	}
	return out
}

// findColumnHead returns from which slab on, of those from first to before end, the slabs belong to the columns that
// begin at end: they are near, and none crosses a gutter.
func (c *cutter) findColumnHead(slabs []pageBand, first, end int) int {
	gutters := innerSpans(slabs[end].freeSpans)
	keep := end
	for keep > first {
		limit := maxBandDistance
		if c.beginsLastColumn(slabs[keep-1], gutters[len(gutters)-1]) {
			limit = maxLastColumnDistance
		}
		if slabs[keep].y0-slabs[keep-1].y1 >= limit*c.em {
			break
		}
		left := c.intersectSpans(gutters, slabs[keep-1].freeSpans)
		if len(left) == 0 {
			break
		}
		gutters = left
		keep--
	}
	return keep
}

// maxBandDistance is how far apart, in ems, slabs may be when only one of them has text on both sides of the gutter;
// maxLastColumnDistance where that which has not stands in the last column, as a heading beside a drawing does.
const maxBandDistance, maxLastColumnDistance = 1.1, 2.5

// beginsLastColumn reports whether a slab's lines begin where those of the column right of a gutter do.
func (c *cutter) beginsLastColumn(slab pageBand, gutter span) bool {
	return !slices.ContainsFunc(slab.segments, func(s segment) bool { return math.Abs(s.x0-gutter.to) > c.em })
}

// mergePageBands is mergeBands for a whole page: what runs across all of its columns without reaching over a gutter is a band of its
// own.
func (c *cutter) mergePageBands(slabs []pageBand) []pageBand {
	if len(slabs) < 2 {
		return c.mergeBands(slabs)
	}
	x0, x1 := slabs[0].segments[0].x0, slabs[0].segments[0].x1
	for _, slab := range slabs {
		for _, s := range slab.segments {
			x0, x1 = min(x0, s.x0), max(x1, s.x1)
		}
	}
	var out []pageBand
	start := 0
	for i, slab := range slabs {
		if !(i == 0 && c.isRunningHead(slab, slabs[1:], x0, x1)) && !areColumnNumbers(slab, i) && !(i+1 < len(slabs) && c.isBetweenRules(slabs[max(0, i-1)], slab, slabs[i+1], x0, x1)) {
			continue
		}
		if i > start {
			out = append(out, c.mergeBands(slabs[start:i])...)
		}
		out = append(out, joinBands(slabs[i:i+1], nil))
		start = i + 1
	}
	if start < len(slabs) {
		out = append(out, c.mergeBands(slabs[start:])...)
	}
	return out
}

// isRunningHead reports whether the first line of a page is a running head with a page number: the number stands at one edge of the
// text, and what stands in another column does not begin where the lines of that column begin.
func (c *cutter) isRunningHead(slab pageBand, below []pageBand, x0, x1 float64) bool {
	const most, near, indent = 3, 1.0, 3.0 // segments, and ems
	gutters := innerSpans(c.intersectSpans(slab.freeSpans, below[0].freeSpans))
	// Beside a picture at the top of the last column, the gutter shows only where that column's text begins.
	for i := 1; i < len(below) && len(gutters) > 0 && !reachesBeyond(below[i-1], gutters[len(gutters)-1].from); i++ {
		gutters = c.intersectSpans(gutters, below[i].freeSpans)
	}
	if slab.rows > 1 || len(slab.segments) < 2 || len(slab.segments) > most || len(gutters) == 0 {
		return false
	}
	segments := slices.SortedFunc(slices.Values(slab.segments), func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	first, last := segments[0], segments[len(segments)-1]
	if isPageNumber(first) == isPageNumber(last) || first.x0 > x0+near*c.em || last.x1 < x1-near*c.em {
		return false
	}
	return last.x0 > gutters[len(gutters)-1].to+indent*c.em
}

// areColumnNumbers reports whether a slab at the top of a page holds the numbers of its columns and nothing else, as patents count them.
func areColumnNumbers(slab pageBand, at int) bool {
	const nearTop = 2 // slabs
	if at > nearTop || len(slab.segments) < 2 {
		return false
	}
	segments := slices.SortedFunc(slices.Values(slab.segments), func(a, b segment) int { return cmp.Compare(a.x0, b.x0) })
	for i, s := range segments {
		if !isPageNumber(s) || i > 0 && !countsOn(segments[i-1].words[0].GetText(), s.words[0].GetText()) {
			return false
		}
	}
	return true
}

// reachesBeyond reports whether text of a slab ends right of a place.
func reachesBeyond(slab pageBand, x float64) bool {
	return slices.ContainsFunc(slab.segments, func(s segment) bool { return s.x1 > x })
}

// isPageNumber reports whether a segment is nothing but a page number.
func isPageNumber(s segment) bool {
	if s.table != nil || len(s.words) != 1 {
		return false
	}
	_, is := ParsePageNumber(s.words[0].GetText())
	return is
}

// isBetweenRules reports whether a slab is a line between two rules that run across the whole text, as the date and the price under a
// newspaper's name are.
func (c *cutter) isBetweenRules(above, slab, below pageBand, x0, x1 float64) bool {
	if slab.rows > 1 || slab.segments[0].table != nil {
		return false
	}
	isWhole := func(r ruling) bool { return r.from < x0+c.em && r.to > x1-c.em }
	return isWhole(c.ruleBetween(max(min(above.y1, slab.y0)-0.3*c.em, slab.y0-2*c.em), slab.y0+0.3*c.em)) &&
		isWhole(c.ruleBetween(slab.y1-0.3*c.em, min(below.y0+0.3*c.em, slab.y1+2*c.em)))
}

// regularLeading returns the room between the lines of a region that are set apart evenly, as those of a transcript are; 0 if there
// are no such lines.
func (c *cutter) regularLeading(slabs []pageBand) float64 {
	const (
		fewest, slack, share = 6, 0.2, 0.7 // gaps, how far they are from their median as a part of it, and how many of them are no farther
		widest               = 8.0         // ems
	)
	var gaps []float64
	for i := 1; i < len(slabs); i++ {
		if slabs[i].rows == 1 && slabs[i-1].rows == 1 {
			gaps = append(gaps, slabs[i].y0-slabs[i-1].y1)
		}
	}
	usual, even := median(gaps), 0
	for _, gap := range gaps {
		if gap > (1-slack)*usual && gap < (1+slack)*usual {
			even++
		}
	}
	if len(gaps) < fewest || float64(even) < share*float64(len(gaps)) || usual > widest*c.em {
		return 0
	}
	return usual
}

// findColumnsEnd returns the slab before which the columns that begin at slab first end, and narrows their gutters to
// what is common to all. The lines of the region are leading apart, if that is not 0.
func (c *cutter) findColumnsEnd(slabs []pageBand, first int, leading float64, gutters *[]span) int {
	rows := slabs[first].rows
	end := first + 1
	for ; end < len(slabs); end++ {
		next := slabs[end]
		left := c.intersectSpans(*gutters, next.freeSpans)
		if len(left) == 0 || rows >= 5 && (c.isColumnHeading(slabs, end, *gutters) || c.isRuledHeading(slabs[first:end+1], left)) ||
			rows >= 3 && c.beginsTableAcross(slabs[end-1:], left) {
			break
		}
		gap := c.roomBetween(slabs[end-1].y1, next.y0, left)
		own := innerSpans(next.freeSpans)
		limit := 1.6 * maxBandDistance
		switch {
		case len(own) > 0 && rows >= 3 && next.rows >= 3:
			limit = 8
		case len(own) > 0:
			limit = 2.5
		}
		if gap > max(limit*c.em, 1.3*leading) {
			break
		}
		*gutters = left
		rows += next.rows
	}
	return findTableHead(c, slabs, first, end)
}

// roomBetween returns how much room there is between two slabs. What pictures fill that stand in one column does not count.
func (c *cutter) roomBetween(top, bottom float64, gutters []span) float64 {
	room, filled := 0.0, top
	for _, p := range c.pictures {
		if p.y1 <= top || p.y0 >= bottom {
			continue
		}
		for _, g := range innerSpans(gutters) {
			if p.x0 < (g.from+g.to)/2 && p.x1 > (g.from+g.to)/2 {
				return bottom - top
			}
		}
		room, filled = max(room, p.y0-filled), max(filled, p.y1)
	}
	return max(room, bottom-filled)
}

// isColumnHeading reports whether slab i begins a new set of columns below those that end above it, although it does
// not reach across: it is a heading, and all columns break off for it and begin again after it.
func (c *cutter) isColumnHeading(slabs []pageBand, i int, gutters []span) bool {
	// The last column may end a few lines above the others.
	above := i - 1
	for above > max(0, i-4) && len(innerSpans(slabs[above].freeSpans)) == 0 {
		above--
	}
	if len(innerSpans(slabs[above].freeSpans)) == 0 || slabs[i].y0-slabs[i-1].y1 < 0.6*c.em || c.hasPictureBeside(slabs[i], gutters[0]) {
		return false
	}
	for end := i; end < min(i+3, len(slabs)); end++ {
		if len(innerSpans(slabs[end].freeSpans)) > 0 {
			return end > i && len(c.intersectSpans(gutters, innerSpans(slabs[end].freeSpans))) > 0
		}
		for _, s := range slabs[end].segments {
			if s.size < 1.2*c.em || s.x0 > gutters[0].from {
				return false
			}
		}
	}
	return false
}

// leftEdge returns where the leftmost segment of a band begins.
func (b *pageBand) leftEdge() float64 {
	x := b.segments[0].x0
	for _, s := range b.segments {
		x = min(x, s.x0)
	}
	return x
}

// isRuledHeading reports whether the last of the slabs begins a new set of columns because a rule parts it from the columns above all along
// them, and what stands below the rule on both sides of a gutter is larger than they are: the headings of articles side by side,
// as newspapers part them.
func (c *cutter) isRuledHeading(slabs []pageBand, gutters []span) bool {
	const larger = 1.15
	above, slab := slabs[len(slabs)-2], slabs[len(slabs)-1]
	rule := c.ruleBetween(above.y1-0.3*c.em, slab.y0+0.3*c.em)
	if rule.to <= rule.from {
		return false
	}
	isHeading := func(s segment) bool { return s.size >= larger*c.em && s.table == nil }
	if !slices.ContainsFunc(innerSpans(gutters), func(g span) bool {
		return slices.ContainsFunc(slab.segments, func(s segment) bool { return isHeading(s) && s.x1 <= g.from }) &&
			slices.ContainsFunc(slab.segments, func(s segment) bool { return isHeading(s) && s.x0 >= g.to })
	}) {
		return false
	}
	for _, band := range slabs {
		for _, s := range band.segments {
			if s.x0 < rule.from-c.em || s.x1 > rule.to+c.em {
				return false
			}
		}
	}
	return true
}

// ruleBetween returns the longest line that is drawn across the page between two heights; one of no length if there is none.
func (c *cutter) ruleBetween(top, bottom float64) (longest ruling) {
	first, _ := slices.BinarySearchFunc(c.across, top, func(r ruling, y float64) int { return cmp.Compare(r.at, y) })
	for _, r := range c.across[first:] {
		if r.at > bottom {
			break
		}
		if r.to-r.from > longest.to-longest.from {
			longest = r
		}
	}
	return longest
}

// hasPictureBeside reports whether a picture stands level with a slab, right of a gutter.
func (c *cutter) hasPictureBeside(slab pageBand, gutter span) bool {
	return slices.ContainsFunc(c.pictures, func(p rect) bool {
		return p.y0 < slab.y1 && p.y1 > slab.y0 && p.x0 >= (gutter.from+gutter.to)/2
	})
}

// joinBands makes one band of neighbouring slabs.
func joinBands(slabs []pageBand, gutters []span) pageBand {
	band := pageBand{y0: slabs[0].y0, y1: slabs[0].y1, freeSpans: gutters}
	n := 0
	for _, s := range slabs {
		n += len(s.segments)
		band.rows += s.rows
		band.y1 = max(band.y1, s.y1)
	}
	// Slabs are neighbours in one array, and so are their segments.
	band.segments = slabs[0].segments[:n:n]
	return band
}

// median returns the middle of the values; 0 of none. The values keep their order.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}
