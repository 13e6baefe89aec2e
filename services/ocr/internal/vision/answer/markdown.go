package answer

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	atxHeading = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*$`)
	listMark   = regexp.MustCompile(`^\s{0,12}(?:[-*+•·▪◦]|\d{1,4}[.)]|[a-z][.)])\s+\S`)
	bulletMark = regexp.MustCompile(`^\s*[-*+•·▪◦]\s+`)
	tableRule  = regexp.MustCompile(`^\s*\|?(?:\s*:?-{2,}:?\s*\|)*\s*:?-{2,}:?\s*\|?\s*$`)
	qwenPlace  = regexp.MustCompile(`<!--\s*([A-Za-z]{1,20})\s*\(([-\d.,\s]{1,80})\)\s*-->`)
	frontLine  = regexp.MustCompile(`^([a-z_]{1,40}):\s*(.{0,80})$`)
)

// cutFrontMatter returns a text without the front matter of olmOCR, of which it keeps the rotation.
func (p *parser) cutFrontMatter(text string) string {
	rest, found := strings.CutPrefix(strings.TrimLeft(text, " \n"), "---\n")
	if !found {
		return text
	}
	head, body, found := strings.Cut(rest, "\n---")
	if !found {
		return text
	}
	upright, turn := true, 0
	for _, line := range strings.Split(head, "\n") {
		m := frontLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			return text // a rule and a text
		}
		switch m[1] {
		case "is_rotation_valid":
			upright = !strings.EqualFold(m[2], "false")
		case "rotation_correction":
			turn, _ = strconv.Atoi(m[2])
		}
	}
	if !upright && (turn == 90 || turn == 180 || turn == 270) {
		p.answer.Turn = turn
	}
	return body
}

// parseMarkdown reads Markdown without labels. Qwen's comments tell the places of its pictures and tables.
func (p *parser) parseMarkdown(text string) {
	at, box, label := 0, Box{}, ""
	take := func(part string) {
		for _, b := range splitMarkdown(part) {
			if box.Exists() && (b.Table != nil || label == "Image") {
				b.Box, b.Label = box, label
				box = Box{}
			}
			p.add(b)
		}
	}
	for _, m := range qwenPlace.FindAllStringSubmatchIndex(text, maxBlocks) {
		take(text[at:m[0]])
		label, box = text[m[2]:m[3]], p.boxOf(numbersIn(text[m[4]:m[5]]))
		if kindOf(label) == Figure {
			p.add(Block{Kind: Figure, Label: label, Box: box})
			box = Box{}
		}
		at = m[1]
	}
	take(text[at:])
}

// splitMarkdown parts a text into blocks without boxes.
func splitMarkdown(text string) []Block {
	s := &markdownSplitter{lines: strings.Split(text, "\n")}
	for s.at < len(s.lines) && len(s.out) < maxBlocks {
		s.step()
	}
	s.flush()
	return s.out
}

type markdownSplitter struct {
	lines []string
	at    int
	text  []string // of the paragraph that is open
	out   []Block
}

func (s *markdownSplitter) flush() {
	if t := plainInline(strings.Join(s.text, "\n")); t != "" {
		s.out = append(s.out, Block{Kind: Paragraph, Text: t})
	}
	s.text = nil
}

// step takes the next block or line.
func (s *markdownSplitter) step() {
	line := strings.TrimRight(s.lines[s.at], " \t\r")
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		s.flush()
		s.at++
	case strings.HasPrefix(trimmed, "```"):
		s.flush()
		body := s.until(func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "```") })
		s.out = append(s.out, Block{Kind: Code, Text: trimFence(body)})
	case strings.Contains(trimmed, "<table"):
		s.takeHTMLTable()
	case strings.HasPrefix(trimmed, `\begin{t`) || strings.HasPrefix(trimmed, `\begin{array`):
		s.flush()
		body := s.until(func(l string) bool { return strings.Contains(l, `\end{tabular`) || strings.Contains(l, `\end{array`) })
		if t := tableFromLatex(body); t != nil {
			s.out = append(s.out, Block{Kind: TableBlock, Table: t, Text: t.PlainText()})
		}
	case strings.HasPrefix(trimmed, `\[`) || strings.HasPrefix(trimmed, "$$"):
		s.takeFormula(trimmed)
	case atxHeading.MatchString(trimmed):
		s.flush()
		m := atxHeading.FindStringSubmatch(trimmed)
		s.out = append(s.out, Block{Kind: Heading, Level: len(m[1]), Text: plainInline(m[2])})
		s.at++
	case strings.Contains(trimmed, "|") && s.at+1 < len(s.lines) && tableRule.MatchString(s.lines[s.at+1]) &&
		strings.Contains(s.lines[s.at+1], "-"):
		s.takePipeTable()
	case strings.HasPrefix(trimmed, "---") && strings.Trim(trimmed, "- ") == "",
		strings.HasPrefix(trimmed, "***") && strings.Trim(trimmed, "* ") == "":
		s.flush()
		s.at++
	case listMark.MatchString(line):
		s.flush()
		s.takeListItem()
	default:
		s.text = append(s.text, strings.TrimPrefix(trimmed, "> "))
		s.at++
	}
}

// until returns the lines from the next one through the one that ends them.
func (s *markdownSplitter) until(isEnd func(string) bool) string {
	start := s.at
	for s.at++; s.at < len(s.lines); s.at++ {
		if isEnd(s.lines[s.at]) {
			s.at++
			break
		}
		if isEnd(s.lines[start]) && s.at == start+1 && !strings.HasPrefix(strings.TrimSpace(s.lines[start]), "```") {
			break // it ends on its first line
		}
	}
	return strings.Join(s.lines[start:s.at], "\n")
}

func (s *markdownSplitter) takeHTMLTable() {
	line := s.lines[s.at]
	start := strings.Index(line, "<table")
	if before := strings.TrimSpace(line[:start]); before != "" {
		s.text = append(s.text, before)
	}
	s.flush()
	body := line[start:]
	for !strings.Contains(body, "</table") && s.at+1 < len(s.lines) {
		s.at++
		body += "\n" + s.lines[s.at]
	}
	s.at++
	rest := ""
	if end := strings.Index(body, "</table"); end >= 0 {
		if k := strings.IndexByte(body[end:], '>'); k >= 0 {
			rest = body[end+k+1:]
			body = body[:end+k+1]
		}
	}
	if t := tableFromHTML(body); t != nil {
		s.out = append(s.out, Block{Kind: TableBlock, Table: t, Text: t.PlainText()})
	}
	if strings.TrimSpace(rest) != "" {
		s.at--
		s.lines[s.at] = rest
	}
}

func (s *markdownSplitter) takeFormula(trimmed string) {
	s.flush()
	closing := `\]`
	if strings.HasPrefix(trimmed, "$$") {
		closing = "$$"
	}
	body := trimmed
	for !strings.Contains(body[2:], closing) && s.at+1 < len(s.lines) {
		s.at++
		body += "\n" + s.lines[s.at]
	}
	s.at++
	if end := strings.Index(body[2:], closing); end >= 0 {
		if rest := strings.TrimSpace(body[2+end+2:]); rest != "" {
			s.text = append(s.text, rest)
		}
		body = body[:2+end+2]
	}
	latex := trimMath(body)
	if t := tableFromLatex(latex); t != nil && strings.Contains(latex, "&") && strings.Contains(latex, "tabular") {
		s.out = append(s.out, Block{Kind: TableBlock, Table: t, Text: t.PlainText()})
		return
	}
	s.out = append(s.out, Block{Kind: Formula, Latex: latex, Text: plainLatex(latex)})
}

func (s *markdownSplitter) takePipeTable() {
	s.flush()
	g := newGrid()
	for first := true; s.at < len(s.lines) && strings.Contains(s.lines[s.at], "|"); s.at++ {
		line := strings.TrimSpace(s.lines[s.at])
		if tableRule.MatchString(line) && strings.Contains(line, "-") {
			first = false
			continue
		}
		g.startRow()
		for _, cell := range splitUnescaped(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), '|') {
			g.place(plainInline(strings.ReplaceAll(cell, `\|`, "|")), 1, 1, first)
		}
	}
	if t := g.finish(); t != nil {
		s.out = append(s.out, Block{Kind: TableBlock, Table: t, Text: t.PlainText()})
	}
}

// takeListItem takes an item with the lines that go on in it. A number stays in its text, as printed; a bullet does not.
func (s *markdownSplitter) takeListItem() {
	lines := []string{bulletMark.ReplaceAllString(s.lines[s.at], "")}
	for s.at++; s.at < len(s.lines); s.at++ {
		line := s.lines[s.at]
		if strings.TrimSpace(line) == "" || listMark.MatchString(line) || !strings.HasPrefix(line, "  ") {
			break
		}
		lines = append(lines, line)
	}
	if t := plainInline(strings.Join(lines, "\n")); t != "" {
		s.out = append(s.out, Block{Kind: ListItem, Text: t})
	}
}
