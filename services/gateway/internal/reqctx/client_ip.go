package reqctx

import (
	"context"
	"net"

	"google.golang.org/grpc/peer"
)

type clientIPKey struct{}

// WithClientIP returns ctx with the address that an HTTP request came from.
func WithClientIP(ctx context.Context, remote string) context.Context {
	return context.WithValue(ctx, clientIPKey{}, stripPort(remote))
}

// ClientIPFrom names who a request comes from, as far as the connection tells: its IP address. It is empty
// where there is none.
func ClientIPFrom(ctx context.Context) string {
	if c, ok := ctx.Value(clientIPKey{}).(string); ok {
		return c
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return stripPort(p.Addr.String())
	}
	return ""
}

func stripPort(addr string) string {
	h, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "" // no network address
	}
	return h
}
