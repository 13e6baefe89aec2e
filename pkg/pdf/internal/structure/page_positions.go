package structure

// pagePositions tells where pages are in the page tree, if the tree is a plain one: every count in it is right, and
// no page is in it twice. It reads the inner nodes only, and those once.
type pagePositions struct {
	f       *File
	pages   int // how many there must be
	read    bool
	list    []int64       // the pages' objects; none for a tree that is not plain
	index   map[int64]int // in list
	checked []bool        // pages of list that were seen to be pages
}

// pageAt returns page index.
func (p *pagePositions) pageAt(index int) (Value, bool) {
	p.loadList()
	if index < 0 || index >= len(p.list) {
		return Value{}, false
	}
	o, err := p.f.FetchObject(p.list[index])
	if err != nil || !o.Lookup("Type").IsName("Page") {
		return Value{}, false
	}
	p.checked[index] = true
	return o.Value, true
}

// indexOf returns the index of the page that is an object.
func (p *pagePositions) indexOf(num int64) (int, bool) {
	p.loadList()
	index, ok := p.index[num]
	if ok && !p.checked[index] {
		_, ok = p.pageAt(index)
	}
	return index, ok
}

func (p *pagePositions) loadList() {
	if p.read {
		return
	}
	p.read = true
	root, err := p.f.Resolve(p.f.trailer.Lookup("Root"))
	if err != nil {
		return
	}
	visits := 2*p.pages + spareNodes
	if !p.visitNode(root.Lookup("Pages"), 0, &visits) || len(p.list) != p.pages {
		p.list = nil
		return
	}
	p.index, p.checked = make(map[int64]int, len(p.list)), make([]bool, len(p.list))
	for i, num := range p.list {
		p.index[num] = i
	}
	if len(p.index) != len(p.list) {
		p.list, p.index = nil, nil
	}
}

// visitNode adds the pages of a node, or a page.
func (p *pagePositions) visitNode(ref Value, depth int, visits *int) bool {
	if *visits--; *visits < 0 || depth > maxTreeDepth || ref.Kind != Ref {
		return false
	}
	o, err := p.f.FetchObject(ref.Num)
	if err != nil || o.Kind != Dict {
		return false
	}
	kids, err := p.f.ResolveEntry(o.Value, "Kids")
	if err != nil {
		return false
	}
	before := len(p.list)
	count := p.f.integerEntry(o.Value, "Count")
	switch {
	case kids.Kind == Null:
		p.list = append(p.list, ref.Num)
		return true
	case count == int64(len(kids.List)): // each is a page, or will not be found to be one
		for _, kid := range kids.List {
			if kid.Kind != Ref || len(p.list) >= p.pages {
				return false
			}
			p.list = append(p.list, kid.Num)
		}
		return true
	}
	for _, kid := range kids.List {
		if !p.visitNode(kid, depth+1, visits) {
			return false
		}
	}
	return int64(len(p.list)-before) == count
}
