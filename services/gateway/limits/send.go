package limits

import (
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apierror"
)

// SendWithTimeout calls send, a stream's, and gives it up after the stall timeout: gRPC waits for a client that takes
// nothing for as long as that answers pings. What was given up ends with the stream, which ends with its handler.
func (s *Service) SendWithTimeout(send func() error) error {
	done := make(chan error, 1)
	s.workers.Go(func() { done <- send() })
	timer := time.NewTimer(s.cfg.StallTimeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fault.New(apierror.RequestTimeout, "the client has taken nothing for too long")
	}
}
