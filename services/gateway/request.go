package gateway

import (
	"context"
	"crypto/rand"

	"google.golang.org/grpc/metadata"

	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/access"
)

// Where a request's id travels: as HTTP header and as gRPC metadata, which is lower-case.
const (
	requestIDHeader = "X-Request-Id"
	requestIDKey    = "x-request-id"
)

// maxRequestID bounds the ids that are taken over from clients.
const maxRequestID = 128

type requestIDContextKey struct{}

// withRequestID returns ctx with the client's id for the request, or with a new one where that is missing or no fit
// for a log.
func withRequestID(ctx context.Context, given string) context.Context {
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

// requestIDFromContext returns the request's id; empty outside of a request.
func requestIDFromContext(ctx context.Context) string {
	id, _ := ctx.Value(requestIDContextKey{}).(string)
	return id
}

// incomingRequestID returns ctx with the request id that the call's metadata holds.
func incomingRequestID(ctx context.Context) context.Context {
	given := ""
	if v := metadata.ValueFromIncomingContext(ctx, requestIDKey); len(v) > 0 {
		given = v[0]
	}
	return withRequestID(ctx, given)
}

// tenantFromContext returns whose jobs the request may see and make.
func tenantFromContext(ctx context.Context) string {
	if id := access.IdentityFrom(ctx); id != nil {
		return id.Tenant
	}
	return job.DefaultTenant
}
