package pdf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf/internal/triage"
	"inkstream.dev/pkg/pdf/internal/wire"
	"inkstream.dev/pkg/sandbox"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Triage is what a page is.
type Triage = triage.Kind

// The kinds of pages. All but Native and Blank ones come with a raster.
const (
	Native  = triage.Native  // sound text of its own
	Scanned = triage.Scanned // an image, or drawn outlines, of text
	Mixed   = triage.Mixed   // sound text, and images that hold more
	Blank   = triage.Blank   // nothing to see
	Garbled = triage.Garbled // text that does not say which characters it stands for
	Layered = triage.Layered // a picture of text with a text layer; LayeredMixed where the page shows more

	LayeredMixed = triage.LayeredMixed
)

// Info is what opening a document tells.
type Info struct {
	PageCount int
	// PageSizes holds the sizes of the first 64 pages at most, in points as displayed.
	PageSizes []Size
	Document  *inkstreamv1.DocumentInfo
	// Metadata is what else the document says of itself; nil after OpenPages.
	Metadata *Metadata
}

// Metadata is what a document says of itself besides its pages, in the shape that metadata.json has.
type Metadata = wire.Metadata

// AttachmentInfo describes a file that is embedded in the document.
type AttachmentInfo = wire.Attachment

// Permissions are what an encrypted document allows.
type Permissions = wire.Permissions

// Signature is a digital signature as the document states it.
type Signature = wire.Signature

// OCRMode says which pages are recognised.
type OCRMode string

// The modes. Their values are those of the option of a job.
const (
	// Auto has pages recognised that have no sound text of their own; so does the empty mode.
	Auto OCRMode = "auto"
	// Force has every page recognised that is not blank; its native text is dropped.
	Force OCRMode = wire.Force
	// Skip has none recognised: pages keep the text that they have, and those without any end skipped(ocr_skipped).
	Skip OCRMode = wire.Skip
	// Redo is Auto, but text that is not painted, or lies under an image of the page, counts as none, on pages with
	// images: it is the text layer of an earlier recognition.
	Redo OCRMode = wire.Redo
)

// Size is a width and a height in points.
type Size struct{ Width, Height float32 }

// Finding is something that was noticed about the document, by the kinds that Finding in job.proto lists.
type Finding struct {
	Kind   string
	Count  int
	Detail string
}

// PageOptions say what to read of a page.
type PageOptions struct {
	// NoRaster reads the text alone: no raster whatever the page is.
	NoRaster bool
	// AlwaysRaster draws the page whatever it is.
	AlwaysRaster bool
	// OCR says whether the page is to be recognised.
	OCR OCRMode
	// Images asks for the page's images and drawings as files: PageResult.Images.
	Images bool
	// Plain leaves out links, annotations, tags and the page's label, each of which may be what a page cannot be read for.
	Plain bool
	// Timeout bounds the page where it is shorter than the engine's own limit; 0 means that limit alone.
	Timeout time.Duration
}

// PageResult is a page as it was read.
type PageResult struct {
	// Page holds the native words in provisional blocks, in the order of the document, and images, rulings and fonts.
	// Its Text is not set: reading order is the layout's business. Its Outcome is set for native and blank pages.
	// Garbled and Scanned pages have no words, for recognition replaces what text there was; Mixed and layered pages keep
	// theirs.
	Page   *inkstreamv1.Page
	Triage Triage
	// Raster is nil if no recognition is wanted.
	Raster *Raster
	// Images are the files of the page's images that could be kept, in the order of Page.Images. Stencil masks are none.
	Images []ImageFile
}

// ImageFile is an image of a page as a file. Like the raster's, its bytes are valid until the next call on the
// Document, or its Close.
type ImageFile struct {
	// Index is that of the image in Page.Images.
	Index int
	// Ext is the file name's extension: jpg, jp2 and j2k for images that are in the document as such and are left as
	// they are, else png.
	Ext string
	// Size is in bytes.
	Size int64

	offset  int64
	scratch *os.File
}

// NewReader returns a reader of the image's bytes.
func (f ImageFile) NewReader() *io.SectionReader {
	return io.NewSectionReader(f.scratch, f.offset, f.Size)
}

// Raster is the grey image of a page, upright as displayed. Its pixels lie in memory shared with the child and are
// valid until the next call on the Document, or its Close.
type Raster struct {
	Width, Height int
	// DPI is the resolution: a point of the page is DPI/72 pixels.
	DPI float32
	// XHeight is the height of small letters that was measured on the page, in pixels before it was shrunk; 0 if there
	// was no telling.
	XHeight float32

	scratch *os.File
}

// WriteTo writes the raster as a binary PGM (P5). It implements [io.WriterTo].
func (r *Raster) WriteTo(w io.Writer) (int64, error) {
	buffered := bufio.NewWriterSize(w, 256<<10)
	head, err := fmt.Fprintf(buffered, "P5\n%d %d\n255\n", r.Width, r.Height)
	if err != nil {
		return 0, fmt.Errorf("write raster: %w", err)
	}
	n, err := io.Copy(buffered, io.NewSectionReader(r.scratch, 0, int64(r.Width)*int64(r.Height)))
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return int64(head) + n, fmt.Errorf("write raster: %w", err)
	}
	return int64(head) + n, nil
}

// Document is an open document, which has a child to itself until it is closed. It is safe for concurrent use, one
// call at a time.
type Document struct {
	engine    *Engine
	file      *os.File
	password  string
	pagesOnly bool // opened without facts
	id        fileID
	pages     int // read in this opening; guarded by mu

	info Info // set once, by OpenDocument

	mu     sync.Mutex     // guards what follows, and makes calls wait for each other
	child  *sandbox.Child // nil after the child died, until the next call
	opened bool           // before, so that info is set
	closed bool
}

// Info returns what opening told.
func (d *Document) Info() Info { return d.info }

// CollectFindings looks for what a policy may want to know of: scripts, actions, attachments, forms, signatures,
// decompression bombs. Its errors are those of Page, without a page.
func (d *Document) CollectFindings(ctx context.Context) ([]Finding, error) {
	reply, err := d.callWithReopen(ctx, wire.Request{Op: wire.Findings}, d.engine.cfg.OpenTimeout, nil)
	if err != nil {
		return nil, err
	}
	out := make([]Finding, len(reply.Findings))
	for i, f := range reply.Findings {
		out[i] = Finding(f)
	}
	return out, nil
}

// ReadPage reads page n, from 1.
//
// Errors are *fault.Error with the page set: PAGE_NOT_FOUND, PAGE_DAMAGED, PAGE_GEOMETRY for what is wrong with the
// page, PAGE_TIMEOUT, ENGINE_CRASHED, ENGINE_MEMORY if the child died over it; the Document can still be used. If ctx
// ends, its error is in the chain.
func (d *Document) ReadPage(ctx context.Context, n int, opts PageOptions) (*PageResult, error) {
	page := &inkstreamv1.Page{}
	timeout := d.engine.cfg.PageTimeout
	if opts.Timeout > 0 {
		timeout = min(timeout, opts.Timeout)
	}
	reply, err := d.callWithReopen(ctx, wire.Request{
		Op: wire.Page, Page: n, Plain: opts.Plain, NoRaster: opts.NoRaster ||
			opts.OCR == Skip, AlwaysRaster: opts.AlwaysRaster, Mode: string(opts.OCR),
		Images: opts.Images, ImageBytes: d.engine.cfg.MaxImageBytes,
		MaxObjects: d.engine.cfg.MaxPageObjects, MaxPixels: d.engine.cfg.MaxRasterPixels,
	}, timeout, page)
	if err != nil {
		return nil, err
	}
	result := &PageResult{Page: page, Triage: reply.Kind}
	if reply.Raster == nil && len(reply.Images) == 0 {
		return result, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.child == nil {
		return nil, fault.New(fault.Internal, "the document was closed while a page was read")
	}
	if !result.setSharedData(reply, d.child.ScratchFile(), d.engine.cfg) {
		return nil, fault.New(fault.EngineCrashed, "the engine answered nonsense")
	}
	return result, nil
}

// setSharedData takes over what a reply says of the memory that is shared with the child, and reports whether it
// makes sense.
func (r *PageResult) setSharedData(reply wire.Reply, scratch *os.File, cfg Config) bool {
	size := int64(cfg.MaxRasterPixels)
	if m := reply.Raster; m != nil {
		if m.Width <= 0 || m.Height <= 0 || int64(m.Width) > size/int64(m.Height) {
			return false
		}
		r.Raster = &Raster{Width: m.Width, Height: m.Height, DPI: float32(m.DPI), XHeight: float32(m.XHeight),
			scratch: scratch}
	}
	last := -1
	for _, m := range reply.Images {
		if m.Offset < 0 || m.Size <= 0 || m.Size > size || m.Offset > size-m.Size || m.Index <= last ||
			m.Index >= len(r.Page.GetImages()) ||
			!slices.Contains([]string{"jpg", "jp2", "j2k", "png"}, m.Ext) {
			return false
		}
		last = m.Index
		r.Images = append(r.Images, ImageFile{Index: m.Index, Ext: m.Ext, Size: m.Size, offset: m.Offset, scratch: scratch})
	}
	return true
}

// WriteAttachment writes attachment n, from 1 in the order of Info().Metadata.Attachments. Errors are those of
// CollectFindings, and ARTIFACT_NOT_FOUND, DAMAGED, and ENGINE_MEMORY for one that is too large.
func (d *Document) WriteAttachment(ctx context.Context, n int, w io.Writer) error {
	reply, err := d.callWithReopen(ctx, wire.Request{Op: wire.Attached, Page: n}, d.engine.cfg.OpenTimeout, nil)
	if e, ok := errors.AsType[*fault.Error](err); ok {
		e.Page = 0 // it is none of a page
	}
	if err != nil {
		return err
	}
	return d.copySharedMemory(reply, w)
}

// DrawPage writes page n, from 1, as it is displayed: a PNG in colour, of so many dots per inch, 18 to 300, or fewer
// where the page is too large for that. Errors are those of Page.
func (d *Document) DrawPage(ctx context.Context, n int, dpi float64, w io.Writer) error {
	reply, err := d.callWithReopen(ctx, wire.Request{Op: wire.Draw, Page: n, DPI: dpi}, d.engine.cfg.PageTimeout, nil)
	if err != nil {
		return err
	}
	return d.copySharedMemory(reply, w)
}

// copySharedMemory writes what a reply says is in the memory that is shared with the child.
func (d *Document) copySharedMemory(reply wire.Reply, w io.Writer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.child == nil {
		return fault.New(fault.Internal, "the document was closed while it was read")
	}
	if reply.Bytes < 0 || reply.Bytes > int64(d.engine.cfg.MaxRasterPixels) {
		return fault.New(fault.EngineCrashed, "the engine answered nonsense")
	}
	if _, err := io.Copy(w, io.NewSectionReader(d.child.ScratchFile(), 0, reply.Bytes)); err != nil {
		return fmt.Errorf("copy out of the engine: %w", err)
	}
	return nil
}

// Close gives the child back. The file stays open.
func (d *Document) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.closed = true
	child := d.child
	d.child = nil
	switch {
	case child == nil:
		d.engine.documentCache.countReleased()
	case d.id == fileID{}, child.HasLowPriority():
		d.engine.documentCache.countReleased()
		closeAndRelease(child)
	case !d.engine.documentCache.addEntry(&cacheEntry{id: d.id, child: child, pagesRead: d.pages,
		pageCount: d.info.PageCount}):
		closeAndRelease(child)
	}
}

// closeAndRelease makes a child close its document, and gives it back to the pool.
func closeAndRelease(child *sandbox.Child) {
	// The child forgets the document now, not when the next one comes: its memory is worth having. If that fails,
	// releasing a dead child replaces it, and a living one forgets at its next document.
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if body, err := wire.EncodeRequest(wire.Request{Op: wire.Close}); err == nil {
		_, _ = child.Call(ctx, closeTimeout, body)
	}
	child.Release()
}

const closeTimeout = 10 * time.Second

// callWithReopen sends one request about the open document, after opening it again if its child died.
func (d *Document) callWithReopen(ctx context.Context, req wire.Request, timeout time.Duration,
	message proto.Message) (wire.Reply, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return wire.Reply{}, fault.New(fault.Internal, "the document is closed")
	}
	if d.child == nil {
		if err := d.reopenFile(ctx, req.Page); err != nil {
			return wire.Reply{}, err
		}
	}
	if req.Op == wire.Page {
		d.pages++
	}
	return d.sendRequest(ctx, req, timeout, message)
}

// reopenFile leases a child and opens the file in it. The caller holds d.mu, or is alone with d. page is the page
// that it is done for.
func (d *Document) reopenFile(ctx context.Context, page int) error {
	child, err := d.engine.pool.LeaseChild(ctx)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, sandbox.ErrClosed) {
			return fmt.Errorf("wait for a pdf child: %w", err)
		}
		// It has seen nothing of the document, which is not to blame.
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("start a pdf child: %w", err))
	}
	d.child, d.pages = child, 0
	info := &inkstreamv1.DocumentInfo{}
	reply, err := d.sendRequest(ctx, wire.Request{Op: wire.Open, Password: d.password, Page: page, Bare: d.pagesOnly ||
		d.opened}, d.engine.cfg.OpenTimeout, info, d.file)
	if err != nil {
		if d.child != nil {
			d.child.Release()
			d.child = nil
		}
		return err
	}
	if d.opened {
		return nil // opened again; what was told before stands
	}
	d.opened = true
	d.info = Info{PageCount: reply.PageCount, Document: info, Metadata: reply.Metadata}
	for _, s := range reply.PageSizes {
		d.info.PageSizes = append(d.info.PageSizes, Size{Width: s[0], Height: s[1]})
	}
	return nil
}

// sendRequest asks the child. If the child died, it is given up.
func (d *Document) sendRequest(ctx context.Context, req wire.Request, timeout time.Duration, message proto.Message,
	files ...*os.File) (wire.Reply, error) {
	doing := req.Op + " request"
	body, err := wire.EncodeRequest(req)
	if err != nil {
		return wire.Reply{}, err
	}
	answer, err := d.child.Call(ctx, d.engine.cfg.limitCall(ctx, timeout), body, files...)
	if err != nil {
		if _, dead := errors.AsType[*sandbox.ExitError](err); dead {
			d.child.Release()
			d.child = nil
		}
		return wire.Reply{}, classifyCallError(ctx, err, req.Page, doing)
	}
	reply, err := wire.DecodeReply(answer, message)
	if err != nil {
		return wire.Reply{}, &fault.Error{Kind: fault.EngineCrash, Code: fault.EngineCrashed, Page: req.Page,
			Message: "the engine answered nonsense", Err: err}
	}
	if reply.Code != "" {
		e := fault.New(reply.Code, "%s", reply.Message)
		e.Page = req.Page
		return wire.Reply{}, e
	}
	return reply, nil
}
