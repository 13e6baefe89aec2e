package pagegen

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// listItem returns an item of a list: its mark hangs beside its text.
func (c *composer) listItem(level int, mark, text string) string {
	return fmt.Sprintf(`<div data-k="list_item" data-l="%d" data-f="%s" style="margin:0 0 %.1fpt %.1fem;padding-inline-start:%.1fem;text-indent:-%.1fem">`+
		`<span style="display:inline-block;min-width:%.1fem;text-indent:0">%s</span> %s</div>`, level, c.flow, c.size*0.2, float64(level-1)*1.6, 1.5, 1.5, 1.2,
		html.EscapeString(mark), c.escape(text))
}

// directory composes entries of one kind.
type directory struct {
	*composer
	kind int
}

func composeDirectory(c *composer) {
	columns := c.count(2, 4)
	c.size = c.between(7.5, 9.5)
	ids := []string{c.nextBox(), c.nextBox(), ""}
	d := directory{c, c.IntN(3)}
	for page := range c.count(1, 2) {
		c.openPage("data-optional")
		c.put("%s", c.runningHead(choose(c.chance, surnames...)+" – "+choose(c.chance, surnames...), page+c.count(10, 300)))
		content := ""
		if page == 0 {
			names := slices.Sorted(slices.Values(c.sampleNames(170)))
			last := ' '
			for _, name := range names {
				if first := rune(name[0]); first != last && c.happens(0.8) {
					last = first
					content += c.heading(2, string(first))
				}
				content += d.entry(name)
			}
		}
		c.put("%s", fit(ids[page], ids[page+1], "flex:1 1 0;"+c.columns(columns), content))
		c.put("%s", c.pageFoot(page+c.count(1, 99)))
		c.closePage()
	}
}

func (d directory) entry(name string) string {
	switch d.kind {
	case 0: // one line: name, dots, number
		return fmt.Sprintf(`<div class="row" data-k="text" data-f="%s">%s<span style="flex:1;border-bottom:1pt dotted #777;margin:0 3pt 2pt"></span> %s</div>`,
			d.flow, html.EscapeString(name)+" ", d.phone())
	case 1: // a paragraph of several lines
		return d.block("div", KindParagraph, "flush", fmt.Sprintf(`<span style="display:block;padding:0 0 3pt 8pt;text-indent:-8pt"><b>%s</b>, %s, %s, %s. Tel. %s</span>`,
			html.EscapeString(name), d.escape(d.term()), html.EscapeString(d.street()), choose(d.chance, townNames...), d.phone()))
	default: // lines of an address
		return d.block("div", KindText, "", fmt.Sprintf(`<span style="display:block;margin-bottom:5pt"><b>%s</b><br>%s<br>%s %d<br>%s</span>`, html.EscapeString(name),
			html.EscapeString(d.street()), choose(d.chance, townNames...), d.count(1000, 9999), d.phone()))
	}
}

// glossary composes terms with what they mean.
type glossary struct {
	*composer
	hanging bool // the first line of an entry begins left of the others
	beside  bool // the terms stand in a column of their own
}

func composeGlossary(c *composer) {
	columns := c.count(1, 3)
	ids := []string{c.nextBox(), c.nextBox(), ""}
	g := glossary{composer: c, hanging: c.happens(0.5)}
	g.beside = columns == 1 && c.happens(0.6)
	for page := range c.count(1, 2) {
		c.openPage("data-optional")
		c.put("%s", c.runningHead("Glossary", page+c.count(100, 300)))
		content := ""
		if page == 0 {
			content = c.heading(1, "Glossary")
			terms := make([]string, 70)
			for i := range terms {
				terms[i] = c.term()
			}
			slices.Sort(terms)
			for _, term := range terms {
				content += g.entry(term)
			}
		}
		c.put("%s", fit(ids[page], ids[page+1], "flex:1 1 0;"+c.columns(columns), content))
		c.closePage()
	}
}

func (g glossary) entry(term string) string {
	text := g.escape(g.paragraph(g.count(1, 2)))
	if g.beside {
		return fmt.Sprintf(`<div class="row" style="margin-bottom:4pt">%s<div style="flex:1">%s</div></div>`,
			fmt.Sprintf(`<div style="width:%.0fpt;flex:none;padding-right:6pt">%s</div>`, g.pageWidth*0.2, g.line(KindText, "bold", term)),
			g.block("div", KindParagraph, "", text))
	}
	css := "margin-bottom:4pt;"
	if g.hanging {
		css += "padding-inline-start:1.2em;text-indent:-1.2em;"
	}
	return fmt.Sprintf(`<div data-k="paragraph" data-f="%s" style="%s"><b>%s</b>%s%s</div>`, g.flow, css, html.EscapeString(term),
		choose(g.chance, " ", " – ", ": ", " "), text)
}

// contents composes a table of contents.
type contents struct {
	*composer
	leader, fill string // what leads to the numbers of pages, and the CSS of it
}

func composeContents(c *composer) {
	c.openPage("")
	t := contents{composer: c, leader: choose(c.chance, "dots", "dots", "space", "line")}
	t.fill = map[string]string{"dots": " ", "space": " ", "line": "border-bottom:0.4pt solid #888;"}[t.leader]
	content := c.heading(1, choose(c.chance, "Contents", "Table of contents", c.phrase()))
	page := c.count(1, 9)
	for chapter := range 9 {
		content += t.entry(1, fmt.Sprintf("%d", chapter+1), page)
		for section := range c.count(0, 6) {
			page += c.count(0, 9)
			content += t.entry(2, fmt.Sprintf("%d.%d", chapter+1, section+1), page)
		}
		page += c.count(1, 12)
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(choose(c.chance, 1, 1, 1, 2)), content))
	c.put("%s", c.pageFoot(c.count(2, 9)))
	c.closePage()
}

func (t contents) entry(level int, number string, page int) string {
	dots := ""
	if t.leader == "dots" {
		dots = strings.Repeat(choose(t.chance, ".", " ."), 160)
	}
	weight := ""
	if level == 1 {
		weight = "font-weight:bold;"
	}
	return fmt.Sprintf(`<div class="row" data-k="text" data-l="%d" data-f="%s" style="align-items:flex-end;margin:1.5pt 0 1.5pt %.1fem;%s"><span>%s %s </span>`+
		`<span class="leader" style="flex:1;overflow:hidden;height:1.2em;%s;margin:0 3pt;text-align:right;white-space:nowrap;width:0">%s</span> <span>%d</span></div>`, level, t.flow,
		float64(level-1)*1.5, weight, number, html.EscapeString(t.phrase()), t.fill, leaderSpan(dots), page)
}

// leaderSpan draws dots that are no part of the text.
func leaderSpan(dots string) string {
	if dots == "" {
		return ""
	}
	return `<svg width="600pt" height="1.2em"><text x="0" y="1em" fill="#333" font-size="90%">` + dots + `</text></svg>`
}

func composeLists(c *composer) {
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 90)))
	content := c.heading(1, c.phrase())
	bullet := choose(c.chance, "•", "–", "■", "◦", "*")
	for range 5 {
		content += c.prose(c.count(1, 3))
		ordered := c.happens(0.5)
		for i := range c.count(2, 6) {
			mark := bullet
			if ordered {
				mark = choose(c.chance, "%d.", "%d.", "(%d)")
				mark = fmt.Sprintf(mark, i+1)
			}
			content += c.listItem(1, mark, c.paragraph(c.count(1, 2)))
			if c.happens(0.35) {
				for j := range c.count(2, 4) {
					inner := choose(c.chance, "–", "◦")
					if ordered {
						inner = string(rune('a'+j)) + ")"
					}
					content += c.listItem(2, inner, c.sentence())
					if c.happens(0.15) {
						content += c.listItem(3, "·", c.phrase())
					}
				}
			}
		}
		if c.happens(0.5) {
			content += c.heading(2, c.phrase())
		}
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(choose(c.chance, 1, 1, 2)), content))
	c.closePage()
}

// composeBilingual sets the same in two languages, in columns whose paragraphs begin at the same heights.
func composeBilingual(c *composer) {
	other := choose(c.chance, "deu", "fra", "spa", "ita", "pol")
	second := *c
	_ = second
	left, right := c.writer, newWriter(c.chance, other)
	c.openPage("")
	c.put(`<div class="row" style="gap:%.1fpt;margin-bottom:8pt">`, c.gutter)
	for i, w := range []writer{left, right} {
		c.flow = fmt.Sprintf("language%d", i+1)
		c.put(`<div style="flex:1 1 0;min-width:0">%s</div>`, c.heading(1, w.phrase()))
	}
	c.put("</div>")
	var rows strings.Builder
	for number := range 14 {
		sentences := c.count(1, 4)
		fmt.Fprintf(&rows, `<div class="row" style="gap:%.1fpt;margin-bottom:5pt">`, c.gutter)
		for i, w := range []writer{left, right} {
			c.flow = fmt.Sprintf("language%d", i+1)
			text := w.paragraph(sentences)
			if c.columnRule {
				text = fmt.Sprintf("%d. %s", number+1, text)
			}
			fmt.Fprintf(&rows, `<div style="flex:1 1 0;min-width:0">%s</div>`, strings.Replace(c.proseOf("flush", text), " data-split", "", 1))
		}
		rows.WriteString("</div>")
	}
	c.put("%s", fit("", "", "flex:1 1 0", rows.String()))
	c.put("%s", c.pageFoot(c.count(1, 50)))
	c.closePage()
}

// composeVertical sets Japanese in lines from top to bottom, which follow each other from right to left.
func composeVertical(c *composer) {
	c.leading = c.between(1.6, 2)
	c.size = c.between(9.5, 12)
	c.hyphens = false
	rows := choose(c.chance, 1, 1, 2)
	c.rule(".tate{writing-mode:vertical-rl;flex:1 1 0;min-height:0;overflow:hidden} .tate p{text-indent:1em;margin:0;text-align:justify} .tate h1{margin:0 0 0 %.0fpt}", c.size)
	c.openPage("")
	for row := range rows {
		content := ""
		if row == 0 {
			content = c.heading(1, c.phrase())
		}
		if row > 0 {
			c.beginFlow()
		}
		content += c.proses(16, 2, 5)
		c.put(`<div class="tate" data-fit="" style="margin-bottom:%.0fpt">%s</div>`, c.size, content)
	}
	c.put("%s", c.pageFoot(c.count(1, 300)))
	c.closePage()
}

func composeRightToLeft(c *composer) {
	c.hyphens = false
	c.leading = c.between(1.5, 1.9)
	columns := choose(c.chance, 1, 1, 2)
	c.openPage("")
	content := c.heading(1, c.phrase())
	for i := range 12 {
		content += c.prose(c.count(2, 5))
		if i%4 == 3 {
			content += c.heading(2, c.phrase())
		}
		if c.happens(0.1) {
			for j := range 3 {
				content += c.listItem(1, fmt.Sprintf("%d.", j+1), c.sentence())
			}
		}
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(columns), content))
	c.put("%s", c.pageFoot(c.count(1, 300)))
	c.closePage()
}
