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

// anyRuling returns one of the rulings.
func (c chance) anyRuling() Ruling { return choose(c, Ruled, HalfRuled, Plain) }

// planTable makes up a table of a ruling.
func (c chance) planTable(ruling Ruling) tablePlan {
	return tablePlan{ruling: ruling, rows: c.count(4, 14), columns: c.count(2, 6), spanHeads: c.happens(0.4),
		groups: c.happens(0.25), longLabels: c.happens(0.3), total: c.happens(0.4), wide: c.happens(0.6),
		placedWords: c.happens(0.2)}
}

// table returns a table.
func (c *composer) table(plan tablePlan) string {
	t := tableWriter{composer: c, plan: plan}
	t.writeTable()
	return t.out.String()
}

// tableWriter writes one table.
type tableWriter struct {
	*composer
	plan tablePlan
	out  strings.Builder
}

func (t *tableWriter) writeTable() {
	css := "margin:4pt 0 8pt;"
	if t.plan.wide {
		css += "width:100%;"
	}
	optional := ""
	if t.plan.optional {
		optional = " data-optional"
	}
	border := ""
	if t.plan.ruling == HalfRuled {
		css += "border-top:1pt solid #000;border-bottom:1pt solid #000;"
		border = "border-bottom:0.6pt solid #000;"
	}
	fmt.Fprintf(&t.out, `<table data-k="table" data-f="%s" data-ruling="%s"%s style="%s">`, t.flow, t.plan.ruling, optional, css)
	t.writeHead(border)
	t.out.WriteString("<tbody>")
	number := t.numberMaker()
	striped := t.plan.ruling != Ruled && t.happens(0.2)
	for row := range t.plan.rows {
		if t.plan.groups && row%5 == 0 {
			fmt.Fprintf(&t.out, `<tr><td colspan="%d" class="bold">%s</td></tr>`, t.plan.columns+1, html.EscapeString(upperFirst(t.term())))
		}
		shade := ""
		if striped && row%2 == 1 {
			shade = "background:" + t.shade
		}
		fmt.Fprintf(&t.out, `<tr style="%s"><td>%s</td>`, shade, html.EscapeString(t.rowLabel()))
		t.writeCells(number)
		t.out.WriteString("</tr>")
	}
	if t.plan.total {
		fmt.Fprintf(&t.out, `<tr style="font-weight:bold;border-top:%s"><td>Total</td>`,
			map[bool]string{true: "0.6pt solid #000", false: "none"}[t.plan.ruling != Plain])
		t.plan.placedWords = false
		t.writeCells(number)
		t.out.WriteString("</tr>")
	}
	t.out.WriteString("</tbody></table>")
}

func (t *tableWriter) writeCells(number func() string) {
	for column := range t.plan.columns {
		if t.plan.placedWords && column%2 == 0 {
			fmt.Fprintf(&t.out, "<td>%s</td>", html.EscapeString(t.pickWord("noun")))
			continue
		}
		fmt.Fprintf(&t.out, `<td class="num">%s</td>`, number())
	}
}

func (t *tableWriter) writeHead(border string) {
	shade := ""
	if t.happens(0.3) {
		shade = "background:" + t.shade + ";"
	}
	t.out.WriteString("<thead>")
	if t.plan.spanHeads && t.plan.columns >= 4 {
		fmt.Fprintf(&t.out, `<tr style="%s"><th rowspan="2">%s</th>`, shade, html.EscapeString(upperFirst(t.pickWord("noun"))))
		half := t.plan.columns / 2
		for _, span := range []int{half, t.plan.columns - half} {
			fmt.Fprintf(&t.out, `<th colspan="%d" class="mid">%s</th>`, span, html.EscapeString(upperFirst(t.term())))
		}
		fmt.Fprintf(&t.out, `</tr><tr style="%s%s">`, shade, border)
	} else {
		fmt.Fprintf(&t.out, `<tr style="%s%s"><th>%s</th>`, shade, border, html.EscapeString(upperFirst(t.pickWord("noun"))))
	}
	years, first := t.happens(0.4), t.count(1950, 2015)
	for column := range t.plan.columns {
		text := upperFirst(t.pickWord("noun"))
		if years {
			text = fmt.Sprint(first + column)
		}
		class := "num"
		if t.plan.placedWords && column%2 == 0 {
			class = ""
		}
		fmt.Fprintf(&t.out, `<th class="%s">%s</th>`, class, html.EscapeString(text))
	}
	t.out.WriteString("</tr></thead>")
}

func (t *tableWriter) rowLabel() string {
	if t.plan.longLabels && t.happens(0.3) {
		return t.phrase() + " " + t.pickWord("prep") + " " + t.pickWord("noun")
	}
	return upperFirst(t.term())
}
