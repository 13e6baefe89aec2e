package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/processtest"
)

func toMebibytes[N int64 | float64](bytes N) float64 { return float64(bytes) / (1 << 20) }

// measureMemory compares the memory of the server's process after a long document with that after a short one.
func measureMemory(ctx context.Context, b *benchmark) ([]row, error) {
	peak := func(folder string, pages int) (mem int64, err error) {
		s, err := b.startServer(ctx, folder)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, s.stopServer()) }()
		if _, err := s.runJob(ctx, pdftest.BornDigital(pages).PDF, ""); err != nil {
			return 0, err
		}
		return s.memoryFigure("VmHWM")
	}
	short, err := peak("short", 30)
	if err != nil {
		return nil, err
	}
	long, err := peak("long", 3000)
	if err != nil {
		return nil, err
	}
	return []row{{
		"memory, 3,000 pages against 30", fmt.Sprintf("%+.0f MB (%.0f, %.0f)", toMebibytes(long-short), toMebibytes(long), toMebibytes(short)),
		"≤ +64 MB",
		"peak resident memory of the one process with every service and the NATS server",
	}}, nil
}

const (
	// mixedLoadTime is how long the mixed load lasts, mixedUploads how many of its documents are under way at once.
	mixedLoadTime = time.Minute
	mixedUploads  = 24
	// idleAfter is how long after it the idle server is looked at: children without work have ended by then.
	idleAfter = 32 * time.Second
)

// measureAllMemory measures the memory of all processes together, while scans, a manual of hundreds of pages and
// documents of one page come in at once, and when that is over.
func measureAllMemory(ctx context.Context, b *benchmark) (rows []row, err error) {
	documents, err := b.mixedDocuments()
	if err != nil {
		return nil, err
	}
	s, err := b.startServer(ctx, "all-memory")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	busy, finished, err := s.sampleMixedLoad(ctx, documents)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(idleAfter):
	}
	idle, err := processtest.TotalMemory(s.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	slices.Sort(busy)
	return []row{
		{"memory of all processes, busy", fmt.Sprintf("%.0f MB (most %.0f)", medianOf(busy), busy[len(busy)-1]), "≤ 450 MB",
			fmt.Sprintf("PSS, median of %d looks in %v; %d documents ended: scans, a long manual, single pages, %d under way at once",
				len(busy), mixedLoadTime, finished, mixedUploads)},
		{"the same, idle", fmt.Sprintf("%.0f MB", toMebibytes(idle)), "≤ 120 MB", fmt.Sprintf("%v later", idleAfter)},
	}, nil
}

// mixedDocuments returns the documents of a mixed load, in the order in which they come.
func (b *benchmark) mixedDocuments() (documents [][]byte, err error) {
	scans, err := b.findScans()
	if err != nil {
		return nil, err
	}
	manual, _, err := b.longDocument()
	if err != nil {
		return nil, err
	}
	page := pdftest.BornDigital(1).PDF
	for i, name := range scans {
		scan, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		documents = append(documents, scan, page)
		if i%16 == 0 {
			documents = append(documents, manual)
		}
	}
	return documents, nil
}

// sampleMixedLoad has the server do documents, again and again, each time as another file, for mixedLoadTime, and waits
// for those under way. It returns the memory of all processes in MB, looked at twice a second, and how many were done.
func (s *server) sampleMixedLoad(ctx context.Context, documents [][]byte) (samples []float64, finished int, err error) {
	looking, stop := context.WithTimeout(ctx, mixedLoadTime)
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(mixedUploads + 1)
	g.Go(func() error {
		tick := time.NewTicker(time.Second / 2)
		defer tick.Stop()
		for {
			select {
			case <-looking.Done():
				return gctx.Err()
			case <-tick.C:
			}
			now, err := processtest.TotalMemory(s.cmd.Process.Pid)
			if err != nil {
				return err
			}
			samples = append(samples, toMebibytes(now))
		}
	})
	for looking.Err() == nil && gctx.Err() == nil {
		data := slices.Concat(documents[finished%len(documents)], fmt.Appendf(nil, "\n%% %d\n", finished))
		finished++
		g.Go(func() error {
			_, err := s.runJob(gctx, data, "")
			return err
		})
	}
	err = g.Wait()
	return samples, finished, err
}
