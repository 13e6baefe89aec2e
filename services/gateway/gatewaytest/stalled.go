package gatewaytest

import (
	"context"
	"math"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// AnySize lets a call's answer be of any size.
func AnySize() grpc.CallOption { return grpc.MaxCallRecvMsgSize(math.MaxInt32) }

// stalledConn is a connection whose client stops reading once it has read a little: the answer's head, and not its
// body.
type stalledConn struct {
	net.Conn

	mu   sync.Mutex // guards left
	left int
	over chan struct{}
	once sync.Once
}

// Read reads a little, and then waits for the connection's end.
func (c *stalledConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	n := min(len(p), c.left)
	c.mu.Unlock()
	if n == 0 {
		<-c.over
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p[:n])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left -= n
	return n, err
}

// Close closes the connection.
func (c *stalledConn) Close() error {
	c.once.Do(func() { close(c.over) })
	return c.Conn.Close()
}

// DialStalled connects a gRPC client that hardly reads what it is answered.
func DialStalled(t testing.TB, r *Gateway) *grpc.ClientConn {
	t.Helper()
	const enoughForTheHead = 1 << 10
	conn, err := grpc.NewClient(r.Service.Addrs().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return &stalledConn{Conn: c, left: enoughForTheHead, over: make(chan struct{})}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
