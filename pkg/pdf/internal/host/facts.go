package host

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/structure"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	maxURI = 2048
	// maxURIs bounds the addresses of a page's links together: pages can share their annotations, and each is written
	// with its own.
	maxURIs = 128 << 10
	// maxTags and maxTagDepth bound the structure elements of a page, maxMarks its marked contents.
	maxTags     = 5000
	maxTagDepth = 40
	maxMarks    = 20_000
	maxRole     = 64
)

// addLinks adds the page's links, and to its words which of them they are under.
func (s *pageReader) addLinks() {
	addresses := 0
	for _, l := range s.page.ReadLinks() {
		b, ok := s.displayBox(l.Bounds)
		if !ok {
			continue
		}
		out := &inkstreamv1.Link{Bbox: b, Page: int32(l.Page)}
		if l.Page == 0 {
			out.Uri = cleanURI(l.URI)
			addresses += len(out.GetUri())
			if out.GetUri() == "" || addresses > maxURIs {
				continue
			}
		}
		s.out.Links = append(s.out.Links, out)
	}
	if len(s.out.GetLinks()) == 0 {
		return
	}
	for _, b := range s.out.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				w.Link = s.linkIndexAt(w.GetBbox())
			}
		}
	}
}

// adaptLinkReader has links read from the document's own structure.
func adaptLinkReader(read *structure.LinkReader) pdfium.LinkReader {
	return func(index, annotations int) ([]pdfium.Link, bool) {
		links, ok := read.PageLinks(index, annotations)
		out := make([]pdfium.Link, len(links))
		for i, l := range links {
			bounds := pdfium.Rect{Left: l.Left, Bottom: l.Bottom, Right: l.Right, Top: l.Top}
			out[i] = pdfium.Link{Bounds: bounds, URI: l.URI, Page: l.Page}
		}
		return out, ok
	}
}

// linkIndexAt returns the index plus 1 of the link that a word's middle is in.
func (s *pageReader) linkIndexAt(box []float32) int32 {
	x, y := (box[0]+box[2])/2, (box[1]+box[3])/2
	for i, l := range s.out.GetLinks() {
		if b := l.GetBbox(); x >= b[0] && x <= b[2] && y >= b[1] && y <= b[3] {
			return int32(i + 1)
		}
	}
	return 0
}

// cleanURI returns a URI without what is no part of one: blanks and control characters. One that is too long is none.
func cleanURI(uri string) string {
	if len(uri) > maxURI {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7F || r == utf8.RuneError {
			return -1
		}
		return r
	}, uri)
}

// addTags adds what the structure tree says of the page. The box of an element encloses all that is marked below it.
func (s *pageReader) addTags() {
	elements := s.page.ReadElements(maxTags, maxTagDepth)
	boxes := make([]pdfium.Rect, len(elements))
	for i, e := range elements {
		boxes[i] = pdfium.Rect{Left: math.Inf(1), Bottom: math.Inf(1), Right: math.Inf(-1), Top: math.Inf(-1)}
		for _, id := range e.Marks {
			if r, ok := s.objects.Marked[id]; ok {
				boxes[i] = boundingRect(boxes[i], r)
			}
		}
	}
	// Children come after their parents, so that going back through the list adds each to its own.
	parent := parentIndexes(elements)
	for i := len(elements) - 1; i >= 0; i-- {
		if p := parent[i]; p >= 0 {
			boxes[p] = boundingRect(boxes[p], boxes[i])
		}
	}
	for i, e := range elements {
		if boxes[i].Right < boxes[i].Left {
			continue // nothing of it is on this page
		}
		b, ok := s.displayBox(boxes[i])
		if !ok || len(e.Role) > maxRole {
			continue
		}
		s.out.Tags = append(s.out.Tags, &inkstreamv1.Tag{Role: cleanInfoString(e.Role), Bbox: b, Depth: int32(e.Depth),
			Language: languageTag(e.Language)})
	}
}

func boundingRect(a, b pdfium.Rect) pdfium.Rect {
	return pdfium.Rect{
		Left: math.Min(a.Left, b.Left), Bottom: math.Min(a.Bottom, b.Bottom),
		Right: math.Max(a.Right, b.Right), Top: math.Max(a.Top, b.Top),
	}
}

// parentIndexes returns the index of each element's parent, -1 for none.
func parentIndexes(elements []pdfium.Element) []int {
	out := make([]int, len(elements))
	var path []int // the last element at each depth
	for i, e := range elements {
		d := max(0, e.Depth-1)
		path = path[:min(len(path), d)]
		out[i] = -1
		if len(path) > 0 {
			out[i] = path[len(path)-1]
		}
		path = append(path, i)
	}
	return out
}

// languageTag returns a language tag, or nothing for what cannot be one.
func languageTag(s string) string {
	const longest = 35 // RFC 5646 §4.4.1
	if len(s) > longest {
		return ""
	}
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return ""
		}
	}
	return s
}

// dropHiddenText returns the text without what is not painted, or lies under an image: the text layer that an earlier
// recogniser left. Where there is no image, nothing could be recognised in its place, and all stays.
func (s *pageReader) dropHiddenText(text pdfium.Text) pdfium.Text {
	if len(s.objects.Images) == 0 {
		return text
	}
	all := len(text.Chars)
	if s.textUnderScan() {
		text.Chars = nil
	}
	text.Chars = slices.DeleteFunc(text.Chars, func(c pdfium.Char) bool {
		return c.Run >= 0 && int(c.Run) < len(text.Runs) && text.Runs[c.Run].Invisible
	})
	if all > 0 && len(text.Chars) == 0 {
		s.objects.Texts = 0
	}
	return text
}
