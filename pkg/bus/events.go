package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"

	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// StoredEvent is an event with its place in the audit trail.
type StoredEvent struct {
	Sequence uint64
	*busv1.Event
}

// Events returns a job's audit trail in order, from the event after the sequence number on (0 for the first), at most limit of them. It
// reports whether there are more. A repeat of an event, which a restart of the broker can let through, is left out.
func (b *Bus) Events(ctx context.Context, tenant, job string, after uint64, limit int) (events []StoredEvent, more bool, err error) {
	seen := make(map[string]bool)
	var bad error
	more, err = b.page(ctx, EventStream, eventSubject(tenant, job, "*"), after, limit, func(msg *jetstream.RawStreamMsg) {
		e := &busv1.Event{}
		if uerr := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(msg.Data, e); uerr != nil {
			bad = fmt.Errorf("decode event %d: %w", msg.Sequence, uerr)
			return
		}
		if id := msg.Header.Get(jetstream.MsgIDHeader); id != "" {
			if seen[id] {
				return
			}
			seen[id] = true
		}
		events = append(events, StoredEvent{Sequence: msg.Sequence, Event: e})
	})
	if err == nil {
		err = bad
	}
	return events, more, err
}
