package ocr

import (
	"fmt"
	"image"
	"strings"
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

// spelledPage returns a page of lines of words, all read with one confidence; 0 for those of a text layer.
func spelledPage(confidence float32, lines ...string) *inkstreamv1.Page {
	block := &inkstreamv1.Block{}
	for i, text := range lines {
		line := &inkstreamv1.Line{}
		for k, word := range strings.Fields(text) {
			w := &inkstreamv1.Word{Text: word, Bbox: []float32{float32(60 * k), float32(20 * i), float32(60*k + 50), float32(20*i + 10)}}
			if confidence > 0 {
				w.Confidence = &confidence
			}
			line.Words = append(line.Words, w)
		}
		line.Bbox = []float32{0, float32(20 * i), 600, float32(20*i + 10)}
		block.Lines = append(block.Lines, line)
	}
	return &inkstreamv1.Page{Number: 1, Blocks: []*inkstreamv1.Block{block}}
}

// A layer in which every sixth word is spelled otherwise than it is read goes, where the reading is sure of nearly all.
func TestMisspeltLayerGoes(t *testing.T) {
	t.Parallel()
	text := []string{"the council described every harbour before", "their officer repaired another garden without", "some painter opened the library after",
		"this museum prevents a journey under", "each storm follows that railway during", "our pressure remembered the southern market"}
	wrong := []string{"the council described every harbovr before", "their officer repaired anotker garden without", "some paintcr opened the library after",
		"this museum prevents a joumey under", "each storn follows that railway during", "our pressure remembered the soutnern market"}
	accents := []string{"le conseil a décrit chaque forêt après", "leur équipe répara cette étable sans", "une élève ouvrit la fenêtre après",
		"ce musée empêche un réveil après", "chaque tempête suit cette rivière là", "notre société oublia le marché né"}
	var bare []string
	for _, line := range accents {
		bare = append(bare, strings.NewReplacer("é", "e", "ê", "e", "è", "e", "à", "a").Replace(line))
	}
	for _, tt := range []struct {
		name        string
		layer, read []string
		confidence  float32
		stays       bool
	}{
		{"sound", text, text, 0.95, true},
		{"misspelt", wrong, text, 0.95, false},
		{"misspelt, read unsurely", wrong, text, 0.8, true},
		{"accents that the reader does not know", accents, bare, 0.95, true},
	} {
		layer, reading := spelledPage(0, tt.layer...), spelledPage(tt.confidence, tt.read...)
		if got := settleTextLayer(layer, reading); got != tt.stays {
			t.Errorf("%s: stays %v, want %v", tt.name, got, tt.stays)
		}
	}
}
