package layout

import "math"

// measureFirstLines finds out how far the first lines of the column's paragraphs are indented: those of several follow
// lines that end short. Where more lines at an indent follow full ones, entries hang.
func (p *textColumn) measureFirstLines() {
	const fewest = 2 // lines
	if p.hangs {
		return
	}
	var indents []float64
	goOn, item := 0, math.Inf(-1)
	for i := 1; i < len(p.shapes); i++ {
		if p.shapes[i-1].marker != "" {
			item = p.shapes[i-1].textStart
		}
		switch indent := p.shapes[i].x0 - p.left; {
		case indent < leastFirstIndent*p.em || indent > mostFirstIndent*p.em:
		case p.fillsLine(p.shapes[i-1], p.shapes[i]):
			if math.Abs(p.shapes[i].x0-item) >= maxEdgeIndent*p.em {
				goOn++
			}
		default:
			indents = append(indents, indent)
		}
	}
	if len(indents) < fewest {
		return
	}
	if middle := median(indents); 2*countNear(indents, middle, maxEdgeIndent*p.em) > len(indents) && goOn <= len(indents) {
		p.indent = middle
	}
}

// followsItem reports whether a paragraph with an indented first line begins at line i below an item's only line: its
// first word had room there, and the next line begins at the edge, as text does.
func followsItem(p *textColumn, i int) bool {
	return p.indent > 0 && i+1 < len(p.shapes) && p.shapes[i+1].marker == "" && !p.shapes[i].startsLower && !p.fillsLine(p.shapes[i-1], p.shapes[i])
}

// isFirstLine reports whether line i is indented, and the lines about it are not: after a line that ends short, or as
// the first lines of the column's paragraphs are. The second line of an item stands below the text of its first. A
// paragraph of one line, such as what is said in a conversation, may stand above another.
func (p *textColumn) isFirstLine(i int) bool {
	const edge, short = 0.5, 2 // ems
	if p.verse {
		return false
	}
	indent, prev := p.shapes[i].x0-p.left, p.shapes[i-1]
	isIndented := func(k int) bool {
		return p.indent > 0 && math.Abs(p.shapes[k].x0-p.left-p.indent) <= maxEdgeIndent*p.em
	}
	isAlike := math.Abs(prev.x1-p.shapes[i].x1) < lineSlack*p.em // two full lines of text that is indented as a whole
	if isIndented(i) && isIndented(i-1) && prev.endsSentence && !isAlike && prev.marker == "" && !p.fillsLine(prev, p.shapes[i]) {
		return true
	}
	isCentred := prev.x0-p.left > mostFirstIndent*p.em && !p.fillsLine(prev, p.shapes[i]) && math.Abs(prev.x0-p.left-(p.right-prev.x1)) < p.em
	if p.hangs || indent < leastFirstIndent*p.em || indent > mostFirstIndent*p.em || prev.x0-p.left > edge*p.em && !isCentred ||
		prev.textStart != 0 && math.Abs(p.shapes[i].x0-prev.textStart) < maxEdgeIndent*p.em && !followsItem(p, i) {
		return false
	}
	if isIndented(i) && prev.x0-p.left < edge*p.em && prev.endsSentence && prev.marker == "" && !p.shapes[i].startsLower && !p.fillsLine(prev, p.shapes[i]) {
		return true
	}
	isLast := i+1 == len(p.shapes)
	if !isLast && p.shapes[i+1].x0-p.left >= edge*p.em && !isAtRightEdge(p, i+1) {
		return false
	}
	return !isLast && p.right-prev.x1 > short*p.em || isIndented(i)
}

// isIndentedBelowSentence reports whether line i is indented below the end of a sentence, and the line below it is
// not: the first line of a paragraph, whatever the others of the column have. The line above is no first one of a
// block, beside whose large letter the second is indented; or it is one at the same indent, a paragraph of one line.
func isIndentedBelowSentence(p *textColumn, start, i int) bool {
	const edge = 0.5 // ems
	prev, cur := p.shapes[i-1], p.shapes[i]
	indent := cur.x0 - p.left
	if !prev.endsSentence || cur.startsLower || cur.marker != "" || p.hangs || p.verse || indent < leastFirstIndent*p.em || indent > mostFirstIndent*p.em ||
		i+1 == len(p.shapes) || p.shapes[i+1].x0-p.left >= edge*p.em || p.shapes[start].marker != "" {
		return false
	}
	isCentred := func(s lineShape) bool { return math.Abs(s.x0-p.left-(p.right-s.x1)) < edge*p.em }
	if isCentred(cur) && isCentred(p.shapes[i+1]) && !sharesIndent(p, i) {
		return false
	}
	if start == i-1 {
		return math.Abs(prev.x0-cur.x0) < maxEdgeIndent*p.em
	}
	return prev.x0-p.left < edge*p.em
}

// sharesIndent reports whether another line of the column begins where line i does, as lines in the middle hardly do.
func sharesIndent(p *textColumn, i int) bool {
	n := 0
	for _, s := range p.shapes {
		if math.Abs(s.x0-p.shapes[i].x0) < maxEdgeIndent*p.em {
			n++
		}
	}
	return n > 1
}

// isAtRightEdge reports whether line i begins in the middle of the column or farther, and ends at its right edge, as a
// signature or a date does, below the end of a sentence.
func isAtRightEdge(p *textColumn, i int) bool {
	if i == 0 {
		return false
	}
	s := p.shapes[i]
	return s.x0-p.left > mostFirstIndent*p.em && 2*s.x0 > p.left+p.right && p.right-s.x1 < maxEdgeIndent*p.em && p.shapes[i-1].endsSentence
}
