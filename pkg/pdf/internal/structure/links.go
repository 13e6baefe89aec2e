package structure

import (
	"bytes"
	"strconv"
)

// Link is an annotation that leads to a page of the document, or outside. Its corners are as the file has them, in
// any order.
type Link struct {
	Left, Bottom, Right, Top float64
	URI                      string
	Page                     int // from 1; 0 for none
}

// LinkReader reads where the links of pages lead. PDFium makes objects of every annotation, node of the name tree and
// destination on the way, which takes several times as long; but there are many more ways to write a link than the
// common ones read here. What is read comes out as PDFium reads it, and what might not is left to it.
type LinkReader struct {
	f     *File
	pages pagePositions
	names namedDestinations
	// budget is how many bytes may still be read for links, so that no document makes them take longer than PDFium would.
	budget int64
}

const (
	// maxAnnotations bounds the annotations of a page.
	maxAnnotations = 1000
	// maxLinkText bounds addresses and the names of destinations.
	maxLinkText = 500
)

// NewLinkReader returns the links of a document that has as many pages.
func (f *File) NewLinkReader(pages int) *LinkReader {
	return &LinkReader{f: f, pages: pagePositions{f: f, pages: pages}, names: namedDestinations{f: f},
		budget: f.in.allowance()}
}

// PageLinks returns the links of page index, from 0. It reports false for a page that has another number of
// annotations than that, one that is no link, or one that is not certain to lead where it seems to.
func (l *LinkReader) PageLinks(index, annotations int) ([]Link, bool) {
	if l.budget <= 0 || annotations > maxAnnotations {
		return nil, false
	}
	l.f.in.budget = &l.budget
	defer func() { l.f.in.budget = nil }()
	defer l.f.streams.trim()
	page, ok := l.pages.pageAt(index)
	if !ok {
		return nil, false
	}
	list, err := l.f.ResolveEntry(page, "Annots")
	if err != nil || len(list.List) != annotations {
		return nil, false
	}
	out := make([]Link, annotations)
	for i, ref := range list.List {
		annotation, err := l.f.Resolve(ref)
		if err != nil || !annotation.Lookup("Subtype").IsName("Link") || !l.readLink(&out[i], annotation) {
			return nil, false
		}
	}
	return out, true
}

// readLink reports whether a link is certain to be as it reads.
func (l *LinkReader) readLink(out *Link, annotation Value) bool {
	rect, err := l.f.ResolveEntry(annotation, "Rect")
	if err != nil || len(rect.List) != 4 {
		return false
	}
	for i, edge := range []*float64{&out.Left, &out.Bottom, &out.Right, &out.Top} {
		var ok bool
		if *edge, ok = parsePlainNumber(rect.List[i]); !ok {
			return false
		}
	}
	dest, errA := l.f.ResolveEntry(annotation, "Dest")
	action, errB := l.f.ResolveEntry(annotation, "A")
	switch {
	case errA != nil || errB != nil:
		return false
	case dest.Kind != Null:
		return action.Kind == Null && l.readDestination(out, dest)
	default:
		return l.readAction(out, action)
	}
}

// readAction reads an action, one that goes to a page of this document or to an address.
func (l *LinkReader) readAction(out *Link, action Value) bool {
	if kind := action.Lookup("Type"); kind.Kind != Null && !kind.IsName("Action") {
		return false
	}
	switch kind := action.Lookup("S"); {
	case kind.IsName("GoTo"):
		dest, err := l.f.ResolveEntry(action, "D")
		return err == nil && l.readDestination(out, dest)
	case kind.IsName("URI"):
		uri, err := l.f.ResolveEntry(action, "URI")
		// The document may have a base for those without a scheme.
		if err != nil || !isPlainText(uri) || bytes.IndexByte(uri.Text, ':') < 1 {
			return false
		}
		out.URI = string(uri.Text)
		return true
	default:
		return false
	}
}

// readDestination finds the page that a destination leads to.
func (l *LinkReader) readDestination(out *Link, dest Value) bool {
	page, ok := destinationPage(dest)
	if isPlainText(dest) {
		page, ok = l.names.findPage(string(dest.Text))
	}
	if !ok {
		return false
	}
	index, ok := l.pages.indexOf(page)
	out.Page = index + 1
	return ok
}

// destinationPage returns the object of the page that an explicit destination begins with.
func destinationPage(dest Value) (int64, bool) {
	if dest.Kind != Array || len(dest.List) == 0 || dest.List[0].Kind != Ref {
		return 0, false
	}
	return dest.List[0].Num, true
}

// isPlainText reports whether v is a string that reads the same in every encoding, and sorts the same in every order.
func isPlainText(v Value) bool {
	if v.Kind != String || len(v.Text) == 0 || len(v.Text) > maxLinkText {
		return false
	}
	for _, c := range v.Text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// parsePlainNumber returns a number that is neither too large nor spelled in a way that readers disagree on, in
// PDFium's precision.
func parsePlainNumber(v Value) (float64, bool) {
	const longest, largest = 12, 1e6
	if v.Kind != Number || len(v.Raw) > longest || v.Raw[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(v.Raw), 32)
	return n, err == nil && -largest < n && n < largest && (n != 0 || v.Raw[0] != '-')
}
