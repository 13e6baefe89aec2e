package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/pdftest"
)

// manyJobs is how many finished jobs the bucket holds at the measured start.
const manyJobs = 100_000

// measureRestart measures the start of a server whose bucket holds many finished jobs, until it takes uploads.
func measureRestart(ctx context.Context, b *benchmark) (rows []row, err error) {
	// Filled without syncing every write, which would take minutes and changes nothing of what is measured.
	s, err := b.startServer(ctx, "restart", "--durability", "fast")
	if err != nil {
		return nil, err
	}
	err = writeFinishedJobs(ctx, s.nats, manyJobs)
	if err = errors.Join(err, s.stopServer()); err != nil {
		return nil, err
	}
	if s, err = b.startServer(ctx, "restart"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	return []row{{
		"start with 100,000 finished jobs, until ready", fmt.Sprintf("%.2f s", s.started.Seconds()), "≤ 3 s",
		"one process, full durability",
	}}, nil
}

// writeFinishedJobs writes records of finished jobs.
func writeFinishedJobs(ctx context.Context, url string, n int) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(512))
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	for range n {
		r := job.Record{
			ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, ResultRun: 1, State: job.Succeeded,
			Options: job.Options{Lane: "batch"}, Filename: "a.pdf",
			Size: 100_000, SHA256: "84717e858c4e8c0565394644a07ee143ba5a9d061ff24cccefe3c5429d588088", PageCount: 3,
			ChunkPages: 16, Window: 4,
			Outcomes: map[string]int{outcome.Native: 3}, CreateTime: now, StartTime: now, EndTime: now,
			ExpireTime: now.Add(720 * time.Hour),
		}
		data, err := json.Marshal(&r)
		if err != nil {
			return err
		}
		if _, err := js.PublishAsync("$KV."+bus.JobBucket+".job."+r.Tenant+"."+string(r.ID), data); err != nil {
			return err
		}
	}
	select {
	case <-js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// measureRecovery kills the server while its workers recognise pages, starts it again at once, and measures how long
// after the kill the pages that were in hand are through.
func measureRecovery(ctx context.Context, b *benchmark) (rows []row, err error) {
	s, err := b.startServer(ctx, "redo")
	if err != nil {
		return nil, err
	}
	data := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 2 * runtime.NumCPU()}).PDF
	j, err := s.uploadDocument(ctx, bytes.NewReader(data), len(data), "")
	if err == nil {
		err = s.awaitPages(ctx, j.ID)
	}
	if err != nil {
		return nil, errors.Join(err, s.stopServer())
	}
	killed := time.Now()
	if err := s.cmd.Process.Kill(); err != nil {
		return nil, err
	}
	_ = s.cmd.Wait() // says that it was killed
	if s, err = b.startServer(ctx, "redo"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	if _, err := s.awaitFinished(ctx, j.ID); err != nil {
		return nil, err
	}
	return []row{{
		"kill -9 of the workers, until their pages are done again", fmt.Sprintf("%.1f s", time.Since(killed).Seconds()), "",
		"the broker gives a dead worker's tasks to another 30 s after its last sign of life",
	}}, nil
}
