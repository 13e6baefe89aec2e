package pagegen

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// grid returns a table of given cells, whose first row heads the columns. css is the table's, classes are the columns'.
func (c *composer) grid(ruling Ruling, css string, classes []string, rows [][]string) string {
	line := ""
	if ruling == HalfRuled {
		css += ";border-top:1pt solid #000;border-bottom:1pt solid #000"
		line = choose(c.chance, "border-bottom:0.5pt solid #777", "border-bottom:0.5pt solid #777", "")
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<table data-k="table" data-f="%s" data-ruling="%s" style="width:100%%;margin:4pt 0 8pt;%s"><thead>`, c.flow, ruling, css)
	for i, row := range rows {
		tag, style := "td", line
		if i == 0 {
			tag = "th"
			if ruling == HalfRuled {
				style = "border-bottom:0.6pt solid #000"
			}
		}
		fmt.Fprintf(&out, `<tr style="%s">`, style)
		for j, text := range row {
			fmt.Fprintf(&out, `<%s class="%s">%s</%s>`, tag, classes[j], strings.ReplaceAll(html.EscapeString(text), "\n", "<br>"), tag)
		}
		out.WriteString("</tr>")
		if i == 0 {
			out.WriteString("</thead><tbody>")
		}
	}
	return out.String() + "</tbody></table>"
}

// composeDataSheet sets features beside a table of limits, and below them a table with conditions.
func composeDataSheet(c *composer) {
	c.size = c.between(8, 9.5)
	c.openPage("")
	c.put("%s", c.heading(0, strings.ToUpper(c.pickWord("noun"))+fmt.Sprint(c.count(100, 9999))))
	c.beginFlow()
	left := c.heading(2, c.phrase())
	for range c.count(5, 8) {
		left += c.listItem(1, "•", c.phrase())
	}
	left += c.heading(2, c.phrase()) + c.proses(2, 2, 3)
	c.beginFlow()
	limits, unit := [][]string{{"Parameter", "Value", "Unit"}}, []string{"V", "mA", "°C", "mW", "ns"}
	for range c.count(5, 10) {
		limits = append(limits, []string{c.title(), fmt.Sprint(c.count(-40, 150)), choose(c.chance, unit...)})
	}
	right := c.heading(2, c.phrase()) + c.grid(c.anyRuling(), "", []string{"", "num", ""}, limits)
	c.put(`<div class="row" style="gap:%.1fpt"><div style="flex:1 1 0">%s</div><div style="flex:1 1 0">%s</div></div>`, c.gutter+4, left, right)
	c.beginFlow()
	rows := [][]string{{"Symbol", "Parameter", "Conditions", "Min", "Typ", "Max", "Unit"}}
	for range c.count(6, 12) {
		low := c.count(1, 30)
		rows = append(rows, []string{choose(c.chance, "V", "I", "R", "t") + strings.ToUpper(choose(c.chance, "in", "out", "on", "cc")), c.title(),
			choose(c.chance, "T = 25 °C", "V = 5 V", "no load", ""), choose(c.chance, "–", "", fmt.Sprintf("0.%d", low)),
			fmt.Sprintf("%d.%d", low, c.IntN(10)), choose(c.chance, "–", fmt.Sprintf("%d.%d", low+c.count(1, 30), c.IntN(10))), choose(c.chance, unit...)})
	}
	c.put("%s", c.heading(2, c.phrase())+c.grid(choose(c.chance, Ruled, HalfRuled), "", []string{"", "", "", "num", "num", "num", ""}, rows))
	c.put("%s", fit("", "", "flex:1 1 0", c.proses(2, 1, 3))+c.pageFoot(c.count(1, 30)))
	c.closePage()
}

// composeFeatures sets a table that says with marks which of several things has what.
func composeFeatures(c *composer) {
	c.openPage("")
	rows, things := [][]string{{upperFirst(c.pickWord("noun"))}}, c.count(2, 5)
	classes := []string{""}
	marks := choose(c.chance, []string{"✓", "✓", "–", "optional"}, []string{"yes", "yes", "no", "no"}, []string{"☐"}, []string{"X", ""}, []string{"✓", "–", "12 GB", "unlimited"})
	for range things {
		rows[0] = append(rows[0], upperFirst(c.pickWord("noun")))
		classes = append(classes, choose(c.chance, "mid", "mid", ""))
	}
	questions := c.happens(0.3)
	for range c.count(6, 14) {
		row := []string{c.title()}
		if questions {
			row[0] = c.sentence()
		}
		for range things {
			row = append(row, choose(c.chance, marks...))
		}
		rows = append(rows, row)
	}
	content := c.heading(1, c.phrase()) + c.prose(2) + c.grid(c.anyRuling(), "", classes, rows) + c.proses(3, 2, 4)
	c.put("%s", fit("", "", "flex:1 1 0", content)+c.pageFoot(c.count(2, 90)))
	c.closePage()
}

// composeTablesBeside sets small tables side by side, with captions or without.
func composeTablesBeside(c *composer) {
	c.size = c.between(8, 10)
	c.openPage("")
	main, number, ruling := c.flow, choose(c.chance, 2, 2, 3), c.anyRuling()
	captions, gap := c.happens(0.6), c.between(16, 34)
	content := c.heading(1, c.phrase()) + c.prose(3)
	for band := range c.count(1, 2) {
		content += fmt.Sprintf(`<div class="row" style="gap:%.1fpt;margin:6pt 0">`, gap)
		for i := range number {
			c.beginFlow()
			content += `<div style="flex:1 1 0;min-width:0">`
			if captions {
				content += c.line(KindCaption, "small bold", fmt.Sprintf("Table %d: %s", band*number+i+1, c.phrase()))
			}
			rows := [][]string{{c.title(), fmt.Sprint(c.count(1990, 2000)), fmt.Sprint(c.count(2001, 2020))}}
			for next, row := c.numberMaker(), c.count(4, 9); row > 0; row-- {
				rows = append(rows, []string{c.title(), next(), next()})
			}
			content += c.grid(ruling, "", []string{"", "num", "num"}, rows) + "</div>"
		}
		c.flow = main
		content += "</div>" + c.prose(c.count(2, 4))
	}
	c.put("%s", fit("", "", "flex:1 1 0", content+c.proses(3, 2, 4))+c.pageFoot(c.count(2, 90)))
	c.closePage()
}

// composeMenu sets things with their prices at the end of the line, most with a description below.
func composeMenu(c *composer) {
	c.resize(max(c.pageWidth, 595), max(c.pageHeight, 792)) // names take one line
	c.openPage("")
	c.put(`<div class="center">%s</div>`, c.heading(0, c.phrase()))
	leader := choose(c.chance, "", "border-bottom:1pt dotted #000;", "")
	described := c.happens(0.7)
	content := ""
	for range 9 {
		content += c.heading(2, c.title())
		for range c.count(3, 6) {
			content += fmt.Sprintf(`<div style="break-inside:avoid"><div class="row bold" data-k="text" data-f="%s"><span>%s </span><span style="flex:1;%smargin:0 3pt 3pt"></span> %d.%s</div>`,
				c.flow, html.EscapeString(upperFirst(c.term())), leader, c.count(3, 60), choose(c.chance, "00", "50", "90"))
			if described {
				content += c.block("p", KindParagraph, "flush small italic", c.escape(c.sentence()))
			}
			content += "</div>"
		}
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(choose(c.chance, 1, 2, 2)), content))
	c.closePage()
}

// composeMinutes sets who spoke, when something begins, or the number of a point beside what there is to say of it.
func composeMinutes(c *composer) {
	c.openPage("")
	kind, minutes := c.IntN(3), c.count(8, 10)*60
	width := c.between(62, 110)
	content := c.heading(1, c.phrase())
	for point := range 22 {
		label, text := choose(c.chance, "Mr. ", "Ms. ", "")+choose(c.chance, surnames...)+":", c.proseOf("flush", c.paragraph(c.count(1, 4)))
		switch kind {
		case 1:
			end := minutes + c.count(3, 12)*5
			label = fmt.Sprintf("%02d:%02d – %02d:%02d", minutes/60%24, minutes%60, end/60%24, end%60)
			text = c.line(KindText, "", c.phrase()) + c.line(KindText, "italic", c.fullName()+", "+c.term())
			if c.happens(0.6) {
				text += c.proseOf("flush", c.paragraph(c.count(1, 2)))
			}
			minutes = end
		case 2:
			label = fmt.Sprintf("%d.%d %s", point/4+1, point%4+1, c.title())
		}
		content += fmt.Sprintf(`<div class="row" style="margin-bottom:6pt"><div style="flex:none;width:%.0fpt;padding-right:8pt">%s</div><div style="flex:1 1 0;min-width:0">%s</div></div>`,
			width, c.line(KindText, "bold", label), strings.ReplaceAll(text, " data-split", ""))
	}
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 90))+fit("", "", "flex:1 1 0", content))
	c.closePage()
}

// composeGazette sets public notices in columns.
func composeGazette(c *composer) {
	c.size, c.leading = c.between(7.5, 9), c.between(1.12, 1.3)
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 900)))
	content, number := "", c.count(100, 9000)
	place := choose(c.chance, "center", "", "center")
	for range 24 {
		content += fmt.Sprintf(`<div class="%s">%s</div>`, place, c.heading(2, strings.ToUpper(c.phrase())))
		if c.happens(0.6) {
			number++
			content += c.line(KindText, place, fmt.Sprintf("No. %d of %d", number, c.count(1950, 2024)))
		}
		content += c.proses(c.count(1, 3), 1, 3) + c.line(KindText, "right italic", c.fullName()+", "+choose(c.chance, townNames...)) + `<hr style="border:0;border-top:0.5pt solid #444;width:40%">`
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(c.count(2, 3)), content))
	c.closePage()
}

// composeClassifieds sets small advertisements, some of them framed, in many narrow columns.
func composeClassifieds(c *composer) {
	c.size, c.leading = c.between(6.5, 7.5), c.between(1.1, 1.25)
	c.marginX, c.marginY, c.gutter = c.pageWidth*0.05, c.pageHeight*0.04, c.between(7, 12)
	c.openPage("")
	content := ""
	for i := range 260 {
		if i%14 == 0 {
			content += `<div style="background:#000;color:#fff;text-align:center;break-inside:avoid;font-size:115%">` + c.line(KindHeading, "bold", strings.ToUpper(c.title())) + "</div>"
		}
		frame := choose(c.chance, "border-bottom:0.4pt solid #555;", "border-bottom:0.4pt solid #555;", "border:0.8pt solid #000;padding:3pt;margin:2pt 0;")
		content += fmt.Sprintf(`<div data-k="paragraph" data-f="%s" style="break-inside:avoid;padding:2pt 0;%s"><b>%s</b> %s Tel. %s</div>`, c.flow, frame,
			html.EscapeString(strings.ToUpper(c.term())), c.escape(c.sentence()), c.phone())
	}
	columns := max(3, int((c.pageWidth-2*c.marginX)/c.between(90, 120)))
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 90))+fit("", "", "flex:1 1 0;"+c.columns(columns), content))
	c.closePage()
}

// composeWeek sets what happens when on which day: each cell has several lines.
func composeWeek(c *composer) {
	if c.happens(0.5) {
		c.resize(842, 595)
	}
	c.size = c.between(7.5, 9.5)
	c.openPage("")
	rows, hour := [][]string{{"Time", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"}}, c.count(7, 9)
	room := c.happens(0.8)
	for i := range c.count(5, 8) {
		row := []string{choose(c.chance, fmt.Sprintf("%d:00", hour+i), fmt.Sprintf("%d:00\n%d:45", hour+i, hour+i))}
		for range 5 {
			text := upperFirst(c.pickWord("noun"))
			if room {
				text += fmt.Sprintf("\n%s %d", choose(c.chance, "Room", "Hall"), c.count(1, 40))
			}
			row = append(row, choose(c.chance, text, text, text, text, ""))
		}
		rows = append(rows, row)
	}
	table := c.grid(choose(c.chance, Ruled, Ruled, HalfRuled), "table-layout:fixed", make([]string, 6), rows)
	c.put("%s", c.heading(1, c.phrase())+table+fit("", "", "flex:1 1 0", c.proses(2, 1, 3)))
	c.closePage()
}

// composeRegister sets a table one column of which is text of several lines.
func composeRegister(c *composer) {
	c.openPage("")
	rows := [][]string{{"Item", "Description of work", "Responsible", "Due"}}
	for range c.count(5, 9) {
		rows = append(rows, []string{c.title(), c.paragraph(c.count(1, 2)), c.fullName(), fmt.Sprintf("%d %s", c.count(1, 28), choose(c.chance, "May", "June", "July"))})
	}
	c.rule("table td,table th{padding:%.1fpt %.1fpt} td:nth-child(1){width:20%%} td:nth-child(3){width:19%%} td:nth-child(4){width:13%%}", c.between(2.5, 5), c.between(5, 10))
	content := c.heading(1, c.phrase()) + c.prose(2) + c.grid(c.anyRuling(), "", make([]string, 4), rows) + c.proses(3, 2, 4)
	c.put("%s", fit("", "", "flex:1 1 0", content)+c.pageFoot(c.count(2, 90)))
	c.closePage()
}

// composeIndex sets the index of a book: words with the numbers of pages, and others under them.
func composeIndex(c *composer) {
	c.size, c.justify, c.hyphens = c.between(8, 9.5), false, false
	c.openPage("")
	pages := func() string {
		out := make([]string, c.count(1, 4))
		for i := range out {
			out[i] = fmt.Sprint(c.count(3, 500))
		}
		return strings.Join(out, ", ")
	}
	words := make([]string, 130)
	for i := range words {
		words[i] = c.term()
	}
	slices.Sort(words)
	content, entry := c.heading(1, "Index"), `<div data-k="text" data-f="%s" style="margin-inline-start:%.1fem;text-indent:-1.2em">%s, %s</div>`
	for _, word := range words {
		content += fmt.Sprintf(entry, c.flow, 1.2, html.EscapeString(word), pages())
		for range choose(c.chance, 0, 0, 1, 2) {
			content += fmt.Sprintf(entry, c.flow, 2.4, html.EscapeString(c.pickWord("prep")+" "+c.term()), pages())
		}
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(c.count(2, 3)), content)+c.pageFoot(c.count(200, 600)))
	c.closePage()
}

// composePatent sets two columns with numbers of every fifth line between them.
func composePatent(c *composer) {
	c.resize(612, 792)
	c.size, c.justify, c.indent, c.hyphens, c.columnRule = c.between(8.6, 9.6), true, true, true, false
	height, lines := c.size*c.between(1.2, 1.32), 50
	c.gutter = c.between(26, 34)
	c.marginX, c.marginY = 72, 40
	c.rule(".fit{line-height:%.2fpt} .fit p{margin:0} .fit h2{font-size:100%%;margin:0;line-height:%.2fpt;text-align:center} .nums{position:absolute;left:0;right:0;top:0;text-align:center;font-size:85%%}", height, height)
	c.openPage("")
	first := c.count(1, 30)*2 - 1
	c.put(`<div class="head" style="justify-content:space-around">%s%s%s</div>`, c.line(KindPageNumber, "", fmt.Sprint(first)),
		c.line(KindHeader, "", fmt.Sprintf("US %d,%d B2", c.count(100, 999), c.count(100, 999))), c.line(KindPageNumber, "", fmt.Sprint(first+1)))
	content := ""
	for i := range 24 {
		if i%6 == 2 {
			content += c.heading(1, strings.ToUpper(c.phrase()))
		}
		content += c.prose(c.count(3, 6))
	}
	c.put(`<div style="position:relative">%s<div class="nums">`, fit("", "", fmt.Sprintf("height:%.2fpt;column-count:2;column-gap:%.1fpt;column-fill:auto", height*float64(lines), c.gutter), content))
	for n := 5; n < lines; n += 5 {
		c.put(`<div style="position:absolute;left:0;right:0;top:%.2fpt;line-height:%.2fpt" data-k="line_number" data-f="numbers">%d</div>`, height*float64(n-1), height, n)
	}
	c.put("</div></div>")
	c.closePage()
}

// composeColumnNotes sets two columns, each with its own notes at its foot.
func composeColumnNotes(c *composer) {
	c.size = c.between(8.6, 10)
	ids := []string{c.nextBox(), c.nextBox(), ""}
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 300)))
	c.put(`<div class="row grow" style="gap:%.1fpt">`, c.gutter)
	main := c.flow
	for column := range 2 {
		content := ""
		if column == 0 {
			content = c.heading(1, c.phrase()) + c.proses(12, 3, 6) + c.heading(2, c.phrase()) + c.proses(8, 3, 6)
		}
		c.put(`<div style="flex:1 1 0;min-width:0;display:flex;flex-direction:column">%s<div style="border-top:0.5pt solid #000;width:35%%;margin:5pt 0 3pt"></div><div style="font-size:80%%">`,
			fit(ids[column], ids[column+1], "flex:1 1 0", content))
		for note := range c.count(2, 4) {
			c.flow = fmt.Sprintf("notes%d", column)
			c.put("%s", c.block("div", KindFootnote, "", fmt.Sprintf("<sup>%d</sup> %s", column*4+note+1, c.escape(c.paragraph(c.count(1, 2))))))
		}
		c.flow = main
		c.put("</div></div>")
	}
	c.put("</div>")
	c.closePage()
}

// composeColumnTables sets two columns of text with tables of a column's width in them.
func composeColumnTables(c *composer) {
	c.size = c.between(8.6, 10)
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 300)))
	main, ruling := c.flow, c.anyRuling()
	content := ""
	for i := range 18 {
		if i%5 == 2 {
			c.beginFlow()
			plan := c.planTable(ruling)
			plan.rows, plan.columns, plan.wide = c.count(4, 8), c.count(2, 3), true
			content += `<div style="break-inside:avoid">` + c.line(KindCaption, "small", fmt.Sprintf("Table %d. %s", i/5+1, c.phrase())) + c.table(plan) + "</div>"
			c.flow = main
		}
		content += c.prose(c.count(3, 5))
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(2), c.heading(1, c.phrase())+content))
	c.closePage()
}

// composeMarginalia sets a text with notes in its margin.
func composeMarginalia(c *composer) {
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 300)))
	main, side, content := c.flow, choose(c.chance, "", "flex-direction:row-reverse;"), c.heading(1, c.phrase())
	for range 12 {
		text, note := strings.ReplaceAll(c.prose(c.count(3, 5)), " data-split", ""), ""
		if c.happens(0.7) {
			c.beginFlow()
			note = c.block("div", KindText, "tiny italic", c.escape(c.sentence()))
			c.flow = main
		}
		content += fmt.Sprintf(`<div class="row" style="gap:14pt;%s"><div style="flex:none;width:%.0fpt">%s</div><div style="flex:1 1 0;min-width:0">%s</div></div>`,
			side, c.pageWidth*0.15, note, text)
	}
	c.put("%s", fit("", "", "flex:1 1 0", content))
	c.closePage()
}
