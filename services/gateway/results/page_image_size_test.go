package results

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestBoxesInHugePage(t *testing.T) {
	t.Parallel()
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, maxBoxedPixels/5000, 5001))); err != nil {
		t.Fatal(err)
	}
	if _, err := drawBoxes(drawn.Bytes(), &inkstreamv1.Page{Width: 100,
		Height: 100}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("got %v, want INVALID_ARGUMENT", err)
	}
}
