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
		{"a look", "ann", 100, evening, true, false},
		{"more than a day's", "ann", 101, evening, false, true},
		{"the first", "ann", 60, evening, true, true},
		{"too much", "ann", 41, evening, false, true},
		{"a look at too much", "ann", 41, evening, false, false},
		{"all that is left", "ann", 40, evening, true, true},
		{"one too many", "ann", 1, evening.Add(59 * time.Minute), false, true},
		{"another caller", "bob", 100, evening, true, true},
		{"the next day", "ann", 70, evening.Add(time.Hour), true, true},
		{"a clock that is behind", "ann", 31, evening, false, true},
		{"a clock that is a year ahead", "eve", 100, evening.AddDate(1, 0, 0), true, true},
		{"when it was put right", "eve", 100, evening, true, true},
		{"after that", "eve", 1, evening, false, true},
		{"a number without measure", "ann", 1<<63 - 1, evening, false, true},
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
