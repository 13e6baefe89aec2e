package render

import (
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// maxChunkWords bounds the words of a chunk's pages together. This service and index hold a whole chunk in memory, at
// some 300 bytes a word, and a page may have 200,000 words of one letter each. A born-digital newspaper page has some
// 7,000; sixteen of those still fit.
const maxChunkWords = 128_000

// truncateWords leaves the first words of a page, at most that many, and returns how many there are then. A page that
// loses some says so.
func truncateWords(p *inkstreamv1.Page, most int) int {
	left := most
	for i, b := range p.GetBlocks() {
		for j, l := range b.GetLines() {
			if n := len(l.GetWords()); n <= left {
				left -= n
				continue
			}
			// Copied, so that the rest can go: this is about memory.
			l.Words = append([]*inkstreamv1.Word(nil), l.GetWords()[:left]...)
			b.Lines = append([]*inkstreamv1.Line(nil), b.GetLines()[:j+1]...)
			p.Blocks = append([]*inkstreamv1.Block(nil), p.GetBlocks()[:i+1]...)
			p.Notes = append(p.Notes, "text cut: the page and those around it have too many words")
			return most
		}
	}
	return most - left
}

// limitPageWords cuts a page's words, and returns the page and how many it has then. A page of native text that is
// left without any has failed: it must not pass for one that was read.
func limitPageWords(p *inkstreamv1.Page, most int) (*inkstreamv1.Page, int) {
	notes := len(p.GetNotes())
	kept := truncateWords(p, most)
	if cut := len(p.GetNotes()) > notes; cut && kept == 0 && p.GetOutcome() == outcome.Native {
		failed := outcome.NewFailedPage(int(p.GetNumber()), string(bus.Render),
			fault.New(fault.PageTooDense, "%s", fault.PageTooDense.DescribeCode()))
		failed.Width, failed.Height, failed.Rotation = p.GetWidth(), p.GetHeight(), p.GetRotation()
		return failed, 0
	}
	return p, kept
}
