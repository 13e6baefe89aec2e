package ocr

import (
	"context"
	"time"

	"inkstream.dev/pkg/job"
)

// announceInterval is how often the service says which languages it has.
const announceInterval = time.Minute

// languageLister is an engine that knows which languages it can read.
type languageLister interface{ Languages() []string }

// announceLanguages says which languages are installed, now and every so often until ctx is done, so that the gateway
// can refuse what is not. It is of no consequence where that fails: then a job that asks for a missing language fails
// later.
func (s *Service) announceLanguages(ctx context.Context, told func()) {
	defer told()
	engine, ok := s.engine.(languageLister)
	if !ok {
		return
	}
	tick := time.NewTicker(announceInterval)
	defer tick.Stop()
	for {
		if err := s.deps.Jobs.PutLanguages(ctx,
			job.Languages{Codes: engine.Languages(), Time: time.Now().UTC()}); err != nil && ctx.Err() == nil {
			s.deps.Log.WarnContext(ctx, "tell which languages are installed", "error", err)
		}
		told()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
