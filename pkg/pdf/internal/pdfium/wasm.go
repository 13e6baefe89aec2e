package pdfium

import (
	_ "unsafe" // for go:linkname

	// The package embeds PDFium's WebAssembly module; nothing else of it is used.
	_ "github.com/klippa-app/go-pdfium/webassembly"
)

// pdfiumWasm is the module's bytes. go-pdfium keeps them private and offers no accessor; reaching them by name saves
// a second copy of 5 MB in the repository and keeps the version in one place, go.mod.
//
//go:linkname pdfiumWasm github.com/klippa-app/go-pdfium/webassembly.pdfiumWasm
var pdfiumWasm []byte
