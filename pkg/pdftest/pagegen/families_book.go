package pagegen

import (
	"fmt"
	"strings"
)

// paper composes an article of a journal.
type paper struct{ *composer }

func composePaper(c *composer) {
	p := paper{c}
	c.size = c.between(8.6, 10.5)
	c.justify, c.hyphens = true, c.happens(0.7)
	columns := choose(c.chance, 2, 2, 2, 1)
	boxes := c.count(1, 3)
	ids := make([]string, boxes+1)
	for i := range boxes {
		ids[i] = c.nextBox()
	}
	c.rule(".formula{text-align:center;margin:5pt 0;font-style:italic;break-inside:avoid} .notes{border-top:0.5pt solid #000;width:100%%;padding-top:3pt;font-size:78%%}")
	for page := range boxes {
		attributes := ""
		if page > 0 {
			attributes = "data-optional"
		}
		c.openPage(attributes)
		if page > 0 || c.happens(0.5) {
			c.put("%s", c.runningHead(c.phrase(), page+c.count(1, 3)))
		}
		content := ""
		if page == 0 {
			c.put("%s", p.front())
			content = p.sections(10 * boxes)
		}
		c.put("%s", fit(ids[page], ids[page+1], "flex:1 1 0;"+c.columns(columns), content))
		if page == 0 {
			c.put(`<div class="notes">%s</div>`, p.footnotes())
		}
		c.closePage()
	}
}

func (p paper) front() string {
	authors := make([]string, p.count(1, 4))
	for i := range authors {
		authors[i] = p.fullName()
	}
	out := `<div class="center">` + p.heading(0, p.phrase()+" "+p.pickWord("prep")+" "+p.pickWord("noun")) +
		p.line(KindText, "", strings.Join(authors, ", ")) + p.line(KindText, "small italic", "University of "+choose(p.chance, townNames...)) + `</div>`
	abstract := p.heading(3, "Abstract") + p.proseOf("flush", p.paragraph(p.count(4, 7)))
	return out + fmt.Sprintf(`<div style="margin:8pt %.0fpt 10pt;font-size:94%%">%s</div>`, p.between(0, 40), abstract)
}

// footnotes returns the notes at the foot of a page, whose marks sections puts into the text of that page's column.
func (p paper) footnotes() string {
	var out strings.Builder
	main := p.flow
	for note := range p.count(1, 2) {
		p.flow = fmt.Sprintf("note%d", note+1)
		out.WriteString(p.block("div", KindFootnote, "", fmt.Sprintf("<sup>%d</sup> %s", note+1, p.escape(p.sentence()))))
	}
	p.flow = main
	return out.String()
}

func (p paper) sections(paragraphs int) string {
	var out strings.Builder
	section := 0
	numbered := p.happens(0.7)
	main := p.flow
	for i := range paragraphs {
		if i%4 == 0 {
			section++
			title := p.phrase()
			if numbered {
				title = fmt.Sprintf("%d %s", section, title)
			}
			out.WriteString(p.heading(1, title))
		} else if i%4 == 2 && p.happens(0.4) {
			title := p.phrase()
			if numbered {
				title = fmt.Sprintf("%d.1 %s", section, title)
			}
			out.WriteString(p.heading(2, title))
		}
		if i == 0 {
			text := strings.SplitN(p.escape(p.paragraph(4)), " ", 4)
			out.WriteString(fmt.Sprintf(`<p data-k="paragraph" data-split data-f="%s">%s %s %s<sup data-m>1</sup> %s</p>`, p.flow, text[0], text[1],
				text[2], text[3]))
			continue
		}
		out.WriteString(p.prose(p.count(3, 6)))
		switch {
		case p.happens(0.15):
			out.WriteString(p.block("div", KindFormula, "formula", p.formula(i)))
		case p.happens(0.08):
			p.beginFlow()
			out.WriteString(`<div style="break-inside:avoid">` + p.picture(200, p.between(60, 110)) +
				p.line(KindCaption, "small", fmt.Sprintf("Figure %d. %s.", i, p.phrase())) + "</div>")
			p.flow = main
		case p.happens(0.06):
			p.beginFlow()
			plan := p.planTable(HalfRuled)
			plan.columns, plan.rows, plan.longLabels, plan.wide = p.count(2, 3), p.count(3, 7), false, false
			out.WriteString(`<div style="break-inside:avoid">` + p.line(KindCaption, "small", fmt.Sprintf("Table %d. %s.", i, p.phrase())) +
				p.table(plan) + "</div>")
			p.flow = main
		}
	}
	out.WriteString(p.heading(1, "References"))
	for i := range 8 {
		out.WriteString(p.listItem(1, fmt.Sprintf("[%d]", i+1), fmt.Sprintf("%s, %s, %d.", p.fullName(), p.phrase(), p.count(1950, 2024))))
	}
	return out.String()
}

func (p paper) formula(number int) string {
	letter := func() string { return string("abcdfghkmnpqrstuvxyz"[p.IntN(20)]) }
	body := choose(p.chance,
		fmt.Sprintf("%s = %s<sub>%d</sub> + %d%s<sup>2</sup> − %s/%s", letter(), letter(), p.count(0, 9), p.count(2, 90), letter(), letter(), letter()),
		fmt.Sprintf("%s(%s) = Σ %s<sub>i</sub> %s<sub>i</sub>, i = 1, …, %s", letter(), letter(), letter(), letter(), letter()),
		fmt.Sprintf("∂%s/∂%s = −%s · %s + %d.%d", letter(), letter(), letter(), letter(), p.count(0, 9), p.count(0, 99)))
	return fmt.Sprintf("%s &nbsp;&nbsp;&nbsp; (%d)", body, number)
}

func composeBook(c *composer) {
	size := choose(c.chance, [2]float64{396, 612}, [2]float64{420, 595}, [2]float64{432, 648}, [2]float64{595, 842})
	c.resize(size[0], size[1])
	c.justify, c.hyphens, c.indent = true, c.happens(0.8), c.happens(0.85)
	title, first, boxes := c.phrase(), c.count(1, 300), c.count(2, 4)
	ids := make([]string, boxes+1)
	for i := range boxes {
		ids[i] = c.nextBox()
	}
	headed := c.happens(0.7)
	for page := range boxes {
		attributes := ""
		if page > 0 {
			attributes = "data-optional"
		}
		c.openPage(attributes)
		if headed {
			c.put("%s", c.runningHead(title, first+page))
		}
		content := ""
		if page == 0 {
			content = c.bookChapter(8 * boxes)
		}
		c.put("%s", fit(ids[page], ids[page+1], "flex:1 1 0", content))
		if !headed {
			c.put("%s", c.pageFoot(first+page))
		}
		c.closePage()
	}
}

func (c *composer) bookChapter(paragraphs int) string {
	var out strings.Builder
	out.WriteString(c.heading(1, choose(c.chance, c.phrase(), fmt.Sprintf("%d. %s", c.count(1, 20), c.phrase()), c.phrase())))
	for range paragraphs {
		out.WriteString(c.prose(c.count(2, 7)))
		if c.happens(0.07) {
			out.WriteString(c.heading(2, c.phrase()))
		}
		if c.happens(0.08) {
			out.WriteString(c.block("div", KindParagraph, "small", fmt.Sprintf(`<span style="display:block;margin:5pt %.0fpt">%s</span>`,
				c.size*2, c.escape(c.paragraph(2)))))
		}
	}
	return out.String()
}

// composeSpread sets two pages of a book on one sheet.
func composeSpread(c *composer) {
	size := choose(c.chance, [2]float64{842, 595}, [2]float64{792, 612}, [2]float64{1008, 648})
	c.resize(size[0], size[1])
	c.marginX = c.pageWidth * c.between(0.03, 0.06)
	c.justify, c.hyphens, c.indent = true, c.happens(0.7), true
	title, first := c.phrase(), 2*c.count(1, 150)
	left, right := c.nextBox(), c.nextBox()
	columns := choose(c.chance, 1, 1, 2)
	c.openPage("")
	c.put(`<div class="row grow" style="gap:%.1fpt">`, c.pageWidth*c.between(0.05, 0.11))
	for i, id := range []string{left, right} {
		content, next := "", ""
		if i == 0 {
			content, next = c.bookChapter(24), right
		}
		c.put(`<div style="flex:1 1 0;min-width:0;display:flex;flex-direction:column">%s%s%s</div>`, c.runningHead(title, first+i),
			fit(id, next, "flex:1 1 0;"+c.columns(columns), content), "")
	}
	c.put("</div>")
	c.closePage()
}
