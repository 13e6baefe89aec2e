package pdf

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/pdf/internal/textlayer"
	"inkstream.dev/pkg/pdf/internal/wire"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// batchPages and batchWords bound the pages that go to the child at a time.
	batchPages = 64
	batchWords = 20_000
)

// WriteTextLayer writes the source with an invisible text layer on the given pages, those with recognised words:
// words that have a confidence. Every byte of the original comes first, untouched, and behind them an incremental
// update. A page keeps its own content; the words lie before it, each edge within two points of its box's, and apart
// from text of the page's own. Pages may come in any order; what is kept of each is a few numbers, so a document of
// any length takes no more memory than its cross references. Scripts and actions that lead out of the document go (see
// structure.RemoveActiveContent): what is written is for others to open. Without any of these and without a recognised
// word the source is copied as it is.
//
// Errors are those of OpenDocument, and DAMAGED, with the page where there is one, for a document that PDFium reads
// only by guessing at its structure, ENCRYPTED for a cipher that cannot be written. What w has been given by then is
// of no use. An error of pages is in the chain.
//
// A signature in the document covers the original alone afterwards: ask Info().Metadata.Signatures before.
func (e *Engine) WriteTextLayer(ctx context.Context, source *os.File, password string,
	pages iter.Seq2[*inkstreamv1.Page, error], w io.Writer) error {
	return e.writeAdditions(ctx, source, password, addition{pages: pages, keep: keepRecognisedWords}, w)
}

// WriteOverlay writes the source with the blocks of the given pages drawn over them: boxes in a colour by type, with
// the type and the number in reading order. It is for people to look at. What WriteTextLayer says of the original, of
// memory and of errors holds here too.
func (e *Engine) WriteOverlay(ctx context.Context, source *os.File, password string,
	pages iter.Seq2[*inkstreamv1.Page, error], w io.Writer) error {
	return e.writeAdditions(ctx, source, password, addition{pages: pages, keep: keepBlockBoxes, boxes: true}, w)
}

// addition is what is to be added to a document.
type addition struct {
	pages iter.Seq2[*inkstreamv1.Page, error]
	// keep returns what the child needs of a page, nil for nothing, and about how many words or boxes that are.
	keep  func(*inkstreamv1.Page) (*inkstreamv1.Page, int)
	boxes bool
}

func (e *Engine) writeAdditions(ctx context.Context, source *os.File, password string, x addition, w io.Writer) error {
	info, err := source.Stat()
	if err != nil {
		return fmt.Errorf("read the source: %w", err)
	}
	d, err := e.OpenPages(ctx, source, password)
	if err != nil {
		return err
	}
	defer d.Close()
	begin := wire.Request{Op: wire.UpdateBegin, Password: password, Boxes: x.boxes}
	if _, err := d.callWithReopen(ctx, begin, e.cfg.OpenTimeout, nil); err != nil {
		return err
	}
	if _, err := io.Copy(w, io.NewSectionReader(source, 0, info.Size())); err != nil {
		return fmt.Errorf("copy the source: %w", err)
	}
	u := updateSender{ctx: ctx, d: d, w: w}
	for page, err := range x.pages {
		if err != nil {
			return fmt.Errorf("read pages for an addition: %w", err)
		}
		kept, n := x.keep(page)
		if kept == nil {
			continue
		}
		u.batch.Pages = append(u.batch.Pages, kept)
		if u.weight += n; len(u.batch.GetPages()) >= batchPages || u.weight >= batchWords {
			if err := u.sendBatch(); err != nil {
				return err
			}
		}
	}
	if err := u.sendBatch(); err != nil {
		return err
	}
	return u.sendAndCopy(wire.Request{Op: wire.UpdateEnd}, e.cfg.OpenTimeout)
}

// updateSender sends pages to the child and what comes back to the writer.
type updateSender struct {
	ctx    context.Context //nolint:containedctx // of the one call that it is made for
	d      *Document
	w      io.Writer
	batch  inkstreamv1.PageBatch
	weight int
}

func (u *updateSender) sendBatch() error {
	if len(u.batch.GetPages()) == 0 {
		return nil
	}
	body, err := proto.Marshal(&u.batch)
	if err != nil {
		return fmt.Errorf("encode pages: %w", err)
	}
	// Each page is loaded again, for the text of its own.
	limit := u.d.engine.cfg.OpenTimeout + time.Duration(len(u.batch.GetPages()))*u.d.engine.cfg.PageTimeout
	u.batch.Pages, u.weight = nil, 0
	return u.sendAndCopy(wire.Request{Op: wire.UpdatePages, Body: body}, limit)
}

func (u *updateSender) sendAndCopy(req wire.Request, limit time.Duration) error {
	if err := u.ctx.Err(); err != nil {
		return fmt.Errorf("write an addition: %w", err)
	}
	reply, err := u.d.callWithReopen(u.ctx, req, limit, nil)
	if err != nil {
		return err
	}
	if _, err := u.w.Write(reply.Body); err != nil {
		return fmt.Errorf("write an addition: %w", err)
	}
	return nil
}

// keepRecognisedWords keeps the words that were recognised.
func keepRecognisedWords(p *inkstreamv1.Page) (*inkstreamv1.Page, int) {
	block, n := &inkstreamv1.Block{}, 0
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			line := &inkstreamv1.Line{Bbox: l.GetBbox(), Angle: l.GetAngle()}
			for _, w := range l.GetWords() {
				if w != nil && textlayer.IsRecognised(w) {
					line.Words = append(line.Words, &inkstreamv1.Word{Text: w.GetText(), Bbox: w.GetBbox(), Confidence: w.Confidence})
				}
			}
			if len(line.GetWords()) > 0 {
				block.Lines = append(block.Lines, line)
				n += len(line.GetWords())
			}
		}
	}
	if n == 0 {
		return nil, 0
	}
	return &inkstreamv1.Page{
		Number: p.GetNumber(), Width: p.GetWidth(), Height: p.GetHeight(), Blocks: []*inkstreamv1.Block{block},
	}, n
}

// keepBlockBoxes keeps the boxes of blocks and cells.
func keepBlockBoxes(p *inkstreamv1.Page) (*inkstreamv1.Page, int) {
	out := &inkstreamv1.Page{Number: p.GetNumber(), Width: p.GetWidth(), Height: p.GetHeight()}
	n := 0
	for _, b := range p.GetBlocks() {
		kept := &inkstreamv1.Block{Type: b.GetType(), Bbox: b.GetBbox(), Level: b.GetLevel()}
		if t := b.GetTable(); t != nil {
			kept.Table = &inkstreamv1.Table{Rows: t.GetRows(), Columns: t.GetColumns()}
			for _, c := range t.GetCells() {
				kept.Table.Cells = append(kept.Table.Cells, &inkstreamv1.Cell{Bbox: c.GetBbox()})
			}
			n += len(t.GetCells())
		}
		out.Blocks = append(out.Blocks, kept)
		n++
	}
	if n == 0 {
		return nil, 0
	}
	return out, n
}
