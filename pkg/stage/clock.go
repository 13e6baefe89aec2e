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

// pulse is when a unit of work last showed that it moves on.
type pulse struct{ at atomic.Int64 }

type pulseKey struct{}

func (p *pulse) beat() { p.at.Store(time.Now().UnixNano()) }

func (p *pulse) age() time.Duration { return time.Since(time.Unix(0, p.at.Load())) }

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

// late returns why a unit at work has to stop: its job has used up its time, or it stands still. What waits in a queue, or for something that is
// away, does not stand still: only a unit in a worker's hands does, from the moment it was taken up, while neither it nor any other of the job
// gets anywhere. A unit that is stopped over this is tried once more; then the job has failed.
func (h *handler[T, R]) late(ctx context.Context, rec *job.Record, taken time.Time, p *pulse) error {
	start := rec.StartTime
	if start.IsZero() {
		start = taken
	}
	if limit := job.Shorter(rec.Options.DocumentTimeout, h.env.DocumentTimeout); limit > 0 && time.Since(start) > limit {
		return fault.New(fault.DocumentTimeout, "the document took longer than %s", limit)
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
