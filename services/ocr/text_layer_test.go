package ocr

import (
	"fmt"
	"image"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

// layerPage returns a page of one line for each box, whose words all fill it.
func layerPage(words int, text string, boxes ...[]float32) *inkstreamv1.Page {
	block := &inkstreamv1.Block{}
	for _, box := range boxes {
		line := &inkstreamv1.Line{Bbox: box}
		for range words {
			line.Words = append(line.Words, &inkstreamv1.Word{Text: text, Bbox: box})
		}
		block.Lines = append(block.Lines, line)
	}
	return &inkstreamv1.Page{Number: 1, Blocks: []*inkstreamv1.Block{block}}
}

func TestPickLines(t *testing.T) {
	t.Parallel()
	rows := make([][]float32, 30)
	for i := range rows {
		rows[i] = []float32{10, float32(20 * i), 200, float32(20*i + 10)}
	}
	for _, tt := range []struct {
		name string
		page *inkstreamv1.Page
		want int
	}{
		{"prose", layerPage(1, "antidisestablishment", rows...), sampleLines},
		{"cells of a table", layerPage(1, "1,204", rows...), sampleLines},
		{"single letters", layerPage(1, "a", rows...), 0},
		{"lines as large as the page", layerPage(1, "antidisestablishment", []float32{0, 0, 600, 800}), 0},
		{"lines without a place", layerPage(1, "antidisestablishment", nil, nil), 0},
		{"nothing", &inkstreamv1.Page{}, 0},
	} {
		if got := len(pickLines(tt.page, sampleLines)); got != tt.want {
			t.Errorf("%s: got %d lines, want %d", tt.name, got, tt.want)
		}
	}
}

// A layer may say anything of the places of its words; the sample stays smaller than the page, and takes no longer to
// cut.
func TestSampleIsBounded(t *testing.T) {
	t.Parallel()
	const width, height = 2000, 3000
	f, err := recognise.WritePGM(image.NewGray(image.Rect(0, 0, width, height)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // nothing is written to it
	const far = 1e30
	page := layerPage(20_000, "antidisestablishment", []float32{0, 0, 2000, 72}, []float32{-far, 100, far, 172},
		[]float32{0, 0, 2000, 72}, []float32{0, 0, 2000, 72}, []float32{far, far, far, far}, []float32{0, -far, 9, far / 2})
	for _, dpi := range []float32{72, 900, 4800} {
		t.Run(fmt.Sprint(dpi), func(t *testing.T) {
			t.Parallel()
			lines := page.GetBlocks()[0].GetLines()
			sample, places, err := cutSample(Image{File: f, DPI: dpi}, lines)
			if err != nil {
				t.Fatal(err)
			}
			defer sample.Close()
			size, err := recognise.ReadSize(sample)
			if err != nil || size.Pixels() > width*height || len(places) != len(lines) {
				t.Errorf("got %v and %d places, error %v, want no more than %d pixels and %d places", size, len(places), err,
					width*height, len(lines))
			}
		})
	}
}
