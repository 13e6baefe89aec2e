package reconcile

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
)

const (
	// fullEvery is how often the records are read from the beginning: a bucket that was restored from a backup has lower revisions than
	// those seen before.
	fullEvery = time.Hour
	// tidyWithin is how long after its end a job's temporary blobs are looked after. At the first pass after a start most jobs ended long ago.
	tidyWithin = time.Hour
)

// track is what is remembered of a job that has not ended.
type track struct {
	// moved is when it was last known to move: its record or progress was written, or its tasks were published again.
	moved time.Time
}

// read brings the memory up to date with the records that were written since the last pass.
func (r *Reconciler) read(ctx context.Context) error {
	now := r.now()
	before := r.open
	if now.Sub(r.full) >= fullEvery {
		r.forget()
		r.uploads.known = nil
		if !r.uploads.started() {
			r.uploads.known = make(map[bus.JobRef]struct{})
		}
	}
	last, err := r.env.Jobs.Changes(ctx, r.revision, func(c job.Change) {
		if c.Err != nil {
			// Nobody can do anything about the job; the others go on.
			r.log.ErrorContext(ctx, "job record cannot be read", "job", c.ID, "error", c.Err)
			return
		}
		r.note(c, before, now)
	})
	r.revision = last
	if errors.Is(err, job.ErrRestored) {
		r.log.WarnContext(ctx, "records and blobs are looked through from the beginning", "because", err)
		r.forget()
		r.restored = r.now()
		r.uploads = uploads{} // jobs that the copy lacks may have blobs
		return err
	}
	if err == nil && r.full.IsZero() {
		r.full = now // a first reading that was cut is begun anew
	}
	return err
}

// note takes a record's change into the memory.
func (r *Reconciler) note(c job.Change, before map[bus.JobRef]*track, now time.Time) {
	ref := bus.JobRef{Tenant: c.Tenant, Job: string(c.ID)}
	r.uploads.tenants.add(c.Tenant)
	if c.State == "" {
		delete(r.open, ref)
		return
	}
	if r.uploads.known != nil && !c.Buried {
		r.uploads.known[ref] = struct{}{}
	}
	if !c.State.Final() {
		t := &track{moved: c.Written}
		// A publish that this process has just made counts as a move.
		if old := before[ref]; old != nil && old.moved.After(t.moved) {
			t = old
		}
		r.open[ref] = t
		return
	}
	delete(r.open, ref)
	tidy := c.EndTime.Add(r.cfg.Patience)
	expires := !c.ExpireTime.IsZero()
	switch {
	case c.State.Gone() && !c.Buried:
		// The removal may be under way; whoever does it is given some time before it counts as cut.
		heap.Push(&r.agenda, due{c.Written.Add(r.cfg.UploadGrace), ref})
	case c.Buried && now.Sub(c.Written) < tidyWithin && c.Written.Add(r.cfg.Patience).Before(c.ExpireTime):
		heap.Push(&r.agenda, due{c.Written.Add(r.cfg.Patience), ref})
	case !c.Buried && (now.Sub(c.EndTime) < tidyWithin || c.Protected) && !(expires && c.ExpireTime.Before(tidy)):
		heap.Push(&r.agenda, due{tidy, ref})
	case expires:
		heap.Push(&r.agenda, due{c.ExpireTime, ref})
	}
}

// restart publishes what should be moving and is not. A job is left alone as long as a task of it waits in a queue.
func (r *Reconciler) restart(ctx context.Context, report *Report) error {
	now := r.now()
	var suspects []bus.JobRef
	for ref, t := range r.open {
		if r.still(now, t.moved) {
			suspects = append(suspects, ref)
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	// Oldest first; ids sort by time.
	slices.SortFunc(suspects, func(a, b bus.JobRef) int { return strings.Compare(a.Job, b.Job) })
	// The queues are asked before the job's state: a chunk that moves on between the two has written its progress.
	queued, err := r.env.Bus.Queued(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, ref := range suspects {
		if _, waits := queued[ref]; waits {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		done, err := r.push(ctx, ref)
		if done {
			report.Republished++
		}
		errs = append(errs, jobError(ref, "republish", err))
	}
	return errors.Join(errs...)
}

// still reports whether a job that moved last at a time stands still. A time that is well ahead is that of a clock that was wrong, and says nothing.
func (r *Reconciler) still(now, moved time.Time) bool { return now.Sub(moved).Abs() > r.cfg.Patience }

// push publishes a job's open tasks again, if it stands still. It reports whether it did.
func (r *Reconciler) push(ctx context.Context, ref bus.JobRef) (bool, error) {
	rec, progress, moved, err := r.env.Jobs.Moved(ctx, ref.Tenant, job.ID(ref.Job))
	if errors.Is(err, job.ErrNotFound) {
		delete(r.open, ref)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if rec.State.Final() {
		return false, nil // the next pass reads of its end
	}
	now := r.now()
	if !r.still(now, moved) {
		r.open[ref].moved = moved
		return false, nil
	}
	if waits, err := r.waits(ctx, rec); waits || err != nil {
		return false, err
	}
	if err := r.env.Remind(ctx, rec, progress); err != nil {
		return false, err
	}
	messages := openTasks(rec, progress, replay(now, r.cfg.Patience))
	if err := r.env.Bus.PublishAll(ctx, messages, nil); err != nil {
		return false, err
	}
	r.open[ref].moved = now
	r.log.WarnContext(ctx, "job stood still; its tasks are queued again", "job", rec.ID, "stage", messages[0].Stage, "tasks", len(messages),
		"still", now.Sub(moved))
	return true, nil
}

// maxLeaders bounds how many jobs that wait for each other are gone through.
const maxLeaders = 10

// waits reports whether a job waits for another one's results, and that one has not ended. The job is looked at again after the patience. A job may
// still say that it waits for one that waits for it by now: the claim on what both have has passed from one to the other. Then nobody would move, so
// nobody counts as waiting, and those that are queued find out who has the claim.
func (r *Reconciler) waits(ctx context.Context, rec *job.Record) (bool, error) {
	leader, waits := rec, false
	for range maxLeaders {
		if leader.PageCount > 0 || leader.Follows == "" {
			break // at work
		}
		next, err := r.env.Jobs.Load(ctx, rec.Tenant, leader.Follows)
		if err == nil && next.ID == rec.ID {
			return false, nil
		}
		if errors.Is(err, job.ErrNotFound) || err == nil && next.State.Final() {
			break // who follows that one does not wait any more
		}
		if err != nil {
			return false, err
		}
		leader, waits = next, true
	}
	if waits {
		r.open[bus.JobRef{Tenant: rec.Tenant, Job: string(rec.ID)}].moved = r.now()
	}
	return waits, nil
}

// replay numbers a republish by the time, in steps of the patience: several processes that find the same job at once publish under the same
// ids, of which the broker takes one, and the next republish has other ids, which the broker does not block.
func replay(now time.Time, patience time.Duration) int {
	step := int64(max(patience, time.Second) / time.Second)
	return int(now.Unix() / step)
}

// openTasks returns the messages that a job should have in flight, derived from its state alone.
func openTasks(r *job.Record, p *job.Progress, replay int) []bus.Message {
	lane := bus.Lane(r.Lane())
	if r.PageCount == 0 || r.ChunkPages == 0 || p == nil || p.Run < r.Run {
		return []bus.Message{stage.FirstMessage(r, replay)}
	}
	if p.AllDone() {
		return []bus.Message{stage.FinaliseMessage(r, lane, replay)}
	}
	// Of every Window-th chunk one is in flight, and its end releases the next: so it is the first of them that is not done.
	window := max(r.Window, 1)
	var messages []bus.Message
	for start := range min(window, r.Chunks()) {
		for chunk := start; chunk < r.Chunks(); chunk += window {
			if first, last := r.ChunkRange(chunk); !p.Done(first, last) {
				messages = append(messages, stage.RenderChunk(r, lane, chunk, replay))
				break
			}
		}
	}
	return messages
}

// due is when something may be due about a job that has ended. What it is, the record says then.
type due struct {
	at  time.Time
	ref bus.JobRef
}

// agenda is a heap of what is due, the earliest first. An entry may be out of date, so it is no more than a reason to look.
type agenda []due

// Len implements heap.Interface.
func (a agenda) Len() int { return len(a) }

// Less implements heap.Interface.
func (a agenda) Less(i, j int) bool { return a[i].at.Before(a[j].at) }

// Swap implements heap.Interface.
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *agenda) Push(x any) { *a = append(*a, x.(due)) }

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}

// settleRetry is the wait before something due is tried again that could not be done.
const settleRetry = time.Minute

// settle does what is due about jobs that have ended.
func (r *Reconciler) settle(ctx context.Context, report *Report) error {
	var errs []error
	for now := r.now(); len(r.agenda) > 0 && !r.agenda[0].at.After(now) && ctx.Err() == nil; {
		item := heap.Pop(&r.agenda).(due)
		next, err := r.settleOne(ctx, item.ref, report)
		if err != nil {
			errs = append(errs, jobError(item.ref, "settle", err))
			next = now.Add(settleRetry)
		}
		if !next.IsZero() {
			heap.Push(&r.agenda, due{next, item.ref})
		}
	}
	return errors.Join(errs...)
}

// settleOne does what is due about a job, and returns when to look at it again; zero for never, or not before its record changes.
func (r *Reconciler) settleOne(ctx context.Context, ref bus.JobRef, report *Report) (next time.Time, err error) {
	rec, err := r.env.Jobs.Load(ctx, ref.Tenant, job.ID(ref.Job))
	if errors.Is(err, job.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	now := r.now()
	over := !rec.ExpireTime.IsZero() && !now.Before(rec.ExpireTime)
	switch {
	case !rec.State.Final():
		return time.Time{}, nil // it runs again
	case rec.Buried() && over:
		report.Forgotten++
		return time.Time{}, r.env.Jobs.Forget(ctx, rec.Tenant, rec.ID)
	case rec.Buried():
		// A worker that was at it when the job was removed may have written since.
		return rec.ExpireTime, r.env.RemoveKept(ctx, rec, r.index)
	case over || rec.State.Gone():
		report.Removed++
		if rec, err = r.env.Remove(ctx, rec, job.Expired, r.index); err != nil {
			return time.Time{}, err
		}
		if !rec.Buried() {
			return now.Add(r.cfg.Patience), nil // the index service was asked; look whether it has done it
		}
		return rec.ExpireTime, nil
	}
	// A worker that was at it when the job ended may have left something since.
	if tidy := rec.EndTime.Add(r.cfg.Patience); now.Before(tidy) {
		return tidy, nil
	}
	if now.Sub(rec.EndTime) < tidyWithin || rec.Protected {
		report.Tidied++
		if err := errors.Join(r.tidy(ctx, rec), r.env.AfterEnd(ctx, rec), r.env.Remind(ctx, rec, nil)); err != nil {
			return time.Time{}, err
		}
	}
	return rec.ExpireTime, nil
}

// tidy removes the temporary blobs of a job's runs, up to the one that has ended. Another one may just have begun.
func (r *Reconciler) tidy(ctx context.Context, rec *job.Record) (err error) {
	for run := 1; run <= rec.Run; run++ {
		err = errors.Join(err, r.env.Blobs.DeletePrefix(ctx, job.TempFolder(rec.Tenant, rec.ID, run)))
	}
	return err
}
