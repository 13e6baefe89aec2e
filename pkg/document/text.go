package document

import (
	"io"
	"slices"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TextWriter writes a document as plain text: the pages in their order, with form feeds between, so that page n is
// the n-th. Where a paragraph goes on over a page break, running heads, feet and page numbers do not stand within it:
// those below its beginning come before it, those above its end behind it.
type TextWriter struct {
	w     io.Writer
	wrote bool
	open  bool // the last paragraph goes on
}

// NewTextWriter returns a writer of text to w. Call WritePage for each page in order.
func NewTextWriter(w io.Writer) *TextWriter { return &TextWriter{w: w} }

// WritePage writes a page to which the plan has been applied.
func (t *TextWriter) WritePage(p *inkstreamv1.Page) error {
	text := p.GetText()
	blocks, moved := p.GetBlocks(), false
	first := slices.IndexFunc(blocks, isBodyText)
	last := len(blocks) - 1
	for last >= 0 && !isBodyText(blocks[last]) {
		last--
	}
	goesOn := last >= 0 && blocks[last].GetContinued()
	if last > first {
		if goesOn {
			blocks, moved = moveBefore(blocks, last)
		}
		if t.open {
			var behind bool
			blocks, behind = moveBehind(blocks, first)
			moved = moved || behind
		}
	}
	if moved {
		text = layout.PageText(&inkstreamv1.Page{Blocks: blocks})
	}
	if t.wrote {
		text = "\f" + text
	}
	t.wrote, t.open = true, goesOn
	_, err := io.WriteString(t.w, text)
	return err
}

// isBodyText reports whether a block is what a paragraph that goes on may be, and no running line.
func isBodyText(b *inkstreamv1.Block) bool { return !isRunningLine(b) && len(b.GetLines()) > 0 }

func isRunningLine(b *inkstreamv1.Block) bool {
	switch b.GetType() {
	case layout.Header, layout.Footer, layout.PageNumber:
		return true
	}
	return false
}

// moveBefore returns blocks with the running lines behind block k, of which none is body text, before it.
func moveBefore(blocks []*inkstreamv1.Block, k int) ([]*inkstreamv1.Block, bool) {
	if k+1 == len(blocks) {
		return blocks, false
	}
	return slices.Concat(blocks[:k], blocks[k+1:], blocks[k:k+1]), true
}

// moveBehind returns blocks with those before block k, of which none is body text, behind it.
func moveBehind(blocks []*inkstreamv1.Block, k int) ([]*inkstreamv1.Block, bool) {
	if k <= 0 {
		return blocks, false
	}
	return slices.Concat(blocks[k:k+1], blocks[:k], blocks[k+1:]), true
}
