package pagegen

import (
	"fmt"
	"html"
	"strings"
)

// composer writes a document in HTML.
type composer struct {
	writer
	style
	body  strings.Builder
	rules strings.Builder // CSS of the family
	flow  string
	flows int
	boxes int
	pages int
}

func newComposer(seed uint64, family, code string) *composer {
	c := newChance(seed, family)
	return &composer{writer: newWriter(c, code), style: newStyle(c, code), flow: "main"}
}

// put writes HTML.
func (c *composer) put(format string, args ...any) { fmt.Fprintf(&c.body, format, args...) }

// rule writes CSS.
func (c *composer) rule(format string, args ...any) { fmt.Fprintf(&c.rules, format+"\n", args...) }

// beginFlow makes what follows a text of its own.
func (c *composer) beginFlow() {
	c.flows++
	c.flow = fmt.Sprintf("flow%d", c.flows)
}

// nextBox returns an id for a box that text runs into.
func (c *composer) nextBox() string {
	c.boxes++
	return fmt.Sprintf("box%d", c.boxes)
}

// escape returns text as HTML, with soft hyphens if the style hyphenates.
func (c *composer) escape(text string) string {
	if c.hyphens {
		text = hyphenate(text)
	}
	return html.EscapeString(text)
}

// block returns an element that is a block of the truth.
func (c *composer) block(tag string, kind Kind, class, inner string) string {
	return fmt.Sprintf(`<%s data-k="%s" data-f="%s" class="%s">%s</%s>`, tag, kind, c.flow, class, inner, tag)
}

// line returns a block without emphasis.
func (c *composer) line(kind Kind, class, text string) string {
	return c.block("div", kind, class, html.EscapeString(text))
}

// prose returns a paragraph of some sentences.
func (c *composer) prose(sentences int) string { return c.proseOf("", c.paragraph(sentences)) }

// proseOf returns a paragraph, a few words of which may be emphasised.
func (c *composer) proseOf(class, text string) string {
	inner := c.escape(text)
	if c.happens(0.12) && c.code != "jpn" {
		words := strings.Split(inner, " ")
		if at := c.IntN(len(words)); len(words) > 6 && at+2 < len(words) {
			tag := choose(c.chance, "i", "b", "i")
			words[at], words[at+1] = "<"+tag+">"+words[at], words[at+1]+"</"+tag+">"
			inner = strings.Join(words, " ")
		}
	}
	return fmt.Sprintf(`<p data-k="paragraph" data-split data-f="%s" class="%s">%s</p>`, c.flow, class, inner)
}

// proses returns a number of paragraphs.
func (c *composer) proses(number, fewest, most int) string {
	var out strings.Builder
	for range number {
		out.WriteString(c.prose(c.count(fewest, most)))
	}
	return out.String()
}

// heading returns a heading of a level.
func (c *composer) heading(level int, text string) string {
	kind := KindHeading
	if level == 0 {
		kind = KindTitle
	}
	return fmt.Sprintf(`<h%d data-k="%s" data-l="%d" data-f="%s">%s</h%d>`, level+1, kind, max(1, level), c.flow,
		html.EscapeString(text), level+1)
}

// openPage begins a page.
func (c *composer) openPage(attributes string) {
	c.pages++
	c.put(`<section class="page" %s>`, attributes)
}

// closePage ends a page.
func (c *composer) closePage() { c.put("</section>\n") }

// fit returns a box that cuts what does not fit.
func fit(id, next, css, inner string) string {
	return fmt.Sprintf(`<div id="%s" data-fit="%s" class="fit" style="%s">%s</div>`, id, next, css, inner)
}

// columns returns the CSS of text in columns.
func (c *composer) columns(number int) string {
	css := fmt.Sprintf("column-count:%d;column-gap:%.1fpt;column-fill:%s;", number, c.gutter,
		choose(c.chance, "auto", "auto", "balance"))
	if c.columnRule {
		css += "column-rule:0.5pt solid #555;"
	}
	return css
}

// html returns the whole document.
func (c *composer) html() string {
	direction := "ltr"
	if c.code == "ara" || c.code == "heb" {
		direction = "rtl"
	}
	align := "start"
	if c.justify {
		align = "justify"
	}
	gap, indent := c.size*c.between(0.35, 0.9), 0.0
	if c.indent {
		gap, indent = 0, c.size*c.between(1, 2)
	}
	grow := c.between(1.12, 1.35)
	var css strings.Builder
	fmt.Fprintf(&css, `@page{size:%.2fpt %.2fpt;margin:0}
*{box-sizing:border-box} html,body{margin:0;padding:0}
body{font:%.2fpt/%.3f "%s";direction:%s;-webkit-print-color-adjust:exact}
.page{position:relative;width:%.2fpt;height:%.2fpt;overflow:hidden;padding:%.1fpt %.1fpt;break-after:page;display:flex;flex-direction:column}
.page:last-of-type{break-after:auto}
.fit{min-height:0;min-width:0;overflow:hidden}
p{margin:0 0 %.2fpt;text-indent:%.2fpt;text-align:%s;orphans:1;widows:1}
.cont,h1+p,h2+p,h3+p,h4+p,.flush{text-indent:0}
h1,h2,h3,h4,h5{font-family:"%s";margin:%.1fpt 0 %.1fpt;line-height:1.15;break-after:avoid}
h1:first-child,h2:first-child,h3:first-child,h4:first-child{margin-top:0}
`, c.pageWidth, c.pageHeight, c.size, c.leading, c.bodyFont, direction, c.pageWidth, c.pageHeight, c.marginY, c.marginX,
		gap, indent, align, c.headFont, c.size*c.between(0.8, 1.4), c.size*c.between(0.3, 0.6))
	size := c.size * grow * grow * grow
	for level := range 5 {
		weight := choose(c.chance, "bold", "bold", "bold", "normal")
		if level > 1 {
			weight = "bold"
		}
		fmt.Fprintf(&css, "h%d{font-size:%.2fpt;font-weight:%s;color:%s}\n", level+1, max(size, c.size), weight,
			choose(c.chance, "#000", c.accent))
		size /= grow
	}
	css.WriteString(sharedRules)
	return fmt.Sprintf("<!doctype html><html lang=\"%s\"><meta charset=utf-8><style>%s%s</style><body>%s</body></html>",
		htmlLanguage(c.code), css.String(), c.rules.String(), c.body.String())
}

// sharedRules is the CSS of what several families use.
const sharedRules = `
.row{display:flex} .grow{flex:1 1 0;min-height:0;min-width:0} .center{text-align:center} .right{text-align:right}
.small{font-size:85%} .tiny{font-size:75%} .bold{font-weight:bold} .italic{font-style:italic}
.head,.foot{font-size:82%;display:flex;justify-content:space-between;white-space:nowrap}
.head{padding-bottom:8pt} .foot{padding-top:8pt}
table{border-collapse:collapse;font-size:92%;text-align:start} td,th{padding:1.6pt 4pt;vertical-align:top;text-align:start}
td.num,th.num{text-align:right;font-variant-numeric:tabular-nums} td.mid,th.mid{text-align:center}
table[data-ruling=ruled] td,table[data-ruling=ruled] th{border:0.6pt solid #333}
figure{margin:0;break-inside:avoid} figure img,figure svg{display:block;width:100%}
sup{font-size:65%;line-height:0} pre{margin:0;white-space:pre}
`

func htmlLanguage(code string) string {
	names := map[string]string{"eng": "en", "deu": "de", "fra": "fr", "spa": "es", "ita": "it", "pol": "pl", "rus": "ru",
		"ell": "el", "ara": "ar", "heb": "he", "jpn": "ja"}
	return names[code]
}

// runningHead returns the line at the top of a page: a header, a page number or both.
func (c *composer) runningHead(title string, page int) string {
	number := c.line(KindPageNumber, "", fmt.Sprint(page))
	header := c.line(KindHeader, "", title)
	if page%2 == 0 {
		header, number = number, header
	}
	return `<div class="head">` + header + number + `</div>`
}

// pageFoot returns a page number at the bottom.
func (c *composer) pageFoot(page int) string {
	return fmt.Sprintf(`<div class="foot" style="justify-content:%s">%s</div>`, choose(c.chance, "center", "flex-end", "center"),
		c.line(KindPageNumber, "", fmt.Sprint(page)))
}
