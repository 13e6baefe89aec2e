package tesseract

import (
	"fmt"
	"strings"
	"testing"
)

// fillDisc draws a disc of ink in a box.
func (g greyImage) fillDisc(b box) {
	for y := b[1]; y < b[3]; y++ {
		for x := b[0]; x < b[2]; x++ {
			dx, dy := 2*x+1-b[0]-b[2], 2*y+1-b[1]-b[3]
			if dx*dx+dy*dy <= (b[2]-b[0])*(b[2]-b[0]) {
				g.pix[y*g.width+x] = 0
			}
		}
	}
}

// listPage draws a page of lines of letters 20 pixels high, each with what drawMark draws left of it, and returns what
// was read of it.
func listPage(misread string, drawMark func(img greyImage, baseline int)) (*reader, *reading) {
	img := blankPage(800, 800)
	got := &reading{}
	for i := range 8 {
		baseline := 100 + 60*i
		l := line{}
		if misread != "" {
			at := box{60, baseline - 18, 74, baseline}
			if len(misread) > 1 && misread[1] == '@' {
				at = box{62, baseline - 16, 74, baseline - 4}
			}
			l.words = append(l.words, word{text: misread, box: at, confidence: 0.5})
		}
		for j := range 20 {
			img.fillBox(box{100 + 26*j, baseline - 20, 104 + 26*j, baseline}, 0)
			img.fillBox(box{104 + 26*j, baseline - 4, 116 + 26*j, baseline}, 0)
		}
		l.words = append(l.words, word{text: fmt.Sprint("line", i), box: box{100, baseline - 20, 610, baseline}, confidence: 0.9})
		drawMark(img, baseline)
		got.blocks = append(got.blocks, block{lines: []line{l}})
	}
	r := &reader{img: img, dpi: 300, below: 128}
	r.areas, _ = img.findComponents(r.below)
	return r, got
}

// TestBulletsAreMarked reads discs and dashes before lines as such, whatever was read in their place, and leaves letters
// that stand on the baseline, full stops and rings.
func TestBulletsAreMarked(t *testing.T) {
	t.Parallel()
	disc := func(bottom int) func(greyImage, int) {
		return func(img greyImage, baseline int) {
			img.fillDisc(box{62, baseline - bottom - 12, 74, baseline - bottom})
		}
	}
	dash := func(long, bottom int) func(greyImage, int) {
		return func(img greyImage, baseline int) {
			img.fillBox(box{80 - long, baseline - bottom - 3, 80, baseline - bottom}, 0)
		}
	}
	for name, tt := range map[string]struct {
		misread string
		draw    func(greyImage, int)
		want    string
	}{
		"misread":                  {"e", disc(4), "• line"},
		"left out":                 {"", disc(4), "• line"},
		"right above the baseline": {"e", disc(1), "• line"},
		"two letters":              {"e@", disc(4), "• line"},
		"on the baseline":          {"e", disc(0), "e line"},
		"part of a word":           {"i.", disc(4), "i. line"},
		"nothing is there":         {"e", func(greyImage, int) {}, "e line"},
		"a dash":                   {"", dash(22, 8), "– line"},
		"a hyphen":                 {"~", dash(14, 8), "- line"},
		"a long dash":              {"—", dash(22, 8), "— line"},
		"a stroke on the baseline": {"", dash(22, 0), "line"},
		"an equals sign": {"=", func(img greyImage, baseline int) {
			dash(22, 4)(img, baseline)
			dash(22, 12)(img, baseline)
		}, "= line"},
		"a dash between two words": {"", func(img greyImage, baseline int) {
			dash(22, 8)(img, baseline)
			img.fillBox(box{40, baseline - 20, 44, baseline}, 0)
		}, "line"},
		"a ring": {"o", func(img greyImage, baseline int) {
			disc(4)(img, baseline)
			img.fillBox(box{65, baseline - 13, 71, baseline - 7}, 255)
		}, "o line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, got := listPage(tt.misread, tt.draw)
			r.markBullets(got)
			for i, b := range got.blocks {
				var words []string
				for _, w := range b.lines[0].words {
					words = append(words, w.text)
				}
				if text := strings.Join(words, " "); text != tt.want+fmt.Sprint(i) {
					t.Errorf("line %d: got %q, want %q", i, text, tt.want+fmt.Sprint(i))
				}
			}
		})
	}
}

// TestSingleBulletsAreMarked reads a single disc as a bullet where it was read as a word, before the second of two items
// beside each other too, and none where letters have run full of ink.
func TestSingleBulletsAreMarked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		draw func(img greyImage, got *reading)
		want string // of the first line
	}{
		"one misread": {func(img greyImage, got *reading) {
			img.fillDisc(box{62, 84, 74, 96})
			l := &got.blocks[0].lines[0]
			l.words = append([]word{{text: "e", box: box{62, 84, 74, 96}}}, l.words...)
		}, "• line0"},
		"one in a letter": {func(img greyImage, got *reading) {
			img.fillDisc(box{62, 84, 74, 96})
			l := &got.blocks[0].lines[0]
			l.words = append([]word{{text: "a", box: box{58, 80, 74, 100}}}, l.words...)
		}, "a line0"},
		"one left out": {func(img greyImage, _ *reading) { img.fillDisc(box{62, 84, 74, 96}) }, "line0"},
		"items beside each other": {func(img greyImage, got *reading) {
			img.fillDisc(box{660, 84, 672, 96})
			img.fillBox(box{700, 80, 704, 100}, 0)
			l := &got.blocks[0].lines[0]
			l.words = append(l.words, word{text: "e", box: box{660, 84, 672, 96}},
				word{text: "l", box: box{700, 80, 704, 100}})
		}, "line0 • l"},
		"two discs in a word of a line of its own": {func(img greyImage, got *reading) {
			img.fillDisc(box{40, 84, 52, 96})
			img.fillDisc(box{62, 84, 74, 96})
			alone := line{words: []word{{text: "%", box: box{40, 84, 74, 96}}}}
			b := &got.blocks[0]
			b.lines = append(b.lines, alone)
		}, "• line0"},
		"letters that ran full": {func(img greyImage, got *reading) {
			for i := range 30 {
				img.fillDisc(box{100 + 20*i, 700, 118 + 20*i, 718})
			}
			img.fillDisc(box{60, 81, 78, 99})
			l := &got.blocks[0].lines[0]
			l.words = append([]word{{text: "e", box: box{60, 81, 78, 99}}}, l.words...)
		}, "e line0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, got := listPage("", func(greyImage, int) {})
			tt.draw(r.img, got)
			r.areas, _ = r.img.findComponents(r.below)
			r.markBullets(got)
			var words []string
			for _, w := range got.blocks[0].lines[0].words {
				words = append(words, w.text)
			}
			if text := strings.Join(words, " "); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}
