package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"inkstream.dev/pkg/pdftest"
)

func timeCall(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

// jobView is what the measurements read of a job.
type jobView struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	PageCount int    `json:"pageCount"`
	PagesDone int    `json:"pagesDone"`
}

// uploadDocument sends a document; options are more of the query. Nothing is deduplicated, for what is measured is
// the work.
func (s *server) uploadDocument(ctx context.Context, data io.Reader, size int, options string) (jobView, error) {
	var j jobView
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.http+"/v1/jobs?dedupe=false"+options, data)
	if err != nil {
		return j, err
	}
	req.ContentLength = int64(size)
	req.Header.Set("Content-Type", "application/pdf")
	s.authorise(req)
	return j, doRequest(req, http.StatusAccepted, &j)
}

func (s *server) authorise(req *http.Request) {
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
}

// client keeps a connection for each of those that send at once, as that many clients would.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, WriteBufferSize: 64 << 10}}

func doRequest(req *http.Request, want int, v any) error {
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != want {
		return fmt.Errorf("%s %s: %s: %.300s", req.Method, req.URL.Path, resp.Status, body)
	}
	return json.Unmarshal(body, v)
}

// awaitFinished waits for a job's end.
func (s *server) awaitFinished(ctx context.Context, id string) (jobView, error) {
	j, err := s.pollJob(ctx, id, func(j jobView) bool { return j.State != "PENDING" && j.State != "RUNNING" })
	if err == nil && j.State != "SUCCEEDED" && j.State != "PARTIAL" {
		err = fmt.Errorf("job ended as %s", j.State)
	}
	return j, err
}

// awaitPages waits until a job has a finished page.
func (s *server) awaitPages(ctx context.Context, id string) error {
	_, err := s.pollJob(ctx, id, func(j jobView) bool { return j.PagesDone > 0 })
	return err
}

// pollJob polls a job until it is as is wanted.
func (s *server) pollJob(ctx context.Context, id string, wanted func(jobView) bool) (j jobView, err error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.http+"/v1/jobs/"+id, nil)
		if err != nil {
			return j, err
		}
		s.authorise(req)
		if err := doRequest(req, http.StatusOK, &j); err != nil || wanted(j) {
			return j, err
		}
		select {
		case <-ctx.Done():
			return j, ctx.Err()
		case <-tick.C:
		}
	}
}

// runJob takes a document through the pipeline.
func (s *server) runJob(ctx context.Context, data []byte, options string) (jobView, error) {
	j, err := s.uploadDocument(ctx, bytes.NewReader(data), len(data), options)
	if err != nil {
		return j, err
	}
	return s.awaitFinished(ctx, j.ID)
}

// longDocument returns a long born-digital document: the corpus's longest, else a made one.
func (b *benchmark) longDocument() ([]byte, string, error) {
	if data, err := os.ReadFile(filepath.Join(b.corpus, "pdf", "debian-gnuplot.pdf")); err == nil {
		return data, "a manual of the corpus", nil
	}
	return pdftest.BornDigital(261).PDF, "a made document", nil
}

// measureNative measures a long born-digital document on a running server that has all its children: with text and
// JSON alone, and with every artifact that a job yields by default. Its peer is pdftotext, which gives bare text; the
// ratios that are wanted are those of the milliseconds that are, on the machine on which pdftotext took 2.0.
func measureNative(ctx context.Context, b *benchmark) (rows []row, err error) {
	data, what, err := b.longDocument()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, "native.pdf")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	s, err := b.startServer(ctx, "native")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	if _, err := s.runJob(ctx, data, ""); err != nil { // starts every child
		return nil, err
	}
	var perPage, rates, ratios [2][]float64 // with text and JSON alone, with all
	pages := 0
	for range b.rounds {
		peer, err := runCommand(ctx, nil, "pdftotext", file, os.DevNull)
		if err != nil {
			return nil, err
		}
		for i, options := range []string{"&artifacts=text,json", ""} {
			var last jobView
			cpu, wall, err := s.measureCost(func() (err error) { last, err = s.runJob(ctx, data, options); return err })
			if err != nil {
				return nil, err
			}
			pages = last.PageCount
			perPage[i] = append(perPage[i], cpu.Seconds()*1000/float64(pages))
			rates[i] = append(rates[i], float64(pages)/wall.Seconds())
			ratios[i] = append(ratios[i], cpu.Seconds()/peer.cpu.Seconds())
		}
	}
	for i, made := range []struct{ name, most, ratio string }{
		{"text and JSON", "≤ 5 ms", "≤ 2.5 ×"}, {"all artifacts", "≤ 7 ms", "≤ 3.5 ×"},
	} {
		rows = append(rows,
			row{"born-digital, CPU a page, " + made.name, fmt.Sprintf("%.1f ms", medianOf(perPage[i])), made.most,
				fmt.Sprintf("%s, %d pages, full durability; %.0f pages a second", what, pages, medianOf(rates[i]))},
			row{"the same against pdftotext, bare text", fmt.Sprintf("%.2f ×", medianOf(ratios[i])), made.ratio, "same run"})
	}
	return rows, nil
}

// measureCost returns what f costs the server: processor time, its children's included, and wall time.
func (s *server) measureCost(f func() error) (cpu, wall time.Duration, err error) {
	before, err := s.totalCPUTime()
	if err != nil {
		return 0, 0, err
	}
	if wall, err = timeCall(f); err != nil {
		return 0, 0, err
	}
	after, err := s.totalCPUTime()
	return after - before, wall, err
}

// measureSmall measures how many jobs of one born-digital page each go through in a second, and what they cost the
// server outside the engines.
func measureSmall(ctx context.Context, b *benchmark) (rows []row, err error) {
	s, err := b.startServer(ctx, "small")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	if _, err := s.runJob(ctx, pdftest.BornDigital(64).PDF, ""); err != nil { // warms the children
		return nil, err
	}
	const jobs = 600
	bare, err := measureBareJobs(ctx, b, jobs)
	if err != nil {
		return nil, err
	}
	page := pdftest.BornDigital(1).PDF
	own, err := s.processCPUTime()
	if err != nil {
		return nil, err
	}
	wall, err := timeCall(func() error { return s.runJobs(ctx, page, jobs) })
	if err != nil {
		return nil, err
	}
	after, err := s.processCPUTime()
	if err != nil {
		return nil, err
	}
	how := fmt.Sprintf("%d jobs of 1 born-digital page, uploaded %d at a time, all artifacts, full durability", jobs,
		jobUploadsAtOnce)
	return []row{
		{"jobs a second", fmt.Sprintf("%.0f", jobs/wall.Seconds()), "≥ 120", how},
		{"CPU a job outside the engines", fmt.Sprintf("%.1f ms", (after-own).Seconds()*1000/jobs), "≤ 5 ms",
			"the server's own process, the NATS server and the polling included"},
		{"the same by its messages, records and files alone", fmt.Sprintf("%.1f ms", bare.cpu.Seconds()*1000/jobs), "",
			fmt.Sprintf("%.0f jobs a second; the same streams and folders, synced, and nothing that is read, parsed, indexed or answered",
				jobs/bare.wall.Seconds())},
	}, nil
}

// measureStart measures the second start, with the compiled engine on disk.
func measureStart(ctx context.Context, b *benchmark) ([]row, error) {
	var took [2]time.Duration
	for i := range took {
		s, err := b.startServer(ctx, "start")
		if err != nil {
			return nil, err
		}
		took[i] = s.started
		if _, err := s.runJob(ctx, pdftest.BornDigital(1).PDF, ""); err != nil {
			return nil, err
		}
		if err := s.stopServer(); err != nil {
			return nil, err
		}
	}
	return []row{{"second start, until ready", fmt.Sprintf("%.2f s (first %.2f)", took[1].Seconds(), took[0].Seconds()),
		"< 3 s", ""}}, nil
}
