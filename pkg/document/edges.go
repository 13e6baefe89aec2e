package document

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// collectEdgeLines is how many lines at each edge of a page may be running heads.
	maxEdgeLines = 4
	// maxEdgeDistance is how far from the edge they may stand, as a share of the page's height.
	maxEdgeDistance = 0.16
	// maxEdgeWords is how many words such a line may have.
	maxEdgeWords = 30
)

// collectEdgeLines gathers the lines at the upper and lower edge of a page.
func collectEdgeLines(e *Evidence, p *inkstreamv1.Page) {
	top, bottom := e.Height*maxEdgeDistance, e.Height*(1-maxEdgeDistance)
	var lines []EdgeLine
	lowest := lowestBlock(p)
	for i, b := range p.GetBlocks() {
		if b.GetType() == layout.Table || b.GetType() == layout.Figure || len(b.GetBbox()) != 4 {
			continue
		}
		bottom := bottom
		if i == lowest && isNumberBelowText(e, i, b) { // of a page whose text ends early
			bottom = min(bottom, b.GetBbox()[1])
		}
		if box := b.GetBbox(); box[1] > top && box[3] < bottom || e.Blocks[i].Flags&FlagTurned != 0 {
			continue
		}
		for j, line := range b.GetLines() {
			box := line.GetBbox()
			if len(box) != 4 || len(line.GetWords()) > maxEdgeWords || box[3] > top && box[1] < bottom ||
				box[0] == box[2] && box[1] == box[3] { // a line without a place is at no edge
				continue
			}
			l := EdgeLine{Block: i, Line: j, Top: box[3] <= top, Y: levelHeight(p, box), Words: len(line.GetWords())}
			l.Key, l.Value, l.Bare = runningLineHash(line)
			l.Numbered = isNumberedHead(line)
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b EdgeLine) int { return cmp.Compare(a.Y, b.Y) })
	n := 0
	for n < len(lines) && lines[n].Top {
		n++
	}
	e.Edges = append(e.Edges, lines[:min(n, maxEdgeLines)]...)
	e.Edges = append(e.Edges, lines[max(n, len(lines)-maxEdgeLines):]...)
}

// levelHeight returns the height at which a box would stand on the page if it were straight.
func levelHeight(p *inkstreamv1.Page, box []float32) float32 {
	return (box[1]+box[3])/2 + ((box[0]+box[2])/2-p.GetWidth()/2)*float32(math.Tan(float64(p.GetSkew())*math.Pi/180))
}

// lowestBlock returns the index of the block that is nearest to the page's lower edge; -1 if there is none.
func lowestBlock(p *inkstreamv1.Page) int {
	lowest, at := float32(0), -1
	for i, b := range p.GetBlocks() {
		if box := b.GetBbox(); len(box) == 4 && box[3] > lowest {
			lowest, at = box[3], i
		}
	}
	return at
}

// isNumberBelowText reports whether a block that is the lowest of its page is a page's number below its text: a year
// on a title page is none.
func isNumberBelowText(e *Evidence, i int, b *inkstreamv1.Block) bool {
	const most, fewest = 999, 40 // number, words on the page
	if len(b.GetLines()) != 1 || e.Blocks[i].Flags&FlagCentred == 0 || e.Words < fewest {
		return false
	}
	_, value, bare := runningLineHash(b.GetLines()[0])
	return bare && value <= most
}

// isNumberedHead reports whether a line begins or ends with a page's number in figures that stands apart from its
// other words.
func isNumberedHead(line *inkstreamv1.Line) bool {
	const apart = 2 // heights of the line
	words := line.GetWords()
	n := len(words)
	if n < 2 {
		return false
	}
	height := line.GetBbox()[3] - line.GetBbox()[1]
	isNumber := func(w *inkstreamv1.Word) bool {
		return w.GetText() != "" && len(w.GetText()) < 5 && strings.Trim(w.GetText(), "0123456789") == ""
	}
	isApart := func(a, b *inkstreamv1.Word) bool {
		return len(a.GetBbox()) == 4 && len(b.GetBbox()) == 4 && b.GetBbox()[0]-a.GetBbox()[2] > apart*height
	}
	return isNumber(words[0]) && isApart(words[0], words[1]) || isNumber(words[n-1]) && isApart(words[n-2], words[n-1])
}

// runningLineHash returns a hash of a line's text in which every number is the same, and it does not matter whether it
// begins or ends with one, as running heads of left and right pages do; the number that it has if there is but one, and
// whether it has nothing else, but for dashes and words for "page".
func runningLineHash(line *inkstreamv1.Line) (sum uint64, value int, bare bool) {
	k := newTextHash()
	numbers, words, outer := 0, 0, false
	for i, w := range line.GetWords() {
		text := strings.Trim(w.GetText(), "-–—.[]()|/ ")
		if n, ok := layout.ParsePageNumber(text); ok {
			numbers++
			if numbers == 1 {
				value = n
			}
			if i == 0 || i == len(line.GetWords())-1 {
				outer = true
			} else {
				k.addRune('0')
			}
			continue
		}
		k.addText(maskDigits(text))
		if text != "" && !isPageWord(text) {
			words++
		}
	}
	if outer {
		k.addRune('0')
	}
	if numbers > 1 && words > 0 {
		value = 0
	}
	return k.sum, value, numbers > 0 && numbers <= 2 && words == 0
}

// maskDigits makes every run of digits in a word the same.
func maskDigits(text string) string {
	if !strings.ContainsFunc(text, unicode.IsDigit) {
		return text
	}
	var b strings.Builder
	last := false
	for _, r := range text {
		digit := unicode.IsDigit(r)
		if !digit {
			b.WriteRune(r)
		} else if !last {
			b.WriteByte('0')
		}
		last = digit
	}
	return b.String()
}

func isPageWord(text string) bool {
	switch strings.ToLower(text) {
	case "page", "pg", "p", "of", "seite", "von", "sivu", "página", "pagina", "de", "di", "стр", "из":
		return true
	}
	return false
}

// applyStructureTags takes over what the document's structure says of each block: of the elements that cover it, the
// one that says most.
func applyStructureTags(e *Evidence, p *inkstreamv1.Page) {
	tags := p.GetTags()
	const mostTags = 2000
	if len(tags) == 0 || len(tags) > mostTags || len(e.Blocks) > mostTags {
		return
	}
	for i := range e.Blocks {
		b := &e.Blocks[i]
		for _, t := range tags {
			level := structureTagLevel(t.GetRole())
			if level == 0 || len(t.GetBbox()) != 4 || !mostlyContains(b.Box, t.GetBbox()) {
				continue
			}
			if b.Tag == 0 || b.Tag == TagParagraph || b.Tag == TagText && level != TagParagraph {
				b.Tag = level
			}
		}
	}
}

// structureTagLevel returns what a structure element says of its text.
func structureTagLevel(role string) int {
	switch role {
	case "H1", "H2", "H3", "H4", "H5", "H6":
		return int(role[1] - '0')
	case "H":
		return TagHeading
	case "Title":
		return TagTitle
	case "P":
		return TagParagraph
	case "LI", "LBody", "TD", "TH", "Caption", "Note", "Code", "BlockQuote":
		return TagText
	}
	return 0
}

// mostlyContains reports whether most of a box lies in another that is not much larger, or no higher than its line:
// the box of a heading with a rule or a background is as wide as the column.
func mostlyContains(box [4]float32, in []float32) bool {
	w := min(box[2], in[2]) - max(box[0], in[0])
	h := min(box[3], in[3]) - max(box[1], in[1])
	if w <= 0 || h <= 0 {
		return false
	}
	area := (box[2] - box[0]) * (box[3] - box[1])
	return w*h >= 0.6*area && ((in[2]-in[0])*(in[3]-in[1]) <= 4*area || in[3]-in[1] <= 1.8*(box[3]-box[1]))
}
