package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"inkstream.dev/pkg/pdftest"
)

// measureFairness compares the time of a one-page document behind a batch of 2,000 pages with its time on an idle
// server.
func measureFairness(ctx context.Context, b *benchmark) (rows []row, err error) {
	const tries, pages = 5, 2000
	s, err := b.startServer(ctx, "fairness")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	page, long := pdftest.BornDigital(1).PDF, pdftest.BornDigital(pages).PDF
	one := func() (float64, error) {
		took, err := timeCall(func() error {
			_, err := s.runJob(ctx, page, "&lane=interactive")
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
		batch, err := s.uploadDocument(ctx, bytes.NewReader(long), len(long), "&lane=batch")
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
		if _, err := s.awaitFinished(ctx, batch.ID); err != nil {
			return nil, err
		}
	}
	base := medianOf(idle)
	return []row{{
		"one page behind a batch of 2,000, against an idle server",
		fmt.Sprintf("%.1f × (worst %.1f ×; %.0f ms against %.0f)", medianOf(busy)/base, slices.Max(busy)/base,
			medianOf(busy), base), "≤ 3 ×",
		fmt.Sprintf("%d tries, born-digital, full durability", tries),
	}}, nil
}
