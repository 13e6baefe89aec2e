package sandbox

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestRemainingTime(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tt := range []struct {
		name                  string
		elapsed, waited, want time.Duration
	}{
		{"at first", 0, 0, 10 * s},
		{"half of it", 5 * s, 0, 5 * s},
		{"all of it", 10 * s, 0, 0},
		{"all of it, but it waited", 10 * s, 4 * s, 4 * s},
		{"all of it and what it waited", 14 * s, 4 * s, 0},
		{"several threads waited at once", 12 * s, 40 * s, 10 * s},
		{"hardly ever on a processor", 99 * s, 98 * s, s},
		{"no more than the most", 100 * s, 99 * s, 0},
		{"far beyond it", 200 * s, 199 * s, 0},
	} {
		if got := remainingTime(10*s, tt.elapsed, tt.waited); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Two threads on one processor: while one works the other waits, and that is what is counted.
func TestSchedulerWait(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("this kernel does not count it: ", err)
	}
	var done atomic.Bool
	ended := make(chan error)
	for range 2 {
		go func() {
			runtime.LockOSThread() // for good: the thread ends with the goroutine, because it is bound to one processor
			var all, one unix.CPUSet
			err := unix.SchedGetaffinity(0, &all)
			for cpu := 0; err == nil && one.Count() == 0; cpu++ {
				if all.IsSet(cpu) {
					one.Set(cpu)
				}
			}
			if err == nil {
				err = unix.SchedSetaffinity(0, &one)
			}
			self := "/proc/self/task/" + strconv.Itoa(unix.Gettid())
			for start := time.Now(); err == nil && !done.Load(); {
				if threadSchedulerWait(self) > 20*time.Millisecond {
					done.Store(true)
				}
				if time.Since(start) > time.Minute {
					err = errors.New("two busy threads on one processor, and neither is said to have waited")
				}
			}
			ended <- err
		}()
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if sum := (&process{pid: unix.Getpid()}).schedulerWait(); sum <= 0 {
		t.Errorf("the process waited %s in all, and two of its threads had to", sum)
	}
}
