package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// document is one of those that the load is made of.
type document struct {
	pdftest.File
	// share says how often it comes, against the others.
	share int
	// maxCER bounds the character error rate of its text, where it has text that is known.
	maxCER   float64
	baseline Evidence // of the undisturbed run
}

// documentMix returns the mix: mostly short documents with text of their own, some long, some scanned, some that must
// be refused.
func documentMix(small bool) []*document {
	docs := []*document{
		{File: pdftest.BornDigital(1), share: 20, maxCER: 0.01},
		{File: renameFile("letter", pdftest.BornDigitalWith(pdftest.BornDigitalOptions{Pages: 2, Seed: 7,
			Design: pdftest.Letter})), share: 10, maxCER: 0.02},
		{File: pdftest.BornDigital(6), share: 10, maxCER: 0.01},
		{File: pdftest.BornDigital(90), share: 3, maxCER: 0.01}, // six chunks: more than are in flight at once
		{File: scanPage(), share: 4, maxCER: 0.05},
		{File: pdftest.BlankPages(2), share: 4},
		{File: pdftest.EncryptedFile(pdftest.AES), share: 3},
		{File: pdftest.WithoutPages(), share: 2},
		{File: pdftest.NotPDFFiles()[0], share: 2},
	}
	if !small {
		docs = append(docs,
			&document{File: pdftest.MixedFile(), share: 2, maxCER: 0.05},
			&document{File: pdftest.BornDigital(300), share: 1, maxCER: 0.01},
			&document{File: pdftest.ScannedBlank(), share: 1},
			&document{File: pdftest.WithoutXref(pdftest.BornDigital(3)), share: 2},
			&document{File: pdftest.TruncateFile(pdftest.BornDigital(5), 0.6), share: 2},
			&document{File: pdftest.WithHazards(pdftest.JavaScript, pdftest.URI), share: 2},
			&document{File: pdftest.ContentBomb(600, false), share: 1},
		)
	}
	kept := docs[:0]
	for _, d := range docs {
		if len(d.PDF) > 0 {
			kept = append(kept, d)
		}
	}
	return kept
}

// scanPage is a scan that a recogniser is soon through with.
func scanPage() pdftest.File {
	return pdftest.ScannedFile(pdftest.ScanOptions{Pages: 1, DPI: 150, Size: 16, Design: pdftest.Letter})
}

func renameFile(name string, f pdftest.File) pdftest.File {
	f.Name = name + ".pdf"
	return f
}

// pickDocument returns a document by the shares.
func pickDocument(r *rand.Rand, docs []*document) *document {
	total := 0
	for _, d := range docs {
		total += d.share
	}
	n := r.IntN(total)
	for _, d := range docs {
		if n -= d.share; n < 0 {
			return d
		}
	}
	return docs[0] // not reached
}

// checkText compares the text of the undisturbed run with what the document says.
func (d *document) checkText(text []byte) error {
	if d.maxCER == 0 || d.baseline.State != "SUCCEEDED" {
		return nil
	}
	if cer := score.CharErrorRate(d.Text(), strings.TrimSuffix(string(text), "\n")); cer > d.maxCER {
		return fmt.Errorf("%s: character error rate %.3f of the undisturbed run, want at most %.3f", d.Name, cer, d.maxCER)
	}
	return nil
}
