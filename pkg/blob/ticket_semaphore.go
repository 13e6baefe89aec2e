package blob

import (
	"slices"
	"sync"
)

// ticketSemaphore admits a few callers at a time, the earliest ticket first, however often each of them uses its
// ticket. It is safe for concurrent use.
type ticketSemaphore struct {
	mu      sync.Mutex // guards what follows
	free    int
	tickets uint64
	waiting []waiter // in the order of their tickets
}

type waiter struct {
	ticket   uint64
	admitted chan struct{}
}

// issueTicket returns a place in the line, behind all that were given before.
func (t *ticketSemaphore) issueTicket() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tickets++
	return t.tickets
}

// acquireSlot waits for the turn of a ticket. It may be taken any number of times, one after the other.
func (t *ticketSemaphore) acquireSlot(ticket uint64) {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return
	}
	w := waiter{ticket: ticket, admitted: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(t.waiting, ticket, func(w waiter, ticket uint64) int {
		if w.ticket < ticket {
			return -1
		}
		return 1
	})
	t.waiting = slices.Insert(t.waiting, at, w)
	t.mu.Unlock()
	<-w.admitted
}

// releaseSlot ends a turn.
func (t *ticketSemaphore) releaseSlot() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	close(t.waiting[0].admitted)
	t.waiting = slices.Delete(t.waiting, 0, 1)
}
