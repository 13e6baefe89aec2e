// Package grey works on 8-bit grey images: turning, shrinking, and measuring what is on them. It is pure Go over byte
// slices, so that it runs on PDFium's own bitmaps without a copy.
package grey

import "encoding/binary"

// Image is 8-bit grey pixels, 0 black, in rows of Stride bytes.
type Image struct {
	Pix                   []byte
	Width, Height, Stride int
}

// New returns a black image.
func New(width, height int) Image {
	return Image{Pix: make([]byte, width*height), Width: width, Height: height, Stride: width}
}

// PixelRow returns the pixels of one row.
func (m Image) PixelRow(y int) []byte {
	return m.Pix[y*m.Stride:][:m.Width]
}

// Valid reports whether the pixels that the size promises are there.
func (m Image) Valid() bool {
	return m.Width > 0 && m.Height > 0 && m.Stride >= m.Width && len(m.Pix) >= (m.Height-1)*m.Stride+m.Width
}

// Crop returns a part of the image, which shares its pixels.
func (m Image) Crop(x0, y0, x1, y1 int) Image {
	return Image{Pix: m.Pix[y0*m.Stride+x0:], Width: x1 - x0, Height: y1 - y0, Stride: m.Stride}
}

// ShrinkInto writes an area average of src into dst, which must be no larger: each source pixel counts by the share
// of it that falls into a pixel of dst. Rows are summed first, eight pixels at a time in the 16-bit lanes of two
// words, then columns; the weights of each sum add up to 256, so that no lane overflows.
func ShrinkInto(dst, src Image) {
	if dst.Width == src.Width && dst.Height == src.Height {
		for y := range dst.Height {
			copy(dst.PixelRow(y), src.PixelRow(y))
		}
		return
	}
	columns, rows := newAreaWeights(src.Width, dst.Width), newAreaWeights(src.Height, dst.Height)
	words := src.Width / 8
	even, odd := make([]uint64, words), make([]uint64, words)
	sums := make([]uint16, src.Width+columns.taps) // weights of nothing reach beyond the last column
	for y := range dst.Height {
		clear(even)
		clear(odd)
		clear(sums[words*8:])
		first, weights := rows.weightsAt(y)
		for i, w := range weights {
			if w == 0 {
				continue
			}
			row := src.PixelRow(first + i)
			addWeightedRow(even, odd, row, uint64(w))
			for x := words * 8; x < len(row); x++ {
				sums[x] += uint16(row[x]) * w
			}
		}
		for i, e := range even {
			o, s := odd[i], sums[i*8:i*8+8]
			s[0], s[2], s[4], s[6] = uint16(e), uint16(e>>16), uint16(e>>32), uint16(e>>48)
			s[1], s[3], s[5], s[7] = uint16(o), uint16(o>>16), uint16(o>>32), uint16(o>>48)
		}
		if columns.taps == minTaps {
			sumThreeTaps(dst.PixelRow(y), sums, columns)
		} else {
			sumManyTaps(dst.PixelRow(y), sums, columns)
		}
	}
}

// minTaps is how many weights each destination pixel has at least: as many as any has down to half the size, which is
// nearly always.
const minTaps = 3

// sumThreeTaps is sumManyTaps for minTaps weights, and twice as fast.
func sumThreeTaps(out []byte, sums []uint16, columns areaWeights) {
	weights, first := columns.weights, columns.first[:len(out)]
	for x, f := range first {
		w, s := weights[:3], sums[f:f+3]
		sum := 1<<15 + uint32(s[0])*uint32(w[0]) + uint32(s[1])*uint32(w[1]) + uint32(s[2])*uint32(w[2])
		out[x] = byte(min(sum>>16, 255))
		weights = weights[3:]
	}
}

func sumManyTaps(out []byte, sums []uint16, columns areaWeights) {
	for x := range out {
		first, weights := columns.weightsAt(x)
		part := sums[first:][:len(weights)]
		sum := uint32(1 << 15)
		for i, w := range weights {
			sum += uint32(part[i]) * uint32(w)
		}
		out[x] = byte(min(sum>>16, 255))
	}
}

func addWeightedRow(even, odd []uint64, row []byte, weight uint64) {
	const lanes = 0x00FF00FF00FF00FF
	odd = odd[:len(even)]
	for i := range even {
		v := binary.LittleEndian.Uint64(row[i*8:])
		even[i] += (v & lanes) * weight
		odd[i] += (v >> 8 & lanes) * weight
	}
}

// areaWeights holds for each destination pixel the source pixels that fall into it, and by how much, in 1/256: most
// of them for each, the last ones of no weight where fewer do.
type areaWeights struct {
	taps    int
	first   []int32
	weights []uint16
}

func (w areaWeights) weightsAt(i int) (first int, weights []uint16) {
	return int(w.first[i]), w.weights[i*w.taps : (i+1)*w.taps]
}

func newAreaWeights(from, to int) areaWeights {
	w := areaWeights{taps: minTaps, first: make([]int32, to)}
	for d := range to {
		w.taps = max(w.taps, ((d+1)*from+to-1)/to-d*from/to)
	}
	w.weights = make([]uint16, to*w.taps)
	for d := range to {
		// In units of 1/to of a source pixel: the destination covers [d*from, (d+1)*from), source pixel i covers [i*to,
		// (i+1)*to).
		start, end := d*from, (d+1)*from
		w.first[d] = int32(start / to)
		sum, done := 0, 0
		for i := start / to; i*to < end; i++ {
			sum += min(end, (i+1)*to) - max(start, i*to)
			share := sum * 256 / from // of what is covered so far, so that rounding never adds up
			w.weights[d*w.taps+i-start/to] = uint16(share - done)
			done = share
		}
	}
	return w
}

// Orientation says how to bring an image upright: first columns and rows change places if Transpose, then rows and
// columns are reversed.
type Orientation struct{ Transpose, FlipX, FlipY bool }

// ApplyInto writes src, turned, into dst, whose size must be src's, exchanged if t transposes.
func (t Orientation) ApplyInto(dst, src Image) {
	const block = 32 // squares of it keep the strided side in the cache
	for by := 0; by < dst.Height; by += block {
		for bx := 0; bx < dst.Width; bx += block {
			for y := by; y < min(by+block, dst.Height); y++ {
				row := dst.PixelRow(y)
				for x := bx; x < min(bx+block, dst.Width); x++ {
					row[x] = src.Pix[t.sourceIndex(x, y, dst, src)]
				}
			}
		}
	}
}

func (t Orientation) sourceIndex(x, y int, dst, src Image) int {
	if t.FlipX {
		x = dst.Width - 1 - x
	}
	if t.FlipY {
		y = dst.Height - 1 - y
	}
	if t.Transpose {
		x, y = y, x
	}
	return y*src.Stride + x
}

// ImageFromBGR turns an image of BGR pixels, each of size bytes, grey in place, and returns it.
func ImageFromBGR(pix []byte, width, height, stride, size int) Image {
	for y := range height {
		in, out := pix[y*stride:], pix[y*stride:][:width]
		for x := range out {
			b, g, r := uint32(in[x*size]), uint32(in[x*size+1]), uint32(in[x*size+2])
			out[x] = byte((29*b + 150*g + 77*r) >> 8)
		}
	}
	return Image{Pix: pix, Width: width, Height: height, Stride: stride}
}
