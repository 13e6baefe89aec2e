package limits

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
)

const (
	// memoryShare is the part of the process's memory limit (GOMEMLIMIT) that answers may take which are held in memory;
	// minMemory and maxMemory bound it. A tenant gets half of it.
	memoryShare          = 8
	minMemory, maxMemory = 64 << 20, 512 << 20
	// memoryWait is how long a request waits for its share.
	memoryWait = 10 * time.Second
)

// memory shares the memory of answers that are held in it, by weight: so much for all, and half of it for one tenant.
type memory struct {
	all, perTenant int64
	total          *semaphore.Weighted

	mu      sync.Mutex // guards tenants
	tenants map[string]*tenantMemory
}

type tenantMemory struct {
	share *semaphore.Weighted
	users int // requests that have some of it or wait for it
}

// answerMemory returns how many bytes answers may take in a process with that memory limit.
func answerMemory(limit int64) int64 {
	if limit == math.MaxInt64 { // there is none
		return maxMemory / 2
	}
	return min(max(limit/memoryShare, minMemory), maxMemory)
}

func newMemory(bytes int64) *memory {
	return &memory{all: bytes, perTenant: bytes / 2, total: semaphore.NewWeighted(bytes),
		tenants: map[string]*tenantMemory{}}
}

// processMemoryLimit returns the limit that the process runs under.
func processMemoryLimit() int64 { return debug.SetMemoryLimit(-1) }

// acquire takes so many bytes for a tenant, and waits for them until ctx is done. An answer that is larger than the
// tenant's share takes all of it.
func (m *memory) acquire(ctx context.Context, tenant string, bytes int64) (release func(), err error) {
	bytes = min(max(bytes, 1), m.perTenant)
	m.mu.Lock()
	t := m.tenants[tenant]
	if t == nil {
		t = &tenantMemory{share: semaphore.NewWeighted(m.perTenant)}
		m.tenants[tenant] = t
	}
	t.users++
	m.mu.Unlock()
	leave := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(m.tenants, tenant)
		}
	}
	if err := t.share.Acquire(ctx, bytes); err != nil {
		leave()
		return nil, err
	}
	// A request that waits here has some of its tenant's share, so few wait, and those of one
	// tenant for half of it at most.
	if err := m.total.Acquire(ctx, bytes); err != nil {
		t.share.Release(bytes)
		leave()
		return nil, err
	}
	return sync.OnceFunc(func() {
		m.total.Release(bytes)
		t.share.Release(bytes)
		leave()
	}), nil
}

// Hold is what a request holds of the memory for answers, until its answer is sent.
type Hold struct {
	mu       sync.Mutex // guards what follows
	releases []func()
	released bool
}

type holdKey struct{}

// WithHold returns ctx with a Hold, which the caller releases when the answer is sent.
func WithHold(ctx context.Context) (context.Context, *Hold) {
	h := &Hold{}
	return context.WithValue(ctx, holdKey{}, h), h
}

// IsEmpty reports whether nothing is held.
func (h *Hold) IsEmpty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.releases) == 0
}

// Release gives back what is held. What is added later is given back at once.
func (h *Hold) Release() {
	h.mu.Lock()
	releases := h.releases
	h.releases, h.released = nil, true
	h.mu.Unlock()
	for _, release := range releases {
		release()
	}
}

func (h *Hold) add(release func()) {
	h.mu.Lock()
	if !h.released {
		h.releases = append(h.releases, release)
		release = func() {}
	}
	h.mu.Unlock()
	release()
}

// HoldMemory takes memory for an answer of so many bytes, which the request's Hold gives back when it is sent. It
// waits for a while, and no longer than the client does; the error is QUEUE_FULL where there is none.
func (s *Service) HoldMemory(ctx context.Context, bytes int64) error {
	hold, ok := ctx.Value(holdKey{}).(*Hold)
	if !ok {
		return errors.New("the request has no Hold of memory")
	}
	timed, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	release, err := s.memory.acquire(timed, access.TenantFrom(ctx), bytes)
	switch {
	case err == nil:
		hold.add(release)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return fault.New(fault.QueueFull, "the server has as many large answers in hand as it takes; try later")
	}
}
