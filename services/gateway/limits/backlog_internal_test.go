package limits

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
)

func TestAdmissionAsksRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		answer, failing := bus.Backlog{Tasks: 5, Limit: 10}, false
		a := &backlogGuard{maxBacklog: 5, loadBacklog: func(context.Context, bus.Stage) (bus.Backlog, error) {
			asked.Add(1)
			if failing {
				return bus.Backlog{}, errors.New("the broker is away")
			}
			b := answer
			b.Time = time.Now()
			return b, nil
		}}
		step := func(what string, questions int64, want fault.Code) {
			t.Helper()
			before := asked.Load()
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					code := fault.Code("")
					if err := a.check(t.Context()); err != nil {
						code = fault.CodeOf(err)
					}
					if code != want {
						t.Errorf("%s: got %q, want %q", what, code, want)
					}
				})
			}
			wg.Wait()
			if got := asked.Load() - before; got != questions {
				t.Errorf("%s: asked %d times, want %d", what, got, questions)
			}
		}
		wait := func() { <-time.After(backlogAge) }

		step("at first", 1, fault.QueueFull)
		answer.Tasks = 0
		step("within a second", 0, fault.QueueFull)
		wait()
		_ = a.check(t.Context())
		step("when the queue has drained", 0, "")
		answer.Tasks = 5
		wait()
		_ = a.check(t.Context())
		failing = true
		wait()
		_ = a.check(t.Context())
		step("when the backlog cannot be read", 0, "")
	})
}
