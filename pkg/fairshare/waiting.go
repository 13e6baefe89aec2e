package fairshare

import (
	"iter"
	"maps"
	"slices"
	"sync"
)

// Waiting counts by tenant who waits for a place. The zero value is ready. It is safe for concurrent use.
type Waiting struct {
	mu      sync.Mutex // guards tenants
	tenants map[string]int
}

// Add notes that a tenant waits, until done is called, once.
func (w *Waiting) Add(tenant string) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tenants == nil {
		w.tenants = make(map[string]int)
	}
	w.tenants[tenant]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.tenants[tenant]--; w.tenants[tenant] == 0 {
			delete(w.tenants, tenant)
		}
	}
}

// Tenants returns those that wait now, each once.
func (w *Waiting) Tenants() iter.Seq[string] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Values(slices.Collect(maps.Keys(w.tenants)))
}
