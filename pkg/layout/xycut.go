package layout

import (
	"cmp"
	"slices"
)

// cutter cuts a page into regions that hold one column each, and gathers them in reading order.
type cutter struct {
	gutterJudge
	// pictures are those of the page.
	pictures pagePictures
	leaves   []leaf
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
	take := func(band pageBand, judge gutterJudge) bool {
		var columns [][]segment
		if len(band.freeSpans) > 0 {
			columns = columnSplitter{judge}.splitColumns(band)
		}
		labelled, found := entries{}, false
		if len(columns) < 2 {
			if labelled, found = c.findEntriesOfRows(band); !found {
				return false
			}
		}
		flush()
		end += len(band.segments)
		first = end
		if found {
			c.cutEntries(labelled, depth+1)
		} else {
			c.cutColumns(columns, depth+1)
		}
		return true
	}
	bands, merger := c.splitBands(segments), bandMerger{em: c.em, across: c.rulings.across, pictures: c.pictures}
	if depth == 0 {
		bands = merger.mergePageBands(bands)
	} else {
		bands = merger.mergeBands(bands)
	}
	ofPart := c.gutterJudge
	ofPart.inPart = true
	for _, band := range bands {
		if take(band, c.gutterJudge) {
			continue
		}
		if (columnSplitter{c.gutterJudge}).isTableOfRows(band) {
			end += len(band.segments)
			continue
		}
		for _, part := range c.splitAtGaps(band) {
			if len(part.freeSpans) == 0 || !take(part, ofPart) {
				end += len(part.segments)
			}
		}
	}
	flush()
}

// cutColumns cuts columns as regions, one after the other, but for labels and the texts beside them, and for rows that
// are ruled off.
func (c *cutter) cutColumns(columns [][]segment, depth int) {
	if rows := c.findRuledRows(columns); rows != nil {
		for _, row := range rows {
			for _, part := range row {
				c.cutRegion(part, depth)
			}
		}
		return
	}
	for i := 0; i < len(columns); i++ {
		if i+1 < len(columns) {
			if e, ok := findEntries(columns[i], columns[i+1], c.em); ok {
				c.cutEntries(e, depth)
				i++
				continue
			}
		}
		c.cutRegion(columns[i], depth)
	}
}

const (
	// minPartGap is the least room, in ems, between two parts of a band that are looked at by themselves,
	// minPartGapRatio how many times the usual room between its lines that is.
	minPartGap, minPartGapRatio = 0.9, 1.8
	// maxBandParts is how many parts a band has at most: one with more is a table with room between its rows.
	maxBandParts = 8
)

// splitAtGaps parts a band whose gutters part no columns where there is more room than between its lines: a letter's
// head may stand in line with the table below it. A band that falls to no parts comes back without gutters.
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
			free = intersectSpans(free, slab.freeSpans, c.em)
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
		s.freeSpans = freeSpans(part, left, right, c.em)
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
func freeSpans(segments []segment, left, right, em float64) []span {
	covered := make([]span, len(segments))
	for i, s := range segments {
		covered[i] = span{s.x0, s.x1}
	}
	slices.SortFunc(covered, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	const edge = 10 * maxCoordinate
	free := make([]span, 0, 4)
	at := -float64(edge)
	for _, s := range covered {
		if s.from-at >= minGutterWidth*em && len(free) < maxGutters {
			free = append(free, span{at, s.from})
		}
		at = max(at, s.to)
	}
	return append(free, span{at, edge})
}

// intersectSpans returns the stretches that are free in both lists and wide enough.
func intersectSpans(a, b []span, em float64) []span {
	out := make([]span, 0, min(len(a), len(b)))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		from, to := max(a[i].from, b[j].from), min(a[i].to, b[j].to)
		if to-from >= minGutterWidth*em {
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

// outerSpans returns the stretches at the edges, which innerSpans leaves out.
func outerSpans(free []span) []span {
	const edge = 10 * maxCoordinate
	return slices.DeleteFunc(slices.Clone(free), func(s span) bool { return s.from > -edge && s.to < edge })
}

// leftEdge returns where the leftmost segment of a band begins.
func (b *pageBand) leftEdge() float64 {
	x := b.segments[0].x0
	for _, s := range b.segments {
		x = min(x, s.x0)
	}
	return x
}

// rightEdge returns where the rightmost segment of a band ends.
func (b *pageBand) rightEdge() float64 {
	x := b.segments[0].x1
	for _, s := range b.segments {
		x = max(x, s.x1)
	}
	return x
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
