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
	for limit, want := range map[int64]int64{math.MaxInt64: 256 << 20, 100 << 20: 64 << 20, 1 << 30: 128 << 20, 64 << 30: 512 << 20} {
		if got := answerMemory(limit); got != want {
			t.Errorf("limit %d: got %d, want %d", limit, got, want)
		}
	}
}
