package document

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// leaderDots are what leads from an entry of a table of contents to its page.
	leaderDots = ".·…․‥⋯・．"
	// minDotsBeforeNumber lead to a page if its number is all that follows on the line; minLeaderDots are no ellipsis
	// wherever they stand.
	minDotsBeforeNumber, minLeaderDots = 4, 6
)

var (
	pageLabel = regexp.MustCompile(`^(?:[A-Za-z]{1,3}[-.–]?)?[0-9]+(?:[-.–][0-9]+)*$|^[ivxlcdm]+$|^[IVXLCDM]+$`)
	// cellDots are dots behind the text of a cell. Those that are all of it say that there is nothing to say.
	cellDots = regexp.MustCompile(`([^|>\s` + leaderDots + `]) *[` + leaderDots + `](?: *[` + leaderDots + `]){5,} *`)
)

// withoutLeaders returns a block without the rows of dots in its lines: they say nothing, and each set apart would
// count as a word.
func withoutLeaders(b *inkstreamv1.Block) *inkstreamv1.Block {
	out := b
	for i, line := range b.GetLines() {
		if !mayHaveLeaders(line) {
			continue
		}
		words, changed := dropLeaderWords(line)
		if !changed {
			continue
		}
		if out == b {
			out = proto.CloneOf(b)
		}
		out.Lines[i].Words = words
	}
	return out
}

// mayHaveLeaders reports whether a line has enough of what can be dots: most have not, and need not be taken apart.
func mayHaveLeaders(line *inkstreamv1.Line) bool {
	dots := 0
	for _, w := range line.GetWords() {
		text := w.GetText()
		for i := range len(text) {
			if text[i] == '.' || text[i] >= utf8.RuneSelf {
				dots++
			}
		}
	}
	return dots >= minDotsBeforeNumber
}

// dotSpan is a part of a word that is all dots, or has none.
type dotSpan struct {
	word, start, end int
	dots             int
}

func dropLeaderWords(line *inkstreamv1.Line) (out []*inkstreamv1.Word, changed bool) {
	words := line.GetWords()
	var spans []dotSpan
	for i, w := range words {
		spans = appendDotSpans(spans, i, w.GetText())
	}
	var kept []dotSpan
	for i := 0; i < len(spans); {
		end, dots := i, 0
		for ; end < len(spans) && spans[end].dots > 0; end++ {
			dots += spans[end].dots
		}
		toPage := end == len(spans)-1 && pageLabel.MatchString(words[spans[end].word].GetText()[spans[end].start:])
		switch {
		case end == i:
			kept = append(kept, spans[i])
			i++
			continue
		case dots >= minLeaderDots || dots >= minDotsBeforeNumber && toPage:
			changed = true
		default:
			kept = append(kept, spans[i:end]...)
		}
		i = end
	}
	if !changed {
		return words, false
	}
	for i := 0; i < len(kept); {
		s := kept[i]
		for i++; i < len(kept) && kept[i].word == s.word && kept[i].start == s.end; i++ {
			s.end = kept[i].end
		}
		w := words[s.word]
		if s.end-s.start < len(w.GetText()) {
			part := proto.CloneOf(w)
			part.Text, part.Bbox = w.GetText()[s.start:s.end], WordPartBox(line, w, s.start, s.end)
			w = part
		}
		out = append(out, w)
	}
	return out, true
}

// appendDotSpans takes a word apart.
func appendDotSpans(out []dotSpan, word int, text string) []dotSpan {
	for start := 0; start < len(text); {
		span := dotSpan{word: word, start: start, end: len(text)}
		dotted := strings.IndexFunc(text[start:], func(r rune) bool { return !strings.ContainsRune(leaderDots, r) })
		plain := strings.IndexAny(text[start:], leaderDots)
		switch {
		case plain == 0 && dotted > 0:
			span.end = start + dotted
		case plain > 0:
			span.end = start + plain
		}
		if plain == 0 {
			span.dots = utf8.RuneCountInString(text[start:span.end])
		}
		out = append(out, span)
		start = span.end
	}
	return out
}
