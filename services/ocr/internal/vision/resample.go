package vision

import "image"

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
	shares := make([]float32, width) // of a column's pixel in the sum of its column
	for x := range shares {
		shares[x] = 1 / float32(columns[x+1]-columns[x])
	}
	sums := make([]uint32, in.Rect.Dx()+1) // there is a pixel beyond the last cut
	for y := range height {
		clear(sums)
		for at := rows[y] / pixelUnit; at*pixelUnit < rows[y+1]; at += linesAtOnce {
			addLines(sums[:in.Rect.Dx()], in, at, rows[y], rows[y+1])
		}
		share := 1 / float32(rows[y+1]-rows[y])
		line := out.Pix[y*out.Stride:][:width]
		at, before, reached := 0, uint64(0), uint64(0) // the sums of whole pixels before at, and up to the last cut
		for x := range line {
			cut := columns[x+1]
			for ; at < cut/pixelUnit; at++ {
				before += pixelUnit * uint64(sums[at])
			}
			sum := before + uint64(cut%pixelUnit)*uint64(sums[at])
			line[x] = byte(float32(sum-reached)*share*shares[x] + 0.5)
			reached = sum
		}
	}
	return out
}

// linesAtOnce is how many lines are added together: a page is shrunk to a half or a third.
const linesAtOnce = 4

// addLines adds lines of a picture from one on, each by what of it lies between two cuts.
func addLines(sums []uint32, in *image.Gray, first, from, to int) {
	var lines [linesAtOnce][]byte
	var weights [linesAtOnce]uint32
	for k := range lines {
		lines[k] = in.Pix[min(first+k, in.Rect.Dy()-1)*in.Stride:]
		start := (first + k) * pixelUnit
		weights[k] = uint32(max(0, min(start+pixelUnit, to)-max(start, from)))
	}
	a, b, c, d := lines[0][:len(sums)], lines[1][:len(sums)], lines[2][:len(sums)], lines[3][:len(sums)]
	for x := range sums {
		sums[x] += weights[0]*uint32(a[x]) + weights[1]*uint32(b[x]) + weights[2]*uint32(c[x]) + weights[3]*uint32(d[x])
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
			mixed[x] = weigh(int32(a[x]), int32(b[x]), int32(c[x]), int32(d[x]))
		}
		padded[0], padded[1], padded[width+2], padded[width+3] = mixed[0], mixed[0], mixed[width-1], mixed[width-1]
		line := out.Pix[y*out.Stride:][:2*width]
		for x := range width {
			p := padded[x:][:5]
			line[2*x], line[2*x+1] = roundWeighed(weigh(p[3], p[2], p[1], p[0])), roundWeighed(weigh(p[1], p[2], p[3], p[4]))
		}
	}
	return out
}

func weigh(a, b, c, d int32) int32 {
	return catmullRom[0]*a + catmullRom[1]*b + catmullRom[2]*c + catmullRom[3]*d
}

// roundWeighed returns the pixel of what was weighed twice.
func roundWeighed(v int32) byte {
	const unit = catmullRomUnit * catmullRomUnit
	return byte(max(0, min(255, (v+unit/2)/unit)))
}
