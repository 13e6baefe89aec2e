package stage

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// stallGrace is added to the server's own stall limit. That limit is as long as what a page may take, and a page that hangs
// is to run into the page's limit, which costs that page, before the job is taken for stuck, which costs the job.
const stallGrace = 30 * time.Second

// idleAfter is how long nothing of a job has to be written until the job counts as idle, with nothing in flight. A
// job's whole time takes its place where that is shorter, but no less than minIdle counts. Other clocks stop work
// that goes on so long in silence.
const idleAfter, minIdle = 5 * time.Minute, 30 * time.Second

// watchdog is the clocks of a unit of work. They count from its beginning, and stand still while the machine sleeps.
type watchdog struct {
	startedAt    time.Time
	lastActivity atomic.Int64 // when it last showed that it moves on
	usedBefore   atomic.Int64 // how much of its time the job had used before
}

type watchdogKey struct{}

func (p *watchdog) recordActivity() { p.lastActivity.Store(int64(time.Since(p.startedAt))) }

func (p *watchdog) sinceActivity() time.Duration {
	return time.Since(p.startedAt) - time.Duration(p.lastActivity.Load())
}

// Heartbeat tells the job's stall clock that the unit at work in ctx has got somewhere: it has begun another page, or
// read on in a large file. Work whose parts may take longer than the stall limit together calls it between them.
// Outside of a handler it does nothing.
func Heartbeat(ctx context.Context) {
	if p, ok := ctx.Value(watchdogKey{}).(*watchdog); ok {
		p.recordActivity()
	}
}

// NewHeartbeatReader returns a reader of r that tells the job's stall clock of each piece.
func NewHeartbeatReader(ctx context.Context, r io.Reader) io.Reader { return heartbeatReader{r, ctx} }

type heartbeatReader struct {
	io.Reader
	ctx context.Context //nolint:containedctx // an io.Reader takes none
}

// Read implements io.Reader.
func (l heartbeatReader) Read(p []byte) (int, error) {
	Heartbeat(l.ctx)
	return l.Reader.Read(p)
}

// stallLimit returns how long a job may have a unit in flight without progress; 0 means without limit. A limit that
// the user chose holds to the letter, also where it is shorter than that of a page.
func (e Deps) stallLimit(o *job.Options) time.Duration {
	switch {
	case o.StallTimeout > 0 && (e.StallTimeout == 0 || o.StallTimeout < e.StallTimeout):
		return o.StallTimeout
	case e.StallTimeout > 0:
		return e.StallTimeout + stallGrace
	default:
		return 0
	}
}

func (h *handler[T, R]) documentLimit(rec *job.Record) time.Duration {
	return job.ShorterLimit(rec.Options.DocumentTimeout, h.deps.DocumentTimeout)
}

// usedRunTime returns how much of its time the run of a job has used.
func usedRunTime(rec *job.Record) time.Duration {
	if rec.StartTime.IsZero() {
		return 0
	}
	return time.Since(rec.StartTime) - rec.Idle
}

func documentTimeoutError(limit time.Duration) error {
	return fault.New(fault.DocumentTimeout, "the document took longer than %s", limit)
}

// checkDeadline returns an error if a unit is taken up whose job has used up its time. The time in which nothing of
// the job was in flight does not count: the server was off, or what it works with was away, or other jobs were before
// it in the queue.
func (h *handler[T, R]) checkDeadline(ctx context.Context, snap *Snapshot) error {
	limit := h.documentLimit(snap.Job)
	defer func() {
		if p, ok := ctx.Value(watchdogKey{}).(*watchdog); ok {
			p.usedBefore.Store(int64(usedRunTime(snap.Job)))
		}
	}()
	if limit == 0 || usedRunTime(snap.Job) <= min(limit, idleAfter) {
		return nil
	}
	rec, _, moved, err := h.deps.Jobs.LastActivity(ctx, snap.Job.Tenant, snap.Job.ID)
	if err != nil {
		return err
	}
	if idle := idleDuration(rec, moved, time.Now(), limit); idle > 0 {
		rec, err = h.deps.Jobs.UpdateRunRecord(ctx, snap.Job, func(r *job.Record) error {
			if r.State.HasEnded() || r.Idle != rec.Idle { // another handler has counted it
				return job.ErrUnchanged
			}
			r.Idle += idle
			return nil
		})
		if err != nil {
			return err
		}
	}
	if rec.Run == snap.Job.Run {
		snap.Job = rec
	}
	if usedRunTime(rec) > limit {
		return documentTimeoutError(limit)
	}
	return nil
}

// idleDuration returns how long nothing was in flight of a job that was written last when it moved.
func idleDuration(rec *job.Record, moved, now time.Time, limit time.Duration) time.Duration {
	if moved.Before(rec.StartTime) {
		moved = rec.StartTime
	}
	silence := now.Sub(moved)
	if rec.StartTime.IsZero() || silence <= max(min(limit, idleAfter), minIdle) {
		return 0
	}
	return silence
}

// stopCause returns why a unit at work has to stop: its job has used up its time, or it stands still. What waits in a
// queue, or for something that is away, does not stand still: only a unit in a worker's hands does, from the moment
// it was taken up, while neither it nor any other of the job gets anywhere. A unit that is stopped over this is tried
// once more; then the job has failed.
func (h *handler[T, R]) stopCause(ctx context.Context, rec *job.Record, p *watchdog) error {
	if limit := h.documentLimit(rec); limit > 0 && time.Duration(p.usedBefore.Load())+time.Since(p.startedAt) > limit {
		return documentTimeoutError(limit)
	}
	limit := h.deps.stallLimit(&rec.Options)
	if limit == 0 || p.sinceActivity() <= limit {
		return nil
	}
	if _, _, moved, err := h.deps.Jobs.LastActivity(ctx, rec.Tenant, rec.ID); err != nil || time.Since(moved) <= limit {
		return nil //nolint:nilerr // a look that fails is left to the next one
	}
	return fault.New(fault.JobStalled, "no page and no stage ended for longer than %s",
		job.ShorterLimit(rec.Options.StallTimeout, h.deps.StallTimeout))
}
