package gateway

import (
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// A job that has not changed is not decoded again, and every change shows at once.
func TestCachedJobFollowsRecord(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(setRunning)
	r.progressOf(rec)
	ref := jobRef{rec.Tenant, rec.ID}
	look := func() *cachedJob {
		t.Helper()
		l, err := r.svc.loadCachedJob(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := look()
	if look() != first {
		t.Error("nothing has changed, and the job was decoded again")
	}
	p, err := r.deps.Jobs.UpdateProgress(t.Context(), rec.Tenant, rec.ID, func(p *job.Progress) error {
		_, err := p.SetOutcomes([]job.Outcome{{Page: 4, Kind: job.OutcomeBlank}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if second := look(); second == first || second.view.GetPagesDone() != int32(p.CountDonePages()) ||
		first.view.GetPagesDone() == second.view.GetPagesDone() {
		t.Errorf("after a page: got %d pages done, want %d", second.view.GetPagesDone(), p.CountDonePages())
	}
	for range 2 * maxCachedJobs { // enough other jobs to fill both generations of the cache
		r.svc.jobCache.storeJob(jobRef{"other", job.NewID()}, first)
	}
	r.update(rec, func(rec *job.Record) error { return rec.Transition(job.Cancelled, when.Add(time.Minute)) })
	if l := look(); l.view.GetState().String() != string(job.Cancelled) {
		t.Errorf("after the end: got %s, want %s", l.view.GetState(), job.Cancelled)
	}
	if n := len(r.svc.jobCache.newGeneration) + len(r.svc.jobCache.oldGeneration); n > 2*maxCachedJobs {
		t.Errorf("%d jobs are kept, want at most %d", n, 2*maxCachedJobs)
	}
	r.update(rec, func(rec *job.Record) error { return rec.Transition(job.Deleted, when.Add(time.Hour)) })
	if _, err := r.svc.loadCachedJob(t.Context(), ref); fault.CodeOf(err) != jobDeleted {
		t.Errorf("after it was deleted: got %v, want %s", err, jobDeleted)
	}
}
