package pdfium

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// LoadError is PDFium's reason for not opening a document (FPDF_GetLastError).
type LoadError int

// The reasons that PDFium gives.
const (
	ErrUnknown  LoadError = 1
	ErrFile     LoadError = 2
	ErrFormat   LoadError = 3
	ErrPassword LoadError = 4
	ErrSecurity LoadError = 5
	ErrPage     LoadError = 6
)

// Error names the reason.
func (e LoadError) Error() string {
	switch e {
	case ErrFile:
		return "file cannot be read"
	case ErrFormat:
		return "not in PDF format or corrupted"
	case ErrPassword:
		return "password needed"
	case ErrSecurity:
		return "unsupported security scheme"
	case ErrPage:
		return "page not found or content error"
	default:
		return fmt.Sprintf("unknown error %d", int(e))
	}
}

// Document is an open document.
type Document struct {
	in         *Instance
	handle     uint64
	access     uint64
	password   uint64
	linkReader LinkReader
	lookupTime time.Duration // at where links and entries of the outline lead
}

// maxLookupTime bounds how long PDFium looks for where links and entries of the outline lead, as long as the document
// is open: in a name tree whose names are in one leaf it goes through all of them for each. Documents that are not
// made for it take a tenth of a second.
const maxLookupTime = 10 * time.Second

// lookUpTarget has PDFium look for where something leads, if there is time left for it.
func (d *Document) lookUpTarget(find func() uint64) uint64 {
	if d.lookupTime >= maxLookupTime {
		return 0
	}
	start := time.Now()
	defer func() { d.lookupTime += time.Since(start) }()
	return find() & math.MaxUint32
}

// LinkReader returns the links of page index, from 0, which has so many annotations. It reports false where it is not
// sure that all of them are links, and lead where PDFium would find that they lead.
type LinkReader func(index, annotations int) ([]Link, bool)

// SetLinkReader has the links of pages read by another way than PDFium's, which is slow, where that is sure of them.
func (d *Document) SetLinkReader(by LinkReader) { d.linkReader = by }

// OpenDocument opens a document that is read through r as it is needed, so that its size costs no memory. One
// document can be open at a time. The error is a LoadError if PDFium refuses the document.
func (in *Instance) OpenDocument(r io.ReaderAt, size int64, password string) (*Document, error) {
	if size <= 0 || size > math.MaxInt32 {
		return nil, ErrFile
	}
	if in.runtime.source != nil {
		return nil, errors.New("a document is open already")
	}
	in.runtime.source = newWindowedReader(r, size)
	d := &Document{in: in}
	// The parameter only has to be some address; there is one source.
	d.access = in.callFunction(fnFileAccessCreate, uint64(size), in.scratch) & math.MaxUint32
	if password != "" {
		d.password = in.allocateCString(password)
	}
	d.handle = in.callFunction(fnLoadCustomDocument, d.access, d.password) & math.MaxUint32
	if d.handle == 0 {
		reason := LoadError(in.callInt(fnGetLastError))
		d.Close()
		if reason == 0 {
			reason = ErrUnknown
		}
		return nil, reason
	}
	return d, nil
}

// Close closes the document; its pages must be closed before.
func (d *Document) Close() {
	if d.handle != 0 {
		d.in.callFunction(fnCloseDocument, d.handle)
	}
	for _, p := range []uint64{d.access, d.password} {
		if p != 0 {
			d.in.freeMemory(p)
		}
	}
	d.handle, d.access, d.password = 0, 0, 0
	d.in.runtime.source = nil
}

// PageCount is the number of pages, as the page tree says; never negative.
func (d *Document) PageCount() int { return max(0, d.in.callInt(fnGetPageCount, d.handle)) }

// InfoEntry returns an entry of the document's information dictionary.
func (d *Document) InfoEntry(tag string) string {
	key := d.in.allocateCString(tag)
	defer d.in.freeMemory(key)
	p, size := d.in.stringBuffer()
	return d.in.readWideString(d.in.callFunction(fnGetMetaText, d.handle, key, p, size) & math.MaxUint32)
}

// HeaderVersion returns the version in the header, such as 17 for 1.7; 0 if it has none.
func (d *Document) HeaderVersion() int {
	if !d.in.callBool(fnGetFileVersion, d.handle, d.in.scratch) {
		return 0
	}
	return int(int32(d.in.readUint32(0)))
}

// IsTagged reports whether the document says that it is tagged.
func (d *Document) IsTagged() bool { return d.in.callBool(fnIsTagged, d.handle) }

// IsEncrypted reports whether the document is encrypted, even if its password is empty.
func (d *Document) IsEncrypted() bool { return d.in.callInt(fnSecurityRevision, d.handle) >= 0 }

// FormType is 0 for no form, 1 for an AcroForm, 2 and 3 for XFA.
func (d *Document) FormType() int { return d.in.callInt(fnGetFormType, d.handle) }

// AttachmentCount is the number of embedded files in the name tree.
func (d *Document) AttachmentCount() int { return max(0, d.in.callInt(fnGetAttachmentCount, d.handle)) }

// JavaScriptCount is the number of document-level scripts.
func (d *Document) JavaScriptCount() int { return max(0, d.in.callInt(fnGetJavaScriptCount, d.handle)) }

// SignatureCount is the number of signature fields that are signed.
func (d *Document) SignatureCount() int { return max(0, d.in.callInt(fnGetSignatureCount, d.handle)) }

// XFAPacketCount is the number of XFA packets.
func (d *Document) XFAPacketCount() int { return max(0, d.in.callInt(fnGetXFAPacketCount, d.handle)) }

// SaveDecrypted writes a copy of the document without its encryption.
func (d *Document) SaveDecrypted(w io.Writer) error {
	const removeSecurity = 3 // FPDF_REMOVE_SECURITY; the flags are an enumeration, not bits
	writer := d.in.callFunction(fnFileWriteCreate) & math.MaxUint32
	if writer == 0 {
		return errors.New("no memory for the copy")
	}
	d.in.runtime.sink, d.in.runtime.sinkErr = w, nil
	defer func() { d.in.runtime.sink = nil }()
	ok := d.in.callBool(fnSaveAsCopy, d.handle, writer, removeSecurity)
	d.in.freeMemory(writer)
	if err := d.in.runtime.sinkErr; err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	if !ok {
		return errors.New("pdfium could not write the copy")
	}
	return nil
}

// Bookmark is an entry of the outline.
type Bookmark struct {
	Title string
	// Level counts from 1.
	Level int
	// Page counts from 1; 0 where the entry leads to no page of the document.
	Page int
}

// ReadOutline returns the outline in document order, cut at maxEntries and maxDepth. A loop in it ends it.
func (d *Document) ReadOutline(maxEntries, maxDepth int) []Bookmark {
	var out []Bookmark
	pages := d.PageCount()
	seen := map[uint64]bool{}
	var walk func(parent uint64, level int)
	walk = func(parent uint64, level int) {
		for b := d.in.callFunction(fnBookmarkFirstChild, d.handle,
			parent) & math.MaxUint32; b != 0; b = d.in.callFunction(fnBookmarkNextSibling, d.handle, b) & math.MaxUint32 {
			if seen[b] || len(out) >= maxEntries {
				return
			}
			seen[b] = true
			p, size := d.in.stringBuffer()
			title := d.in.readWideString(d.in.callFunction(fnBookmarkTitle, b, p, size) & math.MaxUint32)
			page := d.bookmarkPage(b)
			if page > pages {
				page = 0
			}
			out = append(out, Bookmark{Title: title, Level: level, Page: page})
			if level < maxDepth {
				walk(b, level+1)
			}
		}
	}
	walk(0, 1)
	return out
}

func (d *Document) bookmarkPage(b uint64) int {
	const goTo = 1
	dest := d.lookUpTarget(func() uint64 { return d.in.callFunction(fnBookmarkDest, d.handle, b) })
	if dest == 0 {
		action := d.in.callFunction(fnBookmarkAction, b) & math.MaxUint32
		if action == 0 || d.in.callInt(fnActionType, action) != goTo {
			return 0
		}
		if dest = d.lookUpTarget(func() uint64 { return d.in.callFunction(fnActionDest, d.handle, action) }); dest == 0 {
			return 0
		}
	}
	return max(0, d.in.callInt(fnDestPageIndex, d.handle, dest)+1)
}

// PageSize returns the size of page index (from 0) as displayed, without loading the page.
func (d *Document) PageSize(index int) (width, height float64, ok bool) {
	if !d.in.callBool(fnPageSizeByIndex, d.handle, uint64(index), d.in.scratch) {
		return 0, 0, false
	}
	var s [2]float64
	d.in.readFloats(s[:])
	return s[0], s[1], true
}
