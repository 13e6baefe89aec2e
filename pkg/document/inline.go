package document

import (
	"strings"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// inline writes lines as running text in markdown: words that a hyphen breaks are put together, links are kept, and what markdown would take
// for a mark of its own is escaped.
type inline struct {
	links []*inkstreamv1.Link
	plain bool // no links and no escapes
	skip  string
}

// append appends the lines to running text.
func (in *inline) append(b []byte, lines []*inkstreamv1.Line) []byte {
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
		blanks := layout.BlanksOf(line)
		for j, w := range line.GetWords() {
			text := w.GetText()
			if first {
				if text = layout.TrimMarker(text, in.skip); text == "" {
					first = false
					continue
				}
			}
			uri := in.uri(w)
			if uri != open {
				closeLink()
			}
			if j == 0 || first {
				b = layout.AppendJoint(b, text)
			} else if len(b) > 0 && blanks.Before(j) {
				b = append(b, ' ')
			}
			first = false
			if uri != "" && open == "" {
				b = append(b, '[')
				open = uri
			}
			if in.plain {
				b = append(b, text...)
			} else {
				b = escape(b, text)
			}
		}
	}
	closeLink()
	return b
}

// uri returns where a word leads outside the document; empty where it leads nowhere, or where the text is the address itself.
func (in *inline) uri(w *inkstreamv1.Word) string {
	n := int(w.GetLink())
	if in.plain || n < 1 || n > len(in.links) {
		return ""
	}
	return address(in.links[n-1].GetUri())
}

// address returns an address as it may stand in markdown; empty if it cannot, or leads nowhere that a reader should go.
func address(uri string) string {
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
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\n", "", "\r", "", "\t", "%09").Replace(uri)
}

// escape appends a word so that markdown shows it as it is.
func escape(b []byte, text string) []byte {
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

// begin escapes what would make a list, a heading or a quote of a paragraph that begins with it.
func begin(text []byte) []byte {
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
