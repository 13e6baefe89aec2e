package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/fault"
)

// PurgeTasks drops every task of a job that is queued or in hand, at every stage. What is in hand is not redelivered either; its handler
// finds out from the job's record that it must stop.
func (b *Bus) PurgeTasks(ctx context.Context, tenant, job string) error {
	return b.PurgeTasksUntil(ctx, tenant, job, nil)
}

// Position is a moment in the life of the stages' streams: the last message that each had taken.
type Position map[Stage]uint64

// Position returns the present moment.
func (b *Bus) Position(ctx context.Context) (Position, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	last := make([]uint64, len(Stages()))
	g, gctx := errgroup.WithContext(ctx)
	for i, s := range Stages() {
		g.Go(func() error {
			stream, err := b.js.Stream(gctx, s.Stream()) // asks for its state as well
			if err == nil {
				last[i] = stream.CachedInfo().State.LastSeq
			}
			return away("stream "+s.Stream(), err)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	p := make(Position, len(last))
	for i, s := range Stages() {
		p[s] = last[i]
	}
	return p, nil
}

// PurgeTasksUntil is PurgeTasks for the tasks that were there at a moment; later ones stay. A nil moment is now.
func (b *Bus) PurgeTasksUntil(ctx context.Context, tenant, job string, until Position) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range Stages() {
		var opts []jetstream.StreamPurgeOpt
		if until != nil {
			opts = append(opts, jetstream.WithPurgeSequence(until[s]+1))
		}
		for _, l := range []Lane{Interactive, Batch} {
			// A filter that is one whole subject is cheap, however long the queue is.
			g.Go(func() error { return b.purge(gctx, s.Stream(), taskSubject(s, l, tenant, job), opts...) })
		}
	}
	return g.Wait()
}

// PurgeDeadLetters drops the dead letters of a job.
func (b *Bus) PurgeDeadLetters(ctx context.Context, tenant, job string) error {
	return b.purge(ctx, DeadLetterStream, deadLetterSubject("*", tenant, job))
}

func (b *Bus) purge(ctx context.Context, name, filter string, opts ...jetstream.StreamPurgeOpt) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	stream, err := b.js.Stream(ctx, name)
	if err == nil {
		err = stream.Purge(ctx, append(opts[:len(opts):len(opts)], jetstream.WithPurgeSubject(filter))...)
	}
	return away("purge "+filter, err)
}

// away marks an error of the broker as one that passes.
func away(what string, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", what, err))
}
