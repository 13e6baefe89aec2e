package document

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// DefaultChunkWords is the size of a passage in words where no other is asked for.
const DefaultChunkWords = 300

// Chunks writes a document as passages for retrieval, one JSON object a line. A passage ends where a heading begins or where it is full, between
// blocks if it can.
type Chunks struct {
	w    io.Writer
	size int
	err  error

	path  []string // the headings that the text stands under, by level
	cur   Chunk
	text  []byte
	id    int
	goes  bool // the last block goes on in the next
	title string
}

// Chunk is a passage.
type Chunk struct {
	// ID counts from 1.
	ID   int    `json:"id"`
	Text string `json:"text"`
	// Headings are those that the passage stands under, the outermost first.
	Headings []string `json:"headings"`
	Pages    []int    `json:"pages"`
	Boxes    []Box    `json:"boxes"`
	Words    int      `json:"words"`
	Language string   `json:"language,omitempty"`
	// Types are the types of its blocks.
	Types []string `json:"types"`
}

// Box is a place on a page, in points from its top left.
type Box struct {
	Page int        `json:"page"`
	Bbox [4]float32 `json:"bbox"`
}

// NewChunks returns a writer to w, which gets them one by one, of passages of about that many words; 0 means [DefaultChunkWords].
func NewChunks(w io.Writer, words int) *Chunks {
	if words <= 0 {
		words = DefaultChunkWords
	}
	return &Chunks{w: w, size: words}
}

// Page adds a page to which the plan has been applied.
func (c *Chunks) Page(p *inkstreamv1.Page) error {
	for _, b := range p.GetBlocks() {
		switch b.GetType() {
		case layout.Header, layout.Footer, layout.PageNumber, layout.Figure:
			continue
		case layout.Title, layout.Heading:
			c.heading(b)
			continue
		}
		c.block(p, b)
	}
	return c.err
}

// Close writes the last passage.
func (c *Chunks) Close() error {
	c.flush()
	return c.err
}

func (c *Chunks) heading(b *inkstreamv1.Block) {
	c.flush()
	c.goes = false
	in := inline{plain: true}
	text := string(in.append(nil, b.GetLines()))
	if b.GetType() == layout.Title {
		c.title = strings.TrimSpace(c.title + " " + text)
		c.path = nil
		return
	}
	level := min(max(int(b.GetLevel()), 1), mostLevels)
	for len(c.path) < level-1 {
		c.path = append(c.path, "")
	}
	c.path = append(c.path[:level-1], text)
}

// headings returns the path without the levels that have none.
func (c *Chunks) headings() []string {
	out := make([]string, 0, len(c.path)+1)
	if c.title != "" {
		out = append(out, c.title)
	}
	for _, h := range c.path {
		if h != "" {
			out = append(out, h)
		}
	}
	return out
}

func (c *Chunks) block(p *inkstreamv1.Page, b *inkstreamv1.Block) {
	words := 0
	for _, line := range b.GetLines() {
		words += len(line.GetWords())
	}
	if words == 0 || len(b.GetBbox()) != 4 {
		return
	}
	if c.cur.Words > 0 && c.cur.Words+words > c.size+c.size/5 && !c.goes {
		c.flush()
	}
	if t := b.GetTable(); t != nil {
		c.add(p, b, TableMarkdown(t), words, "\n\n", b.GetBbox())
		return
	}
	between := "\n\n"
	if c.goes {
		between = ""
	}
	c.goes = b.GetContinued()
	in := inline{plain: true}
	if c.cur.Words+words <= c.size+c.size/5 {
		if b.GetType() == layout.Code {
			c.add(p, b, codeBlock(b), words, between, b.GetBbox())
			return
		}
		c.add(p, b, in.append(nil, b.GetLines()), words, between, b.GetBbox())
		return
	}
	// A block that is longer than a passage is parted between its lines, and a line that is, between its words.
	for _, line := range b.GetLines() {
		rest := line.GetWords()
		for len(rest) > 0 {
			n := min(len(rest), max(1, c.size-c.cur.Words))
			part := &inkstreamv1.Line{Words: rest[:n], Bbox: line.GetBbox()}
			c.add(p, b, in.append(nil, []*inkstreamv1.Line{part}), n, between, line.GetBbox())
			between, rest = "", rest[n:]
			if c.cur.Words >= c.size {
				c.flush()
			}
		}
	}
}

// add puts text to the passage.
func (c *Chunks) add(p *inkstreamv1.Page, b *inkstreamv1.Block, text []byte, words int, between string, box []float32) {
	if len(c.text) > 0 {
		if between == "" {
			c.text = layout.AppendJoint(c.text, string(text))
		} else {
			c.text = append(c.text, between...)
		}
	}
	c.text = append(c.text, text...)
	c.cur.Words += words
	page := int(p.GetNumber())
	if n := len(c.cur.Pages); n == 0 || c.cur.Pages[n-1] != page {
		c.cur.Pages = append(c.cur.Pages, page)
	}
	if n := len(c.cur.Types); n == 0 || c.cur.Types[n-1] != b.GetType() {
		c.cur.Types = append(c.cur.Types, b.GetType())
	}
	if c.cur.Language == "" {
		c.cur.Language = b.GetLanguage()
	}
	if len(box) != 4 {
		return
	}
	at := [4]float32(box)
	if n := len(c.cur.Boxes); n > 0 && c.cur.Boxes[n-1].Page == page && between == "" { // lines of one block
		o := &c.cur.Boxes[n-1].Bbox
		*o = [4]float32{min(o[0], at[0]), min(o[1], at[1]), max(o[2], at[2]), max(o[3], at[3])}
		return
	}
	c.cur.Boxes = append(c.cur.Boxes, Box{page, at})
}

// flush writes the passage, if it has text.
func (c *Chunks) flush() {
	if c.cur.Words == 0 || c.err != nil {
		return
	}
	c.id++
	c.cur.ID, c.cur.Text, c.cur.Headings = c.id, string(c.text), c.headings()
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
