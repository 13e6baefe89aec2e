package tesseract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"syscall"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/ocr/recognise"
)

const programName = "tesseract"

// Program is what a child runs. Its arguments are the folder of the models and the languages to load before the first page.
func Program() sandbox.Program {
	return sandbox.Program{Name: programName, Setup: setup}
}

// request is what goes with a raster's file.
type request struct {
	Languages string  `json:"languages"`
	DPI       float32 `json:"dpi"`

	KeepSkew     bool `json:"keepSkew,omitempty"`
	KeepRotation bool `json:"keepRotation,omitempty"`
}

// An answer begins with one byte: isPage before a page in protobuf, isFault before a code, a line feed and a message. It is no error of the
// handler, whose text would lose the code.
const (
	isPage  = 'P'
	isFault = 'F'
)

// largePixels is the size of a raster after which memory goes back to the system at once, lest a child stays as large as its largest page.
const largePixels = 16 << 20

func setup(_ context.Context, args []string) (sandbox.Handler, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("%d arguments, want the folder of the models and the languages", len(args))
	}
	tuneHeap()
	quiet()
	m := &models{datapath: args[0], first: args[1]}
	first, _ := m.withLatin(args[1])
	if _, err := m.handle(first); err != nil {
		return nil, err
	}
	return &child{models: m}, nil
}

// child answers requests inside the sandbox.
type child struct{ models *models }

// Handle recognises the page whose raster is the request's file.
func (c *child) Handle(_ context.Context, req sandbox.Request) ([]byte, error) {
	answer, err := c.recognise(req)
	if err != nil {
		return fmt.Appendf([]byte{isFault}, "%s\n%s", fault.CodeOf(err), fault.MessageOf(err)), nil
	}
	return answer, nil
}

func (c *child) recognise(req sandbox.Request) ([]byte, error) {
	var r request
	if err := json.Unmarshal(req.Body, &r); err != nil {
		return nil, fault.New(fault.Internal, "damaged request")
	}
	if len(req.Files) != 1 {
		return nil, fault.New(fault.Internal, "%d files with a request, want 1", len(req.Files))
	}
	img, unmap, err := mapImage(recognise.Image{File: req.Files[0], DPI: r.DPI})
	if err != nil {
		return nil, err
	}
	defer unmap()
	got, err := c.read(r, img)
	if err != nil {
		return nil, err
	}
	if len(img.pix) > largePixels {
		defer debug.FreeOSMemory()
		defer trimHeap()
	}
	return proto.MarshalOptions{}.MarshalAppend([]byte{isPage}, got.page(img, r.DPI))
}

func (c *child) read(req request, img grey) (reading, error) {
	crashed := func(err error) error { return fault.New(fault.EngineCrashed, "%v", err) }
	r, err := newReader(img, req.DPI, options{keepSkew: req.KeepSkew, keepRotation: req.KeepRotation})
	if err != nil {
		return reading{}, crashed(err)
	}
	languages := req.Languages
	if languages == recognise.Auto {
		if languages, err = c.models.choose(r); err != nil {
			return reading{}, crashed(err)
		}
	}
	at, again := c.models.withLatin(languages)
	h, err := c.models.handle(at)
	if err != nil {
		return reading{}, fault.New(fault.Internal, "%v", err)
	}
	if again != at {
		r.besides = func() (*Handle, error) { return c.models.handle(again) }
	}
	got, err := r.read(h)
	if err != nil {
		return reading{}, crashed(err)
	}
	got.language = languages
	return got, nil
}

// mapImage maps a raster's file. Should the file shrink meanwhile, the child dies of it, and only the child.
func mapImage(img recognise.Image) (grey, func(), error) {
	size, err := img.Check()
	if err != nil {
		return grey{}, nil, err
	}
	all, err := syscall.Mmap(int(img.File.Fd()), 0, int(size.Offset)+size.Pixels(), syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_POPULATE)
	if err != nil {
		return grey{}, nil, fmt.Errorf("map raster: %w", os.NewSyscallError("mmap", err))
	}
	unmap := func() { _ = syscall.Munmap(all) } // of what Mmap returned: it cannot fail
	return grey{pix: all[size.Offset:], width: size.Width, height: size.Height}, unmap, nil
}

// maxHandles bounds the combinations of languages that a child keeps warm: some 20 to 60 MiB each.
const maxHandles = 3

// models keeps warm handles, the one used last at the end.
type models struct {
	datapath string
	first    string // the languages that are loaded from the start
	warm     []loaded
}

type loaded struct {
	languages string
	handle    *Handle
}

// handle returns the handle for the languages, and loads it if need be, in place of the one that was not used for longest.
func (m *models) handle(languages string) (*Handle, error) {
	i := slices.IndexFunc(m.warm, func(l loaded) bool { return l.languages == languages })
	if i >= 0 {
		found := m.warm[i]
		m.warm = append(slices.Delete(m.warm, i, i+1), found)
		return found.handle, nil
	}
	if languages == "" {
		return nil, errors.New("no language is named")
	}
	h, err := Open(m.datapath, languages)
	if err != nil {
		return nil, err
	}
	if len(m.warm) == maxHandles {
		m.warm[0].handle.Close()
		m.warm = slices.Delete(m.warm, 0, 1)
	}
	m.warm = append(m.warm, loaded{languages, h})
	return h, nil
}
