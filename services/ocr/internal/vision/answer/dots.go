package answer

import (
	"encoding/json"
	"strings"
)

// element is one of the list that dots.ocr writes.
type element struct {
	Bbox     []float64 `json:"bbox"`
	Category string    `json:"category"`
	Text     string    `json:"text"`
}

// parseDots reads a list of elements. The whole elements of a list that was cut remain.
func (p *parser) parseDots(text string) {
	start := strings.IndexByte(text, '[')
	if start < 0 {
		p.answer.Broken = true
		p.parseMarkdown(text)
		return
	}
	d := json.NewDecoder(strings.NewReader(text[start:]))
	if _, err := d.Token(); err != nil {
		p.answer.Broken = true
		return
	}
	for d.More() && len(p.answer.Blocks) < maxBlocks {
		var e element
		if err := d.Decode(&e); err != nil {
			if _, isType := err.(*json.UnmarshalTypeError); isType { //nolint:errorlint // Decode returns it as it is
				p.answer.BadBoxes++
				if e.Text == "" {
					continue
				}
			} else {
				p.answer.Broken = true
				return
			}
		}
		p.addElement(e)
	}
	if _, err := d.Token(); err != nil {
		p.answer.Broken = true
	}
}

func (p *parser) addElement(e element) {
	box := p.boxOf(e.Bbox)
	switch kindOf(e.Category) {
	case TableBlock:
		if table := tableFromHTML(e.Text); table != nil {
			p.add(Block{Kind: TableBlock, Label: e.Category, Box: box, Table: table, Text: table.PlainText()})
			return
		}
		p.addMarkdown(e.Category, box, e.Text)
	default:
		p.addMarkdown(e.Category, box, e.Text)
	}
}
