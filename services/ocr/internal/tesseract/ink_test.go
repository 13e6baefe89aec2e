package tesseract

import (
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// lostLines reads a page, takes lines out of the reading, and returns what is needed to look for them.
func lostLines(t *testing.T, turn int) (*reader, reading, string) {
	t.Helper()
	const dpi = 150
	o := pdftest.DirtyScanOptions()
	o.DPI, o.Turn = dpi, turn
	img, truth := pdftest.DrawScanPage(o, 1)
	h := englishHandle(t)
	r, err := newReader(greyOf(img), dpi, options{deskew: true, rotate: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.readPage(h)
	if err != nil {
		t.Fatal(err)
	}
	if got.unread.share > maxLostShare {
		t.Fatalf("share of unread letters on a page that was read: got %.3f in %v", got.unread.share, got.unread.regions)
	}
	n := 0
	for i := range got.blocks {
		b := &got.blocks[i]
		b.lines = slices.DeleteFunc(b.lines, func(line) bool { n++; return n > 8 && n <= 14 })
	}
	return r, got, truth
}

func TestUnreadInkIsFound(t *testing.T) {
	t.Parallel()
	r, got, _ := lostLines(t, 0)
	ink := findUnreadInk(r.turnedAreas(got.turn), &got, r.img.rotated(got.turn))
	if ink.share < 0.05 || len(ink.regions) == 0 {
		t.Errorf("six lines without words: got a share of %.3f and the regions %v", ink.share, ink.regions)
	}
	got.unread = ink
	page := got.toPage(r.img, r.dpi)
	if len(page.GetUnreadRegions()) != len(ink.regions) || page.GetInkWithoutWords() != float32(ink.share) {
		t.Errorf("page: got %v and the share %v, want both of %v", page.GetUnreadRegions(), page.GetInkWithoutWords(), ink)
	}
}

func TestLostLinesAreReadAgain(t *testing.T) {
	t.Parallel()
	for _, turn := range []int{0, 90} {
		r, got, truth := lostLines(t, turn)
		before := score.WordF1(truth, blocksText(got.blocks))
		if err := r.readLostInk(&got); err != nil {
			t.Fatal(err)
		}
		after := score.WordF1(truth, blocksText(got.blocks))
		if before > 0.97 || after < 0.98 || got.unread.share > maxLostShare {
			t.Errorf("turned by %d: word F1 %.3f, then %.3f, want 0.98; %.3f unread", turn, before, after, got.unread.share)
		}
	}
}

// Print that is small in pixels is read whole, whatever the page says of its size.
func TestSmallPrintIsReadWhole(t *testing.T) {
	t.Parallel()
	h := englishHandle(t)
	for _, claimed := range []float32{110, 300} {
		img, truth := pdftest.DrawScanPage(pdftest.ScanOptions{DPI: 110, Size: 10, Noise: 3, Blur: true}, 1)
		got, err := readWith(h, greyOf(img), claimed)
		if err != nil {
			t.Fatal(err)
		}
		if cer := score.CharErrorRate(truth, blocksText(got.blocks)); cer > 0.02 {
			t.Errorf("scan at 110 dpi that claims %v: got a character error rate of %.3f, want at most 0.02", claimed, cer)
		}
	}
}

func TestPicturesAreNoText(t *testing.T) {
	t.Parallel()
	lines, count := textLines([]box{{0, 0, 10, 12}, {14, 30, 24, 42}, {28, 70, 38, 80}, {42, 5, 52, 90}, {60, 50, 66, 58},
		{80, 0, 90, 10}, {95, 20, 105, 30}})
	if len(lines) > 0 || count > 0 {
		t.Errorf("scattered areas: got the lines %v", lines)
	}
}

func TestLeadersAreNoReasonToReadAgain(t *testing.T) {
	t.Parallel()
	r := reading{blocks: []block{{lines: []line{{words: []word{
		{text: "Contents", confidence: 0.95}, {text: "........................", confidence: 0.2}, {text: "17", confidence: 0.95},
	}}}}}}
	if got := r.proseConfidence(); got < 0.9 {
		t.Errorf("confidence of a line with a leader: got %.2f, want 0.95", got)
	}
}

// TestShortRowsBelowEachOtherAreLines takes figures in the column of a table for lines of text, and scattered marks for
// none.
func TestShortRowsBelowEachOtherAreLines(t *testing.T) {
	t.Parallel()
	row := func(x, y int) (letters []box) {
		for i := range 3 {
			letters = append(letters, box{x + 12*i, y, x + 12*i + 9, y + 14})
		}
		return letters
	}
	column := slices.Concat(row(100, 100), row(104, 130), row(100, 162), row(98, 190))
	single := slices.Concat(row(100, 100)[:1], row(100, 130)[:1], row(100, 162)[:2], row(100, 190)[:1])
	for name, tt := range map[string]struct {
		letters []box
		lines   int
	}{
		"a column": {column, 1}, "two rows": {column[:6], 0}, "a line": {slices.Concat(row(300, 10), row(336, 10)), 1},
		"single figures": {single, 1}, "four single figures": {single[:4], 0},
		"far apart":                            {slices.Concat(row(100, 100), row(100, 300), row(100, 500), row(100, 700)), 0},
		"beside each other, a step lower each": {slices.Concat(row(100, 100), row(200, 130), row(300, 160), row(400, 190)), 0},
	} {
		lines, count := textLines(slices.Clone(tt.letters))
		if len(lines) != tt.lines || (count == len(tt.letters)) != (tt.lines > 0) {
			t.Errorf("%s: got %d lines of %d letters, want %d", name, len(lines), count, tt.lines)
		}
	}
}

// TestLinesThatRunUpAreDoubtful drops what Tesseract makes of a column of figures where the figures are read, and keeps
// other lines.
func TestLinesThatRunUpAreDoubtful(t *testing.T) {
	t.Parallel()
	at := func(text string, angle int, confidence float32) line {
		return line{words: []word{{text: text, box: box{10, 10, 20, 200}, confidence: confidence}}, angle: angle}
	}
	got := reading{blocks: []block{{lines: []line{at("Runaru", 270, 0.4), at("Axis", 270, 0.95), at("text", 0, 0.4)}}}}
	figure := line{words: []word{{text: "7", box: box{10, 50, 20, 64}, confidence: 0.9}}}
	got.dropDoubtfulAt(placedLine{&figure, figure.words[0].box})
	if text := blocksText(got.blocks); strings.Contains(text, "Runaru") || !strings.Contains(text, "Axis") ||
		!strings.Contains(text, "text") {
		t.Errorf("got %q, want what was read surely, or runs level", text)
	}
}
