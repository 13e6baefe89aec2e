package recognise

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"inkstream.dev/pkg/fault"
)

// MaxPixels is the largest raster that is recognised. Render makes none larger.
const MaxPixels = 100 << 20

// minDPI and maxDPI bound what a page's resolution can sensibly be. A page of 200 inches fits 100 megapixels at 50 dpi.
const (
	minDPI = 10
	maxDPI = 4800
)

// Size is a raster's size, and where in the file its pixels begin.
type Size struct {
	Width, Height int
	// Offset of the first pixel; Width*Height bytes follow, and nothing else.
	Offset int64
}

// Pixels returns the number of pixels.
func (s Size) Pixels() int { return s.Width * s.Height }

// PixelsToPoints returns a length in points.
func PixelsToPoints(pixels int, dpi float32) float32 {
	return float32(float64(pixels) * 72 / float64(dpi))
}

// CheckHeader reads the header of an image and returns its size. A raster that is not just what Image promises is a
// permanent fault with the code PAGE_DAMAGED: it would fail again.
func (img Image) CheckHeader() (Size, error) {
	if img.File == nil {
		return Size{}, fault.New(fault.PageDamaged, "no raster")
	}
	// Written so that NaN fails.
	if !(img.DPI >= minDPI && img.DPI <= maxDPI) {
		return Size{}, fault.New(fault.PageDamaged, "raster of %v dpi, want %d to %d", img.DPI, minDPI, maxDPI)
	}
	return ReadSize(img.File)
}

// ReadSize reads a PGM's header as CheckHeader does.
func ReadSize(f *os.File) (Size, error) {
	info, err := f.Stat()
	if err != nil {
		return Size{}, fmt.Errorf("look at raster: %w", err)
	}
	head := make([]byte, 64)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Size{}, fmt.Errorf("read raster: %w", err)
	}
	s, err := parseHeader(head[:n])
	if err != nil {
		return Size{}, fault.New(fault.PageDamaged, "raster: %v", err)
	}
	if s.Pixels() > MaxPixels {
		return Size{}, fault.New(fault.PageDamaged, "raster of %d x %d pixels, want at most %d", s.Width, s.Height, MaxPixels)
	}
	if want := s.Offset + int64(s.Pixels()); info.Size() != want {
		return Size{}, fault.New(fault.PageDamaged, "raster of %d bytes, want %d", info.Size(), want)
	}
	return s, nil
}

// parseHeader reads "P5 <width> <height> 255" and the one blank after it. Comments, which the format allows, are
// refused: no raster of this program has one.
func parseHeader(b []byte) (Size, error) {
	if len(b) < 2 || b[0] != 'P' || b[1] != '5' {
		return Size{}, errors.New("not a binary PGM")
	}
	at := 2
	var fields [3]int
	for i := range fields {
		start := at
		for at < len(b) && isBlank(b[at]) {
			at++
		}
		if at == start {
			return Size{}, errors.New("damaged header")
		}
		digits := at
		for at < len(b) && b[at] >= '0' && b[at] <= '9' {
			if at-digits >= 9 { // beyond it an int32 may overflow
				return Size{}, errors.New("absurd number in the header")
			}
			fields[i] = fields[i]*10 + int(b[at]-'0')
			at++
		}
		if at == digits {
			return Size{}, errors.New("damaged header")
		}
	}
	if at >= len(b) || !isBlank(b[at]) {
		return Size{}, errors.New("damaged header")
	}
	s := Size{Width: fields[0], Height: fields[1], Offset: int64(at) + 1}
	switch {
	case fields[2] != 255:
		return Size{}, fmt.Errorf("%d grey values, want 255", fields[2])
	case s.Width < 1 || s.Height < 1:
		return Size{}, errors.New("no pixels")
	case s.Width > math.MaxInt16 || s.Height > math.MaxInt16: // Tesseract keeps coordinates in 16 bits
		return Size{}, fmt.Errorf("%d x %d pixels, want at most %d a side", s.Width, s.Height, math.MaxInt16)
	}
	return s, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
