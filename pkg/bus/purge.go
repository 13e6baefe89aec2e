package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/fault"
)

// PurgeTasks drops every task of a job that is queued or in hand, at every stage. What is in hand is not redelivered either; its handler
// finds out from the job's record that it must stop.
func (b *Bus) PurgeTasks(ctx context.Context, tenant, job string) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range Stages() {
		for _, l := range []Lane{Interactive, Batch} {
			// A filter that is one whole subject is cheap, however long the queue is.
			g.Go(func() error { return b.purge(gctx, s.Stream(), taskSubject(s, l, tenant, job)) })
		}
	}
	return g.Wait()
}

// PurgeDeadLetters drops the dead letters of a job.
func (b *Bus) PurgeDeadLetters(ctx context.Context, tenant, job string) error {
	return b.purge(ctx, DeadLetterStream, deadLetterSubject("*", tenant, job))
}

func (b *Bus) purge(ctx context.Context, name, filter string) error {
	stream, err := b.js.Stream(ctx, name)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(filter))
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

// page calls see with the messages of a stream that match the filter, in order, from the one after the sequence number, at most limit of
// them. It reports whether there are more.
func (b *Bus) page(ctx context.Context, name, filter string, after uint64, limit int, see func(*jetstream.RawStreamMsg)) (bool, error) {
	stream, err := b.js.Stream(ctx, name)
	if err != nil {
		return false, away("stream "+name, err)
	}
	for n := 0; ; n++ {
		msg, err := stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(filter))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, nil
		}
		if err != nil {
			return false, away("read "+name, err)
		}
		if n == limit {
			return true, nil
		}
		see(msg)
		after = msg.Sequence
	}
}
