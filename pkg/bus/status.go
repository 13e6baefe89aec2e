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
	Rate float64
	// Done is how many tasks were ever done; it begins at zero again when the broker's store was lost.
	Done        uint64
	DeadLetters int64
	// Replicas is how many processes run the stage, as far as the broker can tell: those that wait for tasks. One whose
	// every worker is busy does not wait, so while tasks are in hand it is the most that waited at once within the last
	// minute, and at least one.
	Replicas int
	// inHand is InFlight by lane.
	inHand map[Lane]int64
	// processes is the most that waited at once within the last minute; tasks that a dead process has left in hand count
	// for none.
	processes int
}

// rateHistory remembers what was done when, to tell how fast it goes, and by how many.
type rateHistory struct {
	mu   sync.Mutex // guards seen
	seen map[Stage][]sample
}

// sample is what was seen of a stage at a time.
type sample struct {
	at      time.Time
	done    uint64
	waiting int // processes
}

// rateWindow is what a rate is taken over, and rateStep the least time between two samples.
const (
	rateWindow = time.Minute
	rateStep   = time.Second
)

// recordSample notes how many tasks were ever done, and how many processes wait. It returns how many tasks a second
// it has been, and the most processes, both over the window.
func (r *rateHistory) recordSample(s Stage, done uint64, waiting int, now time.Time) (rate float64, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = make(map[Stage][]sample)
	}
	all := r.seen[s]
	if n := len(all); n == 0 || now.Sub(all[n-1].at) >= rateStep || done < all[n-1].done {
		if n > 0 && done < all[n-1].done {
			all = nil // the broker counts from zero again
		}
		all = append(all, sample{now, done, waiting})
	}
	last := &all[len(all)-1]
	last.waiting = max(last.waiting, waiting)
	for len(all) > 1 && now.Sub(all[0].at) > rateWindow {
		all = all[1:]
	}
	r.seen[s] = all
	for _, one := range all {
		most = max(most, one.waiting)
	}
	first := all[0]
	if took := now.Sub(first.at); took > 0 {
		rate = float64(done-first.done) / took.Seconds()
	}
	return rate, most
}

// queueMonitor counts what waits in the queues and how fast it goes.
type queueMonitor struct {
	*connection

	rates rateHistory
}

// QueryStageStatuses asks the broker how every stage stands, in the pipeline's order. It takes some exchanges a
// stage, however many tasks there are.
func (b *queueMonitor) QueryStageStatuses(ctx context.Context) ([]StageStatus, error) {
	stages := AllStages()
	out := make([]StageStatus, len(stages))
	g, gctx := errgroup.WithContext(ctx)
	for i, s := range stages {
		g.Go(func() (err error) {
			out[i], err = b.queryStageStatus(gctx, s)
			return err
		})
	}
	return out, g.Wait()
}

// QueryTenantStages asks the broker for a tenant's own part of every stage: its tasks, those in hand counted among those
// that wait, and its dead letters.
func (b *queueMonitor) QueryTenantStages(ctx context.Context, tenant string) ([]StageStatus, error) {
	stages := AllStages()
	out := make([]StageStatus, len(stages))
	g, gctx := errgroup.WithContext(ctx)
	for i, s := range stages {
		g.Go(func() error {
			st := StageStatus{Stage: s, Waiting: map[Lane]int64{}}
			for _, lane := range []Lane{Interactive, Batch} {
				n, err := b.countSubject(gctx, s.StreamName(), taskSubject(s, lane, tenant, "*"))
				if err != nil {
					return err
				}
				st.Waiting[lane] = n
			}
			var err error
			st.DeadLetters, err = b.countSubject(gctx, DeadLetterStream, deadLetterSubject(s, tenant, "*"))
			out[i] = st
			return err
		})
	}
	return out, g.Wait()
}

// countSubject returns how many messages of a stream have subjects of a pattern.
func (b *queueMonitor) countSubject(ctx context.Context, name, pattern string) (n int64, err error) {
	stream, err := b.js.Stream(ctx, name)
	if err != nil {
		return 0, markBrokerBusy("stream "+name, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(pattern))
	if err != nil {
		return 0, markBrokerBusy("stream "+name, err)
	}
	for _, messages := range info.State.Subjects {
		n += int64(messages)
	}
	return n, nil
}

func (b *queueMonitor) queryStageStatus(ctx context.Context, s Stage) (StageStatus, error) {
	st := StageStatus{Stage: s, Waiting: map[Lane]int64{}, inHand: map[Lane]int64{}}
	stream, err := b.js.Stream(ctx, s.StreamName())
	if err != nil {
		return st, markBrokerBusy("stream "+s.StreamName(), err)
	}
	state := stream.CachedInfo().State
	if state.Msgs > 0 {
		st.Oldest = state.FirstTime
	}
	done, waiting := uint64(0), 0
	for _, lane := range []Lane{Interactive, Batch} {
		cons, err := stream.Consumer(ctx, DurableName(s, lane))
		if err != nil {
			return st, markBrokerBusy(fmt.Sprintf("consumer %s", DurableName(s, lane)), err)
		}
		info := cons.CachedInfo()
		st.Waiting[lane] = int64(info.NumPending)
		st.inHand[lane] = int64(info.NumAckPending)
		st.InFlight += st.inHand[lane]
		waiting = max(waiting, info.NumWaiting)
	}
	if state.LastSeq >= state.Msgs {
		done = state.LastSeq - state.Msgs // a work queue keeps what is not done
	}
	st.Done = done
	rate, most := b.rates.recordSample(s, done, waiting, time.Now())
	st.processes = most
	if st.Rate, st.Replicas = rate, waiting; st.InFlight > 0 {
		st.Replicas = max(most, 1)
	}
	st.DeadLetters, err = b.countSubject(ctx, DeadLetterStream, deadLetterSubject(s, "*", "*"))
	return st, err
}
