package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// wordPiece is one of the words that a paragraph counts for.
type wordPiece struct {
	part, line, word int // indices
	start, end       int // in the word's text
	after            breakKind
}

// breakKind says how well a passage may end behind a piece, the worst first.
type breakKind int

const (
	noBreak       breakKind = iota
	insideBreak             // in a run without blanks
	wordBreak               // at a blank
	lineBreak               // at the end of a line
	clauseBreak             // behind a comma
	sentenceBreak           // at the end of a sentence
)

// appendPieces takes a block apart, the part of a paragraph of that index.
func appendPieces(out []wordPiece, part int, b *inkstreamv1.Block) []wordPiece {
	code := b.GetType() == layout.Code
	for i, line := range b.GetLines() {
		words := line.GetWords()
		for j, w := range words {
			text, start := w.GetText(), 0
			if r, _ := utf8.DecodeRuneInString(text); unicode.IsLower(r) && len(out) > 0 &&
				out[len(out)-1].after == sentenceBreak {
				out[len(out)-1].after = wordBreak // an abbreviation
			}
			for end := range wordEnds(text) {
				p := wordPiece{part: part, line: i, word: j, start: start, end: end, after: insideBreak}
				if end == len(text) {
					p.after = wordBreak
					if j == len(words)-1 {
						p.after = lineBreak
					}
				}
				switch {
				case p.after == lineBreak && endsWithHyphen(text): // it may go on in the next
					p.after = insideBreak
				case !code:
					p.after = max(p.after, punctuationBreak(text[start:end], end == len(text)))
				}
				out = append(out, p)
				start = end
			}
		}
	}
	return out
}

// endsWithHyphen reports whether a word ends with a hyphen.
func endsWithHyphen(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r == '-' || r == 0x2010 || r == 0xad
}

// punctuationBreak tells by its punctuation whether a word ends a sentence or a clause. Within a run without blanks
// only the punctuation of Chinese and Japanese does, as in "3.14" and "a,b" it does not.
func punctuationBreak(word string, last bool) breakKind {
	word = strings.TrimRight(word, "\"'”’»)]）］｝〕〉》」』】")
	r, size := utf8.DecodeLastRuneInString(word)
	switch {
	case strings.ContainsRune("。！？｡", r):
		return sentenceBreak
	case strings.ContainsRune("、，；､", r):
		return clauseBreak
	case !last:
		return noBreak
	case strings.ContainsRune("!?…؟।။។", r), (r == '.' || r == '．') && !isAbbreviation(word[:len(word)-size]):
		return sentenceBreak
	case strings.ContainsRune(",;،؛", r):
		return clauseBreak
	}
	return noBreak
}

// isAbbreviation reports whether the full stop behind a word may be that of a number, an initial or an abbreviation.
func isAbbreviation(word string) bool {
	word = strings.TrimLeft(word, "\"'“‘«([（「『")
	return utf8.RuneCountInString(word) < 2 || strings.ContainsRune(word, '.') ||
		strings.ContainsFunc(word, unicode.IsDigit)
}

// maxPassageWords is how many words a passage of a size has at most, if it is no table: those are never parted.
func maxPassageWords(size int) int { return size + size/5 }

// findBreak returns how many of the words a passage takes: all, if it can; else to the end of a sentence, the one
// nearest to its size with which it is at least half full; else to the end of a clause, of a line, of a word, as many
// as possible.
func findBreak(pieces []wordPiece, size int) int {
	if len(pieces) <= maxPassageWords(size) {
		return len(pieces)
	}
	best, kind := 0, noBreak
	for n := max(1, size/2); n <= maxPassageWords(size); n++ {
		after := pieces[n-1].after
		switch {
		case n <= size && after >= kind:
			best, kind = n, after
		case n > size && after == sentenceBreak && (kind < sentenceBreak || n-size < size-best):
			return n
		}
	}
	return best
}

// blockFromPieces returns a block of pieces that follow one another in a block.
func blockFromPieces(b *inkstreamv1.Block, pieces []wordPiece) *inkstreamv1.Block {
	out := &inkstreamv1.Block{Type: b.GetType(), Language: b.GetLanguage()}
	for i := 0; i < len(pieces); {
		first := pieces[i]
		source := b.GetLines()[first.line]
		line := &inkstreamv1.Line{Bbox: source.GetBbox(), Angle: source.GetAngle()}
		for i < len(pieces) && pieces[i].line == first.line {
			p, end := pieces[i], 0
			for ; i < len(pieces) && pieces[i].line == p.line && pieces[i].word == p.word; i++ {
				end = pieces[i].end
			}
			w := source.GetWords()[p.word]
			if end-p.start < len(w.GetText()) {
				w = &inkstreamv1.Word{Text: w.GetText()[p.start:end], Bbox: WordPartBox(source, w, p.start, end)}
			}
			line.Words = append(line.Words, w)
		}
		out.Lines = append(out.Lines, line)
	}
	out.Bbox = boundingBox(out.Lines)
	return out
}
