// Package answer reads what vision models write about a page, in the formats of their families, into blocks. Models and
// servers may answer anything: nothing is evaluated, everything is bounded, what is broken is left out, and of an
// answer that was cut the whole parts remain.
package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format is how a family of models writes.
type Format string

// The formats.
const (
	Grounded Format = "grounded" // DeepSeek-OCR, Unlimited-OCR: tags with boxes before Markdown
	DotsJSON Format = "dots"     // dots.ocr: a JSON list of elements
	HTML     Format = "html"     // Chandra, Qwen: HTML with data-bbox
	DocTags  Format = "doctags"  // granite-docling
	Markdown Format = "markdown" // olmOCR, Qwen and whatever writes plain Markdown
)

// Kind is the type of a block, as the page has it.
type Kind string

// The kinds.
const (
	Title      Kind = "title"
	Heading    Kind = "heading"
	Paragraph  Kind = "paragraph"
	ListItem   Kind = "list_item"
	Code       Kind = "code"
	TableBlock Kind = "table"
	Figure     Kind = "figure"
	Caption    Kind = "caption"
	Header     Kind = "header"
	Footer     Kind = "footer"
	PageNumber Kind = "page_number"
	Footnote   Kind = "footnote"
	Formula    Kind = "formula"
)

// Box is x0, y0, x1, y1 as shares of the picture's width and height; the zero Box is none.
type Box [4]float64

// Exists reports whether the box has a place and a size.
func (b Box) Exists() bool { return b[2] > b[0] && b[3] > b[1] }

// Block is a part of the page.
type Block struct {
	Kind Kind
	// Label is the model's own name for the kind, such as sub_title; empty where it has none.
	Label string
	// Level is that of a heading, from 1.
	Level int
	Box   Box
	// Text is plain: without marks of Markdown, HTML or LaTeX. Of a figure it is the table that the model made of it, of
	// which the page may have some words.
	Text string
	// Latex is the source of a formula.
	Latex string
	Table *Table
}

// Answer is what a model says of a page.
type Answer struct {
	Blocks []Block
	// BadBoxes counts the boxes that were none, or lay outside the picture.
	BadBoxes int
	// Broken says that the format ended before its end, or was none.
	Broken bool
	// Turn is by how many degrees clockwise the model would have the picture turned; 0 if it is upright.
	Turn int
}

// Options says how the model counts.
type Options struct {
	// ScaleX and ScaleY are the coordinates of the picture's right and lower edge.
	ScaleX, ScaleY float64
}

// Bounds on an answer. Models write at most some 32,000 tokens a page.
const (
	maxBytes  = 1 << 20
	maxBlocks = 2_000
)

// Parse reads an answer.
func Parse(format Format, text string, opts Options) Answer {
	text = cleanText(text)
	p := &parser{opts: opts}
	switch format {
	case Grounded:
		p.parseGrounded(text)
	case DotsJSON:
		p.parseDots(text)
	case HTML:
		p.parseHTML(text)
	case DocTags:
		p.parseDocTags(text)
	default:
		p.parseMarkdown(p.cutFrontMatter(text))
	}
	return p.answer
}

// ParsePart reads what a model wrote about one block of a page, whose kind is known, and the level if it is a heading.
// The blocks have no boxes: the place is the part's.
func ParsePart(kind Kind, level int, text string) Answer {
	text = cleanText(text)
	p := &parser{}
	if table := tableFromOTSL(text); kind == TableBlock && table != nil {
		p.add(Block{Kind: TableBlock, Label: string(kind), Table: table, Text: table.PlainText()})
		return p.answer
	}
	p.addMarkdown(string(kind), Box{}, text)
	for i := range p.answer.Blocks {
		if b := &p.answer.Blocks[i]; b.Kind == Heading && level > 0 {
			b.Level = level
		}
	}
	return p.answer
}

func cleanText(text string) string {
	if len(text) > maxBytes {
		text = text[:maxBytes]
	}
	return strings.Map(dropControls, strings.ToValidUTF8(text, "\uFFFD"))
}

func dropControls(r rune) rune {
	if r == '\n' || r == '\t' {
		return r
	}
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError {
		return -1
	}
	return r
}

type parser struct {
	opts   Options
	answer Answer
}

// add keeps a block that says anything.
func (p *parser) add(b Block) {
	b.Text = strings.TrimSpace(b.Text)
	if len(p.answer.Blocks) >= maxBlocks || b.Text == "" && b.Latex == "" && b.Table == nil && b.Kind != Figure {
		return
	}
	if b.Kind == Heading && b.Level == 0 {
		b.Level = 2
	}
	p.answer.Blocks = append(p.answer.Blocks, b)
}

// slack is how far beyond the picture's edge a coordinate may lie, as models do.
const slack = 1.03

// boxOf returns a box from the model's coordinates, ordered and within the picture. It is none, and counted as bad, where
// they make no box.
func (p *parser) boxOf(numbers []float64) Box {
	if len(numbers) != 4 || p.opts.ScaleX <= 0 || p.opts.ScaleY <= 0 {
		p.answer.BadBoxes++
		return Box{}
	}
	b := Box{numbers[0] / p.opts.ScaleX, numbers[1] / p.opts.ScaleY, numbers[2] / p.opts.ScaleX, numbers[3] / p.opts.ScaleY}
	for _, v := range b {
		if !(v >= 1-slack && v <= slack) { // also NaN
			p.answer.BadBoxes++
			return Box{}
		}
	}
	for i := range 2 {
		low, high := min(b[i], b[i+2]), max(b[i], b[i+2])
		b[i], b[i+2] = max(0, low), min(1, high)
	}
	if !b.Exists() {
		p.answer.BadBoxes++
		return Box{}
	}
	return b
}

// kinds says which kind the models' labels stand for, in lower case with hyphens.
var kinds = map[string]Kind{
	"title": Title, "doc-title": Title, "document-title": Title,
	"sub-title": Heading, "section-header": Heading, "paragraph-title": Heading, "heading": Heading, "subtitle": Heading,
	"h1": Heading, "h2": Heading, "h3": Heading, "h4": Heading, "h5": Heading, "h6": Heading,
	"list": ListItem, "list-item": ListItem, "list-group": ListItem, "ul": ListItem, "ol": ListItem, "li": ListItem,
	"table": TableBlock, "otsl": TableBlock, "form": TableBlock, "table-of-contents": ListItem,
	"image": Figure, "figure": Figure, "picture": Figure, "chart": Figure, "diagram": Figure, "img": Figure, "seal": Figure,
	"caption": Caption, "table-caption": Caption, "image-caption": Caption, "figure-caption": Caption,
	"figure-title": Caption, "table-title": Caption,
	"header": Header, "page-header": Header, "footer": Footer, "page-footer": Footer,
	"page-number": PageNumber, "number": PageNumber,
	"footnote": Footnote, "table-footnote": Footnote, "image-footnote": Footnote, "page-footnote": Footnote,
	"equation": Formula, "formula": Formula, "equation-block": Formula, "isolate-formula": Formula,
	"display-formula": Formula, "code": Code, "code-block": Code, "algorithm": Code,
}

// kindOf returns the kind that a label stands for; a paragraph if it is not known.
func kindOf(label string) Kind {
	label = strings.Map(func(r rune) rune {
		if r == '_' || r == ' ' {
			return '-'
		}
		return unicode.ToLower(r)
	}, strings.TrimSpace(label))
	if kind, known := kinds[label]; known {
		return kind
	}
	return Paragraph
}

// addMarkdown adds what a labelled part of the page says in Markdown.
func (p *parser) addMarkdown(label string, box Box, text string) {
	kind := kindOf(label)
	parts := splitMarkdown(text)
	switch {
	case kind == Figure:
		figure := Block{Kind: Figure, Label: label, Box: box}
		for _, b := range parts {
			if b.Table != nil {
				figure.Text += b.Text + "\n"
			}
		}
		p.add(figure)
		return
	case kind == Formula:
		latex := trimMath(text)
		p.add(Block{Kind: Formula, Label: label, Box: box, Latex: latex, Text: plainLatex(latex)})
		return
	case kind == Code:
		p.add(Block{Kind: Code, Label: label, Box: box, Text: trimFence(text)})
		return
	}
	var texts []string
	for _, b := range parts {
		if b.Table != nil || b.Kind == Formula || b.Kind == ListItem || b.Kind == Code {
			b.Label, b.Box = label, box
			if kind == TableBlock && b.Kind == Formula {
				continue
			}
			p.flushText(&texts, kind, label, box)
			p.add(b)
			continue
		}
		if b.Kind == Heading && kind == Heading {
			p.add(Block{Kind: Heading, Label: label, Level: b.Level, Box: box, Text: b.Text})
			continue
		}
		texts = append(texts, b.Text)
	}
	p.flushText(&texts, kind, label, box)
}

// flushText adds the texts that were gathered as one block.
func (p *parser) flushText(texts *[]string, kind Kind, label string, box Box) {
	if len(*texts) > 0 {
		if kind == TableBlock {
			kind = Paragraph
		}
		p.add(Block{Kind: kind, Label: label, Box: box, Text: strings.Join(*texts, "\n")})
	}
	*texts = nil
}
