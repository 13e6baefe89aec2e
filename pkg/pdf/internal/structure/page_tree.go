package structure

import "math"

// Leaf is a page of the page tree.
type Leaf struct {
	Number int // of its object
	parent int32
}

// treeNode is an inner node of the page tree.
type treeNode struct {
	number int
	parent int32 // -1 for the root
	dict   Value // without its kids
}

// PageTree is the page tree.
type PageTree struct {
	f     *File
	Pages []Leaf
	nodes []treeNode
}

const (
	// maxTreeDepth bounds the page tree; PDFium stops at 1024.
	maxTreeDepth = 1024
	// spareNodes is how many nodes a tree may have besides its pages, a node for each page included.
	spareNodes = 1000
)

// ReadPageTree reads the page tree, of a given number of pages at most. A document whose cross references lead
// nowhere is searched for its objects.
func (f *File) ReadPageTree(pages int) (*PageTree, error) {
	t, err := f.walkPageTree(pages)
	if err == nil || f.rebuilt {
		return t, err
	}
	if err := f.rebuildTable(); err != nil {
		return nil, err
	}
	return f.walkPageTree(pages)
}

func (f *File) walkPageTree(pages int) (*PageTree, error) {
	root, err := f.Resolve(f.trailer.Lookup("Root"))
	if err != nil {
		return nil, err
	}
	t := &PageTree{f: f}
	w := treeWalk{tree: t, open: map[int64]bool{}, visitsLeft: 2*pages + spareNodes}
	if err := w.visitNode(root.Lookup("Pages"), -1, 0); err != nil {
		return nil, err
	}
	if len(t.Pages) == 0 {
		return nil, ErrDamaged
	}
	return t, nil
}

type treeWalk struct {
	tree       *PageTree
	open       map[int64]bool // nodes that the walk is within
	visitsLeft int            // visits
}

func (w *treeWalk) visitNode(ref Value, parent int32, depth int) error {
	if w.visitsLeft--; w.visitsLeft < 0 || depth > maxTreeDepth {
		return ErrDamaged
	}
	if ref.Kind != Ref || w.open[ref.Num] {
		return ErrDamaged
	}
	o, err := w.tree.f.FetchObject(ref.Num)
	if err != nil {
		return err
	}
	if o.Kind != Dict {
		return ErrDamaged
	}
	kids, err := w.tree.f.ResolveEntry(o.Value, "Kids")
	if err != nil {
		return err
	}
	if kids.Kind != Array {
		w.tree.Pages = append(w.tree.Pages, Leaf{Number: int(ref.Num), parent: parent})
		return nil
	}
	w.open[ref.Num] = true
	defer delete(w.open, ref.Num)
	self := int32(len(w.tree.nodes))
	w.tree.nodes = append(w.tree.nodes, treeNode{number: int(ref.Num), parent: parent, dict: inheritableEntries(o.Value)})
	for _, kid := range kids.List {
		if err := w.visitNode(kid, self, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// inheritableEntries returns what pages take over from a node.
func inheritableEntries(dict Value) Value {
	out := Value{Kind: Dict}
	for _, key := range []string{"Resources", "MediaBox", "CropBox", "Rotate"} {
		if v := dict.Lookup(key); v.Kind != Null {
			out.Entries = append(out.Entries, Entry{key, v})
		}
	}
	return out
}

// inheritedEntry returns an entry of a page or of the nearest node above it, and the number of the object that has it.
func (t *PageTree) inheritedEntry(page Leaf, dict Value, key string) (Value, int) {
	if v := dict.Lookup(key); v.Kind != Null {
		return v, page.Number
	}
	for i := page.parent; i >= 0; i = t.nodes[i].parent {
		if v := t.nodes[i].dict.Lookup(key); v.Kind != Null {
			return v, t.nodes[i].number
		}
	}
	return Value{}, 0
}

// Geometry is how a page is displayed.
type Geometry struct {
	Left, Bottom, Right, Top float64 // what is displayed of user space
	Turns                    int     // quarter turns clockwise
}

// DisplaySize returns the width and height as displayed, in units of user space.
func (g Geometry) DisplaySize() (width, height float64) {
	width, height = g.Right-g.Left, g.Top-g.Bottom
	if g.Turns&1 == 1 {
		width, height = height, width
	}
	return width, height
}

// DisplayToUser maps a point from the top left of the page as displayed, y down, to user space: the inverse of
// Page.Display in package pdfium.
func (g Geometry) DisplayToUser(x, y float64) (float64, float64) {
	switch g.Turns {
	case 1:
		return y + g.Left, x + g.Bottom
	case 2:
		return g.Right - x, y + g.Bottom
	case 3:
		return g.Right - y, g.Top - x
	default:
		return x + g.Left, g.Top - y
	}
}

// readGeometry reads how a page is displayed, by the rules that PDFium follows.
func (t *PageTree) readGeometry(page Leaf, dict Value) Geometry {
	media, ok := t.readBox(page, dict, "MediaBox")
	if !ok {
		media = Geometry{Right: 612, Top: 792}
	}
	g := media
	if crop, ok := t.readBox(page, dict, "CropBox"); ok {
		g = Geometry{
			Left: math.Max(crop.Left, media.Left), Bottom: math.Max(crop.Bottom, media.Bottom),
			Right: math.Min(crop.Right, media.Right), Top: math.Min(crop.Top, media.Top),
		}
	}
	v, _ := t.inheritedEntry(page, dict, "Rotate")
	if v, err := t.f.Resolve(v); err == nil {
		g.Turns = int(v.Num/90%4+4) % 4
	}
	return g
}

func (t *PageTree) readBox(page Leaf, dict Value, key string) (Geometry, bool) {
	v, _ := t.inheritedEntry(page, dict, key)
	v, err := t.f.Resolve(v)
	if err != nil || len(v.List) < 4 {
		return Geometry{}, false
	}
	var n [4]float64
	for i := range n {
		e, err := t.f.Resolve(v.List[i])
		if err != nil {
			return Geometry{}, false
		}
		n[i] = e.FloatValue()
	}
	g := Geometry{Left: math.Min(n[0], n[2]), Bottom: math.Min(n[1], n[3]), Right: math.Max(n[0], n[2]),
		Top: math.Max(n[1], n[3])}
	return g, g.Right > g.Left && g.Top > g.Bottom
}
