package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/pdftest"
)

// measureOCR compares the whole pipeline with pdftoppm and tesseract, one process a core, on the same scanned pages.
func measureOCR(ctx context.Context, b *benchmark) ([]row, error) {
	files, err := b.findScans()
	if err != nil {
		return nil, err
	}
	var cpuRatios, wallRatios []float64
	var ours, theirs usage
	pages := 0
	for round := range b.rounds {
		peer, n, err := b.runPeerOCR(ctx, files, round)
		if err != nil {
			return nil, err
		}
		pages = n
		out := filepath.Join(b.dir, fmt.Sprintf("ocr-out-%d", round))
		u, err := runCommand(ctx, nil, b.binary, append([]string{"process", "-o", out}, files...)...)
		if err != nil {
			return nil, err
		}
		ours, theirs = ours.plus(u), theirs.plus(peer)
		cpuRatios = append(cpuRatios, u.cpu.Seconds()/peer.cpu.Seconds())
		wallRatios = append(wallRatios, u.wall.Seconds()/peer.wall.Seconds())
	}
	per := func(u usage, s float64) float64 { return s / float64(pages*b.rounds) }
	how := fmt.Sprintf("%d scanned pages, process start included; peer: pdftoppm -r 300 -gray and tesseract, one a core",
		pages)
	return []row{
		{"OCR, CPU against pdftoppm + tesseract", fmt.Sprintf("%.2f ×", medianOf(cpuRatios)), "≤ 0.80 ×", how},
		{"OCR, wall against pdftoppm + tesseract", fmt.Sprintf("%.2f ×", medianOf(wallRatios)), "≤ 0.80 ×", "same run"},
		{"OCR, CPU seconds a page", fmt.Sprintf("%.3f (peer %.3f)", per(ours, ours.cpu.Seconds()),
			per(theirs, theirs.cpu.Seconds())), "", "same run"},
		{"OCR, pages a second", fmt.Sprintf("%.2f (peer %.2f)", 1/per(ours, ours.wall.Seconds()),
			1/per(theirs, theirs.wall.Seconds())), "", "same run"},
	}, nil
}

// findScans returns English scans: of the corpus, else made ones.
func (b *benchmark) findScans() ([]string, error) {
	var files []string
	for _, group := range []string{"unlv", "scribe", "oldbooks", "sroie", "synthetic"} {
		found, err := filepath.Glob(filepath.Join(b.corpus, "ocr", group, "*.pdf"))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if group != "synthetic" || strings.Contains(filepath.Base(f), "synth-en-") {
				files = append(files, f)
			}
		}
	}
	if len(files) > 0 {
		return files, nil
	}
	path := filepath.Join(b.dir, "scanned.pdf")
	f := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 24})
	return []string{path}, os.WriteFile(path, f.PDF, 0o600)
}

// runPeerOCR renders and recognises every page, one process a core.
func (b *benchmark) runPeerOCR(ctx context.Context, files []string, round int) (usage, int, error) {
	dir := filepath.Join(b.dir, fmt.Sprintf("peer-%d", round))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return usage{}, 0, err
	}
	script := filepath.Join(b.dir, "peer.sh")
	// Each file is rendered, and its pages are recognised, by one worker; as many workers as cores.
	body := `#!/bin/sh
set -e
pdftoppm -r 300 -gray "$1" "$2"
for p in "$2"-*.pgm; do tesseract "$p" "${p%.pgm}" >/dev/null 2>&1; rm "$p"; done
`
	if err := os.WriteFile(script, []byte(body), 0o700); err != nil {
		return usage{}, 0, err
	}
	usages := make([]usage, len(files))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	total, err := timeCall(func() error {
		for i, f := range files {
			g.Go(func() error {
				var err error
				usages[i], err = runCommand(gctx, []string{"OMP_THREAD_LIMIT=1"}, script, f,
					filepath.Join(dir, fmt.Sprintf("f%d", i)))
				return err
			})
		}
		return g.Wait()
	})
	if err != nil {
		return usage{}, 0, err
	}
	sum := usage{}
	for _, u := range usages {
		sum = sum.plus(u)
	}
	texts, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	return usage{cpu: sum.cpu, wall: total}, len(texts), err
}
