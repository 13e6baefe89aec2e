package ocr

import (
	"context"
	"time"

	"inkstream.dev/pkg/job"
)

// tellEvery is how often the service says which languages it has.
const tellEvery = time.Minute

// linguist is an engine that knows which languages it can read.
type linguist interface{ Languages() []string }

// tellLanguages says which languages are installed, now and every so often until ctx is done, so that the gateway can refuse what is not. It is of
// no consequence where that fails: then a job that asks for a missing language fails later.
func (s *Service) tellLanguages(ctx context.Context, told func()) {
	defer told()
	engine, ok := s.engine.(linguist)
	if !ok {
		return
	}
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		if err := s.env.Jobs.PutLanguages(ctx, job.Languages{Codes: engine.Languages(), Time: time.Now().UTC()}); err != nil && ctx.Err() == nil {
			s.env.Log.WarnContext(ctx, "tell which languages are installed", "error", err)
		}
		told()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
