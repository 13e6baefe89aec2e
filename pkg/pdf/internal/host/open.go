package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/structure"
	"inkstream.dev/pkg/pdf/internal/wire"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	maxOutlineEntries = 2000
	maxOutlineDepth   = 32
	// maxPageSizes bounds the page sizes that opening returns; each is a look into the page tree.
	maxPageSizes = 64
	// maxMetaRunes bounds the strings of the document's information.
	maxMetaRunes = 1000
)

func (h *Host) openDocument(f *os.File, password string, bare bool) (wire.Reply, proto.Message, error) {
	if err := h.ResetDocument(); err != nil {
		return wire.Reply{}, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return wire.Reply{}, nil, fmt.Errorf("open: %w", err)
	}
	if info.Size() == 0 {
		return wire.Reply{}, nil, fault.New(fault.EmptyFile, "the file has no bytes")
	}
	if h.file, err = duplicateFile(f); err != nil {
		return wire.Reply{}, nil, err
	}
	h.size = info.Size()
	if h.instance, err = h.runtime.NewInstance(); err != nil {
		return wire.Reply{}, nil, err
	}
	if h.doc, err = h.instance.OpenDocument(h.file, h.size, password); err != nil {
		h.doc = nil
		return wire.Reply{}, nil, errors.Join(classifyOpenError(err, h.file), h.ResetDocument())
	}
	h.locked = password != "" && h.doc.IsEncrypted()
	reply := wire.Reply{PageCount: h.doc.PageCount()}
	if reply.PageCount == 0 {
		return wire.Reply{}, nil, errors.Join(fault.New(fault.NoPages, "the document has no pages"), h.ResetDocument())
	}
	if f, err := structure.OpenStrict(h.file, h.size, password); err == nil {
		h.structure, h.pages = f, f.NewPageLookup(reply.PageCount)
		h.doc.SetLinkReader(adaptLinkReader(f.NewLinkReader(reply.PageCount)))
		h.unlabelled = !f.HasPlainLabels()
	}
	if bare {
		return reply, nil, nil
	}
	for i := range min(reply.PageCount, maxPageSizes) {
		width, height, ok := h.doc.PageSize(i)
		if !ok {
			break
		}
		if unit := h.pages.UserUnit(i); pdfium.IsPlausibleSize(unit*width, unit*height) {
			width, height = unit*width, unit*height
		}
		reply.PageSizes = append(reply.PageSizes, [2]float32{float32(width), float32(height)})
	}
	reply.Metadata = h.collectMetadata(reply.PageCount)
	return reply, readDocumentInfo(h.doc), nil
}

// classifyOpenError says why PDFium does not open a document.
func classifyOpenError(err error, f io.ReaderAt) error {
	reason, ok := errors.AsType[pdfium.LoadError](err)
	if !ok {
		return err
	}
	switch {
	case reason == pdfium.ErrPassword:
		return fault.New(fault.Encrypted, "the document needs a password")
	case reason == pdfium.ErrSecurity:
		return fault.New(fault.Encrypted, "the document is encrypted in a way that is not supported")
	case !looksLikePDF(f):
		return fault.New(fault.NotAPDF, "the file is not a PDF")
	default:
		return fault.New(fault.Damaged, "the document is damaged beyond repair")
	}
}

// looksLikePDF looks for the header where readers accept it, anywhere in the first 1024 bytes, and for the beginning
// of an object soon after: a header with nothing behind it is no document that was damaged.
func looksLikePDF(f io.ReaderAt) bool {
	head := make([]byte, 64<<10)
	n, _ := f.ReadAt(head, 0) // a shorter file is an end, not an error
	head = head[:n]
	at := bytes.Index(head[:min(n, 1024)], []byte("%PDF-"))
	return at >= 0 && bytes.Contains(head[at:], []byte(" obj"))
}

func readDocumentInfo(d *pdfium.Document) *inkstreamv1.DocumentInfo {
	info := &inkstreamv1.DocumentInfo{
		Encrypted:        d.IsEncrypted(),
		Tagged:           d.IsTagged(),
		Title:            cleanInfoString(d.InfoEntry("Title")),
		Author:           cleanInfoString(d.InfoEntry("Author")),
		Subject:          cleanInfoString(d.InfoEntry("Subject")),
		Keywords:         cleanInfoString(d.InfoEntry("Keywords")),
		Creator:          cleanInfoString(d.InfoEntry("Creator")),
		Producer:         cleanInfoString(d.InfoEntry("Producer")),
		CreationDate:     cleanInfoString(d.InfoEntry("CreationDate")),
		ModificationDate: cleanInfoString(d.InfoEntry("ModDate")),
	}
	if v := d.HeaderVersion(); v > 0 && v < 100 {
		info.PdfVersion = fmt.Sprintf("%d.%d", v/10, v%10)
	}
	for _, b := range d.ReadOutline(maxOutlineEntries, maxOutlineDepth) {
		info.Outline = append(info.Outline, &inkstreamv1.OutlineEntry{Title: cleanInfoString(b.Title), Level: int32(b.Level),
			Page: int32(b.Page)})
	}
	return info
}

// cleanInfoString makes a string of the document's information one line of valid, printable, bounded text.
func cleanInfoString(s string) string {
	var out strings.Builder
	runes := 0
	for _, r := range s {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if !unicode.IsPrint(r) {
			continue
		}
		if runes++; runes > maxMetaRunes {
			break
		}
		out.WriteRune(r)
	}
	return strings.TrimSpace(out.String())
}
