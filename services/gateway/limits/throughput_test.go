package limits

import (
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apierror"
)

func TestMinThroughput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		every time.Duration
		bytes int
		slow  bool
	}{
		{"a byte a second", time.Second, 1, true},
		{"fast enough", time.Second, MinBytesPerSecond, false},
		{"one in a while, but then much", 20 * time.Second, 100 << 10, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var p MinThroughput
				var err error
				for start := time.Now(); err == nil && time.Since(start) < 5*time.Minute; <-time.After(tt.every) {
					err = p.RecordBytes(tt.bytes)
				}
				if (fault.CodeOf(err) == apierror.RequestTimeout) != tt.slow {
					t.Errorf("got %v, want too slow: %t", err, tt.slow)
				}
			})
		})
	}
}
