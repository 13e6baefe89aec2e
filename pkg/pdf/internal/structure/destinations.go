package structure

// namedDestinations finds the pages of named destinations in the document's name tree (ISO 32000-1 §7.9.6), by the
// steps that PDFium takes. It knows nothing of names that are not there: they may be in the dictionary that older
// documents have.
type namedDestinations struct {
	f     *File
	read  bool
	root  Value
	nodes map[int64]*nameNode
	names int              // in nodes
	pages map[string]int64 // objects, by name; 0 where it is not certain
}

// nameNode is a node of a name tree.
type nameNode struct {
	low, high string // "" for none
	kids      []int64
	names     map[string]Value // of a leaf
}

const (
	maxNameDepth = 32 // as for PDFium
	maxNames     = 1 << 16
	// nodeVisitCost is what a visit to a node that is in memory takes off the budget: about what it costs, in bytes that
	// could be read in the time.
	nodeVisitCost = 16
)

// findPage returns the object of the page that a name stands for.
func (d *namedDestinations) findPage(name string) (int64, bool) {
	if !d.read {
		d.loadRoot()
	}
	if page, known := d.pages[name]; known || len(d.pages) >= maxNames {
		return page, page > 0
	}
	var page int64
	if v, ok := d.searchNode(d.root, name, 0); ok {
		page = d.targetPage(v)
	}
	d.pages[name] = page
	return page, page > 0
}

func (d *namedDestinations) loadRoot() {
	d.read, d.nodes, d.pages = true, map[int64]*nameNode{}, map[string]int64{}
	root, err := d.f.Resolve(d.f.trailer.Lookup("Root"))
	if err != nil {
		return
	}
	if names, err := d.f.ResolveEntry(root, "Names"); err == nil {
		d.root = names.Lookup("Dests")
	}
}

// targetPage returns the object of the page that an entry of the tree leads to, 0 if it does not say so plainly.
func (d *namedDestinations) targetPage(v Value) int64 {
	v, err := d.f.Resolve(v)
	if err == nil && v.Kind == Dict {
		v, err = d.f.ResolveEntry(v, "D")
	}
	if err != nil {
		return 0
	}
	page, _ := destinationPage(v)
	return page
}

// searchNode returns the entry of a name, Null if there is none at or below a node. It reports false if that is not
// certain.
func (d *namedDestinations) searchNode(ref Value, name string, depth int) (Value, bool) {
	if ref.Kind != Ref || depth > maxNameDepth || !d.f.in.spend(nodeVisitCost) {
		return Value{}, false
	}
	n := d.readNode(ref.Num)
	if n == nil {
		return Value{}, false
	}
	if n.names != nil {
		return n.names[name], true
	}
	if name < n.low {
		return Value{}, true
	}
	for _, kid := range n.kids {
		if v, ok := d.searchNode(Value{Kind: Ref, Num: kid}, name, depth+1); !ok || v.Kind != Null {
			return v, ok
		}
	}
	return Value{}, true
}

// readNode returns a node that is written plainly, nil for any other.
func (d *namedDestinations) readNode(num int64) *nameNode {
	n, known := d.nodes[num]
	if known || len(d.nodes) >= maxNames {
		return n
	}
	if o, err := d.f.FetchObject(num); err == nil {
		n = d.parseNode(o.Value)
	}
	d.nodes[num] = n
	return n
}

func (d *namedDestinations) parseNode(dict Value) *nameNode {
	limits, errA := d.f.ResolveEntry(dict, "Limits")
	kids, errB := d.f.ResolveEntry(dict, "Kids")
	names, errC := d.f.ResolveEntry(dict, "Names")
	if errA != nil || errB != nil || errC != nil || (kids.Kind == Array) == (names.Kind == Array) {
		return nil
	}
	n := &nameNode{}
	if limits.Kind != Null {
		if len(limits.List) != 2 || !isPlainText(limits.List[0]) || !isPlainText(limits.List[1]) {
			return nil
		}
		n.low, n.high = string(limits.List[0].Text), string(limits.List[1].Text)
		if n.low > n.high {
			return nil
		}
	}
	for _, kid := range kids.List {
		if kid.Kind != Ref {
			return nil
		}
		n.kids = append(n.kids, kid.Num)
	}
	if names.Kind == Array && !d.addLeafNames(n, names.List) {
		return nil
	}
	return n
}

// addLeafNames reads the names of a leaf. They must be in order and within the leaf's limits, or whether PDFium finds
// one depends on more than its name.
func (d *namedDestinations) addLeafNames(n *nameNode, list []Value) bool {
	if d.names += len(list) / 2; d.names > maxNames || len(list)%2 != 0 {
		return false
	}
	n.names = make(map[string]Value, len(list)/2)
	last := ""
	for i := 0; i < len(list); i += 2 {
		name := string(list[i].Text)
		if !isPlainText(list[i]) || list[i+1].Kind == Null || name <= last || name < n.low || n.high != "" && name > n.high {
			return false
		}
		n.names[name], last = list[i+1], name
	}
	return true
}
