package document

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// DefaultChunkWords is the size of a passage in words where no other is asked for.
const DefaultChunkWords = 300

// ChunkWriter writes a document as passages for retrieval, one JSON object a line. A passage ends where a
// heading begins or where it is full, between blocks if it can, else between sentences. What interrupts a paragraph
// stands behind it. The dots that lead to the page of an entry are left out.
type ChunkWriter struct {
	w    io.Writer
	size int
	err  error

	title     string
	titleOpen bool     // the title was read last, and may go on
	path      []string // the headings that the text stands under, by level
	cur       Chunk
	text      []byte
	id        int

	open          []placedBlock // the parts of a paragraph or item that goes on
	interruptions []placedBlock // what interrupts it
	pendingWords  int           // the words of both
}

// placedBlock is a block on its page.
type placedBlock struct {
	page  int
	block *inkstreamv1.Block
	words int
}

// maxPendingWords bounds the words of a paragraph that goes on and of what interrupts it: then it ends.
const maxPendingWords = 1 << 15

// Chunk is a passage.
type Chunk struct {
	// ID counts from 1.
	ID   int    `json:"id"`
	Text string `json:"text"`
	// Headings are those that the passage stands under, the outermost first. Long ones are cut, and end with an
	// ellipsis.
	Headings []string `json:"headings"`
	Pages    []int    `json:"pages"`
	Boxes    []Box    `json:"boxes"`
	// Words counts every letter of Chinese, Japanese, Thai, Lao, Khmer and Burmese as a word, and else what stands
	// between blanks.
	Words    int    `json:"words"`
	Language string `json:"language,omitempty"`
	// Types are the types of its blocks.
	Types []string `json:"types"`
}

// Box is a place on a page, in points from its top left.
type Box struct {
	Page int        `json:"page"`
	Bbox [4]float32 `json:"bbox"`
}

// NewChunkWriter returns a writer to w, which gets them one by one, of passages of about that many words, as [Chunk]
// counts them; 0 means [DefaultChunkWords].
func NewChunkWriter(w io.Writer, words int) *ChunkWriter {
	if words <= 0 {
		words = DefaultChunkWords
	}
	return &ChunkWriter{w: w, size: words}
}

// WritePage adds a page to which the plan has been applied.
func (c *ChunkWriter) WritePage(p *inkstreamv1.Page) error {
	for _, b := range p.GetBlocks() {
		switch b.GetType() {
		case layout.Header, layout.Footer, layout.PageNumber, layout.Figure:
			continue
		case layout.Title, layout.Heading:
			c.endParagraph()
			c.addHeading(b)
			continue
		case layout.Code:
		default:
			if layout.CountsLines(b) {
				continue
			}
			b = withoutLeaders(b)
		}
		if words := countBlockWords(b); words > 0 && len(b.GetBbox()) == 4 {
			c.addBlock(placedBlock{int(p.GetNumber()), b, words})
		}
	}
	return c.err
}

// Close writes the last passage.
func (c *ChunkWriter) Close() error {
	c.endParagraph()
	c.flushPassage()
	return c.err
}

func (c *ChunkWriter) addHeading(b *inkstreamv1.Block) {
	c.flushPassage()
	in := inlineWriter{plain: true}
	if b.GetType() == layout.Title {
		var before []byte
		if c.titleOpen { // a title in several parts
			if len(c.title) > maxHeadingBytes { // what follows is cut anyway
				return
			}
			before = []byte(c.title)
		}
		c.title, c.titleOpen, c.path = string(in.appendLines(before, b.GetLines())), true, nil
		return
	}
	c.titleOpen = false
	level := min(max(int(b.GetLevel()), 1), maxHeadingLevels)
	for len(c.path) < level-1 {
		c.path = append(c.path, "")
	}
	c.path = append(c.path[:level-1], shortenText(string(in.appendLines(nil, b.GetLines())), maxHeadingBytes))
}

// addBlock adds a block. A paragraph waits for its other parts, and what interrupts it for its end.
func (c *ChunkWriter) addBlock(b placedBlock) {
	if c.pendingWords+b.words > maxPendingWords {
		c.endParagraph()
	}
	switch b.block.GetType() {
	case layout.Table, layout.Caption, layout.Footnote:
		if len(c.open) == 0 {
			c.addWhole(b)
			return
		}
		c.interruptions = append(c.interruptions, b)
		c.pendingWords += b.words
		return
	case layout.Paragraph:
	default:
		c.endParagraph()
	}
	c.open = append(c.open, b)
	c.pendingWords += b.words
	if !b.block.GetContinued() {
		c.endParagraph()
	}
}

// endParagraph ends the paragraph that is open, and adds what waits for that.
func (c *ChunkWriter) endParagraph() {
	open, floats := c.open, c.interruptions
	c.open, c.interruptions, c.pendingWords = nil, nil, 0
	if len(open) > 0 {
		c.addWhole(open...)
	}
	for _, b := range floats {
		c.addWhole(b)
	}
}

func countBlockWords(b *inkstreamv1.Block) int {
	n := 0
	for _, line := range b.GetLines() {
		for _, w := range line.GetWords() {
			n += countWords(w.GetText())
		}
	}
	return n
}

// Headings come again in every passage under them, so that what they take is bounded: maxHeadingBytes bounds the
// bytes of each, maxHeadingsBytes those of all beyond as many as the passage's text has. Of what people write, hardly
// any is cut.
const (
	maxHeadingBytes  = 256
	maxHeadingsBytes = 512
)

// headingPath returns the path without the levels that have none.
func (c *ChunkWriter) headingPath() []string {
	out := make([]string, 0, len(c.path)+1)
	if c.title != "" {
		out = append(out, c.title)
	}
	for _, h := range c.path {
		if h != "" {
			out = append(out, h)
		}
	}
	for longest := maxHeadingBytes; ; longest /= 2 {
		all := 0
		for i, h := range out {
			out[i] = shortenText(h, longest)
			all += len(out[i])
		}
		if all <= maxHeadingsBytes+len(c.text) {
			return out
		}
	}
}

// shortenText returns a text of at most that many bytes: the whole of it, or its beginning and an ellipsis, cut
// between words if they are not too long.
func shortenText(text string, longest int) string {
	const ellipsis = "…"
	if len(text) <= longest {
		return text
	}
	end := longest - len(ellipsis)
	for end > 0 {
		r, _ := utf8.DecodeRuneInString(text[end:])
		if utf8.RuneStart(text[end]) && !unicode.IsMark(r) { // a mark belongs to the letter before
			break
		}
		end--
	}
	if blank := strings.LastIndexByte(text[:end+1], ' '); blank > end/2 {
		end = blank
	}
	return strings.TrimRight(text[:end], " ") + ellipsis
}

// addWhole adds a block or a paragraph of several: to one passage, if it fits.
func (c *ChunkWriter) addWhole(parts ...placedBlock) {
	words := 0
	for _, part := range parts {
		words += part.words
	}
	if c.cur.Words+words > maxPassageWords(c.size) {
		c.flushPassage()
	}
	if words > maxPassageWords(c.size) && parts[0].block.GetTable() == nil {
		c.addSplit(parts)
		return
	}
	for i, part := range parts {
		c.addToPassage(part, i > 0)
	}
}

// addSplit adds what is longer than a passage.
func (c *ChunkWriter) addSplit(parts []placedBlock) {
	var rest []wordPiece
	for i, part := range parts {
		rest = appendPieces(rest, i, part.block)
	}
	for len(rest) > 0 {
		c.flushPassage()
		n := findBreak(rest, c.size)
		for first := true; n > 0; first = false {
			part := parts[rest[0].part]
			some := 1
			for some < n && rest[some].part == rest[0].part {
				some++
			}
			part.block, part.words = blockFromPieces(part.block, rest[:some]), some
			c.addToPassage(part, !first)
			rest, n = rest[some:], n-some
		}
	}
}

// addToPassage adds a block to the passage, to the text of which it is joined or added as a paragraph.
func (c *ChunkWriter) addToPassage(part placedBlock, joined bool) {
	b := part.block
	var text []byte
	in := inlineWriter{plain: true}
	switch {
	case b.GetTable() != nil:
		text = cellDots.ReplaceAll(FormatTableMarkdown(b.GetTable()), []byte("$1 "))
	case b.GetType() == layout.Code:
		text = formatCodeBlock(b)
	default:
		text = in.appendLines(nil, b.GetLines())
	}
	if joined {
		c.text = layout.AppendLineBreak(c.text, string(text))
	} else if len(c.text) > 0 {
		c.text = append(c.text, "\n\n"...)
	}
	c.text = append(c.text, text...)
	c.titleOpen = false
	c.cur.Words += part.words
	if i, found := slices.BinarySearch(c.cur.Pages, part.page); !found { // what interrupts a paragraph stands before its end
		c.cur.Pages = slices.Insert(c.cur.Pages, i, part.page)
	}
	if n := len(c.cur.Types); n == 0 || c.cur.Types[n-1] != b.GetType() {
		c.cur.Types = append(c.cur.Types, b.GetType())
	}
	if c.cur.Language == "" {
		c.cur.Language = b.GetLanguage()
	}
	if len(b.GetBbox()) == 4 {
		c.cur.Boxes = append(c.cur.Boxes, Box{part.page, [4]float32(b.GetBbox())})
	}
}

// flushPassage writes the passage, if it has text.
func (c *ChunkWriter) flushPassage() {
	if c.cur.Words == 0 || c.err != nil {
		return
	}
	c.id++
	c.cur.ID, c.cur.Text, c.cur.Headings = c.id, string(c.text), c.headingPath()
	data, err := json.Marshal(&c.cur)
	if err != nil {
		c.err = fmt.Errorf("encode passage: %w", err)
		return
	}
	if _, c.err = c.w.Write(append(data, '\n')); c.err != nil {
		return
	}
	c.cur, c.text = Chunk{}, c.text[:0]
}
