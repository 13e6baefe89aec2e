package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// markKey begins as the claims on content do, because the user of every service may read and write such keys; no tenant has this one.
const markKey = "content.mark"

// Mark is one key of the bucket, which is written again and again as the records change. Whoever has seen its revision can tell an older copy of the
// bucket, in which it has a lower one, even if much else was written since to that.
type Mark struct {
	// Revision is the key's; 0 where there is none.
	Revision uint64 `json:"revision"`
	// Restored is when the bucket was last found to be an older copy; zero for never.
	Restored time.Time `json:"restored,omitzero"`
}

// Mark returns the bucket's mark.
func (s *Store) Mark(ctx context.Context) (Mark, error) {
	var m Mark
	at, err := s.load(ctx, markKey, &m)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Mark{}, fmt.Errorf("load the mark: %w", err)
	}
	m.Revision = at.revision
	return m, nil
}

// SetMark replaces the mark, if it is still the known one, by one with a higher revision, and returns that. The error is ErrExists where it is another one
// by now.
func (s *Store) SetMark(ctx context.Context, known Mark, restored time.Time) (Mark, error) {
	data, err := json.Marshal(Mark{Restored: restored})
	if err != nil {
		return Mark{}, fmt.Errorf("encode the mark: %w", err)
	}
	revision, err := s.kv.Update(ctx, markKey, data, known.Revision)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return Mark{}, ErrExists
	}
	return Mark{revision, restored}, broker("set the mark", err)
}
