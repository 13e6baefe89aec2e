package webhook

import (
	"errors"
	"testing"
	"time"
)

func TestCircuit(t *testing.T) {
	t.Parallel()
	b, now, failed := newCircuitBreaker(), time.Unix(0, 0), errors.New("no answer")
	fail := func() { b.record("r", slowCall, failed, now) }
	for range slowCallsToOpen {
		if wait := b.check("r", now); wait != 0 {
			t.Fatalf("closed: got a wait of %s", wait)
		}
		fail()
	}
	for _, open := range []time.Duration{firstOpen, 2 * firstOpen} {
		if wait := b.check("r", now); wait < open {
			t.Errorf("open: got a wait of %s, want %s", wait, open)
		}
		if wait := b.check("other", now); wait != 0 {
			t.Errorf("another receiver: got a wait of %s", wait)
		}
		now = now.Add(open)
		if wait := b.check("r", now); wait != 0 {
			t.Errorf("half open: got a wait of %s for the first call", wait)
		}
		if wait := b.check("r", now); wait == 0 {
			t.Error("half open: a second call may be made")
		}
		fail()
	}
	now = now.Add(time.Hour)
	b.check("r", now)
	b.record("r", time.Millisecond, nil, now)
	if wait := b.check("r", now); wait != 0 {
		t.Errorf("after a call that was taken: got a wait of %s", wait)
	}
	for range 10 {
		b.record("quick", time.Millisecond, failed, now)
	}
	if wait := b.check("quick", now); wait != 0 {
		t.Errorf("a receiver that refuses at once: got a wait of %s", wait)
	}
}
