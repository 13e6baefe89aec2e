package pagegen

import (
	"fmt"
	"html"
	"strings"
)

// tablePlan says what a table is like.
type tablePlan struct {
	ruling      Ruling
	rows        int
	columns     int // of numbers, beside that of the labels
	spanHeads   bool
	groups      bool // some rows are headings of those below
	longLabels  bool // labels may take several lines
	total       bool
	wide        bool // as wide as what it stands in
	placedWords bool // cells hold words rather than numbers
	optional    bool
}

// planTable makes up a table of a ruling.
func (c *composer) planTable(ruling Ruling) tablePlan {
	return tablePlan{ruling: ruling, rows: c.count(4, 14), columns: c.count(2, 6), spanHeads: c.happens(0.4),
		groups: c.happens(0.25), longLabels: c.happens(0.3), total: c.happens(0.4), wide: c.happens(0.6),
		placedWords: c.happens(0.2)}
}

// table returns a table.
func (c *composer) table(plan tablePlan) string {
	var out strings.Builder
	css := "margin:4pt 0 8pt;"
	if plan.wide {
		css += "width:100%;"
	}
	optional := ""
	if plan.optional {
		optional = " data-optional"
	}
	border := ""
	if plan.ruling == HalfRuled {
		css += "border-top:1pt solid #000;border-bottom:1pt solid #000;"
		border = "border-bottom:0.6pt solid #000;"
	}
	fmt.Fprintf(&out, `<table data-k="table" data-f="%s" data-ruling="%s"%s style="%s">`, c.flow, plan.ruling, optional, css)
	c.writeTableHead(&out, plan, border)
	out.WriteString("<tbody>")
	number := c.numberMaker()
	striped := plan.ruling != Ruled && c.happens(0.2)
	for row := range plan.rows {
		if plan.groups && row%5 == 0 {
			fmt.Fprintf(&out, `<tr><td colspan="%d" class="bold">%s</td></tr>`, plan.columns+1, html.EscapeString(upperFirst(c.term())))
		}
		shade := ""
		if striped && row%2 == 1 {
			shade = "background:" + c.shade
		}
		fmt.Fprintf(&out, `<tr style="%s"><td>%s</td>`, shade, html.EscapeString(c.rowLabel(plan)))
		c.writeCells(&out, plan, number)
		out.WriteString("</tr>")
	}
	if plan.total {
		fmt.Fprintf(&out, `<tr style="font-weight:bold;border-top:%s"><td>Total</td>`,
			map[bool]string{true: "0.6pt solid #000", false: "none"}[plan.ruling != Plain])
		plan.placedWords = false
		c.writeCells(&out, plan, number)
		out.WriteString("</tr>")
	}
	out.WriteString("</tbody></table>")
	return out.String()
}

func (c *composer) writeCells(out *strings.Builder, plan tablePlan, number func() string) {
	for column := range plan.columns {
		if plan.placedWords && column%2 == 0 {
			fmt.Fprintf(out, "<td>%s</td>", html.EscapeString(c.pickWord("noun")))
			continue
		}
		fmt.Fprintf(out, `<td class="num">%s</td>`, number())
	}
}

func (c *composer) writeTableHead(out *strings.Builder, plan tablePlan, border string) {
	shade := ""
	if c.happens(0.3) {
		shade = "background:" + c.shade + ";"
	}
	out.WriteString("<thead>")
	if plan.spanHeads && plan.columns >= 4 {
		fmt.Fprintf(out, `<tr style="%s"><th rowspan="2">%s</th>`, shade, html.EscapeString(upperFirst(c.pickWord("noun"))))
		half := plan.columns / 2
		for _, span := range []int{half, plan.columns - half} {
			fmt.Fprintf(out, `<th colspan="%d" class="mid">%s</th>`, span, html.EscapeString(upperFirst(c.term())))
		}
		fmt.Fprintf(out, `</tr><tr style="%s%s">`, shade, border)
	} else {
		fmt.Fprintf(out, `<tr style="%s%s"><th>%s</th>`, shade, border, html.EscapeString(upperFirst(c.pickWord("noun"))))
	}
	years, first := c.happens(0.4), c.count(1950, 2015)
	for column := range plan.columns {
		text := upperFirst(c.pickWord("noun"))
		if years {
			text = fmt.Sprint(first + column)
		}
		class := "num"
		if plan.placedWords && column%2 == 0 {
			class = ""
		}
		fmt.Fprintf(out, `<th class="%s">%s</th>`, class, html.EscapeString(text))
	}
	out.WriteString("</tr></thead>")
}

func (c *composer) rowLabel(plan tablePlan) string {
	if plan.longLabels && c.happens(0.3) {
		return c.phrase() + " " + c.pickWord("prep") + " " + c.pickWord("noun")
	}
	return upperFirst(c.term())
}

// numberMaker returns a source of numbers that look alike.
func (c *composer) numberMaker() func() string {
	digits, kind := c.count(2, 6), c.IntN(5)
	return func() string {
		if c.happens(0.04) {
			return choose(c.chance, "–", "n/a", "–")
		}
		n := c.IntN(pow10(digits))
		switch kind {
		case 0:
			return fmt.Sprint(n)
		case 1:
			return groupThousands(n)
		case 2:
			return fmt.Sprintf("%d.%02d", n/100, n%100)
		case 3:
			return fmt.Sprintf("%d.%d%%", c.IntN(100), c.IntN(10))
		default:
			if c.happens(0.2) {
				return fmt.Sprintf("(%s)", groupThousands(n))
			}
			return groupThousands(n)
		}
	}
}
