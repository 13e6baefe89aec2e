package grey

import (
	"math/rand/v2"
	"testing"
)

// noiseImage returns an image of random pixels with padded rows.
func noiseImage(width, height int) Image {
	rnd := rand.New(rand.NewPCG(1, 2))
	m := Image{Pix: make([]byte, (width+3)*height), Width: width, Height: height, Stride: width + 3}
	for i := range m.Pix {
		m.Pix[i] = byte(rnd.IntN(256))
	}
	return m
}

func TestShrinkAveragesAreas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to [2]int }{
		{[2]int{64, 48}, [2]int{32, 24}},
		{[2]int{100, 77}, [2]int{61, 31}},
		{[2]int{257, 33}, [2]int{256, 32}},
		{[2]int{9, 9}, [2]int{1, 1}},
		{[2]int{40, 40}, [2]int{40, 40}},
	} {
		src, dst := noiseImage(tt.from[0], tt.from[1]), New(tt.to[0], tt.to[1])
		ShrinkInto(dst, src)
		for y := range dst.Height {
			for x := range dst.Width {
				got, want := float64(dst.PixelRow(y)[x]), averageArea(src, dst, x, y)
				if got < want-3 || got > want+3 {
					t.Fatalf("%v to %v: pixel %d,%d: got %v, want %.1f", tt.from, tt.to, x, y, got, want)
				}
			}
		}
	}
}

// averageArea is the plain definition: the mean of the source over the area of one destination pixel.
func averageArea(src, dst Image, x, y int) float64 {
	share := func(from, to, d, s int) float64 {
		lo, hi := float64(d)*float64(from)/float64(to), float64(d+1)*float64(from)/float64(to)
		return max(0, min(hi, float64(s+1))-max(lo, float64(s)))
	}
	var sum, weight float64
	for sy := range src.Height {
		wy := share(src.Height, dst.Height, y, sy)
		if wy == 0 {
			continue
		}
		for sx := range src.Width {
			w := wy * share(src.Width, dst.Width, x, sx)
			sum += w * float64(src.PixelRow(sy)[sx])
			weight += w
		}
	}
	return sum / weight
}

func TestShrinkKeepsWhiteAndBlack(t *testing.T) {
	t.Parallel()
	for _, v := range []byte{0, 255} {
		src, dst := New(333, 211), New(177, 120)
		for i := range src.Pix {
			src.Pix[i] = v
		}
		ShrinkInto(dst, src)
		for i, got := range dst.Pix {
			if got != v {
				t.Fatalf("pixel %d: got %d, want %d", i, got, v)
			}
		}
	}
}

func TestOrientation(t *testing.T) {
	t.Parallel()
	src := Image{Pix: []byte{1, 2, 3, 4, 5, 6}, Width: 3, Height: 2, Stride: 3}
	for _, tt := range []struct {
		turn Orientation
		want string
	}{
		{Orientation{}, "\x01\x02\x03\x04\x05\x06"},
		{Orientation{FlipX: true, FlipY: true}, "\x06\x05\x04\x03\x02\x01"},
		{Orientation{Transpose: true}, "\x01\x04\x02\x05\x03\x06"},
		{Orientation{Transpose: true, FlipX: true}, "\x04\x01\x05\x02\x06\x03"}, // a quarter turn clockwise
		{Orientation{Transpose: true, FlipY: true}, "\x03\x06\x02\x05\x01\x04"}, // and the other way
	} {
		dst := New(3, 2)
		if tt.turn.Transpose {
			dst = New(2, 3)
		}
		tt.turn.ApplyInto(dst, src)
		if got := string(dst.Pix); got != tt.want {
			t.Errorf("%+v: got %v, want %v", tt.turn, []byte(got), []byte(tt.want))
		}
	}
}

// textImage draws rows of letters, crosses of the given size, on paper.
func textImage(width, height, size int, ink, paper byte) Image {
	m := New(width, height)
	for i := range m.Pix {
		m.Pix[i] = paper
	}
	for y := height / 10; y+size < height*9/10; y += 3 * size {
		for x := width / 10; x+size < width*9/10; x += 2 * size {
			drawCross(m, x, y, size, ink)
		}
	}
	return m
}

func drawCross(m Image, x, y, size int, ink byte) {
	for k := range size {
		for w := range max(2, size/6) {
			m.Pix[(y+k)*m.Stride+x+size/2+w] = ink
			m.Pix[(y+size/2+w)*m.Stride+x+k] = ink
		}
	}
}

func TestMeasureFindsTheSizeOfLetters(t *testing.T) {
	t.Parallel()
	for _, size := range []int{8, 16, 24, 40} {
		for _, colours := range [][2]byte{{0, 255}, {90, 200}} {
			got := MeasureText(textImage(2000, 2800, size, colours[0], colours[1]), nil)
			if got.XHeight < float64(size)-1 || got.XHeight > float64(size)+1 {
				t.Errorf("letters of %d pixels in %v: got %.1f", size, colours, got.XHeight)
			}
			if want := float64(colours[1] - colours[0]); got.Contrast < want-2 || got.Contrast > want+2 {
				t.Errorf("contrast of %v: got %.0f, want %.0f", colours, got.Contrast, want)
			}
		}
	}
}

func TestMeasureOfPaper(t *testing.T) {
	t.Parallel()
	m := New(2000, 2800)
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range m.Pix {
		m.Pix[i] = byte(225 + rnd.IntN(20))
	}
	if got := MeasureText(m, nil); got.Ink > 0 || got.Letters > 0 {
		t.Errorf("paper with grain: got %+v, want no ink", got)
	}
	// One small word in the middle must not be lost in the grain.
	for i := range 3 {
		drawCross(m, 900+40*i, 1300, 30, 20)
	}
	if got := MeasureText(m, nil); got.Ink == 0 || got.Letters == 0 {
		t.Errorf("paper with three letters: got %+v, want them seen", got)
	}
}

func TestMeasureCountsWhereItIsTold(t *testing.T) {
	t.Parallel()
	m := textImage(1000, 1000, 16, 0, 255)
	all := MeasureText(m, nil).Letters
	top := MeasureText(m, func(_, y float64) bool { return y < 0.5 }).Letters
	if top < all*4/10 || top > all*6/10 {
		t.Errorf("letters in the top half: got %d of %d", top, all)
	}
}

func TestFromBGR(t *testing.T) {
	t.Parallel()
	pix := []byte{255, 255, 255, 0, 0, 0, 9, 9, 255, 0, 0, 0, 255, 0, 9, 9}
	m := ImageFromBGR(pix, 2, 2, 8, 3)
	if got, want := []byte{m.PixelRow(0)[0], m.PixelRow(0)[1], m.PixelRow(1)[0], m.PixelRow(1)[1]},
		[]byte{255, 0, 28, 149}; string(got) != string(want) {
		t.Errorf("got %v, want %v (white, black, blue, green)", got, want)
	}
}

func BenchmarkShrink(b *testing.B) {
	src, dst := noiseImage(2480, 3508), New(1700, 2405)
	b.SetBytes(int64(src.Width * src.Height))
	for b.Loop() {
		ShrinkInto(dst, src)
	}
}

func BenchmarkMeasure(b *testing.B) {
	m := textImage(2480, 3508, 20, 0, 255)
	for b.Loop() {
		MeasureText(m, nil)
	}
}
