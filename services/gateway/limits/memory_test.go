package limits

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
)

// holdMemory asks for memory in a tenant's name. The clock is a test's, so one that waits gets its answer at once.
func holdMemory(t *testing.T, s *Service, tenant string, bytes int64) (*Hold, error) {
	t.Helper()
	ctx, hold := WithHold(access.WithIdentity(t.Context(), &access.Identity{Tenant: tenant}))
	return hold, s.HoldMemory(ctx, bytes)
}

// Tenants that take all they can leave memory to the next, and what was held is given back.
func TestMemoryIsSharedByTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Service{memory: newMemory(1000)}
		var holds []*Hold
		for tenant := range 10 {
			name := fmt.Sprintf("hostile-%d", tenant)
			for _, bytes := range []int64{5000, 100, 10, 1, 1, 1, 1, 1} {
				if hold, err := holdMemory(t, s, name, bytes); err == nil {
					holds = append(holds, hold)
				}
			}
			if _, err := holdMemory(t, s, name, 100); fault.CodeOf(err) != fault.QueueFull {
				t.Errorf("%s got more than its share: %v", name, err)
			}
		}
		other, err := holdMemory(t, s, "other", 20)
		if err != nil {
			t.Fatalf("beside ten tenants that hold all they can: %v", err)
		}
		for _, hold := range append(holds, holds[0], other) {
			hold.Release()
		}
		if len(s.memory.tenants) > 0 || len(s.memory.waiting) > 0 || s.memory.free != 1000 {
			t.Errorf("left: tenants %v, %d wait, %d free", s.memory.tenants, len(s.memory.waiting), s.memory.free)
		}
	})
}

// What waits is served when there is room, and not kept out by one before it whose tenant has none.
func TestMemoryGoesToThoseThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Service{memory: newMemory(100)}
		first, err := holdMemory(t, s, "a", 1000) // takes all that is a's
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() { _, err := holdMemory(t, s, "a", 1000); second <- err }()
		synctest.Wait()
		if _, err := holdMemory(t, s, "b", 10); err != nil {
			t.Errorf("another tenant: got %v", err)
		}
		first.Release()
		if err := <-second; err != nil {
			t.Errorf("after the release: got %v", err)
		}
	})
}

func TestAnswerMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit  int64
		growth uint64
		want   int64
	}{
		{math.MaxInt64, 100, 256 << 20}, {100 << 20, 100, 64 << 20}, {1 << 30, 100, 128 << 20}, {64 << 30, 100, 512 << 20},
		{64 << 30, 0, 1 << 30}, {64 << 30, math.MaxUint64, 107374182},
	} {
		if got := answerMemory(tt.limit, tt.growth); got/100*100 != tt.want/100*100 {
			t.Errorf("limit %d, heap grows by %d%%: got %d, want %d", tt.limit, tt.growth, got, tt.want)
		}
	}
	if got := answerMemory(64<<30, 200); 3*got > maxHeap {
		t.Errorf("a heap of %d grows beyond %d before it is collected", got, maxHeap)
	}
}
