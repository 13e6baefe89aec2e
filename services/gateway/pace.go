package gateway

import (
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
)

const (
	// minRate is what an upload, or an answer that is held in memory, has to reach on the whole: a third of a bad mobile connection. Whoever drips a byte
	// now and then would else hold one of the places for it for an hour.
	minRate = 4 << 10
	// paceGrace is how long one may take to get going, and what pauses it may make on the whole.
	paceGrace = 30 * time.Second
)

// pace makes sure that a transfer gets on. The zero pace begins with the first piece.
type pace struct {
	start time.Time
	bytes int64
}

// moved notes a piece; the error is REQUEST_TIMEOUT where the transfer as a whole is too slow.
func (p *pace) moved(n int) error {
	if p.start.IsZero() {
		p.start = time.Now()
	}
	p.bytes += int64(n)
	due := time.Since(p.start) - paceGrace
	if due > 0 && float64(p.bytes) < due.Seconds()*minRate {
		return fault.New(requestTimeout, "the transfer is too slow: want %s a second", config.Bytes(minRate))
	}
	return nil
}
