package tesseract

import "testing"

// drawStems draws upright strokes of that width into a box, one every step pixels.
func (g greyImage) drawStems(b box, width, step int) {
	for x := b[0]; x+width < b[2]; x += step {
		g.fillBox(box{x, b[1], x + width, b[3]}, 0)
	}
}

// TestBoldWords finds the words whose strokes are thicker than those of most, whatever the size of their type.
func TestBoldWords(t *testing.T) {
	t.Parallel()
	img := greyImage{pix: make([]byte, 1000*400), width: 1000, height: 400}
	img.fillBox(box{0, 0, 1000, 400}, 255)
	for _, tt := range []struct {
		name     string
		height   int
		strokes  []int // of the words of a line
		wantBold []bool
	}{
		{"text", 28, []int{3, 3, 3, 3}, []bool{false, false, false, false}},
		{"a bold line", 28, []int{5, 5, 5}, []bool{true, true, true}},
		{"bold words before text", 28, []int{5, 3, 3}, []bool{true, false, false}},
		{"larger type", 42, []int{4, 4}, []bool{false, false}},
		{"larger bold type", 42, []int{7, 7}, []bool{true, true}},
		{"smaller type", 20, []int{3, 3}, []bool{false, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := reading{blocks: []block{{lines: []line{{}, {}, {}}}}}
			for i, strokes := range append([]int{3, 3, 3, 3, 3, 3, 3, 3}, tt.strokes...) {
				at := box{10 + i*80, 10, 10 + i*80 + 70, 38}
				to := &got.blocks[0].lines[0]
				if i >= 8 {
					at, to = box{10 + (i-8)*80, 100, 10 + (i-8)*80 + 70, 100 + tt.height}, &got.blocks[0].lines[1]
				}
				img.fillBox(at, 255)
				img.drawStems(at, strokes, 12)
				to.words = append(to.words, word{text: "harbour", box: at})
			}
			r := reader{img: img, below: 128}
			markBold(&r, &got)
			for i, want := range tt.wantBold {
				if w := got.blocks[0].lines[1].words[i]; w.bold != want {
					t.Errorf("word %d: got bold %v, want %v", i+1, w.bold, want)
				}
			}
		})
	}
}
