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
	// maxURIs bounds the addresses of a page's links together: pages can share their annotations, and each is written with its own.
	maxURIs = 128 << 10
	// maxTags and maxTagDepth bound the structure elements of a page, maxMarks its marked contents.
	maxTags     = 5000
	maxTagDepth = 40
	maxMarks    = 20_000
	maxRole     = 64
)

// links adds the page's links, and to its words which of them they are under.
func (s *reading) links() {
	addresses := 0
	for _, l := range s.page.Links() {
		b, ok := s.bbox(l.Bounds)
		if !ok {
			continue
		}
		out := &inkstreamv1.Link{Bbox: b, Page: int32(l.Page)}
		if l.Page == 0 {
			out.Uri = address(l.URI)
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
				w.Link = s.linkAt(w.GetBbox())
			}
		}
	}
}

// linkReader has links read from the document's own structure.
func linkReader(read *structure.Links) pdfium.LinkReader {
	return func(index, annotations int) ([]pdfium.Link, bool) {
		links, ok := read.Of(index, annotations)
		out := make([]pdfium.Link, len(links))
		for i, l := range links {
			bounds := pdfium.Rect{Left: l.Left, Bottom: l.Bottom, Right: l.Right, Top: l.Top}
			out[i] = pdfium.Link{Bounds: bounds, URI: l.URI, Page: l.Page}
		}
		return out, ok
	}
}

// linkAt returns the index plus 1 of the link that a word's middle is in.
func (s *reading) linkAt(box []float32) int32 {
	x, y := (box[0]+box[2])/2, (box[1]+box[3])/2
	for i, l := range s.out.GetLinks() {
		if b := l.GetBbox(); x >= b[0] && x <= b[2] && y >= b[1] && y <= b[3] {
			return int32(i + 1)
		}
	}
	return 0
}

// address returns a URI without what is no part of one: blanks and control characters. One that is too long is none.
func address(uri string) string {
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

// tags adds what the structure tree says of the page. The box of an element encloses all that is marked below it.
func (s *reading) tags() {
	elements := s.page.Elements(maxTags, maxTagDepth)
	boxes := make([]pdfium.Rect, len(elements))
	for i, e := range elements {
		boxes[i] = pdfium.Rect{Left: math.Inf(1), Bottom: math.Inf(1), Right: math.Inf(-1), Top: math.Inf(-1)}
		for _, id := range e.Marks {
			if r, ok := s.objects.Marked[id]; ok {
				boxes[i] = around(boxes[i], r)
			}
		}
	}
	// Children come after their parents, so that going back through the list adds each to its own.
	parent := parents(elements)
	for i := len(elements) - 1; i >= 0; i-- {
		if p := parent[i]; p >= 0 {
			boxes[p] = around(boxes[p], boxes[i])
		}
	}
	for i, e := range elements {
		if boxes[i].Right < boxes[i].Left {
			continue // nothing of it is on this page
		}
		b, ok := s.bbox(boxes[i])
		if !ok || len(e.Role) > maxRole {
			continue
		}
		s.out.Tags = append(s.out.Tags, &inkstreamv1.Tag{Role: clean(e.Role), Bbox: b, Depth: int32(e.Depth), Language: language(e.Language)})
	}
}

func around(a, b pdfium.Rect) pdfium.Rect {
	return pdfium.Rect{
		Left: math.Min(a.Left, b.Left), Bottom: math.Min(a.Bottom, b.Bottom),
		Right: math.Max(a.Right, b.Right), Top: math.Max(a.Top, b.Top),
	}
}

// parents returns the index of each element's parent, -1 for none.
func parents(elements []pdfium.Element) []int {
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

// language returns a language tag, or nothing for what cannot be one.
func language(s string) string {
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

// withoutLayer returns the text without what is not painted, or lies under an image: the text layer that an earlier recogniser left. Where there
// is no image, nothing could be recognised in its place, and all stays.
func (s *reading) withoutLayer(text pdfium.Text) pdfium.Text {
	if len(s.objects.Images) == 0 {
		return text
	}
	all := len(text.Chars)
	if s.buried() {
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
