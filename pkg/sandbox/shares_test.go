package sandbox_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"inkstream.dev/pkg/sandbox"
)

// A lease that waits for a child takes the one for tenants that use little as soon as its tenant does: what the tenant
// had in hand when the wait began says nothing about later.
func TestWaitingLeaseGetsTheSpareChild(t *testing.T) {
	t.Parallel()
	pool := newPool(t, sandbox.Config{Program: "echo"})
	ctx := sandbox.WithTenant(t.Context(), "a")
	first, err := pool.LeaseChild(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	second := make(chan error, 1)
	go func() {
		child, err := pool.LeaseChild(ctx)
		if err == nil {
			child.Release()
		}
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("a tenant that holds the only child gets another (%v)", err)
	case <-time.After(50 * time.Millisecond):
	}
	first.EndUse()
	select {
	case err := <-second:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("a lease waits on, though its tenant uses little by now")
	}
}

// Who waits for a child hears of it all the time: the wait is no standstill of its own.
func TestWaitForAChildIsNoStall(t *testing.T) {
	t.Parallel()
	pool := newPool(t, sandbox.Config{Program: "echo"})
	leaseChild(t, pool)
	told := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(sandbox.WithStarvationHook(t.Context(), func() { told <- struct{}{} }))
	waited := make(chan error, 1)
	go func() {
		_, err := pool.LeaseChild(ctx)
		waited <- err
	}()
	for range 3 {
		select {
		case <-told:
		case <-time.After(20 * time.Second):
			t.Fatal("a lease waits, and says nothing")
		}
	}
	cancel()
	if err := <-waited; err == nil {
		t.Error("a second child was leased from a pool of one")
	}
}

// The child beyond the ordinary ones ends soon after its use, and they stay.
func TestSurplusChildEnds(t *testing.T) {
	t.Parallel()
	pool := newPool(t, sandbox.Config{IdleTimeout: time.Hour})
	ordinary := leaseChild(t, pool)
	urgent, err := pool.LeaseChild(sandbox.WithPriority(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(callChild(t, urgent, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	ended := watchExit(t, pid)
	urgent.Release()
	ordinary.Release()
	ended()
	if got := pool.Stats(); got.Idle != 1 || got.Retired != 1 {
		t.Errorf("Stats() = %+v, want 1 idle, 1 retired", got)
	}
}
