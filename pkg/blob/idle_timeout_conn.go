package blob

import (
	"context"
	"net"
	"time"

	"inkstream.dev/pkg/outbound"
)

// dialer makes a connection.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// dialTCP makes a connection over the network.
func dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	return outbound.HedgedDialer{Timeout: s3DialTimeout}.DialContext(ctx, network, addr)
}

// idleTimeoutPiece is how much of a blob is handed to a connection at once, so that a slow one has s3ResponseTimeout
// for that and not for the whole.
const idleTimeoutPiece = 32 << 10

// idleTimeoutConn is a connection that breaks when nothing moves on it for s3ResponseTimeout while a Read or a Write
// waits. However long a large blob takes, it goes on as long as bytes come through.
type idleTimeoutConn struct{ net.Conn }

// Read reads what comes within s3ResponseTimeout.
func (c idleTimeoutConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(s3ResponseTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write writes p in pieces, each within s3ResponseTimeout. The answer is waited for from the beginning of a request,
// so that a Read waits longer for each.
func (c idleTimeoutConn) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		if err = c.SetDeadline(time.Now().Add(s3ResponseTimeout)); err != nil {
			return n, err
		}
		var m int
		m, err = c.Conn.Write(p[n:min(n+idleTimeoutPiece, len(p))])
		n += m
	}
	return n, err
}
