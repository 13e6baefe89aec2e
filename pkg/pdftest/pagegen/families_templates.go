package pagegen

import (
	"fmt"
	"html"
	"strings"
)

// composeCurriculum sets a life: a name and where to write to in the middle, and under headings what was done, with
// places and years at the right edge, or years in a column on the left.
func composeCurriculum(c *composer) {
	c.openPage("")
	c.justify = false
	c.flow = "head"
	c.put(`<div class="center">%s%s</div>`, c.heading(0, c.fullName()), c.line(KindText, "small", c.street()+" · "+c.phone()+" · "+choose(c.chance, townNames...)))
	ends := c.happens(0.6)
	c.rule(".ends{display:flex;justify-content:space-between;gap:8pt} .years{display:grid;grid-template-columns:%.0fpt 1fr;gap:0 10pt} h2{border-bottom:%s}",
		c.between(70, 95), choose(c.chance, "none", "0.6pt solid #000"))
	c.put(`<div data-fit="" class="fit" style="flex:1 1 0">`)
	for section := range c.count(2, 4) {
		c.flow = fmt.Sprintf("section%d", section)
		c.put("%s", c.heading(1, choose(c.chance, "Employment", "Education", "Experience", "Service", "Projects")))
		for range c.count(2, 4) {
			c.put("%s", curriculumEntry(c, ends))
		}
	}
	c.put("</div>")
	c.closePage()
}

// curriculumEntry returns what was done in some years.
func curriculumEntry(c *composer, ends bool) string {
	first := c.count(1975, 2015)
	years := fmt.Sprintf("%d – %d", first, first+c.count(1, 8))
	what := c.line(KindText, "bold", upperFirst(c.phrase()))
	place, text := pickCompany(c), ""
	if c.happens(0.6) {
		text = c.proseOf("flush", c.paragraph(c.count(2, 3)))
	} else {
		for range c.count(2, 3) {
			text += c.listItem(1, "•", c.sentence())
		}
	}
	if ends {
		return fmt.Sprintf(`<div class="ends">%s%s</div><div class="ends">%s%s</div>%s`, what, c.line(KindText, "italic", years), c.line(KindText, "", place),
			c.line(KindText, "", choose(c.chance, townNames...)), text)
	}
	return fmt.Sprintf(`<div class="years">%s<div>%s%s%s</div></div>`, c.line(KindText, "", years), what, c.line(KindText, "italic", place), text)
}

// pickCompany returns the name of a firm.
func pickCompany(c *composer) string {
	return choose(c.chance, surnames...) + " & " + choose(c.chance, surnames...) + ", " + choose(c.chance, townNames...)
}

// composeTableAcross sets an article in two columns below the names of its authors side by side and a table across both
// columns.
func composeTableAcross(c *composer) {
	c.size, c.justify = c.between(8.4, 10), c.happens(0.8)
	c.openPage("")
	c.put(`<div class="center">%s</div>`, c.heading(0, c.phrase()))
	c.put(`<div class="row center" style="justify-content:center;gap:%.0fpt;margin-bottom:8pt">`, c.between(20, 50))
	for author := range c.count(1, 3) {
		c.flow = fmt.Sprintf("author%d", author)
		c.put(`<div>%s%s</div>`, c.line(KindText, "", c.fullName()), c.line(KindText, "small italic", "University of "+choose(c.chance, townNames...)))
	}
	c.put("</div>")
	c.flow = "table"
	plan := c.planTable(choose(c.chance, HalfRuled, HalfRuled, Plain))
	plan.wide, plan.columns, plan.groups = c.happens(0.5), c.count(4, 7), false
	caption := c.line(KindCaption, "small", fmt.Sprintf("Table %d. %s", c.count(1, 4), c.sentence()))
	c.put(`<div style="margin:0 auto 8pt;%s">%s%s</div>`, map[bool]string{true: "width:100%", false: ""}[plan.wide], caption, c.table(plan))
	c.flow = "main"
	var text strings.Builder
	for range 8 {
		text.WriteString(c.heading(2, c.phrase()) + c.proses(c.count(2, 4), 2, 5))
	}
	c.put("%s", fit("", "", "flex:1 1 0;"+c.columns(2), text.String()))
	c.closePage()
}

// composeOrder sets an order or an invoice as templates have them: two addresses side by side, items with or without
// rules, and notes beside the sums.
func composeOrder(c *composer) {
	c.justify = false
	c.openPage("")
	c.flow = "head"
	c.put(`<div class="row" style="justify-content:space-between;margin-bottom:14pt">%s%s</div>`, c.block("div", KindText, "", c.address()),
		c.heading(0, choose(c.chance, "Order", "Delivery note", "INVOICE", "Quotation")))
	c.put(`<div class="row" style="gap:24pt;margin-bottom:14pt">`)
	for _, label := range []string{"Bill to", "Ship to"} {
		c.flow = label
		c.put(`<div class="grow">%s%s</div>`, c.line(KindText, "small", label), c.block("div", KindText, "", c.address()))
	}
	c.put("</div>")
	c.flow = "main"
	c.put("%s", orderTable(c))
	c.put(`<div class="row" style="gap:30pt;margin-top:%.0fpt"><div class="grow">`, c.between(4, 14))
	c.flow = "notes"
	c.put("%s%s</div>", c.heading(3, "Notes"), c.proseOf("flush", c.paragraph(c.count(2, 3))))
	c.flow = "sums"
	c.put(`<table data-k="table" data-f="sums" data-ruling="plain" data-optional style="width:%.0f%%">`, c.between(32, 42))
	for _, label := range []string{"Subtotal", "VAT 20 %", "Shipping", "Total"}[:c.count(3, 4)] {
		c.put(`<tr><td>%s</td><td class="num">%s</td></tr>`, label, c.amount(4))
	}
	c.put("</table></div>")
	c.flow = "terms"
	c.put("%s", fit("", "", "flex:1 1 0;margin-top:14pt", c.heading(2, "Terms")+c.proses(2, 1, 3)))
	c.closePage()
}

// orderTable returns the items of an order.
func orderTable(c *composer) string {
	ruling := choose(c.chance, Ruled, HalfRuled, Plain, Plain)
	border := map[Ruling]string{HalfRuled: "border-bottom:0.6pt solid #666;"}[ruling]
	var out strings.Builder
	fmt.Fprintf(&out, `<table data-k="table" data-f="%s" data-ruling="%s" style="width:100%%"><thead><tr style="%s">`, c.flow, ruling, border)
	if c.happens(0.5) {
		c.rule("thead tr{background:%s}", c.shade)
	}
	for i, head := range []string{"Item", "Quantity", "Rate", "Amount"} {
		fmt.Fprintf(&out, `<th class="%s">%s</th>`, map[bool]string{true: "num"}[i > 0], head)
	}
	out.WriteString("</tr></thead><tbody>")
	unit := choose(c.chance, "", " h", " kg", " ×")
	for range c.count(3, 9) {
		text := c.phrase()
		if c.happens(0.3) {
			text += ", " + c.phrase()
		}
		fmt.Fprintf(&out, `<tr style="%s"><td>%s</td><td class="num">%d%s</td><td class="num">%s</td><td class="num">%s</td></tr>`, border, html.EscapeString(upperFirst(text)),
			c.count(1, 40), unit, c.amount(3), c.amount(4))
	}
	out.WriteString("</tbody></table>")
	return out.String()
}

// composeAgenda sets what a meeting is about: who is there, numbered items with texts and who sees to them, or the
// times of a day with talks and who gives them.
func composeAgenda(c *composer) {
	c.openPage("")
	c.justify = c.happens(0.3)
	c.flow = "head"
	c.put("%s%s", c.heading(0, c.phrase()), c.line(KindText, "", c.date()))
	timed, seen := c.happens(0.5), c.happens(0.5)
	c.rule(".item{display:grid;grid-template-columns:%.0fpt 1fr %.0fpt;gap:0 8pt;margin-bottom:%.0fpt} .item p{margin:0;text-indent:0}",
		map[bool]float64{true: 58, false: 22}[timed], map[bool]float64{true: 70, false: 0}[seen], c.between(5, 14))
	c.put(`<div data-fit="" class="fit" style="flex:1 1 0">`)
	hour, title := 8, func(text string) string { return c.line(KindText, "", text) }
	if c.happens(0.5) {
		c.rule(".item h4{margin:0}")
		title = func(text string) string { return c.heading(3, text) }
	}
	for i := range c.count(5, 9) {
		c.flow = fmt.Sprintf("item%d", i)
		label := fmt.Sprint(i + 1)
		if timed {
			hour += c.count(0, 1)
			label = fmt.Sprintf("%d.%02d", hour, 10*c.count(0, 5))
		}
		text := c.proseOf("flush", c.paragraph(c.count(1, 4)))
		if c.happens(0.2) {
			text = ""
		}
		who := ""
		if seen && c.happens(0.6) {
			who = c.line(KindText, "bold", choose(c.chance, surnames...))
		}
		c.put(`<div class="item">%s<div>%s%s</div><div>%s</div></div>`, c.line(KindText, "", label), title(upperFirst(c.phrase())), text, who)
	}
	c.put("</div>")
	c.closePage()
}
