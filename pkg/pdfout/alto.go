package pdfout

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// WriteALTO writes a page as ALTO 4.4 in pixels: text blocks with their lines, strings and spaces, figures as illustrations, tables as composed
// blocks. What kind each block is stands in its tag.
func WriteALTO(out io.Writer, p *inkstreamv1.Page, meta Meta) error {
	w, s := newWriter(out), newScaler(p, meta)
	a := alto{writer: w, scaler: s, page: p, styles: map[style]string{}}
	a.gather()
	w.printf(`<?xml version="1.0" encoding="UTF-8"?>
<alto xmlns="http://www.loc.gov/standards/alto/ns-v4#" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ` +
		`xsi:schemaLocation="http://www.loc.gov/standards/alto/ns-v4# http://www.loc.gov/standards/alto/v4/alto-4-4.xsd" SCHEMAVERSION="4.4">
<Description>
<MeasurementUnit>pixel</MeasurementUnit>
`)
	w.printf("<sourceImageInformation><fileName>%s</fileName></sourceImageInformation>\n", esc(cmp.Or(meta.Image, meta.Title)))
	w.printf("<Processing ID=\"processing_1\"><processingStepSettings>%s</processingStepSettings><processingSoftware><softwareName>%s</softwareName>",
		esc(fmt.Sprintf("%d dpi", int(meta.dpi(p)+0.5))), esc(cmp.Or(meta.Software, "inkstream")))
	if meta.Version != "" {
		w.printf("<softwareVersion>%s</softwareVersion>", esc(meta.Version))
	}
	w.printf("</processingSoftware></Processing>\n</Description>\n")
	a.head()
	w.printf("<Layout>\n<Page ID=\"page_%d\" PHYSICAL_IMG_NR=\"%d\"", p.GetNumber(), max(1, p.GetNumber()))
	if label := p.GetLabel(); label != "" {
		w.printf(` PRINTED_IMG_NR="%s"`, esc(label))
	}
	w.printf(` WIDTH="%d" HEIGHT="%d"`, s.width, s.height)
	if c := p.GetConfidence(); c > 0 && c <= 1 {
		w.printf(` PC="%.3f"`, c)
	}
	if tag := languageTag(p.GetLanguage()); tag != "" {
		w.printf(` LANG="%s"`, tag)
	}
	w.printf(">\n<PrintSpace ID=\"space_%d\"%s>\n", p.GetNumber(), place(s.page()))
	for i, b := range p.GetBlocks() {
		a.block(i+1, b)
	}
	w.printf("</PrintSpace>\n</Page>\n</Layout>\n</alto>\n")
	return w.close("alto")
}

// style is what ALTO keeps of how words look.
type style struct {
	family, color, look string
	fixed               bool
	size                int // tenths of a point
}

type alto struct {
	*writer
	scaler
	page   *inkstreamv1.Page
	styles map[style]string // to their IDs
	kinds  map[string]bool
	n      int
}

// gather numbers the styles and kinds of blocks that are in use.
func (a *alto) gather() {
	a.kinds = map[string]bool{}
	for _, b := range a.page.GetBlocks() {
		if kind := kindOf(b); kind != "" {
			a.kinds[kind] = true
		}
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				if s, ok := a.style(w); ok && a.styles[s] == "" {
					a.styles[s] = fmt.Sprintf("style_%d", len(a.styles)+1)
				}
			}
		}
	}
}

// kindOf returns a block's type where it is fit for an ID.
func kindOf(b *inkstreamv1.Block) string {
	kind := b.GetType()
	if len(kind) > 40 || strings.ContainsFunc(kind, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) {
		return ""
	}
	return kind
}

func (a *alto) style(w *inkstreamv1.Word) (style, bool) {
	fonts := a.page.GetFonts()
	if size := w.GetSize(); !(size > 0 && size < 5000) {
		return style{}, false
	}
	s := style{size: int(w.GetSize()*10 + 0.5)}
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
	s.look = strings.Join(looks, " ")
	return s, true
}

// head writes the styles and tags.
func (a *alto) head() {
	if len(a.styles) > 0 {
		a.printf("<Styles>\n")
		byID := map[string]style{}
		for s, id := range a.styles {
			byID[id] = s
		}
		for i := range len(byID) {
			id := fmt.Sprintf("style_%d", i+1)
			s := byID[id]
			a.printf(`<TextStyle ID="%s"`, id)
			if s.family != "" {
				a.printf(` FONTFAMILY="%s"`, esc(s.family))
			}
			if s.fixed {
				a.printf(` FONTWIDTH="fixed"`)
			}
			a.printf(` FONTSIZE="%d.%d"`, s.size/10, s.size%10)
			if s.color != "" {
				a.printf(` FONTCOLOR="%s"`, s.color)
			}
			if s.look != "" {
				a.printf(` FONTSTYLE="%s"`, s.look)
			}
			a.printf("/>\n")
		}
		a.printf("</Styles>\n")
	}
	if len(a.kinds) > 0 {
		a.printf("<Tags>\n")
		for _, kind := range slices.Sorted(maps.Keys(a.kinds)) {
			a.printf("<StructureTag ID=\"kind_%s\" LABEL=\"%s\"/>\n", kind, kind)
		}
		a.printf("</Tags>\n")
	}
}

func place(r rect) string {
	return fmt.Sprintf(` HPOS="%d" VPOS="%d" WIDTH="%d" HEIGHT="%d"`, r.x0, r.y0, r.width(), r.height())
}

func (a *alto) block(i int, b *inkstreamv1.Block) {
	box, ok := a.box(b.GetBbox())
	if !ok {
		box = a.scaler.page()
	}
	tag := ""
	if kind := kindOf(b); kind != "" {
		tag = fmt.Sprintf(` TAGREFS="kind_%s"`, kind)
	}
	id := fmt.Sprintf("%d_%d", a.page.GetNumber(), i)
	switch {
	case b.GetType() == "table" && a.hasText(b):
		a.printf("<ComposedBlock ID=\"table_%s\"%s%s TYPE=\"table\">\n", id, place(box), tag)
		a.text(id, b, box, "")
		a.printf("</ComposedBlock>\n")
	case a.hasText(b):
		a.text(id, b, box, tag)
	case ok && b.GetType() == "figure":
		a.printf("<Illustration ID=\"figure_%s\"%s%s/>\n", id, place(box), tag)
	case ok:
		a.printf("<GraphicalElement ID=\"area_%s\"%s%s/>\n", id, place(box), tag)
	}
}

func (a *alto) hasText(b *inkstreamv1.Block) bool {
	return slices.ContainsFunc(b.GetLines(), func(l *inkstreamv1.Line) bool {
		return slices.ContainsFunc(l.GetWords(), func(w *inkstreamv1.Word) bool { return strings.TrimSpace(w.GetText()) != "" })
	})
}

func (a *alto) text(id string, b *inkstreamv1.Block, box rect, tag string) {
	a.printf("<TextBlock ID=\"block_%s\"%s%s", id, place(box), tag)
	if tag := languageTag(b.GetLanguage()); tag != "" {
		a.printf(` LANG="%s"`, tag)
	}
	a.printf(">\n")
	for j, l := range b.GetLines() {
		a.line(fmt.Sprintf("%s_%d", id, j+1), l, box)
	}
	a.printf("</TextBlock>\n")
}

func (a *alto) line(id string, l *inkstreamv1.Line, block rect) {
	box := a.boxOr(l.GetBbox(), block)
	words := a.words(l, box)
	if len(words) == 0 {
		return
	}
	a.printf("<TextLine ID=\"line_%s\"%s>\n", id, place(box))
	for i, w := range words {
		if i > 0 {
			before := words[i-1].box
			gap := before.with(w.box).width() - before.width() - w.box.width()
			a.printf("<SP HPOS=\"%d\" VPOS=\"%d\" WIDTH=\"%d\"/>\n", min(before.x1, w.box.x1), w.box.y0, max(0, gap))
		}
		a.n++
		a.printf(`<String ID="word_%d_%d" CONTENT="%s"%s WC="%.3f"`, a.page.GetNumber(), a.n, esc(w.GetText()), place(w.box), confidence(w.Word))
		if s, ok := a.style(w.Word); ok {
			a.printf(` STYLEREFS="%s"`, a.styles[s])
		}
		a.printf("/>\n")
	}
	a.printf("</TextLine>\n")
}
