package blob

import (
	"slices"
	"testing"
	"testing/synctest"
)

func TestTicketSemaphore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := ticketSemaphore{free: 2}
		var tickets []uint64
		for range 5 {
			tickets = append(tickets, line.issueTicket())
		}
		line.acquireSlot(tickets[4])
		line.acquireSlot(tickets[3])
		var order []uint64
		for _, ticket := range []uint64{tickets[2], tickets[0], tickets[1]} {
			go func() {
				line.acquireSlot(ticket)
				order = append(order, ticket)
			}()
			synctest.Wait()
		}
		if len(order) != 0 {
			t.Fatalf("taken while both turns were: %v", order)
		}
		for range 3 {
			line.releaseSlot()
			synctest.Wait()
		}
		if want := tickets[:3]; !slices.Equal(order, want) {
			t.Errorf("order of the turns: got %v, want %v", order, want)
		}
		line.releaseSlot()
		line.releaseSlot()
		if line.free != 2 {
			t.Errorf("turns left: got %d, want 2", line.free)
		}
	})
}
