package bus

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// StageStatus is how a stage stands.
type StageStatus struct {
	Stage Stage
	// Waiting counts the tasks that wait, by lane; InFlight those in hand.
	Waiting  map[Lane]int64
	InFlight int64
	// Oldest is when the oldest task that waits or is in hand was queued; zero where there is none.
	Oldest time.Time
	// Rate is how many tasks are done a second, over the last minute at most; 0 until it was asked for twice.
	Rate        float64
	DeadLetters int64
	// Replicas is how many processes wait for tasks. One whose every worker is busy does not wait, so it counts only where none does.
	Replicas int
}

// rates remembers what was done when, to tell how fast it goes.
type rates struct {
	mu   sync.Mutex // guards seen
	seen map[Stage][]sample
}

type sample struct {
	at   time.Time
	done uint64
}

// rateWindow is what a rate is taken over, and rateStep the least time between two samples.
const (
	rateWindow = time.Minute
	rateStep   = time.Second
)

// rate notes how many tasks were ever done, and returns how many a second it has been.
func (r *rates) rate(s Stage, done uint64, now time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = make(map[Stage][]sample)
	}
	all := r.seen[s]
	if n := len(all); n == 0 || now.Sub(all[n-1].at) >= rateStep || done < all[n-1].done {
		if n > 0 && done < all[n-1].done {
			all = nil // the broker counts anew
		}
		all = append(all, sample{now, done})
	}
	for len(all) > 1 && now.Sub(all[0].at) > rateWindow {
		all = all[1:]
	}
	r.seen[s] = all
	first := all[0]
	if took := now.Sub(first.at); took > 0 {
		return float64(done-first.done) / took.Seconds()
	}
	return 0
}

// StageStatus asks the broker how every stage stands, in the pipeline's order. It takes some exchanges a stage, however many tasks there are.
func (b *Bus) StageStatus(ctx context.Context) ([]StageStatus, error) {
	stages := Stages()
	out := make([]StageStatus, len(stages))
	g, gctx := errgroup.WithContext(ctx)
	for i, s := range stages {
		g.Go(func() (err error) {
			out[i], err = b.stageStatus(gctx, s)
			return err
		})
	}
	return out, g.Wait()
}

func (b *Bus) stageStatus(ctx context.Context, s Stage) (StageStatus, error) {
	st := StageStatus{Stage: s, Waiting: map[Lane]int64{}}
	stream, err := b.js.Stream(ctx, s.Stream())
	if err != nil {
		return st, away("stream "+s.Stream(), err)
	}
	state := stream.CachedInfo().State
	if state.Msgs > 0 {
		st.Oldest = state.FirstTime
	}
	done := uint64(0)
	for _, lane := range []Lane{Interactive, Batch} {
		cons, err := stream.Consumer(ctx, Durable(s, lane))
		if err != nil {
			return st, away(fmt.Sprintf("consumer %s", Durable(s, lane)), err)
		}
		info := cons.CachedInfo()
		st.Waiting[lane] = int64(info.NumPending)
		st.InFlight += int64(info.NumAckPending)
		st.Replicas = max(st.Replicas, info.NumWaiting)
	}
	if state.LastSeq >= state.Msgs {
		done = state.LastSeq - state.Msgs // a work queue keeps what is not done
	}
	st.Rate = b.rates.rate(s, done, time.Now())
	letters, err := b.js.Stream(ctx, DeadLetterStream)
	if err != nil {
		return st, away("stream "+DeadLetterStream, err)
	}
	about, err := letters.Info(ctx, jetstream.WithSubjectFilter(deadLetterSubject(s, "*", "*")))
	if err != nil {
		return st, away("stream "+DeadLetterStream, err)
	}
	for _, n := range about.State.Subjects {
		st.DeadLetters += int64(n)
	}
	return st, nil
}
