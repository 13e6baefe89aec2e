package pagegen

import (
	"fmt"
	"html"
	"strings"
)

// transcriptStyle says how a transcript looks.
type transcriptStyle struct {
	numbers bool
	lines   int
	width   int // of a line in characters
	mono    bool
}

// transcript composes pages of a transcript.
type transcript struct {
	*composer
	transcriptStyle
}

// newTranscript writes the rules of a style that it picks.
func newTranscript(c *composer) transcript {
	o := transcriptStyle{numbers: true, lines: choose(c.chance, 25, 25, 28, 24), width: c.count(44, 58), mono: c.happens(0.6)}
	font := c.bodyFont
	if o.mono {
		font = c.monoFont
	}
	c.rule(".tline{display:flex;flex-direction:column;font-family:'%s'} .lnum{width:2.2em;text-align:right;margin-right:1.2em;flex:none} .ltext{white-space:nowrap}", font)
	return transcript{c, o}
}

// pageLines returns the lines of one page of a transcript and, for each, whether a paragraph begins there.
func (t transcript) pageLines() (lines []string, starts []bool) {
	question := true
	for len(lines) < t.lines {
		text := t.paragraph(t.count(1, 3))
		switch {
		case t.happens(0.12):
			text = choose(t.chance, "MR. ", "MS. ", "THE ") + strings.ToUpper(choose(t.chance, surnames...)) + ": " + text
		case question:
			text = "Q.   " + text
		default:
			text = "A.   " + text
		}
		question = !question
		wrapped := wrapText(text, t.width)
		if len(lines)+len(wrapped) > t.lines {
			wrapped = wrapped[:t.lines-len(lines)]
		}
		for i, line := range wrapped {
			lines, starts = append(lines, line), append(starts, i == 0)
		}
	}
	return lines, starts
}

// wrapText breaks a text into lines of so many characters.
func wrapText(text string, width int) []string {
	var out []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && len(line)+1+len(word) > width {
			out, line = append(out, line), word
			continue
		}
		if line != "" || len(out) == 0 && word == "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

// page returns a page: numbered lines, of which those of a paragraph are one block.
func (t transcript) page(number int) string {
	lines, starts := t.pageLines()
	var out strings.Builder
	fmt.Fprintf(&out, `<div class="row" style="justify-content:flex-end">%s</div>`, t.line(KindPageNumber, "", fmt.Sprintf("%d", number)))
	out.WriteString(`<div class="tline" style="flex:1 1 0">`)
	id := 0
	for i, line := range lines {
		if starts[i] {
			t.boxes++
			id = t.boxes
		}
		indent := 2.5
		if !starts[i] {
			indent = 0
		}
		out.WriteString(`<div class="row" style="flex:1 1 0;align-items:center">`)
		if t.numbers {
			fmt.Fprintf(&out, `<div class="lnum" data-k="line_number" data-f="numbers%d">%d</div>`, t.pages, i+1)
		}
		fmt.Fprintf(&out, `<div class="ltext" style="padding-left:%.1fem" data-k="paragraph" data-f="%s" data-id="t%d">%s</div></div>`, indent, t.flow, id,
			strings.ReplaceAll(html.EscapeString(line), "   ", "&nbsp;&nbsp; "))
	}
	out.WriteString("</div>")
	return out.String()
}

func composeTranscript(c *composer) { composeDeposition(c, true) }

func composePlainTranscript(c *composer) { composeDeposition(c, false) }

func composeDeposition(c *composer, numbers bool) {
	t := newTranscript(c)
	t.numbers = numbers
	fit := (c.pageWidth - 2*c.marginX) / float64(t.width+10)
	if t.mono {
		fit /= 0.6
	} else {
		fit /= 0.5
	}
	c.size = min(12, fit)
	first := c.count(1, 200)
	for page := range c.count(1, 3) {
		c.openPage("")
		if c.happens(0.4) {
			c.put("%s", c.block("div", KindHeader, "center small", html.EscapeString("Deposition of "+c.fullName())))
		}
		c.put("%s", t.page(first+page))
		c.closePage()
	}
}

// composeTwoUpTranscript sets two or four pages of a transcript on one sheet.
func composeTwoUpTranscript(c *composer) {
	t := newTranscript(c)
	up := choose(c.chance, 2, 4, 4)
	if up == 2 && c.happens(0.6) {
		c.resize(792, 612)
	}
	c.marginX, c.marginY = c.between(20, 40), c.between(22, 40)
	inner := (c.pageWidth - 2*c.marginX - 40) / 2
	per := 0.5
	if t.mono {
		per = 0.6
	}
	c.size, c.leading = min(9.5, inner/float64(t.width+9)/per), 1.1
	first := c.count(1, 200)
	frame := choose(c.chance, "", "border:0.6pt solid #000;", "border:0.6pt solid #000;")
	if c.happens(0.2) {
		t.numbers = false
	}
	c.openPage("")
	if c.happens(0.4) {
		c.put("%s", c.block("div", KindHeader, "center small", html.EscapeString("Deposition of "+c.fullName())))
	}
	for row := range up / 2 {
		c.put(`<div class="row grow" style="gap:%.1fpt;margin-bottom:8pt">`, c.between(8, 24))
		for column := range 2 {
			number := first + row*2 + column
			if up == 4 {
				number = first + column*2 + row
			}
			c.flow = fmt.Sprintf("page%d", number)
			c.put(`<div style="flex:1 1 0;min-width:0;padding:5pt;display:flex;flex-direction:column;%s">%s</div>`, frame, t.page(number))
		}
		c.put("</div>")
	}
	c.closePage()
}

func composePlay(c *composer) {
	cast := make([]string, c.count(3, 5))
	for i := range cast {
		cast[i] = strings.ToUpper(choose(c.chance, forenames...))
	}
	hanging := c.happens(0.5)
	c.rule(".speech{%s} .stage{font-style:italic;margin:3pt 2em}", map[bool]string{true: "padding-left:1.6em;text-indent:-1.6em", false: "text-indent:0"}[hanging])
	ids := []string{c.nextBox(), c.nextBox(), ""}
	for page := range 2 {
		attributes, content := "data-optional", ""
		if page == 0 {
			attributes = ""
			content = c.heading(1, choose(c.chance, "Act ", "Scene ")+choose(c.chance, "I", "II", "III", "IV"))
			for range 60 {
				if c.happens(0.12) {
					content += c.block("div", KindParagraph, "stage", c.escape("["+c.sentence()+"]"))
				}
				content += c.block("p", KindParagraph, "speech", "<b>"+choose(c.chance, cast...)+".</b> "+c.escape(c.paragraph(c.count(1, 3))))
			}
		}
		c.openPage(attributes)
		c.put("%s", c.runningHead(choose(c.chance, townNames...), page+30))
		c.put("%s", fit(ids[page], ids[page+1], "flex:1 1 0;"+c.columns(choose(c.chance, 1, 1, 2)), content))
		c.closePage()
	}
}
