package blob

import (
	"slices"
	"sync"
)

// turns lets few at a time do something, whoever came first before the others, however often each of them does it. It is safe for concurrent use.
type turns struct {
	mu      sync.Mutex // guards what follows
	free    int
	tickets uint64
	waiting []waiter // in the order of their tickets
}

type waiter struct {
	ticket uint64
	called chan struct{}
}

// ticket returns a place in the line, behind all that were given before.
func (t *turns) ticket() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tickets++
	return t.tickets
}

// take waits for the turn of a ticket. It may be taken any number of times, one after the other.
func (t *turns) take(ticket uint64) {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return
	}
	w := waiter{ticket: ticket, called: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(t.waiting, ticket, func(w waiter, ticket uint64) int {
		if w.ticket < ticket {
			return -1
		}
		return 1
	})
	t.waiting = slices.Insert(t.waiting, at, w)
	t.mu.Unlock()
	<-w.called
}

// leave ends a turn.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	close(t.waiting[0].called)
	t.waiting = slices.Delete(t.waiting, 0, 1)
}
