// Package host is the PDF engine's inside: it keeps one document open in PDFium and answers requests about it. It
// runs in a child process. A crash of PDFium leaves HandleRequest as a panic with a *pdfium.Trap, after which the
// process must end.
package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/picture"
	"inkstream.dev/pkg/pdf/internal/structure"
	"inkstream.dev/pkg/pdf/internal/wire"
)

// Host answers requests, one at a time.
type Host struct {
	runtime *pdfium.Runtime

	instance      *pdfium.Instance
	doc           *pdfium.Document
	file          *os.File
	size          int64
	locked        bool // a password was needed
	scratch       []byte
	used          int // bytes of scratch that the last raster took
	pendingUpdate *pageUpdate
	imageCache    imageCache // of the open document's images
	png           picture.Encoder
	early         bytes.Buffer // of the page in hand, see reading.early
	// structure is what the document's structure was read to, nil where it cannot be followed; pages are its pages.
	structure  *structure.File
	pages      *structure.PageLookup
	unlabelled bool  // PDFium is not to look for the pages' labels: it might not come back
	tags       *bool // the open document is tagged; nil until it was asked
}

// New warms the engine up, so that the first document does not pay for it.
func New(cfg pdfium.Config) (*Host, error) {
	runtime, err := pdfium.NewRuntime(cfg)
	if err != nil {
		return nil, err
	}
	first, err := runtime.NewInstance()
	if err != nil {
		return nil, err
	}
	first.Close()
	return &Host{runtime: runtime}, nil
}

// Request is one request: its body, the files and the shared memory that came with it.
type Request struct {
	Body    []byte
	Files   []*os.File
	Scratch *os.File
}

// HandleRequest answers one request. What is wrong with the document is in the answer; an error means that the
// request made no sense.
func (h *Host) HandleRequest(ctx context.Context, r Request) ([]byte, error) {
	req, err := wire.DecodeRequest(r.Body)
	if err != nil {
		return nil, err
	}
	if err := h.mapScratch(r.Scratch); err != nil {
		return nil, err
	}
	reply, message, err := h.dispatchRequest(ctx, req, r.Files)
	if e, ok := errors.AsType[*fault.Error](err); ok {
		reply, message, err = wire.Reply{Code: e.Code, Message: e.Message}, nil, nil
	}
	if err != nil {
		return nil, err
	}
	return wire.EncodeReply(reply, message)
}

func (h *Host) dispatchRequest(ctx context.Context, req wire.Request,
	files []*os.File) (wire.Reply, proto.Message, error) {
	switch req.Op {
	case wire.Open:
		if len(files) != 1 {
			return wire.Reply{}, nil, fmt.Errorf("open: %d files, want 1", len(files))
		}
		return h.openDocument(files[0], req.Password, req.Bare)
	case wire.Close:
		return wire.Reply{}, nil, h.ResetDocument()
	}
	if h.doc == nil {
		return wire.Reply{}, nil, fmt.Errorf("%s: no document is open", req.Op)
	}
	switch req.Op {
	case wire.Findings:
		return h.collectFindings(ctx)
	case wire.Page:
		return h.readPage(req)
	case wire.Draw:
		reply, err := h.drawPage(req)
		return reply, nil, err
	case wire.Attached:
		reply, err := h.copyAttachment(req.Page)
		return reply, nil, err
	case wire.UpdateBegin, wire.UpdatePages, wire.UpdateEnd:
		reply, err := h.handleUpdate(req)
		return reply, nil, err
	default:
		return wire.Reply{}, nil, fmt.Errorf("unknown operation %q", req.Op)
	}
}

// ResetDocument forgets the open document and all memory that it touched.
func (h *Host) ResetDocument() error {
	var errs []error
	if h.doc != nil {
		h.doc.Close()
		h.doc = nil
	}
	if h.instance != nil {
		h.instance.Close()
		h.instance = nil
	}
	if h.file != nil {
		errs = append(errs, h.file.Close())
		h.file = nil
	}
	h.pendingUpdate, h.imageCache, h.tags = nil, imageCache{}, nil
	h.early = bytes.Buffer{}
	h.structure, h.pages, h.unlabelled = nil, nil, false
	h.releaseScratch(0)
	return errors.Join(errs...)
}

// mapScratch maps the shared memory once; it is the same file with every request.
func (h *Host) mapScratch(f *os.File) error {
	if h.scratch != nil || f == nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("map scratch memory: %w", err)
	}
	h.scratch, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map scratch memory: %w", err)
	}
	return nil
}

// releaseScratch gives the shared memory's pages back if the last raster took more than keep bytes: one huge page
// must not keep its 100 MB for the life of the child.
func (h *Host) releaseScratch(keep int) {
	if h.used > keep {
		// Where the kernel refuses, the pages stay until the child is replaced.
		_ = unix.Madvise(h.scratch, unix.MADV_REMOVE)
		h.used = 0
	}
}

// duplicateFile duplicates a file that is closed when the request has been answered.
func duplicateFile(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("keep the document's file: %w", err)
	}
	return os.NewFile(uintptr(fd), "document"), nil
}
