package reconcile

import (
	"context"
	"testing"
	"time"

	"inkstream.dev/pkg/job"
)

// A clock that jumps 40 days ahead removes nothing that is to be kept for 30: neither where the broker's stays, nor where
// it is the same clock. When it is back, or the hold is over, the removal of what is over goes on.
func TestClockThatJumpsAheadRemovesNothing(t *testing.T) {
	t.Parallel()
	const jump = 40 * 24 * time.Hour
	for _, sameClock := range []bool{false, true} {
		f := newFixture(t)
		start := time.Now()
		var passed time.Duration
		f.now = func() time.Time { return start.Add(passed + f.ahead) }
		f.clock.uptime = func() time.Duration { return time.Hour + passed }
		f.clock.broker = func(ctx context.Context) (time.Time, error) {
			if sameClock {
				return f.now(), nil
			}
			return f.env.Jobs.BrokerTime(ctx)
		}
		rec := record()
		rec.State, rec.StartTime, rec.EndTime = job.Succeeded, start.UTC(), start.UTC()
		rec.ExpireTime = start.Add(30 * 24 * time.Hour)
		f.create(rec)
		stray := record() // its upload broke off
		f.put(job.SourceKey(stray.Tenant, stray.ID), "%PDF")
		f.runPass()

		f.ahead = jump
		for range 2 {
			if report, err := f.RunPass(t.Context()); err == nil || report.Removed+report.Discarded+report.Forgotten != 0 {
				t.Errorf("same clock %t: a clock that jumped: %+v, %v; want nothing removed and the reason", sameClock, report, err)
			}
			passed += time.Minute
		}
		if f.load(rec.ID) == nil || len(f.blobs(stray.ID)) != 1 {
			t.Fatalf("same clock %t: a clock that jumped has removed what was to be kept", sameClock)
		}
		if !sameClock {
			f.ahead = 0
			if _, err := f.RunPass(t.Context()); err == nil {
				t.Error("a clock that was set just now is believed")
			}
		}
		passed += clockHold
		if !sameClock {
			f.clock.broker = func(context.Context) (time.Time, error) { return f.now(), nil } // its day has passed as well
			passed += 30 * 24 * time.Hour
		}
		if report := f.runPass(); report.Removed != 1 || report.Discarded != 1 {
			t.Errorf("same clock %t: when the hold is over: %+v, want one removed, one discarded", sameClock, report)
		}
	}
}

// A clock that jumps back stalls nothing: what stands still is queued again.
func TestClockThatJumpsBackStallsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rec := cutRecord()
	f.create(rec)
	f.runPass()
	f.clock.broker, f.clock.uptime = f.env.Jobs.BrokerTime, uptime
	f.ahead = -40 * 24 * time.Hour
	if report, err := f.RunPass(t.Context()); report.Republished != 1 || err == nil {
		t.Errorf("a clock that jumped back: %+v, %v; want one job queued again, and the reason why nothing is removed", report, err)
	}
}
