package structure

const (
	// maxLabelDepth bounds the number tree of the page labels. PDFium goes down without end, until its stack does.
	maxLabelDepth = 32
	// maxLabelNodes and maxLabelRanges bound its nodes and the ranges in them: PDFium goes through them from the first
	// for every label.
	maxLabelNodes  = 5000
	maxLabelRanges = 10_000
)

// HasPlainLabels reports whether the page labels are in a number tree that ends (ISO 32000-1 §7.9.7) and is no larger
// than a document needs, or there are none.
func (f *File) HasPlainLabels() bool {
	defer f.streams.trim()
	root, err := f.Resolve(f.trailer.Lookup("Root"))
	if err != nil {
		return false
	}
	labels := root.Lookup("PageLabels")
	if labels.Kind == Null {
		return true
	}
	w := labelWalk{f: f, seen: map[int64]bool{}}
	return w.visitNode(labels, 0)
}

type labelWalk struct {
	f             *File
	seen          map[int64]bool // nodes that are objects
	nodes, ranges int
}

func (w *labelWalk) visitNode(v Value, depth int) bool {
	if w.nodes++; depth > maxLabelDepth || w.nodes > maxLabelNodes {
		return false
	}
	if v.Kind == Ref {
		if w.seen[v.Num] {
			return false
		}
		w.seen[v.Num] = true
	}
	node, err := w.f.Resolve(v)
	if err != nil {
		return false
	}
	ranges, errA := w.f.ResolveEntry(node, "Nums")
	kids, errB := w.f.ResolveEntry(node, "Kids")
	if errA != nil || errB != nil {
		return false
	}
	if w.ranges += len(ranges.List) / 2; w.ranges > maxLabelRanges {
		return false
	}
	for _, kid := range kids.List {
		if !w.visitNode(kid, depth+1) {
			return false
		}
	}
	return true
}
