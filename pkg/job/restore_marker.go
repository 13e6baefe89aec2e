package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// restoreMarkerKey begins as the claims on content do, because the user of every service may read and write such
// keys; no tenant has this one.
const restoreMarkerKey = "content.mark"

// RestoreMarker is one key of the bucket, which is written again and again as the records change. A reader that has
// seen its revision can tell an older copy of the bucket, in which it has a lower one, even if much else was written
// since to that.
type RestoreMarker struct {
	// Revision is the key's; 0 where there is none.
	Revision uint64 `json:"revision"`
	// Restored is when the bucket was last found to be an older copy; zero for never.
	Restored time.Time `json:"restored,omitzero"`
}

// RestoreMarker returns the bucket's mark.
func (s *announcements) RestoreMarker(ctx context.Context) (RestoreMarker, error) {
	var m RestoreMarker
	at, err := s.loadKey(ctx, restoreMarkerKey, &m)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return RestoreMarker{}, fmt.Errorf("load the mark: %w", err)
	}
	m.Revision = at.revision
	return m, nil
}

// SetRestoreMarker replaces the mark, if it is still the known one, by one with a higher revision, and returns that.
// The error is ErrExists where it is another one by now.
func (s *announcements) SetRestoreMarker(ctx context.Context, known RestoreMarker, restored time.Time) (RestoreMarker, error) {
	data, err := json.Marshal(RestoreMarker{Restored: restored})
	if err != nil {
		return RestoreMarker{}, fmt.Errorf("encode the mark: %w", err)
	}
	revision, err := s.kv.Update(ctx, restoreMarkerKey, data, known.Revision)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return RestoreMarker{}, ErrExists
	}
	return RestoreMarker{revision, restored}, markBrokerError("set the mark", err)
}
