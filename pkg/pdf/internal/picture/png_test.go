package picture

import (
	"bytes"
	"image/png"
	"testing"
)

func TestPNGDecodesToWhatItWas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		channels int
		value    func(x, y, c int) byte
	}{
		{"bilevel", 1, func(x, y, _ int) byte { return byte(0 - (x*y+x)&1) }},
		{"bilevel, mostly white", 1, func(x, y, _ int) byte { return byte(min(1, x*y%131) * 255) }},
		{"bilevel but for a pixel", 1, func(x, y, _ int) byte { return byte(255 - max(0, 1-(x-12)*(x-12)-(y-2)*(y-2))) }},
		{"grey", 1, func(x, y, _ int) byte { return byte(x*7 + y) }},
		{"colour", 3, func(x, y, c int) byte { return byte(x*3 + y*5 + c*60) }},
		{"colour with a fourth byte", 4, func(x, y, c int) byte { return byte(x + y*9 + c*30) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var e Encoder
			for _, size := range [][2]int{{700, 300}, {1, 1}, {13, 5}, {64, 3}, {200, 100}} {
				m := Image{Width: size[0], Height: size[1], Channels: tt.channels, Stride: size[0]*tt.channels + 3}
				m.Pix = make([]byte, m.Stride*m.Height)
				for y := range m.Height {
					for x := range m.Width {
						for c := range tt.channels {
							m.Pix[y*m.Stride+x*tt.channels+c] = tt.value(x, y, c)
						}
					}
				}
				var b bytes.Buffer
				if err := e.Encode(&b, m); err != nil {
					t.Fatal(err)
				}
				got, err := png.Decode(&b)
				if err != nil {
					t.Fatalf("%v: %v", size, err)
				}
				for y := range m.Height {
					for x := range m.Width {
						red, green, blue, _ := got.At(x, y).RGBA()
						want := [3]byte{}
						for c := range want {
							want[c] = tt.value(x, y, min(tt.channels-1, 2-c))
							if tt.channels == 1 {
								want[c] = tt.value(x, y, 0)
							}
						}
						if have := [3]byte{byte(red >> 8), byte(green >> 8), byte(blue >> 8)}; have != want {
							t.Fatalf("%v: pixel %d, %d: got %v, want %v", size, x, y, have, want)
						}
					}
				}
			}
		})
	}
}

func TestPNGOfEmptyImageIsRefused(t *testing.T) {
	t.Parallel()
	for _, m := range []Image{
		{}, {Width: 5, Height: 5, Channels: 1, Stride: 5, Pix: make([]byte, 24)},
		{Width: 1 << 40, Height: 1 << 40, Channels: 1, Stride: 1 << 40},
	} {
		if err := new(Encoder).Encode(&bytes.Buffer{}, m); err == nil {
			t.Errorf("%dx%d: got no error", m.Width, m.Height)
		}
	}
}
