// Package reqctx carries in a context what is known of its request: its id, and the address that it came from.
package reqctx

import (
	"context"
	"crypto/rand"

	"google.golang.org/grpc/metadata"
)

// Where a request's id travels: as HTTP header and as gRPC metadata, which is lower-case.
const (
	Header      = "X-Request-Id"
	MetadataKey = "x-request-id"
)

// maxRequestID bounds the ids that are taken over from clients.
const maxRequestID = 128

type requestIDContextKey struct{}

// WithRequestID returns ctx with the client's id for the request, or with a new one where that is missing or no fit
// for a log.
func WithRequestID(ctx context.Context, given string) context.Context {
	if !validRequestID(given) {
		given = rand.Text()
	}
	return context.WithValue(ctx, requestIDContextKey{}, given)
}

func validRequestID(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}

// RequestIDFrom returns the request's id; empty outside of a request.
func RequestIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(requestIDContextKey{}).(string)
	return id
}

// IncomingRequestID returns ctx with the request id that the call's metadata holds.
func IncomingRequestID(ctx context.Context) context.Context {
	given := ""
	if v := metadata.ValueFromIncomingContext(ctx, MetadataKey); len(v) > 0 {
		given = v[0]
	}
	return WithRequestID(ctx, given)
}
