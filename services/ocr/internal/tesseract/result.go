package tesseract

/*
#include <tesseract/capi.h>
*/
import "C"

import (
	"iter"
	"strings"
)

// box is a rectangle in pixels, [x0, y0, x1, y1).
type box [4]int

// word, line and block are what was read, in the pixels of the image that was set and in reading order.
type word struct {
	text       string
	box        box
	confidence float32 // 0 to 1
}

type line struct {
	words []word
	angle int // degrees clockwise in which the line runs
}

type block struct {
	lines []line
}

// Blocks returns the paragraphs that Recognise found. Words without a character are left out; pictures and rulings count as such.
func (h *Handle) blocks() []block {
	it := C.TessBaseAPIGetIterator(h.api)
	if it == nil { // an empty page
		return nil
	}
	defer C.TessResultIteratorDelete(it)
	at := C.TessResultIteratorGetPageIterator(it) // the same iterator, seen as one over the layout
	var out []block
	for {
		if len(out) == 0 || C.TessPageIteratorIsAtBeginningOf(at, C.RIL_PARA) != C.FALSE {
			out = append(out, block{})
		}
		b := &out[len(out)-1]
		if len(b.lines) == 0 || C.TessPageIteratorIsAtBeginningOf(at, C.RIL_TEXTLINE) != C.FALSE {
			b.lines = append(b.lines, line{angle: angleOf(at)})
		}
		if w, ok := wordOf(it, at); ok {
			l := &b.lines[len(b.lines)-1]
			l.words = append(l.words, w)
		}
		if C.TessResultIteratorNext(it, C.RIL_WORD) == C.FALSE {
			return out
		}
	}
}

func wordOf(it *C.TessResultIterator, at *C.TessPageIterator) (word, bool) {
	text := C.TessResultIteratorGetUTF8Text(it, C.RIL_WORD)
	if text == nil {
		return word{}, false
	}
	defer C.TessDeleteText(text)
	var x0, y0, x1, y1 C.int
	if C.TessPageIteratorBoundingBox(at, C.RIL_WORD, &x0, &y0, &x1, &y1) == C.FALSE {
		return word{}, false
	}
	w := word{
		text:       strings.ToValidUTF8(C.GoString(text), "\uFFFD"),
		box:        box{int(x0), int(y0), int(x1), int(y1)},
		confidence: float32(C.TessResultIteratorConfidence(it, C.RIL_WORD)) / 100,
	}
	return w, !isNoise(w)
}

// angleOf tells how the line runs: text on an upright page may run up the margin.
func angleOf(at *C.TessPageIterator) int {
	var orient C.TessOrientation
	var direction C.TessWritingDirection
	var order C.TessTextlineOrder
	var deskew C.float
	C.TessPageIteratorOrientation(at, &orient, &direction, &order, &deskew)
	switch orient {
	case C.ORIENTATION_PAGE_RIGHT:
		return 90
	case C.ORIENTATION_PAGE_DOWN:
		return 180
	case C.ORIENTATION_PAGE_LEFT:
		return 270
	default:
		return 0
	}
}

// words yields every word in reading order.
func words(blocks []block) iter.Seq[word] {
	return func(yield func(word) bool) {
		for _, b := range blocks {
			for _, l := range b.lines {
				for _, w := range l.words {
					if !yield(w) {
						return
					}
				}
			}
		}
	}
}
