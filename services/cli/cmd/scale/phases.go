package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/services/standalone/chaos"
)

const (
	// tries is how often lists, searches and waits are measured.
	tries = 5
	// filling and working are the phases in which memory is noted.
	filling, working = "jobs queued", "pages done"
)

// answers returns how long a list and a search take.
func (w *world) answers(ctx context.Context) (list, search []time.Duration, err error) {
	for range tries {
		for path, to := range map[string]*[]time.Duration{"/v1/jobs?pageSize=50": &list,
			"/v1/search?q=the+report": &search} {
			start := time.Now()
			if _, err := w.client.FetchPath(ctx, path); err != nil {
				return nil, nil, err
			}
			*to = append(*to, time.Since(start))
		}
	}
	return list, search, nil
}

// measureEmpty measures with an empty queue what is measured with a deep one later.
func (w *world) measureEmpty(ctx context.Context) (err error) {
	r := w.report
	if r.empty.list, r.empty.search, err = w.answers(ctx); err != nil {
		return err
	}
	if r.empty.own, err = w.waits(ctx, w.client, tries); err != nil {
		return err
	}
	if r.empty.other, err = w.waits(ctx, w.other, tries); err != nil {
		return err
	}
	if r.empty.starts, err = w.restartServices(ctx, chaos.Services); err != nil {
		return err
	}
	if err := w.hold(held...); err != nil {
		return err
	}
	if err := w.seed(ctx, w.cfg.window); err != nil {
		return err
	}
	if err := w.release(ctx, held...); err != nil {
		return err
	}
	r.empty.rate, err = w.watcher.rate(ctx, w.cfg.window)
	return err
}

// fill stops the services behind the gateway and queues the jobs. This takes minutes and is not measured; NATS does
// not wait for the disk during it.
func (w *world) fill(ctx context.Context) error {
	bin := filepath.Join(w.dir, "bin")
	if err := w.hold(held...); err != nil {
		return err
	}
	if _, err := w.restartNATS(ctx, bin, "later"); err != nil {
		return err
	}
	start := time.Now()
	for done := 0; done < w.cfg.jobs; {
		n := min(w.cfg.jobs-done, max(w.cfg.jobs/50, 100))
		w.sampler.set(filling, done)
		if err := w.seed(ctx, n); err != nil {
			return err
		}
		done += n
	}
	w.sampler.set("", 0)
	w.report.filled = time.Since(start)
	var err error
	w.report.natsStart, err = w.restartNATS(ctx, bin, "always")
	return err
}

// restartNATS stops all servers and starts them again.
func (w *world) restartNATS(ctx context.Context, bin, sync string) (time.Duration, error) {
	for _, p := range w.nats {
		if err := p.Stop(stopPatience); err != nil {
			return 0, err
		}
	}
	took, err := w.startNATS(ctx, bin, sync)
	if err != nil {
		return 0, err
	}
	return took, awaitHTTP(ctx, "http://"+w.ops["gateway"]+"/readyz")
}

// measureDeep measures with the queue full.
func (w *world) measureDeep(ctx context.Context) (err error) {
	r := w.report
	if err := retry(ctx, func() (err error) { r.depth, err = w.queued(ctx); return err }); err != nil {
		return err
	}
	if r.deep.starts, err = w.restartServices(ctx, []string{"gateway"}); err != nil {
		return err
	}
	for _, name := range held {
		if r.deep.starts[name], err = w.startService(ctx, name); err != nil {
			return err
		}
	}
	stop := w.follow(ctx, "")
	defer stop()
	if r.deep.rate, err = w.watcher.rate(ctx, w.cfg.window); err != nil {
		return err
	}
	r.deep.list, r.deep.search, err = w.answers(ctx)
	return err
}

// follow tells the sampler how many pages are done, of jobs and of a document, until stop is called. It has a
// watcher of its own, because the caller reads that of w at the same time.
func (w *world) follow(ctx context.Context, document string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	own := newWatcher(w)
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if n, err := own.look(ctx); err == nil {
				if document != "" {
					if j, err := w.client.FetchJob(ctx, document); err == nil {
						n += j.PagesDone
					}
				}
				w.sampler.set(working, n)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done; w.sampler.set("", 0) }
}

// disturb sends the long document amid the queue, measures what a short one waits beside both, and restarts everything
// in turn.
func (w *world) disturb(ctx context.Context) (err error) {
	r := w.report
	long, err := w.upload(ctx, w.client, pdftest.ManyPages(w.cfg.pages).PDF, bus.Interactive)
	if err != nil {
		return err
	}
	stop := w.follow(ctx, long.ID)
	defer stop()
	if err := retry(ctx, func() error {
		j, err := w.client.FetchJob(ctx, long.ID)
		if err == nil && j.PagesDone == 0 {
			err = errors.New("no page of the long document is done")
		}
		return err
	}); err != nil {
		return err
	}
	if r.deep.own, err = w.waits(ctx, w.client, tries); err != nil {
		return err
	}
	if r.deep.other, err = w.waits(ctx, w.other, tries); err != nil {
		return err
	}
	if err := w.rollNATS(ctx); err != nil {
		return err
	}
	if r.rolledServices, err = w.restartServices(ctx, chaos.Services); err != nil {
		return err
	}
	j, err := w.client.AwaitJobEnd(ctx, long.ID)
	if err != nil {
		return err
	}
	r.long = j
	ended, err := w.watcher.look(ctx)
	if err != nil {
		return err
	}
	return w.watcher.until(ctx, min(ended+w.cfg.window, w.seeded+len(w.uploads)), nil)
}

// rollNATS restarts one NATS server after the other, each when the one before has caught up.
func (w *world) rollNATS(ctx context.Context) error {
	for i, p := range w.nats {
		start := time.Now()
		// The server hands over what it leads before it ends.
		if err := syscall.Kill(p.PID(), syscall.SIGUSR2); err != nil {
			return err
		}
		select {
		case <-p.Done():
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(3 * stopPatience):
			return fmt.Errorf("nats server %d does not end", i)
		}
		if err := p.Start(); err != nil {
			return err
		}
		if err := awaitHTTP(ctx, "http://"+w.monitors[i]+"/healthz"); err != nil {
			return err
		}
		w.report.rolled = append(w.report.rolled, time.Since(start))
	}
	return nil
}

// account stops the services behind the gateway and looks whether every job has succeeded, or has a task in a queue.
func (w *world) account(ctx context.Context) error {
	if w.cfg.finish {
		stop := w.follow(ctx, "")
		err := w.watcher.until(ctx, w.seeded+len(w.uploads), nil)
		stop()
		if err != nil {
			return err
		}
	}
	if err := w.hold(held...); err != nil {
		return err
	}
	waiting := make(map[string]bool)
	for _, s := range bus.AllStages() {
		stream, err := w.bus.JetStream().Stream(ctx, s.StreamName())
		if err != nil {
			return err
		}
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter("ink."+string(s)+".>"))
		if err != nil {
			return err
		}
		for subject := range info.State.Subjects { // the last part is the job
			waiting[subject[strings.LastIndexByte(subject, '.')+1:]] = true
		}
	}
	all := newWatcher(w)
	if _, err := all.look(ctx); err != nil {
		return err
	}
	r := w.report
	for id, state := range all.states {
		r.states[string(state)]++
		if !final(state) {
			r.waiting++
			if !waiting[id] {
				r.without++
			}
		}
	}
	r.submitted = w.seeded + len(w.uploads)
	letters, _, err := w.bus.ListDeadLetters(ctx, job.DefaultTenant, 0, 1000)
	if err != nil {
		return err
	}
	r.letters = len(letters)
	done := 0
	for _, n := range r.long.Outcomes {
		done += n
	}
	r.lost = r.states[string(job.Succeeded)]+r.waiting != r.submitted || r.without > 0 || r.letters > 0 ||
		r.long.State != string(job.Succeeded) || done != w.cfg.pages
	return nil
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
