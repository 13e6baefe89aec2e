package answer

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// Table is a grid of cells.
type Table struct {
	Rows, Columns, HeaderRows int
	// Cells are in row order; one that spans several stands once.
	Cells []Cell
}

// Cell is a cell of a table.
type Cell struct {
	Row, Column, RowSpan, ColumnSpan int
	Text                             string
}

// Bounds on a table. A printed page has some 100 rows and 30 columns at most.
const (
	maxRows, maxColumns = 500, 100
	maxCells            = 10_000
)

// PlainText returns the cells' texts: a row a line, with blanks between.
func (t *Table) PlainText() string {
	var out strings.Builder
	row := 0
	for _, c := range t.Cells {
		if c.Row != row && out.Len() > 0 {
			out.WriteByte('\n')
		} else if out.Len() > 0 {
			out.WriteByte(' ')
		}
		row = c.Row
		out.WriteString(strings.Join(strings.Fields(c.Text), " "))
	}
	return out.String()
}

// gridBuilder puts cells where there is room, as HTML does.
type gridBuilder struct {
	table  Table
	taken  map[[2]int]bool
	row    int
	column int
	header bool // whether all cells of the row so far are headings
	filled bool // whether the row has a cell
}

func newGrid() *gridBuilder { return &gridBuilder{taken: map[[2]int]bool{}, row: -1} }

func (g *gridBuilder) startRow() {
	g.endRow()
	g.row++
	g.column, g.header, g.filled = 0, true, false
}

func (g *gridBuilder) endRow() {
	if g.row >= 0 && g.filled && g.header && g.table.HeaderRows == g.row {
		g.table.HeaderRows++
	}
}

// place puts a cell at the next place of the row that is free. Spans are cut to where there is room.
func (g *gridBuilder) place(text string, rowSpan, columnSpan int, heading bool) {
	if g.row < 0 {
		g.startRow()
	}
	for g.taken[[2]int{g.row, g.column}] {
		g.column++
	}
	if g.row >= maxRows || g.column >= maxColumns || len(g.table.Cells) >= maxCells {
		return
	}
	rowSpan, columnSpan = clampSpan(rowSpan, maxRows-g.row), clampSpan(columnSpan, maxColumns-g.column)
	for k := range columnSpan {
		if g.taken[[2]int{g.row, g.column + k}] {
			columnSpan = k
			break
		}
	}
	for r := range rowSpan {
		for c := range columnSpan {
			g.taken[[2]int{g.row + r, g.column + c}] = true
		}
	}
	g.header = g.header && heading
	g.filled = true
	g.table.Rows = max(g.table.Rows, g.row+1)
	g.table.Columns = max(g.table.Columns, g.column+columnSpan)
	if text = strings.TrimSpace(text); text != "" {
		g.table.Cells = append(g.table.Cells, Cell{g.row, g.column, rowSpan, columnSpan, text})
	}
	g.column += columnSpan
}

func clampSpan(n, most int) int { return max(1, min(n, most, 200)) }

// finish returns the table; nil where it has no text. Spans that go on beyond the last row end with it.
func (g *gridBuilder) finish() *Table {
	g.endRow()
	if len(g.table.Cells) == 0 {
		return nil
	}
	for i := range g.table.Cells {
		c := &g.table.Cells[i]
		c.RowSpan = min(c.RowSpan, g.table.Rows-c.Row)
	}
	if g.table.HeaderRows >= g.table.Rows {
		g.table.HeaderRows = 0
	}
	return &g.table
}

// tableFromHTML reads the first table of an HTML text; nil where there is none. What was cut ends where the text ends.
func tableFromHTML(text string) *Table {
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(maxBytes)
	g := newGrid()
	var cell *strings.Builder
	rowSpan, columnSpan, heading, inside := 1, 1, false, false
	flush := func() {
		if cell != nil {
			g.place(html2text(cell.String()), rowSpan, columnSpan, heading)
			cell = nil
		}
	}
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		token := z.Token()
		isEnd := kind == html.EndTagToken
		switch {
		case token.Data == "table" && kind != html.TextToken:
			if isEnd && inside {
				flush()
				return g.finish()
			}
			inside = true
		case !inside:
		case kind == html.TextToken:
			if cell != nil {
				cell.WriteString(token.Data)
			}
		case token.Data == "tr":
			flush()
			if !isEnd {
				g.startRow()
			}
		case token.Data == "td" || token.Data == "th":
			flush()
			if !isEnd {
				cell = &strings.Builder{}
				rowSpan, columnSpan, heading = spanOf(token, "rowspan"), spanOf(token, "colspan"), token.Data == "th"
			}
		case token.Data == "br" || token.Data == "p" || token.Data == "div" || token.Data == "li":
			if cell != nil {
				cell.WriteByte(' ')
			}
		}
	}
	flush()
	return g.finish()
}

func html2text(s string) string { return plainInline(s) }

func spanOf(token html.Token, name string) int {
	for _, a := range token.Attr {
		if a.Key == name {
			if n, err := strconv.Atoi(strings.TrimSpace(a.Val)); err == nil {
				return n
			}
		}
	}
	return 1
}

var otslToken = regexp.MustCompile(`<(fcel|ecel|lcel|ucel|xcel|ched|rhed|srow|nl)>`)

// tableFromOTSL reads a table of OTSL: fcel and ched begin cells, lcel goes on to the left, ucel to above, xcel both.
func tableFromOTSL(text string) *Table {
	type raw struct{ token, text string }
	rows := [][]raw{{}}
	marks := otslToken.FindAllStringSubmatchIndex(text, maxCells)
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		token := text[m[2]:m[3]]
		if token == "nl" {
			rows = append(rows, nil)
			continue
		}
		last := len(rows) - 1
		rows[last] = append(rows[last], raw{token, text[m[1]:end]})
	}
	is := func(r, c int, token string) bool {
		return r < len(rows) && c < len(rows[r]) && rows[r][c].token == token
	}
	g := newGrid()
	for r, row := range rows[:min(len(rows), maxRows)] {
		if len(row) == 0 {
			continue
		}
		g.startRow()
		for c, cell := range row {
			if cell.token == "lcel" || cell.token == "ucel" || cell.token == "xcel" {
				continue
			}
			rowSpan, columnSpan := 1, 1
			for is(r, c+columnSpan, "lcel") {
				columnSpan++
			}
			for is(r+rowSpan, c, "ucel") {
				rowSpan++
			}
			g.column = c
			if g.taken[[2]int{g.row, c}] {
				continue
			}
			g.place(plainInline(stripTags(cell.text)), rowSpan, columnSpan, cell.token == "ched")
		}
	}
	return g.finish()
}

var (
	latexTable  = regexp.MustCompile(`(?s)\\begin\{(tabular\*?|array|tabularx)\}(.*?)(\\end\{(?:tabular\*?|array|tabularx)\}|$)`)
	latexRule   = regexp.MustCompile(`\\(?:hline|toprule|midrule|bottomrule|cline\{[^}]*\}|cmidrule(?:\([^)]*\))?\{[^}]*\})`)
	multiColumn = regexp.MustCompile(`(?s)^\\multicolumn\{(\d{1,3})\}\{[^}]*\}\{(.*)\}$`)
	multiRow    = regexp.MustCompile(`(?s)^\\multirow(?:\[[^\]]*\])?\{(\d{1,3})\}\{[^}]*\}\{(.*)\}$`)
)

// tableFromLatex reads a tabular; nil where there is none.
func tableFromLatex(text string) *Table {
	m := latexTable.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	body := skipArguments(m[2])
	g := newGrid()
	ruled := false
	for _, row := range strings.Split(body, `\\`) {
		rules := len(latexRule.FindAllString(row, -1))
		row = strings.TrimSpace(latexRule.ReplaceAllString(row, ""))
		if rules > 0 && g.row == 0 && g.table.HeaderRows == 0 {
			ruled = true
		}
		if row == "" {
			continue
		}
		g.startRow()
		for _, cell := range splitUnescaped(row, '&') {
			cell = strings.TrimSpace(cell)
			rowSpan, columnSpan := 1, 1
			for range 2 {
				if m := multiColumn.FindStringSubmatch(cell); m != nil {
					columnSpan, _ = strconv.Atoi(m[1])
					cell = strings.TrimSpace(m[2])
				}
				if m := multiRow.FindStringSubmatch(cell); m != nil {
					rowSpan, _ = strconv.Atoi(m[1])
					cell = strings.TrimSpace(m[2])
				}
			}
			// LaTeX leaves an empty cell under one that spans rows.
			if cell == "" && g.taken[[2]int{g.row, g.column}] {
				g.column++
				continue
			}
			g.place(plainInline(plainLatex(cell)), rowSpan, columnSpan, false)
		}
	}
	if t := g.finish(); t != nil {
		if ruled && t.Rows > 1 {
			t.HeaderRows = 1
		}
		return t
	}
	return nil
}

// skipArguments drops the column specification that a tabular begins with.
func skipArguments(body string) string {
	body = strings.TrimSpace(body)
	for strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		depth, end := 0, -1
		for i, r := range body {
			switch r {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if depth == 0 {
				end = i
				break
			}
		}
		if end < 0 {
			return ""
		}
		body = strings.TrimSpace(body[end+1:])
	}
	return body
}

// splitUnescaped splits at a byte that no backslash stands before.
func splitUnescaped(s string, at byte) []string {
	var out []string
	start := 0
	for i := range len(s) {
		if s[i] == at && (i == 0 || s[i-1] != '\\') {
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}
