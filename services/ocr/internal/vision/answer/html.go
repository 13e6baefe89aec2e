package answer

import (
	"strings"

	"golang.org/x/net/html"
)

// htmlReader gathers the parts of an HTML text, each with the box and the label that stands around it.
type htmlReader struct {
	p     *parser
	box   Box
	label string
	text  strings.Builder
	kind  Kind
	level int
	latex bool
}

// parseHTML reads Chandra's and Qwen's HTML: elements with data-bbox, or p, h2, table and li of their own.
func (p *parser) parseHTML(text string) {
	if fence := strings.Index(text, "```html"); fence >= 0 {
		text = strings.TrimSuffix(strings.TrimSpace(text[fence+len("```html"):]), "```")
	}
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(maxBytes)
	r := &htmlReader{p: p, kind: Paragraph}
	open := 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			r.flush()
			p.answer.Broken = p.answer.Broken || open > 0
			return
		case html.TextToken:
			r.text.WriteString(strings.ReplaceAll(z.Token().Data, "\n", " "))
		case html.StartTagToken:
			token := z.Token()
			if token.Data == "table" {
				r.takeTable(z, token)
				continue
			}
			if token.Data == "div" {
				open++
			}
			r.start(token)
		case html.SelfClosingTagToken:
			r.start(z.Token())
		case html.EndTagToken:
			token := z.Token()
			if token.Data == "div" {
				open--
			}
			r.end(token.Data)
		}
	}
}

// start begins a block where an element does.
func (r *htmlReader) start(token html.Token) {
	if box, label := r.placeOf(token); box.Exists() || label != "" {
		r.flush()
		r.box, r.label = box, label
		r.kind, r.level = kindOf(label), 0
		if r.kind == Figure {
			r.p.add(Block{Kind: Figure, Label: label, Box: box})
		}
	}
	switch token.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		r.flush()
		r.kind, r.level = Heading, int(token.Data[1]-'0')
	case "li":
		r.flush()
		r.kind = ListItem
	case "pre":
		r.flush()
		r.kind = Code
	case "math":
		r.latex = true
		if attribute(token, "display") == "block" {
			r.flush()
			r.kind = Formula
		}
	case "p", "br", "hr", "div", "td", "tr":
		r.text.WriteByte(' ')
	}
}

func (r *htmlReader) end(name string) {
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6", "li", "pre", "div":
		r.flush()
		r.kind = kindOf(r.label)
		r.level = 0
		if name == "div" {
			r.box, r.label, r.kind = Box{}, "", Paragraph
		}
	case "p":
		if r.label == "" || r.p.opts.ScaleX == 0 {
			r.flush()
		} else {
			r.text.WriteByte(' ')
		}
	case "math":
		r.latex = false
		if r.kind == Formula && kindOf(r.label) != Formula {
			r.flush()
			r.kind = kindOf(r.label)
		}
	}
}

// flush adds the text that was gathered. What stands in a figure describes it, and is not on the page.
func (r *htmlReader) flush() {
	raw := strings.TrimSpace(r.text.String())
	r.text.Reset()
	if raw == "" || kindOf(r.label) == Figure && r.label != "" {
		return
	}
	b := Block{Kind: r.kind, Level: r.level, Label: r.label, Box: r.box}
	switch {
	case r.kind == Formula:
		b.Latex = trimMath(raw)
		b.Text = plainLatex(b.Latex)
	case r.kind == TableBlock:
		b.Kind = Paragraph
		b.Text = plainInline(raw)
	case r.kind == ListItem:
		b.Text = plainInline(bulletMark.ReplaceAllString(raw, ""))
	default:
		b.Text = plainInline(raw)
	}
	r.p.add(b)
}

// takeTable reads a table through its end. A table within a figure is the model's reading of a chart: it is no text of
// the page.
func (r *htmlReader) takeTable(z *html.Tokenizer, token html.Token) {
	box, label := r.box, r.label
	if own, name := r.placeOf(token); own.Exists() || name != "" {
		box, label = own, name
	}
	figure := kindOf(label) == Figure && label != ""
	if !figure {
		r.flush()
	}
	var source strings.Builder
	source.WriteString("<table>")
	for depth := 1; depth > 0; {
		kind := z.Next()
		if kind == html.ErrorToken {
			r.p.answer.Broken = true
			break
		}
		raw := string(z.Raw())
		name, _ := z.TagName()
		if string(name) == "table" && kind == html.StartTagToken {
			depth++
		}
		if string(name) == "table" && kind == html.EndTagToken {
			depth--
		}
		source.WriteString(raw)
	}
	t := tableFromHTML(source.String())
	if last := len(r.p.answer.Blocks) - 1; t != nil && figure && last >= 0 && r.p.answer.Blocks[last].Kind == Figure {
		r.p.answer.Blocks[last].Text += t.PlainText()
	}
	if t != nil && !figure {
		if label == "" {
			label = "table"
		}
		r.p.add(Block{Kind: TableBlock, Label: label, Box: box, Table: t, Text: t.PlainText()})
	}
}

// placeOf returns the box and the label of an element, if it states a box.
func (r *htmlReader) placeOf(token html.Token) (Box, string) {
	place := attribute(token, "data-bbox")
	if place == "" {
		return Box{}, ""
	}
	label := attribute(token, "data-label")
	if label == "" {
		label = token.Data
	}
	if len(label) > 40 {
		label = label[:40]
	}
	return r.p.boxOf(numbersIn(place)), strings.ToValidUTF8(label, "")
}

func attribute(token html.Token, name string) string {
	for _, a := range token.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
