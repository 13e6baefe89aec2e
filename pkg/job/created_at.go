package job

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// CreatedAt returns when the bucket was made. It knows nothing of jobs that are older, unless it was restored.
func (s *bucket) CreatedAt(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	status, err := s.kv.Status(ctx)
	if err != nil {
		return time.Time{}, markBrokerError("look at the bucket of jobs", err)
	}
	b, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return time.Time{}, errors.New("the bucket of jobs does not tell when it was made")
	}
	return b.StreamInfo().Created, nil
}
