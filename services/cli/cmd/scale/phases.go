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
	// workingEmpty is noted as well, so that the noting costs the same, but it is too short to tell a slope from.
	workingEmpty = "pages done with an empty queue"
)

// rehearsal takes work through a testbed, and reports what it costs.
type rehearsal struct {
	*testbed
	report  *report
	sampler *sampler
	watcher *watcher
	uploads []string // jobs that came by the API
	seeded  int
}

// start starts everything.
func (h *rehearsal) start(ctx context.Context) error {
	if err := h.open(ctx); err != nil {
		return err
	}
	h.watcher = newWatcher(h.testbed)
	h.sampler = newSampler(h.testbed)
	h.closers = append(h.closers, h.sampler.close)
	return nil
}

// answers returns how long a list and a search take.
func (h *rehearsal) answers(ctx context.Context) (list, search []time.Duration, err error) {
	for range tries {
		for path, to := range map[string]*[]time.Duration{"/v1/jobs?pageSize=50": &list,
			"/v1/search?q=the+report": &search} {
			start := time.Now()
			if _, err := h.client.FetchPath(ctx, path); err != nil {
				return nil, nil, err
			}
			*to = append(*to, time.Since(start))
		}
	}
	return list, search, nil
}

// measureEmpty measures with an empty queue what is measured with a deep one later.
func (h *rehearsal) measureEmpty(ctx context.Context) (err error) {
	r := h.report
	if r.empty.own, err = h.waits(ctx, h.client, tries); err != nil {
		return err
	}
	if r.empty.other, err = h.waits(ctx, h.other, tries); err != nil {
		return err
	}
	if r.empty.starts, err = h.restartServices(ctx, chaos.Services); err != nil {
		return err
	}
	return h.measureShort(ctx, &r.empty, "of a short queue")
}

// measureEmptyAgain throws the queue away and measures work with an empty queue once more, on servers that have done and
// hold what those of the deep queue had: what changes with time alone, as the parts that ClickHouse has to merge and the
// speed of the processors, is no cost of the depth. The services behind the gateway are stopped.
func (h *rehearsal) measureEmptyAgain(ctx context.Context) error {
	purged := map[string][]string{"KV_" + bus.JobBucket: {"$KV." + bus.JobBucket + ".job.>", "$KV." + bus.JobBucket + ".prog.>"}}
	for _, s := range bus.AllStages() {
		purged[s.StreamName()] = []string{"ink.>"}
	}
	for name, subjects := range purged {
		stream, err := h.bus.JetStream().Stream(ctx, name)
		if err != nil {
			return err
		}
		for _, subject := range subjects {
			if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
				return fmt.Errorf("purge %s of %s: %w", subject, name, err)
			}
		}
	}
	h.watcher, h.seeded, h.uploads = newWatcher(h.testbed), 0, nil
	return h.measureShort(ctx, &h.report.again, "of a short queue again")
}

// measureShort measures work with a queue that is only as long as the measurement takes.
func (h *rehearsal) measureShort(ctx context.Context, s *state, when string) error {
	if err := h.hold(held...); err != nil {
		return err
	}
	ended, err := h.watcher.look(ctx)
	if err != nil {
		return err
	}
	// Half as many as the measurement takes are done before it begins, and some are left after it.
	if err := h.seed(ctx, 2*h.cfg.window); err != nil {
		return err
	}
	if err := h.release(ctx, "index"); err != nil {
		return err
	}
	if _, err := h.awaitProjection(ctx); err != nil {
		return err
	}
	if err := h.release(ctx, held...); err != nil {
		return err
	}
	stop := h.follow(ctx, workingEmpty, "")
	defer stop()
	if err := h.measureWork(ctx, s, when); err != nil {
		return err
	}
	return h.watcher.awaitEnded(ctx, ended+2*h.cfg.window)
}

// measureWork measures how many jobs end in a second and, at the same time, how long lists and searches take: both with
// an empty queue and with a deep one the services are busy. What a job costs is named after when.
func (h *rehearsal) measureWork(ctx context.Context, s *state, when string) error {
	// What reads all records does so once when it starts, the watcher among them, and then each stage works ahead of the
	// next one until that has its queue full; neither is a part of a job's cost.
	ended, err := h.watcher.look(ctx)
	if err != nil {
		return err
	}
	if err := h.watcher.awaitEnded(ctx, ended+h.cfg.window/2); err != nil {
		return err
	}
	before, endedBefore, err := h.countWithEnded(ctx)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	busy, stop := context.WithCancel(gctx)
	defer stop()
	g.Go(func() (err error) {
		defer stop()
		s.rate, err = h.watcher.measureRate(gctx, h.cfg.window)
		return err
	})
	g.Go(func() (err error) {
		s.processor, err = measureProcessor(busy)
		return err
	})
	g.Go(func() (err error) {
		s.list, s.search, err = h.answers(gctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	after, endedAfter, err := h.countWithEnded(ctx)
	if err != nil {
		return err
	}
	h.report.costs = append(h.report.costs, named{"a job " + when, after.since(before, endedAfter-endedBefore,
		h.report.costs[0].cost)})
	return nil
}

// countWithEnded counts, and returns how many jobs had ended then: to count the blobs of a deep queue takes seconds.
func (h *rehearsal) countWithEnded(ctx context.Context) (counters, int, error) {
	c, err := h.count(ctx)
	if err != nil {
		return c, 0, err
	}
	ended, err := h.watcher.look(ctx)
	return c, ended, err
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
func (h *rehearsal) fill(ctx context.Context) error {
	if err := h.hold(held...); err != nil {
		return err
	}
	if _, err := h.restartNATS(ctx, "2m"); err != nil { // the default of NATS
		return err
	}
	start := time.Now()
	for done := 0; done < h.cfg.jobs; {
		n := min(h.cfg.jobs-done, max(h.cfg.jobs/50, 100))
		h.sampler.set(filling, done)
		if err := h.seed(ctx, n); err != nil {
			return err
		}
		done += n
	}
	h.sampler.set("", 0)
	h.report.filled = time.Since(start)
	var err error
	h.report.natsStart, err = h.restartNATS(ctx, "always")
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
	// Elections are over when every stream and consumer answers: what is measured next is not to wait for them.
	if err := retry(ctx, func() error { return tb.bus.CheckTopology(ctx) }); err != nil {
		return 0, err
	}
	return took, awaitOK(ctx, "http://"+tb.ops["gateway"]+"/readyz")
}

// measureDeep measures with the queue full.
func (h *rehearsal) measureDeep(ctx context.Context) (err error) {
	r := h.report
	if err := retry(ctx, func() (err error) { r.depth, err = h.queued(ctx); return err }); err != nil {
		return err
	}
	if r.deep.starts, err = h.restartServices(ctx, []string{"gateway"}); err != nil {
		return err
	}
	for _, name := range held {
		if r.deep.starts[name], err = h.startService(ctx, name); err != nil {
			return err
		}
		if name == "index" {
			if r.caughtUp, err = h.awaitProjection(ctx); err != nil {
				return err
			}
		}
	}
	stop := h.follow(ctx, working, "")
	defer stop()
	return h.measureWork(ctx, &r.deep, "of the deep queue")
}

// follow tells the sampler how many pages are done in a phase, of jobs and of a document, until stop is called. It has a
// watcher of its own, because the caller reads that of the rehearsal at the same time.
func (h *rehearsal) follow(ctx context.Context, phase, document string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	own := newWatcher(h.testbed)
	_, _ = own.look(ctx) // the first reads every record; its error is that of the next
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if n, err := own.look(ctx); err == nil {
				if document != "" {
					if j, err := h.client.FetchJob(ctx, document); err == nil {
						n += j.PagesDone
					}
				}
				h.sampler.set(phase, n)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done; own.scanner.Close(); h.sampler.set("", 0) }
}

// disturb sends the long document amid the queue, measures what a short one waits beside both, and restarts everything
// in turn.
func (h *rehearsal) disturb(ctx context.Context) (err error) {
	r := h.report
	long, err := h.upload(ctx, h.client, pdftest.ManyPages(h.cfg.pages).PDF, bus.Interactive)
	if err != nil {
		return err
	}
	stop := h.follow(ctx, working, long.ID)
	defer stop()
	if err := retry(ctx, func() error {
		j, err := h.client.FetchJob(ctx, long.ID)
		if err == nil && j.PagesDone == 0 {
			err = errors.New("no page of the long document is done")
		}
		return err
	}); err != nil {
		return err
	}
	if r.deep.own, err = h.waits(ctx, h.client, tries); err != nil {
		return err
	}
	if r.deep.other, err = h.waits(ctx, h.other, tries); err != nil {
		return err
	}
	if err := h.rollNATS(ctx); err != nil {
		return err
	}
	if r.rolledServices, err = h.restartServices(ctx, chaos.Services); err != nil {
		return err
	}
	j, err := h.client.AwaitJobEnd(ctx, long.ID)
	if err != nil {
		return err
	}
	r.long = j
	ended, err := h.watcher.look(ctx)
	if err != nil {
		return err
	}
	return h.watcher.awaitEnded(ctx, min(ended+h.cfg.window, h.seeded+len(h.uploads)))
}

// rollNATS restarts one NATS server after the other, each when the one before has caught up.
func (h *rehearsal) rollNATS(ctx context.Context) error {
	for i, p := range h.nats.Servers {
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
		if err := h.nats.AwaitHealthy(ctx, i); err != nil {
			return err
		}
		h.report.rolled = append(h.report.rolled, time.Since(start))
	}
	return nil
}

// account stops the services behind the gateway and looks whether every job has succeeded, or has a task in a queue.
func (h *rehearsal) account(ctx context.Context) error {
	if h.cfg.finish {
		stop := h.follow(ctx, working, "")
		err := h.watcher.awaitEnded(ctx, h.seeded+len(h.uploads))
		stop()
		if err != nil {
			return err
		}
	}
	if err := h.hold(held...); err != nil {
		return err
	}
	waiting := make(map[string]bool)
	for _, s := range bus.AllStages() {
		stream, err := h.bus.JetStream().Stream(ctx, s.StreamName())
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
	all := newWatcher(h.testbed)
	if _, err := all.look(ctx); err != nil {
		return err
	}
	r := h.report
	for id, state := range all.states {
		r.states[string(state)]++
		if !final(state) {
			r.waiting++
			if !waiting[id] {
				r.without++
			}
		}
	}
	r.submitted = h.seeded + len(h.uploads)
	letters, _, err := h.bus.ListDeadLetters(ctx, job.DefaultTenant, 0, 1000)
	if err != nil {
		return err
	}
	r.letters = len(letters)
	done := 0
	for _, n := range r.long.Outcomes {
		done += n
	}
	r.lost = r.states[string(job.Succeeded)]+r.waiting != r.submitted || r.without > 0 || r.letters > 0 ||
		r.long.State != string(job.Succeeded) || done != h.cfg.pages
	return nil
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
