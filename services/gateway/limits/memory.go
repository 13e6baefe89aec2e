package limits

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
)

const (
	// memoryShare is the part of the process's memory limit (GOMEMLIMIT) that answers may take which are held in memory;
	// minMemory bounds it.
	memoryShare, minMemory = 8, 64 << 20
	// maxHeap bounds what the heap grows to for answers before the collector begins: that is a multiple of what is held
	// (GOGC), for what was used in making answers waits for the collector.
	maxHeap = 1 << 30
	// memoryWait is how long a request waits for its share.
	memoryWait = 10 * time.Second
)

// memory shares the memory of answers that are held in it, by weight. A tenant may hold a quarter of what it and the
// others leave free (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998): a fifth
// of all if it is alone, and ten tenants whose clients never read their answers still leave a tenth to the next.
type memory struct {
	all int64

	mu      sync.Mutex // guards what follows
	free    int64
	tenants map[string]int64 // what each holds
	waiting []*memoryRequest // in the order in which they came
}

// memoryRequest waits for memory.
type memoryRequest struct {
	tenant   string
	bytes    int64
	admitted chan struct{} // closed once it has it
}

// answerMemory returns how many bytes answers may take in a process with that memory limit, whose heap grows by so many
// percent before the collector begins.
func answerMemory(limit int64, growth uint64) int64 {
	most := int64(maxHeap / (100 + min(growth, 900)) * 100)
	if limit == math.MaxInt64 { // there is none
		return most / 2
	}
	return min(max(limit/memoryShare, minMemory), most)
}

// heapGrowth returns by how many percent the heap grows before the collector begins; a great number where it never does.
func heapGrowth() uint64 {
	gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(gogc)
	return gogc[0].Value.Uint64()
}

func newMemory(bytes int64) *memory {
	return &memory{all: bytes, free: bytes, tenants: map[string]int64{}}
}

// processMemoryLimit returns the limit that the process runs under.
func processMemoryLimit() int64 { return debug.SetMemoryLimit(-1) }

// acquire takes so many bytes for a tenant, and waits for them until ctx is done. An answer that is larger than a
// tenant's share takes all of it, and the only one of a tenant is content with half of what it asks for.
func (m *memory) acquire(ctx context.Context, tenant string, bytes int64) (release func(), err error) {
	r := &memoryRequest{tenant: tenant, bytes: min(max(bytes, 1), m.all/5), admitted: make(chan struct{})}
	m.mu.Lock()
	m.waiting = append(m.waiting, r)
	m.admitWaiting()
	m.mu.Unlock()
	release = sync.OnceFunc(func() { m.giveBack(r) })
	select {
	case <-r.admitted:
		return release, nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	at := slices.Index(m.waiting, r)
	if at >= 0 {
		m.waiting = slices.Delete(m.waiting, at, at+1)
	}
	m.mu.Unlock()
	if at < 0 { // it was admitted before
		release()
	}
	return nil, ctx.Err()
}

// giveBack returns what a request holds.
func (m *memory) giveBack(r *memoryRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free += r.bytes
	if m.tenants[r.tenant] -= r.bytes; m.tenants[r.tenant] == 0 {
		delete(m.tenants, r.tenant)
	}
	m.admitWaiting()
}

// admitWaiting gives memory to those that wait and whose tenant's share has room. It is called with mu held.
func (m *memory) admitWaiting() {
	m.waiting = slices.DeleteFunc(m.waiting, func(r *memoryRequest) bool {
		held := m.tenants[r.tenant]
		if share := m.free / 5; held == 0 && share < r.bytes && 2*share >= r.bytes {
			r.bytes = share // it would else wait until no tenant holds anything
		}
		if 4*(held+r.bytes) > m.free-r.bytes {
			return false
		}
		m.free -= r.bytes
		m.tenants[r.tenant] += r.bytes
		close(r.admitted)
		return true
	})
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
	release, err := s.AcquireMemory(ctx, bytes)
	if err == nil {
		hold.add(release)
	}
	return err
}

// AcquireMemory is HoldMemory for what a request needs for a part of its work alone; the caller calls release in the end.
func (s *Service) AcquireMemory(ctx context.Context, bytes int64) (release func(), err error) {
	timed, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	release, err = s.memory.acquire(timed, access.TenantFrom(ctx), bytes)
	switch {
	case err == nil:
		return release, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, fault.New(fault.QueueFull, "the server has as many large answers in hand as it takes; try later")
	}
}
