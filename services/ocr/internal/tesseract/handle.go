package tesseract

/*
#cgo !tesseract_shared pkg-config: lept
#cgo !tesseract_shared LDFLAGS: -Wl,--wrap=_ZN9tesseract14LSTMRecognizer13RecognizeLineERKNS_9ImageDataEfbdRKNS_4TBOXEPNS_13PointerVectorINS_8WERD_RESEEEii
#cgo !tesseract_shared LDFLAGS: -Wl,--wrap=_ZN9tesseract14LSTMRecognizer4LoadEPKNS_13ParamsVectorsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPNS_15TessdataManagerE
#cgo !tesseract_shared LDFLAGS: -Wl,--wrap=_ZN9tesseract14LSTMRecognizerD1Ev
#cgo !tesseract_shared LDFLAGS: -l:libtesseract.a -larchive -lcurl -lstdc++ -lm
#cgo tesseract_shared pkg-config: tesseract lept
#cgo tesseract_shared LDFLAGS: -Wl,--as-needed
#include <stdlib.h>
#include <tesseract/capi.h>
#include "image.h"
#include "larger_network.h"

static void look_for_light_text(TessBaseAPI *api, int look) {
	TessBaseAPISetVariable(api, "tessedit_do_invert", look ? "1" : "0");
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// The resolutions that Tesseract believes; outside of them it would guess.
const (
	minCredibleDPI = 70
	maxCredibleDPI = 2400
)

// Version names the library and its version, as a page tells of it.
func Version() string { return "tesseract " + C.GoString(C.TessVersion()) }

// fixedVariables are set for every handle. Most of Tesseract's variables are global to the process, so that they
// cannot differ between handles.
var fixedVariables = [][2]string{
	{"debug_file", "/dev/null"}, // it chats about each page on standard error, which is for last words
	// Lines are not examined for a fixed pitch, by which letters were once told apart: it takes 5 % of a page's
	// processor time, and the line recogniser finds the letters itself.
	{"textord_all_prop", "1"},
}

// Handle is an initialised Tesseract with its models. It is used by one goroutine at a time, and must be closed.
type Handle struct {
	api *C.TessBaseAPI
}

// OpenHandle loads the models of the languages, joined by plus signs, from the folder datapath, and the networks of the
// larger ones that are there.
func OpenHandle(datapath, languages string) (*Handle, error) {
	replaceForward()
	api := C.TessBaseAPICreate()
	path, langs := C.CString(datapath), C.CString(languages)
	defer C.free(unsafe.Pointer(path))
	defer C.free(unsafe.Pointer(langs))
	names := make([]*C.char, 0, len(fixedVariables))
	values := make([]*C.char, 0, len(fixedVariables))
	for _, v := range fixedVariables {
		name, value := C.CString(v[0]), C.CString(v[1])
		defer C.free(unsafe.Pointer(name))
		defer C.free(unsafe.Pointer(value))
		names, values = append(names, name), append(values, value)
	}
	networks, unmap := mapLargerNetworks(datapath, languages)
	defer unmap()
	if C.init_with_networks(api, path, langs, unsafe.SliceData(names), unsafe.SliceData(values), C.size_t(len(names)),
		unsafe.SliceData(networks), C.size_t(len(networks))) != 0 {
		C.TessBaseAPIDelete(api)
		return nil, fmt.Errorf("load models of %q", languages)
	}
	return &Handle{api: api}, nil
}

// Close frees the handle and its models.
func (h *Handle) Close() {
	C.TessBaseAPIEnd(h.api)
	C.TessBaseAPIDelete(h.api)
	h.api = nil
}

// segmentation says what Tesseract takes an image for.
type segmentation C.TessPageSegMode

const (
	wholePage segmentation = C.PSM_AUTO                   // find columns, pictures, tables
	oneBlock  segmentation = C.PSM_SINGLE_BLOCK           // lines of text, nothing else
	scattered segmentation = C.PSM_SPARSE_TEXT            // as much text as there is, in no order
	oneLine   segmentation = C.PSM_SINGLE_LINE            // a line of text
	columns   segmentation = C.PSM_SINGLE_BLOCK_VERT_TEXT // columns that run from top to bottom, nothing else
)

// SetImage copies 8-bit grey pixels in. The image must not be empty: the library ends the process over one.
func (h *Handle) SetImage(img greyImage, dpi int, as segmentation) {
	C.TessBaseAPISetPageSegMode(h.api, C.TessPageSegMode(as))
	C.TessBaseAPISetImage(h.api, (*C.uchar)(unsafe.SliceData(img.pix)), C.int(img.width), C.int(img.height), 1,
		C.int(img.width))
	C.TessBaseAPISetSourceResolution(h.api, C.int(min(max(dpi, minCredibleDPI), maxCredibleDPI)))
}

// BlurLines has the lines that are found on the image which was set read from a copy of it, smoothed with a Gaussian of
// a deviation in pixels.
func (h *Handle) BlurLines(img greyImage, deviation float64) error {
	blurred := C.ink_blurred((*C.uchar)(unsafe.SliceData(img.pix)), C.int(img.width), C.int(img.height), C.float(deviation))
	if blurred == nil {
		return errNoMemory
	}
	C.TessBaseAPISetInputImage(h.api, blurred) // takes it over
	return nil
}

// JoinWords has the handle tell the blanks of a text from the seams between what it calls words. The models of
// horizontal Chinese, Japanese and Korean say so themselves.
func (h *Handle) JoinWords() {
	name, on := C.CString(joinsWords), C.CString("1")
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(on))
	C.TessBaseAPISetVariable(h.api, name, on)
}

// errRecognise is what Recognise returns where the library gives no reason.
var errRecognise = errors.New("recognition was given up")

// RetryAsLightText says whether lines that read badly are to be read again as light text on a dark ground.
func (h *Handle) RetryAsLightText(look bool) {
	n := C.int(0)
	if look {
		n = 1
	}
	C.look_for_light_text(h.api, n)
}

// RecogniseImage reads the image that was set.
func (h *Handle) RecogniseImage() error {
	if C.TessBaseAPIRecognize(h.api, nil) != 0 {
		return errRecognise
	}
	return nil
}

// ClearImage frees the image and the results.
func (h *Handle) ClearImage() {
	C.TessBaseAPIClear(h.api)
}
