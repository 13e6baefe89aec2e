package tesseract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/ocr/recognise"
)

const programName = "tesseract"

// Program is what a child runs. Its arguments are the folder of the models and the languages to load before the first
// page.
func Program() sandbox.Program {
	return sandbox.Program{Name: programName, Setup: setupChild}
}

// request is what goes with a raster's file.
type request struct {
	Languages  string  `json:"languages"`
	MayBeOther bool    `json:"mayBeOther,omitempty"`
	DPI        float32 `json:"dpi"`

	Deskew bool `json:"deskew,omitempty"`
	Rotate bool `json:"rotate,omitempty"`
}

// An answer begins with one byte: isPage before a page in protobuf, isFault before a code, a line feed and a message.
// It is no error of the handler, whose text would lose the code.
const (
	isPage  = 'P'
	isFault = 'F'
)

// largePixels is the size of a raster after which memory goes back to the system at once, so that a child does not
// stay as large as its largest page.
const largePixels = 16 << 20

func setupChild(_ context.Context, args []string) (sandbox.Handler, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("%d arguments, want the folder of the models and the languages", len(args))
	}
	tuneHeap()
	silenceLeptonica()
	m := &handleCache{datapath: args[0], first: args[1]}
	first, _ := m.addLatinModel(args[1])
	if _, err := m.handleFor(first); err != nil {
		return nil, err
	}
	return &pageHandler{handles: m}, nil
}

// pageHandler answers requests inside the sandbox.
type pageHandler struct{ handles *handleCache }

// Handle recognises the page whose raster is the request's file.
func (c *pageHandler) Handle(_ context.Context, req sandbox.Request) ([]byte, error) {
	answer, err := c.recognisePage(req)
	if err != nil {
		return fmt.Appendf([]byte{isFault}, "%s\n%s", fault.CodeOf(err), fault.UserMessageOf(err)), nil
	}
	return answer, nil
}

func (c *pageHandler) recognisePage(req sandbox.Request) ([]byte, error) {
	var r request
	if err := json.Unmarshal(req.Body, &r); err != nil {
		return nil, fault.New(fault.Internal, "damaged request")
	}
	if len(req.Files) != 1 {
		return nil, fault.New(fault.Internal, "%d files with a request, want 1", len(req.Files))
	}
	img, unmap, err := mapRaster(recognise.Image{File: req.Files[0], DPI: r.DPI})
	if err != nil {
		return nil, err
	}
	defer unmap()
	got, err := c.readPage(r, img)
	if err != nil {
		return nil, err
	}
	if len(img.pix) > largePixels {
		defer debug.FreeOSMemory()
	}
	defer trimHeap()
	return proto.MarshalOptions{}.MarshalAppend([]byte{isPage}, got.toPage(img, r.DPI))
}

// readPage reads a page in the languages of the request. Where those are but the usual ones, a page that is in others
// is read once more, in those, and lines that are surer in the usual ones stay: a page may be in two languages, and
// neither of them a usual one.
func (c *pageHandler) readPage(req request, img greyImage) (reading, error) {
	first, err := c.readPageIn(req.Languages, req, img)
	if err != nil || first.other == "" {
		return first, err
	}
	req.MayBeOther = false
	second, err := c.readPageIn(first.other, req, img)
	if err != nil {
		return reading{}, err
	}
	switch inLatin := !isNonLatin(first.other); {
	case !inLatin && second.legibilityScore() < minOtherScriptGain*first.legibilityScore(),
		inLatin && second.legibilityScore() < minOtherLatinGain*first.legibilityScore():
		return c.readPageIn(req.Languages, req, img)
	case inLatin && second.turn == first.turn:
		c.handles.dropForeignLines(&first, &second, req.Languages)
		return c.addFurtherLanguage(mergeReadings(second, first), req.Languages+"+"+first.other, req, img)
	default:
		return second, nil
	}
}

func (c *pageHandler) readPageIn(languages string, req request, img greyImage) (reading, error) {
	crashed := func(err error) error { return fault.New(fault.EngineCrashed, "%v", err) }
	r, err := newReader(img, req.DPI, options{deskew: req.Deskew, rotate: req.Rotate})
	if err != nil {
		return reading{}, crashed(err)
	}
	if languages == recognise.Auto {
		if languages, err = c.handles.detectLanguage(r); err != nil {
			return reading{}, crashed(err)
		}
	}
	at, again := c.handles.addLatinModel(languages)
	h, err := c.handles.handleFor(at)
	if err != nil {
		return reading{}, fault.New(fault.Internal, "%v", err)
	}
	if again != at {
		r.secondHandle = func() (*Handle, error) { return c.handles.handleFor(again) }
	}
	if at != languages {
		r.ownHandle = func() (*Handle, error) { return c.handles.handleFor(languages) }
	}
	if model := columnModel(c.handles.datapath, languages); model != "" {
		r.columnHandle = func() (*Handle, error) { return c.handles.handleFor(model) }
	}
	var missing bool
	if req.MayBeOther && req.Languages != recognise.Auto {
		r.findOther = func(got *reading) (other string, err error) {
			other, missing, err = c.handles.otherLanguages(r, got, languages)
			return other, err
		}
	}
	got, err := r.readPage(h)
	if err != nil {
		return reading{}, crashed(err)
	}
	got.language, got.missing = languages, missing
	return got, nil
}

// mapRaster maps a raster's file. If the file shrinks while it is mapped, the child dies of it, and only the child.
func mapRaster(img recognise.Image) (greyImage, func(), error) {
	size, err := img.CheckHeader()
	if err != nil {
		return greyImage{}, nil, err
	}
	all, err := syscall.Mmap(int(img.File.Fd()), 0, int(size.Offset)+size.Pixels(), syscall.PROT_READ,
		syscall.MAP_PRIVATE|syscall.MAP_POPULATE)
	if err != nil {
		return greyImage{}, nil, fmt.Errorf("map raster: %w", os.NewSyscallError("mmap", err))
	}
	unmap := func() { _ = syscall.Munmap(all) } // of what Mmap returned: it cannot fail
	return greyImage{pix: all[size.Offset:], width: size.Width, height: size.Height}, unmap, nil
}

// maxHandles bounds the combinations of languages that a child keeps warm: some 20 to 60 MiB each.
const maxHandles = 3

// handleCache keeps warm handles, the one used last at the end.
type handleCache struct {
	datapath string
	first    string // the languages that are loaded from the start
	cached   []cachedHandle

	dictionaries map[string]*dictionary // nil for languages that have none
}

type cachedHandle struct {
	languages string
	handle    *Handle
}

// handleFor returns the handle for the languages, and loads it if need be, in place of the one that was not used for
// longest.
func (m *handleCache) handleFor(languages string) (*Handle, error) {
	i := slices.IndexFunc(m.cached, func(l cachedHandle) bool { return l.languages == languages })
	if i >= 0 {
		found := m.cached[i]
		m.cached = append(slices.Delete(m.cached, i, i+1), found)
		return found.handle, nil
	}
	if languages == "" {
		return nil, errors.New("no language is named")
	}
	h, err := OpenHandle(m.datapath, languages)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(languages, columnSuffix) {
		h.JoinWords()
	}
	if len(m.cached) == maxHandles {
		m.cached[0].handle.Close()
		m.cached = slices.Delete(m.cached, 0, 1)
	}
	m.cached = append(m.cached, cachedHandle{languages, h})
	return h, nil
}
