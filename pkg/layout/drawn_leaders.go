package layout

import (
	"cmp"
	"math"
	"slices"
	"strings"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// drawnLeaderText is the text of the words that stand for drawn leaders while a page is arranged. It has the dots
	// of a leader, behind a character that no other word has before those.
	drawnLeaderText = "\u2024...."
	// minDrawnLeaders is how many leaders lead to one edge at least: a line by itself may be a blank to be filled in.
	minDrawnLeaders = 3
	// farthestLeaderEnd is how far, in ems, a leader ends from the words on both sides of it, and widestLeaderOverlap
	// how far it reaches under them.
	farthestLeaderEnd, widestLeaderOverlap = 1.2, 0.3
	// lowestLeader is how far, in ems, below its words a leader runs at most, and tallestLeaderWord how tall those
	// are.
	lowestLeader, tallestLeaderWord = 0.5, 2
)

// drawnLeader is a line that leads from a word to another of the same line, as in lists of names and numbers.
type drawnLeader struct {
	before, behind placedInLine
	value          span // of the text behind it
	ruling         int  // by its place among those across the page
}

// placedInLine is a word by the places of its line and of itself in that.
type placedInLine struct {
	rect
	line, at int
	distance float64
}

// leaderFinder finds the leaders that are drawn as lines among the lines of a page.
type leaderFinder struct {
	lines    []inputLine
	rotation rotation
	em       float64
	boxes    []lineBox // from top to bottom by their lower edges
}

// lineBox is the box of a line.
type lineBox struct {
	rect
	line int
}

// insertLeaders puts words that stand for them in the places of drawn leaders, and makes one line of what they join:
// everything else takes leaders for text. Their lines are no rulings any more.
func (a *arranger) insertLeaders(g *angleGroup, r *rulingSet, em float64) {
	if !a.native || len(r.across) < minDrawnLeaders {
		return
	}
	f := leaderFinder{lines: g.lines, rotation: rotation(g.angle), em: em}
	leaders := keepRepeatedLeaders(f.findLeaders(r.across), em)
	if len(leaders) == 0 {
		return
	}
	drawn := map[int]bool{}
	for _, l := range leaders {
		drawn[l.ruling] = true
	}
	across := make(rulingsAcross, 0, len(r.across)-len(drawn))
	for i, line := range r.across {
		if !drawn[i] {
			across = append(across, line)
		}
	}
	r.across = across
	g.lines = f.joinLines(leaders, func(w *inkstreamv1.Word) {
		if a.leaders == nil {
			a.leaders = map[*inkstreamv1.Word]bool{}
		}
		a.leaders[w] = true
	})
}

// findLeaders returns the lines that run from a word to another.
func (f *leaderFinder) findLeaders(across rulingsAcross) []drawnLeader {
	f.boxes = make([]lineBox, 0, len(f.lines))
	for i, line := range f.lines {
		if isRightToLeft(line.words) {
			continue
		}
		b := f.wordBox(i, 0)
		for at := range line.words {
			b = b.union(f.wordBox(i, at))
		}
		if b.height() <= 2*tallestLeaderWord*f.em {
			f.boxes = append(f.boxes, lineBox{b, i})
		}
	}
	slices.SortFunc(f.boxes, func(a, b lineBox) int { return cmp.Compare(a.y1, b.y1) })
	var out []drawnLeader
	for i, r := range across {
		if l, found := f.leaderAt(r); found {
			l.ruling = i
			out = append(out, l)
		}
	}
	return out
}

func (f *leaderFinder) wordBox(line, at int) rect {
	return f.rotation.rotateRect(rectFromBox(f.lines[line].words[at].GetBbox()))
}

// levelWords calls visit with each word that a line runs at the height of, or close below, until that returns false.
func (f *leaderFinder) levelWords(y float64, visit func(placedInLine) bool) {
	first, _ := slices.BinarySearchFunc(f.boxes, y-lowestLeader*f.em,
		func(b lineBox, y float64) int { return cmp.Compare(b.y1, y) })
	for _, b := range f.boxes[first:] {
		if b.y1 > y+2*tallestLeaderWord*f.em {
			return
		}
		if b.y0 >= y {
			continue
		}
		for at := range f.lines[b.line].words {
			w := f.wordBox(b.line, at)
			isLevel := w.y0 < y && w.y1 > y-lowestLeader*f.em && w.height() <= tallestLeaderWord*f.em
			if isLevel && !visit(placedInLine{rect: w, line: b.line, at: at}) {
				return
			}
		}
	}
}

// leaderAt returns what a line leads from and to; false if it is no leader.
func (f *leaderFinder) leaderAt(r ruling) (drawnLeader, bool) {
	l := drawnLeader{before: placedInLine{distance: math.Inf(1)}, behind: placedInLine{distance: math.Inf(1)}}
	free := true
	f.levelWords(r.at, func(w placedInLine) bool {
		switch {
		case w.x1 <= r.from+widestLeaderOverlap*f.em:
			if w.distance = r.from - w.x1; w.distance < l.before.distance {
				l.before = w
			}
		case w.x0 >= r.to-widestLeaderOverlap*f.em:
			if w.distance = w.x0 - r.to; w.distance < l.behind.distance {
				l.behind = w
			}
		default:
			free = false
		}
		return free
	})
	if !free || max(l.before.distance, l.behind.distance) > farthestLeaderEnd*f.em ||
		l.behind.x0-l.before.x1 < wideGap*f.em || math.Abs(l.before.y1-l.behind.y1) > lowestLeader*f.em || !f.isEndToEnd(l) {
		return l, false
	}
	words := f.lines[l.behind.line].words
	l.value = span{l.behind.x0, l.behind.x1}
	for at := l.behind.at + 1; at < len(words); at++ {
		w := f.wordBox(l.behind.line, at)
		if w.x0-l.value.to > wideGap*f.em {
			break
		}
		l.value.to = max(l.value.to, w.x1)
	}
	return l, !f.isTableRow(l, r)
}

// isEndToEnd reports whether a leader leads to the next word of its line, or from the end of a line to the beginning
// of another.
func (f *leaderFinder) isEndToEnd(l drawnLeader) bool {
	if l.before.line == l.behind.line {
		return l.behind.at == l.before.at+1
	}
	return l.behind.at == 0 && l.before.at+1 == len(f.lines[l.before.line].words)
}

// isTableRow reports whether another figure follows the text that a leader leads to, as in the row of a table.
func (f *leaderFinder) isTableRow(l drawnLeader, r ruling) bool {
	const farthest = 12 // ems
	next := placedInLine{distance: farthest * f.em}
	text := ""
	f.levelWords(r.at, func(w placedInLine) bool {
		if w.distance = w.x0 - l.value.to; w.distance > 0 && w.distance < next.distance {
			next, text = w, f.lines[w.line].words[w.at].GetText()
		}
		return true
	})
	return isNumeric(text)
}

// keepRepeatedLeaders returns those leaders that lead to text which begins or ends at the same edge as that of
// others.
func keepRepeatedLeaders(leaders []drawnLeader, em float64) []drawnLeader {
	const slack = 0.5 // ems
	kept := make([]bool, len(leaders))
	order := make([]int, len(leaders))
	for _, edge := range []func(i int) float64{
		func(i int) float64 { return leaders[i].value.from },
		func(i int) float64 { return leaders[i].value.to },
	} {
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(edge(a), edge(b)) })
		for i := 0; i < len(order); {
			end := i + 1
			for end < len(order) && edge(order[end])-edge(order[i]) <= slack*em {
				end++
			}
			for _, k := range order[i:end] {
				kept[k] = kept[k] || end-i >= minDrawnLeaders
			}
			i = end
		}
	}
	out := leaders[:0]
	for i, l := range leaders {
		if kept[i] {
			out = append(out, l)
		}
	}
	return out
}

// joinLines returns the lines with words for the leaders in them. made is told of each of those.
func (f *leaderFinder) joinLines(leaders []drawnLeader, made func(*inkstreamv1.Word)) []inputLine {
	type place struct{ line, at int }
	behind := make(map[place]*inkstreamv1.Word, len(leaders)) // the leader behind a word
	next, joined := map[int]int{}, map[int]bool{}             // the line that a leader joins to a line's end
	for _, l := range leaders {
		at := place{l.before.line, l.before.at}
		other := l.before.line != l.behind.line
		if behind[at] != nil || other && (joined[l.behind.line] || leadsTo(next, l.behind.line, l.before.line)) {
			continue
		}
		behind[at] = f.newLeaderWord(l)
		made(behind[at])
		if other {
			next[l.before.line], joined[l.behind.line] = l.behind.line, true
		}
	}
	out := make([]inputLine, 0, len(f.lines)-len(joined))
	for i, line := range f.lines {
		if joined[i] {
			continue
		}
		words := make([]*inkstreamv1.Word, 0, len(line.words)+2)
		for k, goes := i, true; goes; k, goes = follow(next, k) {
			for at, w := range f.lines[k].words {
				if words = append(words, w); behind[place{k, at}] != nil {
					words = append(words, behind[place{k, at}])
				}
			}
		}
		out = append(out, inputLine{words, line.angle})
	}
	return out
}

// leadsTo reports whether a line is joined to the end of another, or of one that is joined to that.
func leadsTo(next map[int]int, from, to int) bool {
	for k, goes := from, true; goes; k, goes = follow(next, k) {
		if k == to {
			return true
		}
	}
	return false
}

func follow(next map[int]int, i int) (int, bool) {
	to, found := next[i]
	return to, found
}

// newLeaderWord returns a word that fills most of the room between two words.
func (f *leaderFinder) newLeaderWord(l drawnLeader) *inkstreamv1.Word {
	const room = 0.3 // ems, on both sides
	before := f.lines[l.before.line].words[l.before.at]
	box := l.before.rect.union(l.behind.rect)
	box.x0, box.x1 = l.before.x1+room*f.em, l.behind.x0-room*f.em
	return &inkstreamv1.Word{Text: drawnLeaderText, Bbox: f.rotation.unrotateRect(box).toBox(), Font: before.GetFont(),
		Size: before.GetSize()}
}

// removeLeaders takes the words that stand for drawn leaders out of blocks.
func (a *arranger) removeLeaders(blocks []*inkstreamv1.Block) {
	if len(a.leaders) == 0 {
		return
	}
	for _, b := range blocks {
		for _, line := range b.GetLines() {
			line.Words = slices.DeleteFunc(line.GetWords(), func(w *inkstreamv1.Word) bool { return a.leaders[w] })
		}
		for _, c := range b.GetTable().GetCells() {
			if strings.Contains(c.GetText(), drawnLeaderText) {
				c.Text = strings.Join(strings.Fields(strings.ReplaceAll(c.GetText(), drawnLeaderText, "")), " ")
			}
		}
	}
}
