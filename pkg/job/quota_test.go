package job_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
)

func TestConsumeQuota(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	jobs := bustest.NewJobStore(t, b)
	evening := time.Date(2026, 1, 2, 23, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		caller  string
		n       int64
		at      time.Time
		want    bool
		counted bool
	}{
		{name: "a look", caller: "ann", n: 100, at: evening, want: true},
		{name: "more than a day's", caller: "ann", n: 101, at: evening, counted: true},
		{name: "the first", caller: "ann", n: 60, at: evening, want: true, counted: true},
		{name: "too much", caller: "ann", n: 41, at: evening, counted: true},
		{name: "a look at too much", caller: "ann", n: 41, at: evening},
		{name: "all that is left", caller: "ann", n: 40, at: evening, want: true, counted: true},
		{name: "one too many", caller: "ann", n: 1, at: evening.Add(59 * time.Minute), counted: true},
		{name: "another caller", caller: "bob", n: 100, at: evening, want: true, counted: true},
		{name: "the next day", caller: "ann", n: 70, at: evening.Add(time.Hour), want: true, counted: true},
		{name: "a clock that is behind", caller: "ann", n: 31, at: evening, counted: true},
		{name: "a clock that is a year ahead", caller: "eve", n: 100, at: evening.AddDate(1, 0, 0), want: true,
			counted: true},
		{name: "when it was put right", caller: "eve", n: 100, at: evening, want: true, counted: true},
		{name: "after that", caller: "eve", n: 1, at: evening, counted: true},
		{name: "a number without measure", caller: "ann", n: 1<<63 - 1, at: evening, counted: true},
	} {
		ask := jobs.CheckQuota
		if tt.counted {
			ask = jobs.ConsumeQuota
		}
		if got, err := ask(t.Context(), "default", tt.caller, tt.n, 100, tt.at); err != nil || got != tt.want {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	if room, err := jobs.ConsumeQuota(t.Context(), "other", "ann", 100, 100, evening); err != nil || !room {
		t.Errorf("the caller of that name of another tenant: got %v, %v", room, err)
	}
}

// Two gateways that count at once allow no more than one would.
func TestConsumeQuotaConcurrently(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	gateways := []*job.Store{bustest.NewJobStore(t, b), bustest.NewJobStore(t, b)}
	var taken atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			room, err := gateways[i%2].ConsumeQuota(t.Context(), "default", "ann", 10, 100,
				time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			if err != nil {
				t.Error(err)
			}
			if room {
				taken.Add(10)
			}
		})
	}
	wg.Wait()
	if got := taken.Load(); got != 100 {
		t.Errorf("%d bytes were taken, want 100", got)
	}
}
