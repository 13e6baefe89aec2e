package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/services/ocr/visiontest"
)

// visionPages is how many pages the measured document has.
const visionPages = 48

// measureVision measures what the pipeline costs a page that a vision model reads, beyond the engines' own time: a server
// answers at once and in another process, and what Tesseract takes as the witness, and PDFium to draw the page, is taken
// off, as measureScanned takes it off. The page is one page many times, so that the server knows what to answer; its
// image is a JPEG, as most scanners make it, which is kept as it is (one without loss is made a PNG, for some 40 ms).
func measureVision(ctx context.Context, b *benchmark) (rows []row, err error) {
	page := pdftest.ScannedFile(pdftest.ScanOptions{JPEG: 85})
	single, whole := filepath.Join(b.dir, "vision-page.pdf"), filepath.Join(b.dir, "vision.pdf")
	if err := os.WriteFile(single, page.PDF, 0o600); err != nil {
		return nil, err
	}
	if _, err := runCommand(ctx, nil, "qpdf", slices.Concat([]string{"--empty", "--pages"},
		slices.Repeat([]string{single}, visionPages), []string{"--", whole})...); err != nil {
		return nil, err
	}
	model := httptest.NewServer(visiontest.Handler(func([]byte) string { return visiontest.WriteBlock(page.Pages[0].Text) }))
	defer model.Close()
	s, err := b.startServer(ctx, "vision", "--ocr.engine", "vision", "--vision.endpoints", model.URL, "--vision.model", "bench",
		"--vision.allow-private")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	s.options = "&engine=vision"
	if err := s.checkModelReads(ctx, page.PDF); err != nil {
		return nil, err
	}
	var cost, engines []float64
	for range b.rounds {
		c, err := s.measureScanCost(ctx, []string{whole})
		if err != nil {
			return nil, err
		}
		cost = append(cost, c.millisPerPage(c.overhead()))
		engines = append(engines, c.millisPerPage(c.recognising+c.drawing))
	}
	const cores = 2
	return []row{{
		"vision, pages a second on 2 cores beyond the engines' own time", fmt.Sprintf("%.0f", cores*1000/medianOf(cost)), "≥ 20",
		fmt.Sprintf("%d pages, a server that answers at once; %.1f ms of processor a page, and %.0f ms of the engines; all artifacts",
			visionPages, medianOf(cost), medianOf(engines)),
	}}, nil
}

// checkModelReads fails unless the words of a document's page are the model's.
func (s *server) checkModelReads(ctx context.Context, document []byte) error {
	j, err := s.runJob(ctx, document, s.options)
	if err != nil {
		return err
	}
	page, err := s.readPage(ctx, j.ID, 1)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(page.Engine, "vision") {
		return fmt.Errorf("the page was read by %q: %q", page.Engine, page.Notes)
	}
	return nil
}

// pageView is what the measurements read of a page.
type pageView struct {
	Engine string   `json:"engine"`
	Notes  []string `json:"notes"`
}

// readPage asks for a page of a job.
func (s *server) readPage(ctx context.Context, job string, number int) (page pageView, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/v1/jobs/%s/pages/%d", s.http, job, number), nil)
	if err != nil {
		return page, err
	}
	return page, doRequest(req, http.StatusOK, &page)
}
