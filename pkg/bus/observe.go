package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/telemetry"
)

// observedStreams are the streams, beside those of the stages, whose size and replicas are told.
var observedStreams = []string{DeadLetterStream, jobStream, "KV_" + KeyBucket, "KV_" + WebhookBucket}

// State returns what the metrics tell of the broker: each collection of them calls it. Its error joins what could not
// be read; the rest is there. It takes some exchanges a stage, however many tasks there are.
func (b *queueMonitor) State(ctx context.Context) (telemetry.Broker, error) {
	var mu sync.Mutex // guards state and errs
	var state telemetry.Broker
	var errs []error
	var wg sync.WaitGroup
	add := func(part telemetry.Broker, err error) {
		mu.Lock()
		defer mu.Unlock()
		state.Queues = append(state.Queues, part.Queues...)
		state.Stages = append(state.Stages, part.Stages...)
		state.Streams = append(state.Streams, part.Streams...)
		errs = append(errs, err)
	}
	for _, s := range AllStages() {
		wg.Go(func() { add(b.stageState(ctx, s)) })
		wg.Go(func() { add(b.streamState(ctx, s.StreamName())) })
	}
	for _, name := range observedStreams {
		wg.Go(func() { add(b.streamState(ctx, name)) })
	}
	wg.Wait()
	return state, errors.Join(errs...)
}

func (b *queueMonitor) stageState(ctx context.Context, s Stage) (part telemetry.Broker, err error) {
	st, err := b.queryStageStatus(ctx, s)
	if err != nil {
		return part, err
	}
	part.Stages = []telemetry.Stage{{Name: string(s), Processes: int64(st.processes), DeadLetters: st.DeadLetters}}
	for _, l := range []Lane{Interactive, Batch} {
		q := telemetry.Queue{Stage: string(s), Lane: string(l), Waiting: st.Waiting[l], InHand: st.inHand[l]}
		if q.Waiting+q.InHand > 0 {
			if q.Oldest, err = b.oldest(ctx, s, l); err != nil {
				return part, err
			}
		}
		part.Queues = append(part.Queues, q)
	}
	return part, nil
}

// oldest returns when the first task of a lane's queue was queued; zero where there is none.
func (b *queueMonitor) oldest(ctx context.Context, s Stage, l Lane) (time.Time, error) {
	m, err := b.readStored(ctx, s, 1, laneSubjects(s, l))
	if errors.Is(err, errNoMessage) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	meta, err := m.Metadata()
	if err != nil {
		return time.Time{}, err
	}
	return firstQueuedAt(m, meta), nil
}

func (b *queueMonitor) streamState(ctx context.Context, name string) (part telemetry.Broker, err error) {
	stream, err := b.js.Stream(ctx, name)
	if err != nil {
		return part, markBrokerBusy(fmt.Sprintf("stream %s", name), err)
	}
	info := stream.CachedInfo()
	st := telemetry.Stream{Name: name, Messages: int64(info.State.Msgs), Bytes: int64(info.State.Bytes)}
	if info.Config.Replicas > 1 {
		st.Behind = int64(info.Config.Replicas - upToDate(info.Cluster))
	}
	part.Streams = []telemetry.Stream{st}
	return part, nil
}

// upToDate counts the replicas of a stream that have everything, its leader among them.
func upToDate(c *jetstream.ClusterInfo) int {
	if c == nil || c.Leader == "" {
		return 0
	}
	n := 1
	for _, peer := range c.Replicas {
		if peer.Current && !peer.Offline {
			n++
		}
	}
	return n
}
