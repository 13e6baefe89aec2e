package pagegen

import (
	"fmt"
	"strings"
)

// article returns a heading, perhaps a byline, and paragraphs that are cut where their box is full.
func (c *composer) article(level, paragraphs int) (head, body string) {
	c.beginFlow()
	head = c.heading(level, c.phrase())
	if c.happens(0.4) && c.usesLatinNames() {
		body = c.block("div", KindText, "small italic", "By "+c.fullName())
	}
	return head, body + c.proses(paragraphs, 2, 5)
}

// newspaper composes bands of articles.
type newspaper struct {
	*composer
	columnCount int
}

func composeNewspaper(c *composer) {
	size := choose(c.chance, [2]float64{792, 1224}, [2]float64{842, 1191}, [2]float64{612, 1008}, [2]float64{595, 842})
	c.resize(size[0], size[1])
	c.size, c.leading = c.between(8, 9.5), c.between(1.1, 1.25)
	c.marginX, c.gutter = c.pageWidth*c.between(0.04, 0.06), c.between(9, 16)
	c.justify, c.indent = c.happens(0.8), c.happens(0.8)
	c.hyphens = c.justify
	c.rule(".mast{font:bold %.0fpt '%s';text-align:center;line-height:1.2} .bar{border-top:1pt solid #000;border-bottom:1pt solid #000;"+
		"display:flex;justify-content:space-between;font-size:80%%;padding:2pt;margin-bottom:8pt}", c.pageWidth/13, c.headFont)
	for page := range c.count(1, 2) {
		c.openPage("")
		if page == 0 {
			c.flow = "mast"
			c.put("%s", c.block("div", KindTitle, "mast", "The "+choose(c.chance, townNames...)+" "+choose(c.chance, "Courier", "Herald", "Chronicle", "Gazette")))
			c.put(`<div class="bar">%s%s%s</div>`, c.line(KindHeader, "", fmt.Sprintf("No. %d", c.count(100, 9999))),
				c.line(KindHeader, "", c.date()), c.line(KindHeader, "", "Price "+c.amount(1)))
		} else {
			c.put("%s", c.runningHead(choose(c.chance, townNames...)+" Courier", c.count(2, 30)))
		}
		c.put(`<div class="grow" style="display:flex;flex-direction:column;gap:10pt">`)
		n := newspaper{c, max(2, int(c.pageWidth/c.between(120, 180)))}
		bands := c.count(2, 3)
		for band := range bands {
			n.putBand(band == 0)
		}
		c.put("</div>")
		c.closePage()
	}
}

// putBand writes articles side by side, which share the columns of the page.
func (n newspaper) putBand(lead bool) {
	n.put(`<div class="row grow" style="gap:%.1fpt;border-bottom:0.5pt solid #777;padding-bottom:6pt">`, n.gutter)
	for left := n.columnCount; left > 0; {
		span := min(left, n.count(1, 3))
		if left-span == 1 && span > 1 {
			span--
		}
		if lead && left == n.columnCount {
			span = min(n.columnCount, max(2, n.columnCount-n.count(0, 2)))
		}
		level := 2
		if lead && left == n.columnCount {
			level = 1
		}
		head, body := n.article(level, 4+6*span)
		if span >= 2 && n.happens(0.4) {
			body = n.picture(n.pageWidth/float64(n.columnCount)-n.gutter*2, n.between(60, 110)) + n.line(KindCaption, "tiny italic", n.phrase()+".") + body
		}
		n.put(`<div style="flex:%d 1 0;min-width:0;min-height:0;display:flex;flex-direction:column">%s%s</div>`, span, head,
			fit("", "", "flex:1 1 0;"+n.columns(span), body))
		left -= span
	}
	n.put("</div>")
}

// magazine composes an article in columns.
type magazine struct {
	*composer
	columnCount int
}

func composeMagazine(c *composer) {
	m := magazine{c, c.count(2, 3)}
	c.beginFlow()
	main := c.flow
	boxes := c.count(1, 3)
	ids := make([]string, boxes+1)
	for i := range boxes {
		ids[i] = c.nextBox()
	}
	c.rule(".pull{break-inside:avoid;border-top:2pt solid %s;border-bottom:2pt solid %s;padding:6pt 4pt;margin:6pt 0;font:italic %.1fpt/1.25 '%s';"+
		"text-align:center;color:%s}", c.accent, c.accent, c.size*1.6, c.headFont, c.accent)
	c.rule(".drop::first-letter{font-size:300%%;float:left;line-height:0.8;padding:2pt 3pt 0 0;font-weight:bold}")
	for page := range boxes {
		attributes := ""
		if page > 0 {
			attributes = "data-optional"
		}
		c.openPage(attributes)
		if c.happens(0.7) {
			c.put("%s", c.runningHead(c.phrase(), page+12))
		}
		content := ""
		if page == 0 {
			c.put(`<div style="padding-bottom:10pt">%s%s</div>`, c.heading(0, c.phrase()),
				c.proseOf("italic flush", c.paragraph(2)))
			class := ""
			if c.happens(0.3) {
				class = "drop"
			}
			content = c.proseOf(class, c.paragraph(4)) + m.articleText(10*boxes+8)
		}
		c.flow = main
		if c.happens(0.5) {
			c.put("%s", c.picture(c.pageWidth-2*c.marginX, c.between(90, 190)))
			c.beginFlow()
			c.put("%s", c.line(KindCaption, "small italic", c.phrase()+"."))
			c.flow = main
		}
		c.put("%s", fit(ids[page], ids[page+1], "flex:1 1 0;"+c.columns(m.columnCount), content))
		c.put("%s", c.pageFoot(page+12))
		c.closePage()
	}
}

// articleText returns paragraphs with subheadings, pull quotes and floats among them.
func (m magazine) articleText(paragraphs int) string {
	var out strings.Builder
	main := m.flow
	width := (m.pageWidth-2*m.marginX)/float64(m.columnCount) - m.gutter
	for i := range paragraphs {
		out.WriteString(m.prose(m.count(3, 6)))
		switch {
		case i%4 == 3 && m.happens(0.7):
			out.WriteString(m.heading(2, m.phrase()))
		case m.happens(0.12):
			m.beginFlow()
			out.WriteString(m.block("div", KindParagraph, "pull", m.escape("“"+m.sentence()+"”")))
			m.flow = main
		case m.happens(0.12):
			m.beginFlow()
			out.WriteString(`<div style="break-inside:avoid">` + m.picture(width, m.between(60, 120)) +
				m.line(KindCaption, "tiny italic", m.phrase()+".") + "</div>")
			m.flow = main
		}
	}
	return out.String()
}

// composeArticles sets two or three articles side by side, each of one column.
func composeArticles(c *composer) {
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 80)))
	for range c.count(1, 2) {
		c.put(`<div class="row grow" style="gap:%.1fpt;margin-bottom:12pt">`, c.gutter)
		number := c.count(2, 3)
		for i := range number {
			head, body := c.article(c.count(1, 2), 14)
			css := "display:flex;flex-direction:column;min-height:0;"
			if c.columnRule && i < number-1 {
				css += fmt.Sprintf("border-right:0.5pt solid #444;padding-right:%.1fpt;", c.gutter*0.7)
			}
			c.put(`<div style="%sflex:%.2f 1 0;min-width:0">%s%s</div>`, css, c.between(1, 1.5), head, fit("", "", "flex:1 1 0", body))
		}
		c.put("</div>")
	}
	c.closePage()
}

func composeSidebar(c *composer) {
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 80)))
	c.beginFlow()
	main := c.heading(0, c.phrase())
	for i := range 14 {
		main += c.prose(c.count(3, 5))
		if i%4 == 3 {
			main += c.heading(2, c.phrase())
		}
	}
	columns := c.count(1, 2)
	text := fit("", "", "flex:2.2 1 0;"+c.columns(columns), main)
	c.beginFlow()
	side := c.heading(2, c.phrase())
	if c.happens(0.5) {
		for range c.count(4, 8) {
			side += c.listItem(1, "•", c.phrase()+".")
		}
	}
	side += c.proses(5, 2, 3)
	shade := choose(c.chance, "background:"+c.shade, "border:1pt solid "+c.accent, "border-left:3pt solid "+c.accent)
	box := fit("", "", fmt.Sprintf("flex:1 1 0;font-size:90%%;padding:9pt;%s;%s", shade,
		choose(c.chance, "", "align-self:flex-start;max-height:70%;", "align-self:flex-end;max-height:60%;")), side)
	c.put(`<div class="row grow" style="gap:%.1fpt">`, c.gutter)
	if c.happens(0.3) {
		text, box = box, text
	}
	c.put("%s%s</div>%s", text, box, c.pageFoot(c.count(2, 90)))
	c.closePage()
}

func composeBrochure(c *composer) {
	c.resize(842, 595)
	c.marginX, c.marginY = c.between(18, 30), c.between(18, 30)
	panels := c.count(2, 4)
	for range c.count(1, 2) {
		c.openPage("")
		c.put(`<div class="row grow" style="gap:%.1fpt">`, c.between(16, 34))
		for i := range panels {
			c.beginFlow()
			css := "flex:1 1 0;display:flex;flex-direction:column;min-width:0;min-height:0;"
			switch c.IntN(4) {
			case 0:
				css += "background:" + c.shade + ";padding:8pt;"
			case 1:
				css += "background:" + c.accent + ";color:#fff;padding:8pt;"
				c.rule(".panel%d h1,.panel%d h2,.panel%d h3{color:#fff}", c.flows, c.flows, c.flows)
			}
			inner := c.heading(1, c.phrase())
			if c.happens(0.5) {
				inner += c.picture(c.pageWidth/float64(panels)-60, c.between(60, 140))
			}
			for range 3 {
				inner += c.proses(2, 1, 3) + c.heading(2, c.phrase())
				for range c.count(0, 4) {
					inner += c.listItem(1, choose(c.chance, "•", "–"), c.phrase())
				}
			}
			c.put(`<div class="panel%d" style="%s">%s</div>`, c.flows, css, fit("", "", choose(c.chance, "flex:1 1 0;", "max-height:80%;", "flex:1 1 0;"), inner))
			_ = i
		}
		c.put("</div>")
		c.closePage()
	}
}

// composeCards sets a grid of cards, each a text of its own.
func composeCards(c *composer) {
	columns, rows := c.count(2, 4), c.count(2, 6)
	c.rule(".grid{display:grid;grid-template-columns:repeat(%d,1fr);grid-template-rows:repeat(%d,1fr);gap:%.1fpt;flex:1 1 0;min-height:0}",
		columns, rows, c.between(6, 20))
	css := choose(c.chance, "border:0.7pt solid #444;padding:6pt;", "background:"+c.shade+";padding:7pt;", "", "border-top:1.5pt solid "+c.accent+";padding-top:4pt;")
	c.openPage("")
	if c.happens(0.6) {
		c.put("%s", c.heading(0, c.phrase()))
	}
	c.put(`<div class="grid">`)
	sentences := c.count(1, 3)
	for range columns * rows {
		c.beginFlow()
		inner := ""
		if c.happens(0.85) {
			inner = c.heading(3, upperFirst(c.term()))
		}
		inner += c.proseOf("flush", c.paragraph(sentences))
		if c.happens(0.3) {
			inner += c.line(KindText, "small bold", c.amount(3))
		}
		c.put("%s", fit("", "", css, inner))
	}
	c.put("</div>")
	c.closePage()
}

// composeCatalogue sets columns of things for sale: a picture, a name, a description, a price.
func composeCatalogue(c *composer) {
	columns := c.count(2, 4)
	width := (c.pageWidth-2*c.marginX-c.gutter*float64(columns-1))/float64(columns) - 2
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(1, 99)))
	var inner strings.Builder
	pictures := c.happens(0.6)
	for range columns * c.count(3, 6) {
		c.beginFlow()
		inner.WriteString(`<div style="break-inside:avoid;margin-bottom:9pt">`)
		if pictures {
			inner.WriteString(c.picture(width, c.between(50, 90)))
		}
		inner.WriteString(c.heading(3, upperFirst(c.term())) + c.proseOf("flush", c.paragraph(c.count(1, 3))))
		fmt.Fprintf(&inner, `<div class="row small" style="justify-content:space-between">%s%s</div></div>`,
			c.line(KindText, "", fmt.Sprintf("No. %d", c.count(1000, 99999))), c.line(KindText, "bold", c.amount(3)))
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(columns), inner.String()))
	c.put("%s", c.pageFoot(c.count(1, 99)))
	c.closePage()
}
