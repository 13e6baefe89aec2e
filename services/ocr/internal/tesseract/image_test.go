package tesseract

import (
	"math"
	"os"
	"slices"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/sandbox"
)

// blankPage returns a white image.
func blankPage(width, height int) greyImage {
	g := greyImage{pix: make([]byte, width*height), width: width, height: height}
	for i := range g.pix {
		g.pix[i] = 255
	}
	return g
}

func (g greyImage) meanGrey(b box) float64 {
	sum := 0
	for y := b[1]; y < b[3]; y++ {
		for x := b[0]; x < b[2]; x++ {
			sum += int(g.pix[y*g.width+x])
		}
	}
	return float64(sum) / float64((b[2]-b[0])*(b[3]-b[1]))
}

// printedPage returns the upper part of a page of text at 150 dpi.
func printedPage(o pdftest.ScanOptions) (greyImage, string) {
	o.DPI = 150
	img, truth := pdftest.DrawScanPage(o, 1)
	return greyOf(img), truth
}

func TestMain(m *testing.M) {
	sandbox.Main(looksForModels())
	silenceLeptonica()
	os.Exit(m.Run())
}

func TestSkewIsFound(t *testing.T) {
	t.Parallel()
	for _, skew := range []float64{-4, -0.6, 0, 2.5} {
		img, _ := printedPage(pdftest.ScanOptions{Skew: skew})
		angle, sureness := img.measureSkew(150, inkThreshold(img))
		if math.Abs(angle+skew) > 0.15 || sureness < minSkewSureness {
			t.Errorf("skewed by %v: got %.2f (%.1f sure), want %v", skew, angle, sureness, -skew)
		}
	}
}

func TestBoxesAreMappedBack(t *testing.T) {
	t.Parallel()
	// A black square on a white page: where it is after the steps, and back.
	for _, s := range []imageSteps{{scale: 1.5}, {angle: 3}, {angle: -2, scale: 2}, {turn: 90, angle: 4},
		{turn: 270, scale: 1.5}} {
		img := blankPage(600, 800)
		at := box{100, 500, 160, 560}
		img.fillBox(at, 0)
		out, err := img.applySteps(s, 150, 128)
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
		got := r.blocks[0].lines[0].words[0].box.rotatedBack(s.turn, img.width, img.height)
		for i := range got {
			if d := got[i] - at[i]; d < -9 || d > 9 { // the box of a box that is askew is larger
				t.Errorf("%+v: got %v, want %v", s, got, at)
				break
			}
		}
	}
}

func TestUnevenBackground(t *testing.T) {
	t.Parallel()
	plain, _ := printedPage(pdftest.ScanOptions{})
	dirty, _ := printedPage(pdftest.DirtyScanOptions())
	shaded, _ := printedPage(pdftest.ScanOptions{Shade: 0.6, Paper: 230, Ink: 90, Noise: 4})
	framed, _ := printedPage(pdftest.ScanOptions{Noise: 20})
	framed.fillBox(box{0, 0, framed.width, 200}, 30)
	for name, tt := range map[string]struct {
		img  greyImage
		want bool
	}{"plain": {plain, false}, "dirty": {dirty, false}, "shaded": {shaded, true}, "framed": {framed, false},
		"one pixel": {blankPage(1, 1), false}} {
		if g := measureBackground(tt.img, 150, inkThreshold(tt.img)); g.isUneven() != tt.want {
			t.Errorf("%s: got %v (%+v), want %v", name, g.isUneven(), g, tt.want)
		}
	}
}

func TestLightTextIsTurnedDark(t *testing.T) {
	t.Parallel()
	plain, _ := printedPage(pdftest.ScanOptions{})
	negative := plain.rotated(180).rotated(180)
	for i := range negative.pix {
		negative.pix[i] = 255 - negative.pix[i]
	}
	border := plain.rotated(180).rotated(180)
	border.fillBox(box{0, 0, 120, border.height}, 20)
	panel := box{0, plain.height / 2, plain.width, plain.height} // of dark grey, beside white paper
	grey := plain.rotated(180).rotated(180)
	for i := panel[1] * grey.width; i < len(grey.pix); i++ {
		grey.pix[i] = 255 - grey.pix[i]/8*5
	}
	for name, tt := range map[string]struct {
		img greyImage
		at  box // what becomes light
	}{"a grey panel": {grey, panel}, "a negative": {negative, box{0, 0, plain.width, plain.height}},
		"a black border": {border, box{0, 0, 112, plain.height}}} {
		if !hasDarkAreas(tt.img, 150, inkThreshold(tt.img)) {
			t.Errorf("%s: got no dark areas", name)
		}
		got, err := tt.img.applySteps(imageSteps{invert: true}, 150, inkThreshold(tt.img))
		if err != nil {
			t.Fatal(err)
		}
		if m := got.meanGrey(tt.at); m < 200 {
			t.Errorf("%s: got a mean grey of %.0f, want paper", name, m)
		}
	}
	same, err := plain.applySteps(imageSteps{invert: true}, 150, inkThreshold(plain))
	if err != nil {
		t.Fatal(err)
	}
	if string(same.pix) != string(plain.pix) {
		t.Error("a page without dark areas was changed")
	}
}

// Light text on a dark panel is read whole where a picture on the panel has greys that look like ground: the panel is
// not evened out before its text is turned.
func TestLightTextBesidePicture(t *testing.T) {
	t.Parallel()
	img, _ := printedPage(pdftest.ScanOptions{Paper: 240, Noise: 20})
	panel := box{0, img.height / 2, img.width, img.height}
	for i := panel[1] * img.width; i < len(img.pix); i++ {
		img.pix[i] = byte(250 - int(img.pix[i])*200/255)
	}
	for x := 100; x < img.width-100; x += 20 { // a picture of stripes
		img.fillBox(box{x, panel[1] + 60, x + 14, panel[1] + 260}, 132)
	}
	r, err := newReader(img, 150, options{})
	if err != nil {
		t.Fatal(err)
	}
	ground := box{0, panel[1] + 262, img.width, panel[3]}
	if m := r.img.meanGrey(ground); !r.dark || m < 185 {
		t.Errorf("dark areas %v: the ground of the panel is %.0f after it was turned, want it light", r.dark, m)
	}
	if b := measureBackground(r.img, 150, r.below); b.isSinking() {
		t.Errorf("the ground is taken for ink yet: %+v", b)
	}
}

// Light text on a dark panel is turned dark as well where the page lies on its side, so that the bands of ink between
// its lines run along the columns.
func TestLightTextOfSidewaysPage(t *testing.T) {
	t.Parallel()
	img, _ := printedPage(pdftest.ScanOptions{})
	panel := box{0, img.height / 2, img.width, img.height}
	for i := panel[1] * img.width; i < len(img.pix); i++ {
		img.pix[i] = 255 - img.pix[i]
	}
	upright, err := newReader(img, 150, options{})
	if err != nil {
		t.Fatal(err)
	}
	sideways, err := newReader(img.rotated(90), 150, options{})
	if err != nil {
		t.Fatal(err)
	}
	want, got := upright.img.meanGrey(panel), sideways.img.rotated(270).meanGrey(panel)
	if !sideways.dark || want < 200 || got < want-15 {
		t.Errorf("dark areas %v: the panel is %.0f on the page on its side, and %.0f on the upright one", sideways.dark, got, want)
	}
}

func TestDespeckle(t *testing.T) {
	t.Parallel()
	text, _ := printedPage(pdftest.ScanOptions{Specks: 0.03, Seed: 3})
	screen := blankPage(1240, 1754) // dots, six pixels apart
	for y := 0; y+6 < screen.height; y += 6 {
		for x := 0; x+6 < screen.width; x += 6 {
			screen.fillBox(box{x, y, x + 4, y + 4}, 0)
		}
	}
	clean, _ := printedPage(pdftest.ScanOptions{})
	tinted, dusty := blankPage(1240, 1754), blankPage(1240, 1754) // of 5,600 dots each, close together and all over the page
	for y := range 70 {
		for x := range 80 {
			tinted.fillBox(box{100 + 3*x, 100 + 3*y, 101 + 3*x, 101 + 3*y}, 0)
			dusty.fillBox(box{15 * x, 25 * y, 15*x + 1, 25*y + 1}, 0)
		}
	}
	for name, tt := range map[string]struct {
		img                         greyImage
		legible, smoothed, screened bool
	}{
		"clean": {clean, true, false, false}, "specks": {text, true, true, false}, "screen": {screen, false, true, false},
		"tinted box": {tinted, true, false, true}, "dust": {dusty, true, false, false},
		"one pixel": {blankPage(1, 1), true, false, false},
	} {
		r := &reader{img: tt.img, dpi: 150, below: inkThreshold(tt.img)}
		legible, err := r.despeckle()
		smoothed := &r.img.pix[0] != &tt.img.pix[0]
		if err != nil || legible != tt.legible || smoothed != tt.smoothed || r.screened != tt.screened {
			t.Errorf("%s: got legible %v, smoothed %v, screened %v, %v; want %v, %v, %v", name, legible, smoothed, r.screened,
				err,
				tt.legible, tt.smoothed, tt.screened)
		}
	}
}

// TestRulingsOfSkewedPages finds the lines of a page that is turned by more than a line is thick, and those that are
// bowed a little.
func TestRulingsOfSkewedPages(t *testing.T) {
	t.Parallel()
	img := blankPage(1240, 1754)
	want := []box{{100, 300, 900, 302}, {100, 898, 900, 900}, {100, 302, 102, 898}, {898, 302, 900, 898}}
	margin := box{1000, 300, 1002, 1300} // meets no others
	for _, b := range append(want[:4:4], margin) {
		img.fillBox(b, 0)
	}
	const skew = 2.0
	askew, err := img.applySteps(imageSteps{angle: -skew}, 150, 128)
	if err != nil {
		t.Fatal(err)
	}
	r := reader{img: askew, dpi: 150, below: 128}
	got, down := r.findRulings(skew, 0)
	if len(got) != len(want) || len(down) != 3 {
		t.Fatalf("got %v, %v, want four lines, and three down the page", got, down)
	}
	sin, cos := math.Sincos(-skew * math.Pi / 180)
	for i, b := range want {
		x, y := float64(b[0]+b[2]-img.width)/2, float64(b[1]+b[3]-img.height)/2
		x, y = x*cos-y*sin+float64(askew.width)/2, y*cos+x*sin+float64(askew.height)/2
		if dx, dy := float64(got[i][0]+got[i][2])/2-x, float64(got[i][1]+got[i][3])/2-y; math.Abs(dx) > 4 || math.Abs(dy) > 4 {
			t.Errorf("the middle of %v is off by %.0f and %.0f pixels", got[i], dx, dy)
		}
	}
	bowed := blankPage(1240, 1754)
	for x := 100; x < 900; x++ {
		y := 300 + int(16*float64(x-100)*float64(900-x)/(400*400))
		bowed.fillBox(box{x, y, x + 1, y + 2}, 0)
	}
	if got := bowed.findRulings(150, 128, 0); len(got) != 1 || got[0][2]-got[0][0] < 780 {
		t.Errorf("a bowed line: got %v, want one", got)
	}
}

// TestKeepLattices keeps the lines of a grid, one whose corners are open too, and neither rules alone nor those that
// one line joins.
func TestKeepLattices(t *testing.T) {
	t.Parallel()
	grid := []box{{100, 100, 500, 102}, {100, 200, 500, 202}, {96, 104, 98, 198}, {503, 100, 505, 200}}
	alone := []box{{100, 600, 500, 602}, {100, 650, 500, 652}, {100, 700, 500, 702}, {500, 590, 502, 720}, {800, 100, 802, 900}}
	if got := keepLattices(slices.Concat(alone[:2], grid, alone[2:]), 150); !slices.Equal(got, grid) {
		t.Errorf("got %v, want %v", got, grid)
	}
}

// TestDropReadRulings drops the lines between columns from what was read, and nothing else.
func TestDropReadRulings(t *testing.T) {
	t.Parallel()
	words := func(y int) []word {
		return []word{{text: "|", box: box{98, y, 104, y + 20}}, {text: "Port", box: box{120, y, 180, y + 20}}, {text: "27]", box: box{370, y, 392, y + 20}},
			{text: "|V", box: box{399, y, 430, y + 20}}, {text: "a|b", box: box{450, y, 490, y + 20}}, {text: "|", box: box{600, y, 604, y + 20}}}
	}
	got := reading{blocks: []block{{lines: []line{{words: words(100)}, {words: words(500)}, {words: words(100)[:1]}}}}}
	got.dropReadRulings([]box{{100, 50, 102, 300}, {400, 50, 402, 300}}, 150)
	var texts []string
	for _, l := range got.blocks[0].lines {
		text := ""
		for _, w := range l.words {
			text += w.text + " "
		}
		texts = append(texts, text)
	}
	if want := []string{"Port 27 V a|b | ", "| Port 27] |V a|b | "}; !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}

func TestRulings(t *testing.T) {
	t.Parallel()
	text, _ := printedPage(pdftest.ScanOptions{Design: pdftest.Letter})
	if got := text.findRulings(150, inkThreshold(text), 0); len(got) > 0 {
		t.Errorf("text without rulings: got %v", got)
	}
	img := blankPage(1240, 1754)
	want := []box{{100, 300, 900, 302}, {100, 302, 102, 900}}
	for _, b := range want {
		img.fillBox(b, 0)
	}
	img.fillBox(box{300, 1000, 900, 1400}, 40) // a picture
	got := img.findRulings(150, 128, 0)
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

// TestFullWidthRulings keeps lines across all of the text, and neither shorter ones nor those that a line down the
// page meets.
func TestFullWidthRulings(t *testing.T) {
	t.Parallel()
	whole := []box{{90, 300, 520, 302}, {100, 700, 500, 702}}
	others := []box{{100, 400, 400, 402}, {100, 100, 500, 102}, {98, 104, 100, 198}}
	if got := fullWidthRulings(slices.Concat(others, whole), 420, 150); !slices.Equal(got, whole) {
		t.Errorf("got %v, want %v", got, whole)
	}
	if got := fullWidthRulings(whole, 0, 150); len(got) > 0 {
		t.Errorf("no text: got %v, want none", got)
	}
	broken := []box{{300, 302, 420, 304}, {90, 300, 290, 302}, {440, 303, 520, 305}, {90, 340, 290, 342}, {350, 340, 520, 342}}
	if got, want := fullWidthRulings(broken, 420, 150), []box{{90, 300, 520, 305}}; !slices.Equal(got, want) {
		t.Errorf("broken: got %v, want %v", got, want)
	}
}

// TestHairlinesOfSkewedPages finds lines of one pixel, bowed and skewed, on a page of black and white.
func TestHairlinesOfSkewedPages(t *testing.T) {
	t.Parallel()
	const skew, left, right = 0.9, 100, 1140
	img := blankPage(1240, 1754)
	tangent := math.Tan(skew * math.Pi / 180)
	for at := 200; at < 1700; at += 37 {
		for x := left; x < right; x++ {
			along := float64(x-left) / (right - left)
			bow := 0.0
			if at%2 == 0 {
				bow = 24 * along * (1 - along)
			}
			y := at - int(math.Round(tangent*float64(x-left)-bow))
			img.fillBox(box{x, y, x + 1, y + 1}, 0)
		}
	}
	r := reader{img: img, dpi: 150, below: 128}
	if got, _ := r.findRulings(skew, right-left); len(got) != 41 {
		t.Errorf("got %d lines, want 41", len(got))
	}
}
