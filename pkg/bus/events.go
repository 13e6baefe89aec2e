package bus

import (
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"

	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// StoredEvent is an event with its place in the audit trail.
type StoredEvent struct {
	Sequence uint64
	// ID is the same of every repeat of the event.
	ID string
	*busv1.Event
}

// eventTrail reads the audit trail.
type eventTrail struct{ *connection }

// ListEvents returns a job's audit trail in order, from the event after the sequence number on (0 for the first), at
// most limit of them. It reports whether there are more. A repeat of an event, which a restart of the broker can let
// through, is left out.
func (b *eventTrail) ListEvents(ctx context.Context, tenant, job string, after uint64,
	limit int) (events []StoredEvent, more bool, err error) {
	events, more, err = b.readEvents(ctx, eventSubject(tenant, job, "*"), after, limit)
	seen := make(map[string]bool)
	return slices.DeleteFunc(events, func(e StoredEvent) bool {
		repeat := e.ID != "" && seen[e.ID]
		seen[e.ID] = true
		return repeat
	}), more, err
}

// ListAllEvents returns the audit trails of all jobs as they were written, repeats included, from the event after the
// sequence number on, at most limit of them. It reports whether there are more.
func (b *eventTrail) ListAllEvents(ctx context.Context, after uint64, limit int) (events []StoredEvent, more bool, err error) {
	return b.readEvents(ctx, allEvents, after, limit)
}

// maxEndEvents is how many ends of a job are looked at: each run has one, and repeats that a restart of the broker
// let through.
const maxEndEvents = 1000

// HasEndEvent reports whether the audit trail has the end of a job's run. On a replicated stream it may miss one that
// was just told.
func (b *eventTrail) HasEndEvent(ctx context.Context, tenant, job string, run int) (bool, error) {
	events, _, err := b.readEvents(ctx, eventSubject(tenant, job, "ended"), 0, maxEndEvents)
	return slices.ContainsFunc(events, func(e StoredEvent) bool { return int(e.GetRun()) == run }), err
}

func (b *eventTrail) readEvents(ctx context.Context, filter string, after uint64,
	limit int) (events []StoredEvent, more bool, err error) {
	var bad error
	more, err = b.scanMessages(ctx, EventStream, filter, after, limit, func(msg *jetstream.RawStreamMsg) {
		e := &busv1.Event{}
		if uerr := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(msg.Data, e); uerr != nil {
			bad = fmt.Errorf("decode event %d: %w", msg.Sequence, uerr)
			return
		}
		events = append(events, StoredEvent{Sequence: msg.Sequence, ID: msg.Header.Get(jetstream.MsgIDHeader), Event: e})
	})
	if err == nil {
		err = bad
	}
	return events, more, err
}
