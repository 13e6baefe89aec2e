package score

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Markdown is what is measured of a markdown document.
type Markdown struct {
	// Text is what a reader sees of all of it, headings and tables too, without marks; blocks are lines.
	Text     string
	Headings []Heading
	Tables   []Grid
	Blocks   []Block
}

// Block is a heading, a paragraph, an entry of a list, or a piece of code.
type Block struct {
	Code bool
	Text string
}

// Heading is a heading with its level, from 1.
type Heading struct {
	Level int
	Text  string
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	htmlTable   = regexp.MustCompile(`(?is)<table\b.*?</table>`)
)

// ParseMarkdown reads CommonMark with pipe tables. A table in HTML is a table too, wherever it stands.
func ParseMarkdown(src string) Markdown {
	r := &markdownReader{parser: goldmark.New(goldmark.WithExtensions(extension.Table)).Parser()}
	src = htmlComment.ReplaceAllString(strings.ReplaceAll(src, "\r\n", "\n"), "")
	for {
		at := htmlTable.FindStringIndex(src)
		if at == nil {
			break
		}
		r.readPart(src[:at[0]])
		r.readHTML(src[at[0]:at[1]])
		src = src[at[1]:]
	}
	r.readPart(src)
	r.doc.Text = strings.TrimSpace(r.text.String())
	return r.doc
}

// markdownReader collects what is measured of a document's parts.
type markdownReader struct {
	parser parser.Parser
	source []byte // of the part that is being read
	doc    Markdown
	text   strings.Builder
}

// readPart reads a part of the document that has no table in HTML.
func (r *markdownReader) readPart(src string) {
	r.source = []byte(src)
	r.readBlocks(r.parser.Parse(text.NewReader(r.source)))
}

// readBlocks reads what is below a node that holds blocks.
func (r *markdownReader) readBlocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		r.readBlock(n)
	}
}

func (r *markdownReader) readBlock(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		h := Heading{Level: n.Level, Text: r.inlineText(n)}
		r.doc.Headings = append(r.doc.Headings, h)
		r.addBlock(Block{Text: h.Text})
	case *ast.Paragraph, *ast.TextBlock:
		r.addBlock(Block{Text: r.inlineText(n)})
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		r.addBlock(Block{Code: true, Text: strings.TrimRight(r.rawLines(n), "\n")})
	case *ast.HTMLBlock:
		r.readHTML(r.rawLines(n))
	case *extast.Table:
		r.addTable(r.pipeTable(n))
	case *ast.List:
		number := n.Start
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			if n.IsOrdered() { // its number is part of what a reader sees
				r.text.WriteString(strconv.Itoa(number) + string(n.Marker) + " ")
				number++
			}
			r.readBlocks(item)
		}
	default:
		r.readBlocks(n)
	}
}

func (r *markdownReader) addBlock(b Block) {
	r.doc.Blocks = append(r.doc.Blocks, b)
	r.writeLine(b.Text)
}

func (r *markdownReader) writeLine(line string) {
	if line != "" {
		r.text.WriteString(line)
		r.text.WriteByte('\n')
	}
}

func (r *markdownReader) addTable(g Grid) {
	r.doc.Tables = append(r.doc.Tables, g)
	for _, row := range g {
		r.writeLine(strings.TrimSpace(strings.Join(row, " ")))
	}
}

// rawLines returns the source of a block.
func (r *markdownReader) rawLines(n ast.Node) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		line := lines.At(i)
		b.Write(line.Value(r.source))
	}
	return b.String()
}

// inlineText returns the text of a block without its marks. An image has none.
func (r *markdownReader) inlineText(block ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := n.Value(r.source)
			if n.Parent().Kind() != ast.KindCodeSpan {
				value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
			}
			b.Write(value)
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(r.source))
		case *ast.RawHTML:
			b.WriteByte(' ')
		case *ast.Image:
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// pipeTable returns the cells of a table written with pipes.
func (r *markdownReader) pipeTable(table *extast.Table) Grid {
	var g Grid
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.inlineText(cell))
		}
		g = append(g, cells)
	}
	return g
}

// readHTML reads the text and the tables of a piece of HTML.
func (r *markdownReader) readHTML(src string) {
	root, err := html.Parse(strings.NewReader(src))
	if err != nil {
		return // a reader of strings does not fail
	}
	r.readHTMLNode(root)
}

func (r *markdownReader) readHTMLNode(parent *html.Node) {
	for n := range parent.ChildNodes() {
		switch {
		case n.Type == html.TextNode:
			r.writeLine(strings.TrimSpace(n.Data))
		case n.DataAtom == atom.Table:
			r.addTable(htmlGrid(n))
		default:
			r.readHTMLNode(n)
		}
	}
}

// maxCellSpan bounds the spans that are believed.
const maxCellSpan = 1000

// htmlGrid returns the cells of a table in HTML. A cell that spans several leaves the others empty.
func htmlGrid(table *html.Node) Grid {
	var g Grid
	covered := map[[2]int]bool{} // by cells that span rows
	for row := range table.Descendants() {
		if row.DataAtom != atom.Tr {
			continue
		}
		r, out := len(g), []string(nil)
		for cell := range row.ChildNodes() {
			if cell.DataAtom != atom.Td && cell.DataAtom != atom.Th {
				continue
			}
			for covered[[2]int{r, len(out)}] {
				out = append(out, "")
			}
			rows, columns := cellSpan(cell, "rowspan"), cellSpan(cell, "colspan")
			for i := range rows {
				for j := range columns {
					covered[[2]int{r + i, len(out) + j}] = true
				}
			}
			out = append(out, cellText(cell))
			for range columns - 1 {
				out = append(out, "")
			}
		}
		g = append(g, out)
	}
	return g
}

// cellText returns the text in a cell, with a blank where an element stands.
func cellText(cell *html.Node) string {
	var b strings.Builder
	for n := range cell.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		} else {
			b.WriteByte(' ')
		}
	}
	return strings.TrimSpace(b.String())
}

// cellSpan returns how many rows or columns a cell spans.
func cellSpan(cell *html.Node, attribute string) int {
	for _, a := range cell.Attr {
		if n, err := strconv.Atoi(a.Val); a.Key == attribute && err == nil && n >= 1 && n <= maxCellSpan {
			return n
		}
	}
	return 1
}
