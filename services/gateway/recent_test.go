package gateway

import (
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// A job that has not changed is not decoded again, and every change shows at once.
func TestLookIsAsNewAsTheRecord(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	rec := r.newJob(running)
	r.progressOf(rec)
	ref := jobRef{rec.Tenant, rec.ID}
	look := func() *look {
		t.Helper()
		l, err := r.svc.look(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := look()
	if look() != first {
		t.Error("nothing has changed, and the job was made anew")
	}
	p, err := r.env.Jobs.UpdateProgress(t.Context(), rec.Tenant, rec.ID, func(p *job.Progress) error {
		_, err := p.Set([]job.Outcome{{Page: 4, Kind: job.OutcomeBlank}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if second := look(); second == first || second.view.GetPagesDone() != int32(p.DonePages()) || first.view.GetPagesDone() == second.view.GetPagesDone() {
		t.Errorf("after a page: got %d pages done, want %d", second.view.GetPagesDone(), p.DonePages())
	}
	for range 2 * recentJobs { // other jobs do not put it out while it is asked for
		r.svc.recent.keep(jobRef{"other", job.NewID()}, first)
	}
	r.update(rec, func(rec *job.Record) error { return rec.To(job.Cancelled, when.Add(time.Minute)) })
	if l := look(); l.view.GetState().String() != string(job.Cancelled) {
		t.Errorf("after the end: got %s, want %s", l.view.GetState(), job.Cancelled)
	}
	if n := len(r.svc.recent.young) + len(r.svc.recent.old); n > 2*recentJobs {
		t.Errorf("%d jobs are kept, want at most %d", n, 2*recentJobs)
	}
	r.update(rec, func(rec *job.Record) error { return rec.To(job.Deleted, when.Add(time.Hour)) })
	if _, err := r.svc.look(t.Context(), ref); fault.CodeOf(err) != jobDeleted {
		t.Errorf("after it was deleted: got %v, want %s", err, jobDeleted)
	}
}
