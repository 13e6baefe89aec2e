package pagegen

import (
	"fmt"
	"html"
	"strings"
)

// spaced returns an element around blocks that is not broken between columns.
func spaced(css, inner string) string {
	return `<div style="break-inside:avoid;` + css + `">` + inner + "</div>"
}

// leaderRow returns a line with something at its beginning and at its end, and a leader between them, whose CSS may be empty.
func leaderRow(c *composer, left, leader, right string) string {
	return fmt.Sprintf(`<div class="row" data-k="text" data-f="%s" style="break-inside:avoid"><span>%s </span>`+
		`<span style="flex:1;%s;margin:0 3pt 2pt"></span> <span>%s</span></div>`, c.flow, html.EscapeString(left), leader, html.EscapeString(right))
}

// composeDisplayAds sets framed advertisements of different sizes side by side, as the last pages of programmes have them.
func composeDisplayAds(c *composer) {
	c.openPage("")
	if c.happens(0.6) {
		c.put("%s", c.runningHead(c.phrase(), c.count(2, 90)))
	}
	gap, frames := c.between(4, 12), []string{"0.6pt solid #000", "1.5pt solid #000", "3pt double #000", "1pt dashed #444"}
	same := choose(c.chance, frames...)
	for range c.count(2, 5) {
		c.put(`<div class="row grow" style="gap:%.1fpt;margin-bottom:%.1fpt">`, gap, gap)
		for range c.count(1, 3) {
			frame := choose(c.chance, same, same, choose(c.chance, frames...))
			c.put("%s", fit("", "", fmt.Sprintf("flex:%.1f 1 0;border:%s;padding:5pt;text-align:%s", c.between(1, 2), frame,
				choose(c.chance, "center", "center", "start")), displayAd(c)))
		}
		c.put("</div>")
	}
	c.closePage()
}

// displayAd returns what an advertisement says.
func displayAd(c *composer) string {
	c.beginFlow()
	name := c.block("div", KindText, "bold", fmt.Sprintf(`<span style="font:bold %.1fpt '%s'">%s</span>`, c.size*c.between(1.2, 2.2),
		c.headFont, html.EscapeString(choose(c.chance, surnames...)+" & "+choose(c.chance, surnames...))))
	out := name + c.line(KindText, "italic", c.phrase())
	if c.happens(0.6) {
		out += c.block("p", KindParagraph, "flush small", c.escape(c.paragraph(c.count(1, 2))))
	}
	if c.happens(0.4) {
		for range c.count(2, 5) {
			out += leaderRow(c, upperFirst(c.term()), "", c.amount(2))
		}
	}
	return out + c.line(KindText, "", c.street()) + c.line(KindText, "bold", "Tel. "+c.phone())
}

// composeWantAds sets advertisements of a few lines under the headings of their kinds, most of them without a frame.
func composeWantAds(c *composer) {
	c.size, c.leading, c.indent = c.between(6.2, 8), c.between(1.08, 1.22), false
	c.marginX, c.marginY, c.gutter = c.pageWidth*0.05, c.pageHeight*0.045, c.between(6, 11)
	c.justify, c.hyphens = true, true
	mark, part := choose(c.chance, "", "", "•", "—"), choose(c.chance, "", "margin-bottom:3pt", "border-bottom:0.4pt solid #777")
	framed := choose(c.chance, 0, 0.1, 0.25)
	content := ""
	for i := range 280 {
		if i%11 == 0 {
			content += spaced("text-align:center;border:solid #000;border-width:0.8pt 0;margin:3pt 0", c.line(KindHeading, "bold", c.title()))
		}
		text := fmt.Sprintf("<b>%s</b>%s %s %s", html.EscapeString(mark+strings.ToUpper(c.pickWord("noun"))), choose(c.chance, ",", " –", ""),
			c.escape(c.sentence()), choose(c.chance, "Box "+fmt.Sprint(c.count(100, 999)), "Tel. "+c.phone(), c.amount(4)))
		css := part
		if c.happens(framed) {
			css = "border:0.8pt solid #000;padding:3pt;margin:3pt 0;text-align:center"
		}
		content += spaced(css, c.block("div", KindParagraph, choose(c.chance, "", ""), text))
	}
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 90)))
	c.put("%s", fit("", "", "flex:1 1 0;text-align:justify;"+c.columns(max(3, int((c.pageWidth-2*c.marginX)/c.between(88, 140)))), content))
	c.closePage()
}

// composeAnnouncements sets births, weddings and deaths in columns, each between rules or in a frame, most of them centred.
func composeAnnouncements(c *composer) {
	c.size = c.between(7.5, 9.5)
	frame := choose(c.chance, "border:0.7pt solid #000;padding:5pt;", "border-top:0.7pt solid #000;padding:4pt 0;", "border:2pt solid #222;padding:6pt;")
	align, content := choose(c.chance, "center", "center", "start"), ""
	for range 40 {
		c.beginFlow()
		name := fmt.Sprintf(`<span style="font-size:130%%">%s</span>`, html.EscapeString(c.fullName()))
		inner := c.block("div", KindText, "bold", name)
		if c.happens(0.6) {
			inner += c.line(KindText, "small", choose(c.chance, "* ", "born ")+c.date()+choose(c.chance, " † ", " – ")+c.date())
		}
		inner += c.block("div", KindParagraph, "", c.escape(c.paragraph(c.count(1, 3))))
		if c.happens(0.5) {
			inner += c.line(KindText, "italic", c.fullName()) + c.line(KindText, "small", choose(c.chance, townNames...)+", "+c.date())
		}
		content += spaced(frame+"margin-bottom:6pt;text-align:"+align, inner)
	}
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 60)))
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(c.count(2, 4)), content))
	c.closePage()
}

// composeYellowPages sets names with numbers at the ends of the lines, and framed advertisements between them.
func composeYellowPages(c *composer) {
	c.size, c.leading = c.between(6.5, 8.2), c.between(1.1, 1.25)
	c.marginX, c.gutter = c.pageWidth*0.05, c.between(8, 13)
	leader := choose(c.chance, "border-bottom:0.8pt dotted #333", "", "border-bottom:0.8pt dotted #333")
	content := ""
	for i := range 300 {
		switch {
		case i%17 == 0:
			content += spaced("margin:7pt 0 -1pt", c.heading(3, c.title()))
		case c.happens(0.07):
			main := c.flow
			content += spaced("border:0.8pt solid #000;padding:4pt;margin:3pt 0;text-align:center", displayAd(c))
			c.flow = main
		}
		name := choose(c.chance, surnames...) + " " + string(rune('A'+c.IntN(26)))
		content += leaderRow(c, name+" "+fmt.Sprint(c.count(1, 199))+" "+choose(c.chance, townNames...), leader, c.phone())
	}
	c.openPage("")
	c.put("%s", c.runningHead(c.title()+" – "+c.title(), c.count(2, 900)))
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(c.count(2, 4)), content))
	c.closePage()
}

// composeBill sets the programme of a concert: works with their movements, and who plays what.
func composeBill(c *composer) {
	c.openPage("")
	c.put(`<div class="center" style="margin-bottom:14pt">%s%s%s</div>`, c.heading(0, c.phrase()), c.line(KindText, "italic", c.date()+", "+
		fmt.Sprintf("%d.%02d", c.count(6, 9), choose(c.chance, 0, 15, 30))), c.line(KindText, "", choose(c.chance, townNames...)+" Hall"))
	leader, content := choose(c.chance, "", "border-bottom:1pt dotted #555", ""), ""
	movements := []string{"Allegro", "Andante con moto", "Adagio", "Scherzo: Presto", "Rondo", "Largo", "Menuetto", "Finale: Vivace"}
	for range c.count(3, 6) {
		content += `<div style="margin-bottom:9pt;break-inside:avoid">` + leaderRow(c, c.title()+fmt.Sprintf(", op. %d", c.count(1, 130)), leader, choose(c.chance, surnames...))
		for i := range c.count(0, 4) {
			movement := choose(c.chance, movements...)
			content += `<div style="padding-inline-start:2.5em">` + c.line(KindText, "italic small", []string{"I. ", "II. ", "III. ", "IV. "}[i]+movement) + "</div>"
		}
		content += "</div>"
	}
	content += c.line(KindText, "center bold", "Intermission")
	c.beginFlow()
	content += c.heading(2, c.phrase())
	for range c.count(4, 10) {
		content += leaderRow(c, upperFirst(c.term()), leader, c.fullName())
	}
	c.beginFlow()
	c.put("%s", fit("", "", "flex:1 1 0", content+`<div style="height:10pt"></div>`+c.proses(3, 2, 4)))
	c.closePage()
}

// composeListings sets what several stations send: a column each, with times and titles.
func composeListings(c *composer) {
	if c.happens(0.4) {
		c.resize(842, 595)
	}
	c.size, c.leading = c.between(6.8, 8.6), c.between(1.1, 1.3)
	c.marginX, c.marginY = c.pageWidth*0.05, c.pageHeight*0.05
	c.openPage("")
	c.put("%s", c.runningHead(choose(c.chance, "Monday", "Friday", "Sunday")+", "+c.date(), c.count(2, 70)))
	stations, part := c.count(3, 6), choose(c.chance, "", "border-inline-end:0.5pt solid #444;padding-inline-end:5pt;", "background:"+c.shade+";padding:4pt;")
	c.put(`<div class="row grow" style="gap:%.1fpt">`, c.between(6, 14))
	hanging := c.happens(0.5)
	for range stations {
		c.beginFlow()
		inner, minutes := c.heading(2, strings.ToUpper(c.pickWord("noun"))), c.count(5, 8)*60
		for range 26 {
			time := fmt.Sprintf("%d.%02d", minutes/60%24, minutes%60)
			text := "<b>" + time + "</b> " + html.EscapeString(c.title()) + ". "
			if c.happens(0.4) {
				text += c.escape(c.sentence())
			}
			css := ""
			if hanging {
				css = "padding-inline-start:2.6em;text-indent:-2.6em"
			}
			inner += spaced("margin-bottom:2pt;"+css, c.block("div", KindParagraph, "", text))
			minutes += c.count(1, 18) * 5
		}
		c.put("%s", fit("", "", "flex:1 1 0;"+part, inner))
	}
	c.put("</div>")
	c.closePage()
}
