// Package reconcile closes what crashes leave open. Every step of the pipeline is safe to repeat; the reconciler
// repeats a step when no other process is left to do it: when a message was lost, when an upload died between its blobs
// and its record, when a task kills its handlers. It also ends what is over: jobs past their retention, and the
// leftovers of uploads that never became jobs.
//
// Any number of processes may reconcile at once. All that is done is idempotent, and decided by what is stored.
package reconcile

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/stage"
)

// Config says when something counts as left behind.
type Config struct {
	// Interval is the time between two passes.
	Interval time.Duration
	// Patience is how long a job may be without progress, and without a queued task, before its tasks are published again.
	Patience time.Duration
	// UploadGrace is how old a manifest without a record must be; a living upload is done with its record long before.
	UploadGrace time.Duration
	// OrphanAge is how old blobs must be that belong to no job and have no manifest.
	OrphanAge time.Duration
	// Retention is how long a job is kept of which nothing but the document is left; with 0 it never expires. It is the
	// gateway's.
	Retention time.Duration
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{Interval: time.Minute, Patience: 2 * time.Minute, UploadGrace: time.Minute, OrphanAge: time.Hour}
}

// Register adds the reconciler's flags. How old leftovers must be is not for turning: it follows from how long an
// upload may take.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.DurationVar(&c.Interval, "reconcile.interval", c.Interval, "time between two passes over the jobs")
	fs.DurationVar(&c.Patience, "reconcile.patience", c.Patience,
		"how long a job may stand still before its tasks are queued again")
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var p config.Problems
	p.CheckFlag(c.Interval > 0, "reconcile.interval", "%s, want more than 0", c.Interval)
	p.CheckFlag(c.Patience > 0, "reconcile.patience", "%s, want more than 0", c.Patience)
	p.CheckFlag(c.UploadGrace >= 0 && c.OrphanAge >= 0, "reconcile", "an age below 0")
	return p.Err()
}

// Report counts what a pass did.
type Report struct {
	// Open is the number of jobs that have not ended.
	Open int
	// Republished counts jobs whose tasks were published again.
	Republished int
	// Recreated counts jobs made from a manifest, Discarded folders of uploads that came to nothing, Swept pieces of
	// writers that were killed.
	Recreated, Discarded, Swept int
	// Tidied counts ended jobs whose temporary blobs were looked after, Removed those whose retention was over or whose
	// removal had been cut, Forgotten tombstones that were old enough.
	Tidied, Removed, Forgotten int
	// Orphans counts the tasks that the broker had forgotten and the pass queued again.
	Orphans int
}

// Reconciler makes passes over the jobs and the blobs.
type Reconciler struct {
	cfg     Config
	deps    stage.Deps
	index   jobs.Remover
	log     *slog.Logger
	janitor *bus.Janitor
	// now is the clock; tests put it forward.
	now func() time.Time

	mu    sync.Mutex // guards all below; a pass holds it
	clock clockWatch
	// revision is up to where the records have been seen, and lastFullScan when they were last read from the beginning.
	revision     uint64
	lastFullScan time.Time
	// unfinishedJobs holds the jobs that have not ended, expiries when something is due about one that has.
	unfinishedJobs map[bus.JobRef]*jobActivity
	expiries       expiryQueue
	// uploads is what is known of the blob store.
	uploads uploadScan
	// restoredAt is when the records were last found to be those of an older copy, by any process; zero for never.
	restoredAt time.Time
	// markedRevision is the revision up to which records were seen when the mark was last set.
	markedRevision uint64

	// tenants is how many jobs of each tenant were open at the last pass.
	tenants atomic.Pointer[map[string]int]
}

// New returns a Reconciler that is not yet running. A process without the search index passes nil for it: then the
// index service is asked to remove what is over.
func New(cfg Config, env stage.Deps, index jobs.Remover) (*Reconciler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Reconciler{cfg: cfg, deps: env, index: index, log: env.Log.With("service", "reconcile"), now: time.Now}
	r.clock = clockWatch{broker: env.Jobs.BrokerTime, uptime: uptime}
	r.janitor = env.Bus.NewJanitor(r.endOrphanedJob)
	r.resetRecordState()
	return r, nil
}

// resetRecordState empties the memory of records, so that the next scan reads all of them.
func (r *Reconciler) resetRecordState() {
	r.revision, r.lastFullScan = 0, time.Time{}
	r.unfinishedJobs, r.expiries = make(map[bus.JobRef]*jobActivity), nil
}

// Run makes a pass at once, one when the jobs that were stored just before the start are due, and then one each interval,
// until ctx is done. It calls ready at once: nothing waits for the first pass.
func (r *Reconciler) Run(ctx context.Context, ready func()) error {
	stop, err := r.deps.Tel.Metrics.ObserveOpenJobs(r.openJobs)
	if err != nil {
		return err
	}
	defer func() { _ = stop() }() // it fails for none that was made
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { r.janitor.Run(ctx) })
	ready()
	for interval := min(startPatience, r.cfg.Interval); ; interval = r.cfg.Interval {
		start := time.Now()
		report, err := r.RunPass(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			// What could not be done now is found again by the next pass.
			r.log.WarnContext(ctx, "pass was not complete", "error", err, "took", time.Since(start))
		case report != Report{Open: report.Open}:
			r.log.InfoContext(ctx, "pass", "report", report, "took", time.Since(start))
		}
		// Several processes that were started together should not pass together.
		wait := time.NewTimer(interval + rand.N(interval/10+1))
		select {
		case <-ctx.Done():
			wait.Stop()
		case <-wait.C:
		}
	}
}

// RunPass looks once for everything that was left behind, and does what is to be done about it. One thing that cannot
// be done does not keep it from the others; the error joins them.
func (r *Reconciler) RunPass(ctx context.Context) (Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var report Report
	var errs []error
	if err := r.readChanges(ctx); err != nil {
		// Without the records nothing can be told; half of them would make jobs look lost that are not.
		return report, err
	}
	report.Open = len(r.unfinishedJobs)
	r.countTenants()
	parts := []func(context.Context, *Report) error{r.requeueStalledJobs, r.processExpiries, r.sweepUploads,
		r.sweepOrphans}
	if err := r.clock.check(ctx, r.now()); err != nil {
		errs = append(errs, err)
		parts = []func(context.Context, *Report) error{r.requeueStalledJobs, r.sweepOrphans} // they remove nothing
	}
	for _, part := range parts {
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		errs = append(errs, part(ctx, &report))
	}
	return report, errors.Join(errs...)
}

// countTenants keeps how many jobs of each tenant are open, for the metrics.
func (r *Reconciler) countTenants() {
	counts := make(map[string]int)
	for ref := range r.unfinishedJobs {
		counts[ref.Tenant]++
	}
	r.tenants.Store(&counts)
}

// openJobs returns what the last pass has counted.
func (r *Reconciler) openJobs() map[string]int {
	if counts := r.tenants.Load(); counts != nil {
		return *counts
	}
	return nil
}

// sweepOrphans queues the tasks again that the broker has forgotten.
func (r *Reconciler) sweepOrphans(ctx context.Context, report *Report) (err error) {
	report.Orphans, err = r.janitor.SweepForgotten(ctx)
	return err
}

// endOrphanedJob ends the job of a task that killed its handlers: FAILED, for the task's part of the document is
// never going to be done.
func (r *Reconciler) endOrphanedJob(ctx context.Context, o bus.Orphan) error {
	id := job.ID(o.Job)
	rec, err := r.deps.Jobs.LoadRecord(ctx, o.Tenant, id)
	if errors.Is(err, job.ErrNotFound) || err == nil && rec.Run != o.Run {
		return nil // of a job that is gone, or of another run
	}
	if err != nil {
		return err
	}
	f := &job.Fault{Code: fault.RetriesSpent, Stage: string(o.Stage),
		Message: "the document's handlers crashed again and again"}
	rec, err = r.deps.JobService().EndJob(ctx, rec, job.Failed, f, time.Time{})
	if errors.Is(err, job.ErrNotFound) || errors.Is(err, job.ErrSuperseded) {
		return nil
	}
	if err != nil {
		return err
	}
	if rec.State != job.Failed || rec.Error == nil || rec.Error.Code != fault.RetriesSpent {
		return nil // it had ended otherwise
	}
	letter := jobs.DeadLetterEvent(rec, o.Stage, o.ID, "crash_loop", bus.CrashLoop)
	if err := r.deps.Bus.PublishEvent(ctx, letter); err != nil {
		return err
	}
	return r.deps.JobService().PublishEnd(ctx, rec)
}

// wrapJobError says which job an error is about.
func wrapJobError(ref bus.JobRef, doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s job %s: %w", doing, ref.Job, err)
}
