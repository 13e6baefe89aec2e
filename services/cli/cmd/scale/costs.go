package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/search/searchtest"
)

// counters are what the servers have counted since their start. A difference of two is what something cost.
type counters struct {
	tasks, events, kv  float64 // messages that streams have stored
	received, bytes    float64 // what NATS servers have taken in, from clients and from each other
	inserts, rows      float64 // of ClickHouse
	blobs, blobBytes   float64 // that are there
	nats, ch, s3, work time.Duration
	at                 time.Time
}

// settle is the wait until what follows a job's end is written as well.
const settle = 3 * time.Second

// idleName is what is measured first, and taken off the rest.
const (
	idleName = "a second of rest"
	idleTime = 7 * time.Second
)

// count reads all counters, first those that take long to read.
func (tb *testbed) count(ctx context.Context) (c counters, err error) {
	if c.blobs, c.blobBytes, err = countFiles(tb.bucket()); err != nil {
		return c, err
	}
	c.at = time.Now()
	streams := tb.bus.JetStream().ListStreams(ctx)
	for info := range streams.Info() {
		last := float64(info.State.LastSeq)
		switch name := info.Config.Name; {
		case name == bus.EventStream:
			c.events += last
		case strings.HasPrefix(name, "KV_"):
			c.kv += last
		default:
			c.tasks += last
		}
	}
	if err := streams.Err(); err != nil {
		return c, err
	}
	for _, monitor := range tb.nats.Monitors {
		var v struct {
			InMsgs  float64 `json:"in_msgs"`
			InBytes float64 `json:"in_bytes"`
		}
		if err := getJSON(ctx, monitor+"/varz", &v); err != nil {
			return c, err
		}
		c.received, c.bytes = c.received+v.InMsgs, c.bytes+v.InBytes
	}
	inserts, rows, err := searchtest.Inserts(ctx, tb.chDSN)
	if err != nil {
		return c, err
	}
	c.inserts, c.rows = float64(inserts), float64(rows)
	for name, p := range tb.processes() {
		cpu, cerr := processtest.CPU(p.PID())
		if cerr != nil {
			return c, cerr
		}
		switch {
		case strings.HasPrefix(name, "nats"):
			c.nats += cpu
		case name == "clickhouse":
			c.ch += cpu
		case name == "s3":
			c.s3 += cpu
		default:
			c.work += cpu
		}
	}
	return c, err
}

// countFiles returns how many files a folder holds, and their bytes.
func countFiles(dir string) (files, bytes float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // it has just gone
		}
		if info, err := d.Info(); err == nil {
			files, bytes = files+1, bytes+float64(info.Size())
		}
		return nil
	})
	return files, bytes, err
}

func getJSON(ctx context.Context, page string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(v)
}

// since returns the costs of n units since an earlier count, without what that time costs when nothing is done.
func (c counters) since(b counters, n int, idle cost) cost {
	all := cost{
		c.tasks - b.tasks, c.events - b.events, c.kv - b.kv, c.received - b.received, (c.bytes - b.bytes) / 1e3,
		c.inserts - b.inserts, c.rows - b.rows, c.blobs - b.blobs, (c.blobBytes - b.blobBytes) / 1e3,
	}
	for i, d := range []time.Duration{c.nats - b.nats, c.ch - b.ch, c.s3 - b.s3, c.work - b.work} {
		all[9+i] = float64(d.Microseconds()) / 1000
	}
	for i := range all {
		all[i] = (all[i] - idle[i]*c.at.Sub(b.at).Seconds()) / float64(n)
	}
	return all
}

// cost is that of a unit, in the order of costNames.
type cost [13]float64

var costNames = [...]string{
	"tasks stored", "events stored", "KV writes", "messages that NATS servers take in, from each other too",
	"kB of them",
	"ClickHouse inserts", "rows of them", "blobs kept", "kB of them",
	"CPU of NATS, ms (3 servers)", "CPU of ClickHouse, ms", "CPU of S3, ms", "CPU of the services, ms",
}

// measureCosts takes a few of each kind of work through an otherwise idle pipeline.
func (h *rehearsal) measureCosts(ctx context.Context) error {
	if _, err := h.waits(ctx, h.client, 10); err != nil { // starts the engines
		return err
	}
	var idle cost
	scans := pdftest.ScannedFile(pdftest.ScanOptions{DPI: 150, Size: 16, Design: pdftest.Letter, Pages: costScans})
	for _, kind := range []struct {
		name string
		n    int
		do   func(context.Context) error
	}{
		{idleName, int((idleTime + settle) / time.Second), func(ctx context.Context) error {
			pause(ctx, idleTime)
			return nil
		}},
		{"a job of one page", costJobs, func(ctx context.Context) error {
			if err := h.seed(ctx, costJobs); err != nil {
				return err
			}
			n, err := h.watcher.look(ctx)
			if err != nil {
				return err
			}
			return h.watcher.awaitEnded(ctx, max(n, len(h.uploads)+h.seeded))
		}},
		{"a page of a long document", costPages, func(ctx context.Context) error {
			return h.through(ctx, pdftest.BornDigital(costPages).PDF)
		}},
		{"a scanned page (small: 150 dpi)", costScans, func(ctx context.Context) error {
			return h.through(ctx, scans.PDF)
		}},
	} {
		before, err := h.count(ctx)
		if err != nil {
			return err
		}
		if err := kind.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		pause(ctx, settle)
		after, err := h.count(ctx)
		if err != nil {
			return err
		}
		h.report.costs = append(h.report.costs, named{kind.name, after.since(before, kind.n, idle)})
		if kind.name == idleName {
			idle = h.report.costs[0].cost
		}
	}
	return nil
}

const costJobs, costPages, costScans = 200, 480, 16

// named is what something cost.
type named struct {
	name string
	cost cost
}

// through takes a document through the pipeline.
func (h *rehearsal) through(ctx context.Context, pdf []byte) error {
	j, err := h.upload(ctx, h.client, pdf, bus.Batch)
	if err == nil {
		j, err = h.client.AwaitJobEnd(ctx, j.ID)
	}
	if err == nil && j.State != "SUCCEEDED" {
		err = fmt.Errorf("job %s is %s", j.ID, j.State)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
