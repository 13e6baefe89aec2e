// Package pdfium runs PDFium, as WebAssembly translated to C, in this process and calls its functions directly. It is
// the hot path: one call costs about 40 ns, so that whole pages are read character by character without a wrapper's
// allocations.
//
// It is made for a child process that serves one document at a time and is thrown away when something goes wrong: a
// trap in the module surfaces as a panic with a *Trap, after which the Instance must not be used again. Nothing here
// is safe for concurrent use.
//
// Handles (documents, pages, objects) are addresses in the module's memory. They are wrapped in types whose methods
// check what comes back, because the documents are hostile and the module's answers follow from them.
package pdfium
