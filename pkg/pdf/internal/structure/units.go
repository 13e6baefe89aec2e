package structure

// Units tells the size of the units that pages are measured in. It goes down the page tree by the counts of its nodes, so that a page costs the
// reading of its own object, and of nodes that were not passed yet.
type Units struct {
	f     *File
	root  Value
	nodes map[int64]*branch
}

// branch is a node of the page tree that was passed, or a page, which has no kids.
type branch struct {
	kids []int64 // objects
	// ends is how many pages there are up to the end of each kid; nil where each stands for one.
	ends []int
	unit float64 // of a page; 1 for a node
}

// largestUnit is the largest unit that viewers take, in points.
const largestUnit = 75_000

// Units returns the units of the pages of a document that has as many. A document whose page tree says otherwise is measured in points.
func (f *File) Units(pages int) *Units {
	u := &Units{f: f, nodes: map[int64]*branch{}}
	root, err := f.Resolve(f.trailer.At("Root"))
	if err != nil {
		return u
	}
	tree, err := f.Resolve(root.At("Pages"))
	if err == nil && f.integer(tree, "Count") == int64(pages) {
		u.root = root.At("Pages")
	}
	return u
}

// Of returns how many points a unit of page index, from 0, measures (UserUnit, ISO 32000-1 table 30). Where nothing sensible says so, it is one.
func (u *Units) Of(index int) float64 {
	if u == nil || u.root.Kind != Ref || index < 0 {
		return 1
	}
	defer u.f.trim()
	num := u.root.Num
	for range maxTreeDepth {
		b, err := u.branch(num)
		if err != nil {
			return 1
		}
		if len(b.kids) == 0 {
			return b.unit
		}
		kid, before := index, index
		if b.ends != nil {
			kid, before = b.find(index)
		}
		if kid < 0 || kid >= len(b.kids) {
			return 1
		}
		num, index = b.kids[kid], index-before
	}
	return 1
}

// keptBytes is how much of object streams stays inflated from page to page.
const keptBytes = 4 << 20

// trim forgets inflated object streams where they take too much.
func (f *File) trim() {
	if f.inflated() > keptBytes {
		f.streams = nil
	}
}

// inflated is how many bytes the inflated object streams take.
func (f *File) inflated() (sum int) {
	for _, s := range f.streams {
		sum += len(s.data)
	}
	return sum
}

// find returns the kid that has a page, and how many pages are before it.
func (b *branch) find(index int) (kid, before int) {
	for i, end := range b.ends {
		if index < end {
			return i, before
		}
		before = end
	}
	return -1, 0
}

// branch reads a node, or a page. Pages are not kept: each is asked for once.
func (u *Units) branch(num int64) (*branch, error) {
	if b := u.nodes[num]; b != nil {
		return b, nil
	}
	o, err := u.f.Fetch(num)
	if err != nil {
		return nil, err
	}
	if o.Kind != Dict {
		return nil, ErrDamaged
	}
	kids, err := u.f.Entry(o.Value, "Kids")
	if err != nil {
		return nil, err
	}
	if kids.Kind != Array {
		return &branch{unit: u.unit(o.Value)}, nil
	}
	b := &branch{kids: make([]int64, len(kids.List)), unit: 1}
	for i, kid := range kids.List {
		if kid.Kind != Ref {
			return nil, ErrDamaged
		}
		b.kids[i] = kid.Num
	}
	if u.f.integer(o.Value, "Count") != int64(len(b.kids)) {
		if b.ends, err = u.ends(b.kids); err != nil {
			return nil, err
		}
	}
	u.nodes[num] = b
	return b, nil
}

// ends counts the pages of a node's kids.
func (u *Units) ends(kids []int64) ([]int, error) {
	out, end := make([]int, len(kids)), 0
	for i, num := range kids {
		o, err := u.f.Fetch(num)
		if err != nil {
			return nil, err
		}
		n := 1
		if o.At("Kids").Kind != Null {
			n = int(min(max(0, u.f.integer(o.Value, "Count")), maxCount))
		}
		end += n
		out[i] = end
	}
	return out, nil
}

// maxCount bounds the count that a node of the page tree gives.
const maxCount = 1 << 31

func (u *Units) unit(page Value) float64 {
	v, err := u.f.Entry(page, "UserUnit")
	if err != nil {
		return 1
	}
	if f := v.Float(); f > 0 && f <= largestUnit {
		return f
	}
	return 1
}
