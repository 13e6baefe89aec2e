package document

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// tableGrid lays a table's cells out: the text of a cell stands at its first place. It is bounded by what the cells
// need.
func tableGrid(t *inkstreamv1.Table) [][]string {
	rows, columns := int(t.GetRows()), int(t.GetColumns())
	const mostPlaces = 1 << 20
	if rows < 1 || columns < 1 || rows > mostPlaces/columns {
		return nil
	}
	flat := make([]string, rows*columns)
	out := make([][]string, rows)
	for i := range out {
		out[i] = flat[i*columns : (i+1)*columns]
	}
	for _, c := range t.GetCells() {
		if r, k := int(c.GetRow()), int(c.GetColumn()); r >= 0 && r < rows && k >= 0 && k < columns {
			out[r][k] = c.GetText()
		}
	}
	return out
}

// WriteTableCSV writes a table as CSV (RFC 4180). The text of a cell that spans several stands in the first, the
// others are empty. Unless raw, a cell that a spreadsheet would run has an apostrophe before it, as spreadsheets mark
// text.
func WriteTableCSV(w io.Writer, t *inkstreamv1.Table, raw bool) error {
	c := csv.NewWriter(w)
	for _, row := range tableGrid(t) {
		for i, text := range row {
			if !raw && isFormula(text) {
				row[i] = "'" + text
			}
		}
		if err := c.Write(row); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	c.Flush()
	return c.Error()
}

// formulaStart is what a cell begins with that spreadsheets run; the wide forms are those of East Asian keyboards,
// which some take for the others.
const formulaStart = "=+-@\t\r\n＝＋－＠"

// signedNumber is what begins with a sign and is a number, with separators, a currency or a percent sign, or nothing
// but a sign: spreadsheets run none of it, and readers of the table count with it.
var signedNumber = regexp.MustCompile(`^[-+－＋]*\s*\p{Sc}?\s*[0-9.,'’\x{a0}\x{202f} ]*\s*(%|\p{Sc})?$`)

// isFormula reports whether a spreadsheet would run what a cell says.
func isFormula(text string) bool {
	return text != "" && strings.ContainsRune(formulaStart, []rune(text)[0]) && !signedNumber.MatchString(text)
}

// FormatTableMarkdown returns a table as a pipe table, or as HTML where cells span several rows or columns.
func FormatTableMarkdown(t *inkstreamv1.Table) []byte {
	for _, c := range t.GetCells() {
		if c.GetRowSpan() > 1 || c.GetColumnSpan() > 1 {
			return formatTableHTML(t)
		}
	}
	var b []byte
	for r, row := range tableGrid(t) {
		b = append(b, '|')
		for _, text := range row {
			b = append(b, ' ')
			b = appendEscaped(b, strings.ReplaceAll(text, "|", "&#124;"))
			b = append(b, " |"...)
		}
		b = append(b, '\n')
		if r == 0 {
			b = append(b, '|')
			for range row {
				b = append(b, " --- |"...)
			}
			b = append(b, '\n')
		}
	}
	return trimTrailingSpace(b)
}

func trimTrailingSpace(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == '\n' {
		b = b[:len(b)-1]
	}
	return b
}

func formatTableHTML(t *inkstreamv1.Table) []byte {
	b := []byte("<table>\n")
	next := 0
	cells := t.GetCells()
	covered := map[[2]int32]bool{}
	for r := range t.GetRows() {
		b = append(b, "<tr>"...)
		tag := "td"
		if r < t.GetHeaderRows() {
			tag = "th"
		}
		for k := range t.GetColumns() {
			if next < len(cells) && cells[next].GetRow() == r && cells[next].GetColumn() == k {
				c := cells[next]
				next++
				b = append(b, '<')
				b = append(b, tag...)
				if c.GetRowSpan() > 1 {
					b = fmt.Appendf(b, ` rowspan="%d"`, c.GetRowSpan())
				}
				if c.GetColumnSpan() > 1 {
					b = fmt.Appendf(b, ` colspan="%d"`, c.GetColumnSpan())
				}
				b = append(b, '>')
				b = append(b, html.EscapeString(c.GetText())...)
				b = fmt.Appendf(b, "</%s>", tag)
				for i := range min(c.GetRowSpan(), t.GetRows()-r) {
					for j := range min(c.GetColumnSpan(), t.GetColumns()-k) {
						covered[[2]int32{r + i, k + j}] = true
					}
				}
			} else if !covered[[2]int32{r, k}] {
				b = fmt.Appendf(b, "<%s></%s>", tag, tag)
			}
		}
		b = append(b, "</tr>\n"...)
	}
	return append(b, "</table>"...)
}
