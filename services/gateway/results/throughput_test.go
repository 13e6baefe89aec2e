package results

import (
	"net/http/httptest"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/limits"
)

// Who drips a drawn page loses the place.
func TestSlowPageImageReaderIsCut(t *testing.T) {
	t.Parallel()
	const late = 10
	for _, tt := range []struct {
		bytes int
		slow  bool
	}{{late*limits.MinBytesPerSecond - 1, true}, {2 * late * limits.MinBytesPerSecond, false}} {
		w := &throughputResponse{ResponseWriter: httptest.NewRecorder(),
			throughput: limits.NewMinThroughput(time.Now().Add(-limits.ThroughputGrace - late*time.Second))}
		if _, err := w.Write(make([]byte, tt.bytes)); (fault.CodeOf(err) == apierror.RequestTimeout) != tt.slow {
			t.Errorf("%d bytes in %d s beyond the grace: got %v, want too slow: %t", tt.bytes, late, err, tt.slow)
		}
	}
}
