package render

import (
	"sync"
	"time"

	"inkstream.dev/pkg/bus"
)

const (
	// maxHangingImages bounds how many images are known to take too long, and hangingImageTime for how long they are.
	maxHangingImages = 10_000
	hangingImageTime = 10 * time.Minute
)

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
