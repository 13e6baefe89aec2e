package tesseract

/*
#cgo CXXFLAGS: -std=c++17
#cgo tesseract_shared CPPFLAGS: -DTESSERACT_SHARED
#include "forward.h"
*/
import "C"

import "sync"

// replaceForward has the networks of all handles computed by forward.cc from now on, where that is for this processor
// and library. It reports whether it is.
var replaceForward = sync.OnceValue(func() bool { return C.replace_forward() != 0 })

// compareForward calls a function during which Tesseract computes every layer once more. It returns how many layers
// forward.cc has computed, and how many of them came out otherwise. No other handle may be in use. It is for tests.
func compareForward(during func()) (layers, different int) {
	before := C.compared_forward()
	C.compare_forward(1)
	defer C.compare_forward(0)
	during()
	after := C.compared_forward()
	return int(after.layers - before.layers), int(after.different - before.different)
}
