package limits

import (
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apierror"
)

const (
	// MinBytesPerSecond is what an upload, or an answer that is held in memory, has to reach on the whole: a third of a
	// bad mobile connection. Otherwise a client that moves a byte now and then would hold one of the places for
	// it for an hour.
	MinBytesPerSecond = 4 << 10
	// ThroughputGrace is how long one may take to get going, and what pauses it may make on the whole.
	ThroughputGrace = 30 * time.Second
)

// MinThroughput makes sure that a transfer gets on. The zero MinThroughput begins with the first piece.
type MinThroughput struct {
	start time.Time
	bytes int64
}

// NewMinThroughput returns one of a transfer that began then.
func NewMinThroughput(start time.Time) MinThroughput { return MinThroughput{start: start} }

// RecordBytes notes a piece; the error is REQUEST_TIMEOUT where the transfer as a whole is too slow.
func (p *MinThroughput) RecordBytes(n int) error {
	if p.start.IsZero() {
		p.start = time.Now()
	}
	p.bytes += int64(n)
	due := time.Since(p.start) - ThroughputGrace
	if due > 0 && float64(p.bytes) < due.Seconds()*MinBytesPerSecond {
		return fault.New(apierror.RequestTimeout, "the transfer is too slow: want %s a second", config.Bytes(MinBytesPerSecond))
	}
	return nil
}
