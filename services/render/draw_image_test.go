package render

import (
	"context"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
)

// A tenant whose images take all places, and that has more waiting, leaves one to another tenant; one that waits for
// as long as its caller does is told to try later.
func TestDrawSlotsAreSharedByTenant(t *testing.T) {
	t.Parallel()
	places := newDrawSlots(2)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var held []func()
	for range 2 {
		release, err := places.acquire(ctx, "hostile")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, release)
	}
	waiting, giveUp := context.WithCancel(ctx)
	waited := make(chan error, 5)
	for range cap(waited) {
		go func() {
			_, err := places.acquire(waiting, "hostile")
			waited <- err
		}()
	}
	for range 3 {
		release, err := places.acquire(ctx, "other")
		if err != nil {
			t.Fatalf("another tenant gets no place: %v", err)
		}
		release()
	}
	giveUp()
	for range cap(waited) {
		if err := <-waited; fault.KindOf(err) != fault.Busy {
			t.Errorf("a call that has waited: %v, want a busy fault", err)
		}
	}
	for _, release := range held {
		release()
	}
	if n := len(places.shared) + len(places.spare); n != 0 {
		t.Errorf("%d places are taken when all are given back", n)
	}
}

func TestHangingImagesAreKnown(t *testing.T) {
	t.Parallel()
	var h hangingImages
	q := bus.ImageRequest{Tenant: "a", Job: "j", Page: 2, DPI: 100}
	if h.has(q) {
		t.Error("an image is known before it was drawn")
	}
	h.add(q)
	other := q
	other.Page = 1
	if !h.has(q) || h.has(other) {
		t.Errorf("known: %t, another page: %t, want the one alone", h.has(q), h.has(other))
	}
	h.known[q] = time.Now().Add(-hangingImageTime)
	if h.has(q) {
		t.Error("an image is known to hang for ever")
	}
}
