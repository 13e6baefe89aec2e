package structure

// PageLookup tells of pages what PDFium does not. It goes down the page tree by the counts of its nodes, so that a
// page costs the reading of its own object, and of nodes that were not passed yet.
type PageLookup struct {
	f     *File
	root  Value
	nodes map[int64]*treeBranch
	form  *acroForm // nil until it was asked for
	// budget is how many bytes may still be read for form fields, of which pages may have the same ones.
	budget int64
}

// treeBranch is a node of the page tree that was passed, or a page, which has no kids.
type treeBranch struct {
	kids []int64 // objects
	// ends is how many pages there are up to the end of each kid; nil where each stands for one.
	ends []int
	page Value // without kids
}

// maxUserUnit is the largest unit that viewers take, in points.
const maxUserUnit = 75_000

// NewPageLookup returns the pages of a document that has as many. Of a document whose page tree says otherwise there
// are none.
func (f *File) NewPageLookup(pages int) *PageLookup {
	p := &PageLookup{f: f, nodes: map[int64]*treeBranch{}, budget: f.in.allowance()}
	root, err := f.Resolve(f.trailer.Lookup("Root"))
	if err != nil {
		return p
	}
	tree, err := f.Resolve(root.Lookup("Pages"))
	if err == nil && f.integerEntry(tree, "Count") == int64(pages) {
		p.root = root.Lookup("Pages")
	}
	return p
}

// UserUnit returns how many points a unit of page index, from 0, measures (UserUnit, ISO 32000-1 table 30). Where
// nothing sensible says so, it is one.
func (p *PageLookup) UserUnit(index int) float64 {
	page, ok := p.pageAt(index)
	if !ok {
		return 1
	}
	defer p.f.streams.trim()
	v, err := p.f.ResolveEntry(page, "UserUnit")
	if err != nil {
		return 1
	}
	if f := v.FloatValue(); f > 0 && f <= maxUserUnit {
		return f
	}
	return 1
}

// HasNoResources reports whether page index, from 0, has no resources of its own, but takes over those of a node
// above it.
func (p *PageLookup) HasNoResources(index int) bool {
	page, ok := p.pageAt(index)
	return ok && page.Lookup("Resources").Kind == Null
}

// pageAt returns page index.
func (p *PageLookup) pageAt(index int) (Value, bool) {
	if p == nil || p.root.Kind != Ref || index < 0 {
		return Value{}, false
	}
	defer p.f.streams.trim()
	num := p.root.Num
	for range maxTreeDepth {
		b, err := p.readBranch(num)
		if err != nil {
			return Value{}, false
		}
		if b.page.Kind == Dict {
			return b.page, true
		}
		kid, before := index, index
		if b.ends != nil {
			kid, before = b.findKid(index)
		}
		if kid < 0 || kid >= len(b.kids) {
			return Value{}, false
		}
		num, index = b.kids[kid], index-before
	}
	return Value{}, false
}

// beginReading returns page index for what reads objects of it within the lookup's budget, until it calls end. It
// reports false where there is no such page, or nothing left of the budget.
func (p *PageLookup) beginReading(index int) (page Value, end func(), ok bool) {
	page, ok = p.pageAt(index)
	if !ok || p.budget <= 0 {
		return Value{}, nil, false
	}
	p.f.in.budget = &p.budget
	return page, func() {
		p.f.streams.trim()
		p.f.in.budget = nil
	}, true
}

// findKid returns the kid that has a page, and how many pages are before it.
func (b *treeBranch) findKid(index int) (kid, before int) {
	for i, end := range b.ends {
		if index < end {
			return i, before
		}
		before = end
	}
	return -1, 0
}

// readBranch reads a node, or a page. Pages are not kept: each is asked for once.
func (p *PageLookup) readBranch(num int64) (*treeBranch, error) {
	if b := p.nodes[num]; b != nil {
		return b, nil
	}
	o, err := p.f.FetchObject(num)
	if err != nil {
		return nil, err
	}
	if o.Kind != Dict {
		return nil, ErrDamaged
	}
	kids, err := p.f.ResolveEntry(o.Value, "Kids")
	if err != nil {
		return nil, err
	}
	if kids.Kind != Array {
		return &treeBranch{page: o.Value}, nil
	}
	b := &treeBranch{kids: make([]int64, len(kids.List))}
	for i, kid := range kids.List {
		if kid.Kind != Ref {
			return nil, ErrDamaged
		}
		b.kids[i] = kid.Num
	}
	if p.f.integerEntry(o.Value, "Count") != int64(len(b.kids)) {
		if b.ends, err = p.countKidPages(b.kids); err != nil {
			return nil, err
		}
	}
	p.nodes[num] = b
	return b, nil
}

// countKidPages counts the pages of a node's kids.
func (p *PageLookup) countKidPages(kids []int64) ([]int, error) {
	out, end := make([]int, len(kids)), 0
	for i, num := range kids {
		o, err := p.f.FetchObject(num)
		if err != nil {
			return nil, err
		}
		n := 1
		if o.Lookup("Kids").Kind != Null {
			n = int(min(max(0, p.f.integerEntry(o.Value, "Count")), maxCount))
		}
		end += n
		out[i] = end
	}
	return out, nil
}

// maxCount bounds the count that a node of the page tree gives.
const maxCount = 1 << 31
