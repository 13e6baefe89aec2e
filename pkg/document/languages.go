package document

import (
	"inkstream.dev/pkg/document/language"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// DetectLanguages sets the language of each block of a page, where there is telling, and of the page where it has
// none yet. A short block is taken to be in the page's language.
func DetectLanguages(p *inkstreamv1.Page) {
	var all, own language.Detector
	const fewWords = 12
	for _, b := range p.GetBlocks() {
		own.Reset()
		n := 0
		for _, line := range b.GetLines() {
			for _, w := range line.GetWords() {
				own.AddWord(w.GetText())
				n++
			}
		}
		all.MergeFrom(&own)
		b.Language = ""
		if n >= fewWords || own.IsCertain() {
			b.Language = own.Language()
		}
	}
	if p.GetLanguage() == "" {
		p.Language = all.Language()
	}
	for _, b := range p.GetBlocks() {
		if b.GetLanguage() == "" && len(b.GetLines()) > 0 {
			b.Language = p.GetLanguage()
		}
	}
}
