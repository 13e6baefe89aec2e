package layout

import (
	"math"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// entries are texts one below the other, each with a label beside its beginning: the years in a life, the names of the
// speakers in minutes.
type entries struct {
	labels, text []segment
	labelsFirst  bool // they stand left of the text
	cuts         []entryCut
	ofRows       bool // the gutter parts no columns: where a label does not go on beside its text, both are read in one line
}

// entryCut is a height above which an entry ends and the next begins; wraps says that the label goes on beside lines
// of its text.
type entryCut struct {
	y     float64
	wraps bool
}

// findEntries returns the entries that two columns are; false if they are none. A label is a few words; the text at
// its side begins there, with more room above than between its lines, or after a line that ends short. A label beside
// no text heads what is below it.
func findEntries(left, right []segment, em float64) (entries, bool) {
	const pieces = 1.3 // of a line, on average: with more it is a table's row
	l, r := buildSide(left, em), buildSide(right, em)
	if float64(len(left)) > pieces*float64(len(l)) || float64(len(right)) > pieces*float64(len(r)) {
		return entries{}, false
	}
	if cuts := findEntryCuts(l, r, em); cuts != nil {
		return entries{labels: left, text: right, labelsFirst: true, cuts: cuts}, true
	}
	if cuts := findEntryCuts(r, l, em); cuts != nil {
		return entries{labels: right, text: left, cuts: cuts}, true
	}
	return entries{}, false
}

// findEntriesOfRows returns the entries that a band is whose gutter parts no columns, where reading across would break
// the text: the labels stand right of it, or go on in a second line. No lines are drawn between entries of text, as
// between the rows of a table.
func (c *cutter) findEntriesOfRows(band pageBand) (entries, bool) {
	const words, runsOn, width = 6.0, 0.2, 20.0 // of a line, of lines, ems
	if len(band.freeSpans) != 1 || slices.ContainsFunc(band.segments, func(s segment) bool { return s.table != nil }) {
		return entries{}, false
	}
	gap := band.freeSpans[0]
	var left, right []segment
	for _, s := range band.segments {
		if s.x0 < gap.from {
			left = append(left, s)
		} else {
			right = append(right, s)
		}
	}
	if len(left) == 0 || len(right) == 0 {
		return entries{}, false
	}
	e, ok := findEntries(left, right, c.em)
	if !ok || e.labelsFirst && !slices.ContainsFunc(e.cuts, func(cut entryCut) bool { return cut.wraps }) {
		return entries{}, false
	}
	e.ofRows = true
	around := gutterContext{gap: gap, across: c.rulings.across, em: c.em}
	text := buildSide(e.text, c.em)
	stats := measureSide(text, c.em)
	return e, stats.words >= words && stats.runsOn >= runsOn && sideWidth(text) >= width*c.em && around.rulesAcross(band.y0, band.y1) < 2
}

// findEntryCuts returns the heights at which entries begin; nil if the lines are no labels with texts beside them.
func findEntryCuts(labels, text []sideLine, em float64) []entryCut {
	const (
		fewest, part          = 3, 0.8    // labels, and the share of them that stand beside a beginning
		labelWords, textWords = 4.0, 4.5  // of a line, on average
		wide, lines           = 0.6, 1.5  // of the labels, in parts of the text's width; lines of text for each of them
		slack, near           = 0.35, 1.4 // ems; pitches from a line of a label to the next
	)
	if len(labels) < fewest || len(text) < fewest || isRightToLeft([]*inkstreamv1.Word{text[0].first, text[0].last}) {
		return nil
	}
	l, t := measureSide(labels, em), measureSide(text, em)
	goesOn := func(i int) bool {
		return i > 0 && labels[i].y1-labels[i-1].y1 < near*max(t.pitch*em, labels[i].height()) && !labels[i].isMark()
	}
	begun := 0
	for i := range labels {
		if !goesOn(i) {
			begun++
		}
	}
	if float64(len(text)) < lines*float64(begun) {
		return nil
	}
	if l.words > labelWords || t.words < textWords || sideWidth(labels) > wide*sideWidth(text) {
		return nil
	}
	begins := findBeginnings(text, t.pitch*em, em)
	if l.counts > 0.5 && !beginAfterRoom(labels, text, begins, em) {
		return nil
	}
	var cuts []entryCut
	beside, found, at := 0, 0, 0
	for i, label := range labels {
		for at+1 < len(text) && math.Abs(text[at+1].centerY()-label.centerY()) <= math.Abs(text[at].centerY()-label.centerY()) {
			at++
		}
		level := math.Abs(text[at].centerY()-label.centerY()) < slack*em
		switch {
		case goesOn(i) && !(level && begins[at] == afterRoom):
			if n := len(cuts) - 1; n >= 0 && level && begins[at] == 0 {
				cuts[n].wraps = true
			}
		case level && begins[at] != 0:
			beside, found, cuts = beside+1, found+1, append(cuts, entryCut{y: min(label.y0, text[at].y0)})
		case spanDistance(label.y0, label.y1, text[at].y0, text[at].y1) < 0:
			beside++
		default:
			cuts = append(cuts, entryCut{y: label.y0})
		}
	}
	if found < 2 || len(cuts) < fewest || float64(found) < part*float64(beside) {
		return nil
	}
	return cuts
}

// beginAfterRoom reports whether each label is level with a line of text that has more room above it than others:
// numbers that count lines are not.
func beginAfterRoom(labels, text []sideLine, begins []beginning, em float64) bool {
	var first []sideLine
	for i, l := range text {
		if begins[i] == afterRoom {
			first = append(first, l)
		}
	}
	level, _ := matchSides(labels, first, em)
	return level == len(labels)
}

// beginning says how a line of text begins a piece of it; 0 means that it does not.
type beginning int

const (
	afterRoom  beginning = iota + 1 // there is more room above than between lines
	afterShort                      // the line above has room for the first word
)

// findBeginnings tells of each line of a text whether a piece of it begins there.
func findBeginnings(text []sideLine, pitch, em float64) []beginning {
	const more, blank = 0.2, 0.6 // ems
	right := math.Inf(-1)
	for _, line := range text {
		right = max(right, line.x1)
	}
	out := make([]beginning, len(text))
	for i, line := range text {
		word := line.width() * float64(countLetters(line.first.GetText())) / float64(max(1, line.letters))
		switch {
		case i == 0 || line.y1-text[i-1].y1 > pitch+more*em:
			out[i] = afterRoom
		case text[i-1].x1+blank*em+word < right:
			out[i] = afterShort
		}
	}
	return out
}

// sideWidth returns how wide the lines of a side are together.
func sideWidth(lines []sideLine) float64 {
	r := lines[0].rect
	for _, l := range lines[1:] {
		r = r.union(l.rect)
	}
	return r.width()
}

// cutEntries cuts entries from one another, and reads each with its label before the text if that stands on the left,
// after it if not. Marks, as of a list, are read in one line with the text.
func (c *cutter) cutEntries(e entries, depth int) {
	take := func(from []segment, top, bottom float64) []segment {
		var out []segment
		for _, s := range from {
			if y := s.centerY(); y >= top && y < bottom {
				out = append(out, s)
			}
		}
		return out
	}
	if e.labelsFirst && areMarks(e.labels) {
		c.leaves = append(c.leaves, leaf{slices.Concat(e.labels, e.text)})
		return
	}
	var across []segment // entries that are read in lines
	flush := func() {
		if len(across) > 0 {
			c.leaves, across = append(c.leaves, leaf{across}), nil
		}
	}
	top, counted := entryCut{y: math.Inf(-1)}, e.labelsFirst && areCounters(e.labels)
	for _, next := range append(e.cuts, entryCut{y: math.Inf(1)}) {
		label, text := take(e.labels, top.y, next.y), take(e.text, top.y, next.y)
		wraps := top.wraps
		top = next
		if e.ofRows && e.labelsFirst && !wraps {
			across = append(append(across, label...), text...)
			continue
		}
		flush()
		if counted {
			across = append(label, text...)
			continue
		}
		if !e.labelsFirst {
			label, text = text, label
		}
		for _, part := range [][]segment{label, text} {
			if len(part) > 0 {
				c.cutRegion(part, depth+1)
			}
		}
	}
	flush()
}

func areMarks(labels []segment) bool {
	return !slices.ContainsFunc(labels, func(s segment) bool { return !isMark(s.words) })
}

// areCounters reports whether labels are numbers that count the texts beside them.
func areCounters(labels []segment) bool {
	for i, s := range labels {
		if len(s.words) != 1 || i > 0 && !countsOn(labels[i-1].words[0].GetText(), s.words[0].GetText()) {
			return false
		}
	}
	return true
}

// isMark reports whether a label is the mark or the number of an item in a list.
func isMark(words []*inkstreamv1.Word) bool {
	return len(words) == 1 && (countLetters(words[0].GetText()) == 0 || parseListMarker(words[0].GetText()) != "" ||
		parseBareEnumerator(words[0].GetText()).form != "")
}

func (l *sideLine) isMark() bool { return l.words == 1 && isMark([]*inkstreamv1.Word{l.first}) }
