package pagegen

import (
	"fmt"
	"html"
	"strings"
)

// tableReport returns a family: prose with tables of a ruling and their captions.
func tableReport(ruling Ruling) func(c *composer) {
	return func(c *composer) {
		c.size = min(c.size, 10.5)
		c.openPage("")
		if c.happens(0.6) {
			c.put("%s", c.runningHead(c.phrase(), c.count(2, 200)))
		}
		content := ""
		if c.happens(0.7) {
			content = c.heading(1, c.phrase())
		}
		for number := range c.count(1, 3) {
			if c.happens(0.8) {
				content += c.proses(c.count(1, 2), 2, 4)
			}
			caption := c.line(KindCaption, "small bold", fmt.Sprintf("Table %d. %s", number+1, c.phrase()))
			table := c.table(c.planTable(ruling))
			if c.happens(0.7) {
				content += `<div>` + caption + table + `</div>`
			} else {
				content += `<div>` + table + caption + `</div>`
			}
			if c.happens(0.4) {
				content += c.heading(2, c.phrase())
			}
		}
		content += c.proses(8, 2, 5)
		c.put("%s", fit("", "", "flex:1 1 0", content))
		c.put("%s", c.pageFoot(c.count(2, 200)))
		c.closePage()
	}
}

func composeSlides(c *composer) {
	size := choose(c.chance, [2]float64{720, 405}, [2]float64{720, 540}, [2]float64{960, 540})
	c.resize(size[0], size[1])
	c.size, c.leading, c.justify, c.hyphens = c.pageHeight/c.between(24, 32), 1.3, false, false
	c.marginX, c.marginY = c.pageWidth*0.06, c.pageHeight*0.06
	bar := choose(c.chance, "", "border-bottom:2pt solid "+c.accent, "background:"+c.shade+";padding:6pt")
	for page := range c.count(2, 4) {
		c.flow = fmt.Sprintf("slide%d", page+1)
		c.openPage("")
		c.put(`<div style="%s;margin-bottom:12pt">%s</div>`, bar, c.heading(1, c.phrase()))
		content := ""
		for range c.count(3, 6) {
			content += c.listItem(1, "•", c.phrase())
			for range c.count(0, 2) {
				content += c.listItem(2, "–", c.phrase())
			}
		}
		switch c.IntN(3) {
		case 0:
			c.put("%s", fit("", "", "flex:1 1 0", content))
		case 1:
			c.put(`<div class="row grow" style="gap:20pt">%s%s</div>`, fit("", "", "flex:1 1 0", content),
				`<div style="flex:1 1 0">`+c.picture(c.pageWidth*0.38, c.pageHeight*0.5)+`</div>`)
		default:
			left := fit("", "", "flex:1 1 0", c.heading(3, c.phrase())+content)
			c.flow += "b"
			right := fit("", "", "flex:1 1 0", c.heading(3, c.phrase())+c.listItem(1, "•", c.phrase())+c.listItem(1, "•", c.sentence())+c.proseOf("flush", c.sentence()))
			c.put(`<div class="row grow" style="gap:20pt">%s%s</div>`, left, right)
		}
		c.put(`<div class="row tiny" style="justify-content:space-between">%s%s</div>`, c.line(KindFooter, "", c.fullName()), c.line(KindPageNumber, "", fmt.Sprint(page+1)))
		c.closePage()
	}
}

func composeCode(c *composer) {
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 300)))
	c.rule("pre{font:%.1fpt/1.25 '%s';%s}", c.size*0.86, c.monoFont, choose(c.chance, "", "background:"+c.shade+";padding:5pt", "border:0.5pt solid #888;padding:5pt", "border-left:2pt solid #888;padding-left:7pt"))
	content := c.heading(1, c.phrase())
	for i := range 5 {
		content += c.proses(c.count(1, 2), 2, 4)
		content += fmt.Sprintf(`<div style="margin:6pt 0"><pre data-k="code" data-f="%s">%s</pre></div>`, c.flow, html.EscapeString(c.program()))
		if c.happens(0.3) {
			content += c.line(KindCaption, "small", fmt.Sprintf("Listing %d: %s", i+1, c.phrase()))
		}
		if c.happens(0.5) {
			content += c.heading(2, c.phrase())
		}
	}
	c.put("%s", fit("", "", "flex:1 1 0", content))
	c.put("%s", c.pageFoot(c.count(2, 300)))
	c.closePage()
}

// program returns a few lines of a program.
func (w writer) program() string {
	name := func() string { return strings.ReplaceAll(w.pickWord("noun"), " ", "_") }
	var out strings.Builder
	fmt.Fprintf(&out, "func %s(%s []string, %s int) error {\n", name(), name(), name())
	depth := 1
	for range w.count(4, 12) {
		indent := strings.Repeat("    ", depth)
		switch w.IntN(6) {
		case 0:
			if depth < 3 {
				fmt.Fprintf(&out, "%sfor %s < %d {\n", indent, name(), w.count(2, 500))
				depth++
			}
		case 1:
			if depth < 3 {
				fmt.Fprintf(&out, "%sif %s == nil {\n", indent, name())
				depth++
			}
		case 2:
			if depth > 1 {
				depth--
				fmt.Fprintf(&out, "%s}\n", strings.Repeat("    ", depth))
			}
		case 3:
			fmt.Fprintf(&out, "%s// %s\n", indent, w.phrase())
		default:
			fmt.Fprintf(&out, "%s%s := %s.%s(%s, %q)\n", indent, name(), name(), name(), name(), w.pickWord("noun"))
		}
	}
	for ; depth > 0; depth-- {
		fmt.Fprintf(&out, "%s}\n", strings.Repeat("    ", depth-1))
	}
	return strings.TrimRight(out.String(), "\n")
}

func composeFigures(c *composer) {
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 300)))
	content := c.heading(1, c.phrase())
	columns := choose(c.chance, 1, 1, 2)
	width := (c.pageWidth-2*c.marginX-c.gutter*float64(columns-1))/float64(columns) - 3
	for i := range 5 {
		content += c.proses(c.count(1, 3), 2, 5)
		caption := func(text string) string { return c.line(KindCaption, "small", text) }
		main := c.flow
		c.beginFlow()
		switch {
		case columns == 1 && c.happens(0.4): // two beside each other
			first := c.picture(width/2-8, c.between(70, 130)) + caption(fmt.Sprintf("Fig. %da. %s", i+1, c.phrase()))
			c.beginFlow()
			content += fmt.Sprintf(`<div class="row" style="gap:12pt;margin:6pt 0"><div style="flex:1">%s</div><div style="flex:1">%s</div></div>`, first,
				c.picture(width/2-8, c.between(70, 130))+caption(fmt.Sprintf("Fig. %db. %s", i+1, c.phrase())))
		case columns == 1 && c.happens(0.4): // the text runs around it
			content += fmt.Sprintf(`<div style="float:%s;width:%.0fpt;margin:4pt 8pt">%s</div>`, choose(c.chance, "left", "right"), width*0.4,
				c.picture(width*0.4, c.between(80, 130))+caption(fmt.Sprintf("Fig. %d. %s", i+1, c.phrase())))
		default:
			content += `<div style="break-inside:avoid;margin:6pt 0">` + c.picture(width*c.between(0.6, 1), c.between(80, 160)) +
				caption(fmt.Sprintf("Figure %d: %s. %s", i+1, c.phrase(), c.sentence())) + `</div>`
		}
		c.flow = main
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(columns), content))
	c.closePage()
}

// composeReport sets several pages with headings of three levels, lists and tables.
func composeReport(c *composer) {
	boxes := c.count(2, 4)
	ids := make([]string, boxes+1)
	for i := range boxes {
		ids[i] = c.nextBox()
	}
	title, first := c.phrase(), c.count(1, 40)
	for page := range boxes {
		attributes, content := "data-optional", ""
		if page == 0 {
			attributes = ""
			content = c.heading(0, title) + c.reportBody(boxes)
		}
		c.openPage(attributes)
		c.put("%s", c.runningHead(title, first+page))
		c.put("%s", fit(ids[page], ids[page+1], "flex:1 1 0", content))
		c.closePage()
	}
}

func (c *composer) reportBody(boxes int) string {
	content := ""
	numbered := c.happens(0.6)
	for section := range 2 * boxes {
		label := func(format string, args ...any) string {
			if !numbered {
				return ""
			}
			return fmt.Sprintf(format, args...) + " "
		}
		content += c.heading(1, label("%d", section+1)+c.phrase()) + c.proses(c.count(1, 3), 2, 5)
		for part := range c.count(0, 3) {
			content += c.heading(2, label("%d.%d", section+1, part+1)+c.phrase()) + c.proses(c.count(1, 3), 2, 5)
			switch c.IntN(6) {
			case 0:
				for range c.count(2, 5) {
					content += c.listItem(1, "•", c.sentence())
				}
			case 1:
				plan := c.planTable(choose(c.chance, Ruled, HalfRuled, Plain))
				plan.rows = min(plan.rows, 8)
				content += `<div>` + c.line(KindCaption, "small bold", fmt.Sprintf("Table %d: %s", section+1, c.phrase())) + c.table(plan) + `</div>`
			case 2:
				content += c.heading(3, c.phrase()) + c.prose(c.count(2, 4))
			}
		}
	}
	return content
}
