package limits

import (
	"context"
	"runtime"
	"time"

	"inkstream.dev/pkg/fairshare"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
)

const (
	// minQueries is how many lists, counts and searches there are at once at least, and spareQueries and
	// spareProcessors how many there are beyond the common places for tenants that use little.
	minQueries, spareQueries, spareProcessors = 4, 2, 1
	// maxTenantQueries bounds the queries of one tenant, those that wait among them.
	maxTenantQueries = 256
	// queryWait is how long a query waits for its place.
	queryWait = 10 * time.Second
)

// shared are the places for what costs a client nothing to ask for, and the server a lot.
type shared struct {
	processors    *fairshare.Slots // for compression and decoding of answers
	queries       *fairshare.Slots
	tenantQueries TenantSlots
}

func newShared() shared {
	processors := runtime.GOMAXPROCS(0)
	return shared{processors: fairshare.NewSlots(max(processors/2, 1), spareProcessors),
		queries:       fairshare.NewSlots(max(2*processors, minQueries), spareQueries),
		tenantQueries: TenantSlots{MaxPerTenant: maxTenantQueries}}
}

// AcquireProcessor waits until the work on an answer may take a processor. The caller calls release soon, and before it
// waits for its client.
func (s *Service) AcquireProcessor(ctx context.Context) (release func(), err error) {
	return s.shared.processors.AcquireSlot(ctx, access.TenantFrom(ctx))
}

// AcquireQuery waits for one of the places for lists, counts and searches, for a while; the error is QUEUE_FULL where
// the tenant has too many of them under way. The caller calls release when the query is done.
func (s *Service) AcquireQuery(ctx context.Context) (release func(), err error) {
	tenant := access.TenantFrom(ctx)
	full := fault.New(fault.QueueFull, "the tenant has as many lists and searches under way as it may; try later")
	if !s.shared.tenantQueries.AcquireSlot(tenant) {
		return nil, full
	}
	timed, cancel := context.WithTimeout(ctx, queryWait)
	defer cancel()
	end, err := s.shared.queries.AcquireSlot(timed, tenant)
	if err == nil {
		return func() { end(); s.shared.tenantQueries.ReleaseSlot(tenant) }, nil
	}
	s.shared.tenantQueries.ReleaseSlot(tenant)
	if ctx.Err() == nil {
		return nil, full
	}
	return nil, ctx.Err()
}
