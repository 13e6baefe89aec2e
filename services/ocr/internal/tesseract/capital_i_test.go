package tesseract

import "testing"

// TestBarsThatAreTheLetterI writes the letter I for bars that stand on the line and are as high as capitals, and leaves
// bars that go below the line, rulings, and bars among figures.
func TestBarsThatAreTheLetterI(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, beside string
		stroke       box
		skew         float64
		want         string
	}{
		"the letter":                {"|", "am", box{60, 80, 63, 100}, 0, "I"},
		"before an apostrophe":      {"|’ve", "been", box{60, 80, 63, 100}, 0, "I’ve"},
		"before a full stop":        {"|.", "Part", box{60, 80, 63, 100}, 0, "I."},
		"a bar":                     {"|", "am", box{60, 80, 63, 104}, 0, "|"},
		"a ruling":                  {"|", "am", box{60, 60, 63, 120}, 0, "|"},
		"lower than the letters":    {"|", "am", box{60, 90, 63, 100}, 0, "|"},
		"above the line":            {"|", "am", box{60, 75, 63, 95}, 0, "|"},
		"two bars":                  {"||", "am", box{60, 80, 63, 100}, 0, "||"},
		"among figures":             {"|", "12", box{60, 80, 63, 100}, 0, "|"},
		"on a line that goes down":  {"|", "am", box{60, 76, 63, 96}, -3, "I"},
		"below a line that goes up": {"|", "am", box{60, 80, 63, 100}, 3, "|"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			img := blankPage(400, 200)
			for i := range 6 { // letters, three of them high
				img.fillBox(box{80 + 20*i, 86 - 6*(i%2), 92 + 20*i, 100}, 0)
			}
			for i := range 300 { // dust
				img.pix[(130+i%60)*img.width+i] = 0
			}
			img.fillBox(tt.stroke, 0)
			r := &reader{img: img, dpi: 300, below: 128}
			got := &reading{skew: tt.skew, blocks: []block{{lines: []line{{words: []word{
				{text: tt.text, box: box{58, tt.stroke[1], 66, tt.stroke[3]}},
				{text: tt.beside, box: box{80, 80, 200, 100}},
			}}}}}}
			r.useCapitalI(got)
			if text := got.blocks[0].lines[0].words[0].text; text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}
