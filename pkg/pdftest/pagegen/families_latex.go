package pagegen

import (
	"fmt"
	"strings"
)

// latexFamilies are set by LuaLaTeX.
var latexFamilies = []Family{
	{Name: "tex-paper", composeLaTeX: composeTeXPaper, languages: latin},
	{Name: "tex-book", composeLaTeX: composeTeXBook, languages: latin},
	{Name: "tex-columns", composeLaTeX: composeTeXColumns, languages: latin},
	{Name: "tex-lists", composeLaTeX: composeTeXLists, languages: latin},
	{Name: "tex-report", composeLaTeX: composeTeXReport, languages: latin, Tables: true},
	{Name: "tex-tables", composeLaTeX: composeTeXTables, languages: latin, Tables: true},
	{Name: "tex-contents", composeLaTeX: composeTeXContents, languages: latin},
}

// composeTeXPaper sets a paper in one or two columns with an abstract, footnotes, formulas, floats and references.
func composeTeXPaper(c *latexComposer) {
	if c.happens(0.75) {
		c.class = "article,twocolumn"
		c.marginX = c.pageWidth * c.between(0.07, 0.11)
	}
	if c.happens(0.4) {
		c.header = c.phrase()
	}
	c.justify = true
	title := c.phrase() + " " + c.pickWord("prep") + " " + c.pickWord("noun")
	c.setup("\\title{%s%s}", c.begin(KindTitle, 1, title), latexLetters.Replace(title))
	authors := make([]string, c.count(1, 4))
	for i := range authors {
		name := c.fullName()
		authors[i] = c.begin(KindText, 0, name) + latexLetters.Replace(name)
	}
	c.setup("\\author{%s}\\date{}", strings.Join(authors, ` \and `))
	c.put("\\maketitle\n%s\\begin{abstract}\n", c.begin(KindHeading, 1, "Abstract"))
	c.proseOf(c.paragraph(c.count(3, 6)))
	c.put("\\end{abstract}\n")
	for range c.count(2, 5) {
		c.heading(1, c.phrase())
		c.noted(c.count(3, 6))
		for part := range c.count(1, 3) {
			if part > 0 && c.happens(0.5) {
				c.heading(2, c.phrase())
			}
			c.proses(c.count(1, 3), 2, 6)
			switch {
			case c.happens(0.4):
				c.equation()
				c.prose(c.count(2, 4))
			case c.happens(0.3):
				c.figure()
			case c.happens(0.3):
				c.floatTable(HalfRuled, 3)
			}
		}
	}
	c.references()
}

// equation writes a numbered formula between paragraphs.
func (c *latexComposer) equation() {
	letter := func() string { return string("abcdfghkmnpqrstuvxyz"[c.IntN(20)]) }
	a, b, x, y, n := letter(), letter(), letter(), letter(), c.count(2, 90)
	number := 1
	for i := range c.blocks {
		if c.blocks[i].Kind == KindFormula {
			number++
		}
	}
	var text, formula string
	switch c.IntN(3) {
	case 0:
		text, formula = fmt.Sprintf("%s = %s + %d%s2 − %s", a, b, n, x, y), fmt.Sprintf(`%s = %s + %d%s^2 - \frac{%s}{%s}`, a, b, n, x, y, b)
	case 1:
		text, formula = fmt.Sprintf("%s(%s) = ∑ %si %si", a, x, b, x), fmt.Sprintf(`%s(%s) = \sum_{i=1}^{%d} %s_i %s_i`, a, x, n, b, x)
	default:
		text, formula = fmt.Sprintf("∂%s ∂%s = −%s %s", a, x, b, y), fmt.Sprintf(`\frac{\partial %s}{\partial %s} = -%s \cdot %s`, a, x, b, y)
	}
	c.put("%s\\begin{equation}%s\\end{equation}\\par\n", c.begin(KindFormula, 0, fmt.Sprintf("%s (%d)", text, number)), formula)
}

// figure writes bars with a caption, which float to where there is room.
func (c *latexComposer) figure() {
	defer c.beginFlow()()
	c.put("\\begin{figure}[%s]\\centering\n%s", choose(c.chance, "t", "b", "tbp", "htbp"), c.begin(KindFigure, 0, ""))
	height := c.between(50, 110)
	for range c.count(5, 12) {
		c.put(`\rule{%.1fpt}{%.1fpt}\hspace{%.1fpt}`, c.between(8, 12), height*c.between(0.2, 1), c.between(2, 5))
	}
	c.caption("figure")
	c.put("\\end{figure}\n")
}

// caption writes the caption of a float; those of each kind are numbered.
func (c *latexComposer) caption(kind string) {
	number := 1
	name := upperFirst(kind)
	for i := range c.blocks {
		if c.blocks[i].Kind == KindCaption && strings.HasPrefix(c.blocks[i].Text, name) {
			number++
		}
	}
	text := c.phrase()
	c.put("%s\\caption{%s}\n", c.begin(KindCaption, 0, fmt.Sprintf("%s %d: %s", name, number, text)), latexLetters.Replace(text))
}

// floatTable writes a table of a ruling with its caption.
func (c *latexComposer) floatTable(ruling Ruling, most int) {
	defer c.beginFlow()()
	c.put("\\begin{table}[%s]\\centering\n", choose(c.chance, "t", "tbp", "htbp"))
	above := c.happens(0.6)
	if above {
		c.caption("table")
	}
	c.table(ruling, most)
	if !above {
		c.caption("table")
	}
	c.put("\\end{table}\n")
}

func (c *latexComposer) references() {
	c.put("%s\\begin{thebibliography}{99}\n", c.begin(KindHeading, 1, "References"))
	for i := range c.count(4, 9) {
		text := fmt.Sprintf("%s. %s. %s, %d.", c.fullName(), c.phrase(), choose(c.chance, townNames...), c.count(1950, 2024))
		c.put("%s\\bibitem{r%d} %s\n", c.begin(KindListItem, 1, fmt.Sprintf("[%d] %s", i+1, text)), i, c.escape(text))
	}
	c.put("\\end{thebibliography}\n")
}

// composeTeXBook sets a chapter of a book with running heads and footnotes.
func composeTeXBook(c *latexComposer) {
	size := choose(c.chance, [2]float64{396, 612}, [2]float64{420, 595}, [2]float64{432, 648})
	c.resize(size[0], size[1])
	c.class = choose(c.chance, "article", "article,twoside")
	c.justify, c.indent, c.numbered = true, c.happens(0.85), c.happens(0.3)
	if c.happens(0.7) {
		c.header = c.phrase()
	}
	c.heading(1, c.phrase())
	for range c.count(10, 22) {
		switch {
		case c.happens(0.15):
			c.noted(c.count(3, 6))
		case c.happens(0.1):
			text := c.paragraph(2)
			c.put("\\begin{quote}%s%s\\end{quote}\n", c.begin(KindParagraph, 0, text), c.escape(text))
		default:
			c.prose(c.count(2, 7))
		}
		if c.happens(0.07) {
			c.heading(2, c.phrase())
		}
	}
}

// composeTeXColumns sets a newsletter: articles in two or three columns, one below the other, and some side by side.
func composeTeXColumns(c *latexComposer) {
	c.marginX = c.pageWidth * c.between(0.05, 0.1)
	c.numbered, c.header = false, choose(c.chance, "", c.phrase())
	c.put("\\begin{center}")
	c.plain(KindTitle, `\Huge\bfseries `, "The "+choose(c.chance, townNames...)+" "+choose(c.chance, "Letter", "Bulletin", "Review", "Messenger"))
	c.put("\\end{center}\n")
	for range c.count(2, 4) {
		if c.happens(0.3) {
			c.articlesAbreast()
			continue
		}
		end := c.beginFlow()
		c.heading(1, c.phrase())
		c.put("\\begin{multicols}{%d}\n", c.count(2, 3))
		for range c.count(4, 9) {
			c.prose(c.count(2, 5))
			if c.happens(0.12) {
				c.heading(2, c.phrase())
			}
		}
		c.put("\\end{multicols}\n")
		end()
	}
}

// articlesAbreast writes two or three short articles side by side.
func (c *latexComposer) articlesAbreast() {
	number := c.count(2, 3)
	c.put("\\par\\bigskip\\noindent")
	for i := range number {
		end := c.beginFlow()
		c.put("\\begin{minipage}[t]{%.3f\\textwidth}\\parindent=%.1fpt\n", 1/float64(number)-0.03, c.between(0, 12))
		c.heading(2, c.phrase())
		c.proses(c.count(1, 3), 2, 4)
		c.put("\\end{minipage}")
		if i+1 < number {
			c.put("\\hfill\n")
		}
		end()
	}
	c.put("\\par\\bigskip\n")
}

// composeTeXLists sets nested lists between paragraphs, in one column or two.
func composeTeXLists(c *latexComposer) {
	if c.happens(0.3) {
		c.class = "article,twocolumn"
		c.marginX = c.pageWidth * 0.08
	}
	c.header = c.phrase()
	c.setup("\\renewcommand\\labelitemi{%s}\\renewcommand\\labelitemii{--}", choose(c.chance, `\textbullet`, `\textbullet`, "--", "*"))
	c.heading(1, c.phrase())
	for range c.count(3, 5) {
		c.proses(c.count(1, 2), 2, 4)
		c.list(c.happens(0.5), 1)
		if c.happens(0.5) {
			c.heading(2, c.phrase())
		}
	}
}

// list writes a list whose items may have lists of their own.
func (c *latexComposer) list(ordered bool, level int) {
	name := "itemize"
	if ordered {
		name = "enumerate"
	}
	c.put("\\begin{%s}\n", name)
	for i := range c.count(2, 5) {
		mark := []string{"•", "–"}[level-1]
		if ordered {
			mark = []string{fmt.Sprintf("%d.", i+1), fmt.Sprintf("(%c)", 'a'+i)}[level-1]
		}
		text := c.paragraph(c.count(1, 3-level))
		c.put("%s\\item %s\n", c.begin(KindListItem, level, mark+" "+text), c.escape(text))
		if level == 1 && c.happens(0.35) {
			c.list(ordered, 2)
		}
	}
	c.put("\\end{%s}\n", name)
}

// composeTeXReport sets sections of three levels with lists, tables and figures over several pages.
func composeTeXReport(c *latexComposer) {
	c.header = choose(c.chance, "", c.phrase())
	c.put("\\begin{center}")
	c.plain(KindTitle, `\LARGE `, c.phrase())
	c.put("\\end{center}\n")
	for range c.count(3, 5) {
		c.heading(1, c.phrase())
		c.proses(c.count(1, 3), 2, 5)
		for range c.count(0, 3) {
			c.heading(2, c.phrase())
			c.proses(c.count(1, 2), 2, 5)
			switch c.IntN(6) {
			case 0:
				c.list(c.happens(0.4), 1)
			case 1:
				c.floatTable(choose(c.chance, Ruled, HalfRuled, Plain), 5)
			case 2:
				c.heading(3, c.phrase())
				c.prose(c.count(2, 4))
			case 3:
				c.figure()
			}
		}
	}
}

// composeTeXTables sets prose with tables of all rulings, where they stand in the text.
func composeTeXTables(c *latexComposer) {
	c.header = choose(c.chance, "", c.phrase())
	c.heading(1, c.phrase())
	for range c.count(2, 4) {
		c.proses(c.count(1, 2), 2, 5)
		end := c.beginFlow()
		c.put("\\begin{center}\n")
		c.table(choose(c.chance, Ruled, HalfRuled, Plain), 6)
		c.put("\\end{center}\n")
		end()
		if c.happens(0.4) {
			c.heading(2, c.phrase())
		}
	}
	c.proses(2, 2, 5)
}

// latexTable writes a table's rows, and keeps its cells.
type latexTable struct {
	*latexComposer
	table *Table
}

// table writes a table of up to so many columns of numbers beside that of the labels, and no more than there is room for.
func (c *latexComposer) table(ruling Ruling, most int) {
	room := c.pageWidth - 2*c.marginX
	if strings.Contains(c.class, "twocolumn") {
		room = (room - c.gutter) / 2
	}
	columns, rows := c.count(2, max(2, min(most, int(room-120)/66))), c.count(3, 12)
	if room < 250 {
		columns = 1
	}
	start := c.begin(KindTable, 0, "")
	t := latexTable{c, &Table{Ruling: ruling, HeaderRows: 1, Columns: columns + 1}}
	at := len(c.blocks) - 1
	label, long := "l", c.happens(0.3)
	if long {
		label = fmt.Sprintf("p{%.0fpt}", c.between(70, 110))
	}
	specification, heavy, light := label+strings.Repeat(choose(c.chance, "r", "r", "c"), columns), "", ""
	if ruling == Ruled {
		specification, heavy, light = "|"+label+"|"+strings.Repeat("r|", columns), `\hline `, `\hline `
	} else if ruling == HalfRuled {
		heavy, light = `\inkhline{0.9pt}`, `\hline `
	}
	c.put("{\\small%s\\setlength\\tabcolsep{%.1fpt}\\renewcommand\\arraystretch{%.2f}\\begin{tabular}{%s}%s\n", start, c.between(4, 9), c.between(0.95, 1.3),
		specification, heavy)
	t.writeHead(columns, light)
	number := c.latexNumbers()
	for range rows {
		text := upperFirst(c.term())
		if long && c.happens(0.4) {
			text = c.phrase() + " " + c.pickWord("prep") + " " + c.pickWord("noun")
		}
		cells := []string{t.cell(0, 1, text)}
		for column := range columns {
			cells = append(cells, t.cell(column+1, 1, number()))
		}
		t.endRow(cells)
		if ruling == Ruled {
			c.put(`\hline `)
		}
	}
	if ruling != Ruled {
		c.put("%s", heavy)
	}
	c.put("\\end{tabular}}\\par\n")
	words := make([]string, len(t.table.Cells))
	for i, cell := range t.table.Cells {
		words[i] = cell.Text
	}
	c.blocks[at].Text, c.blocks[at].Table = strings.Join(words, " "), t.table
}

// writeHead writes the head of a table, perhaps with a row of heads that span columns.
func (t latexTable) writeHead(columns int, light string) {
	if columns >= 4 && t.happens(0.4) {
		half := columns / 2
		bar := ""
		if t.table.Ruling == Ruled {
			bar = "|"
		}
		first := t.cell(0, 1, upperFirst(t.pickWord("noun")))
		left := fmt.Sprintf(`\multicolumn{%d}{c%s}{%s}`, half, bar, t.cell(1, half, upperFirst(t.term())))
		right := fmt.Sprintf(`\multicolumn{%d}{c%s}{%s}`, columns-half, bar, t.cell(1+half, columns-half, upperFirst(t.term())))
		t.endRow([]string{first, left, right})
		t.table.HeaderRows = 2
		if t.table.Ruling != Plain {
			t.put(`\cline{2-%d}`, columns+1)
		}
	}
	cells := []string{""}
	if t.table.HeaderRows == 1 {
		cells[0] = t.cell(0, 1, upperFirst(t.pickWord("noun")))
	}
	for column := range columns {
		cells = append(cells, t.cell(column+1, 1, upperFirst(t.pickWord("noun"))))
	}
	t.endRow(cells)
	t.put("%s", light)
}

// cell keeps a cell of the row that is being written, and returns its LaTeX.
func (t latexTable) cell(column, span int, text string) string {
	t.table.Cells = append(t.table.Cells, Cell{Row: t.table.Rows, Column: column, RowSpan: 1, ColSpan: span, Text: text})
	return fmt.Sprintf(`\inkcell=%d\relax %s`, len(t.table.Cells), latexLetters.Replace(text))
}

func (t latexTable) endRow(cells []string) {
	t.table.Rows++
	t.put("%s\\\\\n", strings.Join(cells, " & "))
}

// latexNumbers returns a source of numbers that look alike.
func (c *latexComposer) latexNumbers() func() string {
	digits, decimals := c.count(2, 6), c.happens(0.4)
	return func() string {
		n := c.IntN(pow10(digits))
		if decimals {
			return fmt.Sprintf("%d.%02d", n/100, n%100)
		}
		return groupThousands(n)
	}
}

// composeTeXContents sets a table of contents with leaders, and the beginning of the text.
func composeTeXContents(c *latexComposer) {
	c.put("%s\\section*{%s}\n", c.begin(KindHeading, 1, "Contents"), "Contents")
	c.setup("\\makeatletter\\newcommand\\inkline[3]{\\@dottedtocline{#1}{%.1fem}{2.3em}{#2}{#3}}\\makeatother", c.between(0, 1.5))
	page := 1
	for chapter := range c.count(4, 8) {
		for part := range c.count(1, 5) {
			page += c.count(1, 9)
			number, text := fmt.Sprintf("%d.%d", chapter+1, part+1), c.phrase()
			c.put("%s\\inkline{1}{\\numberline{%s}%s}{%d}\n", c.begin(KindText, 0, fmt.Sprintf("%s %s %d", number, text, page)), number,
				latexLetters.Replace(text), page)
		}
	}
	c.numbered = false
	c.heading(1, c.phrase())
	c.proses(c.count(2, 5), 2, 5)
}
