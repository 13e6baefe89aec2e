package fairshare_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"inkstream.dev/pkg/fairshare"
)

// A tenant that takes all places, and that has more waiting, leaves one to another tenant.
func TestSlotsAreSharedByTenant(t *testing.T) {
	t.Parallel()
	places := fairshare.NewSlots(2, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var held []func()
	for range 2 {
		release, err := places.AcquireSlot(ctx, "hostile")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, release)
	}
	waiting, giveUp := context.WithCancel(ctx)
	waited := make(chan error, 5)
	for range cap(waited) {
		go func() {
			_, err := places.AcquireSlot(waiting, "hostile")
			waited <- err
		}()
	}
	for range 3 {
		release, err := places.AcquireSlot(ctx, "other")
		if err != nil {
			t.Fatalf("another tenant gets no place: %v", err)
		}
		release()
	}
	giveUp()
	for range cap(waited) {
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("a call that has waited: %v, want its context's error", err)
		}
	}
	for _, release := range held {
		release()
	}
	for _, tenant := range []string{"a", "b", "c"} {
		if _, err := places.AcquireSlot(ctx, tenant); err != nil {
			t.Errorf("a place is taken when all are given back: %v", err)
		}
	}
}
