package reconcile

import (
	"container/heap"
	"context"
	"errors"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
)

// expiry is when something may be due about a job that has ended. What it is, the record says then.
type expiry struct {
	at  time.Time
	ref bus.JobRef
}

// expiryQueue is a heap of what is due, the earliest first. An entry may be out of date, so it is no more than a
// reason to look.
type expiryQueue []expiry

// Len implements heap.Interface.
func (a expiryQueue) Len() int { return len(a) }

// Less implements heap.Interface.
func (a expiryQueue) Less(i, j int) bool { return a[i].at.Before(a[j].at) }

// Swap implements heap.Interface.
func (a expiryQueue) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *expiryQueue) Push(x any) { *a = append(*a, x.(expiry)) }

// Pop implements heap.Interface.
func (a *expiryQueue) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}

// expiryRetry is the wait before something due is tried again that could not be done.
const expiryRetry = time.Minute

// processExpiries does what is due about jobs that have ended.
func (r *Reconciler) processExpiries(ctx context.Context, report *Report) error {
	var errs []error
	for now := r.now(); len(r.expiries) > 0 && !r.expiries[0].at.After(now) && ctx.Err() == nil; {
		item := heap.Pop(&r.expiries).(expiry)
		next, err := r.processExpiry(ctx, item.ref, report)
		if err != nil {
			errs = append(errs, wrapJobError(item.ref, "settle", err))
			next = now.Add(expiryRetry)
		}
		if !next.IsZero() {
			heap.Push(&r.expiries, expiry{next, item.ref})
		}
	}
	return errors.Join(errs...)
}

// processExpiry does what is due about a job, and returns when to look at it again; zero for never, or not before its
// record changes.
func (r *Reconciler) processExpiry(ctx context.Context, ref bus.JobRef, report *Report) (next time.Time, err error) {
	rec, err := r.deps.Jobs.LoadRecord(ctx, ref.Tenant, job.ID(ref.Job))
	if errors.Is(err, job.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	now := r.now()
	over := !rec.ExpireTime.IsZero() && !now.Before(rec.ExpireTime)
	switch {
	case !rec.State.HasEnded():
		return time.Time{}, nil // it runs again
	case rec.IsTombstone() && over:
		report.Forgotten++
		return time.Time{}, r.deps.Jobs.PurgeRecord(ctx, rec.Tenant, rec.ID)
	case rec.IsTombstone():
		// A worker that was at it when the job was removed may have written since.
		return rec.ExpireTime, r.deps.JobService().RemoveJobData(ctx, rec, r.index)
	case over || rec.State.IsGone():
		report.Removed++
		if rec, err = r.deps.JobService().RemoveJob(ctx, rec, job.Expired, r.index); err != nil {
			return time.Time{}, err
		}
		if !rec.IsTombstone() {
			return now.Add(r.cfg.Patience), nil // the index service was asked; look whether it has done it
		}
		return rec.ExpireTime, nil
	}
	// A worker that was at it when the job ended may have left something since.
	if tidy := rec.EndTime.Add(r.cfg.Patience); now.Before(tidy) {
		return tidy, nil
	}
	if now.Sub(rec.EndTime) < tempCleanupWindow || rec.Protected {
		report.Tidied++
		if err := errors.Join(r.removeTempBlobs(ctx, rec), r.deps.JobService().OnJobEnd(ctx, rec),
			r.deps.JobService().RepublishEvents(ctx, rec, nil)); err != nil {
			return time.Time{}, err
		}
	}
	return rec.ExpireTime, nil
}

// removeTempBlobs removes the temporary blobs of a job's runs, up to the one that has ended. Another one may just have
// begun.
func (r *Reconciler) removeTempBlobs(ctx context.Context, rec *job.Record) (err error) {
	for run := 1; run <= rec.Run; run++ {
		err = errors.Join(err, r.deps.JobService().RemoveTempBlobs(ctx, rec, run))
	}
	return err
}
