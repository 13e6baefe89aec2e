package pageformat

import (
	"cmp"
	"fmt"
	"io"
	"math"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// WriteHOCR writes a page as hOCR 1.2: ocr_page, ocr_carea, ocr_par, ocr_line and ocrx_word, with boxes in pixels and
// the words' confidence in per cent.
func WriteHOCR(out io.Writer, p *inkstreamv1.Page, meta Meta) error {
	w, s := newXMLWriter(out), newBoxScaler(p, meta)
	language := languageTag(p.GetLanguage())
	attribute := ""
	if language != "" {
		attribute = fmt.Sprintf(` xml:lang="%s" lang="%s"`, language, language)
	}
	w.printf(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"%s>
<head>
<title>%s</title>
<meta http-equiv="Content-Type" content="text/html; charset=utf-8" />
<meta name="ocr-system" content="%s" />
<meta name="ocr-capabilities" content="ocr_page ocr_carea ocr_par ocr_line ocrx_word ocrp_wconf ocrp_lang ocrp_font ocr_header ocr_footer ocr_caption ocr_photo ocr_table" />
<meta name="ocr-number-of-pages" content="1" />
</head>
<body>
`, attribute, escapeXML(meta.Title), escapeXML(softwareName(meta)))
	dpi := int(meta.resolution(p) + 0.5)
	n := p.GetNumber()
	w.printf(`<div class="ocr_page" id="page_%d" title="image &quot;%s&quot;; bbox 0 0 %d %d; ppageno %d; scan_res %d %d">`+"\n",
		n, escapeXML(quotableName(meta.Image)), s.width, s.height, max(0, n-1), dpi, dpi)
	h := hocrWriter{w, s, p, 0}
	for i, b := range p.GetBlocks() {
		h.writeBlock(i+1, b)
	}
	w.printf("</div>\n</body>\n</html>\n")
	return w.closeDocument("hocr")
}

func softwareName(m Meta) string {
	name := cmp.Or(m.Software, "inkstream")
	if m.Version != "" {
		name += " " + m.Version
	}
	return name
}

// quotableName returns a file name that may stand within quotes in a title.
func quotableName(s string) string {
	out := []rune(s)
	for i, r := range out {
		if r == '"' || r == ';' || r < ' ' {
			out[i] = '_'
		}
	}
	return string(out)
}

type hocrWriter struct {
	*xmlWriter
	boxScaler
	page *inkstreamv1.Page
	n    int // words so far
}

// areaClass is the class of a block: that of the float that it is, else ocr_carea.
func areaClass(kind string) string {
	switch kind {
	case "figure":
		return "ocr_photo"
	case "table":
		return "ocr_table"
	case "caption":
		return "ocr_caption"
	case "header":
		return "ocr_header"
	case "footer", "page_number":
		return "ocr_footer"
	}
	return "ocr_carea"
}

func (h *hocrWriter) writeBlock(i int, b *inkstreamv1.Block) {
	box, ok := h.scaleBox(b.GetBbox())
	if !ok && len(b.GetLines()) == 0 {
		return
	}
	if !ok {
		box = h.boxScaler.pageRect()
	}
	id := fmt.Sprintf("%d_%d", h.page.GetNumber(), i)
	h.printf(`<div class="%s" id="block_%s" title="%s">`+"\n", areaClass(b.GetType()), id, formatBBox(box))
	if len(b.GetLines()) > 0 {
		language := ""
		if tag := languageTag(b.GetLanguage()); tag != "" {
			language = fmt.Sprintf(` lang="%s" xml:lang="%s"`, tag, tag)
		}
		h.printf(`<p class="ocr_par" id="par_%s"%s title="%s">`+"\n", id, language, formatBBox(box))
		for j, l := range b.GetLines() {
			h.writeLine(fmt.Sprintf("%s_%d", id, j+1), l, box)
		}
		h.printf("</p>\n")
	}
	h.printf("</div>\n")
}

func formatBBox(r rect) string { return fmt.Sprintf("bbox %d %d %d %d", r.x0, r.y0, r.x1, r.y1) }

func (h *hocrWriter) writeLine(id string, l *inkstreamv1.Line, block rect) {
	box := h.scaleBoxOr(l.GetBbox(), block)
	words := h.scaleWords(l, box)
	if len(words) == 0 {
		return
	}
	turn := ""
	if a := l.GetAngle(); a != 0 {
		turn = fmt.Sprintf("; textangle %d", (360-a%360)%360) // hOCR counts counter-clockwise
	}
	h.printf(`<span class="ocr_line" id="line_%s" title="%s; baseline 0 0%s">`, id, formatBBox(box), turn)
	for i, w := range words {
		h.n++
		size := ""
		if v := w.GetSize(); v > 0 && v < 5000 {
			size = fmt.Sprintf("; x_fsize %d", int(v+0.5))
		}
		if i > 0 {
			h.printf(" ")
		}
		h.printf(`<span class="ocrx_word" id="word_%d_%d" title="%s; x_wconf %d%s">%s</span>`,
			h.page.GetNumber(), h.n, formatBBox(w.box), int(math.Round(wordConfidence(w.Word)*100)), size,
			escapeXML(w.GetText()))
	}
	h.printf("</span>\n")
}
