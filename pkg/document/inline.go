package document

import (
	"fmt"
	"hash/fnv"
	"strings"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// inlineWriter writes lines as running text in markdown: words that a hyphen breaks are put together, links are kept,
// and what markdown would take for a mark of its own is escaped.
type inlineWriter struct {
	links *linkBudget
	plain bool // no links and no escapes
	skip  string
}

// linkBudget are where the words of a document lead. An address may be long and come again with every other word: one
// that has not been written is free, any other is paid for with the text of the document, so that its markdown is not
// many times as long as what the document holds.
type linkBudget struct {
	pageTargets   []linkTarget
	writtenHashes map[uint64]bool // the hashes of addresses
	spareBytes    int             // how many bytes addresses that were written before may take
}

// linkTarget is where a link of the page leads; empty where it is not written.
type linkTarget struct {
	uri  string
	hash uint64
}

const (
	// linkBytesPerTextByte is how many bytes of addresses each byte of text pays for, baseLinkBytes how many a document
	// has besides: 400 links with addresses of 160 bytes that were all written before.
	linkBytesPerTextByte = 8
	baseLinkBytes        = 64 << 10
	// maxWrittenLinks bounds the addresses that are remembered: those beyond are paid for as if they had come before.
	maxWrittenLinks = 1 << 16
)

func newLinkBudget() *linkBudget {
	return &linkBudget{writtenHashes: map[uint64]bool{}, spareBytes: baseLinkBytes}
}

// startPage turns to a page.
func (l *linkBudget) startPage(page []*inkstreamv1.Link) {
	l.pageTargets = l.pageTargets[:0]
	for _, link := range page {
		t := linkTarget{uri: markdownAddress(link.GetUri())}
		if t.uri != "" {
			h := fnv.New64a()
			_, _ = h.Write([]byte(t.uri)) // never fails
			t.hash = h.Sum64()
		}
		l.pageTargets = append(l.pageTargets, t)
	}
}

// allowLink reports whether a link to an address may be written, and counts it.
func (l *linkBudget) allowLink(t linkTarget) bool {
	if !l.writtenHashes[t.hash] && len(l.writtenHashes) < maxWrittenLinks {
		l.writtenHashes[t.hash] = true
		return true
	}
	n := len(t.uri) + len("[]()")
	if n > l.spareBytes {
		return false
	}
	l.spareBytes -= n
	return true
}

// appendLines appends the lines to running text.
func (in *inlineWriter) appendLines(b []byte, lines []*inkstreamv1.Line) []byte {
	open := "" // the address of the link that is being written
	closeLink := func() {
		if open != "" {
			b = append(b, "]("...)
			b = append(b, open...)
			b = append(b, ')')
			open = ""
		}
	}
	first := true
	for _, line := range lines {
		blanks := layout.NewBlanks(line)
		for j, w := range line.GetWords() {
			text := w.GetText()
			if first {
				if text = layout.TrimMarker(text, in.skip); text == "" {
					first = false
					continue
				}
			}
			to := in.linkTargetOf(w)
			if to.uri != open {
				closeLink()
				if to.uri != "" && !in.links.allowLink(to) {
					to = linkTarget{}
				}
			}
			if j == 0 || first {
				b = layout.AppendLineBreak(b, text)
			} else if len(b) > 0 && blanks.Before(j) {
				b = append(b, ' ')
			}
			first = false
			if to.uri != "" && open == "" {
				if n := len(b); n > 0 && b[n-1] == '!' { // with that it would be an image
					b = append(b[:n-1], `\!`...)
				}
				b = append(b, '[')
				open = to.uri
			}
			if in.plain {
				b = append(b, text...)
				continue
			}
			b = appendEscaped(b, text)
			if in.links != nil {
				in.links.spareBytes += linkBytesPerTextByte * len(text)
			}
		}
	}
	closeLink()
	return b
}

// linkTargetOf returns where a word leads outside the document; an empty one where it leads nowhere.
func (in *inlineWriter) linkTargetOf(w *inkstreamv1.Word) linkTarget {
	n := int(w.GetLink())
	if in.plain || in.links == nil || n < 1 || n > len(in.links.pageTargets) {
		return linkTarget{}
	}
	return in.links.pageTargets[n-1]
}

// markdownAddress returns an address as it may stand in markdown; empty if it cannot, or leads nowhere that a reader
// should go.
func markdownAddress(uri string) string {
	const longest = 2000
	if uri == "" || len(uri) > longest {
		return ""
	}
	lower := strings.ToLower(uri)
	safe := false
	for _, scheme := range []string{"http://", "https://", "mailto:", "ftp://", "doi:", "tel:"} {
		safe = safe || strings.HasPrefix(lower, scheme)
	}
	if !safe {
		return ""
	}
	out := make([]byte, 0, len(uri))
	for i := range len(uri) {
		switch c := uri[i]; {
		case c == '\n' || c == '\r':
		case c <= ' ' || c == 0x7f || strings.IndexByte("()<>\\`", c) >= 0: // these end an address, or make another mark of its end
			out = fmt.Appendf(out, "%%%02X", c)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// appendEscaped appends a word so that markdown shows it as it is.
func appendEscaped(b []byte, text string) []byte {
	if !strings.ContainsAny(text, "\\`*_[]<") {
		return append(b, text...)
	}
	for i := range len(text) {
		switch c := text[i]; c {
		case '\\', '`', '*', '[', ']':
			b = append(b, '\\', c)
		case '_': // within a word it marks nothing
			if i == 0 || i == len(text)-1 {
				b = append(b, '\\')
			}
			b = append(b, c)
		case '<':
			b = append(b, "&lt;"...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// escapeLineStart escapes what would make a list, a heading or a quote of a paragraph that begins with it.
func escapeLineStart(text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	n := 0
	switch c := text[0]; {
	case c == '#' || c == '>' || c == '|':
		return append([]byte{'\\'}, text...)
	case (c == '+' || c == '-' || c == '=' || c == '~') && (len(text) == 1 || text[1] == ' ' || text[1] == c):
		return append([]byte{'\\'}, text...)
	case c >= '0' && c <= '9':
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		if n < len(text)-1 && n < 10 && (text[n] == '.' || text[n] == ')') && text[n+1] == ' ' {
			out := append([]byte{}, text[:n]...)
			return append(append(out, '\\'), text[n:]...)
		}
	}
	return text
}
