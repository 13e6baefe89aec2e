package quality

import (
	"html"
	"regexp"
	"strconv"
	"strings"
)

// Markdown is what is measured of a markdown document.
type Markdown struct {
	// Text is what a reader sees of all of it, headings and tables too, without marks; blocks are lines.
	Text     string
	Headings []Heading
	Tables   []Grid
}

// Heading is a heading with its level, from 1.
type Heading struct {
	Level int
	Text  string
}

var (
	mdHeading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$`)
	mdBullet  = regexp.MustCompile(`^[ \t]*(?:>[ \t]?)*(?:[-*+][ \t]+)?`)
	mdRule    = regexp.MustCompile(`^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$`)
	mdFence   = regexp.MustCompile("^[ \t]*(?:```|~~~)")
	mdImage   = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	mdLink    = regexp.MustCompile(`\[([^\]]*)\]\([^)\s]*(?:\s+"[^"]*")?\)`)
	mdStrong  = regexp.MustCompile(`(\*\*|__)(\S(?:.*?\S)?)(\*\*|__)`)
	mdEmph    = regexp.MustCompile(`(^|[\s("'\[])[*_](\S(?:[^*_]*\S)?)[*_]($|[\s.,;:!?)"'\]])`)
	mdCode    = regexp.MustCompile("`+([^`]+)`+")
	mdEscape  = regexp.MustCompile(`\\([!-/:-@\[-` + "`" + `{-~])`)
	mdDivider = regexp.MustCompile(`^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
	comment   = regexp.MustCompile(`(?s)<!--.*?-->`)
	htmlTable = regexp.MustCompile(`(?is)<table\b.*?</table>`)
	htmlRow   = regexp.MustCompile(`(?is)<tr\b[^>]*>(.*?)</tr>`)
	htmlCell  = regexp.MustCompile(`(?is)<t[dh]\b([^>]*)>(.*?)</t[dh]>`)
	htmlSpan  = regexp.MustCompile(`(?i)(row|col)span\s*=\s*["']?(\d+)`)
	htmlTag   = regexp.MustCompile(`(?i)</?(?:a|b|br|code|div|em|figcaption|figure|i|img|p|span|strong|sub|sup|u)\b[^>]*>`)
)

// ParseMarkdown reads the kinds of markdown that converters write: headings with #, pipe tables, tables in HTML,
// fenced code, lists.
func ParseMarkdown(src string) Markdown {
	p := &markdownParser{}
	src = comment.ReplaceAllString(strings.ReplaceAll(src, "\r\n", "\n"), "")
	for {
		at := htmlTable.FindStringIndex(src)
		if at == nil {
			break
		}
		p.parseLines(src[:at[0]])
		p.addTable(parseHTMLTable(src[at[0]:at[1]]))
		src = src[at[1]:]
	}
	p.parseLines(src)
	p.doc.Text = strings.TrimSpace(p.text.String())
	return p.doc
}

type markdownParser struct {
	doc  Markdown
	text strings.Builder
}

func (p *markdownParser) writeLine(line string) {
	if line != "" {
		p.text.WriteString(line)
		p.text.WriteByte('\n')
	}
}

func (p *markdownParser) addTable(g Grid) {
	p.doc.Tables = append(p.doc.Tables, g)
	for _, row := range g {
		p.writeLine(strings.TrimSpace(strings.Join(row, " ")))
	}
}

// parseLines reads a part of the document that has no table in HTML.
func (p *markdownParser) parseLines(src string) {
	lines := strings.Split(src, "\n")
	fenced := false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case mdFence.MatchString(line):
			fenced = !fenced
		case fenced:
			p.writeLine(line)
		case strings.Contains(line, "|") && i+1 < len(lines) && strings.Contains(lines[i+1], "|") && mdDivider.MatchString(lines[i+1]):
			g := Grid{splitPipeRow(line)}
			for i++; i+1 < len(lines) && strings.Contains(lines[i+1], "|"); i++ {
				g = append(g, splitPipeRow(lines[i+1]))
			}
			p.addTable(g)
		case mdRule.MatchString(line):
		default:
			if m := mdHeading.FindStringSubmatch(line); m != nil {
				h := Heading{Level: len(m[1]), Text: stripInlineMarks(m[2])}
				p.doc.Headings = append(p.doc.Headings, h)
				p.writeLine(h.Text)
				continue
			}
			p.writeLine(stripInlineMarks(mdBullet.ReplaceAllString(line, "")))
		}
	}
}

// splitPipeRow splits a row of a pipe table; \| is no border.
func splitPipeRow(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var cells []string
	start := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			cells = append(cells, stripInlineMarks(line[start:i]))
			start = i + 1
		}
	}
	if rest := strings.TrimSpace(line[start:]); rest != "" {
		cells = append(cells, stripInlineMarks(rest))
	}
	return cells
}

// stripInlineMarks removes the marks inside a line.
func stripInlineMarks(s string) string {
	s = mdImage.ReplaceAllString(s, "")
	s = mdLink.ReplaceAllString(s, "$1")
	s = htmlTag.ReplaceAllString(s, " ")
	s = mdCode.ReplaceAllString(s, "$1")
	s = mdStrong.ReplaceAllString(s, "$2")
	s = mdEmph.ReplaceAllString(s, "$1$2$3")
	s = mdEscape.ReplaceAllString(s, "$1")
	return strings.TrimSpace(html.UnescapeString(s))
}

// maxCellSpan bounds the spans that are believed.
const maxCellSpan = 1000

// parseHTMLTable reads a table in HTML. Cells that span several leave the others empty.
func parseHTMLTable(src string) Grid {
	var g Grid
	covered := map[[2]int]bool{} // by cells that span rows
	for r, row := range htmlRow.FindAllStringSubmatch(src, -1) {
		var out []string
		for _, cell := range htmlCell.FindAllStringSubmatch(row[1], -1) {
			for covered[[2]int{r, len(out)}] {
				out = append(out, "")
			}
			rows, columns := parseCellSpans(cell[1])
			for i := range rows {
				for j := range columns {
					covered[[2]int{r + i, len(out) + j}] = true
				}
			}
			out = append(out, stripInlineMarks(cell[2]))
			for range columns - 1 {
				out = append(out, "")
			}
		}
		g = append(g, out)
	}
	return g
}

func parseCellSpans(attributes string) (rows, columns int) {
	rows, columns = 1, 1
	for _, m := range htmlSpan.FindAllStringSubmatch(attributes, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || n < 1 || n > maxCellSpan {
			continue
		}
		if strings.EqualFold(m[1], "row") {
			rows = n
		} else {
			columns = n
		}
	}
	return rows, columns
}
