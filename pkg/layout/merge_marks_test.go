package layout

import (
	"testing"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestMergeKeepsColonsBehindLabels keeps colons between labels and what follows though they were read with little
// confidence, and drops what rules, frames and specks are read as.
func TestMergeKeepsColonsBehindLabels(t *testing.T) {
	t.Parallel()
	ocr := tightlyRecognised(down(72, 100, 10, ": Cashier : Nicole |", "Sum (net) : 1.50",
		"Date ~ 01.06. : noon", "the end :", ": ;"))
	for _, line := range ocr.Blocks[0].Lines {
		for _, w := range line.Words {
			if w.Confidence = proto.Float32(0.9); len(w.Text) == 1 {
				w.Confidence = proto.Float32(0.2)
			}
		}
	}
	got := MergeNativeAndOCR(&inkstreamv1.Page{}, ocr)
	if want := "Cashier : Nicole\nSum (net) : 1.50\nDate 01.06. noon\nthe end\n"; got.Text != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.Text, want)
	}
}

// TestMergeKeepsBoldWords keeps which of the recognised words are bold beside those of the page's own fonts.
func TestMergeKeepsBoldWords(t *testing.T) {
	t.Parallel()
	native := pageOf(set(1, down(72, 60, 10, "a line of its own")...))
	native.Fonts = []*inkstreamv1.Font{{Name: "Times"}}
	ocr := recognised(set(1, down(72, 100, 10, "Bold")...), set(0, down(72, 130, 10, "plain")...))
	ocr.Fonts = []*inkstreamv1.Font{{Weight: 700}}
	page := MergeNativeAndOCR(native, ocr)
	for _, w := range PageWords(page) {
		bold := w.GetFont() > 0 && IsBoldFont(page.GetFonts()[w.GetFont()-1])
		if want := w.GetText() == "Bold"; bold != want {
			t.Errorf("%q: got bold %v, want %v", w.GetText(), bold, want)
		}
	}
}
