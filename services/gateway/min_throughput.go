package gateway

import (
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
)

const (
	// minBytesPerSecond is what an upload, or an answer that is held in memory, has to reach on the whole: a third of a
	// bad mobile connection. Otherwise a client that moves a byte now and then would hold one of the places for
	// it for an hour.
	minBytesPerSecond = 4 << 10
	// throughputGrace is how long one may take to get going, and what pauses it may make on the whole.
	throughputGrace = 30 * time.Second
)

// minThroughput makes sure that a transfer gets on. The zero pace begins with the first piece.
type minThroughput struct {
	start time.Time
	bytes int64
}

// recordBytes notes a piece; the error is REQUEST_TIMEOUT where the transfer as a whole is too slow.
func (p *minThroughput) recordBytes(n int) error {
	if p.start.IsZero() {
		p.start = time.Now()
	}
	p.bytes += int64(n)
	due := time.Since(p.start) - throughputGrace
	if due > 0 && float64(p.bytes) < due.Seconds()*minBytesPerSecond {
		return fault.New(requestTimeout, "the transfer is too slow: want %s a second", config.Bytes(minBytesPerSecond))
	}
	return nil
}
