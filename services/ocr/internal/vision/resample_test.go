package vision

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/draw"
)

func drawNoise(width, height int) *image.Gray {
	rng := rand.New(rand.NewPCG(uint64(width), uint64(height)))
	out := image.NewGray(image.Rect(0, 0, width, height))
	for i := range out.Pix {
		out.Pix[i] = byte(rng.IntN(256))
	}
	return out
}

// averageOver returns the mean of an area of a picture, whose edges may lie within pixels.
func averageOver(in *image.Gray, x0, y0, x1, y1 float64) float64 {
	sum := 0.0
	for y := int(y0); y < in.Rect.Dy() && float64(y) < y1; y++ {
		for x := int(x0); x < in.Rect.Dx() && float64(x) < x1; x++ {
			width := min(x1, float64(x+1)) - max(x0, float64(x))
			height := min(y1, float64(y+1)) - max(y0, float64(y))
			sum += width * height * float64(in.GrayAt(x, y).Y)
		}
	}
	return sum / ((x1 - x0) * (y1 - y0))
}

func TestShrunkPixelIsTheMeanOfItsArea(t *testing.T) {
	t.Parallel()
	for _, size := range [][4]int{{7, 5, 3, 2}, {100, 60, 99, 59}, {64, 64, 16, 8}, {33, 2, 1, 1}, {50, 40, 50, 40}} {
		in := drawNoise(size[0], size[1])
		got := shrinkPicture(in, size[2], size[3])
		stepX, stepY := float64(size[0])/float64(size[2]), float64(size[1])/float64(size[3])
		for y := range size[3] {
			for x := range size[2] {
				want := averageOver(in, float64(x)*stepX, float64(y)*stepY, float64(x+1)*stepX, float64(y+1)*stepY)
				if is := float64(got.GrayAt(x, y).Y); math.Abs(is-want) > 2.5 { // edges are kept in 256ths of a pixel
					t.Errorf("%v: pixel %d, %d is %v, want %.1f", size, x, y, is, want)
				}
			}
		}
	}
}

func TestDoubledPictureIsTheSpline(t *testing.T) {
	t.Parallel()
	in := drawNoise(31, 17)
	got, want := doublePicture(in), image.NewGray(image.Rect(0, 0, 62, 34))
	draw.CatmullRom.Scale(want, want.Rect, in, in.Rect, draw.Src, nil)
	for y := 4; y < 30; y++ { // the edges go on in another way
		for x := 4; x < 58; x++ {
			if is, want := int(got.GrayAt(x, y).Y), int(want.GrayAt(x, y).Y); max(is-want, want-is) > 1 {
				t.Errorf("pixel %d, %d is %d, want %d", x, y, is, want)
			}
		}
	}
	if one := doublePicture(drawNoise(1, 1)); one.Rect.Dx() != 2 || one.GrayAt(0, 0) != one.GrayAt(1, 1) {
		t.Errorf("a pixel becomes %v", one.Pix)
	}
}

func TestEncodedPictureIsReadAsItIs(t *testing.T) {
	t.Parallel()
	for _, size := range []image.Point{{1, 1}, {200, 3}, {301, 407}} {
		in := drawNoise(size.X, size.Y)
		data, got, err := encodePicture(in, 1000)
		if err != nil || got != size {
			t.Fatalf("encode %v: %v, %v", size, got, err)
		}
		out, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("decode %v: %v", size, err)
		}
		if grey, isGrey := out.(*image.Gray); !isGrey || !bytes.Equal(grey.Pix, in.Pix) {
			t.Errorf("a picture of %v is read as another one", size)
		}
	}
	if _, got, err := encodePicture(drawNoise(400, 100), 100); err != nil || got != image.Pt(100, 25) {
		t.Errorf("got %v, %v, want a picture of 100 x 25", got, err)
	}
}

// The ink of a cell is counted pixel by pixel, however many are looked at together.
func TestCellsWithInk(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for below := range 256 {
		picture := image.NewGray(image.Rect(0, 0, 61+rng.IntN(9), 40))
		for i := range picture.Pix { // around the value, where it is close
			if picture.Pix[i] = 255; rng.IntN(80) < 2 {
				picture.Pix[i] = byte(max(0, min(255, below+rng.IntN(12)-7)))
			}
		}
		const points, scale = 3, 2.3
		k := &ink{picture: picture, below: byte(below), scale: scale}
		inked, columns := k.findInked(points)
		dark, side := make([]int, len(inked)), float32(points*scale)
		for i, v := range picture.Pix {
			x, y := int(float32(i%picture.Stride)/side), int(float32(i/picture.Stride)/side)
			if v < byte(below) && x < columns && y < len(inked)/columns {
				dark[y*columns+x]++
			}
		}
		for i, n := range dark {
			x, y := i%columns, i/columns
			isInner := x > 0 && y > 0 && x < columns-1 && y < len(inked)/columns-1
			if want := isInner && float32(n) > inkShare*side*side; inked[i] != want {
				t.Fatalf("below %d the cell %d, %d with %d dark pixels has ink: %v, want %v", below, x, y, n, inked[i], want)
			}
		}
	}
}
