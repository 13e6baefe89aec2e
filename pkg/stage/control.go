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

// haltPoll is how often a handler at work looks whether its job was ended from outside. Most tasks are done before the first look; an engine
// call that goes on for minutes is cut within this time. It asks instead of being told, because a message can get lost while the connection is
// away, and then nobody would stop.
const haltPoll = time.Second

// errHalted is why the context of a handler ended whose job was ended from outside.
var errHalted = errors.New("the job was ended")

// attend returns a context that ends when the job is ended from outside or runs anew, or when one of its clocks has run out, with that as its
// cause; release ends the watch.
func (h *handler[T, R]) attend(ctx context.Context, rec *job.Record) (_ context.Context, release func()) {
	p := &pulse{began: time.Now()}
	work, cancel := context.WithCancelCause(sandbox.Waiting(context.WithValue(ctx, pulseKey{}, p), p.beat))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(haltPoll)
		defer tick.Stop()
		for {
			select {
			case <-work.Done():
				return
			case <-tick.C:
			}
			// A look that fails is left to the next one.
			now, err := h.env.Jobs.Load(work, rec.Tenant, rec.ID)
			if err == nil && (now.State.Halted() || now.Run > rec.Run) {
				cancel(errHalted)
				return
			}
			if err := h.late(work, rec, p); err != nil {
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

// gone reports whether a unit was worked on to no purpose, because its job was deleted meanwhile: what it wrote after that is still there. A unit that
// commits to the record, or to progress that the removal takes away first, has found out by itself; the others have to look.
func (h *handler[T, R]) gone(ctx context.Context, rec *job.Record, err error) bool {
	if err == nil && h.stage != bus.Render && h.stage != bus.OCR {
		return rec.State.Gone()
	}
	now, lookErr := h.env.Jobs.Reload(ctx, rec)
	return lookErr == nil && now.State.Gone() // a look that fails is left to the reconciler
}

// halted cleans up after a handler that was stopped: it may have written since whoever ended the job removed what there was.
func (h *handler[T, R]) halted(ctx context.Context, rec *job.Record) error {
	if err := h.env.removeTemp(ctx, rec, rec.Run); err != nil {
		return err
	}
	now, err := h.env.Jobs.Load(ctx, rec.Tenant, rec.ID)
	if errors.Is(err, job.ErrNotFound) {
		return nil
	}
	if err != nil || !now.State.Gone() {
		return err
	}
	return h.env.Bus.Publish(ctx, RemoveMessage(now, int(time.Now().UnixNano())))
}

// removeTemp removes what a run needed only while it went on.
func (e Env) removeTemp(ctx context.Context, rec *job.Record, run int) error {
	if err := e.Blobs.DeletePrefix(ctx, job.TempFolder(rec.Tenant, rec.ID, run)); err != nil {
		return fmt.Errorf("remove temporary blobs: %w", err)
	}
	return nil
}

// RemoveMessage returns the task that has everything removed which is kept of a job; replay sets it apart from an earlier one, 0 for the first.
func RemoveMessage(r *job.Record, replay int) bus.Message {
	lane := bus.Interactive // nobody should wait for a batch to be rid of a document
	return bus.Message{
		Stage: bus.Index, Lane: lane, Unit: "remove", Replay: replay, Task: &busv1.IndexTask{Unit: Unit(r), Remove: true},
	}
}

// dropPatience bounds how long whoever cancels a job waits for its temporary blobs to go.
const dropPatience = 3 * time.Second

// dropTemp is removeTemp for who cannot wait for a store that is away: what it leaves, the reconciler removes.
func (e Env) dropTemp(ctx context.Context, rec *job.Record) {
	ctx, cancel := context.WithTimeout(ctx, dropPatience)
	defer cancel()
	if err := e.removeTemp(ctx, rec, rec.Run); err != nil {
		e.Log.WarnContext(ctx, "job cancelled, but not yet cleared away; the reconciler will do it", "job", rec.ID, "error", err)
	}
}

// ErrEnded means that a job has ended already, so that it cannot be cancelled.
var ErrEnded = errors.New("the job has ended")

// Cancel ends a job at the user's wish: its queued tasks are dropped, those in hand stop within moments, and its temporary blobs go. A job that
// is CANCELLED already is cleaned up once more, and that is no error; one that ended otherwise is ErrEnded, with its record.
func (e Env) Cancel(ctx context.Context, tenant string, id job.ID) (*job.Record, error) {
	// What is queued after this moment stays: it may be of another run, which somebody starts as soon as this one is cancelled.
	before, err := e.Bus.Position(ctx)
	if err != nil {
		return nil, err
	}
	cancelled := false
	rec, err := e.Jobs.Update(ctx, tenant, id, func(r *job.Record) error {
		cancelled = !r.State.Final()
		if !cancelled {
			return job.ErrUnchanged
		}
		return r.To(job.Cancelled, time.Now())
	})
	if err != nil {
		return nil, err
	}
	if rec.State != job.Cancelled {
		return rec, ErrEnded
	}
	err = e.TellEnd(ctx, rec) // first, since the job is cancelled whatever becomes of the rest
	if cancelled {
		e.Tel.Metrics.JobEnded(ctx, string(rec.State))
		e.Log.InfoContext(ctx, "job cancelled", "job", id, "run", rec.Run)
		// Not at a repeat, which might meet the tasks of another run; what a crash left in the queues is dropped when it is delivered.
		err = errors.Join(err, e.Bus.PurgeTasksUntil(ctx, tenant, string(id), before))
	}
	err = errors.Join(err, e.AfterEnd(ctx, rec))
	e.dropTemp(ctx, rec)
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// TellEnd adds to the trail that a job's run has ended, unless it is there. Whoever adds something to the trail of a job that has ended calls it first,
// for the one that ended it may not have got to telling. The trail is asked, because the broker absorbs repeats for some minutes only, and webhooks are
// called for each; those of one moment are left to the broker.
func (e Env) TellEnd(ctx context.Context, rec *job.Record) error {
	if told, err := e.Bus.EndTold(ctx, rec.Tenant, string(rec.ID), rec.Run); err == nil && told {
		return nil
	}
	events := []*busv1.Event{EndEvent(rec)}
	if rec.State == job.Cancelled {
		events = []*busv1.Event{NewEvent(rec, "cancelled", ""), EndEvent(rec)}
	}
	for _, event := range events { // one after the other, so that the trail has them in this order
		if err := e.Bus.Event(ctx, event); err != nil {
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

// Remind tells the trail once more what whoever started or ended a job on a user's behalf may have died before telling it: nobody repeats that
// for them, as the broker repeats a stage's task. What the trail knows already is absorbed. The progress may be nil.
func (e Env) Remind(ctx context.Context, r *job.Record, p *job.Progress) error {
	switch {
	case r.State == job.Cancelled:
		return e.TellEnd(ctx, r)
	case r.State.Final():
	case r.PageCount == 0, r.ChunkPages == 0, r.Run > 1 && (p == nil || p.Run < r.Run): // the run has not got far
		return e.Bus.Event(ctx, FirstEvent(r))
	}
	return nil
}

// Retry starts another run of a job that has ended; see job.Record.Restart. What is returned is the record of the new run, whose first task is
// queued, or will be by the reconciler where the broker does not take it now.
func (e Env) Retry(ctx context.Context, tenant string, id job.ID, all bool) (*job.Record, error) {
	var before job.Record
	rec, err := e.Jobs.Update(ctx, tenant, id, func(r *job.Record) error {
		before = *r
		return r.Restart(all, time.Now())
	})
	if err != nil {
		return nil, err
	}
	e.Log.InfoContext(ctx, "job runs again", "job", id, "run", rec.Run, "all", all)
	if rec.Shares() {
		// Those that come with the same bytes meanwhile wait for it. Where that cannot be noted they do the work themselves.
		if _, err := e.Jobs.ClaimContent(ctx, rec); err != nil {
			e.Log.WarnContext(ctx, "claim content", "job", id, "error", err)
		}
	}
	err = e.TellEnd(ctx, &before)
	if err == nil { // ahead of the task, so that a crash leaves no run whose trail has no beginning
		err = e.Bus.Event(ctx, NewEvent(rec, "retried", "", "all", strconv.FormatBool(all)))
	}
	if err == nil {
		err = e.Bus.Publish(ctx, FirstMessage(rec, 0))
	}
	if err != nil {
		e.Log.WarnContext(ctx, "run accepted, but not queued yet; the reconciler will queue it", "job", id, "error", err)
	}
	return rec, nil
}

// ErrGone means that a job was deleted or has expired.
var ErrGone = errors.New("the job is gone")

// Delete ends a job if it has not ended, and has everything removed that is kept of it. When it returns the record says DELETED; index removes the
// rest. A job that is gone already is ErrGone.
func (e Env) Delete(ctx context.Context, tenant string, id job.ID) (*job.Record, error) {
	var before job.Record
	rec, err := e.Jobs.Update(ctx, tenant, id, func(r *job.Record) error {
		before = *r
		if !r.State.Final() {
			if err := r.To(job.Cancelled, time.Now()); err != nil {
				return err
			}
		}
		if r.State.Gone() {
			return ErrGone
		}
		return r.To(job.Deleted, time.Now())
	})
	if err != nil {
		return nil, err
	}
	if !before.State.Final() {
		e.Tel.Metrics.JobEnded(ctx, string(job.Cancelled))
	}
	e.Log.InfoContext(ctx, "job deleted", "job", id)
	if err := e.clear(ctx, rec, &before); err != nil {
		// The record says it, so handlers stop by themselves, and the reconciler has the rest removed.
		e.Log.WarnContext(ctx, "job deleted, but not yet cleared away; the reconciler will do it", "job", id, "error", err)
	}
	return rec, nil
}

// clear drops the tasks of a job that was deleted, whose record was before, tells the trail, and has the rest removed by index.
func (e Env) clear(ctx context.Context, rec, before *job.Record) error {
	if err := e.Bus.PurgeTasks(ctx, rec.Tenant, string(rec.ID)); err != nil {
		return err
	}
	if err := e.AfterEnd(ctx, rec); err != nil {
		return err
	}
	var err error
	if before.State.Final() {
		err = e.TellEnd(ctx, before)
	} else {
		err = e.Bus.Event(ctx, NewEvent(rec, "cancelled", ""))
	}
	if err == nil {
		err = e.Bus.Event(ctx, NewEvent(rec, "deleted", ""))
	}
	if err != nil {
		return err
	}
	return e.Bus.Publish(ctx, RemoveMessage(rec, 0))
}

// FirstMessage returns the message that starts a job's present run; replay sets it apart from an earlier one, 0 for the first.
func FirstMessage(r *job.Record, replay int) bus.Message {
	m := bus.Message{Stage: bus.Ingest, Lane: bus.Lane(r.Options.Lane), Unit: "document", Replay: replay}
	if r.DuplicateOf != "" {
		return FinaliseMessage(r, m.Lane, replay) // there is nothing to do but take over what another job has
	}
	if r.PageCount == 0 {
		m.Task = &busv1.IngestTask{Unit: Unit(r), Source: Source(r)}
		return m
	}
	m.Stage, m.Task = bus.Scan, &busv1.ScanTask{Unit: Unit(r), Source: Source(r)}
	return m
}

// FinaliseMessage returns the message that ends a run whose last page is in; replay sets it apart from an earlier one, 0 for the first.
func FinaliseMessage(r *job.Record, lane bus.Lane, replay int) bus.Message {
	return bus.Message{
		Stage: bus.Index, Lane: lane, Unit: "finalise", Replay: replay, Task: &busv1.IndexTask{Unit: Unit(r), Finalise: true},
	}
}

// ReleaseChunk returns the message that releases a chunk, or the next one of its turn that has open pages: of every Window-th chunk only one is
// in flight, and its end releases the next. It reports false where none has.
func ReleaseChunk(r *job.Record, p *job.Progress, lane bus.Lane, chunk int) (bus.Message, bool) {
	for ; chunk < r.Chunks(); chunk += max(r.Window, 1) {
		if first, last := r.ChunkRange(chunk); !p.Done(first, last) {
			return RenderChunk(r, lane, chunk, 0), true
		}
	}
	return bus.Message{}, false
}
