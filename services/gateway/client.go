package gateway

import (
	"context"
	"net"

	"google.golang.org/grpc/peer"
)

type clientContext struct{}

// withClient returns ctx with the address that an HTTP request came from.
func withClient(ctx context.Context, remote string) context.Context {
	return context.WithValue(ctx, clientContext{}, host(remote))
}

// clientOf names who a request comes from, as far as the connection tells: its IP address. It is empty where there is none.
func clientOf(ctx context.Context) string {
	if c, ok := ctx.Value(clientContext{}).(string); ok {
		return c
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return host(p.Addr.String())
	}
	return ""
}

func host(addr string) string {
	h, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "" // no network address
	}
	return h
}
