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
	"inkstream.dev/pkg/jobs"
)

const (
	// fullScanInterval is how often the records are read from the beginning: a bucket that was restored from a backup
	// has lower revisions than those seen before.
	fullScanInterval = time.Hour
	// tempCleanupWindow is how long after its end a job's temporary blobs are looked after. At the first pass after a
	// start most jobs ended long ago.
	tempCleanupWindow = time.Hour
	// startPatience is how long a job whose record is stored may be without its first task. The gateway stores one and
	// queues the other at once, but answers in between, so a client may wait for what a crash kept from the queue.
	startPatience = 10 * time.Second
)

// jobActivity is what is remembered of a job that has not ended.
type jobActivity struct {
	// lastActivity is when it was last known to move: its record or progress was written, or its tasks were published
	// again.
	lastActivity time.Time
	// unstarted says that nothing but its record is known of the job yet.
	unstarted bool
}

// readChanges brings the memory up to date with the records that were written since the last pass.
func (r *Reconciler) readChanges(ctx context.Context) error {
	now := r.now()
	before := r.unfinishedJobs
	if now.Sub(r.lastFullScan) >= fullScanInterval {
		r.resetRecordState()
		r.uploads.known = nil
		if !r.uploads.hasStarted() {
			r.uploads.known = make(map[bus.JobRef]struct{})
		}
	}
	last, err := r.deps.Jobs.ScanChanges(ctx, r.revision, func(c job.Change) {
		if c.Err != nil {
			// The reconciler cannot repair the record; the other jobs go on.
			r.log.ErrorContext(ctx, "job record cannot be read", "job", c.ID, "error", c.Err)
			return
		}
		r.recordChange(c, before, now)
	})
	r.revision = last
	if errors.Is(err, job.ErrRestored) {
		r.log.WarnContext(ctx, "records and blobs are looked through from the beginning", "because", err)
		r.resetRecordState()
		r.restoredAt = r.now()
		r.uploads = uploadScan{} // jobs that the copy lacks may have blobs
		return err
	}
	if err == nil && r.lastFullScan.IsZero() {
		r.lastFullScan = now // a first reading that was cut starts again from the beginning
	}
	return err
}

// recordChange takes a record's change into the memory.
func (r *Reconciler) recordChange(c job.Change, before map[bus.JobRef]*jobActivity, now time.Time) {
	ref := bus.JobRef{Tenant: c.Tenant, Job: string(c.ID)}
	r.uploads.tenants.addName(c.Tenant)
	if c.State == "" {
		delete(r.unfinishedJobs, ref)
		return
	}
	if r.uploads.known != nil && !c.IsTombstone {
		r.uploads.known[ref] = struct{}{}
	}
	if !c.State.HasEnded() {
		t := &jobActivity{lastActivity: c.Written, unstarted: c.IsUnstarted}
		// A publish that this process has just made counts as a move.
		if old := before[ref]; old != nil && old.lastActivity.After(t.lastActivity) {
			t.lastActivity = old.lastActivity
		}
		r.unfinishedJobs[ref] = t
		return
	}
	delete(r.unfinishedJobs, ref)
	tidy := c.EndTime.Add(r.cfg.Patience)
	expires := !c.ExpireTime.IsZero()
	switch {
	case c.State.IsGone() && !c.IsTombstone:
		// The removal may be under way; it is given some time before it counts as cut.
		heap.Push(&r.expiries, expiry{c.Written.Add(r.cfg.UploadGrace), ref})
	case c.IsTombstone && now.Sub(c.Written) < tempCleanupWindow && c.Written.Add(r.cfg.Patience).Before(c.ExpireTime):
		heap.Push(&r.expiries, expiry{c.Written.Add(r.cfg.Patience), ref})
	case !c.IsTombstone && (now.Sub(c.EndTime) < tempCleanupWindow || c.Protected) &&
		!(expires && c.ExpireTime.Before(tidy)):
		heap.Push(&r.expiries, expiry{tidy, ref})
	case expires:
		heap.Push(&r.expiries, expiry{c.ExpireTime, ref})
	}
}

// requeueStalledJobs publishes what should be moving and is not. A job is left alone as long as a task of it waits in
// a queue.
func (r *Reconciler) requeueStalledJobs(ctx context.Context, report *Report) error {
	now := r.now()
	var suspects []bus.JobRef
	for ref, t := range r.unfinishedJobs {
		if r.isStalled(now, t.lastActivity, t.unstarted) {
			suspects = append(suspects, ref)
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	// Oldest first; ids sort by time.
	slices.SortFunc(suspects, func(a, b bus.JobRef) int { return strings.Compare(a.Job, b.Job) })
	// The queues are asked before the job's state: a chunk that moves on between the two has written its progress.
	queued, err := r.deps.Bus.QueuedJobs(ctx)
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
		done, err := r.requeueIfStalled(ctx, ref)
		if done {
			report.Republished++
		}
		errs = append(errs, wrapJobError(ref, "republish", err))
	}
	return errors.Join(errs...)
}

// isStalled reports whether a job that moved last at a time stands still. A time that is well ahead is that of a
// clock that was wrong, and says nothing.
func (r *Reconciler) isStalled(now, moved time.Time, unstarted bool) bool {
	return now.Sub(moved) > r.patience(unstarted) || moved.Sub(now) > r.cfg.Patience
}

// patience returns how long a job may stand still.
func (r *Reconciler) patience(unstarted bool) time.Duration {
	if unstarted {
		return min(startPatience, r.cfg.Patience)
	}
	return r.cfg.Patience
}

// requeueIfStalled publishes a job's open tasks again, if it stands still. It reports whether it did.
func (r *Reconciler) requeueIfStalled(ctx context.Context, ref bus.JobRef) (bool, error) {
	rec, progress, moved, err := r.deps.Jobs.LastActivity(ctx, ref.Tenant, job.ID(ref.Job))
	if errors.Is(err, job.ErrNotFound) {
		delete(r.unfinishedJobs, ref)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if rec.State.HasEnded() {
		return false, nil // the next pass reads of its end
	}
	now := r.now()
	if !r.isStalled(now, moved, rec.IsUnstarted()) {
		r.unfinishedJobs[ref].lastActivity = moved
		return false, nil
	}
	if waits, err := r.waitsForLeader(ctx, rec); waits || err != nil {
		return false, err
	}
	if err := r.deps.JobService().RepublishEvents(ctx, rec, progress); err != nil {
		return false, err
	}
	messages := jobs.OpenMessages(rec, progress, replayNumber(now, r.patience(rec.IsUnstarted())))
	if err := r.deps.Bus.PublishAll(ctx, messages, nil); err != nil {
		return false, err
	}
	r.unfinishedJobs[ref].lastActivity = now
	r.log.WarnContext(ctx, "job stood still; its tasks are queued again", "job", rec.ID, "stage", messages[0].Stage,
		"tasks", len(messages),
		"still", now.Sub(moved))
	return true, nil
}

// maxLeaders bounds how many jobs that wait for each other are gone through.
const maxLeaders = 10

// waitsForLeader reports whether a job waits for another one's results, and that one has not ended. The job is looked
// at again after the patience. A job may still say that it waits for one that waits for it by now: the claim on what
// both have has passed from one to the other. Then neither would move, so neither counts as waiting, and those that are
// queued find out which job has the claim.
func (r *Reconciler) waitsForLeader(ctx context.Context, rec *job.Record) (bool, error) {
	leader, waits := rec, false
	for range maxLeaders {
		if leader.PageCount > 0 || leader.Follows == "" {
			break // at work
		}
		next, err := r.deps.Jobs.LoadRecord(ctx, rec.Tenant, leader.Follows)
		if err == nil && next.ID == rec.ID {
			return false, nil
		}
		if errors.Is(err, job.ErrNotFound) || err == nil && next.State.HasEnded() {
			break // who follows that one does not wait any more
		}
		if err != nil {
			return false, err
		}
		leader, waits = next, true
	}
	if waits {
		r.unfinishedJobs[bus.JobRef{Tenant: rec.Tenant, Job: string(rec.ID)}].lastActivity = r.now()
	}
	return waits, nil
}

// replayNumber numbers a republish by the time, in steps of the patience: several processes that find the same job at
// once publish under the same ids, of which the broker takes one, and the next republish has other ids, which the
// broker does not block.
func replayNumber(now time.Time, patience time.Duration) int {
	step := int64(max(patience, time.Second) / time.Second)
	return int(now.Unix() / step)
}
