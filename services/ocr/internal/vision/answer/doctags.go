package answer

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	docTag   = regexp.MustCompile(`<(/?)([a-z_]{1,40}?)(_\d)?>`)
	locToken = regexp.MustCompile(`<loc_(\d{1,4})>`)
	codeLang = regexp.MustCompile(`^<_[^>\n]{1,40}_>`)
)

// docKinds says which kinds the elements of DocTags stand for. What is not among them holds others, or is left out.
var docKinds = map[string]Kind{
	"title": Title, "section_header_level": Heading, "section_header": Heading, "text": Paragraph, "paragraph": Paragraph,
	"list_item": ListItem, "otsl": TableBlock, "chart": Figure, "picture": Figure, "caption": Caption,
	"page_header": Header, "page_footer": Footer, "footnote": Footnote, "formula": Formula, "code": Code,
	"document_index": TableBlock, "checkbox_selected": ListItem, "checkbox_unselected": ListItem,
}

// parseDocTags reads the elements, each of which begins with four tokens of its place. A caption may stand in the element
// that it is of.
func (p *parser) parseDocTags(text string) {
	depth := 0
	for len(text) > 0 && len(p.answer.Blocks) < maxBlocks && depth < maxBlocks {
		depth++
		m := docTag.FindStringSubmatchIndex(text)
		if m == nil {
			return
		}
		name := text[m[4]:m[5]]
		kind, known := docKinds[name]
		if !known || text[m[2]:m[3]] == "/" {
			text = text[m[1]:]
			continue
		}
		level := 0
		if m[6] >= 0 {
			level, _ = strconv.Atoi(text[m[6]+1 : m[7]])
		}
		closing := "</" + text[m[4]:m[1]]
		rest := text[m[1]:]
		body := rest
		if end := strings.Index(rest, closing); end >= 0 {
			body, text = rest[:end], rest[end+len(closing):]
		} else {
			p.answer.Broken = true
			text = ""
			if next := strings.Index(rest, "</"); next >= 0 {
				body, text = rest[:next], rest[next:]
			}
		}
		p.addDocElement(name, kind, level, body)
	}
}

func (p *parser) addDocElement(name string, kind Kind, level int, body string) {
	body, caption, captioned := cutCaption(body)
	var numbers []float64
	for range 4 {
		m := locToken.FindStringSubmatchIndex(body)
		if m == nil || strings.TrimSpace(body[:m[0]]) != "" {
			break
		}
		v, _ := strconv.ParseFloat(body[m[2]:m[3]], 64)
		numbers = append(numbers, v)
		body = body[m[1]:]
	}
	box := p.boxOf(numbers)
	if captioned {
		p.addDocElement("caption", Caption, 0, caption)
	}
	b := Block{Kind: kind, Label: name, Level: level, Box: box}
	switch kind {
	case TableBlock:
		if b.Table = tableFromOTSL(body); b.Table == nil {
			return
		}
		b.Text = b.Table.PlainText()
	case Figure:
	case Formula:
		b.Latex = trimMath(stripTags(body))
		b.Text = plainLatex(b.Latex)
	case Code:
		b.Text = codeLang.ReplaceAllString(locToken.ReplaceAllString(body, ""), "")
	default:
		b.Text = plainInline(stripTags(locToken.ReplaceAllString(body, "")))
	}
	p.add(b)
}

// cutCaption returns an element's body without the caption within.
func cutCaption(body string) (rest, caption string, found bool) {
	start := strings.Index(body, "<caption>")
	if start < 0 {
		return body, "", false
	}
	end := strings.Index(body[start:], "</caption>")
	if end < 0 {
		return body[:start], body[start+len("<caption>"):], true
	}
	return body[:start] + body[start+end+len("</caption>"):], body[start+len("<caption>") : start+end], true
}
