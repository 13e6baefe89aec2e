// Package recognise holds what the ocr service and its engines agree on: what goes into a recogniser, and what may
// come out of one.
package recognise

import (
	"fmt"
	"image"
	"os"
	"time"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Image is a page's raster.
type Image struct {
	// File is a binary PGM (P5) of 8-bit grey, 0 black, which starts at offset 0 and fills the file. The engine
	// neither closes it nor moves its offset.
	File *os.File
	// DPI is the resolution: pixels times 72 / DPI are points.
	DPI float32
}

// Options says how a page is to be read.
type Options struct {
	// Languages are Tesseract's codes joined by plus signs, the likeliest first: eng+deu. Or Auto. Where none of them is
	// written in Latin letters, an engine may read what is in English.
	Languages string
	// MayBeOther says that the languages were not named, and are but the usual ones: a page that turns out to be in
	// others is read again in those, where they are installed.
	MayBeOther bool
	// Timeout bounds the engine's work on the page; the wait for a free engine is not counted.
	Timeout time.Duration
	// Deskew straightens a skewed page; Rotate turns one that does not stand upright.
	Deskew, Rotate bool
	// Engine is what the job chose: job.EngineVision or job.EngineAuto allow pictures of the page to be sent to the servers that the
	// operator configured, anything else does not.
	Engine string
	// Tenant and Job are charged for what a vision model writes.
	Tenant, Job string
}

// Auto as the languages of a page has the engine find out the script, and choose among the installed languages that
// are written in it.
const Auto = "auto"

// WritePGM writes a picture as an Image's file, without a name. The caller closes it.
func WritePGM(img *image.Gray) (*os.File, error) {
	f, err := os.CreateTemp("", "inkstream-raster-*.pgm")
	if err != nil {
		return nil, fmt.Errorf("make a file for a raster: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close() // the error that matters is the first
		return nil, fmt.Errorf("unname a raster's file: %w", err)
	}
	if _, err := f.Write(append(fmt.Appendf(nil, "P5\n%d %d\n255\n", img.Rect.Dx(), img.Rect.Dy()), img.Pix...)); err != nil {
		_ = f.Close() // as above
		return nil, fmt.Errorf("write a raster: %w", err)
	}
	return f, nil
}

// BoldFont returns the one font of a recognised page: that of the words whose strokes are thicker than those of most.
// The others have none.
func BoldFont() *inkstreamv1.Font {
	const bold = 700
	return &inkstreamv1.Font{Weight: bold}
}
