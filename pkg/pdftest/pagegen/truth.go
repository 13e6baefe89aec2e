package pagegen

import (
	"strings"
)

// Kind says what a block is. The names are those of document.json, and two more.
type Kind string

// The kinds of blocks.
const (
	KindTitle      Kind = "title"
	KindHeading    Kind = "heading"
	KindParagraph  Kind = "paragraph"
	KindListItem   Kind = "list_item"
	KindCode       Kind = "code"
	KindTable      Kind = "table"
	KindFigure     Kind = "figure"
	KindCaption    Kind = "caption"
	KindHeader     Kind = "header"
	KindFooter     Kind = "footer"
	KindPageNumber Kind = "page_number"
	KindFootnote   Kind = "footnote"
	KindFormula    Kind = "formula"
	// KindText is text whose kind may be seen in more than one way: a line of a form, an address, a price.
	KindText Kind = "text"
	// KindLineNumber is a number in the margin that counts lines.
	KindLineNumber Kind = "line_number"
)

// Rect is a box in points from the top left of the page: left, top, right, bottom.
type Rect [4]float64

// Document is what is known of a generated document.
type Document struct {
	// Name is the file's name without its ending.
	Name       string     `json:"name"`
	Family     string     `json:"family"`
	Typesetter string     `json:"typesetter"`
	Seed       uint64     `json:"seed"`
	Language   string     `json:"language"` // as Tesseract names it
	Pages      []PageSize `json:"pages"`
	// Blocks stand in reading order.
	Blocks []Block `json:"blocks"`
	// Scan says how the scan was degraded; nil if none was made.
	Scan *ScanRecipe `json:"scan,omitempty"`
}

// PageSize is the size of a page in points.
type PageSize struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Block is a piece of a document that a reader sees as one.
type Block struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
	// Flow names the text that the block belongs to. The order of blocks is certain within a flow only: two articles
	// side by side are two flows, and a sidebar may be read before or after the main text.
	Flow string `json:"flow,omitempty"`
	// Level is that of a heading, from 1, or of a list item, from 1.
	Level int `json:"level,omitempty"`
	// Marked lists words that end in the mark of a footnote, which readers write in more than one way.
	Marked []string `json:"marked,omitempty"`
	Parts  []Part   `json:"parts"`
	Table  *Table   `json:"table,omitempty"`
}

// Part is what stands of a block in one column of one page.
type Part struct {
	Page  int    `json:"page"` // from 1
	Box   Rect   `json:"box"`
	Lines []Rect `json:"lines,omitempty"`
}

// Ruling says how lines part a table's cells.
type Ruling string

// The rulings of tables.
const (
	Ruled     Ruling = "ruled" // between all rows and columns
	HalfRuled Ruling = "half"  // between some rows
	Plain     Ruling = "plain" // nowhere
)

// Table is a table with its cells in rows.
type Table struct {
	Ruling     Ruling `json:"ruling"`
	HeaderRows int    `json:"header_rows,omitempty"`
	// Optional says that what stands here may be read as a table or as text, such as the grid of a form.
	Optional bool   `json:"optional,omitempty"`
	Rows     int    `json:"rows"`
	Columns  int    `json:"columns"`
	Cells    []Cell `json:"cells"`
}

// Cell is a cell of a table with its place, from 0, and how many rows and columns it spans.
type Cell struct {
	Row     int    `json:"row"`
	Column  int    `json:"column"`
	RowSpan int    `json:"row_span"`
	ColSpan int    `json:"col_span"`
	Text    string `json:"text"`
	Box     Rect   `json:"box"`
}

// Grid returns the cells as rows of texts. A cell that spans several stands in the first; the others are empty.
func (t *Table) Grid() [][]string {
	grid := make([][]string, t.Rows)
	for i := range grid {
		grid[i] = make([]string, t.Columns)
	}
	for _, c := range t.Cells {
		grid[c.Row][c.Column] = c.Text
	}
	return grid
}

// Page returns the page on which the block begins, from 1; 0 if that is not known.
func (b *Block) Page() int {
	if len(b.Parts) == 0 {
		return 0
	}
	return b.Parts[0].Page
}

// IsBody reports whether the block is part of a document's text, unlike running heads and numbers in margins.
func (b *Block) IsBody() bool {
	switch b.Kind {
	case KindHeader, KindFooter, KindPageNumber, KindLineNumber, KindFigure:
		return false
	}
	return true
}

// Text returns the text of all blocks, a block a line.
func (d *Document) Text() string {
	var out strings.Builder
	for _, b := range d.Blocks {
		if b.Text != "" {
			out.WriteString(b.Text)
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// PlacedBlocks returns the blocks that stand on a page at least in part, from 1.
func (d *Document) PlacedBlocks(page int) []Block {
	var out []Block
	for _, b := range d.Blocks {
		for _, p := range b.Parts {
			if p.Page == page {
				out = append(out, b)
				break
			}
		}
	}
	return out
}
