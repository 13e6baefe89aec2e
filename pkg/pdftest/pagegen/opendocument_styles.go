package pagegen

import (
	"fmt"
	"strings"
)

// odtFile writes what a composer has composed as a file.
type odtFile struct{ *odtComposer }

// source returns the whole document.
func (c odtFile) source() string {
	var out strings.Builder
	out.WriteString(`<?xml version="1.0" encoding="UTF-8"?><office:document office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text"`)
	for _, name := range [][2]string{{"office", "office"}, {"style", "style"}, {"text", "text"}, {"table", "table"}, {"draw", "drawing"},
		{"fo", "xsl-fo-compatible"}, {"svg", "svg-compatible"}} {
		fmt.Fprintf(&out, ` xmlns:%s="urn:oasis:names:tc:opendocument:xmlns:%s:1.0"`, name[0], name[1])
	}
	out.WriteString(`><office:font-face-decls>`)
	for _, font := range []string{c.bodyFont, c.headFont, c.monoFont} {
		fmt.Fprintf(&out, `<style:font-face style:name="%s" svg:font-family="'%s'"/>`, font, font)
	}
	out.WriteString(`</office:font-face-decls><office:styles>` + c.paragraphStyles() + c.listStyles() + `</office:styles><office:automatic-styles>`)
	out.WriteString(c.pageLayout() + c.styles.String() + `</office:automatic-styles><office:master-styles>` + c.masterPage() + `</office:master-styles>`)
	out.WriteString(`<office:body><office:text>` + c.body.String() + `</office:text></office:body></office:document>`)
	return out.String()
}

// paragraphStyles returns the styles that all documents have.
func (c odtFile) paragraphStyles() string {
	var out strings.Builder
	align, gap, indent := "start", c.size*c.between(0.35, 0.9), 0.0
	if c.justify {
		align = "justify"
	}
	if c.indent {
		gap, indent = 0, c.size*c.between(1, 2)
	}
	language, country := htmlLanguage(c.code), map[string]string{"eng": "US", "deu": "DE", "fra": "FR", "spa": "ES", "ita": "IT", "pol": "PL"}[c.code]
	fmt.Fprintf(&out, `<style:default-style style:family="paragraph"><style:paragraph-properties fo:orphans="2" fo:widows="2" fo:hyphenation-ladder-count="no-limit"/>`+
		`<style:text-properties style:font-name="%s" fo:font-size="%.1fpt" fo:language="%s" fo:country="%s" fo:hyphenate="false"/></style:default-style>`,
		c.bodyFont, c.size, language, country)
	leading := fmt.Sprintf(`fo:line-height="%.0f%%"`, 100*c.between(1, 1.3))
	add := func(name, paragraph, text string) {
		fmt.Fprintf(&out, `<style:style style:name="%s" style:family="paragraph"><style:paragraph-properties %s/><style:text-properties %s/></style:style>`, name, paragraph, text)
	}
	add("Text", fmt.Sprintf(`fo:margin-bottom="%.1fpt" fo:text-indent="%.1fpt" fo:text-align="%s" %s`, gap, indent, align, leading),
		fmt.Sprintf(`fo:hyphenate="%t" fo:hyphenation-remain-char-count="2" fo:hyphenation-push-char-count="2"`, c.hyphens))
	add("Item", fmt.Sprintf(`fo:margin-bottom="%.1fpt" %s`, gap/2, leading), "")
	add("Line", leading, "")
	add("Footnote", `fo:margin-left="14pt" fo:text-indent="-14pt"`, fmt.Sprintf(`fo:font-size="%.1fpt"`, c.size*0.85))
	add("Caption", fmt.Sprintf(`fo:margin-top="3pt" fo:margin-bottom="%.1fpt"`, c.size), fmt.Sprintf(`fo:font-size="%.1fpt" fo:font-style="italic"`, c.size*0.9))
	add("Code", `fo:margin-left="12pt"`, fmt.Sprintf(`style:font-name="%s" fo:font-size="%.1fpt"`, c.monoFont, c.size*0.88))
	add("Small", "", fmt.Sprintf(`fo:font-size="%.1fpt"`, c.size*0.85))
	add("Centre", `fo:text-align="center"`, fmt.Sprintf(`fo:font-size="%.1fpt"`, c.size*0.9))
	add("Right", `fo:text-align="end"`, "")
	add("Head", "", fmt.Sprintf(`fo:font-size="%.1fpt" fo:font-weight="bold"`, c.size*0.92))
	add("HeadRight", `fo:text-align="end"`, fmt.Sprintf(`fo:font-size="%.1fpt" fo:font-weight="bold"`, c.size*0.92))
	add("Cell", "", fmt.Sprintf(`fo:font-size="%.1fpt"`, c.size*0.92))
	add("Number", `fo:text-align="end"`, fmt.Sprintf(`fo:font-size="%.1fpt"`, c.size*0.92))
	grow, colour := c.between(1.15, 1.35), choose(c.chance, "#000000", c.accent)
	size := c.size * grow * grow * grow
	for _, name := range []string{"Title", "Heading1", "Heading2", "Heading3"} {
		align := "start"
		if name == "Title" {
			align = choose(c.chance, "start", "center")
		}
		add(name, fmt.Sprintf(`fo:margin-top="%.1fpt" fo:margin-bottom="%.1fpt" fo:keep-with-next="always" fo:text-align="%s"`, c.size*c.between(0.7, 1.4),
			c.size*c.between(0.3, 0.6), align), fmt.Sprintf(`style:font-name="%s" fo:font-size="%.1fpt" fo:font-weight="bold" fo:color="%s"`, c.headFont, max(size, c.size), colour))
		size /= grow
	}
	out.WriteString(`<style:style style:name="Frame" style:family="graphic"><style:graphic-properties fo:border="none" fo:background-color="transparent"/></style:style>` +
		`<style:style style:name="Bold" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>` +
		`<style:style style:name="Italic" style:family="text"><style:text-properties fo:font-style="italic"/></style:style>`)
	return out.String()
}

// listStyles returns the styles of lists: each level is indented, and its marks hang before it.
func (c odtFile) listStyles() string {
	var out strings.Builder
	step := c.between(14, 22)
	place := func(level int) string {
		return fmt.Sprintf(`<style:list-level-properties text:list-level-position-and-space-mode="label-alignment"><style:list-level-label-alignment `+
			`text:label-followed-by="listtab" fo:text-indent="-%.1fpt" fo:margin-left="%.1fpt"/></style:list-level-properties>`, step-2, step*float64(level))
	}
	out.WriteString(`<text:list-style style:name="Bullets">`)
	for i, mark := range c.bullets {
		fmt.Fprintf(&out, `<text:list-level-style-bullet text:level="%d" text:bullet-char="%s">%s</text:list-level-style-bullet>`, i+1, mark, place(i+1))
	}
	out.WriteString(`</text:list-style><text:list-style style:name="Numbers">`)
	for i, format := range []string{`style:num-format="1" style:num-suffix="."`, `style:num-format="a" style:num-suffix=")"`} {
		fmt.Fprintf(&out, `<text:list-level-style-number text:level="%d" %s>%s</text:list-level-style-number>`, i+1, format, place(i+1))
	}
	out.WriteString(`</text:list-style>`)
	return out.String()
}

func (c odtFile) pageLayout() string {
	return fmt.Sprintf(`<style:page-layout style:name="Page"><style:page-layout-properties fo:page-width="%.2fpt" fo:page-height="%.2fpt" fo:margin-left="%.2fpt" `+
		`fo:margin-right="%.2fpt" fo:margin-top="%.2fpt" fo:margin-bottom="%.2fpt"/><style:header-style><style:header-footer-properties fo:margin-bottom="10pt"/>`+
		`</style:header-style><style:footer-style><style:header-footer-properties fo:margin-top="10pt"/></style:footer-style></style:page-layout>`,
		c.pageWidth, c.pageHeight, c.marginX, c.marginX, c.marginY, c.marginY)
}

func (c odtFile) masterPage() string {
	head := ""
	if c.header != "" {
		head = `<style:header><text:p text:style-name="Small">` + escapeXML(c.header) + `</text:p></style:header>`
	}
	return fmt.Sprintf(`<style:master-page style:name="Standard" style:page-layout-name="Page">%s<style:footer><text:p text:style-name="%s">`+
		`<text:page-number text:select-page="current"/></text:p></style:footer></style:master-page>`, head, choose(c.chance, "Centre", "Right", "Centre"))
}

// beginSection writes the start of a section of text in columns.
func (c *odtComposer) beginSection(columns int, balanced bool) {
	rule := ""
	if c.columnRule {
		rule = `<style:column-sep style:width="0.5pt" style:color="#555555" style:height="100%" style:style="solid"/>`
	}
	style := c.addStyle("section", fmt.Sprintf(`<style:section-properties text:dont-balance-text-columns="%t"><style:columns fo:column-count="%d" fo:column-gap="%.1fpt">%s`+
		`</style:columns></style:section-properties>`, !balanced, columns, c.gutter, rule))
	c.names++
	c.put(`<text:section text:style-name="%s" text:name="Section%d">`, style, c.names)
}

// textFrame writes a paragraph to which a frame is anchored that stands at the left or right of the text around it. What
// the function writes stands in it, and is a text of its own.
func (c *odtComposer) textFrame(width float64, write func()) {
	side := choose(c.chance, "left", "right")
	look := ""
	if c.happens(0.6) {
		look = `fo:border="0.6pt solid #444444"`
	}
	if c.happens(0.6) {
		look += fmt.Sprintf(` fo:background-color="%s"`, c.shade)
	}
	c.names++
	style := fmt.Sprintf("S%d", c.names)
	fmt.Fprintf(&c.styles, `<style:style style:name="%s" style:family="graphic" style:parent-style-name="Frame">`, style)
	fmt.Fprintf(&c.styles, `<style:graphic-properties style:wrap="parallel" style:horizontal-pos="%s" style:horizontal-rel="paragraph" style:vertical-pos="top" `+
		`style:vertical-rel="paragraph" fo:padding="5pt" fo:margin="8pt" %s/></style:style>`, side, look)
	text := c.paragraph(c.count(6, 9))
	start, end := c.begin(KindParagraph, 0, text)
	c.names++
	c.put(`<text:p text:style-name="Text">%s<draw:frame draw:name="Frame%d" draw:style-name="%s" text:anchor-type="paragraph" svg:width="%.1fpt" `+
		`fo:min-height="20pt"><draw:text-box fo:min-height="20pt">`, start, c.names, style, width)
	done, anchor := c.beginFlow(), len(c.blocks)-1
	write()
	for i := anchor + 1; i < len(c.blocks); i++ {
		c.anchors[i] = anchor
	}
	done()
	c.put(`</draw:text-box></draw:frame>%s%s</text:p>`, escapeXML(text), end)
}

// picture writes a picture with its caption below.
func (c *odtComposer) picture(width float64, number int) {
	defer c.beginFlow()()
	_, data, _ := strings.Cut(c.photograph(), ",")
	c.names++
	start, end := c.begin(KindFigure, 0, "")
	c.put(`<text:p text:style-name="Centre">%s<draw:frame draw:name="Picture%d" text:anchor-type="as-char" svg:width="%.1fpt" svg:height="%.1fpt"><draw:image>`+
		`<office:binary-data>%s</office:binary-data></draw:image></draw:frame>%s</text:p>`, start, c.names, width, width*0.6, data, end)
	c.plain(KindCaption, "Caption", fmt.Sprintf("Figure %d: %s", number, c.phrase()))
}
