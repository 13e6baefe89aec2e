package render

import (
	"context"
	"fmt"
	"sync"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fairshare"
	"inkstream.dev/pkg/fault"
)

const (
	// shareLookInterval is how often a call that waits looks whether its tenant uses little by now.
	shareLookInterval = 50 * time.Millisecond
	// maxHangingImages bounds how many images are known to take too long, and hangingImageTime for how long they are.
	maxHangingImages = 10_000
	hangingImageTime = 10 * time.Minute
)

// drawSlots are places for pages that are being drawn: shared ones, and one for tenants that use little.
type drawSlots struct {
	shared, spare chan struct{}
	tenants       fairshare.Account
}

func newDrawSlots(shared int) *drawSlots {
	return &drawSlots{shared: make(chan struct{}, shared), spare: make(chan struct{}, 1)}
}

// acquire waits for a place, which release gives back.
func (s *drawSlots) acquire(ctx context.Context, tenant string) (release func(), err error) {
	tick := time.NewTicker(shareLookInterval)
	defer tick.Stop()
	for {
		var spare chan struct{} // never ready where it is nil
		if s.tenants.IsLight(tenant) {
			spare = s.spare
		}
		taken := s.shared
		select {
		case s.shared <- struct{}{}:
		default:
			select {
			case s.shared <- struct{}{}:
			case spare <- struct{}{}:
				taken = spare
			case <-tick.C:
				continue
			case <-ctx.Done():
				return nil, fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("wait for a place to draw: %w", ctx.Err()))
			}
		}
		end := s.tenants.Begin(tenant)
		return func() {
			end()
			<-taken
		}, nil
	}
}

// hangingImages are the images that took too long to draw, with when that was: to ask again is answered at once.
type hangingImages struct {
	mu    sync.Mutex // guards known
	known map[bus.ImageRequest]time.Time
}

// add notes an image. When there are too many, all are forgotten, and found again.
func (h *hangingImages) add(q bus.ImageRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil || len(h.known) >= maxHangingImages {
		h.known = make(map[bus.ImageRequest]time.Time)
	}
	h.known[q] = time.Now()
}

func (h *hangingImages) has(q bus.ImageRequest) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	since, ok := h.known[q]
	return ok && time.Since(since) < hangingImageTime
}
