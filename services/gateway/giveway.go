package gateway

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// giveWayTime is how long a flood of uploads has the processors to itself. It bounds what a job takes longer for it.
	giveWayTime = time.Second
	// giveWayEvery is the time from the start of one such time to that of the next: clients that upload without a pause
	// take a tenth of the work's time at most, so that the queues are emptied all the same.
	giveWayEvery = 10 * giveWayTime
	// stillTime is how long uploads may stand still, all of them, and be a flood: it is their clients that they wait for
	// then.
	stillTime = 20 * time.Millisecond
	// giveWayLook is how often a flood that other work waits for is checked for its end.
	giveWayLook = 2 * time.Millisecond
)

// flood is the uploads under way, as far as other work should wait for them.
type flood struct {
	uploads atomic.Int32
	last    atomic.Int64 // when one of them moved, in nanoseconds of Unix time

	mu    sync.Mutex    // guards what follows
	since time.Time     // the start of the latest time that was theirs
	ebb   chan struct{} // closed when the flood is over; nil where no caller waits
}

func (f *flood) enter() {
	f.moved()
	f.uploads.Add(1)
}

func (f *flood) leave() { f.uploads.Add(-1) }

// moved notes that an upload gets on.
func (f *flood) moved() { f.last.Store(time.Now().UnixNano()) }

// high reports whether more uploads are being worked on than there are cores.
func (f *flood) high(now time.Time) bool {
	return f.uploads.Load() > int32(runtime.NumCPU()) && now.UnixNano()-f.last.Load() < int64(stillTime)
}

// left returns how long the flood may go on at others' cost.
func (f *flood) left(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.since) >= giveWayEvery {
		f.since = now
	}
	return f.since.Add(giveWayTime).Sub(now)
}

// over returns a channel that is closed when a flood that is high now is over. One goroutine checks for all callers
// that wait, because each upload of the flood leaves one such caller behind.
func (f *flood) over() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ebb == nil {
		f.ebb = make(chan struct{})
		go f.watch()
	}
	return f.ebb
}

func (f *flood) watch() {
	look := time.NewTicker(giveWayLook)
	defer look.Stop()
	for now := range look.C {
		if !f.high(now) {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.ebb)
	f.ebb = nil
}

// GiveWay waits while more uploads are being worked on than there are cores, so that in a process that does
// everything their clients have their answers before the work goes on. It is meant for bus.SetYieldHook.
func (s *Service) GiveWay(ctx context.Context) {
	now := time.Now()
	if !s.flood.high(now) {
		return
	}
	left := s.flood.left(now)
	if left <= 0 {
		return
	}
	enough := time.NewTimer(left)
	defer enough.Stop()
	select {
	case <-ctx.Done():
	case <-enough.C:
	case <-s.flood.over():
	}
}
