package render

import (
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// maxChunkWords bounds the words of a chunk's pages together. This service and index hold a whole chunk in memory, at some 300 bytes a word,
// and a page may have 200,000 words of one letter each. A newspaper page has 15,000; sixteen of those still fit.
const maxChunkWords = 256_000

// cutWords leaves the first words of a page, at most that many, and returns how many there are then. A page that loses some says so.
func cutWords(p *inkstreamv1.Page, most int) int {
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
