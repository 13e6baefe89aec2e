package projection

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
)

// A pass that is asked for begins when the index has rested, and any when it is due.
func TestPassBeginsSoonAfterItIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		askedAfter, rest, want time.Duration
		asked                  bool
	}{
		"without a rest":         {0, 0, 0, true},
		"while the index rests":  {100 * time.Millisecond, 400 * time.Millisecond, 400 * time.Millisecond, true},
		"when it has rested":     {500 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond, true},
		"never":                  {time.Hour, 0, 2 * time.Second, false},
		"before the wait":        {-1, 0, 0, true},
		"before a rest":          {-1, 300 * time.Millisecond, 300 * time.Millisecond, true},
		"before one that is due": {1999 * time.Millisecond, 2 * time.Hour, 2 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, start := New(nil, nil, nil, slog.New(slog.DiscardHandler)), time.Now()
				if c.askedAfter < 0 {
					p.CopySoon()
				} else {
					time.AfterFunc(c.askedAfter, p.CopySoon)
				}
				asked, err := p.awaitNextPass(t.Context(), 2*time.Second, c.rest)
				if took := time.Since(start); err != nil || asked != c.asked || took != c.want {
					t.Errorf("got a pass after %v, asked for: %v, %v, want one after %v, %v", took, asked, err, c.want, c.asked)
				}
			})
		})
	}
}

func TestNoPassAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := New(nil, nil, nil, slog.New(slog.DiscardHandler)).awaitNextPass(ctx, time.Hour, time.Hour)
	if err == nil {
		t.Error("awaitNextPass: got a pass, want the end")
	}
}

// A document that is stored while its job is removed leaves the index however many passes come before the mark of the
// removal is read, and however often it was stored.
func TestRemovalIsSeenPassesLater(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	index, err := search.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = index.Close() })
	scanner := jobs.NewRecordScanner()
	t.Cleanup(scanner.Close)
	copier := recordCopier{scanner: scanner, store: index}
	pass := func() {
		t.Helper()
		if err := copier.copyChangedRecords(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		t.Helper()
		list, err := index.ListJobs(t.Context(), search.JobQuery{Tenant: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Jobs)
	}
	change := func(state job.State) {
		t.Helper()
		if _, err := jobs.UpdateRecord(t.Context(), "acme", "gone", func(r *job.Record) error {
			r.State = state
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := jobs.CreateRecord(t.Context(), &job.Record{ID: "gone", Tenant: "acme", Run: 1, State: job.Running,
		CreateTime: time.Now()}); err != nil {
		t.Fatal(err)
	}
	pass()
	change(job.Succeeded)
	bustest.Eventually(t, "the end is stored", func() bool {
		pass()
		return copier.after > 1
	})
	for range 3 {
		pass()
	}
	if got := count(); got != 1 {
		t.Fatalf("got %d documents, want one", got)
	}
	change(job.Deleted)
	bustest.Eventually(t, "the document leaves the index", func() bool {
		pass()
		return count() == 0
	})
}
