package sandbox

import "context"

// urgentSize is how many children a pool has beyond its Size, for leases that are urgent. They are started when they are first needed.
const urgentSize = 1

type urgentKey struct{}

// Urgent marks what is done under the context as urgent: somebody waits for it. When all children of a pool are lent out, a lease that is
// urgent need not wait until one comes back, which takes as long as the longest page: there is one child more than Size for it.
func Urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

func isUrgent(ctx context.Context) bool {
	marked, ok := ctx.Value(urgentKey{}).(bool)
	return ok && marked
}
