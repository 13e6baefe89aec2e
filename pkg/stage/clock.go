package stage

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// stallGrace is added to the server's own stall limit. It is as long as what a page may take, and a page that hangs is to run into the page's
// limit, which costs that page, before the job is taken for stuck, which costs the job.
const stallGrace = 30 * time.Second

// idleAfter is how long nothing of a job has to be written until it counts as one that nobody had in hand: as long as its whole time where that is
// less, but no moment. Work that goes on so long in silence is stopped by other clocks.
const idleAfter, idleAtLeast = 5 * time.Minute, 30 * time.Second

// pulse is the clocks of a unit of work. They count from its beginning, and stand still while the machine sleeps.
type pulse struct {
	began time.Time
	at    atomic.Int64 // when it last showed that it moves on
	spent atomic.Int64 // how much of its time the job had used before
}

type pulseKey struct{}

func (p *pulse) beat() { p.at.Store(int64(time.Since(p.began))) }

func (p *pulse) age() time.Duration { return time.Since(p.began) - time.Duration(p.at.Load()) }

// Alive tells the job's stall clock that the unit at work in ctx has got somewhere: it has begun another page, or read on in a large file. Work
// whose parts may take longer than the stall limit together calls it between them. Outside of a handler it does nothing.
func Alive(ctx context.Context) {
	if p, ok := ctx.Value(pulseKey{}).(*pulse); ok {
		p.beat()
	}
}

// AliveReader returns a reader of r that tells the job's stall clock of each piece.
func AliveReader(ctx context.Context, r io.Reader) io.Reader { return living{r, ctx} }

type living struct {
	io.Reader
	ctx context.Context //nolint:containedctx // an io.Reader takes none
}

// Read implements io.Reader.
func (l living) Read(p []byte) (int, error) {
	Alive(l.ctx)
	return l.Reader.Read(p)
}

// stallLimit returns how long a job may have a unit in hand and nothing of it move; 0 for ever. A limit that the user chose holds to the letter,
// also where it is shorter than that of a page.
func (e Env) stallLimit(o *job.Options) time.Duration {
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
	return job.Shorter(rec.Options.DocumentTimeout, h.env.DocumentTimeout)
}

// used returns how much of its time the run of a job has used.
func used(rec *job.Record) time.Duration {
	if rec.StartTime.IsZero() {
		return 0
	}
	return time.Since(rec.StartTime) - rec.Idle
}

func tooLong(limit time.Duration) error {
	return fault.New(fault.DocumentTimeout, "the document took longer than %s", limit)
}

// overdue returns an error if a unit is taken up whose job has used up its time. The time in which nobody had anything of it in hand is none of the
// document's: the server was off, or what it works with was away, or others were before it in the queue.
func (h *handler[T, R]) overdue(ctx context.Context, snap *Snapshot) error {
	limit := h.documentLimit(snap.Job)
	defer func() {
		if p, ok := ctx.Value(pulseKey{}).(*pulse); ok {
			p.spent.Store(int64(used(snap.Job)))
		}
	}()
	if limit == 0 || used(snap.Job) <= min(limit, idleAfter) {
		return nil
	}
	rec, _, moved, err := h.env.Jobs.Moved(ctx, snap.Job.Tenant, snap.Job.ID)
	if err != nil {
		return err
	}
	if idle := idle(rec, moved, time.Now(), limit); idle > 0 {
		rec, err = h.env.Jobs.UpdateRun(ctx, snap.Job, func(r *job.Record) error {
			if r.State.Final() || r.Idle != rec.Idle { // somebody else has counted it
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
	if used(rec) > limit {
		return tooLong(limit)
	}
	return nil
}

// idle returns how long nobody had anything of a job in hand that was written last when it moved.
func idle(rec *job.Record, moved, now time.Time, limit time.Duration) time.Duration {
	if moved.Before(rec.StartTime) {
		moved = rec.StartTime
	}
	silence := now.Sub(moved)
	if rec.StartTime.IsZero() || silence <= max(min(limit, idleAfter), idleAtLeast) {
		return 0
	}
	return silence
}

// late returns why a unit at work has to stop: its job has used up its time, or it stands still. What waits in a queue, or for something that is
// away, does not stand still: only a unit in a worker's hands does, from the moment it was taken up, while neither it nor any other of the job
// gets anywhere. A unit that is stopped over this is tried once more; then the job has failed.
func (h *handler[T, R]) late(ctx context.Context, rec *job.Record, p *pulse) error {
	if limit := h.documentLimit(rec); limit > 0 && time.Duration(p.spent.Load())+time.Since(p.began) > limit {
		return tooLong(limit)
	}
	limit := h.env.stallLimit(&rec.Options)
	if limit == 0 || p.age() <= limit {
		return nil
	}
	if _, _, moved, err := h.env.Jobs.Moved(ctx, rec.Tenant, rec.ID); err != nil || time.Since(moved) <= limit {
		return nil //nolint:nilerr // a look that fails is left to the next one
	}
	return fault.New(fault.JobStalled, "no page and no stage ended for longer than %s", job.Shorter(rec.Options.StallTimeout, h.env.StallTimeout))
}
