package pageformat

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// WriteALTO writes a page as ALTO 4.4 in pixels: text blocks with their lines, strings and spaces, figures as
// illustrations, tables as composed blocks. What kind each block is stands in its tag.
func WriteALTO(out io.Writer, p *inkstreamv1.Page, meta Meta) error {
	w, s := newXMLWriter(out), newBoxScaler(p, meta)
	a := altoWriter{xmlWriter: w, boxScaler: s, page: p, styles: map[wordStyle]string{}}
	a.collectStyles()
	w.printf(`<?xml version="1.0" encoding="UTF-8"?>
<alto xmlns="http://www.loc.gov/standards/alto/ns-v4#" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ` +
		`xsi:schemaLocation="http://www.loc.gov/standards/alto/ns-v4# http://www.loc.gov/standards/alto/v4/alto-4-4.xsd" SCHEMAVERSION="4.4">
<Description>
<MeasurementUnit>pixel</MeasurementUnit>
`)
	w.printf("<sourceImageInformation><fileName>%s</fileName></sourceImageInformation>\n",
		escapeXML(cmp.Or(meta.Image, meta.Title)))
	w.printf("<Processing ID=\"processing_1\"><processingStepSettings>%s</processingStepSettings><processingSoftware><softwareName>%s</softwareName>",
		escapeXML(fmt.Sprintf("%d dpi", int(meta.resolution(p)+0.5))), escapeXML(cmp.Or(meta.Software, "inkstream")))
	if meta.Version != "" {
		w.printf("<softwareVersion>%s</softwareVersion>", escapeXML(meta.Version))
	}
	w.printf("</processingSoftware></Processing>\n</Description>\n")
	a.writeHead()
	w.printf("<Layout>\n<Page ID=\"page_%d\" PHYSICAL_IMG_NR=\"%d\"", p.GetNumber(), max(1, p.GetNumber()))
	if label := p.GetLabel(); label != "" {
		w.printf(` PRINTED_IMG_NR="%s"`, escapeXML(label))
	}
	w.printf(` WIDTH="%d" HEIGHT="%d"`, s.width, s.height)
	if c := p.GetConfidence(); c > 0 && c <= 1 {
		w.printf(` PC="%.3f"`, c)
	}
	if tag := languageTag(p.GetLanguage()); tag != "" {
		w.printf(` LANG="%s"`, tag)
	}
	w.printf(">\n<PrintSpace ID=\"space_%d\"%s>\n", p.GetNumber(), positionAttributes(s.pageRect()))
	for i, b := range p.GetBlocks() {
		a.writeBlock(i+1, b)
	}
	w.printf("</PrintSpace>\n</Page>\n</Layout>\n</alto>\n")
	return w.closeDocument("alto")
}

// wordStyle is what ALTO keeps of how words look.
type wordStyle struct {
	family, color, emphasis string
	fixed                   bool
	size                    int // tenths of a point
}

type altoWriter struct {
	*xmlWriter
	boxScaler
	page       *inkstreamv1.Page
	styles     map[wordStyle]string // to their IDs
	blockKinds map[string]bool
	n          int
}

// collectStyles numbers the styles and kinds of blocks that are in use.
func (a *altoWriter) collectStyles() {
	a.blockKinds = map[string]bool{}
	for _, b := range a.page.GetBlocks() {
		if kind := blockKind(b); kind != "" {
			a.blockKinds[kind] = true
		}
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				if s, ok := a.styleOf(w); ok && a.styles[s] == "" {
					a.styles[s] = fmt.Sprintf("style_%d", len(a.styles)+1)
				}
			}
		}
	}
}

// blockKind returns a block's type where it is fit for an ID.
func blockKind(b *inkstreamv1.Block) string {
	kind := b.GetType()
	if len(kind) > 40 || strings.ContainsFunc(kind, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) {
		return ""
	}
	return kind
}

func (a *altoWriter) styleOf(w *inkstreamv1.Word) (wordStyle, bool) {
	fonts := a.page.GetFonts()
	if size := w.GetSize(); !(size > 0 && size < 5000) {
		return wordStyle{}, false
	}
	s := wordStyle{size: int(w.GetSize()*10 + 0.5)}
	i := int(w.GetFont()) - 1
	if i < 0 || i >= len(fonts) || fonts[i] == nil {
		return s, true
	}
	f := fonts[i]
	s.family, s.fixed = f.GetName(), f.GetFixedPitch()
	notHex := func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) }
	if c := strings.TrimPrefix(f.GetColor(), "#"); len(c) == 6 && !strings.ContainsFunc(c, notHex) {
		s.color = c
	}
	const bold = 600
	var looks []string
	if f.GetWeight() >= bold {
		looks = append(looks, "bold")
	}
	if f.GetItalic() {
		looks = append(looks, "italics")
	}
	s.emphasis = strings.Join(looks, " ")
	return s, true
}

// writeHead writes the styles and tags.
func (a *altoWriter) writeHead() {
	if len(a.styles) > 0 {
		a.printf("<Styles>\n")
		byID := map[string]wordStyle{}
		for s, id := range a.styles {
			byID[id] = s
		}
		for i := range len(byID) {
			id := fmt.Sprintf("style_%d", i+1)
			s := byID[id]
			a.printf(`<TextStyle ID="%s"`, id)
			if s.family != "" {
				a.printf(` FONTFAMILY="%s"`, escapeXML(s.family))
			}
			if s.fixed {
				a.printf(` FONTWIDTH="fixed"`)
			}
			a.printf(` FONTSIZE="%d.%d"`, s.size/10, s.size%10)
			if s.color != "" {
				a.printf(` FONTCOLOR="%s"`, s.color)
			}
			if s.emphasis != "" {
				a.printf(` FONTSTYLE="%s"`, s.emphasis)
			}
			a.printf("/>\n")
		}
		a.printf("</Styles>\n")
	}
	if len(a.blockKinds) > 0 {
		a.printf("<Tags>\n")
		for _, kind := range slices.Sorted(maps.Keys(a.blockKinds)) {
			a.printf("<StructureTag ID=\"kind_%s\" LABEL=\"%s\"/>\n", kind, kind)
		}
		a.printf("</Tags>\n")
	}
}

func positionAttributes(r rect) string {
	return fmt.Sprintf(` HPOS="%d" VPOS="%d" WIDTH="%d" HEIGHT="%d"`, r.x0, r.y0, r.width(), r.height())
}

func (a *altoWriter) writeBlock(i int, b *inkstreamv1.Block) {
	box, ok := a.scaleBox(b.GetBbox())
	if !ok {
		box = a.boxScaler.pageRect()
	}
	tag := ""
	if kind := blockKind(b); kind != "" {
		tag = fmt.Sprintf(` TAGREFS="kind_%s"`, kind)
	}
	id := fmt.Sprintf("%d_%d", a.page.GetNumber(), i)
	switch {
	case b.GetType() == "table" && a.blockHasText(b):
		a.printf("<ComposedBlock ID=\"table_%s\"%s%s TYPE=\"table\">\n", id, positionAttributes(box), tag)
		a.writeTextBlock(id, b, box, "")
		a.printf("</ComposedBlock>\n")
	case a.blockHasText(b):
		a.writeTextBlock(id, b, box, tag)
	case ok && b.GetType() == "figure":
		a.printf("<Illustration ID=\"figure_%s\"%s%s/>\n", id, positionAttributes(box), tag)
	case ok:
		a.printf("<GraphicalElement ID=\"area_%s\"%s%s/>\n", id, positionAttributes(box), tag)
	}
}

func (a *altoWriter) blockHasText(b *inkstreamv1.Block) bool {
	return slices.ContainsFunc(b.GetLines(), func(l *inkstreamv1.Line) bool {
		return slices.ContainsFunc(l.GetWords(),
			func(w *inkstreamv1.Word) bool { return strings.TrimSpace(w.GetText()) != "" })
	})
}

func (a *altoWriter) writeTextBlock(id string, b *inkstreamv1.Block, box rect, tag string) {
	a.printf("<TextBlock ID=\"block_%s\"%s%s", id, positionAttributes(box), tag)
	if tag := languageTag(b.GetLanguage()); tag != "" {
		a.printf(` LANG="%s"`, tag)
	}
	a.printf(">\n")
	for j, l := range b.GetLines() {
		a.writeLine(fmt.Sprintf("%s_%d", id, j+1), l, box)
	}
	a.printf("</TextBlock>\n")
}

func (a *altoWriter) writeLine(id string, l *inkstreamv1.Line, block rect) {
	box := a.scaleBoxOr(l.GetBbox(), block)
	words := a.scaleWords(l, box)
	if len(words) == 0 {
		return
	}
	a.printf("<TextLine ID=\"line_%s\"%s>\n", id, positionAttributes(box))
	for i, w := range words {
		if i > 0 {
			before := words[i-1].box
			gap := before.unionWith(w.box).width() - before.width() - w.box.width()
			a.printf("<SP HPOS=\"%d\" VPOS=\"%d\" WIDTH=\"%d\"/>\n", min(before.x1, w.box.x1), w.box.y0, max(0, gap))
		}
		a.n++
		a.printf(`<String ID="word_%d_%d" CONTENT="%s"%s WC="%.3f"`, a.page.GetNumber(), a.n, escapeXML(w.GetText()),
			positionAttributes(w.box), wordConfidence(w.Word))
		if s, ok := a.styleOf(w.Word); ok {
			a.printf(` STYLEREFS="%s"`, a.styles[s])
		}
		a.printf("/>\n")
	}
	a.printf("</TextLine>\n")
}
