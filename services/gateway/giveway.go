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
	// giveWayEvery is the time from the begin of one such time to that of the next: clients that upload without a pause take a tenth of the
	// work's time at most, so that the queues are emptied all the same.
	giveWayEvery = 10 * giveWayTime
	// stillTime is how long uploads may stand still, all of them, and be a flood: it is their clients that they wait for then.
	stillTime = 20 * time.Millisecond
	// giveWayLook is how often who gives way looks whether the flood is over.
	giveWayLook = 2 * time.Millisecond
)

// flood is the uploads under way, as far as other work should wait for them.
type flood struct {
	uploads atomic.Int32
	last    atomic.Int64 // when one of them moved, in nanoseconds of Unix time

	mu    sync.Mutex // guards what follows
	since time.Time  // the begin of the latest time that was theirs
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

// GiveWay waits while more uploads are being worked on than there are cores, so that in a process that does everything their clients have their
// answers before the work goes on. It is meant for bus.SetGiveWay.
func (s *Service) GiveWay(ctx context.Context) {
	now := time.Now()
	if !s.flood.high(now) {
		return
	}
	left := s.flood.left(now)
	if left <= 0 {
		return
	}
	over := time.NewTimer(left)
	defer over.Stop()
	look := time.NewTicker(giveWayLook)
	defer look.Stop()
	for s.flood.high(now) {
		select {
		case <-ctx.Done():
			return
		case <-over.C:
			return
		case now = <-look.C:
		}
	}
}
