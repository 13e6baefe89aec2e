package tesseract

import (
	"bytes"
	"path/filepath"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// TestLettersThatTouchAreHigher tells the height of small letters of pieces of words, which are as high as their
// largest letters.
func TestLettersThatTouchAreHigher(t *testing.T) {
	t.Parallel()
	var letters, pieces []box
	for i := range 40 {
		y := 30 * i
		for j := range 8 {
			letters = append(letters, box{20 * j, y, 20*j + 9, y + 10})
			pieces = append(pieces, box{60 * j, y, 60*j + 10 + 10*(j%4), y + 14})
		}
	}
	if got := letterHeight(letters); got != 10 {
		t.Errorf("letters: got %v, want 10", got)
	}
	if got := letterHeight(pieces); got < 9 || got > 11 {
		t.Errorf("pieces of words, 14 high: got %v, want about 10", got)
	}
}

// TestResolutionOfOrdinaryPrint reads a page at the resolution that its letters tell where the one that it claims makes
// them too large.
func TestResolutionOfOrdinaryPrint(t *testing.T) {
	t.Parallel()
	img := greyImage{pix: bytes.Repeat([]byte{255}, 900*600), width: 900, height: 600}
	for y := 20; y < 570; y += 50 {
		for x := 20; x < 870; x += 30 {
			img.fillBox(box{x, y, x + 15, y + 28}, 0)
		}
	}
	for claimed, want := range map[float32]float32{96: 300, 150: 300, 200: 200, 300: 300, 400: 400} {
		r, err := newReader(img, claimed, options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.dpi != want || r.toldDPI != float64(want) {
			t.Errorf("%v dpi are claimed: read at %v, want %v", claimed, r.dpi, want)
		}
	}
}

// TestCredibleDPI keeps the resolution that a page claims unless its print is far too large, and stays within what
// scanners do.
func TestCredibleDPI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		claimed float32
		height  float64 // of letters
		want    float32
	}{{300, 28, 300}, {96, 0, 96}, {96, 28, 300}, {96, 150, 600}, {1200, 300, 1200}} {
		if got := credibleDPI(tt.claimed, tt.height); got != tt.want {
			t.Errorf("%v dpi, letters of %v: got %v, want %v", tt.claimed, tt.height, got, tt.want)
		}
	}
}

// TestCoarseScanLosesNoDots enlarges small print that dots lead through and dust lies on: the leader is known where it
// stands then, and neither its dots nor the dust are ink any more.
func TestCoarseScanLosesNoDots(t *testing.T) {
	t.Parallel()
	const width, height, row, dotsFrom, dots = 600, 400, 200, 120, 40
	for _, tt := range []struct {
		name    string
		dusty   bool
		leaders int
	}{{"leader", false, 1}, {"dust", true, 0}} {
		img := greyImage{pix: bytes.Repeat([]byte{250}, width*height), width: width, height: height}
		for y := 40; y < 360; y += 20 {
			for x := 20; x < 580; x += 9 {
				if tt.dusty || y != row || x < dotsFrom-18 || x > dotsFrom+10*dots {
					img.fillBox(box{x, y, x + 6, y + 8}, 0)
				}
			}
		}
		for i := range dots {
			if !tt.dusty {
				img.pix[(row+7)*width+dotsFrom+10*i] = 0
			}
		}
		for i := range 500 {
			if at := (i * 7919 * 61) % len(img.pix); tt.dusty && img.pix[at] > 0 {
				img.pix[at] = 0
			}
		}
		r, err := newReader(img, 100, options{})
		if err != nil {
			t.Fatal(err)
		}
		if !r.enlarged || len(r.leaders) != tt.leaders {
			t.Errorf("%s: enlarged: %v, %d leaders, want %d", tt.name, r.enlarged, len(r.leaders), tt.leaders)
		}
		findAreas(r)
		for _, b := range r.areas {
			if b[3]-b[1] < 8 {
				t.Errorf("%s: there is ink at %v", tt.name, b)
			}
		}
		for _, l := range r.leaders {
			if at := l.box(); at[0] != 2*dotsFrom || at[1] != 2*(row+7) {
				t.Errorf("%s: the leader is at %v, want it from %d, %d", tt.name, at, 2*dotsFrom, 2*(row+7))
			}
		}
	}
}

// TestEnlargedLinesAreSmoothed reads a page at 100 dpi enlarged, with and without smoothing its lines: without, full stops
// are read as commas. The installed model reads it alone, for a larger one makes up for that.
func TestEnlargedLinesAreSmoothed(t *testing.T) {
	t.Parallel()
	installed := DefaultDataPath()
	if !hasModel(installed, "eng") {
		t.Skip("the model of eng is not installed (make deps installs it)")
	}
	dir := modelFolder(t)
	linkModel(t, filepath.Join(installed, "eng"+modelExt), filepath.Join(dir, "eng"+modelExt))
	h, err := OpenHandle(dir, "eng")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	img, truth := pdftest.DrawScanPage(pdftest.ScanOptions{DPI: 100, Size: 10, Noise: 10}, 1)
	var rates [2]float64
	for i := range rates {
		r, err := newReader(greyOf(img), 100, options{})
		if err != nil || !r.enlarged {
			t.Fatalf("enlarged: %v, %v", r != nil && r.enlarged, err)
		}
		r.enlarged = i == 0
		r.switchHandle(h)
		got, err := r.readWhole(imageSteps{})
		if err != nil {
			t.Fatal(err)
		}
		rates[i] = score.CharErrorRate(truth, blocksText(got.blocks))
	}
	if rates[0] > 0.0005 || rates[0] >= rates[1] {
		t.Errorf("got a character error rate of %.5f, and %.5f without smoothing; want 0.0005 at most, and less", rates[0], rates[1])
	}
}
