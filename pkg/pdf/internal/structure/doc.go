// Package structure reads the structure of a PDF, its cross references, objects, page tree and links, and writes
// incremental updates to it: new objects behind the untouched bytes of the original (ISO 32000-1 §7.5.6).
//
// PDFium can change a page, but writes the change as a whole new file, and generates the streams of changed pages
// again. An update that adds a content stream in front of a page's own, and leaves every byte of the original where it
// is, needs no more of a document than is read here. Like PDFium it runs in the isolated child only: what it reads is
// hostile. Everything is bounded: depth, the number of objects, the bytes that a stream may inflate to.
package structure
