package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"inkstream.dev/pkg/pdftest"
)

// uploadTo uploads to a lane, and has the work done however often the document was seen.
func (s *server) uploadTo(ctx context.Context, lane string, data []byte) (jobView, error) {
	var j jobView
	url := "http://" + s.http + "/v1/jobs?dedupe=false&lane=" + lane
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return j, err
	}
	req.Header.Set("Content-Type", "application/pdf")
	return j, do(req, http.StatusAccepted, &j)
}

// measureFairness compares the time of a one-page document behind a batch of 2,000 pages with its time on an idle server.
func measureFairness(ctx context.Context, b *bench) (rows []row, err error) {
	const tries, pages = 5, 2000
	s, err := b.serve(ctx, "fairness")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	page, long := pdftest.BornDigital(1).PDF, pdftest.BornDigital(pages).PDF
	one := func() (float64, error) {
		took, err := timed(func() error {
			j, err := s.uploadTo(ctx, "interactive", page)
			if err != nil {
				return err
			}
			_, err = s.finish(ctx, j.ID)
			return err
		})
		return float64(took.Microseconds()) / 1000, err
	}
	if _, err := s.runJob(ctx, pdftest.BornDigital(64).PDF, ""); err != nil { // warms the children
		return nil, err
	}
	var idle, busy []float64
	for range tries {
		ms, err := one()
		if err != nil {
			return nil, err
		}
		idle = append(idle, ms)
	}
	for range tries {
		batch, err := s.uploadTo(ctx, "batch", long)
		if err != nil {
			return nil, err
		}
		if err := s.awaitPages(ctx, batch.ID); err != nil {
			return nil, err
		}
		ms, err := one()
		if err != nil {
			return nil, err
		}
		busy = append(busy, ms)
		if _, err := s.finish(ctx, batch.ID); err != nil {
			return nil, err
		}
	}
	base := median(idle)
	return []row{{
		"one page behind a batch of 2,000, against an idle server",
		fmt.Sprintf("%.1f × (worst %.1f ×; %.0f ms against %.0f)", median(busy)/base, slices.Max(busy)/base, median(busy), base), "≤ 3 ×",
		fmt.Sprintf("%d tries, born-digital, full durability", tries),
	}}, nil
}
