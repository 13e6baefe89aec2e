package job

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// CreatedAt returns when the bucket was made. It knows nothing of jobs that are older, unless it was restored.
func (s *bucket) CreatedAt(ctx context.Context) (time.Time, error) {
	info, err := s.streamInfo(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return info.Created, nil
}

// BrokerTime returns what time it is by the clock of the server that leads the bucket.
func (s *bucket) BrokerTime(ctx context.Context) (time.Time, error) {
	info, err := s.streamInfo(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return info.TimeStamp, nil
}

func (s *bucket) streamInfo(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	status, err := s.kv.Status(ctx)
	if err != nil {
		return nil, markBrokerError("look at the bucket of jobs", err)
	}
	b, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return nil, errors.New("the bucket of jobs does not tell of its stream")
	}
	return b.StreamInfo(), nil
}
