package watch

import (
	"context"

	"inkstream.dev/services/gateway/jobview"
)

// What the tests of the running gateway need to know.
const (
	MinWatchInterval = minWatchInterval
	EndEventPrefix   = endEventPrefix
)

// CountWatches returns how many jobs are watched, and by how many watchers.
func (s *Service) CountWatches() (topics, watchers int) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return len(s.hub.topics), s.hub.watchers
}

// WatchStuck watches a job by a watcher that calls send for each state.
func (s *Service) WatchStuck(ctx context.Context, ref jobview.Ref, send func() error) error {
	return s.hub.watchJob(ctx, ref, func(*view) error { return send() }, 0, nil)
}
