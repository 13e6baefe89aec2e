package host

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/structure"
	"inkstream.dev/pkg/pdf/internal/textlayer"
	"inkstream.dev/pkg/pdf/internal/wire"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// pageUpdate is an incremental update of the open document as it is being written.
type pageUpdate struct {
	*structure.Update
	pages  int
	boxes  bool
	legend textlayer.Legend
	font   *textlayer.Font // nil before the first page with words
	drawn  bool            // there is a page with something on it
}

func (h *Host) handleUpdate(req wire.Request) (wire.Reply, error) {
	if req.Op == wire.UpdateBegin {
		return wire.Reply{}, structureFault(h.beginPageUpdate(req), 0)
	}
	u := h.pendingUpdate
	if u == nil {
		return wire.Reply{}, fmt.Errorf("%s: no update is being written", req.Op)
	}
	if req.Op == wire.UpdatePages {
		if err := h.addUpdatePages(u, req.Body); err != nil {
			return wire.Reply{}, err
		}
		return wire.Reply{Body: u.TakeOutput()}, nil
	}
	h.pendingUpdate = nil
	removed, err := u.RemoveActiveContent()
	if err != nil {
		return wire.Reply{}, structureFault(err, 0)
	}
	if !u.drawn && removed == 0 {
		return wire.Reply{}, nil // the original as it is
	}
	if u.font != nil {
		if err := u.font.Write(u.Update); err != nil {
			return wire.Reply{}, err
		}
	}
	if err := u.Finish(); err != nil {
		return wire.Reply{}, structureFault(err, 0)
	}
	return wire.Reply{Body: u.TakeOutput()}, nil
}

// structureFault turns what the structure's reader says into the document's fault.
func structureFault(err error, page int) error {
	var out *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, structure.ErrPassword):
		out = fault.New(fault.Encrypted, "the document's encryption does not allow an addition")
	case errors.Is(err, structure.ErrDamaged), errors.Is(err, structure.ErrFilter):
		out = fault.New(fault.Damaged, "the document is too damaged for an addition")
	default:
		return err
	}
	out.Page = page
	return out
}

func (h *Host) beginPageUpdate(req wire.Request) error {
	h.pendingUpdate = nil
	f, err := structure.Open(h.file, h.size, req.Password)
	if err != nil {
		return err
	}
	tree, err := f.ReadPageTree(h.doc.PageCount())
	if err != nil {
		return err
	}
	if len(tree.Pages) != h.doc.PageCount() {
		return structure.ErrDamaged // what is page 7 here is another one for the engine
	}
	u := &pageUpdate{Update: f.BeginUpdate(tree), pages: len(tree.Pages), boxes: req.Boxes}
	if u.boxes {
		u.legend = textlayer.NewLegend(u.Update)
	}
	h.pendingUpdate = u
	return nil
}

func (h *Host) addUpdatePages(u *pageUpdate, body []byte) error {
	var batch inkstreamv1.PageBatch
	if err := proto.Unmarshal(body, &batch); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	for _, p := range batch.GetPages() {
		n := int(p.GetNumber())
		if n < 1 || n > u.pages {
			return fault.New(fault.PageNotFound, "the document has %d pages", u.pages)
		}
		if err := h.addUpdatePage(u, n, p); err != nil {
			return structureFault(err, n)
		}
	}
	return nil
}

func (h *Host) addUpdatePage(u *pageUpdate, n int, p *inkstreamv1.Page) error {
	page, fresh, err := u.BeginPage(n - 1)
	if err != nil || !fresh {
		return err
	}
	var added bool
	if u.boxes {
		added, err = textlayer.AddBoxes(u.Update, page, u.legend, p)
	} else {
		if u.font == nil {
			u.font = textlayer.NewFont(u.Update)
		}
		added, err = textlayer.AddText(page, u.font, p, h.pageOwnText(n))
	}
	if err != nil || !added {
		return err
	}
	page.Write()
	u.drawn = true
	return nil
}

// maxTexts bounds the texts of a page that a text layer has regard for.
const maxTexts = 10_000

// pageOwnText returns text of the page's own. A page that cannot be loaded again shows none.
func (h *Host) pageOwnText(n int) []textlayer.OwnText {
	p, err := h.loadPage(n, false)
	if err != nil {
		return nil
	}
	defer p.Close()
	s := pageReader{page: p}
	var out []textlayer.OwnText
	for _, text := range p.ReadObjects(pdfium.ObjectLimits{Objects: defaultObjects, Depth: maxFormDepth,
		Texts: maxTexts}).TextPlaces {
		if box, ok := s.displayBox(text.Rect); ok {
			out = append(out, textlayer.OwnText{Box: box, Size: text.Size * p.Unit})
		}
	}
	return out
}
