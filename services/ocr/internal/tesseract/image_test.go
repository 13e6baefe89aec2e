package tesseract

import (
	"math"
	"os"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// paper returns a white image.
func paper(width, height int) grey {
	g := grey{pix: make([]byte, width*height), width: width, height: height}
	for i := range g.pix {
		g.pix[i] = 255
	}
	return g
}

// fill fills a part with one grey value.
func (g grey) fill(b box, value byte) {
	for y := b[1]; y < b[3]; y++ {
		for x := b[0]; x < b[2]; x++ {
			g.pix[y*g.width+x] = value
		}
	}
}

func (g grey) mean(b box) float64 {
	sum := 0
	for y := b[1]; y < b[3]; y++ {
		for x := b[0]; x < b[2]; x++ {
			sum += int(g.pix[y*g.width+x])
		}
	}
	return float64(sum) / float64((b[2]-b[0])*(b[3]-b[1]))
}

// printed returns the upper part of a page of text at 150 dpi.
func printed(o pdftest.ScanOptions) (grey, string) {
	o.DPI = 150
	img, truth := pdftest.Raster(o, 1)
	return greyOf(img), truth
}

func TestMain(m *testing.M) {
	quiet()
	os.Exit(m.Run())
}

func TestSkewIsFound(t *testing.T) {
	t.Parallel()
	for _, skew := range []float64{-4, -0.6, 0, 2.5} {
		img, _ := printed(pdftest.ScanOptions{Skew: skew})
		angle, sureness := img.skew(150, inkThreshold(img))
		if math.Abs(angle+skew) > 0.15 || sureness < sureSkew {
			t.Errorf("skewed by %v: got %.2f (%.1f sure), want %v", skew, angle, sureness, -skew)
		}
	}
}

func TestBoxesAreMappedBack(t *testing.T) {
	t.Parallel()
	// A black square on a white page: where it is after the steps, and back.
	for _, s := range []steps{{scale: 1.5}, {angle: 3}, {angle: -2, scale: 2}, {turn: 90, angle: 4}, {turn: 270, scale: 1.5}} {
		img := paper(600, 800)
		at := box{100, 500, 160, 560}
		img.fill(at, 0)
		out, err := img.prepared(s, 150, 128)
		if err != nil {
			t.Fatal(err)
		}
		found := box{out.width, out.height, 0, 0}
		for y := range out.height {
			for x := range out.width {
				if out.pix[y*out.width+x] < 128 {
					found = found.union(box{x, y, x + 1, y + 1})
				}
			}
		}
		r := reading{turn: s.turn, skew: s.angle, blocks: []block{{lines: []line{{words: []word{{box: found}}}}}}}
		width, height := img.width, img.height
		if s.turn%180 != 0 {
			width, height = height, width
		}
		scale := s.scale
		if scale == 0 {
			scale = 1
		}
		r.straightenBack(out, width, height, scale)
		got := r.blocks[0].lines[0].words[0].box.back(s.turn, img.width, img.height)
		for i := range got {
			if d := got[i] - at[i]; d < -9 || d > 9 { // the box of a box that is askew is larger
				t.Errorf("%+v: got %v, want %v", s, got, at)
				break
			}
		}
	}
}

func TestUnevenGround(t *testing.T) {
	t.Parallel()
	plain, _ := printed(pdftest.ScanOptions{})
	dirty, _ := printed(pdftest.Dirty())
	shaded, _ := printed(pdftest.ScanOptions{Shade: 0.6, Paper: 230, Ink: 90, Noise: 4})
	framed, _ := printed(pdftest.ScanOptions{Noise: 20})
	framed.fill(box{0, 0, framed.width, 200}, 30)
	for name, tt := range map[string]struct {
		img  grey
		want bool
	}{"plain": {plain, false}, "dirty": {dirty, false}, "shaded": {shaded, true}, "framed": {framed, false}, "one pixel": {paper(1, 1), false}} {
		if g := lookAtGround(tt.img, 150, inkThreshold(tt.img)); g.uneven() != tt.want {
			t.Errorf("%s: got %v (%+v), want %v", name, g.uneven(), g, tt.want)
		}
	}
}

func TestLightTextIsTurnedDark(t *testing.T) {
	t.Parallel()
	plain, _ := printed(pdftest.ScanOptions{})
	negative := plain.turned(180).turned(180)
	for i := range negative.pix {
		negative.pix[i] = 255 - negative.pix[i]
	}
	border := plain.turned(180).turned(180)
	border.fill(box{0, 0, 120, border.height}, 20)
	for name, tt := range map[string]struct {
		img grey
		at  box // what becomes light
	}{"a negative": {negative, box{0, 0, plain.width, plain.height}}, "a black border": {border, box{0, 0, 112, plain.height}}} {
		if !hasDarkAreas(tt.img, 150, inkThreshold(tt.img)) {
			t.Errorf("%s: got no dark areas", name)
		}
		got, err := tt.img.prepared(steps{invert: true}, 150, inkThreshold(tt.img))
		if err != nil {
			t.Fatal(err)
		}
		if m := got.mean(tt.at); m < 200 {
			t.Errorf("%s: got a mean grey of %.0f, want paper", name, m)
		}
	}
	same, err := plain.prepared(steps{invert: true}, 150, inkThreshold(plain))
	if err != nil {
		t.Fatal(err)
	}
	if string(same.pix) != string(plain.pix) {
		t.Error("a page without dark areas was changed")
	}
}

func TestSmooth(t *testing.T) {
	t.Parallel()
	text, _ := printed(pdftest.ScanOptions{Specks: 0.03, Seed: 3})
	screen := paper(1240, 1754) // dots, six pixels apart
	for y := 0; y+6 < screen.height; y += 6 {
		for x := 0; x+6 < screen.width; x += 6 {
			screen.fill(box{x, y, x + 4, y + 4}, 0)
		}
	}
	clean, _ := printed(pdftest.ScanOptions{})
	tinted, dusty := paper(1240, 1754), paper(1240, 1754) // of 5,600 dots each, close together and all over the page
	for y := range 70 {
		for x := range 80 {
			tinted.fill(box{100 + 3*x, 100 + 3*y, 101 + 3*x, 101 + 3*y}, 0)
			dusty.fill(box{15 * x, 25 * y, 15*x + 1, 25*y + 1}, 0)
		}
	}
	for name, tt := range map[string]struct {
		img                         grey
		legible, smoothed, screened bool
	}{
		"clean": {clean, true, false, false}, "specks": {text, true, true, false}, "screen": {screen, false, true, false},
		"tinted box": {tinted, true, false, true}, "dust": {dusty, true, false, false}, "one pixel": {paper(1, 1), true, false, false},
	} {
		r := &reader{img: tt.img, dpi: 150, below: inkThreshold(tt.img)}
		legible, err := r.smooth()
		smoothed := &r.img.pix[0] != &tt.img.pix[0]
		if err != nil || legible != tt.legible || smoothed != tt.smoothed || r.screened != tt.screened {
			t.Errorf("%s: got legible %v, smoothed %v, screened %v, %v; want %v, %v, %v", name, legible, smoothed, r.screened, err,
				tt.legible, tt.smoothed, tt.screened)
		}
	}
}

func TestRulings(t *testing.T) {
	t.Parallel()
	text, _ := printed(pdftest.ScanOptions{Design: pdftest.Letter})
	if got := text.rulings(150, inkThreshold(text)); len(got) > 0 {
		t.Errorf("text without rulings: got %v", got)
	}
	img := paper(1240, 1754)
	want := []box{{100, 300, 900, 302}, {100, 302, 102, 900}}
	for _, b := range want {
		img.fill(b, 0)
	}
	img.fill(box{300, 1000, 900, 1400}, 40) // a picture
	got := img.rulings(150, 128)
	if len(got) != 2 {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i, b := range want {
		for side := range b {
			if d := got[i][side] - b[side]; d < -2 || d > 2 {
				t.Errorf("got %v, want %v", got[i], b)
				break
			}
		}
	}
}
