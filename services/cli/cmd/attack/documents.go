package main

import (
	"fmt"
	"strings"

	"inkstream.dev/pkg/pdftest"
)

// documentOf returns a PDF with a page for each of the contents; all have the font /F1, Helvetica.
func documentOf(contents ...string) []byte {
	return documentWith("", contents...)
}

// documentWith is documentOf with more resources of the pages.
func documentWith(resources string, contents ...string) []byte {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
	var kids []string
	for _, content := range contents {
		objects = append(objects, streamOf("", content))
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "+
			"/Resources << /Font << /F1 3 0 R >> %s >> >>", len(objects), resources))
		kids = append(kids, fmt.Sprintf("%d 0 R", len(objects)))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(kids), strings.Join(kids, " "))
	return pdftest.PDFFromObjects(objects...)
}

func streamOf(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

// denseDocument returns pages full of tiny words with so many letters more, whose results are large.
func denseDocument(pages, lines, letters int) []byte {
	var contents []string
	for page := range pages {
		var b strings.Builder
		b.WriteString("BT /F1 1 Tf 1.5 TL 20 780 Td\n")
		for line := range lines {
			b.WriteString("(")
			for word := range 110 {
				fmt.Fprintf(&b, "w%dx%d%s ", (page*lines+line)%977, word, strings.Repeat("a", letters))
			}
			b.WriteString(") Tj T*\n")
		}
		b.WriteString("ET")
		contents = append(contents, b.String())
	}
	return documentOf(contents...)
}

// tilingDocument returns pages that share one content, which fills the page over and over with a pattern of tiny steps:
// a few kilobytes that keep an engine busy for hours.
func tilingDocument(pages int) []byte {
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "",
		streamOf("/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1] /XStep 0.0001 /YStep 0.0001 /Resources << >>",
			"0 0 1 1 re f"),
		streamOf("", "/Pattern cs /P scn\n"+strings.Repeat("0 0 612 792 re f\n", 50)),
	}
	var kids []string
	for range pages {
		objects = append(objects, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "+
			"/Resources << /Pattern << /P 3 0 R >> >> >>")
		kids = append(kids, fmt.Sprintf("%d 0 R", len(objects)))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(kids), strings.Join(kids, " "))
	return pdftest.PDFFromObjects(objects...)
}

// formulas are cells that a spreadsheet would run.
var formulas = []string{"=HYPERLINK\\(\"http://evil.example\"\\)", "+1+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "@SUM\\(1+9\\)*cmd|' /C calc'!A0"}

// formulaDocument returns a page with a ruled table whose cells are formulas.
func formulaDocument() []byte {
	var b strings.Builder
	b.WriteString("0.5 w\n")
	const left, top, width, height, rows = 60, 700, 230, 24, 5
	for i := range rows + 1 {
		fmt.Fprintf(&b, "%d %d m %d %d l S\n", left, top-i*height, left+2*width, top-i*height)
	}
	for i := range 3 {
		fmt.Fprintf(&b, "%d %d m %d %d l S\n", left+i*width, top, left+i*width, top-rows*height)
	}
	b.WriteString("BT /F1 9 Tf ET\n")
	for row := range rows {
		name, value := "name", "value"
		if row > 0 {
			name, value = fmt.Sprintf("item %d", row), formulas[row-1]
		}
		for column, text := range []string{name, value} {
			fmt.Fprintf(&b, "BT /F1 9 Tf %d %d Td (%s) Tj ET\n", left+column*width+6, top-row*height-16, text)
		}
	}
	return documentOf(b.String())
}
