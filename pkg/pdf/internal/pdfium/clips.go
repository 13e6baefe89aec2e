package pdfium

import (
	"encoding/binary"
	"math"
)

// everywhere is the clip of what nothing clips.
var everywhere = Rect{math.Inf(-1), math.Inf(-1), math.Inf(1), math.Inf(1)}

// What is read of the clipping paths of an object, and of those of a page, at most: what is beyond that clips nothing.
const (
	maxClipPaths, maxClipSegments = 16, 64
	maxPageClipSegments           = 20_000
)

// clipOf returns the rectangle that the clipping paths of an object leave, in user space: nothing of it is painted
// elsewhere. m maps the object's coordinates to user space.
//
// The objects that one clip holds for share it: a handle is the address of a pointer to it (CPDF_ClipPath has one
// member), by which it is remembered.
func (w *objectWalker) clipOf(object uint64, m Matrix) Rect {
	handle := w.in.callFunction(fnObjClipPath, object) & math.MaxUint32
	if handle == 0 {
		return everywhere
	}
	shared := binary.LittleEndian.Uint32(w.in.memoryView(handle, 4))
	if shared == 0 {
		return everywhere
	}
	clip, known := w.clips[shared]
	if !known {
		clip = w.readClip(handle)
		if w.clips == nil {
			w.clips = map[uint32]Rect{}
		}
		w.clips[shared] = clip
	}
	switch {
	case !clip.IsFinite():
		return everywhere
	case clip.Right < clip.Left || clip.Top < clip.Bottom: // clips that share nothing
		return clip
	}
	return m.MapRect(clip)
}

// readClip returns the rectangle that clipping paths leave, in the space of the object.
func (w *objectWalker) readClip(handle uint64) Rect {
	clip := everywhere
	for i := range min(w.in.callInt(fnClipCountPaths, handle), maxClipPaths) {
		n := w.in.callInt(fnClipCountSegments, handle, uint64(i))
		if n < 1 || n > maxClipSegments || w.clipSegments+n > maxPageClipSegments {
			continue
		}
		w.clipSegments += n
		bounds := Rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
		for j := range n {
			segment := w.in.callFunction(fnClipGetSegment, handle, uint64(i), uint64(j)) & math.MaxUint32
			if segment == 0 || !w.in.callBool(fnSegmentPoint, segment, w.in.scratch, w.in.scratch+4) {
				return everywhere
			}
			var p [2]float64
			w.in.readFloats(p[:])
			bounds = Rect{math.Min(bounds.Left, p[0]), math.Min(bounds.Bottom, p[1]), math.Max(bounds.Right, p[0]), math.Max(bounds.Top, p[1])}
		}
		clip = clip.intersect(bounds)
	}
	return clip
}

// intersect returns what two rectangles share; if they share nothing, its edges are the wrong way round.
func (r Rect) intersect(o Rect) Rect {
	return Rect{math.Max(r.Left, o.Left), math.Max(r.Bottom, o.Bottom), math.Min(r.Right, o.Right), math.Min(r.Top, o.Top)}
}

func (r Rect) widenedBy(by float64) Rect {
	return Rect{r.Left - by, r.Bottom - by, r.Right + by, r.Top + by}
}
