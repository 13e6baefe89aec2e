// Package pdf opens PDFs and reads their pages: text with boxes and fonts, images, ruling lines, what kind of page it
// is, and a grey raster of the pages that have to be recognised.
//
// PDFium does the work, as WebAssembly translated to C, inside child processes of [inkstream.dev/pkg/sandbox]: two
// walls between a hostile document and the service, which never parses a byte of it.
//
//	service process                             child process
//	Engine.OpenDocument ── lease, file ───────────────> host.Host: a fresh PDFium instance, the document read through the file
//	Document.ReadPage ── page number ─────────────> load, read text, triage, and draw if the triage wants recognition
//	           <── page, kind, raster's size ── pixels go to memory that both share
//	Document.Close ───────────────────────────> the instance is dropped, the child waits for the next document
//
// A page that crashes, hangs or floods the child costs that page: the call returns a *fault.Error with its number,
// and the next call on the Document starts a new child and opens the file again.
package pdf
