package pagegen

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// composeExam sets questions with answers to choose from, below each other or in a line.
func composeExam(c *composer) {
	c.justify, c.hyphens, c.indent = false, false, false
	c.openPage("")
	c.put("%s", c.heading(1, c.phrase())+c.proseOf("flush italic", c.paragraph(2)))
	columns, mark := choose(c.chance, 1, 2, 2), choose(c.chance, "(%c)", "%c)", "%c.")
	across, content := choose(c.chance, 1, 1, 2, 4), ""
	if across == 4 {
		columns = 1
	}
	for question := range 30 {
		inner := c.block("div", KindParagraph, "", fmt.Sprintf("%d. %s", question+1, c.escape(c.paragraph(c.count(1, 2)))))
		for first := 0; first < 4; first += across {
			row := ""
			for i := range across {
				row += fmt.Sprintf(`<span style="flex:1 1 0;white-space:nowrap">%s %s </span>`, fmt.Sprintf(mark, 'A'+rune(first+i)), html.EscapeString(c.pickWord("noun")))
			}
			inner += fmt.Sprintf(`<div class="row" style="padding-inline-start:1.5em" data-k="text" data-f="%s">%s</div>`, c.flow, row)
		}
		content += spaced("margin-bottom:7pt", inner)
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(columns), content)+c.pageFoot(c.count(2, 20)))
	c.closePage()
}

// composeCrossword sets a grid of squares and, beside or below it, clues in columns.
func composeCrossword(c *composer) {
	c.size, c.justify, c.hyphens = c.between(7.5, 9.5), false, false
	c.openPage("")
	c.put("%s", c.heading(1, c.phrase()))
	side := min(c.pageWidth-2*c.marginX, c.pageHeight*c.between(0.3, 0.42))
	squares, cells := c.count(9, 15), ""
	for row := range squares {
		for column := range squares {
			fill := "#fff"
			if c.happens(0.22) {
				fill = "#000"
			}
			cells += fmt.Sprintf(`<rect x="%d" y="%d" width="10" height="10" fill="%s" stroke="#000" stroke-width="0.6"/>`, column*10, row*10, fill)
		}
	}
	figure := fmt.Sprintf(`<figure data-k="figure" data-f="grid" style="width:%.1fpt;margin:4pt auto 10pt"><svg viewBox="-1 -1 %d %d">%s</svg></figure>`,
		side, squares*10+2, squares*10+2, cells)
	content := ""
	for _, way := range []string{"Across", "Down"} {
		c.beginFlow()
		content += c.heading(2, way)
		number := 0
		for range c.count(14, 24) {
			number += c.count(1, 4)
			content += spaced("padding-inline-start:1.8em;text-indent:-1.8em", c.block("div", KindText, "", fmt.Sprintf("<b>%d</b> %s (%d)", number, c.escape(c.phrase()), c.count(3, 11))))
		}
	}
	c.put("%s%s", figure, fit("", "", "flex:1 1 0;"+c.columns(c.count(2, 4)), content))
	c.closePage()
}

// composeRecipe sets what is needed beside what is to be done, one or two recipes a page.
func composeRecipe(c *composer) {
	c.openPage("")
	shade := choose(c.chance, "", "background:"+c.shade+";padding:6pt;", "border:0.6pt solid #444;padding:6pt;")
	number := choose(c.chance, "%d.", "%d", "Step %d:")
	for range choose(c.chance, 1, 1, 2) {
		c.beginFlow()
		c.put("%s", c.heading(1, c.phrase())+c.line(KindText, "italic small", fmt.Sprintf("Serves %d · %d minutes", c.count(2, 10), c.count(2, 12)*10)))
		if c.happens(0.4) {
			c.put("%s", c.picture(c.pageWidth-2*c.marginX, c.between(60, 120)))
		}
		c.beginFlow()
		needed := c.heading(3, "Ingredients")
		for range c.count(6, 12) {
			needed += c.line(KindText, "", fmt.Sprintf("%s %s %s", choose(c.chance, "2", "½", "1½", "250", "3", "75"), choose(c.chance, "g", "cups", "tbsp", "ml"), c.term()))
		}
		c.beginFlow()
		method := c.heading(3, "Method")
		for step := range 14 {
			method += c.block("p", KindParagraph, "flush", fmt.Sprintf(number, step+1)+" "+c.escape(c.paragraph(c.count(1, 3))))
		}
		c.put(`<div class="row grow" style="gap:%.1fpt;margin:6pt 0">%s%s</div>`, c.gutter, fit("", "", "flex:1 1 0;align-self:flex-start;max-height:100%;"+shade, needed),
			fit("", "", fmt.Sprintf("flex:%.1f 1 0", c.between(1.6, 2.6)), method))
	}
	c.closePage()
}

// composeDictionary sets words with their meanings in narrow columns, the first and the last word above them.
func composeDictionary(c *composer) {
	c.size, c.leading = c.between(6.6, 8.6), c.between(1.08, 1.22)
	c.justify, c.hyphens, c.indent = true, true, false
	c.gutter = c.between(9, 16)
	words := make([]string, 170)
	for i := range words {
		words[i] = c.pickWord(choose(c.chance, "noun", "adj", "verb"))
	}
	slices.Sort(words)
	sound, hanging, content := c.happens(0.5), c.happens(0.7), ""
	for _, word := range words {
		text := "<b>" + html.EscapeString(word) + "</b>"
		if sound {
			text += " /" + html.EscapeString(strings.ReplaceAll(word, "e", "ə")) + "/"
		}
		text += " <i>" + choose(c.chance, "n.", "adj.", "v.") + "</i> "
		for meaning := range c.count(1, 3) {
			text += fmt.Sprintf("%d. %s ", meaning+1, c.escape(c.phrase()+"; "+c.term()+"."))
		}
		css := "margin-bottom:1.5pt"
		if hanging {
			css += ";padding-inline-start:1em;text-indent:-1em"
		}
		content += spaced(css, c.block("div", KindParagraph, "", text))
	}
	c.openPage("")
	c.put(`<div class="head bold">%s%s%s</div>`, c.line(KindHeader, "", words[0]), c.line(KindPageNumber, "", fmt.Sprint(c.count(2, 900))),
		c.line(KindHeader, "", words[60]))
	c.put("%s", fit("", "", "flex:1 1 0;text-align:justify;"+c.columns(c.count(2, 3)), content))
	c.closePage()
}

// composeStatute sets a law: numbered sections and subsections with short notes in the outer margin.
func composeStatute(c *composer) {
	columns := choose(c.chance, 1, 1, 2)
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase()+" Act "+fmt.Sprint(c.count(1900, 2020)), c.count(2, 300)))
	width, reverse := c.between(52, 80), choose(c.chance, "", "flex-direction:row-reverse;")
	main, content := c.flow, ""
	for section := range 24 {
		text := c.block("p", KindParagraph, "flush", fmt.Sprintf("<b>%d.</b> (1) %s", section+1, c.escape(c.paragraph(c.count(1, 2)))))
		for sub := range c.count(0, 3) {
			text += c.block("p", KindParagraph, "flush", fmt.Sprintf("(%d) %s", sub+2, c.escape(c.sentence())))
		}
		for letter := range choose(c.chance, 0, 0, 2, 3) {
			text += `<div style="padding-inline-start:1.6em">` + c.block("p", KindParagraph, "flush", fmt.Sprintf("(%c) %s;", 'a'+rune(letter), c.escape(c.phrase()))) + "</div>"
		}
		c.beginFlow()
		note := c.block("div", KindText, "tiny", html.EscapeString(upperFirst(c.term()))+".")
		c.flow = main
		content += spaced("display:flex;gap:8pt;"+reverse, fmt.Sprintf(`<div style="flex:none;width:%.0fpt">%s</div><div style="flex:1 1 0;min-width:0">%s</div>`,
			width, note, text))
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(columns), content))
	c.closePage()
}

// composeHymnal sets numbered songs, the lines of whose verses are short, in columns.
func composeHymnal(c *composer) {
	c.justify, c.hyphens = false, false
	columns, first, content := c.count(1, 3), c.count(1, 400), ""
	centred := choose(c.chance, "center", "")
	for song := range 14 {
		c.beginFlow()
		content += spaced("", c.heading(2, fmt.Sprintf("%d  %s", first+song, upperFirst(c.term())))+c.line(KindText, "small italic "+centred, c.fullName()+", "+fmt.Sprint(c.count(1600, 1950))))
		for verse := range c.count(2, 4) {
			lines := make([]string, c.count(4, 6))
			for i := range lines {
				lines[i] = html.EscapeString(upperFirst(c.pickWord("det") + " " + c.pickWord("adj") + " " + c.pickWord("noun")))
			}
			content += spaced("margin-bottom:6pt", c.block("div", KindParagraph, "", fmt.Sprintf("%d. ", verse+1)+strings.Join(lines, "<br>")))
		}
	}
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 300))+fit("", "", "flex:1 1 0;"+c.columns(columns), content))
	c.closePage()
}

// composeCondensed sets two pages of a hearing on one sheet, whose numbers of lines stand close to the text, before a rule.
func composeCondensed(c *composer) {
	t := newTranscript(c)
	t.numbers, t.lines = true, choose(c.chance, 25, 25, 30)
	if c.happens(0.6) {
		c.resize(792, 612)
	}
	c.marginX, c.marginY = c.between(24, 46), c.between(24, 44)
	gap := c.between(6, 30)
	per := map[bool]float64{true: 0.6, false: 0.5}[t.mono]
	c.size, c.leading = min(10, ((c.pageWidth-2*c.marginX-gap)/2-12)/float64(t.width+6)/per), 1.1
	c.rule(".lnum{margin-right:%.1fem;padding-right:%.1fem;width:2.2em;align-self:stretch;display:flex;align-items:center;justify-content:flex-end;%s}",
		c.between(0.2, 0.7), c.between(0.2, 0.5), choose(c.chance, "", "border-right:0.5pt solid #000", "border-right:1.8pt double #000"))
	first := c.count(1, 300)
	c.openPage("")
	c.put(`<div class="head">%s%s</div>`, c.line(KindHeader, "", c.fullName()), c.line(KindHeader, "", c.date()))
	frame := choose(c.chance, "", "border:0.8pt solid #000;", "")
	c.put(`<div class="row grow" style="gap:%.1fpt">`, gap)
	for i := range 2 {
		c.flow = fmt.Sprintf("page%d", i)
		c.put(`<div style="flex:1 1 0;min-width:0;padding:4pt;display:flex;flex-direction:column;%s">%s</div>`, frame, t.page(first+i))
	}
	c.put("</div>%s", c.line(KindFooter, "tiny center", choose(c.chance, surnames...)+" Reporting, "+c.phone()))
	c.closePage()
}
