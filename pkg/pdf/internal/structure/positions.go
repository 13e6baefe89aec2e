package structure

// positions tells where pages are in the page tree, if the tree is a plain one: every count in it is right, and no page is in it twice. It reads
// the inner nodes only, and those once.
type positions struct {
	f     *File
	pages int // how many there must be
	read  bool
	list  []int64       // the pages' objects; none for a tree that is not plain
	index map[int64]int // in list
	sound []bool        // pages of list that were seen to be pages
}

// at returns page index.
func (p *positions) at(index int) (Value, bool) {
	p.load()
	if index < 0 || index >= len(p.list) {
		return Value{}, false
	}
	o, err := p.f.Fetch(p.list[index])
	if err != nil || !o.At("Type").Is("Page") {
		return Value{}, false
	}
	p.sound[index] = true
	return o.Value, true
}

// of returns the index of the page that is an object.
func (p *positions) of(num int64) (int, bool) {
	p.load()
	index, ok := p.index[num]
	if ok && !p.sound[index] {
		_, ok = p.at(index)
	}
	return index, ok
}

func (p *positions) load() {
	if p.read {
		return
	}
	p.read = true
	root, err := p.f.Resolve(p.f.trailer.At("Root"))
	if err != nil {
		return
	}
	visits := 2*p.pages + spareNodes
	if !p.visit(root.At("Pages"), 0, &visits) || len(p.list) != p.pages {
		p.list = nil
		return
	}
	p.index, p.sound = make(map[int64]int, len(p.list)), make([]bool, len(p.list))
	for i, num := range p.list {
		p.index[num] = i
	}
	if len(p.index) != len(p.list) {
		p.list, p.index = nil, nil
	}
}

// visit adds the pages of a node, or a page.
func (p *positions) visit(ref Value, depth int, visits *int) bool {
	if *visits--; *visits < 0 || depth > maxTreeDepth || ref.Kind != Ref {
		return false
	}
	o, err := p.f.Fetch(ref.Num)
	if err != nil || o.Kind != Dict {
		return false
	}
	kids, err := p.f.Entry(o.Value, "Kids")
	if err != nil {
		return false
	}
	before := len(p.list)
	count := p.f.integer(o.Value, "Count")
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
		if !p.visit(kid, depth+1, visits) {
			return false
		}
	}
	return int64(len(p.list)-before) == count
}
