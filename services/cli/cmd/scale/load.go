package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/pdftest"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	"inkstream.dev/services/standalone/chaos"
)

// seeders is how many jobs are written at once, and seedInterval how far apart their times are.
const (
	seeders      = 64
	seedInterval = 100 * time.Millisecond
)

// seed queues one-page jobs in the batch lane, each with a record, an event and a task as the gateway writes them, and
// a document of its own in the bucket, which is one file with n names (a file system may allow 65,000 of them).
func (h *rehearsal) seed(ctx context.Context, n int) error {
	pdf := pdftest.BornDigital(1).PDF
	sum := sha256.Sum256(pdf)
	file := filepath.Join(h.dir, fmt.Sprintf("page-%d.pdf", h.seeded))
	if err := os.WriteFile(file, pdf, 0o600); err != nil {
		return err
	}
	first := h.seeded
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(seeders)
	for i := range n {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() error {
			// As if they had come ten a second, as fast as a gateway takes them: the reconciler looks twice at what came
			// within half a minute, and hours of uploads that came in one would be a load that no user makes.
			now := time.Now().Add(-time.Duration(h.cfg.jobs-first-i) * seedInterval).UTC()
			r := &job.Record{
				ID: job.NewIDAt(now), Tenant: job.DefaultTenant, Run: 1, State: job.Pending, Filename: "page.pdf",
				Size:   uint32(len(pdf)),
				SHA256: hex.EncodeToString(sum[:]), CreateTime: now, ExpireTime: now.Add(720 * time.Hour),
				Options: job.Options{Lane: string(bus.Batch), Dedupe: job.TurnedOff()},
			}
			source := filepath.Join(h.bucket(), filepath.FromSlash(job.SourceKey(r.Tenant, r.ID)))
			if err := os.MkdirAll(filepath.Dir(source), 0o700); err != nil {
				return err
			}
			if err := os.Link(file, source); err != nil {
				return err
			}
			return retry(gctx, func() error { // NATS has just been started, and a stream may have no leader yet
				if err := h.jobs.CreateRecord(gctx, r); err != nil && !errors.Is(err, job.ErrExists) {
					return err
				}
				return h.bus.PublishAll(gctx, []bus.Message{jobs.FirstMessage(r, 0)}, []*busv1.Event{jobs.NewEvent(r,
					"uploaded", "")})
			})
		})
	}
	err := g.Wait()
	h.seeded += n
	return err
}

// upload sends a document by the API.
func (h *rehearsal) upload(ctx context.Context, c *chaos.Client, pdf []byte, lane bus.Lane) (chaos.Job, error) {
	options := url.Values{"dedupe": {"false"}, "lane": {string(lane)}}
	j, _, err := c.UploadUntilAcknowledged(ctx, "", pdf, options)
	if err == nil {
		h.uploads = append(h.uploads, j.ID)
	}
	return j, err
}

// wait uploads a one-page document, and returns how long it took until it was done.
func (h *rehearsal) wait(ctx context.Context, c *chaos.Client) (time.Duration, error) {
	start := time.Now()
	j, err := h.upload(ctx, c, pdftest.BornDigital(1).PDF, bus.Interactive)
	if err != nil {
		return 0, err
	}
	if j, err = c.AwaitJobEnd(ctx, j.ID); err == nil && j.State != string(job.Succeeded) {
		err = fmt.Errorf("job %s is %s", j.ID, j.State)
	}
	return time.Since(start), err
}

// waits returns the waits of some one-page documents, one after the other.
func (h *rehearsal) waits(ctx context.Context, c *chaos.Client, n int) (all []time.Duration, err error) {
	for range n {
		took, err := h.wait(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	return all, nil
}

// otherTenant makes a client of another tenant.
func (tb *testbed) otherTenant(ctx context.Context) error {
	body := []byte(`{"tenant": "other", "scopes": ["read", "write"], "name": "scale"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, tb.client.URL+"/v1/keys", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+tb.client.Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var key struct {
		Secret string `json:"secret"`
	}
	if err := json.NewDecoder(res.Body).Decode(&key); err != nil || key.Secret == "" {
		return fmt.Errorf("make a key of another tenant: %s, %w", res.Status, err)
	}
	tb.other = chaos.NewClient(tb.client.URL)
	tb.other.Key = key.Secret
	return nil
}

// watcher knows the state of every job, as its record says. It keeps its watch: to make one at each look is work for
// NATS that would count as the jobs'.
type watcher struct {
	scanner *job.RecordScanner
	after   uint64
	states  map[string]job.State
	ended   int
}

// newWatcher returns a watcher that knows nothing. It is closed with the testbed.
func newWatcher(tb *testbed) *watcher {
	scanner := tb.jobs.NewRecordScanner()
	tb.closers = append(tb.closers, scanner.Close)
	return &watcher{scanner: scanner, states: make(map[string]job.State)}
}

// look reads what has changed, and returns how many jobs have ended.
func (o *watcher) look(ctx context.Context) (int, error) {
	last, err := o.scanner.Scan(ctx, o.after, func(c job.Change, _ func() (*job.Record, error)) {
		id := string(c.ID)
		if c.State.HasEnded() && !final(o.states[id]) {
			o.ended++
		}
		o.states[id] = c.State
	})
	if err == nil {
		o.after = last
	}
	return o.ended, err
}

// awaitEnded looks until so many jobs have ended.
func (o *watcher) awaitEnded(ctx context.Context, ended int) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	stuck := time.Now()
	for last := -1; ; {
		n, err := o.look(ctx)
		if n != last {
			last, stuck = n, time.Now()
		}
		if n >= ended {
			return nil
		}
		if time.Since(stuck) > startPatience {
			return errors.Join(fmt.Errorf("%d of %d jobs have ended, and none for %s", n, ended, startPatience), err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// measureRate waits until n more jobs have ended, and returns how many did a second.
func (o *watcher) measureRate(ctx context.Context, n int) (float64, error) {
	begin, err := o.look(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := o.awaitEnded(ctx, begin+n); err != nil {
		return 0, err
	}
	return float64(o.ended-begin) / time.Since(start).Seconds(), nil
}

// queued returns how many tasks each stage's stream holds.
func (tb *testbed) queued(ctx context.Context) (map[bus.Stage]uint64, error) {
	n := make(map[bus.Stage]uint64)
	for _, s := range bus.AllStages() {
		stream, err := tb.bus.JetStream().Stream(ctx, s.StreamName())
		if err != nil {
			return nil, err
		}
		n[s] = stream.CachedInfo().State.Msgs
	}
	return n, nil
}

// final reports whether a state that may not be known yet is one in which a job has ended.
func final(s job.State) bool { return s != "" && s.HasEnded() }
