package gatewaytest

import (
	"testing"

	"inkstream.dev/pkg/job"
)

// WithSealer gives the gateway a key.
func WithSealer(t *testing.T) *job.Sealer {
	t.Helper()
	s, err := job.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
