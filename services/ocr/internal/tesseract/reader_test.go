package tesseract

import (
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

func englishHandle(t testing.TB) *Handle {
	t.Helper()
	h, err := OpenHandle(DefaultDataPath(), "eng")
	if err != nil {
		t.Fatalf("open Tesseract: %v", err)
	}
	t.Cleanup(h.Close)
	return h
}

func blocksText(blocks []block) string {
	var out []string
	for w := range allWords(blocks) {
		out = append(out, w.text)
	}
	return strings.Join(out, " ")
}

// readWith reads an image by one handle.
func readWith(h *Handle, img greyImage, dpi float32) (reading, error) {
	r, err := newReader(img, dpi, options{deskew: true, rotate: true})
	if err != nil {
		return reading{}, err
	}
	return r.readPage(h)
}

func TestReadFindsTheWayUp(t *testing.T) {
	t.Parallel()
	h := englishHandle(t)
	const dpi = 150
	for _, turn := range []int{90, 180} { // the others are in the suite, on smaller sheets
		o := pdftest.DirtyScanOptions()
		o.DPI, o.Turn = dpi, turn
		img, truth := pdftest.DrawScanPage(o, 1)
		got, err := readWith(h, greyOf(img), dpi)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if want := (360 - turn) % 360; got.turn != want || got.toPage(greyOf(img), dpi).GetUprightRotation() != int32(want) {
			t.Errorf("turned by %d: got turned back by %d, want %d", turn, got.turn, want)
		}
		if cer := score.CharErrorRate(truth, blocksText(got.blocks)); cer > 0.03 {
			t.Errorf("turned by %d: got a character error rate of %.3f, want at most 0.03", turn, cer)
		}
	}
}

func TestIsEmptyWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, " ": true, "\u00a0\n": true, "~": false, "x": false} {
		if got := isEmptyWord(word{text: text}); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
