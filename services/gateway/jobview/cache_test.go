package jobview_test

import (
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
)

// A job that has not changed is not decoded again, and every change shows at once.
func TestCachedJobFollowsRecord(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	r.ProgressOf(rec)
	ref := jobview.Ref{Tenant: rec.Tenant, ID: rec.ID}
	look := func() *jobview.CachedJob {
		t.Helper()
		l, err := r.Service.Components().Jobs.LoadCachedJob(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := look()
	if look() != first {
		t.Error("nothing has changed, and the job was decoded again")
	}
	p, err := r.Deps.Jobs.UpdateProgress(t.Context(), rec.Tenant, rec.ID, func(p *job.Progress) error {
		_, err := p.SetOutcomes([]job.Outcome{{Page: 4, Kind: outcome.Blank}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if second := look(); second == first || second.View().GetPagesDone() != int32(p.CountDonePages()) ||
		first.View().GetPagesDone() == second.View().GetPagesDone() {
		t.Errorf("after a page: got %d pages done, want %d", second.View().GetPagesDone(), p.CountDonePages())
	}
	for range 2 * jobview.MaxCachedJobs { // enough other jobs to push it out of the cache
		r.Service.Components().Jobs.StoreCachedJob(jobview.Ref{Tenant: "other", ID: job.NewID()}, first)
	}
	r.Update(rec, func(rec *job.Record) error { return rec.Transition(job.Cancelled, gatewaytest.When.Add(time.Minute)) })
	if l := look(); l.View().GetState().String() != string(job.Cancelled) {
		t.Errorf("after the end: got %s, want %s", l.View().GetState(), job.Cancelled)
	}
	if n := r.Service.Components().Jobs.CachedJobs(); n > jobview.MaxCachedJobs {
		t.Errorf("%d jobs are kept, want at most %d", n, jobview.MaxCachedJobs)
	}
	r.Update(rec, func(rec *job.Record) error { return rec.Transition(job.Deleted, gatewaytest.When.Add(time.Hour)) })
	if _, err := r.Service.Components().Jobs.LoadCachedJob(t.Context(), ref); fault.CodeOf(err) != apierror.JobDeleted {
		t.Errorf("after it was deleted: got %v, want %s", err, apierror.JobDeleted)
	}
}
