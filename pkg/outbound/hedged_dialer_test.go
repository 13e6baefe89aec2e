package outbound

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A connection whose first packet is lost is tried again long before the kernel does; one that is refused is not.
func TestHedgedDial(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	refused := errors.New("refused")
	hang := func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	stand := func(context.Context) (net.Conn, error) { c, _ := net.Pipe(); return c, nil }
	for _, tt := range []struct {
		name  string
		tries []func(context.Context) (net.Conn, error)
		took  time.Duration
		ok    bool
	}{
		{"at once", []func(context.Context) (net.Conn, error){stand}, 0, true},
		{"the first is lost", []func(context.Context) (net.Conn, error){hang, stand}, hedgeDelay, true},
		{"all but the last are lost", []func(context.Context) (net.Conn, error){hang, hang, hang, stand}, 3 * hedgeDelay, true},
		{"refused", []func(context.Context) (net.Conn, error){func(context.Context) (net.Conn, error) { return nil, refused }}, 0, false},
		{"all are lost", []func(context.Context) (net.Conn, error){hang, hang, hang, hang}, timeout, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				d := HedgedDialer{Timeout: timeout, connect: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return tt.tries[n.Add(1)-1](ctx)
				}}
				began := time.Now()
				conn, err := d.Dial("tcp", "nats:4222")
				if took := time.Since(began); took != tt.took || (err == nil) != tt.ok {
					t.Errorf("took %s, %v; want %s, a connection: %t", took, err, tt.took, tt.ok)
				}
				if conn != nil {
					_ = conn.Close()
				}
				if got := int(n.Load()); got != len(tt.tries) {
					t.Errorf("%d tries, want %d", got, len(tt.tries))
				}
			})
		})
	}
}
