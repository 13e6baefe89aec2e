package pdfium

import (
	"fmt"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// TestWordSpacingOfLetters parts words behind a letter that has the code of the blank, where word spacing is what parts
// them, and no letters that are set apart.
func TestWordSpacingOfLetters(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	for _, tt := range []struct{ name, content, want string }{
		{"word spacing", "4 Tw (dis storing chun data) Tj", "disk storingk chunk data"},
		{"none", "(dis storing) Tj", "diskstoring"},
		{"little", "1 Tw (dis storing) Tj", "diskstoring"},
		{"letters set apart", "5 Tc (dis storing) Tj", "diskstoring"},
		{"character spacing between the last letter of a word and the first of the next", "(fou) Tj 2.4 Tc 13.9 0 Td (ra) Tj 0 Tc 11.29 0 Td (way) Tj", "four away"},
		{"objects a narrow blank apart", "(storing) Tj 31.8 0 Td (data) Tj", "storing data"},
		{"objects a narrow blank apart, of letters set closer", "-.3 Tc (storing) Tj 29.5 0 Td (data) Tj", "storing data"},
		{"objects of one word, of letters set closer", "-.3 Tc (stor) Tj 16.5 0 Td (ing) Tj", "storing"},
		{"objects of a stretched word of a text layer", "3 Tr 3 Tc (storin) Tj 42.5 0 Td (g) Tj", "storing"},
		{"objects of two words of one", "3 Tr 3 Tc (storin) Tj 45.5 0 Td (g) Tj", "storin g"},
		{"objects of letters set apart", "3 Tc (storin) Tj 42.5 0 Td (g) Tj", "storin g"},
		{"objects of one word", "(stor) Tj 17.4 0 Td (ing) Tj", "storing"},
		{"digits a narrow blank apart", "(1000) Tj 24 0 Td (2000) Tj", "10002000"},
	} {
		// The code of the blank is the letter k; words are parted by numbers, as such fonts have no blank.
		if got := shownText(t, in, "/Encoding << /Differences [32 /k] >>", "/F 10 Tf 20 100 Td "+tt.content); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// shownText returns the text of a page that shows a text object in Helvetica, without the blanks that are none. The font
// has more entries as given.
func shownText(t *testing.T, in *Instance, font, content string) string {
	t.Helper()
	content = "BT " + content + " ET"
	pdf := "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n" +
		"2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n" +
		"3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >> endobj\n" +
		"5 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica " + font + " >> endobj\n" +
		fmt.Sprintf("4 0 obj << /Length %d >> stream\n%s\nendstream endobj\ntrailer << /Root 1 0 R >>\n", len(content), content)
	d := openFile(t, in, pdftest.File{Name: content, PDF: []byte(pdf)})
	defer d.Close()
	p, ok := d.LoadPage(0)
	if !ok {
		t.Fatal("the page does not load")
	}
	defer p.Close()
	got := ""
	for _, c := range p.ReadText(100).Chars {
		if !c.Tight {
			got += string(c.Rune)
		}
	}
	return got
}
