package gateway

// Stopping returns a channel that is closed when the service begins to stop.
func (s *Service) Stopping() <-chan struct{} { return s.stopping }
