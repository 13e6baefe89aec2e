package pdfium

/*
#include <stdint.h>
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// pdfiumReadBlock fills a part of the module's memory from the open document, wholly, and returns 1, or 0.
//
//export pdfiumReadBlock
func pdfiumReadBlock(handle C.uintptr_t, position C.uint32_t, to unsafe.Pointer, size C.uint32_t) C.uint32_t {
	r, ok := cgo.Handle(handle).Value().(*Runtime)
	if !ok || r.source == nil {
		return 0
	}
	buf := unsafe.Slice((*byte)(to), int(size))
	if n, _ := r.source.ReadAt(buf, int64(position)); n < len(buf) {
		return 0
	}
	return 1
}

// pdfiumWriteBlock writes a part of the module's memory to the copy of the document, and returns 1, or 0.
//
//export pdfiumWriteBlock
func pdfiumWriteBlock(handle C.uintptr_t, from unsafe.Pointer, size C.uint32_t) C.uint32_t {
	r, ok := cgo.Handle(handle).Value().(*Runtime)
	if !ok || r.sink == nil || r.sinkErr != nil {
		return 0
	}
	if _, r.sinkErr = r.sink.Write(unsafe.Slice((*byte)(from), int(size))); r.sinkErr != nil {
		return 0
	}
	return 1
}
