package host

import (
	"math"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf/internal/wire"
)

const (
	minDrawDPI, maxDrawDPI = 18, 300
	// maxDrawPixels bounds a drawn page; the bitmap takes four bytes of each, within the engine's memory.
	maxDrawPixels = 40_000_000
)

// drawPage draws a page in colour, as displayed, and puts it into the shared memory as PNG. A page that would be too
// large is drawn at a lower resolution.
func (h *Host) drawPage(req wire.Request) (wire.Reply, error) {
	p, err := h.loadPage(req.Page, false)
	if err != nil {
		return wire.Reply{}, err
	}
	defer p.Close()
	dpi := min(max(req.DPI, minDrawDPI), maxDrawDPI)
	if most := 72 * math.Sqrt(maxDrawPixels/(p.Width*p.Height)); dpi > most {
		dpi = most
	}
	h.releaseScratch(0)
	bitmap, ok := p.RenderRegion(0, 0, p.Width, p.Height, dpi)
	if !ok {
		return wire.Reply{}, fault.New(fault.EngineMemory, "the page's image does not fit the engine's memory")
	}
	defer bitmap.Close()
	m, ok := bitmapPixels(bitmap)
	if !ok {
		return wire.Reply{}, fault.New(fault.PageDamaged, "the page cannot be drawn")
	}
	out := &fixedBuffer{buf: h.scratch}
	err = h.png.Encode(out, m)
	h.used = max(h.used, out.length)
	if err != nil {
		return wire.Reply{}, fault.New(fault.EngineMemory, "the page's image does not fit the engine's memory")
	}
	return wire.Reply{Bytes: int64(out.length)}, nil
}
