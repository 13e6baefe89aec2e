package lifecycle_test

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Every thread that the runtime starts has the slack, the monitor of threads among them, which is its first.
func TestThreadsHaveTimerSlack(t *testing.T) {
	t.Parallel()
	const want = 500 * time.Microsecond
	for range 3 {
		slack := make(chan time.Duration)
		go func() {
			runtime.LockOSThread() // and never unlocked, so that the next goroutine has another thread
			n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
			if err != nil {
				t.Errorf("ask for the slack: %v", err)
			}
			slack <- time.Duration(n)
		}()
		if got := <-slack; got != want {
			t.Errorf("timers may be late by %v, want %v", got, want)
		}
	}
}
