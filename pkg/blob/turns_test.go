package blob

import (
	"slices"
	"testing"
	"testing/synctest"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := turns{free: 2}
		var tickets []uint64
		for range 5 {
			tickets = append(tickets, line.ticket())
		}
		line.take(tickets[4])
		line.take(tickets[3])
		var order []uint64
		for _, ticket := range []uint64{tickets[2], tickets[0], tickets[1]} {
			go func() {
				line.take(ticket)
				order = append(order, ticket)
			}()
			synctest.Wait()
		}
		if len(order) != 0 {
			t.Fatalf("taken while both turns were: %v", order)
		}
		for range 3 {
			line.leave()
			synctest.Wait()
		}
		if want := tickets[:3]; !slices.Equal(order, want) {
			t.Errorf("order of the turns: got %v, want %v", order, want)
		}
		line.leave()
		line.leave()
		if line.free != 2 {
			t.Errorf("turns left: got %d, want 2", line.free)
		}
	})
}
