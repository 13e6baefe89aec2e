package projection

import (
	"context"
	"strings"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
)

// eventBatchSize is how many events are read and stored at a time.
const eventBatchSize = 500

// IndexEvent returns what the index keeps of an event. It goes when the broker's goes, or with its job.
func IndexEvent(e bus.StoredEvent) search.Event {
	at := e.GetTime().AsTime()
	return search.Event{
		Tenant: e.GetTenant(), Job: e.GetJob(), ID: e.ID, Sequence: e.Sequence, Type: e.GetType(), Run: int(e.GetRun()),
		Stage: e.GetStage(),
		Page:  int(e.GetPage()), Code: e.GetCode(), Time: at, Attributes: e.GetAttributes(),
		Tombstone: e.GetType() == strings.ToLower(string(job.Deleted)) ||
			e.GetType() == strings.ToLower(string(job.Expired)),
		ExpireTime: at.Add(bus.EventAge),
	}
}

// eventCopier copies the audit trail to an index.
type eventCopier struct {
	bus   *bus.Bus
	store search.Store

	started bool
	last    search.Event // up to which all is stored; only its ID and Sequence count
}

// copyNewEvents stores what was written since the last one; the first goes on where the index ends.
func (t *eventCopier) copyNewEvents(ctx context.Context) error {
	if !t.started {
		last, err := t.store.LastEvent(ctx)
		if err != nil {
			return err
		}
		t.started, t.last = true, last
	}
	for {
		more, err := t.copyEventBatch(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// copyEventBatch stores a part, and reports whether there is more.
func (t *eventCopier) copyEventBatch(ctx context.Context) (bool, error) {
	// The last event comes once more: if it is another one, or there is none, this is not the stream that it was, and
	// all of it is new.
	events, more, err := t.bus.ListAllEvents(ctx, max(t.last.Sequence, 1)-1, eventBatchSize)
	if err != nil {
		return false, err
	}
	if t.last.Sequence > 0 && (len(events) == 0 || events[0].Sequence == t.last.Sequence && events[0].ID != t.last.ID) {
		t.last = search.Event{}
		return true, nil
	}
	if len(events) > 0 && events[0].Sequence == t.last.Sequence {
		events = events[1:]
	}
	if len(events) == 0 {
		return false, nil
	}
	out := make([]search.Event, 0, len(events))
	for _, e := range events {
		if e.ID != "" && e.GetTenant() != "" && e.GetJob() != "" { // else none that a service wrote
			out = append(out, IndexEvent(e))
		}
	}
	if err := t.store.PutEvents(ctx, out); err != nil {
		return false, err
	}
	last := events[len(events)-1]
	t.last = search.Event{ID: last.ID, Sequence: last.Sequence}
	return more, nil
}

// CopyEvents stores all of the audit trail that the broker keeps. What is in the index already is left.
func CopyEvents(ctx context.Context, b *bus.Bus, store search.Store) error {
	return (&eventCopier{bus: b, store: store, started: true}).copyNewEvents(ctx)
}
