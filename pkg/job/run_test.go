package job_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

func TestRestart(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		state job.State
		scope job.Scope
		pages int
		want  job.State // empty: not legal
	}{
		{job.Partial, job.ScopeMissing, 5, job.Running},
		{job.Failed, job.ScopeMissing, 5, job.Running},
		{job.Failed, job.ScopeMissing, 0, job.Pending},
		{job.Cancelled, job.ScopeAll, 5, job.Running},
		{job.Succeeded, job.ScopeAll, 5, job.Running},
		{job.Succeeded, job.ScopeMissing, 5, ""},
		{job.Rejected, job.ScopeAll, 5, ""},
		{job.Running, job.ScopeAll, 5, ""},
		{job.Pending, job.ScopeMissing, 0, ""},
		{job.Expired, job.ScopeAll, 5, ""},
		{job.Deleted, job.ScopeAll, 5, ""},
		{job.Succeeded, job.ScopeDoubtful, 5, job.Running},
		{job.Partial, job.ScopeDoubtful, 5, job.Running},
		{job.Rejected, job.ScopeDoubtful, 5, ""},
		{job.Running, job.ScopeDoubtful, 5, ""},
	} {
		r := job.Record{
			Run: 4, State: tt.state, PageCount: tt.pages, ChunkPages: 16, ResultRun: 3, EndTime: now.Add(-time.Hour),
			Error:         &job.Fault{Code: fault.Internal},
			DoubtfulPages: "2", Outcomes: map[string]int{"failed": 1}, Failures: map[string]int{"x": 1},
			Stages: map[string]job.StageTimes{"ingest": {Units: 1}, "scan": {Units: 1}, "ocr": {Units: 9}},
		}
		all := tt.scope == job.ScopeAll
		err := r.RestartRun(tt.scope, now)
		if tt.want == "" {
			if !errors.Is(err, job.ErrNoRestart) || r.Run != 4 || r.State != tt.state {
				t.Errorf("%s: %v, run %d, want ErrNoRestart and nothing changed", tt.state, err, r.Run)
			}
			continue
		}
		if err != nil || r.State != tt.want || r.Run != 5 || r.BaseRun != 4 || r.ArtifactsRun() != 3 ||
			!r.EndTime.IsZero() || r.Error != nil || r.Outcomes != nil || r.DoubtfulPages != "" ||
			r.RedoDoubtful != (tt.scope == job.ScopeDoubtful) {
			t.Errorf("%s: %v, got %+v, want run 5 %s", tt.state, err, r, tt.want)
		}
		if cut := r.ChunkPages > 0; cut == all {
			t.Errorf("%s, all %t: cut into chunks %t", tt.state, all, cut)
		}
		stages := 0
		if tt.pages > 0 {
			stages++
		}
		if !all {
			stages++
		}
		if len(r.Stages) != stages {
			t.Errorf("%s, all %t: stages %v, want %d", tt.state, all, r.Stages, stages)
		}
	}
}

func TestPagesOfSeveralRuns(t *testing.T) {
	t.Parallel()
	r := &job.Record{Run: 1, State: job.Running, PageCount: 2, ChunkPages: 16}
	want := func(runs string, artifacts int) {
		t.Helper()
		if got := fmt.Sprint(r.PageRuns()); got != runs || r.ArtifactsRun() != artifacts {
			t.Errorf("run %d: pages of %s, artifacts of %d, want %s and %d", r.Run, got, r.ArtifactsRun(), runs, artifacts)
		}
	}
	steps := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	want("[1]", 1)
	steps(r.FinishRun(&job.Progress{Run: 1, Pages: "nf"}, time.Now()), r.RestartRun(job.ScopeMissing, time.Now()))
	want("[2 1]", 1)
	steps(r.Transition(job.Cancelled, time.Now()), r.RestartRun(job.ScopeMissing, time.Now()))
	want("[3 2 1]", 1)
	steps(r.FinishRun(&job.Progress{Run: 3, Pages: "nn"}, time.Now()))
	want("[3]", 3)
	steps(r.RestartRun(job.ScopeAll, time.Now()), r.FinishRun(&job.Progress{Run: 4, Pages: "ff"}, time.Now()))
	want("[4 3]", 3)
}

func TestCarryProgress(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	for _, tt := range []struct {
		name     string
		old      *job.Progress
		run      int
		want     string
		kept     int // the run of what is stored then
		redo     bool
		doubtful string
	}{
		{name: "failed pages are open again", old: &job.Progress{Run: 1, Pages: "nof.bs", Doubtful: "2",
			Failed: map[fault.Code]string{fault.PageTimeout: "3"}}, run: 2, want: "no..bs", kept: 2, doubtful: "2"},
		{name: "pages with doubts are open again", old: &job.Progress{Run: 1, Pages: "nofobs", Doubtful: "2,4"}, run: 2,
			want: "n...bs", kept: 2, redo: true},
		{name: "the same run stays", old: &job.Progress{Run: 2, Pages: "nof.bs", Doubtful: "2"}, run: 2, want: "nof.bs", kept: 2,
			redo: true, doubtful: "2"},
		{name: "a later run stays", old: &job.Progress{Run: 3, Pages: "nnnnnn"}, run: 2, want: "nnnnnn", kept: 3},
		{name: "another document begins anew", old: &job.Progress{Run: 1, Pages: "nn"}, run: 2, want: "......", kept: 2},
		{name: "there was none", run: 2, want: "......", kept: 2},
	} {
		id := job.NewID()
		if tt.old != nil {
			if err := jobs.CreateProgress(t.Context(), "default", id, tt.old); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			p, err := jobs.CarryProgress(t.Context(), &job.Record{Tenant: "default", ID: id, Run: tt.run, PageCount: 6,
				RedoDoubtful: tt.redo})
			if err != nil || p.Pages != tt.want || p.Run != tt.kept || p.Doubtful != tt.doubtful {
				t.Errorf("%s: got %+v, %v, want %s of run %d", tt.name, p, err, tt.want, tt.kept)
			}
			if p != nil && p.Run == 2 && tt.old != nil && tt.old.Run == 1 && len(p.Failed) > 0 {
				t.Errorf("%s: failures %v, want none", tt.name, p.Failed)
			}
		}
	}
}

func TestTombstone(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	r := &job.Record{ID: job.NewID(), Tenant: "default", Run: 2, State: job.Succeeded, Filename: "secret.pdf",
		SHA256: "ab", CreateTime: time.Now().UTC()}
	if err := jobs.CreateRecord(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got, err := jobs.UpdateRecord(t.Context(), "default", r.ID,
		func(r *job.Record) error { return r.Tombstone(job.Deleted, time.Now()) })
	if err != nil || !got.IsTombstone() || got.State != job.Deleted || got.Filename != "" ||
		time.Until(got.ExpireTime) < 7*24*time.Hour {
		t.Errorf("got %+v, %v, want a tombstone for a week at least", got, err)
	}
	if err := errors.Join(jobs.DeleteProgress(t.Context(), "default", r.ID),
		jobs.PurgeRecord(t.Context(), "default", r.ID)); err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.LoadRecord(t.Context(), "default", r.ID); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("load: %v, want ErrNotFound", err)
	}
}
