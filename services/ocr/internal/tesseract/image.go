package tesseract

/*
#include <stdlib.h>
#include "image.h"
*/
import "C"

import (
	"errors"
	"unsafe"
)

// imageSteps is what Leptonica does to an image before it is read, in this order.
type imageSteps struct {
	turn           int     // degrees clockwise: 0, 90, 180 or 270
	evenBackground bool    // even out the ground
	invert         bool    // make light text on dark areas dark
	median         bool    // smooth specks
	blur           float64 // deviation in pixels, against the dots of a screen; 0 is none
	scale          float64 // enlarge; 0 is as it is
	angle          float64 // degrees clockwise; the image grows so that no corner is cut
}

var errNoMemory = errors.New("no memory for an image")

// silenceLeptonica keeps Leptonica from chatting about images.
func silenceLeptonica() { C.ink_quiet() }

// applySteps returns the image after the steps.
func (g greyImage) applySteps(s imageSteps, dpi float32, below byte) (greyImage, error) {
	if s == (imageSteps{turn: s.turn}) {
		return g.rotated(s.turn), nil
	}
	do := C.struct_ink_steps{
		dpi: C.int(dpi), below: C.int(below), turn: C.int(s.turn / 90), level: cBool(s.evenBackground),
		invert: cBool(s.invert), median: cBool(s.median),
		blur: C.float(s.blur), scale: 1, angle: C.float(s.angle),
	}
	if s.scale != 0 {
		do.scale = C.float(s.scale)
	}
	var width, height C.int
	out := C.ink_prepare((*C.uchar)(unsafe.SliceData(g.pix)), C.int(g.width), C.int(g.height), do, &width, &height)
	if out == nil {
		return greyImage{}, errNoMemory
	}
	defer C.free(unsafe.Pointer(out))
	return greyImage{pix: C.GoBytes(unsafe.Pointer(out), width*height), width: int(width), height: int(height)}, nil
}

func cBool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// measureSkew returns the degrees clockwise by which the image must be turned for its lines to run along the rows,
// and how sure that is.
func (g greyImage) measureSkew(dpi float32, below byte) (angle, sureness float64) {
	var a, s C.float
	if C.ink_skew((*C.uchar)(unsafe.SliceData(g.pix)), C.int(g.width), C.int(g.height), C.int(below), C.int(dpi), &a,
		&s) != 0 {
		return 0, 0
	}
	return float64(a), float64(s)
}

// findComponents returns the boxes of the connected areas of ink, minSpeckles at most, and how many there are.
func (g greyImage) findComponents(below byte) (boxes []box, count int) {
	out := make([]C.int, 4*minSpeckles)
	count = int(C.ink_components((*C.uchar)(unsafe.SliceData(g.pix)), C.int(g.width), C.int(g.height), C.int(below),
		unsafe.SliceData(out), minSpeckles))
	boxes = make([]box, min(count, minSpeckles))
	for i := range boxes {
		b := out[4*i:]
		boxes[i] = box{int(b[0]), int(b[1]), int(b[2]), int(b[3])}
	}
	return boxes, count
}

// openWith returns which pixels a brick of ink of that size can cover; ink is 1. It is for tests.
func (g greyImage) openWith(width, height int) (greyImage, error) {
	out := greyImage{pix: make([]byte, len(g.pix)), width: g.width, height: g.height}
	if C.ink_opening((*C.uchar)(unsafe.SliceData(g.pix)), C.int(g.width), C.int(g.height), C.int(width), C.int(height),
		(*C.uchar)(unsafe.SliceData(out.pix))) != 0 {
		return greyImage{}, errNoMemory
	}
	return out, nil
}

// countScreenDots returns the number of dots that lie as close to each other as those of a screen: at least so many
// on a tenth of an inch each way.
func (g greyImage) countScreenDots(dpi float32, below byte, least int) int {
	return int(C.ink_screen((*C.uchar)(unsafe.SliceData(g.pix)), C.int(g.width), C.int(g.height), C.int(below),
		C.int(dpi), C.int(least)))
}

// maxRulings bounds the rulings of a page; a dense form has some hundred.
const maxRulings = 2000

// findRulings returns the straight lines along the rows and the columns of the image turned clockwise around its
// middle by skew degrees, counted from where its corner was before.
func (g greyImage) findRulings(dpi float32, below byte, skew float64) []box {
	boxes := make([]C.int, 4*maxRulings)
	n := int(C.ink_rulings((*C.uchar)(unsafe.SliceData(g.pix)), C.int(g.width), C.int(g.height), C.int(below), C.int(dpi),
		C.float(skew), unsafe.SliceData(boxes), maxRulings))
	out := make([]box, n)
	for i := range out {
		b := boxes[4*i:]
		out[i] = box{int(b[0]), int(b[1]), int(b[2]), int(b[3])}
	}
	return out
}
