package stage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/sandbox"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// cancellationPoll is how often a handler at work looks whether its job was ended from outside. Most tasks are done
// before the first look; an engine call that goes on for minutes is cut within this time. The handler polls, because
// a message can get lost while the connection is away, and then no handler would stop.
const cancellationPoll = time.Second

// errEndedExternally is why the context of a handler ended whose job was ended from outside.
var errEndedExternally = errors.New("the job was ended")

// watchCancellation returns a context that ends when the job is ended from outside or restarted, or when one of its
// clocks has run out, with that as its cause; release ends the watch.
func (h *handler[T, R]) watchCancellation(ctx context.Context, rec *job.Record) (_ context.Context, release func()) {
	p := &watchdog{startedAt: time.Now()}
	work, cancel := context.WithCancelCause(sandbox.WithStarvationHook(context.WithValue(ctx, watchdogKey{}, p),
		p.recordActivity))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(cancellationPoll)
		defer tick.Stop()
		for {
			select {
			case <-work.Done():
				return
			case <-tick.C:
			}
			// A look that fails is left to the next one.
			now, err := h.deps.Jobs.LoadRecord(work, rec.Tenant, rec.ID)
			if err == nil && (now.State.IsEndedExternally() || now.Run > rec.Run) {
				cancel(errEndedExternally)
				return
			}
			if err := h.stopCause(work, rec, p); err != nil {
				cancel(err)
				return
			}
		}
	}()
	return work, func() {
		cancel(nil)
		<-done
	}
}

// deletedMeanwhile reports whether a unit was worked on to no purpose, because its job was deleted during the work:
// what it wrote after that is still there. A unit that commits to the record, or to progress that the removal takes
// away first, has found out by itself; the others have to look.
func (h *handler[T, R]) deletedMeanwhile(ctx context.Context, rec *job.Record, err error) bool {
	if err == nil && h.stage != bus.Render && h.stage != bus.OCR {
		return rec.State.IsGone()
	}
	now, lookErr := h.deps.Jobs.ReloadRecord(ctx, rec)
	return lookErr == nil && now.State.IsGone() // a look that fails is left to the reconciler
}

// onCancelled cleans up after a handler that was stopped: it may have written after the call that ended the job
// removed what there was.
func (h *handler[T, R]) onCancelled(ctx context.Context, rec *job.Record) error {
	if err := h.deps.removeTempBlobs(ctx, rec, rec.Run); err != nil {
		return err
	}
	now, err := h.deps.Jobs.LoadRecord(ctx, rec.Tenant, rec.ID)
	if errors.Is(err, job.ErrNotFound) {
		return nil
	}
	if err != nil || !now.State.IsGone() {
		return err
	}
	return h.deps.Bus.Publish(ctx, RemoveMessage(now, int(time.Now().UnixNano())))
}

// removeTempBlobs removes what a run needed only while it went on.
func (e Deps) removeTempBlobs(ctx context.Context, rec *job.Record, run int) error {
	if err := e.Blobs.DeletePrefix(ctx, job.TempFolder(rec.Tenant, rec.ID, run)); err != nil {
		return fmt.Errorf("remove temporary blobs: %w", err)
	}
	return nil
}

// RemoveMessage returns the task that has everything removed which is kept of a job; replay sets it apart from an
// earlier one, 0 for the first.
func RemoveMessage(r *job.Record, replay int) bus.Message {
	lane := bus.Interactive // the removal of a document must not wait for a batch
	return bus.Message{
		Stage: bus.Index, Lane: lane, Unit: "remove", Replay: replay, Task: &busv1.IndexTask{Unit: JobUnit(r), Remove: true},
	}
}

// tempRemovalTimeout bounds how long a call that cancels a job waits for its temporary blobs to go.
const tempRemovalTimeout = 3 * time.Second

// tryRemoveTempBlobs is removeTempBlobs for who cannot wait for a store that is away: what it leaves, the reconciler
// removes.
func (e Deps) tryRemoveTempBlobs(ctx context.Context, rec *job.Record) {
	ctx, cancel := context.WithTimeout(ctx, tempRemovalTimeout)
	defer cancel()
	if err := e.removeTempBlobs(ctx, rec, rec.Run); err != nil {
		e.Log.WarnContext(ctx, "job cancelled, but not yet cleared away; the reconciler will do it", "job", rec.ID, "error",
			err)
	}
}

// ErrJobEnded means that a job has ended already, so that it cannot be cancelled.
var ErrJobEnded = errors.New("the job has ended")

// CancelJob ends a job at the user's wish: its queued tasks are dropped, those in hand stop within moments, and its
// temporary blobs go. A job that is CANCELLED already is cleaned up once more, and that is no error; one that ended
// otherwise is ErrJobEnded, with its record.
func (e Deps) CancelJob(ctx context.Context, tenant string, id job.ID) (*job.Record, error) {
	// What is queued after this moment stays: it may be of another run, which a client starts as soon as this one is
	// cancelled.
	before, err := e.Bus.CurrentPositions(ctx)
	if err != nil {
		return nil, err
	}
	cancelled := false
	rec, err := e.Jobs.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		cancelled = !r.State.HasEnded()
		if !cancelled {
			return job.ErrUnchanged
		}
		return r.Transition(job.Cancelled, time.Now())
	})
	if err != nil {
		return nil, err
	}
	if rec.State != job.Cancelled {
		return rec, ErrJobEnded
	}
	err = e.PublishEnd(ctx, rec) // first, since the job is cancelled whatever becomes of the rest
	if cancelled {
		e.Tel.Metrics.CountEndedJob(ctx, string(rec.State))
		e.Log.InfoContext(ctx, "job cancelled", "job", id, "run", rec.Run)
		// Not at a repeat, which might meet the tasks of another run; what a crash left in the queues is dropped when it is
		// delivered.
		err = errors.Join(err, e.Bus.PurgeTasksUntil(ctx, tenant, string(id), before))
	}
	err = errors.Join(err, e.OnJobEnd(ctx, rec))
	e.tryRemoveTempBlobs(ctx, rec)
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// PublishEnd adds to the audit trail that a job's run has ended, unless it is there. A caller that adds something to
// the audit trail of a job that has ended calls it first, for the process that ended the job may not have published
// that yet. PublishEnd reads the audit trail first, because the broker absorbs repeats for some minutes only, and
// webhooks are called for each; repeats within one moment are left to the broker.
func (e Deps) PublishEnd(ctx context.Context, rec *job.Record) error {
	if told, err := e.Bus.HasEndEvent(ctx, rec.Tenant, string(rec.ID), rec.Run); err == nil && told {
		return nil
	}
	events := []*busv1.Event{EndEvent(rec)}
	if rec.State == job.Cancelled {
		events = []*busv1.Event{NewEvent(rec, "cancelled", ""), EndEvent(rec)}
	}
	for _, event := range events { // one after the other, so that the audit trail has them in this order
		if err := e.Bus.PublishEvent(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// FirstEvent returns the event that a job's present run began with.
func FirstEvent(r *job.Record) *busv1.Event {
	if r.Run > 1 {
		return NewEvent(r, "retried", "", "all", strconv.FormatBool(r.ChunkPages == 0))
	}
	e := NewEvent(r, "uploaded", "", "bytes", strconv.FormatUint(uint64(r.Size), 10))
	e.Time = timestamppb.New(r.CreateTime)
	return e
}

// RepublishEvents publishes the event again that a process may have died before publishing, after it started or ended
// a job on a user's behalf: the broker does not repeat that, as it repeats a stage's task. What the audit trail has
// already is absorbed. The progress may be nil.
func (e Deps) RepublishEvents(ctx context.Context, r *job.Record, p *job.Progress) error {
	switch {
	case r.State == job.Cancelled:
		return e.PublishEnd(ctx, r)
	case r.State.HasEnded():
	case r.PageCount == 0, r.ChunkPages == 0, r.Run > 1 && (p == nil || p.Run < r.Run): // the run has not got far
		return e.Bus.PublishEvent(ctx, FirstEvent(r))
	}
	return nil
}

// RetryJob starts another run of a job that has ended; see job.Record.RestartRun. What is returned is the record of
// the new run, whose first task is queued, or will be by the reconciler where the broker does not take it now.
func (e Deps) RetryJob(ctx context.Context, tenant string, id job.ID, all bool) (*job.Record, error) {
	var before job.Record
	rec, err := e.Jobs.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		before = *r
		return r.RestartRun(all, time.Now())
	})
	if err != nil {
		return nil, err
	}
	e.Log.InfoContext(ctx, "job runs again", "job", id, "run", rec.Run, "all", all)
	if rec.CanDeduplicate() {
		// Jobs that come with the same bytes during this run wait for it. Where the claim fails they do the work themselves.
		if _, err := e.Jobs.ClaimContent(ctx, rec); err != nil {
			e.Log.WarnContext(ctx, "claim content", "job", id, "error", err)
		}
	}
	err = e.PublishEnd(ctx, &before)
	if err == nil { // ahead of the task, so that a crash leaves no run whose audit trail has no beginning
		err = e.Bus.PublishEvent(ctx, NewEvent(rec, "retried", "", "all", strconv.FormatBool(all)))
	}
	if err == nil {
		err = e.Bus.Publish(ctx, FirstMessage(rec, 0))
	}
	if err != nil {
		e.Log.WarnContext(ctx, "run accepted, but not queued yet; the reconciler will queue it", "job", id, "error", err)
	}
	return rec, nil
}

// ErrJobGone means that a job was deleted or has expired.
var ErrJobGone = errors.New("the job is gone")

// DeleteJob ends a job if it has not ended, and has everything removed that is kept of it. When it returns the record
// says DELETED; index removes the rest. A job that is gone already is ErrJobGone.
func (e Deps) DeleteJob(ctx context.Context, tenant string, id job.ID) (*job.Record, error) {
	var before job.Record
	rec, err := e.Jobs.UpdateRecord(ctx, tenant, id, func(r *job.Record) error {
		before = *r
		if !r.State.HasEnded() {
			if err := r.Transition(job.Cancelled, time.Now()); err != nil {
				return err
			}
		}
		if r.State.IsGone() {
			return ErrJobGone
		}
		return r.Transition(job.Deleted, time.Now())
	})
	if err != nil {
		return nil, err
	}
	if !before.State.HasEnded() {
		e.Tel.Metrics.CountEndedJob(ctx, string(job.Cancelled))
	}
	e.Log.InfoContext(ctx, "job deleted", "job", id)
	if err := e.purgeDeletedJob(ctx, rec, &before); err != nil {
		// The record says it, so handlers stop by themselves, and the reconciler has the rest removed.
		e.Log.WarnContext(ctx, "job deleted, but not yet cleared away; the reconciler will do it", "job", id, "error", err)
	}
	return rec, nil
}

// purgeDeletedJob drops the tasks of a job that was deleted, whose record was before, publishes its events, and has
// the rest removed by index.
func (e Deps) purgeDeletedJob(ctx context.Context, rec, before *job.Record) error {
	if err := e.Bus.PurgeTasks(ctx, rec.Tenant, string(rec.ID)); err != nil {
		return err
	}
	if err := e.OnJobEnd(ctx, rec); err != nil {
		return err
	}
	var err error
	if before.State.HasEnded() {
		err = e.PublishEnd(ctx, before)
	} else {
		err = e.Bus.PublishEvent(ctx, NewEvent(rec, "cancelled", ""))
	}
	if err == nil {
		err = e.Bus.PublishEvent(ctx, NewEvent(rec, "deleted", ""))
	}
	if err != nil {
		return err
	}
	return e.Bus.Publish(ctx, RemoveMessage(rec, 0))
}

// FirstMessage returns the message that starts a job's present run; replay sets it apart from an earlier one, 0 for
// the first.
func FirstMessage(r *job.Record, replay int) bus.Message {
	m := bus.Message{Stage: bus.Ingest, Lane: bus.Lane(r.Options.Lane), Unit: "document", Replay: replay}
	if r.DuplicateOf != "" {
		return FinaliseMessage(r, m.Lane, replay) // there is nothing to do but take over what another job has
	}
	if r.PageCount == 0 {
		m.Task = &busv1.IngestTask{Unit: JobUnit(r), Source: SourceBlob(r)}
		return m
	}
	m.Stage, m.Task = bus.Scan, &busv1.ScanTask{Unit: JobUnit(r), Source: SourceBlob(r)}
	return m
}

// FinaliseMessage returns the message that ends a run whose last page is in; replay sets it apart from an earlier
// one, 0 for the first.
func FinaliseMessage(r *job.Record, lane bus.Lane, replay int) bus.Message {
	return bus.Message{
		Stage: bus.Index, Lane: lane, Unit: "finalise", Replay: replay,
		Task: &busv1.IndexTask{Unit: JobUnit(r), Finalise: true},
	}
}

// ReleaseMessage returns the message that releases a chunk, or the next one of its turn that has open pages: of every
// Window-th chunk only one is in flight, and its end releases the next. It reports false where none has.
func ReleaseMessage(r *job.Record, p *job.Progress, lane bus.Lane, chunk int) (bus.Message, bool) {
	for ; chunk < r.ChunkCount(); chunk += max(r.Window, 1) {
		if first, last := r.ChunkRange(chunk); !p.PagesDone(first, last) {
			return RenderMessage(r, lane, chunk, 0), true
		}
	}
	return bus.Message{}, false
}
