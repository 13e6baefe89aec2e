package layout

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// The types of blocks. Title, Heading, Header, Footer and PageNumber are told by the document, not by the page: see
// pkg/document.
const (
	Title      = "title"
	Heading    = "heading"
	Paragraph  = "paragraph"
	ListItem   = "list_item"
	Code       = "code"
	Table      = "table"
	Figure     = "figure"
	Caption    = "caption"
	Header     = "header"
	Footer     = "footer"
	PageNumber = "page_number"
	Footnote   = "footnote"
	Formula    = "formula"
)

// classifyBlocks gives types to the blocks of a page whose order stands: lists get their depth, figures their place,
// captions and notes are found.
func classifyBlocks(page *inkstreamv1.Page, em float64, rulings rulingSet) {
	assignListDepths(page.GetBlocks(), em)
	page.Blocks = insertFigures(page)
	findCaptions(page, em)
	findFootnotes(page, em, rulings)
	number := int32(0)
	for _, b := range page.GetBlocks() {
		if b.GetTable() != nil {
			number++
			b.Table.Number = number
		}
	}
}

// assignListDepths nests the items of each list by their indents.
func assignListDepths(blocks []*inkstreamv1.Block, em float64) {
	var open []float64 // the indents of the lists that the item before stands in
	var last rect
	for _, b := range blocks {
		if !isValidBox(b.GetBbox()) {
			continue
		}
		box := rectFromBox(b.GetBbox())
		if b.GetType() != ListItem {
			if len(open) > 0 && (b.GetType() != Paragraph || box.x0 < open[len(open)-1]+0.5*em) {
				open = open[:0]
			}
			continue
		}
		if len(open) > 0 && (box.x0 > last.x1 || box.x1 < last.x0) {
			open = open[:0] // another column
		}
		for len(open) > 0 && box.x0 < open[len(open)-1]-0.5*em {
			open = open[:len(open)-1]
		}
		if len(open) == 0 || box.x0 > open[len(open)-1]+0.7*em {
			open = append(open, box.x0)
		}
		b.Level, last = int32(min(len(open), 9)), box
	}
}

// minFigureSize is the least width and height of an image, in points, that counts as a figure.
const minFigureSize = 18

// mostFigures bounds the images of a page that count as figures.
const mostFigures = 200

// insertFigures puts a block for each image of the page among the others: before the first of those that stand below
// it in its columns. Text that is part of a drawing goes into its block.
func insertFigures(page *inkstreamv1.Page) []*inkstreamv1.Block {
	blocks := page.GetBlocks()
	n := 0
	for i, img := range page.GetImages() {
		if n >= mostFigures || !isFigure(page, img) {
			continue
		}
		box := rectFromBox(img.GetBbox())
		if isPageBackground(page, box) && len(blocks) > 0 {
			continue // the page itself, scanned, or a background
		}
		n++
		figure := &inkstreamv1.Block{Type: Figure, Bbox: box.toBox(), Image: int32(i + 1)}
		if img.GetKind() == "drawing" {
			blocks = moveLinesIntoFigure(blocks, figure, box)
		}
		blocks = slices.Insert(blocks, figureInsertIndex(blocks, box), figure)
	}
	return blocks
}

// isFigure reports whether an image may be a figure: it is large enough, and no mask.
func isFigure(page *inkstreamv1.Page, img *inkstreamv1.Image) bool {
	if img.GetMask() || !isValidBox(img.GetBbox()) {
		return false
	}
	box := rectFromBox(img.GetBbox())
	return box.width() >= minFigureSize && box.height() >= minFigureSize && (img.GetKind() != "" || img.GetName() != "" ||
		!isPageBackground(page, box))
}

// isPageBackground reports whether a box fills nearly all of the page.
func isPageBackground(page *inkstreamv1.Page, box rect) bool {
	area := float64(page.GetWidth()) * float64(page.GetHeight())
	return area > 0 && box.width()*box.height() > 0.8*area
}

// moveLinesIntoFigure moves the lines of blocks that lie in a drawing into its block.
func moveLinesIntoFigure(blocks []*inkstreamv1.Block, figure *inkstreamv1.Block, box rect) []*inkstreamv1.Block {
	out := make([]*inkstreamv1.Block, 0, len(blocks))
	for _, b := range blocks {
		if isValidBox(b.GetBbox()) && b.GetTable() == nil && b.GetType() != Figure &&
			isInside(rectFromBox(b.GetBbox()), box) {
			figure.Lines = append(figure.Lines, b.GetLines()...)
			continue
		}
		out = append(out, b)
	}
	return out
}

// isInside reports whether a box lies in another, but for a little.
func isInside(b, in rect) bool {
	const slack = 3
	return b.x0 >= in.x0-slack && b.x1 <= in.x1+slack && b.y0 >= in.y0-slack && b.y1 <= in.y1+slack
}

// figureInsertIndex returns before which block a figure comes: the first that stands below its top in a column that
// it shares; else behind the last that stands above it.
func figureInsertIndex(blocks []*inkstreamv1.Block, box rect) int {
	after := 0
	for i, b := range blocks {
		if !isValidBox(b.GetBbox()) {
			continue
		}
		o := rectFromBox(b.GetBbox())
		if spanDistance(o.x0, o.x1, box.x0, box.x1) >= 0 {
			continue
		}
		if o.centerY() < box.centerY() {
			after = i + 1
			continue
		}
		return i
	}
	if after == 0 && len(blocks) > 0 { // nothing shares its columns
		for i, b := range blocks {
			if isValidBox(b.GetBbox()) && rectFromBox(b.GetBbox()).y0 > box.y1 {
				return i
			}
		}
		return len(blocks)
	}
	return after
}

// maxCaptionTargets bounds the figures and tables that captions are looked for.
const maxCaptionTargets = 300

// findCaptions finds the captions of figures and tables: short blocks that begin as captions do, with the figure or
// table next to them, or with a stop behind the number.
func findCaptions(page *inkstreamv1.Page, em float64) {
	var shown []rect
	for _, b := range page.GetBlocks() {
		if (b.GetType() == Figure || b.GetType() == Table) && isValidBox(b.GetBbox()) && len(shown) < maxCaptionTargets {
			shown = append(shown, rectFromBox(b.GetBbox()))
		}
	}
	for _, b := range page.GetBlocks() {
		if b.GetType() != Paragraph || len(b.GetLines()) > 6 || !isValidBox(b.GetBbox()) || !mayBeCaption(b) {
			continue
		}
		text := textPrefix(b, 64)
		if !isCaption(text) {
			continue
		}
		box := rectFromBox(b.GetBbox())
		near := slices.ContainsFunc(shown, func(r rect) bool {
			return spanDistance(r.x0, r.x1, box.x0, box.x1) < 0 && spanDistance(r.y0, r.y1, box.y0, box.y1) < 3*em
		})
		if near || hasCaptionStop(text) {
			b.Type = Caption
		}
	}
}

// mayBeCaption is a cheap look at the first letter of a block.
func mayBeCaption(b *inkstreamv1.Block) bool {
	if len(b.GetLines()) == 0 || len(b.GetLines()[0].GetWords()) == 0 {
		return false
	}
	r, _ := utf8.DecodeRuneInString(b.GetLines()[0].GetWords()[0].GetText())
	switch r {
	case 'F', 'T', 'A', 'S', 'C', 'E', 'B', 'M', 'L', 'f', 't', 'Р', 'Т', '図', '表', '图':
		return true
	}
	return false
}

// hasCaptionStop reports whether a caption's number is followed by a stop or colon: "Figure 3: …" is a caption,
// "Figure 3 shows …" is a sentence.
func hasCaptionStop(text string) bool {
	m := captionPattern.FindStringIndex(text)
	if m == nil {
		return true
	}
	switch text[m[1]-1] {
	case '.', ':', ')', '|':
		return true
	}
	return m[1] == len(text)
}

// textPrefix returns the first n bytes, or a few more, of a block's text.
func textPrefix(b *inkstreamv1.Block, n int) string {
	out := make([]byte, 0, n+16)
	for _, line := range b.GetLines() {
		for _, w := range line.GetWords() {
			if len(out) > 0 {
				out = append(out, ' ')
			}
			if out = append(out, w.GetText()...); len(out) >= n {
				return string(out)
			}
		}
	}
	return string(out)
}

// findFootnotes finds the notes at the foot of the page: blocks in its lower part in smaller type than its text,
// which begin with a mark; and those below a short line that stands for nothing else. What follows a note in the same
// type belongs to it.
func findFootnotes(page *inkstreamv1.Page, em float64, rulings rulingSet) {
	var lowest float64 // where the last text ends that is no note
	height := float64(page.GetHeight())
	line := math.Inf(1)
	for _, r := range rulings.across {
		if width := r.to - r.from; r.at > 0.5*height && width > 30 && width < 0.45*float64(page.GetWidth()) {
			line = min(line, r.at)
		}
	}
	candidates := make([]*inkstreamv1.Block, 0, 8)
	for _, b := range page.GetBlocks() {
		if !isValidBox(b.GetBbox()) || len(b.GetLines()) == 0 {
			continue
		}
		box := rectFromBox(b.GetBbox())
		small := blockSize(b) < 0.93*em
		if (b.GetType() == Paragraph || b.GetType() == ListItem) && box.y0 > 0.4*height && small {
			candidates = append(candidates, b)
		} else if !small {
			lowest = max(lowest, box.y0)
		}
	}
	slices.SortStableFunc(candidates, func(a, b *inkstreamv1.Block) int { return cmp.Compare(a.Bbox[1], b.Bbox[1]) })
	in := false
	for _, b := range candidates {
		box := rectFromBox(b.GetBbox())
		first := b.GetLines()[0].GetWords()
		marked := len(first) > 0 && parseNoteMark(first[0].GetText()) != "" && (len(first) > 1 || len(b.GetLines()) > 1)
		switch {
		case marked && (box.y0 > lowest || box.y0 > line):
			in = true
		case !in || box.y0 < lowest && box.y0 < line:
			continue
		}
		b.Type, b.Level, b.Marker = Footnote, 0, ""
	}
}

// blockSize returns the size of a block's first words, or the height of its lines where the size is not known.
func blockSize(b *inkstreamv1.Block) float64 {
	size, n := 0.0, 0
	for _, line := range b.GetLines() {
		for _, w := range line.GetWords() {
			if countLetters(w.GetText()) == 0 {
				continue
			}
			size += wordTypeSize(w, rectFromBox(w.GetBbox()))
			if n++; n == 24 {
				return size / float64(n)
			}
		}
	}
	if n == 0 {
		return 0
	}
	return size / float64(n)
}
