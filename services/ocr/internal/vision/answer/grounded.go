package answer

import (
	"regexp"
	"strconv"
	"strings"
)

// tagPattern is a tag: DeepSeek's label and boxes, the same without the special tokens, which some servers drop, and
// Unlimited-OCR's, which has the label within.
var tagPattern = regexp.MustCompile(`(?m)^[ \t]*(?:` +
	`<\|ref\|>([^<\n]{1,100})<\|/ref\|>[ \t]*<\|det\|>(\[[^<\n]{0,900})<\|/det\|>` +
	`|<\|det\|>([A-Za-z_ -]{1,40}?)[ \t]*(\[[^<\n]{0,900})<\|/det\|>` +
	`|([a-z_]{1,40})[ \t]*(\[\[[^<\n\]]{0,60}\](?:,[ \t]*\[[^<\n\]]{0,60}\]){0,12}\])` + `)`)

// specialToken is what remains of tags that are broken.
var specialToken = regexp.MustCompile(`<\|[a-z_/]{1,30}\|>|<｜[^｜\n]{1,40}｜>`)

// parseGrounded reads tags with the text after each.
func (p *parser) parseGrounded(text string) {
	type part struct {
		label, text string
		box         Box
	}
	var parts []part
	at, label, box := 0, "", Box{}
	take := func(end int) {
		body := specialToken.ReplaceAllString(text[at:end], "")
		if label != "" || strings.TrimSpace(body) != "" {
			parts = append(parts, part{label, body, box})
		}
	}
	for _, m := range tagPattern.FindAllStringSubmatchIndex(text, maxBlocks) {
		take(m[0])
		for k := 2; k < len(m); k += 4 {
			if m[k] >= 0 {
				label, box = strings.TrimSpace(text[m[k]:m[k+1]]), p.unionBoxes(text[m[k+2]:m[k+3]])
			}
		}
		at = m[1]
	}
	take(len(text))
	if i := strings.LastIndex(text, "<|ref|>"); i >= 0 && i >= at || strings.Count(text, "<table") > strings.Count(text, "</table") {
		p.answer.Broken = true
	}
	// A table's tag stands before its caption's, and its cells after the caption's text.
	for i := 0; i+1 < len(parts); i++ {
		here, next := &parts[i], &parts[i+1]
		if kindOf(here.label) != TableBlock || strings.TrimSpace(here.text) != "" || kindOf(next.label) == TableBlock {
			continue
		}
		if start := strings.Index(next.text, "<table"); start >= 0 {
			here.text, next.text = next.text[start:], next.text[:start]
			*here, *next = *next, *here
		}
	}
	for _, part := range parts {
		if part.label == "" {
			p.parseMarkdown(part.text)
			continue
		}
		p.addMarkdown(part.label, part.box, part.text)
	}
}

var numberPattern = regexp.MustCompile(`-?\d{1,7}(?:\.\d{1,6})?`)

// unionBoxes returns the box around a list of boxes: [[a, b, c, d], [e, f, g, h]] or [a, b, c, d].
func (p *parser) unionBoxes(list string) Box {
	var out Box
	for _, part := range strings.Split(list, "]") {
		numbers := numbersIn(part)
		if len(numbers) == 0 {
			continue
		}
		box := p.boxOf(numbers)
		switch {
		case !box.Exists():
		case !out.Exists():
			out = box
		default:
			out = Box{min(out[0], box[0]), min(out[1], box[1]), max(out[2], box[2]), max(out[3], box[3])}
		}
	}
	return out
}

// numbersIn returns the numbers in a text, up to a few.
func numbersIn(text string) []float64 {
	var out []float64
	for _, s := range numberPattern.FindAllString(text, 8) {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			out = append(out, v)
		}
	}
	return out
}
