package enginetest

import (
	"crypto/sha256"
	"fmt"
	"image"
	"image/draw"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"inkstream.dev/services/ocr/recognise"
)

// SampleImage is a raster whose words are known.
type SampleImage struct {
	Name          string
	Width, Height int // pixels
	DPI           float32
	// Turn is how many degrees clockwise the text was turned: what Line.Angle must say.
	Turn  int
	Words []Word // in reading order
	pix   []byte
}

// Word is a word and its place in points from the top left of the sheet, as it is turned.
type Word struct {
	Text string
	Box  [4]float32
}

// sampleLines are what the sheets say: enough letters to tell which way up they are, in words that no recogniser
// should get wrong.
var sampleLines = []string{
	"The ferry leaves the harbour at seven every morning",
	"and comes back before the light on the pier is lit.",
	"Nobody on the island has ever missed the last boat",
	"because the captain counts his passengers twice and",
	"waits for those who are still walking down the hill.",
	"In winter he brings letters, flour and warm blankets;",
	"in summer he brings visitors who ask about the tower.",
	"Number 4752 of the old register names its builder.",
}

const (
	sampleWidth, sampleHeight = 420.0, 300.0 // points
	textSize                  = 12.0
	left, top, leading        = 40.0, 60.0, 22.0
)

// NewTextSample draws a sheet of eight lines of 12-point text, turned clockwise by 0, 90, 180 or 270 degrees.
func NewTextSample(dpi float32, turn int) (SampleImage, error) {
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return SampleImage{}, fmt.Errorf("parse font: %w", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: textSize, DPI: float64(dpi),
		Hinting: font.HintingNone})
	if err != nil {
		return SampleImage{}, fmt.Errorf("open font: %w", err)
	}
	scale := dpi / 72
	img := image.NewGray(image.Rect(0, 0, int(sampleWidth*scale), int(sampleHeight*scale)))
	draw.Draw(img, img.Rect, image.White, image.Point{}, draw.Src)
	s := SampleImage{
		Name: fmt.Sprintf("text at %v dpi turned by %d", dpi, turn), Width: img.Rect.Dx(), Height: img.Rect.Dy(), DPI: dpi,
		pix: img.Pix,
	}
	for i, text := range sampleLines {
		d := font.Drawer{Dst: img, Src: image.Black, Face: face}
		d.Dot = fixed.Point26_6{X: fixed.Int26_6(left * scale * 64),
			Y: fixed.Int26_6((top + float32(i)*leading) * scale * 64)}
		s.writeLine(&d, text)
	}
	return s.rotated(turn), nil
}

// NewBlankSample is a sheet of paper.
func NewBlankSample(width, height int, dpi float32) SampleImage {
	s := SampleImage{Name: fmt.Sprintf("blank, %d x %d", width, height), Width: width, Height: height, DPI: dpi,
		pix: make([]byte, width*height)}
	for i := range s.pix {
		s.pix[i] = 255
	}
	return s
}

// writeLine draws a line of text and notes where its words are.
func (s *SampleImage) writeLine(d *font.Drawer, text string) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] != ' ' {
			continue
		}
		word := text[start:i]
		ink, _ := d.BoundString(word)
		d.DrawString(word)
		if i < len(text) {
			d.DrawString(" ")
		}
		points := func(v fixed.Int26_6) float32 { return float32(v) / 64 * 72 / s.DPI }
		s.Words = append(s.Words, Word{word, [4]float32{points(ink.Min.X), points(ink.Min.Y), points(ink.Max.X),
			points(ink.Max.Y)}})
		start = i + 1
	}
}

// rotated returns the sheet turned clockwise.
func (s SampleImage) rotated(degrees int) SampleImage {
	out := s
	for ; degrees > 0; degrees -= 90 {
		out = out.rotatedQuarter()
	}
	out.Name = s.Name
	return out
}

// rotatedQuarter turns a sheet clockwise by 90 degrees.
func (s SampleImage) rotatedQuarter() SampleImage {
	out := s
	out.Width, out.Height, out.Turn = s.Height, s.Width, s.Turn+90
	out.pix, out.Words = make([]byte, len(s.pix)), nil
	for y := range out.Height {
		for x := range out.Width {
			out.pix[y*out.Width+x] = s.pix[(s.Height-1-x)*s.Width+y]
		}
	}
	height := float32(s.Height) * 72 / s.DPI
	for _, w := range s.Words {
		out.Words = append(out.Words, Word{w.Text, [4]float32{height - w.Box[3], w.Box[0], height - w.Box[1], w.Box[2]}})
	}
	return out
}

// EncodePGM returns the sheet as a file's bytes.
func (s SampleImage) EncodePGM() []byte {
	return append(fmt.Appendf(nil, "P5\n%d %d\n255\n", s.Width, s.Height), s.pix...)
}

func (s SampleImage) pgmDigest() [sha256.Size]byte { return sha256.Sum256(s.EncodePGM()) }

// OpenImage returns the sheet as an engine takes it. The file is closed with the test.
func (s SampleImage) OpenImage(t testing.TB) recognise.Image {
	t.Helper()
	return recognise.Image{File: NewTempFile(t, s.EncodePGM()), DPI: s.DPI}
}

// NewTempFile returns a file of the given bytes that is closed with the test.
func NewTempFile(t testing.TB, data []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raster.pgm")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatalf("write raster: %v", err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("open raster: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// SampleImages returns the sheets of the suite: text in four directions, and blank ones down to a single pixel.
func SampleImages(t testing.TB) []SampleImage {
	t.Helper()
	out := []SampleImage{NewBlankSample(850, 1100, 100), NewBlankSample(1, 1, 300), NewBlankSample(3, 2000, 300)}
	for _, turn := range []int{0, 90, 180, 270} {
		for _, dpi := range []float32{200, 300} {
			if dpi == 200 && turn > 0 {
				continue
			}
			s, err := NewTextSample(dpi, turn)
			if err != nil {
				t.Fatalf("draw a sheet: %v", err)
			}
			out = append(out, s)
		}
	}
	return out
}
