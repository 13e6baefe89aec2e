package pagegen

import (
	"fmt"
	"strings"
)

// officeFamilies are set by LibreOffice.
var officeFamilies = []Family{
	{Name: "office-report", composeODT: composeOfficeReport, languages: latin, Tables: true},
	{Name: "office-newsletter", composeODT: composeOfficeNewsletter, languages: latin},
	{Name: "office-letter", composeODT: composeOfficeLetter, languages: latin},
	{Name: "office-minutes", composeODT: composeOfficeMinutes, languages: latin, Tables: true},
	{Name: "office-manual", composeODT: composeOfficeManual, languages: latin, Tables: true},
	{Name: "office-resume", composeODT: composeOfficeResume, languages: latin},
}

// composeOfficeReport sets sections of three levels with lists, notes, tables and figures over several pages.
func composeOfficeReport(c *odtComposer) {
	c.header = choose(c.chance, "", c.phrase())
	c.plainTitle(c.phrase())
	c.plain(KindText, "Line", c.fullName()+", "+c.date())
	figures, tables := 0, 0
	for range c.count(3, 5) {
		c.heading(1, c.phrase())
		c.proses(c.count(1, 3), 2, 5)
		if c.happens(0.4) {
			c.noted(c.count(2, 5))
		}
		for range c.count(0, 3) {
			c.heading(2, c.phrase())
			c.proses(c.count(1, 2), 2, 5)
			switch c.IntN(5) {
			case 0, 1:
				c.list(c.happens(0.4), 1)
			case 2:
				tables++
				c.captionedTable(choose(c.chance, Ruled, HalfRuled, Plain), tables)
			case 3:
				c.heading(3, c.phrase())
				c.prose(c.count(2, 4))
			default:
				figures++
				c.picture(c.between(150, 260), figures)
			}
		}
	}
}

func (c *odtComposer) plainTitle(text string) {
	start, end := c.begin(KindTitle, 1, text)
	c.put(`<text:p text:style-name="Title">%s%s%s</text:p>`, start, escapeXML(text), end)
}

// composeOfficeNewsletter sets articles in sections of one to three columns, with frames that the text flows around.
func composeOfficeNewsletter(c *odtComposer) {
	c.marginX = c.pageWidth * c.between(0.05, 0.1)
	c.numbered = false
	c.plainTitle("The " + choose(c.chance, townNames...) + " " + choose(c.chance, "Letter", "Bulletin", "Review", "Messenger"))
	c.plain(KindText, choose(c.chance, "Right", "Centre"), fmt.Sprintf("%s, No. %d", c.date(), c.count(1, 400)))
	for range c.count(2, 4) {
		end := c.beginFlow()
		c.heading(1, c.phrase())
		columns := c.count(1, 3)
		if columns > 1 {
			c.beginSection(columns, c.happens(0.7))
		}
		for range c.count(3, 7) {
			c.prose(c.count(2, 5))
			if c.happens(0.15) {
				c.heading(2, c.phrase())
			}
		}
		if columns > 1 {
			c.put(`</text:section>`)
		} else if c.happens(0.7) {
			c.textFrame((c.pageWidth-2*c.marginX)*c.between(0.3, 0.42), func() {
				c.heading(3, c.phrase())
				c.proses(c.count(1, 2), 1, 3)
			})
		}
		end()
	}
}

// composeOfficeLetter sets a letter, its facts by tabulators.
func composeOfficeLetter(c *odtComposer) {
	c.plain(KindText, choose(c.chance, "Head", "HeadRight"), choose(c.chance, surnames...)+" & "+choose(c.chance, surnames...))
	c.plain(KindText, "Small", c.street()+" · "+choose(c.chance, townNames...)+" · Tel. "+c.phone())
	c.emptyLines(2)
	end := c.beginFlow()
	c.plain(KindText, "Line", c.fullName()+"\n"+c.street()+"\n"+choose(c.chance, townNames...)+" "+fmt.Sprint(c.count(10000, 99999)))
	end()
	c.emptyLines(1)
	c.labelledValues([]string{"Our reference", "Your letter of", "Contact", "Telephone"}[:c.count(2, 4)])
	c.emptyLines(1)
	c.plain(KindText, "Right", c.date())
	c.plain(KindText, "Head", choose(c.chance, "Re: ", "Subject: ", "")+c.phrase())
	c.emptyLines(1)
	c.plain(KindText, "Text", "Dear "+c.fullName()+",")
	c.proses(c.count(2, 5), 2, 5)
	if c.happens(0.5) {
		c.list(c.happens(0.5), 1)
		c.prose(2)
	}
	c.emptyLines(1)
	c.plain(KindText, "Line", "Yours sincerely,")
	c.emptyLines(3)
	c.plain(KindText, "Line", c.fullName()+"\n"+upperFirst(c.term()))
	if c.happens(0.4) {
		c.emptyLines(1)
		c.plain(KindText, "Small", "Enclosures: "+c.phrase()+"; "+c.phrase())
	}
}

// emptyLines writes empty lines.
func (c *odtComposer) emptyLines(lines int) {
	for range lines {
		c.put(`<text:p text:style-name="Line"/>`)
	}
}

// labelledValues writes labels and values, a tabulator between them.
func (c *odtComposer) labelledValues(labels []string) {
	style := c.addStyle("paragraph", fmt.Sprintf(`<style:paragraph-properties><style:tab-stops><style:tab-stop style:position="%.0fpt"/></style:tab-stops>`+
		`</style:paragraph-properties>`, c.between(90, 140)))
	for _, label := range labels {
		c.plain(KindText, style, label+":\t"+choose(c.chance, c.fullName(), c.date(), c.phone(), c.phrase()))
	}
}

// composeOfficeMinutes sets minutes: facts, a register of those present in columns of tabulators, items, a table of
// actions.
func composeOfficeMinutes(c *odtComposer) {
	c.header = choose(c.chance, "", c.phrase())
	c.plainTitle(choose(c.chance, "Minutes of the meeting", "Minutes", "Record of proceedings"))
	c.labelledValues([]string{"Date", "Place", "Chair", "Secretary"}[:c.count(2, 4)])
	c.emptyLines(1)
	c.plain(KindText, "Text", "Present: "+strings.Join(c.namesOf(c.count(3, 9)), ", "))
	c.plain(KindText, "Text", "Apologies: "+strings.Join(c.namesOf(c.count(1, 3)), ", "))
	for i := range c.count(3, 7) {
		numbered := c.numbered
		c.numbered = false
		c.heading(1, fmt.Sprintf("%d. %s", i+1, c.phrase()))
		c.numbered = numbered
		c.proses(c.count(1, 3), 1, 4)
		if c.happens(0.3) {
			c.list(false, 1)
		}
		if c.happens(0.4) {
			c.plain(KindText, "Right", "Action: "+c.fullName())
		}
	}
	t := c.beginTable(Ruled, []string{"Action", "Owner", "Due"}, []int{4, 2, 2}, nil)
	for range c.count(3, 7) {
		t.addRow([]string{c.sentence(), c.fullName(), c.date()})
	}
	t.endTable()
}

func (c *odtComposer) namesOf(number int) []string {
	out := make([]string, number)
	for i := range out {
		out[i] = c.fullName()
	}
	return out
}

// composeOfficeManual sets a manual: numbered headings, steps, code, tables of parameters, figures.
func composeOfficeManual(c *odtComposer) {
	c.header, c.numbered = c.phrase(), true
	c.plainTitle(c.phrase())
	figures, tables := 0, 0
	for range c.count(2, 4) {
		c.heading(1, c.phrase())
		c.prose(c.count(2, 4))
		for range c.count(1, 3) {
			c.heading(2, c.phrase())
			c.proses(c.count(1, 2), 2, 4)
			switch c.IntN(4) {
			case 0:
				c.list(true, 1)
			case 1:
				c.program()
			case 2:
				tables++
				c.plain(KindCaption, "Caption", fmt.Sprintf("Table %d: %s", tables, c.phrase()))
				t := c.beginTable(choose(c.chance, Ruled, Ruled, HalfRuled), []string{"Parameter", "Default", "Meaning"}, []int{2, 1, 5}, []bool{false, true, false})
				for range c.count(3, 8) {
					t.addRow([]string{c.pickWord("noun") + "_" + c.pickWord("noun"), fmt.Sprint(c.IntN(5000)), c.sentence()})
				}
				t.endTable()
				c.emptyLines(1)
			default:
				figures++
				c.picture(c.between(150, 260), figures)
			}
		}
	}
}

// program writes some lines of a program, a paragraph each.
func (c *odtComposer) program() {
	lines := make([]string, c.count(3, 8))
	for i := range lines {
		lines[i] = fmt.Sprintf("%s%s = %s(%d)", strings.Repeat(" ", 2*c.IntN(3)), strings.ReplaceAll(c.pickWord("noun"), " ", "_"),
			strings.ReplaceAll(c.pickWord("noun"), " ", "_"), c.IntN(900))
	}
	start, end := c.begin(KindCode, 0, strings.Join(lines, "\n"))
	for i, line := range lines {
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		text := escapeXML(line[spaces:])
		if spaces > 0 {
			text = fmt.Sprintf(`<text:s text:c="%d"/>`, spaces) + text
		}
		if i == 0 {
			text = start + text
		}
		if i == len(lines)-1 {
			text += end
		}
		c.put(`<text:p text:style-name="Code">%s</text:p>`, text)
	}
	c.emptyLines(1)
}

// composeOfficeResume sets a curriculum vitae, its dates before a tabulator or at the right margin.
func composeOfficeResume(c *odtComposer) {
	c.numbered = false
	c.plainTitle(c.fullName())
	c.plain(KindText, choose(c.chance, "Centre", "Line"), c.street()+" · "+choose(c.chance, townNames...)+" · "+c.phone())
	right := c.pageWidth - 2*c.marginX
	position, kind := fmt.Sprintf("%.0fpt", c.between(80, 120)), "left"
	trailing := c.happens(0.5)
	if trailing {
		position, kind = fmt.Sprintf("%.0fpt", right), "right"
	}
	dated := c.addStyle("paragraph", fmt.Sprintf(`<style:paragraph-properties><style:tab-stops><style:tab-stop style:position="%s" style:type="%s"/></style:tab-stops>`+
		`</style:paragraph-properties><style:text-properties fo:font-style="italic"/>`, position, kind))
	for _, part := range []string{"Experience", "Education", "Publications"}[:c.count(2, 3)] {
		c.heading(1, part)
		for range c.count(2, 4) {
			from := c.count(1980, 2018)
			years, place := fmt.Sprintf("%d–%d", from, from+c.count(1, 6)), c.phrase()
			if trailing {
				c.plain(KindText, dated, place+"\t"+years)
			} else {
				c.plain(KindText, dated, years+"\t"+place)
			}
			c.prose(c.count(1, 3))
			if c.happens(0.4) {
				c.list(false, 1)
			}
		}
	}
	c.heading(1, "Languages")
	c.labelledValues([]string{"English", "French", "German"}[:c.count(2, 3)])
}

// odtTable writes a table, and keeps its cells.
type odtTable struct {
	*odtComposer
	at      int // the block's place
	table   *Table
	numbers []bool // columns of numbers
	border  [3]string
	marks   [2]string
	rows    []string
	// rowStyle is that of rows, which break over no pages.
	rowStyle string
}

// beginTable writes a table's head; widths are in proportion.
func (c *odtComposer) beginTable(ruling Ruling, head []string, widths []int, numbers []bool) *odtTable {
	if numbers == nil {
		numbers = make([]bool, len(head))
	}
	t := &odtTable{odtComposer: c, table: &Table{Ruling: ruling, HeaderRows: 1, Columns: len(head)}, numbers: numbers}
	t.marks[0], t.marks[1] = c.begin(KindTable, 0, "")
	t.at, t.rowStyle = len(c.blocks)-1, c.addStyle("table-row", `<style:table-row-properties fo:keep-together="always"/>`)
	line := `0.6pt solid #333333`
	borders := map[Ruling][3]string{Ruled: {`fo:border="` + line + `"`, `fo:border="` + line + `"`, `fo:border="` + line + `"`},
		HalfRuled: {`fo:border-top="1pt solid #000000" fo:border-bottom="` + line + `"`, "", `fo:border-bottom="1pt solid #000000"`}}[ruling]
	shade := ""
	if c.happens(0.3) {
		shade = fmt.Sprintf(` fo:background-color="%s"`, c.shade)
	}
	for i := range borders {
		if i > 0 {
			shade = ""
		}
		t.border[i] = c.addStyle("table-cell", fmt.Sprintf(`<style:table-cell-properties fo:padding="2.5pt" %s%s/>`, borders[i], shade))
	}
	c.put(`<table:table>`)
	for _, width := range widths {
		style := c.addStyle("table-column", fmt.Sprintf(`<style:table-column-properties style:rel-column-width="%d*"/>`, 1000*width))
		c.put(`<table:table-column table:style-name="%s"/>`, style)
	}
	t.addRow(head)
	return t
}

// addRow adds a row.
func (t *odtTable) addRow(cells []string) {
	var out strings.Builder
	for column, text := range cells {
		style := "Cell"
		switch head := t.table.Rows == 0; {
		case head && t.numbers[column]:
			style = "HeadRight"
		case head:
			style = "Head"
		case t.numbers[column]:
			style = "Number"
		}
		mark := ""
		if column == 0 {
			mark = fmt.Sprintf(`<text:bookmark text:name="b%d-%d"/>`, t.at+1, t.table.Rows)
		}
		if t.table.Rows == 0 && column == 0 {
			mark = t.marks[0]
		}
		fmt.Fprintf(&out, `<table:table-cell table:style-name="BORDER"><text:p text:style-name="%s">%s%s</text:p></table:table-cell>`, style, mark, escapeXML(text))
		t.table.Cells = append(t.table.Cells, Cell{Row: t.table.Rows, Column: column, RowSpan: 1, ColSpan: 1, Text: text})
	}
	t.rows = append(t.rows, out.String())
	t.table.Rows++
}

// endTable writes the rows.
func (t *odtTable) endTable() {
	words := make([]string, len(t.table.Cells))
	for i, cell := range t.table.Cells {
		words[i] = cell.Text
	}
	for i, row := range t.rows {
		border := t.border[1]
		switch i {
		case 0:
			border = t.border[0]
		case len(t.rows) - 1:
			border = t.border[2]
			at := strings.LastIndex(row, "</text:p>")
			row = row[:at] + t.marks[1] + row[at:]
		}
		row = `<table:table-row table:style-name="` + t.rowStyle + `">` + strings.ReplaceAll(row, "BORDER", border) + `</table:table-row>`
		if i == 0 {
			row = `<table:table-header-rows>` + row + `</table:table-header-rows>`
		}
		t.put("%s", row)
	}
	t.put(`</table:table>`)
	t.blocks[t.at].Text, t.blocks[t.at].Table = strings.Join(words, " "), t.table
}

// captionedTable writes a table of numbers with its caption above.
func (c *odtComposer) captionedTable(ruling Ruling, number int) {
	defer c.beginFlow()()
	c.plain(KindCaption, "Caption", fmt.Sprintf("Table %d: %s", number, c.phrase()))
	columns := c.count(2, 5)
	head, widths, numbers := []string{upperFirst(c.pickWord("noun"))}, []int{3}, []bool{false}
	for range columns {
		head, widths, numbers = append(head, upperFirst(c.pickWord("noun"))), append(widths, 2), append(numbers, true)
	}
	t, value := c.beginTable(ruling, head, widths, numbers), c.numberMaker()
	for range c.count(3, 10) {
		row := []string{upperFirst(c.term())}
		for range columns {
			row = append(row, value())
		}
		t.addRow(row)
	}
	t.endTable()
	c.emptyLines(1)
}
