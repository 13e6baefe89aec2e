package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/services/standalone/chaos"
)

const (
	// tries is how often lists, searches and waits are measured.
	tries = 9
	// filling and working are the phases in which memory is noted.
	filling, working = "jobs queued", "pages done"
)

// answers returns how long a list and a search take.
func (tb *testbed) answers(ctx context.Context) (list, search []time.Duration, err error) {
	for range tries {
		for path, to := range map[string]*[]time.Duration{"/v1/jobs?pageSize=50": &list,
			"/v1/search?q=the+report": &search} {
			start := time.Now()
			if _, err := tb.client.FetchPath(ctx, path); err != nil {
				return nil, nil, err
			}
			*to = append(*to, time.Since(start))
		}
	}
	return list, search, nil
}

// measureEmpty measures with an empty queue what is measured with a deep one later.
func (tb *testbed) measureEmpty(ctx context.Context) (err error) {
	r := tb.report
	if r.empty.own, err = tb.waits(ctx, tb.client, tries); err != nil {
		return err
	}
	if r.empty.other, err = tb.waits(ctx, tb.other, tries); err != nil {
		return err
	}
	if r.empty.starts, err = tb.restartServices(ctx, chaos.Services); err != nil {
		return err
	}
	if err := tb.hold(held...); err != nil {
		return err
	}
	// Some are done before the measurement begins: twice as many as it takes.
	if err := tb.seed(ctx, 2*tb.cfg.window); err != nil {
		return err
	}
	if err := tb.release(ctx, "index"); err != nil {
		return err
	}
	if _, err := tb.awaitProjection(ctx); err != nil {
		return err
	}
	if err := tb.release(ctx, held...); err != nil {
		return err
	}
	if err := tb.measureWork(ctx, &r.empty, "of a short queue"); err != nil {
		return err
	}
	return tb.watcher.until(ctx, tb.seeded+len(tb.uploads), nil)
}

// measureWork measures how many jobs end in a second and, at the same time, how long lists and searches take: both with
// an empty queue and with a deep one the services are busy. What a job costs is named after when.
func (tb *testbed) measureWork(ctx context.Context, s *state, when string) error {
	// What reads all records does so once when it starts, the watcher among them; that is no part of a job's cost.
	if _, err := tb.watcher.look(ctx); err != nil {
		return err
	}
	pause(ctx, settle)
	before, err := tb.count(ctx)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		s.rate, err = tb.watcher.rate(gctx, tb.cfg.window)
		return err
	})
	g.Go(func() (err error) {
		s.list, s.search, err = tb.answers(gctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	after, err := tb.count(ctx)
	if err != nil {
		return err
	}
	tb.report.costs = append(tb.report.costs, named{"a job " + when, after.since(before, tb.cfg.window,
		tb.report.costs[0].cost)})
	return nil
}

// awaitProjection waits until the index knows the records and events of now, and returns how long that took. Those of
// a whole queue that was filled at once come to it when the index service starts; that is no part of the throughput.
func (tb *testbed) awaitProjection(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	stream, err := tb.bus.JetStream().Stream(ctx, bus.EventStream)
	if err != nil {
		return 0, err
	}
	want := stream.CachedInfo().State.LastSeq
	err = retry(ctx, func() error {
		last, err := tb.index.LastEvent(ctx)
		if err == nil && last.Sequence < want {
			err = fmt.Errorf("the index knows %d of %d events", last.Sequence, want)
		}
		return err
	})
	return time.Since(start), err
}

// fill stops the services behind the gateway and queues the jobs. This takes minutes and is not measured; NATS does
// not wait for the disk during it.
func (tb *testbed) fill(ctx context.Context) error {
	if err := tb.hold(held...); err != nil {
		return err
	}
	if _, err := tb.restartNATS(ctx, "2m"); err != nil { // the default of NATS
		return err
	}
	start := time.Now()
	for done := 0; done < tb.cfg.jobs; {
		n := min(tb.cfg.jobs-done, max(tb.cfg.jobs/50, 100))
		tb.sampler.set(filling, done)
		if err := tb.seed(ctx, n); err != nil {
			return err
		}
		done += n
	}
	tb.sampler.set("", 0)
	tb.report.filled = time.Since(start)
	var err error
	tb.report.natsStart, err = tb.restartNATS(ctx, "always")
	return err
}

// restartNATS stops all servers and starts them again.
func (tb *testbed) restartNATS(ctx context.Context, sync string) (time.Duration, error) {
	if err := tb.nats.Stop(stopPatience); err != nil {
		return 0, err
	}
	took, err := tb.startNATS(ctx, sync)
	if err != nil {
		return 0, err
	}
	return took, awaitOK(ctx, "http://"+tb.ops["gateway"]+"/readyz")
}

// measureDeep measures with the queue full.
func (tb *testbed) measureDeep(ctx context.Context) (err error) {
	r := tb.report
	if err := retry(ctx, func() (err error) { r.depth, err = tb.queued(ctx); return err }); err != nil {
		return err
	}
	if r.deep.starts, err = tb.restartServices(ctx, []string{"gateway"}); err != nil {
		return err
	}
	for _, name := range held {
		if r.deep.starts[name], err = tb.startService(ctx, name); err != nil {
			return err
		}
		if name == "index" {
			if r.caughtUp, err = tb.awaitProjection(ctx); err != nil {
				return err
			}
		}
	}
	stop := tb.follow(ctx, "")
	defer stop()
	return tb.measureWork(ctx, &r.deep, "of the deep queue")
}

// follow tells the sampler how many pages are done, of jobs and of a document, until stop is called. It has a
// watcher of its own, because the caller reads that of tb at the same time.
func (tb *testbed) follow(ctx context.Context, document string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	own := newWatcher(tb)
	_, _ = own.look(ctx) // the first reads every record; its error is that of the next
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if n, err := own.look(ctx); err == nil {
				if document != "" {
					if j, err := tb.client.FetchJob(ctx, document); err == nil {
						n += j.PagesDone
					}
				}
				tb.sampler.set(working, n)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done; tb.sampler.set("", 0) }
}

// disturb sends the long document amid the queue, measures what a short one waits beside both, and restarts everything
// in turn.
func (tb *testbed) disturb(ctx context.Context) (err error) {
	r := tb.report
	long, err := tb.upload(ctx, tb.client, pdftest.ManyPages(tb.cfg.pages).PDF, bus.Interactive)
	if err != nil {
		return err
	}
	stop := tb.follow(ctx, long.ID)
	defer stop()
	if err := retry(ctx, func() error {
		j, err := tb.client.FetchJob(ctx, long.ID)
		if err == nil && j.PagesDone == 0 {
			err = errors.New("no page of the long document is done")
		}
		return err
	}); err != nil {
		return err
	}
	if r.deep.own, err = tb.waits(ctx, tb.client, tries); err != nil {
		return err
	}
	if r.deep.other, err = tb.waits(ctx, tb.other, tries); err != nil {
		return err
	}
	if err := tb.rollNATS(ctx); err != nil {
		return err
	}
	if r.rolledServices, err = tb.restartServices(ctx, chaos.Services); err != nil {
		return err
	}
	j, err := tb.client.AwaitJobEnd(ctx, long.ID)
	if err != nil {
		return err
	}
	r.long = j
	ended, err := tb.watcher.look(ctx)
	if err != nil {
		return err
	}
	return tb.watcher.until(ctx, min(ended+tb.cfg.window, tb.seeded+len(tb.uploads)), nil)
}

// rollNATS restarts one NATS server after the other, each when the one before has caught up.
func (tb *testbed) rollNATS(ctx context.Context) error {
	for i, p := range tb.nats.Servers {
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
		if err := tb.nats.AwaitHealthy(ctx, i); err != nil {
			return err
		}
		tb.report.rolled = append(tb.report.rolled, time.Since(start))
	}
	return nil
}

// account stops the services behind the gateway and looks whether every job has succeeded, or has a task in a queue.
func (tb *testbed) account(ctx context.Context) error {
	if tb.cfg.finish {
		stop := tb.follow(ctx, "")
		err := tb.watcher.until(ctx, tb.seeded+len(tb.uploads), nil)
		stop()
		if err != nil {
			return err
		}
	}
	if err := tb.hold(held...); err != nil {
		return err
	}
	waiting := make(map[string]bool)
	for _, s := range bus.AllStages() {
		stream, err := tb.bus.JetStream().Stream(ctx, s.StreamName())
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
	all := newWatcher(tb)
	if _, err := all.look(ctx); err != nil {
		return err
	}
	r := tb.report
	for id, state := range all.states {
		r.states[string(state)]++
		if !final(state) {
			r.waiting++
			if !waiting[id] {
				r.without++
			}
		}
	}
	r.submitted = tb.seeded + len(tb.uploads)
	letters, _, err := tb.bus.ListDeadLetters(ctx, job.DefaultTenant, 0, 1000)
	if err != nil {
		return err
	}
	r.letters = len(letters)
	done := 0
	for _, n := range r.long.Outcomes {
		done += n
	}
	r.lost = r.states[string(job.Succeeded)]+r.waiting != r.submitted || r.without > 0 || r.letters > 0 ||
		r.long.State != string(job.Succeeded) || done != tb.cfg.pages
	return nil
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
