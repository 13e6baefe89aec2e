package bus

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/fault"
)

// taskPurger removes tasks and dead letters of a job.
type taskPurger struct{ *connection }

// PurgeTasks drops every task of a job that is queued or in hand, at every stage. What is in hand is not redelivered
// either; its handler finds out from the job's record that it must stop.
func (b *taskPurger) PurgeTasks(ctx context.Context, tenant, job string) error {
	return b.PurgeTasksUntil(ctx, tenant, job, nil)
}

// StreamPositions is a moment in the life of the stages' streams: the last message that each had taken.
type StreamPositions map[Stage]uint64

// CurrentPositions returns the present moment.
func (b *taskPurger) CurrentPositions(ctx context.Context) (StreamPositions, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	last := make([]uint64, len(AllStages()))
	g, gctx := errgroup.WithContext(ctx)
	for i, s := range AllStages() {
		g.Go(func() error {
			stream, err := b.js.Stream(gctx, s.StreamName()) // asks for its state as well
			if err == nil {
				last[i] = stream.CachedInfo().State.LastSeq
			}
			return markBrokerBusy("stream "+s.StreamName(), err)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	p := make(StreamPositions, len(last))
	for i, s := range AllStages() {
		p[s] = last[i]
	}
	return p, nil
}

// PurgeTasksUntil is PurgeTasks for the tasks that were there at a moment; later ones stay. A nil moment is now.
func (b *taskPurger) PurgeTasksUntil(ctx context.Context, tenant, job string, until StreamPositions) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range AllStages() {
		last := uint64(math.MaxUint64)
		if until != nil {
			last = until[s]
		}
		for _, l := range []Lane{Interactive, Batch} {
			g.Go(func() error { return b.deleteTasks(gctx, s, taskSubject(s, l, tenant, job), last) })
		}
	}
	return g.Wait()
}

// deleteTasks deletes the tasks of a subject up to a sequence, one by one: a purge with a filter makes the server
// (2.15) forget which other tasks of the stream are in hand, and a crash of who has one of those would then lose it.
func (b *taskPurger) deleteTasks(ctx context.Context, s Stage, subject string, last uint64) error {
	for seq := uint64(1); ; {
		m, err := b.readStored(ctx, s, seq, subject)
		if errors.Is(err, errNoMessage) || err == nil && m.seq > last {
			return nil
		}
		if err == nil {
			err = b.deleteStored(ctx, s, m.seq)
		}
		if err != nil {
			return markBrokerBusy("delete tasks of "+subject, err)
		}
		seq = m.seq + 1
	}
}

// deleteStored deletes a message. One that is not there any more is no error.
func (b *taskPurger) deleteStored(ctx context.Context, s Stage, seq uint64) error {
	var answer struct {
		Error *jetstream.APIError `json:"error"`
	}
	err := b.requestStreamAPI(ctx, "STREAM.MSG.DELETE", s, struct {
		Seq     uint64 `json:"seq"`
		NoErase bool   `json:"no_erase"` // else the server rewrites the whole block of messages
	}{seq, true}, &answer)
	if err == nil && answer.Error != nil {
		if _, err := b.readStored(ctx, s, seq, ""); errors.Is(err, errNoMessage) {
			return nil // its handler, or another process, was faster
		}
		err = answer.Error
	}
	if err != nil {
		return fmt.Errorf("delete message %d of %s: %w", seq, s.StreamName(), err)
	}
	return nil
}

// PurgeDeadLetters drops the dead letters of a job.
func (b *taskPurger) PurgeDeadLetters(ctx context.Context, tenant, job string) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	filter := deadLetterSubject("*", tenant, job)
	stream, err := b.js.Stream(ctx, DeadLetterStream) // it has no consumers, which a purge might harm
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(filter))
	}
	return markBrokerBusy("purge "+filter, err)
}

// markBrokerBusy marks an error of the broker as one that passes.
func markBrokerBusy(what string, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", what, err))
}
