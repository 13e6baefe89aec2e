package vision

import (
	"encoding/binary"
	"image"
)

// Grey pictures are resampled here, because golang.org/x/image/draw has no fast path to them: a page takes it a fifth of
// a second.

// pixelUnit is the weight of a whole pixel.
const pixelUnit = 1 << 8

// divideLine returns where a line of pixels is cut into fewer parts of one size, in units of a pixel's weight.
func divideLine(pixels, parts int) []int {
	cuts := make([]int, parts+1)
	for i := range cuts {
		cuts[i] = i * pixels * pixelUnit / parts
	}
	return cuts
}

// shrinkPicture returns a picture in fewer pixels, each of which is the mean of its area, so that no thin stroke falls
// between two.
func shrinkPicture(in *image.Gray, width, height int) *image.Gray {
	out := image.NewGray(image.Rect(0, 0, width, height))
	columns, rows := divideLine(in.Rect.Dx(), width), divideLine(in.Rect.Dy(), height)
	shares := make([]float32, width) // of a mean in its column
	for x := range shares {
		shares[x] = 1 / float32((columns[x+1]-columns[x])*meanUnit)
	}
	m := newLineMean(in.Rect.Dx())
	for y := range height {
		m.average(in, rows[y], rows[y+1])
		line := out.Pix[y*out.Stride:][:width]
		reached := uint64(0) // the sum up to the last cut
		for x, cut := range columns[1:] {
			at := cut / pixelUnit
			sum := pixelUnit*m.sums[at] + uint64(cut%pixelUnit)*uint64(m.means[at])
			line[x] = byte(float32(sum-reached)*shares[x] + 0.5)
			reached = sum
		}
	}
	return out
}

// meanUnit is what the weights of averaged lines add up to, so that their sum fits 16 bits.
const meanUnit = 1 << 8

// lineMean averages lines, eight pixels at a time.
type lineMean struct {
	even, odd []uint64 // four sums of 16 bits each, of every other pixel
	means     []uint16 // in parts of meanUnit, and one beyond the last pixel
	sums      []uint64 // of the means before each pixel
}

func newLineMean(width int) *lineMean {
	return &lineMean{even: make([]uint64, width/8), odd: make([]uint64, width/8), means: make([]uint16, width+1),
		sums: make([]uint64, width+1)}
}

// average averages the lines of a picture between two cuts.
func (m *lineMean) average(in *image.Gray, from, to int) {
	clear(m.even)
	clear(m.odd)
	clear(m.means)
	given := 0
	for at := from / pixelUnit; at*pixelUnit < to; at++ {
		reached := (min(to, (at+1)*pixelUnit) - from) * meanUnit / (to - from)
		m.addLine(in.Pix[at*in.Stride:][:in.Rect.Dx()], reached-given)
		given = reached
	}
	for i, even := range m.even {
		means, odd := m.means[8*i:][:8], m.odd[i]
		means[0], means[2], means[4], means[6] = uint16(even), uint16(even>>16), uint16(even>>32), uint16(even>>48)
		means[1], means[3], means[5], means[7] = uint16(odd), uint16(odd>>16), uint16(odd>>32), uint16(odd>>48)
	}
	sum := uint64(0)
	sums := m.sums[:len(m.means)]
	for x, mean := range m.means {
		sums[x] = sum
		sum += uint64(mean)
	}
}

func (m *lineMean) addLine(line []byte, weight int) {
	const everyOther = 0x00ff00ff00ff00ff
	odd := m.odd[:len(m.even)]
	for i := range m.even {
		pixels := binary.LittleEndian.Uint64(line[8*i:])
		m.even[i] += pixels & everyOther * uint64(weight)
		odd[i] += pixels >> 8 & everyOther * uint64(weight)
	}
	for x := 8 * len(m.even); x < len(line); x++ {
		m.means[x] += uint16(weight) * uint16(line[x])
	}
}

// catmullRom are the weights of the pixels around a place that lies a quarter of a pixel beyond the middle of the second
// one: of the one before it, of itself, and of the two after it. They add up to catmullRomUnit.
var catmullRom = [4]int32{-9, 111, 29, -3}

const catmullRomUnit = 128

// doublePicture returns a picture twice as wide and high, by a Catmull-Rom spline. Beyond its edges a picture goes on as
// it ends.
func doublePicture(in *image.Gray) *image.Gray {
	width, height := in.Rect.Dx(), in.Rect.Dy()
	out := image.NewGray(image.Rect(0, 0, 2*width, 2*height))
	lineAt := func(y int) []byte { return in.Pix[max(0, min(height-1, y))*in.Stride:][:width] }
	padded := make([]int32, width+4)
	mixed := padded[2:][:width]
	for y := range 2 * height {
		at, step := y/2, 1 // an upper half lies a quarter above the middle
		if y%2 == 0 {
			step = -1
		}
		a, b, c, d := lineAt(at-step), lineAt(at), lineAt(at+step), lineAt(at+2*step)
		for x := range mixed {
			mixed[x] = weighPixels(int32(a[x]), int32(b[x]), int32(c[x]), int32(d[x]))
		}
		padded[0], padded[1], padded[width+2], padded[width+3] = mixed[0], mixed[0], mixed[width-1], mixed[width-1]
		line := out.Pix[y*out.Stride:][:2*width]
		for x := range width {
			p := padded[x:][:5]
			line[2*x], line[2*x+1] = roundWeighed(weighPixels(p[3], p[2], p[1], p[0])), roundWeighed(weighPixels(p[1], p[2], p[3], p[4]))
		}
	}
	return out
}

// weighPixels returns the sum of four pixels by their weights, which is catmullRomUnit times a pixel.
func weighPixels(a, b, c, d int32) int32 {
	return catmullRom[0]*a + catmullRom[1]*b + catmullRom[2]*c + catmullRom[3]*d
}

// roundWeighed returns the pixel of what was weighed twice.
func roundWeighed(v int32) byte {
	const unit = catmullRomUnit * catmullRomUnit
	return byte(max(0, min(255, (v+unit/2)/unit)))
}
