package limits

import (
	"context"
	"math"
	"testing"
	"testing/synctest"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
)

// One tenant's answers leave half of the memory to others, and what was held is given back.
func TestMemoryIsSharedByTenants(t *testing.T) {
	t.Parallel()
	s := &Service{memory: newMemory(100)}
	ask := func(tenant string, bytes int64) (*Hold, error) {
		ctx, hold := WithHold(access.WithIdentity(t.Context(), &access.Identity{Tenant: tenant}))
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- s.HoldMemory(ctx, bytes) }()
		for {
			select {
			case err := <-done:
				cancel()
				return hold, err
			default:
			}
			s.memory.mu.Lock()
			of := s.memory.tenants[tenant]
			waits := of != nil && of.users > 1
			s.memory.mu.Unlock()
			if waits {
				cancel() // the client goes
				return hold, <-done
			}
		}
	}
	first, err := ask("a", 1000) // takes all that is a's
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask("a", 1); err == nil {
		t.Error("a tenant got more than its share")
	}
	other, err := ask("b", 50)
	if err != nil {
		t.Errorf("another tenant: got %v", err)
	}
	first.Release()
	first.Release()
	again, err := ask("a", 50)
	if err != nil {
		t.Errorf("after the release: got %v", err)
	}
	again.Release()
	other.Release()
	if len(s.memory.tenants) > 0 {
		t.Errorf("tenants are left: %v", s.memory.tenants)
	}
	if !s.memory.total.TryAcquire(100) {
		t.Error("memory is left in use")
	}
}

func TestFullMemoryIsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Service{memory: newMemory(100)}
		s.memory.total.TryAcquire(100)
		ctx, _ := WithHold(access.WithIdentity(t.Context(), &access.Identity{Tenant: "a"}))
		if err := s.HoldMemory(ctx, 10); fault.CodeOf(err) != fault.QueueFull {
			t.Errorf("got %v, want %s", err, fault.QueueFull)
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
