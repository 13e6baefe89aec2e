package sandbox

import (
	"context"

	"inkstream.dev/pkg/fairshare"
)

const (
	// prioritySize is how many children a pool has beyond its Size, for leases that are urgent, and reservedSize how many
	// beyond these, for tenants that use little. They are started when they are first needed.
	prioritySize, reservedSize = fairshare.UrgentPlaces, fairshare.ReservedPlaces
)

type (
	priorityKey struct{}
	tenantKey   struct{}
	slowKey     struct{}
	firstTryKey struct{}
)

// WithPriority marks what is done under the context as urgent: a client waits for it. When all children of a pool are
// lent out, a lease that is urgent need not wait until one comes back, which takes as long as the longest page: there
// is one child more than Size for it, unless all of them do what is as urgent, and have not for long.
func WithPriority(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, true)
}

func hasPriority(ctx context.Context) bool {
	marked, ok := ctx.Value(priorityKey{}).(bool)
	return ok && marked
}

// WithTenant says whom what is done under the context is for. There are more children for the tenants that use little
// of a pool (see fairshare.Account), so that those who keep all others busy, with whatever, do not keep them out.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

func tenantOf(ctx context.Context) (string, bool) {
	tenant, ok := ctx.Value(tenantKey{}).(string)
	return tenant, ok
}

// WithSlowWork marks what is done under the context as work that has already taken longer than it should. It never
// has all children of a pool that has several, and its children leave the processors to others.
func WithSlowWork(ctx context.Context) context.Context {
	return context.WithValue(ctx, slowKey{}, true)
}

// WithFirstTry marks what is done under the context as a first try, which may take no longer than what the engine
// allows for one: what takes longer is broken off, and done as slow work, behind others.
func WithFirstTry(ctx context.Context) context.Context {
	return context.WithValue(ctx, firstTryKey{}, true)
}

// WithFullTime undoes WithFirstTry.
func WithFullTime(ctx context.Context) context.Context {
	return context.WithValue(ctx, firstTryKey{}, false)
}

// IsFirstTry reports whether the context is one of WithFirstTry.
func IsFirstTry(ctx context.Context) bool {
	marked, ok := ctx.Value(firstTryKey{}).(bool)
	return ok && marked
}

// IsSlowWork reports whether the context is one of WithSlowWork.
func IsSlowWork(ctx context.Context) bool {
	marked, ok := ctx.Value(slowKey{}).(bool)
	return ok && marked
}
