package pagegen

import (
	"fmt"
	"html"
	"strings"
)

func composeLetter(c *composer) {
	c.openPage("")
	company := choose(c.chance, surnames...) + " & " + choose(c.chance, surnames...) + choose(c.chance, " Ltd", " Partners", " GmbH")
	c.flow = "letterhead"
	c.put(`<div style="text-align:%s;margin-bottom:26pt">%s%s</div>`, choose(c.chance, "left", "center", "right"),
		c.line(KindText, "bold", company), c.line(KindText, "small", c.street()+" · "+choose(c.chance, townNames...)+" · Tel. "+c.phone()))
	c.flow = "main"
	c.put(`<div class="row" style="justify-content:space-between;margin-bottom:22pt">%s%s</div>`, c.block("div", KindText, "", c.address()),
		c.block("div", KindText, "", html.EscapeString(c.date())))
	c.put("%s", c.block("div", KindText, "bold", html.EscapeString(choose(c.chance, "Re: ", "Subject: ", "")+c.phrase())))
	content := `<div style="height:8pt"></div>` + c.block("div", KindText, "", "Dear "+html.EscapeString(c.fullName())+",") + `<div style="height:6pt"></div>` +
		c.proses(c.count(3, 6), 2, 5)
	if c.happens(0.4) {
		for i := range c.count(2, 4) {
			content += c.listItem(1, fmt.Sprintf("%d.", i+1), c.sentence())
		}
		content += c.prose(2)
	}
	content += `<div style="height:10pt"></div>` + c.block("div", KindText, "", "Yours sincerely,") + `<div style="height:34pt"></div>` +
		c.block("div", KindText, "", html.EscapeString(c.fullName())+"<br>"+html.EscapeString(upperFirst(c.term())))
	c.put("%s", fit("", "", "flex:1 1 0", content))
	if c.happens(0.6) {
		c.put(`<div class="row tiny" style="justify-content:space-between;border-top:0.5pt solid #999;padding-top:4pt">%s%s%s</div>`, c.line(KindFooter, "", company),
			c.line(KindFooter, "", "Account "+c.phone()+" "+c.phone()), c.line(KindFooter, "", "Register "+fmt.Sprint(c.count(1000, 99999))))
	}
	c.closePage()
}

func composeInvoice(c *composer) {
	c.openPage("")
	c.flow = "head"
	c.put(`<div class="row" style="justify-content:space-between">%s%s</div>`, c.block("div", KindText, "", c.address()), c.heading(0, choose(c.chance, "Invoice", "INVOICE", "Order confirmation", "Statement")))
	c.flow = "facts"
	c.put(`<div class="row" style="justify-content:space-between;margin:16pt 0">%s<div>`, c.block("div", KindText, "", c.address()))
	for _, label := range []string{"Number", "Date", "Customer", "Due"}[:c.count(2, 4)] {
		value := fmt.Sprint(c.count(1000, 999999))
		if label == "Date" || label == "Due" {
			value = c.date()
		}
		c.put(`<div class="row" style="gap:12pt;justify-content:space-between">%s%s</div>`, c.line(KindText, "", label+":"), c.line(KindText, "", value))
	}
	c.put("</div></div>")
	c.flow = "main"
	c.put("%s", c.invoiceTable())
	c.put("%s", fit("", "", "flex:1 1 0;margin-top:14pt", c.proses(2, 1, 3)))
	c.put("%s", c.line(KindFooter, "tiny center", "Account "+c.phone()+" "+c.phone()+" · "+choose(c.chance, townNames...)+" Bank"))
	c.closePage()
}

func (c *composer) invoiceTable() string {
	ruling := choose(c.chance, Ruled, HalfRuled, HalfRuled, Plain)
	var out strings.Builder
	border := map[Ruling]string{HalfRuled: "border-bottom:0.6pt solid #666;"}[ruling]
	fmt.Fprintf(&out, `<table data-k="table" data-f="%s" data-ruling="%s" style="width:100%%"><thead><tr style="%s">`, c.flow, ruling, border)
	if c.happens(0.4) {
		c.rule("thead tr{background:%s}", c.shade)
	}
	for i, head := range []string{"Pos", "Description", "Qty", "Price", "Amount"} {
		class := "num"
		if i == 1 {
			class = ""
		}
		fmt.Fprintf(&out, `<th class="%s">%s</th>`, class, head)
	}
	out.WriteString("</tr></thead><tbody>")
	for row := range c.count(3, 12) {
		text := html.EscapeString(c.phrase())
		if c.happens(0.35) {
			text += "<br>" + html.EscapeString(c.sentence())
		}
		fmt.Fprintf(&out, `<tr style="%s"><td class="num">%d</td><td>%s</td><td class="num">%d</td><td class="num">%s</td><td class="num">%s</td></tr>`, border, row+1, text,
			c.count(1, 40), c.amount(3), c.amount(4))
	}
	for _, label := range []string{"Net", "VAT 20 %", "Total"} {
		fmt.Fprintf(&out, `<tr><td colspan="4" class="num">%s</td><td class="num">%s</td></tr>`, label, c.amount(5))
	}
	out.WriteString("</tbody></table>")
	return out.String()
}

// form composes fields, each in a box or before a line.
type form struct {
	*composer
	boxed bool
}

func composeForm(c *composer) {
	c.openPage("")
	c.put("%s", c.heading(0, c.phrase()))
	c.put("%s", c.proseOf("flush", c.paragraph(2)))
	f := form{c, c.happens(0.5)}
	if f.boxed {
		c.rule(".field{border:0.6pt solid #333;padding:2pt 4pt;min-height:26pt}")
	} else {
		c.rule(".field{padding:2pt 0;min-height:22pt} .value{border-bottom:0.6pt solid #333;flex:1;margin-left:6pt}")
	}
	c.put(`<div data-fit="" class="fit" style="flex:1 1 0">`)
	for section := range c.count(2, 4) {
		c.flow = fmt.Sprintf("section%d", section)
		c.put("%s", c.heading(2, fmt.Sprintf("%d. %s", section+1, c.phrase())))
		for range c.count(3, 6) {
			c.put(`<div class="row" style="gap:%s">`, map[bool]string{true: "0", false: "12pt"}[f.boxed])
			for range c.count(1, 3) {
				c.put(`<div class="field" style="flex:%d 1 0">%s</div>`, c.count(1, 3), f.field())
			}
			c.put("</div>")
		}
		if c.happens(0.5) {
			c.put(`<div style="margin-top:6pt">`)
			for range c.count(2, 4) {
				c.put("%s", c.block("div", KindText, "small", choose(c.chance, "☐ ", "☒ ", "☐ ")+html.EscapeString(c.sentence())))
			}
			c.put("</div>")
		}
	}
	c.put(`</div><div class="row" style="justify-content:space-between">%s%s</div>`, c.line(KindText, "", "Date: ____________"), c.line(KindText, "", "Signature: ____________________"))
	c.closePage()
}

func (f form) field() string {
	label := upperFirst(f.term())
	value := choose(f.chance, f.fullName(), f.date(), f.phone(), choose(f.chance, townNames...), "")
	if f.boxed {
		out := f.line(KindText, "tiny", label)
		if value != "" {
			out += f.line(KindText, "", value)
		}
		return out
	}
	inner := html.EscapeString(label) + `: <span class="value">` + html.EscapeString(value) + `</span>`
	return f.block("div", KindText, "row", inner)
}

func composeLedger(c *composer) {
	c.size = c.between(8, 10)
	c.openPage("")
	if c.happens(0.7) {
		c.put("%s", c.runningHead("Ledger "+fmt.Sprint(c.count(1900, 2020)), c.count(1, 300)))
	}
	c.put("%s", c.heading(1, "Account of "+c.fullName()))
	ruling := choose(c.chance, Ruled, HalfRuled, Plain)
	line := ""
	if ruling == HalfRuled {
		line = "border-bottom:0.4pt solid #999;"
	}
	c.put(`<div class="fit" style="flex:1 1 0"><table data-k="table" data-f="main" data-ruling="%s" style="width:100%%"><thead><tr style="%s">`, ruling, line)
	for i, head := range []string{"Date", "Particulars", "Folio", "Debit", "Credit", "Balance"} {
		c.put(`<th class="%s">%s</th>`, map[bool]string{true: "num", false: ""}[i > 1], head)
	}
	c.put("</tr></thead><tbody>")
	rows := int((c.pageHeight - 2*c.marginY - 70) / (c.size*c.leading*0.92 + 4.4))
	for range c.count(rows/2, rows) {
		debit, credit := c.amount(5), ""
		if c.happens(0.5) {
			debit, credit = credit, debit
		}
		c.put(`<tr style="%s"><td style="white-space:nowrap">%02d.%02d.</td><td style="white-space:nowrap">%s</td><td class="num">%d</td><td class="num">%s</td><td class="num">%s</td><td class="num">%s</td></tr>`, line,
			c.count(1, 28), c.count(1, 12), html.EscapeString(upperFirst(c.term())), c.count(1, 99), debit, credit, c.amount(6))
	}
	c.put("</tbody></table></div>")
	c.closePage()
}

func composeReceipt(c *composer) {
	c.resize(c.between(190, 250), c.between(420, 760))
	c.marginX, c.marginY = 12, 14
	c.size = c.between(8, 9.5)
	if c.happens(0.6) {
		c.bodyFont = c.monoFont
		c.size = c.between(6.5, 7.5)
	}
	c.openPage("")
	c.put(`<div class="center">%s%s%s</div>`, c.line(KindText, "bold", strings.ToUpper(choose(c.chance, townNames...))+" MARKET"), c.line(KindText, "", c.street()),
		c.line(KindText, "", "Tel. "+c.phone()))
	c.put(`<div style="margin:6pt 0">%s</div>`, c.line(KindText, "", c.date()+" "+fmt.Sprintf("%02d:%02d", c.count(8, 20), c.IntN(60))))
	c.put(`<table data-k="table" data-optional data-ruling="plain" style="width:100%%;font-size:100%%" data-f="main"><tbody>`)
	for range c.count(4, 18) {
		item := strings.ToUpper(c.pickWord("noun"))
		if c.happens(0.3) {
			item = fmt.Sprintf("%d x %s", c.count(2, 9), item)
		}
		c.put(`<tr><td style="padding:1pt 0">%s</td><td class="num" style="padding:1pt 0">%s</td></tr>`, html.EscapeString(item), c.amount(2))
	}
	for _, label := range []string{"SUBTOTAL", "TAX", "TOTAL", "CASH"} {
		c.put(`<tr class="bold"><td style="padding:1pt 0">%s</td><td class="num" style="padding:1pt 0">%s</td></tr>`, label, c.amount(3))
	}
	c.put(`</tbody></table><div class="center" style="margin-top:10pt">%s</div>`, c.line(KindText, "", "Thank you for your visit"))
	c.closePage()
}

func composeTimetable(c *composer) {
	if c.happens(0.4) {
		c.resize(842, 595)
	}
	c.size = c.between(7.5, 9.5)
	c.openPage("")
	c.put("%s", c.heading(1, choose(c.chance, townNames...)+" – "+choose(c.chance, townNames...)))
	for range c.count(1, 2) {
		c.put("%s", c.heading(3, choose(c.chance, "Mondays to Fridays", "Saturdays", "Sundays and holidays")))
		ruling := choose(c.chance, Ruled, HalfRuled, Plain, Plain)
		trains := c.count(5, int((c.pageWidth-2*c.marginX-110)/(c.size*3.4)))
		c.put(`<table data-k="table" data-f="main" data-ruling="%s" style="margin-bottom:12pt;%s"><tbody>`, ruling,
			map[bool]string{true: "border-top:1pt solid #000;border-bottom:1pt solid #000", false: ""}[ruling == HalfRuled])
		start := make([]int, trains)
		for i := range start {
			start[i] = 300 + i*c.count(35, 90)
		}
		for stop := range c.count(6, 14) {
			shade := ""
			if stop%2 == 1 && ruling == HalfRuled {
				shade = "background:" + c.shade
			}
			c.put(`<tr style="%s"><td style="white-space:nowrap">%s</td>`, shade, choose(c.chance, townNames...))
			for i := range start {
				start[i] += c.count(2, 14)
				text := fmt.Sprintf("%02d%s%02d", start[i]/60%24, choose(c.chance, ":", ":"), start[i]%60)
				if c.happens(0.08) {
					text = choose(c.chance, "…", "|", "–")
				}
				c.put(`<td class="num" style="padding-left:3pt;padding-right:3pt">%s</td>`, text)
			}
			c.put("</tr>")
		}
		c.put("</tbody></table>")
	}
	c.put("%s", fit("", "", "flex:1 1 0", c.proseOf("small flush", c.paragraph(2))))
	c.closePage()
}
