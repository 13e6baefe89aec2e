package document

import (
	"maps"
	"slices"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// typeSizeQuarters returns the size of a word's type in quarters of a point.
func typeSizeQuarters(w *inkstreamv1.Word, angle int32) int {
	if s := w.GetSize(); s > 0 && s < 2000 {
		height := textHeight(w.GetBbox(), angle)
		if s < 0.6*height && height < 2000 { // a font that the page scales
			return int(height*4 + 0.5)
		}
		return int(s*4 + 0.5)
	}
	height := textHeight(w.GetBbox(), angle)
	if w.Confidence != nil {
		height = float32(layout.RecognisedTypeSize(w.GetText(), float64(height)))
	}
	return int(min(max(height, 0), 2000)*4 + 0.5)
}

// textHeight returns the height of a box of text of that angle.
func textHeight(box []float32, angle int32) float32 {
	if len(box) != 4 {
		return 0
	}
	if angle%180 != 0 {
		return box[2] - box[0]
	}
	return box[3] - box[1]
}

func mostFrequent(counts map[int]int) int {
	best, most := 0, 0
	for v, n := range counts {
		if n > most || n == most && v > best {
			best, most = v, n
		}
	}
	return best
}

// medianSize returns the size that half of the characters do not exceed. Heights of recognised words vary with their
// letters, so that none of them is frequent.
func medianSize(counts map[int]int) int {
	all, seen := 0, 0
	for _, n := range counts {
		all += n
	}
	for _, size := range slices.Sorted(maps.Keys(counts)) {
		if seen += counts[size]; 2*seen >= all {
			return size
		}
	}
	return 0
}
