package outbound

import (
	"context"
	"errors"
	"net"
	"time"
)

const (
	// hedgeDelay is how long a connection may be on its way before another one is tried in parallel, maxHedges how often.
	hedgeDelay = 150 * time.Millisecond
	maxHedges  = 4
)

// HedgedDialer makes connections within a cluster. What the first packet of a pod meets may not let it pass yet,
// because its NetworkPolicy is still being set up, and the kernel sends it again after a second only: so a connection
// that is not there at once is tried again beside the first try, and the first that stands is taken. Timeout, which has
// to be set, bounds all tries together. It is safe for concurrent use.
type HedgedDialer struct {
	Timeout time.Duration
	// connect is for tests; nil for that of net.Dialer.
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

type dialResult struct {
	conn net.Conn
	err  error
}

// Dial implements nats.CustomDialer.
func (d HedgedDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext connects to the address. When all tries under way have failed, it has too.
func (d HedgedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	connect := d.connect
	if connect == nil {
		connect = new(net.Dialer).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	results := make(chan dialResult, maxHedges)
	try := func() {
		conn, err := connect(ctx, network, address)
		results <- dialResult{conn, err}
	}
	go try()
	tries, pending := 1, 1
	defer func() {
		cancel()
		go func() { // those that come too late
			for range pending {
				if r := <-results; r.err == nil {
					_ = r.conn.Close() // nothing was sent by it
				}
			}
		}()
	}()
	hedge := time.NewTicker(hedgeDelay)
	defer hedge.Stop()
	var errs []error
	for {
		select {
		case r := <-results:
			pending--
			if r.err == nil {
				return r.conn, nil
			}
			errs = append(errs, r.err)
			if pending == 0 {
				return nil, errors.Join(errs...)
			}
		case <-hedge.C:
			if tries < maxHedges {
				tries, pending = tries+1, pending+1
				go try()
			}
		}
	}
}
