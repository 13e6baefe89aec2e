package limits

import (
	"context"
	"sync"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
)

const (
	// maxUploads bounds the uploads under way: each holds a connection, an open blob and about 200 KiB of buffers.
	// maxTenantUploads bounds those of one tenant, so that none can take all the places by uploads that hardly move.
	maxUploads, maxTenantUploads = 320, 256
)

// TenantSlots counts what tenants hold of something, each at most so much.
type TenantSlots struct {
	MaxPerTenant int

	mu   sync.Mutex // guards held
	held map[string]int
}

// AcquireSlot takes one more for a tenant, and reports whether it may have it; ReleaseSlot gives it back.
func (h *TenantSlots) AcquireSlot(tenant string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[tenant] >= h.MaxPerTenant {
		return false
	}
	if h.held == nil {
		h.held = map[string]int{}
	}
	h.held[tenant]++
	return true
}

// ReleaseSlot gives back what AcquireSlot took.
func (h *TenantSlots) ReleaseSlot(tenant string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[tenant]--; h.held[tenant] == 0 {
		delete(h.held, tenant)
	}
}

// AcquireUploadSlot takes one of the places for uploads; the caller calls release in the end.
func (s *Service) AcquireUploadSlot(ctx context.Context) (release func(), err error) {
	name := access.TenantFrom(ctx)
	if s.tenantSlots.AcquireSlot(name) {
		select {
		case s.uploadSlots <- struct{}{}:
			return func() { <-s.uploadSlots; s.tenantSlots.ReleaseSlot(name) }, nil
		default:
			s.tenantSlots.ReleaseSlot(name)
		}
	}
	return nil, fault.New(fault.QueueFull, "the server has as many uploads under way as it takes; try later")
}
