// Package stage runs the five steps that every service's handler is made of, in one place:
//
//  1. read the job's state, and stop if the job has ended or the unit is done,
//  2. do the work, writing under deterministic keys,
//  3. commit by compare-and-set,
//  4. publish what follows, under deterministic message ids,
//  5. acknowledge (pkg/bus does that when the handler returns nil).
//
// A crash between any two of them replays to the same result: a unit that is done skips to step 4, because the crash
// may have come before it.
package stage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fairshare"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/telemetry"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// Deps is what every service works with.
type Deps struct {
	Bus   *bus.Bus
	Jobs  *job.Store
	Blobs *blob.Store
	Tel   *telemetry.Telemetry
	Log   *slog.Logger
	// DocumentTimeout bounds a run of a job from its first stage on; 0 means no bound.
	DocumentTimeout time.Duration
	// StallTimeout bounds how long a unit of work may be in hand while nothing of its job moves; 0 means no bound. See
	// Heartbeat.
	StallTimeout time.Duration
	// SlowPageTime bounds the time that a run's pages may take in all that hang until their limit; 0 for 10 minutes. See
	// ChargeSlowPage.
	SlowPageTime time.Duration
	// Sealer opens documents' passwords; nil where the process has no key.
	Sealer *job.Sealer
}

// JobService returns what starts, ends and removes jobs, with the dependencies of d.
func (d Deps) JobService() jobs.Service {
	return jobs.New(d.Bus, d.Jobs, d.Blobs, d.Tel.Metrics, d.Log)
}

// Snapshot is a job's state as step 1 read it.
type Snapshot struct {
	Job *job.Record
	// Progress is nil until scan has cut the document into chunks.
	Progress *job.Progress
	// Lane is the lane that the task came by; what follows takes the same.
	Lane bus.Lane
	// Started is when the handler took up the task.
	Started time.Time
	// Slow says that the task took longer than its first try, and may take all of its time now.
	Slow bool
}

// FollowUp is what follows a unit of work.
type FollowUp struct {
	Messages []bus.Message
	Events   []*busv1.Event
}

// Steps is a stage's own part of the five steps. R is what a unit's work yields that PlanFollowUp needs; it is read
// back from where ProcessUnit stored it when a crash came between the two.
type Steps[T bus.Task, R any] interface {
	// NewTask returns an empty task to decode into.
	NewTask() T
	// UnitName names the task within its job's run, as in its message id.
	UnitName(t T) string
	// LoadResult reports whether the unit's result is committed, and returns it.
	LoadResult(ctx context.Context, s *Snapshot, t T) (R, bool, error)
	// ProcessUnit does and commits the unit: steps 2 and 3. It updates s to what it committed.
	ProcessUnit(ctx context.Context, s *Snapshot, t T) (R, error)
	// PlanFollowUp says what follows a unit that is done. It derives everything from the state, the task and the result,
	// so that a replay publishes the same.
	PlanFollowUp(ctx context.Context, s *Snapshot, t T, r R) (FollowUp, error)
}

// Finisher is what Steps may also have: the part of a stage that goes on when a job has ended.
type Finisher[T bus.Task] interface {
	// OnEnded is called instead of everything else with a task of a job that has ended. It must be idempotent, and
	// finish what a crash may have cut that came after the job's end: the broker may have forgotten that the task was in
	// hand before.
	OnEnded(ctx context.Context, s *Snapshot, t T) (FollowUp, error)
}

// Run consumes a stage's tasks until ctx is done.
func Run[T bus.Task, R any](
	ctx context.Context, env Deps, name bus.Stage, cfg bus.ConsumerConfig, steps Steps[T, R], ready func(),
) error {
	return RunHandler(ctx, env, name, cfg, NewHandler(env, name, steps), ready)
}

// NewHandler returns what runs the five steps on a stage's tasks of one kind.
func NewHandler[T bus.Task, R any](env Deps, name bus.Stage, steps Steps[T, R]) bus.Handler {
	return &handler[T, R]{deps: env, stage: name, steps: steps}
}

// RunHandler is Run for a stage whose tasks are of several kinds; see Kinds.
func RunHandler(ctx context.Context, env Deps, name bus.Stage, cfg bus.ConsumerConfig, h bus.Handler,
	ready func()) error {
	cfg.UrgentWorkers, cfg.ReservedWorkers = fairshare.UrgentPlaces, fairshare.ReservedPlaces
	return env.Bus.NewConsumer(name, cfg, h).Run(ctx, ready)
}

// Kinds hands each task of a stage to the handler of its kind.
type Kinds struct {
	// ForTask returns the handler of a task, which is empty but for its kind.
	ForTask func(task bus.Task) bus.Handler
	// Undecoded is the handler of what cannot be decoded; it reports that.
	Undecoded bus.Handler
}

func (k Kinds) pickHandler(d *bus.Delivery) bus.Handler {
	t, err := jobs.NewTask(d.Stage, d.Schema(), d.Payload())
	if err != nil {
		return k.Undecoded
	}
	return k.ForTask(t)
}

// HandleTask implements bus.Handler.
func (k Kinds) HandleTask(ctx context.Context, d *bus.Delivery) error {
	return k.pickHandler(d).HandleTask(ctx, d)
}

// CountFailure implements bus.Handler.
func (k Kinds) CountFailure(ctx context.Context, d *bus.Delivery, err error) (int, error) {
	return k.pickHandler(d).CountFailure(ctx, d, err)
}

// RecordGiveUp implements bus.Handler.
func (k Kinds) RecordGiveUp(ctx context.Context, d *bus.Delivery, err error) error {
	return k.pickHandler(d).RecordGiveUp(ctx, d, err)
}

type handler[T bus.Task, R any] struct {
	deps  Deps
	stage bus.Stage
	steps Steps[T, R]

	mu sync.Mutex // guards looks
	// looks counts how often this process has looked for the state of jobs that was not there, by their tasks' ids.
	looks map[string]int
}

// missingPatience is how long a task waits for its job's state, which a lagging replica may not have yet. After that
// the job was deleted, or the broker has lost what it was told of the job. A task that was long in the queue waits
// for some looks nonetheless. How often it was delivered says nothing about these: it may have waited for a slot.
const (
	missingPatience = 30 * time.Second
	missingLooks    = 3
	// maxCountedLooks bounds how many tasks' looks are remembered; beyond it all are forgotten, and are taken again.
	maxCountedLooks = 1000
)

// countLook counts a look for a task's job in vain, and returns how many there have been.
func (h *handler[T, R]) countLook(task string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.looks == nil || len(h.looks) >= maxCountedLooks {
		h.looks = make(map[string]int)
	}
	h.looks[task]++
	return h.looks[task]
}

// forgetLooks forgets those that were taken for a task.
func (h *handler[T, R]) forgetLooks(task string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.looks, task)
}

// HandleTask runs the five steps on one task.
func (h *handler[T, R]) HandleTask(ctx context.Context, d *bus.Delivery) error {
	t := h.steps.NewTask()
	if err := d.DecodeTask(t); err != nil {
		return err
	}
	ctx = h.withClass(ctx, d)
	unit := t.GetUnit()
	snap := &Snapshot{Lane: d.Lane, Started: time.Now(), Slow: d.Slow}
	log := h.deps.Log.With("job", unit.GetJob(), "unit", h.steps.UnitName(t))

	stop, err := h.loadSnapshot(ctx, snap, unit, d)
	if err != nil {
		return err
	}
	if stop {
		return h.handleEnded(ctx, snap, t)
	}
	work, release := h.watchCancellation(ctx, snap.Job)
	defer release()
	result, err := h.processOnce(work, snap, t, log)
	if fault.CodeOf(err) == fault.OpenTimeout && !snap.Slow {
		err = bus.ErrTakesLong
	}
	if err == nil {
		if err := failpoint.Hit(string(h.stage), "commit"); err != nil {
			return err
		}
	}
	// The call that ended the job publishes its events.
	if errors.Is(context.Cause(work), errEndedExternally) || err == nil && snap.Job.State == job.Cancelled {
		log.InfoContext(ctx, "work stopped, because the job was ended", "took", time.Since(snap.Started))
		return h.onCancelled(ctx, snap.Job)
	}
	if h.deletedMeanwhile(ctx, snap.Job, err) {
		log.InfoContext(ctx, "work was of no use, because the job was deleted", "took", time.Since(snap.Started))
		return h.onCancelled(ctx, snap.Job)
	}
	if err != nil {
		if late, ok := errors.AsType[*fault.Error](context.Cause(work)); ok {
			err = late // what the work says of it is only that it was stopped
		}
		var stop bool
		if snap, result, stop, err = h.recheckDone(ctx, snap, t, d, err); stop {
			return h.handleEnded(ctx, snap, t)
		}
		if err != nil {
			return err
		}
		log.InfoContext(ctx, "unit failed here, but is done by now", "took", time.Since(snap.Started))
	}
	if err := h.publishFollowUp(ctx, snap, t, result); err != nil {
		return err
	}
	log.DebugContext(ctx, "unit done", "took", time.Since(snap.Started))
	return nil
}

// withClass returns the context of a task: whom it is for, and how the engines serve it. The index stage has no first
// tries, because it leaves out an artifact whose time has run out instead of making it later.
func (h *handler[T, R]) withClass(ctx context.Context, d *bus.Delivery) context.Context {
	ctx = sandbox.WithTenant(ctx, d.Tenant)
	if d.Slow {
		return sandbox.WithSlowWork(ctx)
	}
	if d.Lane == bus.Interactive {
		ctx = sandbox.WithPriority(ctx)
	}
	if h.stage == bus.Index {
		return ctx
	}
	return sandbox.WithFirstTry(ctx)
}

// publishFollowUp is step 4.
func (h *handler[T, R]) publishFollowUp(ctx context.Context, snap *Snapshot, t T, result R) error {
	next, err := h.steps.PlanFollowUp(ctx, snap, t, result)
	if err != nil {
		return fmt.Errorf("what follows: %w", err)
	}
	if err := failpoint.Hit(string(h.stage), "next"); err != nil {
		return err
	}
	repeat, err := h.deps.Bus.PublishNext(ctx, next.Messages, next.Events)
	if err != nil {
		return fmt.Errorf("publish what follows: %w", err)
	}
	if err := failpoint.Hit(string(h.stage), "publish"); err != nil || !repeat {
		return err
	}
	return h.superseded(ctx, snap.Job)
}

// recheckDone looks, when a unit has failed, whether another handler has done it since, or whether its job was ended:
// the broker may have taken this handler for gone. Then the failure does not count, and must not end a job that goes
// on. It returns the failure unless the unit is done.
func (h *handler[T, R]) recheckDone(
	ctx context.Context, was *Snapshot, t T, d *bus.Delivery, failure error,
) (snap *Snapshot, result R, stop bool, err error) {
	if fault.KindOf(failure) == fault.Busy || ctx.Err() != nil { // it comes back
		return was, result, false, failure
	}
	snap = &Snapshot{Lane: was.Lane, Started: was.Started, Slow: was.Slow}
	stop, err = h.loadSnapshot(ctx, snap, t.GetUnit(), d)
	if stop && err == nil {
		return snap, result, true, nil
	}
	done := false
	if err == nil {
		result, done, err = h.steps.LoadResult(ctx, snap, t)
	}
	if err != nil || !done {
		return was, result, false, failure
	}
	return snap, result, false, nil
}

// superseded cleans up after a handler whose unit another handler did as well, because the broker took this one for
// gone: the job may have ended since, and no other process would remove what was written after that.
func (h *handler[T, R]) superseded(ctx context.Context, rec *job.Record) error {
	now, err := h.deps.Jobs.LoadRecord(ctx, rec.Tenant, rec.ID)
	if errors.Is(err, job.ErrNotFound) {
		return nil
	}
	if err != nil || now.Run == rec.Run && !now.State.HasEnded() {
		return err
	}
	return h.deps.JobService().RemoveTempBlobs(ctx, rec, rec.Run)
}

// processOnce is steps 2 and 3, unless they are done.
func (h *handler[T, R]) processOnce(ctx context.Context, snap *Snapshot, t T, log *slog.Logger) (R, error) {
	result, done, err := h.steps.LoadResult(ctx, snap, t)
	if err != nil {
		return result, fmt.Errorf("read state: %w", err)
	}
	if done {
		return result, nil
	}
	if err := h.checkDeadline(ctx, snap); err != nil {
		return result, err
	}
	log.DebugContext(ctx, "unit taken up")
	if err := failpoint.Hit(string(h.stage), "read"); err != nil {
		return result, err
	}
	return h.steps.ProcessUnit(ctx, snap, t)
}

// loadSnapshot is step 1. It reports whether there is nothing left to do: the job is gone, has ended, or was
// restarted under another run number.
func (h *handler[T, R]) loadSnapshot(ctx context.Context, snap *Snapshot, unit *busv1.Unit,
	d *bus.Delivery) (stop bool, err error) {
	id := job.ID(unit.GetJob())
	snap.Job, err = h.deps.Jobs.LoadRecord(ctx, unit.GetTenant(), id)
	if errors.Is(err, job.ErrNotFound) {
		return h.awaitJobState(ctx, snap, d, err)
	}
	if err != nil {
		return false, err
	}
	if snap.Slow {
		snap.Lane = bus.Lane(snap.Job.Lane()) // what follows goes on where the job belongs
	}
	run := int(unit.GetRun())
	if snap.Job.Run < run {
		return h.awaitJobState(ctx, snap, d, fmt.Errorf("job %s: the record read is older than run %d", id, run))
	}
	if snap.Job.Run > run || snap.Job.State.HasEnded() {
		return true, h.deps.JobService().RemoveTempBlobs(ctx, snap.Job, run)
	}
	if snap.Job.ChunkPages == 0 && (h.stage == bus.Ingest || h.stage == bus.Scan) {
		return false, nil // scan makes it, or has not yet written down that it did
	}
	snap.Progress, err = h.deps.Jobs.LoadProgress(ctx, unit.GetTenant(), id)
	if errors.Is(err, job.ErrNotFound) {
		snap.Progress, err = snap.Job.ImpliedProgress()
	}
	if err != nil {
		return false, err
	}
	if snap.Progress != nil && snap.Progress.Run < run {
		snap.Progress = nil // of the run before: scan has not yet taken it over, or a replica lags
	}
	// The end of a run that takes over another job's results needs none: that is before the document is ever opened, or
	// comes late, when it is not yet cut.
	uncut := h.stage == bus.Index && snap.Job.ChunkPages == 0
	if snap.Progress == nil && h.stage != bus.Ingest && h.stage != bus.Scan && !uncut {
		return h.awaitJobState(ctx, snap, d, fmt.Errorf("job %s: the progress of run %d is not there yet", id, run))
	}
	return false, nil
}

// awaitJobState has a task wait whose job's state is not there. When that takes too long the task goes, because the
// reconciler leaves a job alone as long as a task of it is queued: it queues what the job needs, going by the state
// that there is.
func (h *handler[T, R]) awaitJobState(ctx context.Context, snap *Snapshot, d *bus.Delivery,
	missing error) (stop bool, err error) {
	if looks := h.countLook(d.ID); time.Since(d.Queued) < missingPatience || looks < missingLooks {
		return false, fault.Wrap(fault.Busy, fault.Unavailable, missing)
	}
	h.deps.Log.WarnContext(ctx, "task dropped, because its job's state is not there", "job", d.Job, "error", missing)
	h.forgetLooks(d.ID)
	snap.Job = nil
	return true, nil
}

// handleEnded is what remains to be done about a task of a job that has ended.
func (h *handler[T, R]) handleEnded(ctx context.Context, snap *Snapshot, t T) error {
	if snap.Job == nil || snap.Job.Run != int(t.GetUnit().GetRun()) {
		return nil
	}
	if c, ok := h.steps.(Finisher[T]); ok {
		out, err := c.OnEnded(ctx, snap, t)
		if err != nil {
			return err
		}
		if err := h.deps.Bus.PublishAll(ctx, out.Messages, out.Events); err != nil {
			return fmt.Errorf("publish what follows: %w", err)
		}
	}
	if snap.Job.State.IsGone() {
		return nil
	}
	// A crash that brought the task back may have come between the job's end and what follows it.
	if err := h.deps.JobService().OnJobEnd(ctx, snap.Job); err != nil {
		return err
	}
	return h.deps.JobService().PublishEnd(ctx, snap.Job)
}

// CountFailure counts a failure in the job's record.
func (h *handler[T, R]) CountFailure(ctx context.Context, d *bus.Delivery, _ error) (int, error) {
	t := h.steps.NewTask()
	if err := d.DecodeTask(t); err != nil {
		return 0, err
	}
	key := string(h.stage) + "." + h.steps.UnitName(t)
	n := 0
	_, err := h.deps.Jobs.UpdateRunRecord(ctx, runOfTask(d, t), func(r *job.Record) error {
		if r.Failures == nil {
			r.Failures = make(map[string]int)
		}
		r.Failures[key]++
		n = r.Failures[key]
		return nil
	})
	if errors.Is(err, job.ErrNotFound) || errors.Is(err, job.ErrSuperseded) {
		return 1, nil
	}
	return n, err
}

// runOfTask returns as much of a record as tells which run of which job a task is of.
func runOfTask[T bus.Task](d *bus.Delivery, t T) *job.Record {
	return &job.Record{Tenant: d.Tenant, ID: job.ID(d.Job), Run: int(t.GetUnit().GetRun())}
}

// RecordGiveUp ends the job: FAILED, with the error as its reason; unless it is gone, or was restarted and the task
// was of an earlier run.
func (h *handler[T, R]) RecordGiveUp(ctx context.Context, d *bus.Delivery, cause error) error {
	t := h.steps.NewTask()
	// A task that cannot be decoded names no run: it ends the one that there is.
	undecoded := d.DecodeTask(t) != nil
	rec, err := h.deps.Jobs.LoadRecord(ctx, d.Tenant, job.ID(d.Job))
	if err == nil && (rec.State.IsGone() || !undecoded && rec.Run != int(t.GetUnit().GetRun())) {
		return nil
	}
	if err == nil { // ahead of the job's end, so that what follows the end comes later in the audit trail
		err = h.deps.Bus.PublishEvent(ctx, jobs.DeadLetterEvent(rec, d.Stage, d.ID, fault.KindOf(cause).String(),
			fault.CodeOf(cause)))
	}
	if err == nil {
		rec, err = h.deps.JobService().EndJob(ctx, rec, job.Failed, job.NewFault(string(h.stage), cause), time.Time{})
	}
	if errors.Is(err, job.ErrNotFound) || errors.Is(err, job.ErrSuperseded) {
		return nil
	}
	if err != nil || rec.State.IsGone() {
		return err
	}
	return h.deps.JobService().PublishEnd(ctx, rec) // of an end that may be long ago
}
