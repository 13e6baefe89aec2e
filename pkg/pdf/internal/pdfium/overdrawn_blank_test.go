package pdfium

import (
	"fmt"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// TestOverdrawnBlanks drops a written blank that the next letter steps back over, as drivers write kerned pairs, and
// keeps those that part words, however narrow, and those of a text layer.
func TestOverdrawnBlanks(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	for _, tt := range []struct{ name, content, want string }{
		{"stepped back over", "[(la la la la confer )252(ma)] TJ", "la la la la conferma"},
		{"stepped back over to a kerned letter", "[(la la la la rappor )270(to)] TJ", "la la la la rapporto"},
		{"all of them are, of a font with wrong widths", "[(la )252(la )252(la )252(la )252(confer )252(ma)] TJ", "la la la la confer ma"},
		{"squeezed", "[(la la la la confer )170(ma)] TJ", "la la la la confer ma"},
		{"as wide as it is", "(confer ma) Tj", "confer ma"},
		{"of letters that overlap", "[(la la la la confer )450(ma)] TJ", "la la la la confer ma"},
		{"of letters set closer", "-.8 Tc (confer ma) Tj", "confer ma"},
		{"of words placed one by one", "(confer ) Tj 33 0 Td (ma) Tj", "confer ma"},
		{"in a text layer", "3 Tr [(la la la la confer )252(ma)] TJ", "la la la la confer ma"},
	} {
		pdf := "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n" +
			"2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n" +
			"3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >> endobj\n" +
			"5 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj\n"
		content := "BT /F 11 Tf 20 100 Td " + tt.content + " ET"
		pdf += fmt.Sprintf("4 0 obj << /Length %d >> stream\n%s\nendstream endobj\ntrailer << /Root 1 0 R >>\n", len(content), content)
		d := openFile(t, in, pdftest.File{Name: tt.name, PDF: []byte(pdf)})
		p, ok := d.LoadPage(0)
		if !ok {
			t.Fatal("the page does not load")
		}
		got := ""
		for _, c := range p.ReadText(100).Chars {
			if !c.Tight {
				got += string(c.Rune)
			}
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		p.Close()
		d.Close()
	}
}
