package stage

import (
	"context"
	"slices"
	"strconv"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// A page that takes longer than a first try is done behind others, with all of the time that a page may take. One that
// hangs until that is over costs much, and a document may have thousands of them. So the pages of a run that hang have
// a budget together. When it is used up, the others that take longer than a first try fail without another.

// defaultSlowPageTime is the default of Deps.SlowPageTime: five pages that hang for as long as a page may take.
const defaultSlowPageTime = 10 * time.Minute

// maxSlowPages bounds how many pages of a run are named in its record.
const maxSlowPages = 1000

// DeferSlowPage returns what becomes of a page that has taken longer than a first try: bus.ErrTakesLong, for it to be
// tried behind others, or the page's failure where the run has no time left for that.
func (e Deps) DeferSlowPage(s *Snapshot) error {
	if e.HasSlowPageTime(s) {
		return bus.ErrTakesLong
	}
	return fault.New(fault.PageBudget, "the page takes long, and other pages of the document that do have used up the %s "+
		"that there are for them", e.slowPageTime())
}

// HasSlowPageTime reports whether the run has time left for pages that take longer than a first try. One that comes
// when it has none, though it was deferred before, has another first try.
func (e Deps) HasSlowPageTime(s *Snapshot) bool { return s.Job.SlowPageTime < e.slowPageTime() }

func (e Deps) slowPageTime() time.Duration {
	if e.SlowPageTime > 0 {
		return e.SlowPageTime
	}
	return defaultSlowPageTime
}

// ChargeSlowPage counts the time of a page that has hung at a stage until its limit; once, also when its task comes
// back. A count that fails is left out: the run then has more time than it should.
func (e Deps) ChargeSlowPage(ctx context.Context, s *Snapshot, at bus.Stage, page int, limit time.Duration) {
	name := string(at) + "-" + strconv.Itoa(page)
	rec, err := e.Jobs.UpdateRunRecord(ctx, s.Job, func(r *job.Record) error {
		if r.State.HasEnded() || slices.Contains(r.SlowPages, name) {
			return job.ErrUnchanged
		}
		r.SlowPageTime += limit
		if len(r.SlowPages) < maxSlowPages {
			r.SlowPages = append(r.SlowPages, name)
		}
		return nil
	})
	if err != nil {
		e.Log.WarnContext(ctx, "count the time of a page that hung", "job", s.Job.ID, "error", err)
		return
	}
	s.Job = rec
}
