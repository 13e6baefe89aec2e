package bustest

import (
	"testing"
	"time"
)

// Eventually waits until holds does, which the broker or a service brings about on its own time. It ends the test
// where that takes longer than 20 s.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	EventuallyWithin(t, 20*time.Second, what, holds)
}

// EventuallyWithin is Eventually with another patience.
func EventuallyWithin(t testing.TB, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(min(patience/1000, 50*time.Millisecond)) // what is waited for at length may also be costly to look at
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
