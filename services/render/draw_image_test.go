package render

import (
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
)

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
