package pagegen

import (
	"fmt"
	"html"
	"strings"
)

// trainTimes says how a timetable writes times.
type trainTimes struct {
	format string
	bold   bool // after noon
	none   []string
}

func planTimes(c *composer) trainTimes {
	return trainTimes{format: choose(c.chance, "%02d:%02d", "%d.%02d", "%02d%02d", "%d %02d", "%d:%02d"), bold: c.happens(0.3),
		none: choose(c.chance, []string{"…"}, []string{"|", "…"}, []string{""}, []string{"–", "–", "x"})}
}

// composeDepartures sets timetables of many narrow columns, with the trains' numbers and notes above the times.
func composeDepartures(c *composer) {
	if c.happens(0.5) {
		c.resize(842, 595)
	}
	c.size, c.leading = c.between(6.6, 8.6), c.between(1.08, 1.25)
	c.marginX = c.pageWidth * 0.05
	c.openPage("")
	c.put("%s", c.heading(1, fmt.Sprintf("%d  %s – %s", c.count(100, 999), choose(c.chance, townNames...), choose(c.chance, townNames...))))
	times, ruling := planTimes(c), choose(c.chance, Ruled, HalfRuled, HalfRuled, Plain)
	c.rule("table td,table th{padding:%.1fpt %.1fpt;white-space:nowrap}", c.between(0.3, 1.2), c.between(1.8, 4))
	if ruling == HalfRuled {
		c.rule("table{border-top:1pt solid #000;border-bottom:1pt solid #000} %s", choose(c.chance,
			"td.num,th.num{border-left:0.4pt solid #555}", "tr:nth-child(4n){border-bottom:0.4pt solid #666}", "tbody{border-top:0.5pt solid #000}"))
	}
	trains := c.count(6, max(7, int((c.pageWidth-2*c.marginX-105)/(c.size*3.3))))
	for range c.count(1, 3) {
		c.put("%s", departuresTable(c, ruling, times, trains))
	}
	notes := ""
	for _, mark := range []string{"A", "B", "x"} {
		notes += c.block("div", KindText, "tiny", mark+"  "+c.escape(c.sentence()))
	}
	c.beginFlow()
	c.put("%s", fit("", "", "flex:1 1 0", notes))
	c.closePage()
}

func departuresTable(c *composer, ruling Ruling, times trainTimes, trains int) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<table data-k="table" data-f="%s" data-ruling="%s" style="margin-bottom:10pt"><thead><tr><th>Train</th>`, c.flow, ruling)
	kilometres, number := c.happens(0.4), c.count(100, 6000)
	if kilometres {
		out.WriteString(`<th class="num">km</th>`)
	}
	for i := range trains {
		fmt.Fprintf(&out, `<th class="num">%d</th>`, number+2*i)
	}
	out.WriteString("</tr></thead><tbody>")
	start, distance := make([]int, trains), 0
	for i := range start {
		start[i] = 280 + i*c.count(40, 80)
	}
	for stop := range c.count(7, 16) {
		call := ""
		if stop == 0 {
			call = choose(c.chance, " dep.", "")
		}
		fmt.Fprintf(&out, "<tr><td>%s</td>", html.EscapeString(choose(c.chance, townNames...)+call))
		if kilometres {
			fmt.Fprintf(&out, `<td class="num">%d</td>`, distance)
		}
		distance += c.count(2, 19)
		for i := range start {
			start[i] += c.count(2, 14)
			text, weight := fmt.Sprintf(times.format, start[i]/60%24, start[i]%60), ""
			if times.bold && start[i] >= 720 {
				weight = " bold"
			}
			if c.happens(0.12) {
				text = choose(c.chance, times.none...)
			}
			fmt.Fprintf(&out, `<td class="num%s">%s</td>`, weight, text)
		}
		out.WriteString("</tr>")
	}
	return out.String() + "</tbody></table>"
}

// composeParishRegister sets a register of persons in tight boxes, whose cells take several lines.
func composeParishRegister(c *composer) {
	if c.happens(0.5) {
		c.resize(842, 595)
	}
	c.size, c.leading = c.between(7.5, 9.5), c.between(1.1, 1.25)
	c.openPage("")
	heads := []string{"No.", "Date", "Name", "Parents", "Abode", "Remarks"}
	if c.happens(0.4) {
		heads = []string{"No.", "When", "Name and surname", "Age", "Rank or profession", "Father's name", "Witnesses"}
	}
	rows := [][]string{heads}
	for i := range c.count(6, 14) {
		row := []string{fmt.Sprint(i + 1), c.date(), c.fullName(), c.fullName() + " and " + choose(c.chance, forenames...),
			choose(c.chance, townNames...), choose(c.chance, "", c.term(), c.phrase())}
		if len(heads) == 7 {
			row = []string{fmt.Sprint(i + 1), c.date(), c.fullName(), fmt.Sprint(c.count(18, 80)), c.pickWord("noun"), c.fullName(),
				c.fullName() + ", " + c.fullName()}
		}
		rows = append(rows, row)
	}
	c.rule("table td,table th{padding:%.1fpt %.1fpt} td:first-child,th:first-child{width:5%%}", c.between(0.5, 2.5), c.between(1.2, 3.5))
	css := "table-layout:fixed"
	if c.happens(0.5) {
		css += ";border:1.4pt solid #000"
	}
	content := c.heading(1, c.phrase()) + c.grid(Ruled, css, make([]string, len(heads)), rows) + c.proses(1, 1, 2)
	c.put("%s%s", c.runningHead(choose(c.chance, townNames...), c.count(2, 400)), fit("", "", "flex:1 1 0", content))
	c.closePage()
}

// composeStatement sets the statement of an account: payments with what they are for below each other.
func composeStatement(c *composer) {
	c.openPage("")
	c.flow = "head"
	c.put(`<div class="row" style="justify-content:space-between;margin-bottom:16pt">%s<div>`, c.block("div", KindText, "", c.address()))
	c.beginFlow()
	for _, label := range []string{"Account", "Sort code", "Statement date", "Page"}[:c.count(2, 4)] {
		value := fmt.Sprint(c.count(10000, 99999999))
		if label == "Statement date" {
			value = c.date()
		}
		c.put("%s", leaderRow(c, label, "min-width:10pt", value))
	}
	c.flow = "main"
	c.put("</div></div>%s", c.heading(2, choose(c.chance, "Your transactions", "Statement of account", "Current account")))
	rows := [][]string{{"Date", "Description", "Money out", "Money in", "Balance"}}
	day, month := 1, choose(c.chance, "Jan", "Mar", "Oct")
	rows = append(rows, []string{"", "Balance brought forward", "", "", c.amount(5)})
	for range c.count(8, 20) {
		day = min(28, day+c.IntN(3))
		out, in := c.amount(3), ""
		if c.happens(0.3) {
			out, in = "", c.amount(4)
		}
		text := strings.ToUpper(choose(c.chance, surnames...) + " " + c.pickWord("noun"))
		if c.happens(0.4) {
			text += fmt.Sprintf("\nRef. %d %s", c.count(1000, 999999), upperFirst(c.pickWord("noun")))
		}
		rows = append(rows, []string{fmt.Sprintf("%d %s", day, month), text, out, in, choose(c.chance, c.amount(5), c.amount(5), "")})
	}
	rows = append(rows, []string{"", "Balance carried forward", "", "", c.amount(5)})
	c.rule("td:first-child{white-space:nowrap}")
	content := c.grid(choose(c.chance, HalfRuled, HalfRuled, Plain, Ruled), "", []string{"", "", "num", "num", "num"}, rows)
	c.beginFlow()
	c.put("%s", fit("", "", "flex:1 1 0", content+c.proseOf("tiny flush", c.paragraph(4))))
	c.closePage()
}

// composePriceList sets tables of goods side by side, under the headings of their kinds.
func composePriceList(c *composer) {
	c.size, c.leading = c.between(7, 9), c.between(1.1, 1.3)
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 200)))
	c.put("%s", c.heading(1, c.phrase()))
	ruling, columns := c.anyRuling(), choose(c.chance, 1, 2, 2)
	c.rule("table td,table th{padding:%.1fpt %.1fpt}", c.between(0.6, 2), c.between(2.5, 5))
	c.put(`<div class="row" style="gap:%.1fpt">`, c.gutter+6)
	for range columns {
		c.beginFlow()
		inner := ""
		for range c.count(1, 3) {
			rows := [][]string{{"No.", "Article", "Unit", "Price"}}
			for range c.count(4, 10) {
				rows = append(rows, []string{fmt.Sprintf("%c%d-%02d", 'A'+rune(c.IntN(26)), c.count(10, 99), c.IntN(100)), upperFirst(c.term()),
					choose(c.chance, "each", "100", "kg", "doz."), c.amount(3)})
			}
			inner += c.heading(3, c.title()) + c.grid(ruling, "", []string{"", "", "", "num"}, rows)
		}
		c.put(`<div style="flex:1 1 0;min-width:0">%s</div>`, inner)
	}
	c.beginFlow()
	c.put("</div>%s", fit("", "", "flex:1 1 0", c.proses(2, 1, 3)))
	c.closePage()
}

// composeStandings sets small tables of results in columns, each under its heading.
func composeStandings(c *composer) {
	c.size, c.leading = c.between(6.5, 8.5), c.between(1.08, 1.25)
	c.marginX = c.pageWidth * 0.06
	columns, ruling := c.count(2, 3), choose(c.chance, Plain, Plain, HalfRuled)
	heads := []string{"", "P", "W", "D", "L", "Pts"}
	classes := []string{"", "num", "num", "num", "num", "num"}
	c.rule("table td,table th{padding:%.1fpt %.1fpt}", c.between(0.2, 1), c.between(2, 3.5))
	content := ""
	for range columns * 5 {
		c.beginFlow()
		heads[0] = choose(c.chance, "Team", "Club", "Side")
		rows := [][]string{heads}
		for range c.count(5, 10) {
			won, drawn, lost := c.count(0, 20), c.count(0, 9), c.count(0, 20)
			rows = append(rows, []string{choose(c.chance, townNames...), fmt.Sprint(won + drawn + lost), fmt.Sprint(won), fmt.Sprint(drawn), fmt.Sprint(lost),
				fmt.Sprint(3*won + drawn)})
		}
		content += spaced("margin-bottom:5pt", c.heading(3, c.title())+c.grid(ruling, "", classes, rows))
		if c.happens(0.3) {
			content += c.prose(c.count(2, 3))
		}
	}
	c.openPage("")
	c.put("%s", c.runningHead(c.phrase(), c.count(2, 60))+fit("", "", "flex:1 1 0;"+c.columns(columns), content))
	c.closePage()
}

// composeComparison sets a matrix of marks with rows that name what those below are about.
func composeComparison(c *composer) {
	c.openPage("")
	things := c.count(3, 6)
	marks := choose(c.chance, []string{"●", "○", "●"}, []string{"✓", "✓", "–"}, []string{"Y", "N", "Y*"}, []string{"+", "++", "–"})
	ruling := c.anyRuling()
	var out strings.Builder
	css := "width:100%;margin:6pt 0;"
	if ruling == HalfRuled {
		css += "border-top:1pt solid #000;border-bottom:1pt solid #000;"
		c.rule("tbody tr{border-bottom:0.4pt solid #888}")
	}
	fmt.Fprintf(&out, `<table data-k="table" data-f="%s" data-ruling="%s" style="%s"><thead><tr><th></th>`, c.flow, ruling, css)
	for i := range things {
		fmt.Fprintf(&out, `<th class="mid">%s</th>`, html.EscapeString(fmt.Sprintf("%s %c", upperFirst(c.pickWord("noun")), 'A'+rune(i))))
	}
	out.WriteString("</tr></thead><tbody>")
	grouped, shade := c.happens(0.6), choose(c.chance, "", "background:"+c.shade)
	for row := range c.count(8, 18) {
		if grouped && row%5 == 0 {
			fmt.Fprintf(&out, `<tr style="%s"><td colspan="%d" class="bold">%s</td></tr>`, shade, things+1, html.EscapeString(c.title()))
		}
		fmt.Fprintf(&out, "<tr><td>%s</td>", html.EscapeString(choose(c.chance, c.title(), c.title(), c.phrase())))
		for range things {
			fmt.Fprintf(&out, `<td class="mid">%s</td>`, choose(c.chance, marks...))
		}
		out.WriteString("</tr>")
	}
	out.WriteString("</tbody></table>")
	content := c.heading(1, c.phrase()) + c.prose(2) + out.String() + c.proses(3, 2, 4)
	c.put("%s", fit("", "", "flex:1 1 0", content)+c.pageFoot(c.count(2, 90)))
	c.closePage()
}

// composeTaxForm sets numbered lines of a form with boxes for the sums at their ends.
func composeTaxForm(c *composer) {
	c.size = c.between(7.5, 9.2)
	c.openPage("")
	c.put(`<div class="row" style="border-bottom:1.5pt solid #000;justify-content:space-between">%s%s</div>`,
		c.heading(0, fmt.Sprintf("Form %d", c.count(100, 9999))), c.heading(1, c.phrase()))
	dots, content, number := choose(c.chance, "border-bottom:1pt dotted #777", ""), "", 0
	box := choose(c.chance, "border:0.6pt solid #000", "border:solid #000;border-width:0 0.6pt 0.6pt")
	for part := range c.count(2, 4) {
		c.flow = fmt.Sprintf("part%d", part)
		content += fmt.Sprintf(`<div style="margin:5pt 0 2pt">%s</div>`, c.heading(2, fmt.Sprintf("Part %d  %s", part+1, c.phrase())))
		for range c.count(5, 10) {
			number++
			content += fmt.Sprintf(`<div class="row" data-k="text" data-f="%s"><b style="width:2em">%d </b><span style="max-width:70%%">%s </span>`+
				`<span style="flex:1;%s;margin:0 4pt 3pt"></span><span style="width:2em;%s;text-align:center">%d</span> <span style="width:7em;%s;text-align:end;padding:1.5pt 3pt">%s</span></div>`,
				c.flow, number, c.escape(choose(c.chance, c.phrase(), c.sentence())), dots, box, number, box, choose(c.chance, c.amount(4), c.amount(5)))
		}
	}
	c.put("%s", fit("", "", "flex:1 1 0", content))
	c.closePage()
}
