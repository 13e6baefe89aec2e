package vision

import (
	"context"
	"image"
	"testing"

	"inkstream.dev/pkg/agree"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

// lineWitness reads nothing on pictures that are narrower than a line, and three words in the middle of others.
type lineWitness struct{}

const lineWidth = 150 // points

func (lineWitness) RecognisePage(_ context.Context, img recognise.Image, _ recognise.Options) (*inkstreamv1.Page, error) {
	size, err := img.CheckHeader()
	if err != nil {
		return nil, err
	}
	line := &inkstreamv1.Line{}
	if width := float32(size.Width) * 72 / img.DPI; width > lineWidth {
		for i, text := range []string{"before", "3.3", "behind"} {
			x, confidence := width/2+float32(i-1)*40, float32(0.9)
			line.Words = append(line.Words, &inkstreamv1.Word{Text: text, Confidence: &confidence, Bbox: []float32{x - 10, 5, x + 10, 15}})
		}
	}
	return &inkstreamv1.Page{Blocks: []*inkstreamv1.Block{{Lines: []*inkstreamv1.Line{line}}}}, nil
}

// A short number that cannot be read by itself is read with what stands beside it, which is no part of it.
func TestPlaceIsReadInItsLine(t *testing.T) {
	t.Parallel()
	const dpi = 144
	picture := image.NewGray(image.Rect(0, 0, 1000, 400))
	v := newVerifier(&Engine{witness: lineWitness{}}, recognise.Image{DPI: dpi}, recognise.Options{}, &inkstreamv1.Page{}, picture)
	got := v.places.readPlace(t.Context(), agree.Box{200, 100, 220, 112})
	if want := (rereading{"3.3", 0.9}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
