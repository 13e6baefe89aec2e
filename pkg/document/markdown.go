package document

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// MarkdownWriter writes a document as markdown (CommonMark with pipe tables). Running heads, feet and page numbers
// are left out; paragraphs are joined over breaks; what interrupts them stands behind them.
type MarkdownWriter struct {
	w    io.Writer
	plan *Plan
	err  error

	links *linkBudget

	open          []byte // a paragraph or item that goes on
	prefix        string // what stands before it
	interruptions []byte // what interrupted it
	last          string // type of the block that was written last
	depth         int    // of the item that was written last
	wroteAny      bool
}

// NewMarkdownWriter returns a writer of markdown to w, which gets it block by block. Call Page for each page in
// order, then Close.
func NewMarkdownWriter(w io.Writer, plan *Plan) *MarkdownWriter {
	return &MarkdownWriter{w: w, plan: plan, links: newLinkBudget()}
}

// maxOpenBytes bounds a paragraph that goes on, and what waits behind it: then it ends.
const maxOpenBytes = 1 << 20

// WritePage writes a page to which the plan has been applied.
func (m *MarkdownWriter) WritePage(p *inkstreamv1.Page) error {
	m.links.startPage(p.GetLinks())
	breaks := layout.NewLineBreaks(p)
	for i, b := range p.GetBlocks() {
		m.writeBlock(p, b, func() ([][]*inkstreamv1.Line, bool) { return breaks.SplitBlock(i) })
	}
	if len(m.open)+len(m.interruptions) > maxOpenBytes {
		m.endParagraph()
	}
	return m.err
}

// Close writes what is still open.
func (m *MarkdownWriter) Close() error {
	m.endParagraph()
	return m.err
}

// writeBlock writes a block, whose parts are its lines parted where their writer ended them: lines, or paragraphs.
func (m *MarkdownWriter) writeBlock(p *inkstreamv1.Page, b *inkstreamv1.Block, parts func() ([][]*inkstreamv1.Line, bool)) {
	in := inlineWriter{links: m.links}
	switch b.GetType() {
	case layout.Header, layout.Footer, layout.PageNumber:
	case layout.Title:
		m.writeHeading(1, in.appendLines(nil, b.GetLines()), true)
	case layout.Heading:
		level := max(1, int(b.GetLevel()))
		if m.plan != nil && m.plan.Title {
			level++
		}
		m.writeHeading(min(level, maxHeadingLevels), in.appendLines(nil, b.GetLines()), false)
	case layout.ListItem:
		m.writeListItem(b, parts, in)
	case layout.Code:
		m.endParagraph()
		m.writeText(b.GetType(), formatCodeBlock(b))
	case layout.Formula:
		m.endParagraph()
		if b.GetLatex() != "" {
			m.writeText(b.GetType(), formatLatex(b.GetLatex()))
			break
		}
		m.writeText(b.GetType(), escapeLineStart(in.appendLines(nil, b.GetLines())))
	case layout.Table:
		m.writeInterruption(b.GetType(), FormatTableMarkdown(b.GetTable()))
	case layout.Figure:
		m.writeInterruption(b.GetType(), figureLink(p, b))
	case layout.Caption, layout.Footnote:
		m.writeInterruption(b.GetType(), escapeLineStart(in.appendLines(nil, b.GetLines())))
	default:
		if !layout.CountsLines(b) {
			m.writeParagraph(b, parts, in)
		}
	}
}

// formatLatex returns a formula set apart. Its source ends the formula nowhere, and has no line that is empty, which
// would end it too.
func formatLatex(latex string) []byte {
	lines := slices.DeleteFunc(strings.Split(strings.ReplaceAll(latex, "$$", "$ $"), "\n"),
		func(line string) bool { return strings.TrimSpace(line) == "" })
	return []byte("$$\n" + strings.Join(lines, "\n") + "\n$$")
}

// writeText writes a block.
func (m *MarkdownWriter) writeText(kind string, text []byte) {
	if m.err != nil || len(text) == 0 {
		return
	}
	if m.wroteAny {
		between := "\n\n"
		if kind == layout.ListItem && m.last == layout.ListItem {
			between = "\n"
		}
		_, m.err = io.WriteString(m.w, between)
	}
	m.wroteAny, m.last = true, kind
	if m.err == nil {
		_, m.err = m.w.Write(text)
	}
}

// endParagraph ends the paragraph that is open, and writes what waits for it.
func (m *MarkdownWriter) endParagraph() {
	if len(m.open) > 0 {
		kind := layout.Paragraph
		text := m.open
		if m.prefix != "" {
			kind = layout.ListItem
			text = append([]byte(m.prefix), text...)
		} else {
			text = escapeLineStart(text)
		}
		m.writeText(kind, text)
	}
	if len(m.interruptions) > 0 {
		m.writeText(layout.Figure, m.interruptions)
	}
	m.open, m.interruptions, m.prefix = nil, nil, ""
}

// writeInterruption writes what may interrupt a paragraph: behind it, where one is open.
func (m *MarkdownWriter) writeInterruption(kind string, text []byte) {
	if len(text) == 0 {
		return
	}
	if len(m.open) == 0 {
		m.writeText(kind, text)
		return
	}
	if len(m.interruptions) > 0 {
		m.interruptions = append(m.interruptions, "\n\n"...)
	}
	m.interruptions = append(m.interruptions, text...)
}

// hardBreak ends a line that its writer ended: two blanks at the end of a line are a break that stays one.
const hardBreak = "  \n"

func (m *MarkdownWriter) writeParagraph(b *inkstreamv1.Block, split func() ([][]*inkstreamv1.Line, bool), in inlineWriter) {
	if len(b.GetLines()) == 0 {
		return
	}
	parts, areLines := split()
	for i, lines := range parts {
		switch {
		case i > 0 && areLines:
			if text := escapeLineStart(in.appendLines(nil, lines)); len(text) > 0 {
				m.open = append(append(m.open, hardBreak...), text...)
			}
			continue
		case i > 0:
			m.endParagraph()
		}
		m.open = in.appendLines(m.open, lines)
	}
	if !b.GetContinued() || len(m.open) > maxOpenBytes {
		m.endParagraph()
	}
}

func (m *MarkdownWriter) writeListItem(b *inkstreamv1.Block, split func() ([][]*inkstreamv1.Line, bool), in inlineWriter) {
	m.endParagraph()
	marker := b.GetMarker()
	in.skip = marker
	depth := max(1, int(b.GetLevel()))
	if m.last == layout.ListItem {
		depth = min(depth, m.depth+1)
	} else {
		depth = 1
	}
	m.depth = depth
	m.prefix = strings.Repeat("  ", depth-1)
	if n := len(marker); n > 1 && marker[n-1] == '.' && strings.Trim(marker[:n-1], "0123456789") == "" {
		m.prefix = strings.Repeat("   ", depth-1) + marker + " "
	} else {
		m.prefix += "- "
		if isEnumerator(marker) { // markdown counts in figures only: what counts otherwise is kept as text
			in.skip = ""
		}
	}
	parts, areLines := split() // of an address, or of verse
	if !areLines {
		parts = [][]*inkstreamv1.Line{b.GetLines()}
	}
	for i, lines := range parts {
		text := in.appendLines(nil, dropLeaderLines(lines))
		if in.skip = ""; i > 0 && len(text) > 0 {
			m.open = append(append(m.open, hardBreak...), strings.Repeat(" ", len(m.prefix))...)
			text = escapeLineStart(text)
		}
		m.open = append(m.open, text...)
	}
	if len(m.open) == 0 {
		m.prefix = ""
		return
	}
	if !b.GetContinued() {
		m.endParagraph()
	}
}

// dropLeaderLines returns lines without the rows of dots that lead from an entry to its page.
func dropLeaderLines(lines []*inkstreamv1.Line) []*inkstreamv1.Line {
	out := lines
	for i, line := range lines {
		n := 0
		for _, w := range line.GetWords() {
			if isOnlyDots(w.GetText()) {
				n += len(w.GetText())
			}
		}
		if n < 4 {
			continue
		}
		if &out[0] == &lines[0] {
			out = slices.Clone(lines)
		}
		words := slices.Clone(line.GetWords())
		out[i] = &inkstreamv1.Line{Words: slices.DeleteFunc(words,
			func(w *inkstreamv1.Word) bool { return isOnlyDots(w.GetText()) }), Bbox: line.GetBbox(), Angle: line.GetAngle()}
	}
	return out
}

func isOnlyDots(text string) bool { return strings.Trim(text, ".·…") == "" }

// isEnumerator reports whether a marker counts.
func isEnumerator(marker string) bool {
	return strings.ContainsAny(marker, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

func (m *MarkdownWriter) writeHeading(level int, text []byte, title bool) {
	m.endParagraph()
	if len(text) == 0 {
		return
	}
	if title && m.last == layout.Title { // a title in several parts
		if m.err == nil {
			_, m.err = m.w.Write(append([]byte{' '}, text...))
		}
		return
	}
	kind := layout.Heading
	if title {
		kind = layout.Title
	}
	m.writeText(kind, append([]byte(strings.Repeat("#", level)+" "), text...))
}

// formatCodeBlock returns a block of code with its indents.
func formatCodeBlock(b *inkstreamv1.Block) []byte {
	fence, backticks, tildes := "```", false, 3
	left, width := float32(1e9), float32(0)
	for _, line := range b.GetLines() {
		for _, w := range line.GetWords() {
			if box := w.GetBbox(); len(box) == 4 {
				left = min(left, box[0])
				if n := len([]rune(w.GetText())); n >= 3 && width == 0 {
					width = (box[2] - box[0]) / float32(n)
				}
			}
			if strings.Contains(w.GetText(), fence) {
				backticks = true
			}
			tildes = max(tildes, longestSignRun(w.GetText(), '~'))
		}
	}
	if backticks { // the text must not close its fence
		fence = strings.Repeat("~", tildes+1)
	}
	out := []byte(fence + "\n")
	for _, line := range b.GetLines() {
		end := left // of the word before; ahead of the first is the indent
		for i, w := range line.GetWords() {
			blanks := min(i, 1)
			if box := w.GetBbox(); len(box) == 4 && width > 0.5 {
				if n := int((box[0]-end)/width + 0.5); n > 1 || i == 0 {
					blanks = min(max(n, blanks), 200)
				}
				end = box[2]
			}
			for range blanks {
				out = append(out, ' ')
			}
			out = append(out, w.GetText()...)
		}
		out = append(out, '\n')
	}
	return append(out, fence...)
}

// longestSignRun returns how often a sign stands in a row at most.
func longestSignRun(text string, sign byte) int {
	longest, n := 0, 0
	for i := range len(text) {
		if text[i] != sign {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// figureLink returns the link to a figure's image; nothing where none was kept.
func figureLink(p *inkstreamv1.Page, b *inkstreamv1.Block) []byte {
	n := int(b.GetImage())
	if n < 1 || n > len(p.GetImages()) || p.GetImages()[n-1].GetName() == "" {
		return nil
	}
	return fmt.Appendf(nil, "![Figure on page %d](%s)", p.GetNumber(), p.GetImages()[n-1].GetName())
}
