package tesseract

import (
	"slices"
	"strings"
	"testing"
)

// TestLeadersJoinLines joins what rows of dots lead together, whatever was read of the dots, on straight and on skewed
// pages, and leaves lines without dots, with dots below words, and with dots at uneven distances as they are.
func TestLeadersJoinLines(t *testing.T) {
	t.Parallel()
	even := func(i int) int { return 12 * i }
	for name, tt := range map[string]struct {
		dots   int
		at     func(i int) int
		rise   int  // pixels from the first dot to the last
		shift  int  // of the dots to the left, so that they stand below the name
		broken bool // there are dots among the figures, as where those are worn
		joined bool
	}{
		"leader":         {24, even, 0, 0, false, true},
		"skewed":         {24, even, 12, 0, false, true},
		"nothing":        {0, even, 0, 0, false, false},
		"few":            {4, even, 0, 0, false, false},
		"uneven":         {24, func(i int) int { return 12*i + i%3*5 - i%2*6 }, 0, 0, false, false},
		"line":           {24, even, 0, 200, false, false},
		"broken figures": {24, even, 0, 0, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, got := listPage("", func(img greyImage, baseline int) {
				for i := range tt.dots {
					x, y := 640+tt.at(i)-tt.shift, baseline-tt.rise*i/24
					img.fillBox(box{x, y - 3, x + 3, y}, 0)
				}
			})
			wide := blankPage(1100, 800)
			for y := range r.img.height {
				copy(wide.pix[y*wide.width:], r.img.pix[y*r.img.width:(y+1)*r.img.width])
			}
			for i := range 8 { // listPage's image ends before the leaders do
				for j := range tt.dots {
					x, y := 640+tt.at(j)-tt.shift, 100+60*i-tt.rise*j/24
					wide.fillBox(box{x, y - 3, x + 3, y}, 0)
				}
				bottom := 100 + 60*i - tt.rise
				if tt.broken {
					for _, x := range []int{936, 960, 978} {
						wide.fillBox(box{x, bottom - 3, x + 3, bottom}, 0)
					}
					wide.fillBox(box{945, bottom - 20, 955, bottom}, 0)
					wide.fillBox(box{966, bottom - 20, 975, bottom}, 0)
				}
				got.blocks = append(got.blocks, block{lines: []line{{words: []word{
					{text: "17", box: box{950, bottom - 20, 980, bottom}, confidence: 0.9}}}}})
			}
			r.img = wide
			r.areas, _ = wide.findComponents(r.below)
			r.takeLeaders()
			if err := r.joinLeaders(got); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, l := range got.levelLines() {
				var words []string
				for _, w := range l.words {
					words = append(words, w.text)
				}
				lines = append(lines, strings.Join(words, " "))
			}
			if joined := slices.Contains(lines, "line3 "+leaderText+" 17"); joined != tt.joined || joined != (len(lines) == 8) {
				t.Errorf("got %q, want lines that are joined: %v", lines, tt.joined)
			}
		})
	}
}

// TestWordsBelowLeadersStay drops what was read of dots, and keeps a word of the next line whose box reaches up to
// them.
func TestWordsBelowLeadersStay(t *testing.T) {
	t.Parallel()
	l := leader{first: box{640, 97, 643, 100}, last: box{928, 97, 931, 100}}
	read := &line{words: []word{{text: "oe", box: box{650, 92, 690, 101}}, {text: "increases", box: box{700, 95, 800, 130}}}}
	var letters []box
	for x := 702; x < 790; x += 11 {
		letters = append(letters, box{x, 108, x + 9, 128})
	}
	l.dropReadDots([]*line{read}, letters)
	if len(read.words) != 1 || read.words[0].text != "increases" {
		t.Errorf("got %v, want the word below the dots alone", read.words)
	}
}

// TestLeaderKeepsItsName joins a number that was read again to the name before the leader, also where a tall word of
// the name's own line goes, because it was read of the number and its neighbours.
func TestLeaderKeepsItsName(t *testing.T) {
	t.Parallel()
	place := box{900, 90, 960, 120}
	for _, tall := range []word{
		{text: "7|", box: box{100, 20, 940, 170}},
		{text: "7|", box: box{590, 20, 940, 170}},
	} {
		got := &reading{blocks: []block{{lines: []line{{words: []word{
			tall, {text: "Kapitel", box: box{300, 95, 480, 120}}, {text: "drei", box: box{500, 95, 580, 120}}}}}}}}
		own := &got.blocks[0].lines[0]
		e := leaderEnds{leader: leader{box{600, 115, 603, 118}, box{880, 115, 883, 118}}, height: 20, before: own, at: 2, behind: own, next: 0}
		part := reading{confidence: 0.9, blocks: []block{{lines: []line{{words: []word{{text: "17", box: box{5, 5, 40, 25}, confidence: 0.9}}}}}}}
		got.replaceBehind(&e, part, place)
		e.joinWords()
		var words []string
		for _, w := range own.words {
			words = append(words, w.text)
		}
		if text := strings.Join(words, " "); text != "Kapitel drei "+leaderText+" 17" {
			t.Errorf("tall word at %d: got %q, want the name, the leader and the number", tall.box[0], text)
		}
	}
}
