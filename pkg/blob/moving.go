package blob

import (
	"context"
	"net"
	"time"
)

// dialer makes a connection.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// dialTCP makes a connection over the network.
func dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: s3DialTimeout, KeepAlive: 30 * time.Second}
	return d.DialContext(ctx, network, addr)
}

// movingPiece is how much of a blob is handed to a connection at once, so that a slow one has s3Silence for that and not for the whole.
const movingPiece = 32 << 10

// moving is a connection that breaks when nothing moves on it for s3Silence while somebody waits for that. However long a large blob takes, it
// goes on as long as bytes come through.
type moving struct{ net.Conn }

// Read reads what comes within s3Silence.
func (c moving) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(s3Silence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write writes p in pieces, each within s3Silence. The answer is waited for from the beginning of a request, so that a Read waits longer for each.
func (c moving) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		if err = c.SetDeadline(time.Now().Add(s3Silence)); err != nil {
			return n, err
		}
		var m int
		m, err = c.Conn.Write(p[n:min(n+movingPiece, len(p))])
		n += m
	}
	return n, err
}
