package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/fault"
)

const (
	// endedPrefix begins the names of the records of ended sessions, which lie beside the keys that they were begun with.
	endedPrefix = "ended-"
	// maxEnded is how many sessions of a key that have ended are known one by one. Where there are more, those end too
	// that were begun before the oldest of them.
	maxEnded = 100
	// endTries is how often a record is written that others write as well.
	endTries = 10
)

// endedSessions are a key's sessions whose cookies count no more.
type endedSessions struct {
	// Sessions are those that ended lately, the one begun first first.
	Sessions []session `json:"sessions"`
	// Before ends all that were begun until then, in milliseconds since 1970.
	Before int64 `json:"before,omitempty"`
}

// hasEnded reports whether the browser of a session has signed out.
func (k *Keys) hasEnded(v *session) bool {
	record, _ := k.mirror.Get(endedPrefix + v.Key)
	return record.Ended != nil && v.ID != "" && record.Ended.has(v)
}

func (e *endedSessions) has(v *session) bool {
	return v.Begin <= e.Before || slices.ContainsFunc(e.Sessions, func(o session) bool { return o.ID == v.ID })
}

// endSession has a session of a key count no more, here at once and at other gateways within moments.
func (k *Keys) endSession(ctx context.Context, key *Key, v *session) error {
	if v.ID == "" {
		return nil // of a version that gave none; it ends with its cookie
	}
	name := endedPrefix + key.ID
	for range endTries {
		record, revision, err := k.readEnded(ctx, name)
		if err != nil {
			return err
		}
		record.ID, record.Tenant, record.ExpireTime = name, key.Tenant, time.Now().Add(sessionAge)
		record.Ended.add(*v)
		data, err := json.Marshal(record)
		if err != nil {
			return fmt.Errorf("encode ended sessions: %w", err)
		}
		revision, err = k.kv.Update(ctx, name, data, revision) // at revision 0 it creates the record
		if errors.Is(err, jetstream.ErrKeyExists) {
			continue // another browser signs out as well
		}
		if err != nil {
			return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("store ended sessions: %w", err))
		}
		k.mirror.Set(name, record, revision)
		return nil
	}
	return fault.New(fault.Unavailable, "others sign out with the same key; try again")
}

// readEnded reads a record of ended sessions, an empty one where there is none.
func (k *Keys) readEnded(ctx context.Context, name string) (record Key, revision uint64, err error) {
	e, err := k.kv.Get(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
	case err != nil:
		return record, 0, fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("read ended sessions: %w", err))
	default:
		if err := json.Unmarshal(e.Value(), &record); err != nil {
			return record, 0, fmt.Errorf("decode ended sessions: %w", err)
		}
		revision = e.Revision()
	}
	if record.Ended == nil {
		record.Ended = &endedSessions{}
	}
	return record, revision, nil
}

// add adds a session, and forgets those whose cookies have expired.
func (e *endedSessions) add(v session) {
	now := time.Now().Unix()
	e.Sessions = slices.DeleteFunc(append(e.Sessions, v), func(o session) bool { return now >= o.Expire })
	slices.SortFunc(e.Sessions, func(a, b session) int { return int(a.Begin - b.Begin) })
	for ; len(e.Sessions) > maxEnded; e.Sessions = e.Sessions[1:] {
		e.Before = e.Sessions[0].Begin
	}
}
