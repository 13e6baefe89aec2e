package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/pdftest"
)

// growthPages are the lengths of documents that are compared. Jobs grow likewise, from one to what -growth-jobs says.
var growthPages = []int{10, 100, 1000, 10_000}

// growthCost is what a page or a job costs at one size.
type growthCost struct {
	size            int
	cpu, wall, kept float64 // milliseconds, milliseconds, bytes
}

// measureGrowth measures whether a page of a long document costs what a page of a short one does, and a job among many
// what a job among few does: processor time, time, bytes kept. It draws both into the file that -growth-svg names.
func measureGrowth(ctx context.Context, b *benchmark) (rows []row, err error) {
	var pages, jobs []growthCost
	for _, n := range growthPages {
		repeats := max(1, min(20, 1000/n))
		document := pdftest.BornDigital(n).PDF
		cost, err := b.measureGrowthAt(ctx, fmt.Sprintf("growth-pages-%d", n), n, repeats, int64(len(document)),
			func(ctx context.Context, s *server) error {
				_, err := s.runJob(ctx, document, "")
				return err
			})
		if err != nil {
			return nil, err
		}
		pages = append(pages, cost)
	}
	document := pdftest.BornDigital(1).PDF
	for n := 1; n <= b.growthJobs; n *= 10 {
		repeats := max(1, min(30, 300/n))
		cost, err := b.measureGrowthAt(ctx, fmt.Sprintf("growth-jobs-%d", n), n, repeats, int64(n*len(document)),
			func(ctx context.Context, s *server) error { return s.runJobs(ctx, document, n) })
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, cost)
	}
	if b.growthSVG != "" {
		if err := os.WriteFile(b.growthSVG, drawGrowth(pages, jobs), 0o644); err != nil {
			return nil, err
		}
	}
	return append(growthRows("a page", "pages in one document", pages),
		growthRows("a job", "jobs of one page at once", jobs)...), nil
}

// measureGrowthAt measures what one of n pages or jobs costs that a call of run takes through a server of its own, the
// uploaded bytes not counted. The server does the same warming document in each of its lives, so that the difference
// of what two lives leave on the disk is that of the documents.
func (b *benchmark) measureGrowthAt(ctx context.Context, folder string, n, repeats int, uploaded int64,
	run func(context.Context, *server) error) (growthCost, error) {
	warm := pdftest.BornDigital(64).PDF
	cost := growthCost{size: n}
	units := float64(n * repeats)
	var kept [3]int64 // by the first life, which makes the files, and with the second, and the third
	for life := range kept {
		err := b.withServer(ctx, folder, func(s *server) error {
			if _, err := s.runJob(ctx, warm, ""); err != nil { // starts every child
				return err
			}
			if life+1 < len(kept) {
				return nil
			}
			cpu, wall, err := s.measureCost(func() (err error) {
				for i := 0; i < repeats && err == nil; i++ {
					err = run(ctx, s)
				}
				return err
			})
			cost.cpu, cost.wall = cpu.Seconds()*1000/units, wall.Seconds()*1000/units
			return err
		})
		if err != nil {
			return cost, err
		}
		if kept[life], err = countKeptBytes(filepath.Join(b.dir, folder)); err != nil {
			return cost, err
		}
	}
	ofWarming := kept[1] - kept[0]
	cost.kept = float64(kept[2]-kept[1]-ofWarming-int64(repeats)*uploaded) / units
	return cost, os.RemoveAll(filepath.Join(b.dir, folder))
}

// withServer runs a server in a folder of the benchmark for as long as do takes.
func (b *benchmark) withServer(ctx context.Context, folder string, do func(*server) error) error {
	s, err := b.startServer(ctx, folder, "--limit.jobs", "0", "--ingest.max-pages", strconv.Itoa(slices.Max(growthPages)))
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.stopServer())
}

// jobUploadsAtOnce is how many uploads of runJobs are under way together.
const jobUploadsAtOnce = 16

// runJobs uploads a document n times, some at a time, and waits for the end of every job.
func (s *server) runJobs(ctx context.Context, data []byte, n int) error {
	ids := make([]string, n)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(jobUploadsAtOnce)
	for i := range ids {
		g.Go(func() error {
			j, err := s.uploadDocument(gctx, bytes.NewReader(data), len(data), "")
			ids[i] = j.ID
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	// They are worked on in the order in which they came, more or less: the last to end is among the last.
	for _, id := range slices.Backward(ids) {
		if _, err := s.awaitFinished(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// growthRows compares the costs of all sizes with the lowest of them.
func growthRows(unit, what string, costs []growthCost) (rows []row) {
	for _, figure := range []struct {
		name string
		of   func(growthCost) float64
		show func(float64) string
	}{
		{"CPU", func(c growthCost) float64 { return c.cpu }, showMilliseconds},
		{"time", func(c growthCost) float64 { return c.wall }, showMilliseconds},
		{"bytes kept", func(c growthCost) float64 { return c.kept }, showKilobytes},
	} {
		value := ""
		for _, c := range costs {
			value += fmt.Sprintf("%s (%d), ", figure.show(figure.of(c)), c.size)
		}
		rows = append(rows, row{figure.name + " " + unit + " by number of " + what, value[:max(0, len(value)-2)], "± 10 %",
			"full durability, a server for each size; bytes beside the documents"})
	}
	return rows
}

func showMilliseconds(v float64) string { return fmt.Sprintf("%.1f ms", v) }

func showKilobytes(v float64) string { return fmt.Sprintf("%.1f KB", v/1000) }
