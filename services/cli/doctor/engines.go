package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/services/ocr"
)

// tinyPDF is a page of nothing. Its cross-reference table is left to the engine to find, which it does.
const tinyPDF = `%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]>> endobj
trailer <</Root 1 0 R>>
%%EOF
`

// checkPDFium starts a child of the PDF engine and has it open a document.
func (e *checker) checkPDFium(ctx context.Context) {
	const name = "pdf engine"
	const fix = "see the server's log; the engine needs a processor of x86-64 or arm64, and memory for --pdf.memory-limit"
	cfg := e.cfg.PDF
	cfg.Workers = 1
	start := time.Now()
	engine, err := pdf.New(cfg, e.log)
	if err != nil {
		e.addFailure(name, fix, "%v", err)
		return
	}
	defer func() { _ = engine.Close() }() // the check is over
	f, err := newUnnamedFile([]byte(tinyPDF))
	if err != nil {
		e.addFailure(name, "check the folder for temporary files", "%v", err)
		return
	}
	defer f.Close()
	doc, err := engine.OpenDocument(ctx, f, "")
	if err != nil {
		e.addFailure(name, fix, "a child does not open a document of one page: %v", err)
		return
	}
	defer doc.Close()
	if n := doc.Info().PageCount; n != 1 {
		e.addFailure(name, fix, "a child finds %d pages in a document of one", n)
		return
	}
	e.addOK(name, "PDFium opened a document in a child of its own, %s from its start",
		time.Since(start).Round(time.Millisecond))
}

// checkOCR starts a child of the recogniser and has it read an empty page.
func (e *checker) checkOCR(ctx context.Context) {
	const name = "ocr engine"
	const fix = ocr.EngineRemedy
	cfg := e.cfg.OCR
	cfg.Workers = 1
	cfg.Languages = e.cfg.Languages
	start := time.Now()
	engine, err := ocr.NewEngine(cfg, e.log)
	if err != nil {
		e.addFailure(name, fix, "%v", err)
		return
	}
	defer func() { _ = engine.Close() }() // the check is over
	page := fmt.Appendf(nil, "P5\n%d %d\n255\n", 200, 100)
	f, err := newUnnamedFile(append(page, slices.Repeat([]byte{255}, 200*100)...))
	if err != nil {
		e.addFailure(name, "check the folder for temporary files", "%v", err)
		return
	}
	defer f.Close()
	languages := engine.Languages()
	_, err = engine.RecognisePage(ctx, ocr.Image{File: f, DPI: 300},
		ocr.RecogniseOptions{Languages: e.cfg.Languages, Timeout: e.cfg.Timeout, Deskew: true, Rotate: true})
	if err != nil {
		e.addFailure(name, fix, "a child does not read an empty page: %s", describeError(err))
		return
	}
	e.addOK(name, "%s read a page in a child of its own, %s from its start; languages: %s", ocr.EngineTitle,
		time.Since(start).Round(time.Millisecond), strings.Join(languages, " "))
	for _, l := range strings.Split(e.cfg.Languages, "+") {
		if l != "" && !slices.Contains(languages, l) {
			e.addFailure("ocr languages", "install its model (Debian: apt-get install tesseract-ocr-"+
				strings.ReplaceAll(l, "_", "-")+")",
				"%s is wanted, but not installed", l)
		}
	}
}

// describeError says what an error is, with its code where it has one.
func describeError(err error) string {
	if code := fault.CodeOf(err); code != "" && !strings.Contains(err.Error(), string(code)) {
		return string(code) + ": " + err.Error()
	}
	return err.Error()
}

// newUnnamedFile returns a file that holds data and has no name.
func newUnnamedFile(data []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "inkstream-doctor-*")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
