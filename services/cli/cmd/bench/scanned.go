package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/processtest"
)

// recogniser is the name of the children that recognise text.
const recogniser = "tesseract"

// measureScanned measures what all that a job yields by default costs a scanned page beyond its recognition. Of the
// whole server's processor time, that of its recognising children is taken off, and what a PDFium child of its own
// takes to open the same documents and draw the same pages: without that there is nothing to recognise. All else
// counts: the upload, the queues, moving the rasters, storing what was read, the layout, every artifact and the
// index.
func measureScanned(ctx context.Context, b *benchmark) (rows []row, err error) {
	files, err := b.findScans()
	if err != nil {
		return nil, err
	}
	whole := filepath.Join(b.dir, "scans.pdf")
	if _, err := runCommand(ctx, nil, "qpdf",
		slices.Concat([]string{"--empty", "--pages"}, files, []string{"--", whole})...); err != nil {
		return nil, err
	}
	s, err := b.startServer(ctx, "scanned")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	var together, apart, drawing []float64
	pages := 0
	for range b.rounds {
		t, err := s.measureScanCost(ctx, []string{whole})
		if err != nil {
			return nil, err
		}
		a, err := s.measureScanCost(ctx, files)
		if err != nil {
			return nil, err
		}
		pages = t.pages
		together, apart, drawing = append(together, t.millisPerPage(t.overhead())),
			append(apart, a.millisPerPage(a.overhead())), append(drawing, t.millisPerPage(t.drawing))
	}
	how := fmt.Sprintf("server and children, less the recognisers, and less what drawing the rasters takes alone (%.0f ms); ", medianOf(drawing))
	return []row{
		{
			"scanned, CPU a page beyond recognition, all artifacts", fmt.Sprintf("%.1f ms", medianOf(together)), "≤ 40 ms",
			how + fmt.Sprintf("%d pages in one document", pages),
		},
		{"the same, each scan a job of its own", fmt.Sprintf("%.1f ms", medianOf(apart)), "",
			fmt.Sprintf("%d jobs", len(files))},
	}, nil
}

// scanCost is what scanned pages cost: in all, recognising them, and drawing them for it.
type scanCost struct {
	total, recognising, drawing time.Duration
	pages                       int
}

func (c scanCost) overhead() time.Duration { return c.total - c.recognising - c.drawing }

// millisPerPage returns milliseconds a page.
func (c scanCost) millisPerPage(d time.Duration) float64 {
	return d.Seconds() * 1000 / float64(c.pages)
}

// measureScanCost takes documents through the pipeline, and says what that cost.
func (s *server) measureScanCost(ctx context.Context, files []string) (c scanCost, err error) {
	if c.drawing, c.pages, err = measureRasterCost(ctx, files); err != nil {
		return c, err
	}
	if err := s.warmChildren(ctx); err != nil { // those without work have ended while pages were drawn
		return c, err
	}
	c.recognising, err = measureChildren(s.cmd.Process.Pid, recogniser, func() (err error) {
		c.total, _, err = s.measureCost(func() error { return s.runDocuments(ctx, files) })
		return err
	})
	return c, err
}

// runDocuments takes documents through the pipeline, as many at once as there are cores.
func (s *server) runDocuments(ctx context.Context, files []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for _, path := range files {
		g.Go(func() error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			j, err := s.uploadDocument(ctx, bytes.NewReader(data), len(data), s.options)
			if err != nil {
				return err
			}
			if j, err = s.awaitEnd(ctx, j.ID); err == nil && j.State != "SUCCEEDED" {
				err = fmt.Errorf("%s: the job ended as %s", filepath.Base(path), j.State)
			}
			return err
		})
	}
	return g.Wait()
}

// awaitEnd waits for a job's end. It lets the server wait, for polling would cost the more the longer recognition
// takes.
func (s *server) awaitEnd(ctx context.Context, id string) (j jobView, err error) {
	for err == nil && (j.State == "" || j.State == "PENDING" || j.State == "RUNNING") {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.http+"/v1/jobs/"+id+"?wait=60s",
			nil); err == nil {
			err = doRequest(req, http.StatusOK, &j)
		}
	}
	return j, err
}

// warmChildren starts all children that there can be, of which one document needs but some.
func (s *server) warmChildren(ctx context.Context) error {
	small := pdftest.ScannedFile(pdftest.ScanOptions{Pages: runtime.NumCPU()}).PDF
	g, gctx := errgroup.WithContext(ctx)
	for range 2 * runtime.NumCPU() {
		g.Go(func() error {
			_, err := s.runJob(gctx, small, "")
			return err
		})
	}
	return g.Wait()
}

// measureRasterCost returns what warm PDFium children take to open documents and draw their pages for recognition, and
// how many pages those are. As many children draw them at once as there are cores, for the server's do so too, and two
// threads of one core take longer than one.
func measureRasterCost(ctx context.Context, files []string) (cost time.Duration, pages int, err error) {
	cfg := pdf.DefaultConfig()
	cfg.Workers = runtime.NumCPU()
	engine, err := pdf.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	drawAtOnce := func(files []string) (pages int, err error) {
		counts := make([]int, cfg.Workers)
		g, ctx := errgroup.WithContext(ctx)
		for i := range counts {
			g.Go(func() (err error) {
				counts[i], err = drawDocuments(ctx, engine, files)
				return err
			})
		}
		return counts[0], g.Wait()
	}
	if _, err := drawAtOnce(files[:1]); err != nil {
		return 0, 0, err
	}
	cost, err = measureChildren(os.Getpid(), pdf.Program().Name, func() error {
		pages, err = drawAtOnce(files)
		return err
	})
	return cost / time.Duration(cfg.Workers), pages, err
}

// drawDocuments draws the pages of documents that are to be recognised, and returns how many pages they have.
func drawDocuments(ctx context.Context, engine *pdf.Engine, files []string) (pages int, err error) {
	for _, path := range files {
		n, err := drawPages(ctx, engine, path)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		pages += n
	}
	return pages, nil
}

// drawPages draws the pages of a document that are to be recognised, and returns how many pages it has.
func drawPages(ctx context.Context, engine *pdf.Engine, path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	doc, err := engine.OpenPages(ctx, f, "")
	if err != nil {
		return 0, err
	}
	defer doc.Close()
	count := doc.Info().PageCount
	for n := 1; n <= count; n++ {
		if _, err := doc.ReadPage(ctx, n, pdf.PageOptions{}); err != nil {
			return 0, err
		}
	}
	return count, nil
}

// childTimes returns the processor time of each living child of a process that runs a program, by its folder in /proc.
func childTimes(parent int, program string) (map[string]time.Duration, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	out := map[string]time.Duration{}
	for _, path := range stats {
		dir := filepath.Dir(path)
		t, err := processtest.ReadTimes(path)
		if err != nil || t.Parent != parent {
			continue // it has just ended, or is another's
		}
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil &&
			bytes.Contains(line, []byte(`"program":"`+program+`"`)) {
			out[dir] = t.Self
		}
	}
	return out, nil
}

// childLook is how often children are looked at while what they take is measured.
const childLook = 500 * time.Millisecond

// measureChildren returns what the children of a process that run a program take while work goes on. Those that end
// before the work does count as they were seen last: a child is ended for want of work, and takes nothing before.
func measureChildren(parent int, program string, work func() error) (sum time.Duration, err error) {
	before, err := childTimes(parent, program)
	if err != nil {
		return 0, err
	}
	last, ended := maps.Clone(before), make(chan error, 1)
	go func() { ended <- work() }()
	tick := time.NewTicker(childLook)
	defer tick.Stop()
	for working := true; working; {
		select {
		case err = <-ended:
			working = false
		case <-tick.C:
		}
		now, lookErr := childTimes(parent, program)
		err = errors.Join(err, lookErr)
		maps.Copy(last, now)
	}
	for child, took := range last {
		sum += took - before[child]
	}
	if sum == 0 && err == nil {
		err = fmt.Errorf("no child that runs %s took any time", program)
	}
	return sum, err
}
