package stage

import (
	"context"
	"errors"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/sandbox"
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
	if err := h.deps.JobService().RemoveTempBlobs(ctx, rec, rec.Run); err != nil {
		return err
	}
	now, err := h.deps.Jobs.LoadRecord(ctx, rec.Tenant, rec.ID)
	if errors.Is(err, job.ErrNotFound) {
		return nil
	}
	if err != nil || !now.State.IsGone() {
		return err
	}
	return h.deps.Bus.Publish(ctx, jobs.RemoveMessage(now, int(time.Now().UnixNano())))
}
