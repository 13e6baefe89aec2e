package structure

// Pages tells of pages what PDFium does not. It goes down the page tree by the counts of its nodes, so that a page costs the reading of its own
// object, and of nodes that were not passed yet.
type Pages struct {
	f     *File
	root  Value
	nodes map[int64]*branch
	form  *form // nil until it was asked for
	// budget is how many bytes may still be read for form fields, of which pages may have the same ones.
	budget int64
}

// branch is a node of the page tree that was passed, or a page, which has no kids.
type branch struct {
	kids []int64 // objects
	// ends is how many pages there are up to the end of each kid; nil where each stands for one.
	ends []int
	page Value // without kids
}

// largestUnit is the largest unit that viewers take, in points.
const largestUnit = 75_000

// Pages returns the pages of a document that has as many. Of a document whose page tree says otherwise there are none.
func (f *File) Pages(pages int) *Pages {
	p := &Pages{f: f, nodes: map[int64]*branch{}, budget: f.allowance()}
	root, err := f.Resolve(f.trailer.At("Root"))
	if err != nil {
		return p
	}
	tree, err := f.Resolve(root.At("Pages"))
	if err == nil && f.integer(tree, "Count") == int64(pages) {
		p.root = root.At("Pages")
	}
	return p
}

// Unit returns how many points a unit of page index, from 0, measures (UserUnit, ISO 32000-1 table 30). Where nothing sensible says so, it is one.
func (p *Pages) Unit(index int) float64 {
	page, ok := p.at(index)
	if !ok {
		return 1
	}
	defer p.f.trim()
	v, err := p.f.Entry(page, "UserUnit")
	if err != nil {
		return 1
	}
	if f := v.Float(); f > 0 && f <= largestUnit {
		return f
	}
	return 1
}

// Bare reports whether page index, from 0, has no resources of its own, but takes over those of a node above it.
func (p *Pages) Bare(index int) bool {
	page, ok := p.at(index)
	return ok && page.At("Resources").Kind == Null
}

// at returns page index.
func (p *Pages) at(index int) (Value, bool) {
	if p == nil || p.root.Kind != Ref || index < 0 {
		return Value{}, false
	}
	defer p.f.trim()
	num := p.root.Num
	for range maxTreeDepth {
		b, err := p.branch(num)
		if err != nil {
			return Value{}, false
		}
		if b.page.Kind == Dict {
			return b.page, true
		}
		kid, before := index, index
		if b.ends != nil {
			kid, before = b.find(index)
		}
		if kid < 0 || kid >= len(b.kids) {
			return Value{}, false
		}
		num, index = b.kids[kid], index-before
	}
	return Value{}, false
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
func (p *Pages) branch(num int64) (*branch, error) {
	if b := p.nodes[num]; b != nil {
		return b, nil
	}
	o, err := p.f.Fetch(num)
	if err != nil {
		return nil, err
	}
	if o.Kind != Dict {
		return nil, ErrDamaged
	}
	kids, err := p.f.Entry(o.Value, "Kids")
	if err != nil {
		return nil, err
	}
	if kids.Kind != Array {
		return &branch{page: o.Value}, nil
	}
	b := &branch{kids: make([]int64, len(kids.List))}
	for i, kid := range kids.List {
		if kid.Kind != Ref {
			return nil, ErrDamaged
		}
		b.kids[i] = kid.Num
	}
	if p.f.integer(o.Value, "Count") != int64(len(b.kids)) {
		if b.ends, err = p.ends(b.kids); err != nil {
			return nil, err
		}
	}
	p.nodes[num] = b
	return b, nil
}

// ends counts the pages of a node's kids.
func (p *Pages) ends(kids []int64) ([]int, error) {
	out, end := make([]int, len(kids)), 0
	for i, num := range kids {
		o, err := p.f.Fetch(num)
		if err != nil {
			return nil, err
		}
		n := 1
		if o.At("Kids").Kind != Null {
			n = int(min(max(0, p.f.integer(o.Value, "Count")), maxCount))
		}
		end += n
		out[i] = end
	}
	return out, nil
}

// maxCount bounds the count that a node of the page tree gives.
const maxCount = 1 << 31
