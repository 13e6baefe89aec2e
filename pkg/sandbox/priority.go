package sandbox

import "context"

// prioritySize is how many children a pool has beyond its Size, for leases that are urgent. They are started when
// they are first needed.
const prioritySize = 1

type priorityKey struct{}

// WithPriority marks what is done under the context as urgent: a client waits for it. When all children of a pool are
// lent out, a lease that is urgent need not wait until one comes back, which takes as long as the longest page: there
// is one child more than Size for it.
func WithPriority(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, true)
}

func hasPriority(ctx context.Context) bool {
	marked, ok := ctx.Value(priorityKey{}).(bool)
	return ok && marked
}
