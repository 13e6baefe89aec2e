package structure

import "fmt"

// PageUpdate is a page that an update adds to.
type PageUpdate struct {
	u    *Update
	page Leaf
	dict Value
	gen  int
	Geometry
}

// BeginPage begins to add to page index, from 0. It reports false for a page object that the update has changed
// already: documents may show one page object as several pages.
func (u *Update) BeginPage(index int) (*PageUpdate, bool, error) {
	if index < 0 || index >= len(u.tree.Pages) {
		return nil, false, ErrDamaged
	}
	page := u.tree.Pages[index]
	if u.HasObject(page.Number) {
		return nil, false, nil
	}
	o, err := u.f.FetchObject(int64(page.Number))
	if err != nil {
		return nil, false, err
	}
	if o.Kind != Dict {
		return nil, false, ErrDamaged
	}
	return &PageUpdate{u: u, page: page, dict: o.Value, gen: o.Generation, Geometry: u.tree.readGeometry(page, o.Value)},
		true, nil
}

// AddContent puts a content stream before the page's own. In front it finds the graphics state as it is at the
// beginning of a page, whatever the page's own content leaves behind.
func (p *PageUpdate) AddContent(content []byte) error {
	contents := p.dict.Lookup("Contents")
	var list []Value
	switch {
	case contents.Kind == Array:
		list = contents.List
	case contents.Kind == Ref:
		v, err := p.u.f.Resolve(contents)
		if err != nil {
			return err
		}
		if list = []Value{contents}; v.Kind == Array {
			list = v.List
		}
	}
	num := p.u.NewObject()
	if err := p.u.PutStream(num, Value{Kind: Dict}, content); err != nil {
		return err
	}
	p.dict = p.dict.WithEntry("Contents", Value{Kind: Array, List: append([]Value{NewReference(num)}, list...)})
	return nil
}

// AddFonts makes fonts known to the page, and returns the names that its content calls them by. Every page of an
// update gets the same fonts: pages may have their resources in common.
func (p *PageUpdate) AddFonts(want string, numbers ...int) ([]string, error) {
	resources, owner := p.u.tree.inheritedEntry(p.page, p.dict, "Resources")
	if resources.Kind == Ref {
		owner = int(resources.Num)
		o, err := p.u.f.FetchObject(resources.Num)
		if err != nil {
			return nil, err
		}
		resources = o.Value
		if resources.Kind == Ref { // a reference to a reference: take what it means, into the page
			if resources, err = p.u.f.Resolve(resources); err != nil {
				return nil, err
			}
			owner = p.page.Number
		}
	}
	if resources.Kind != Dict {
		resources, owner = Value{Kind: Dict}, p.page.Number
	}
	if fonts := resources.Lookup("Font"); fonts.Kind == Ref { // an object of its own
		o, err := p.u.f.FetchObject(fonts.Num)
		if err != nil {
			return nil, err
		}
		all, names, known := mergeFonts(o.Value, want, numbers)
		if owner = int(fonts.Num); !known && !p.u.HasObject(owner) {
			p.u.PutObject(owner, o.Generation, all)
		}
		return names, nil
	}
	fonts, names, known := mergeFonts(resources.Lookup("Font"), want, numbers)
	if known {
		return names, nil
	}
	if owner == p.page.Number {
		p.dict = p.dict.WithEntry("Resources", resources.WithEntry("Font", fonts))
		return names, nil
	}
	return names, p.u.shareFonts(owner, fonts)
}

// shareFonts gives the fonts to the resources that several pages have in common: an object of their own, or an entry
// of a node above.
func (u *Update) shareFonts(owner int, fonts Value) error {
	if u.HasObject(owner) {
		return nil // by another page, under the same names
	}
	o, err := u.f.FetchObject(int64(owner))
	if err != nil {
		return err
	}
	v := o.Value
	if v.Lookup("Kids").Kind != Null {
		v = v.WithEntry("Resources", v.Lookup("Resources").WithEntry("Font", fonts))
	} else {
		v = v.WithEntry("Font", fonts)
	}
	u.PutObject(owner, o.Generation, v)
	return nil
}

// mergeFonts returns the fonts with those of the given numbers among them, under names like the wanted one that no
// other font has; known says that all of them were there already.
func mergeFonts(fonts Value, want string, numbers []int) (all Value, names []string, known bool) {
	if fonts.Kind != Dict {
		fonts = Value{Kind: Dict}
	}
	known = true
	for _, number := range numbers {
		name := want
		for i := 2; ; i++ {
			v := fonts.Lookup(name)
			if v.Kind == Ref && v.Num == int64(number) {
				break
			}
			if v.Kind == Null {
				fonts, known = fonts.WithEntry(name, NewReference(number)), false
				break
			}
			name = fmt.Sprintf("%s%d", want, i)
		}
		names = append(names, name)
	}
	return fonts, names, known
}

// AddAnnotation puts an annotation on top of the page's own.
func (p *PageUpdate) AddAnnotation(annotation int) error {
	list, err := p.u.f.ResolveEntry(p.dict, "Annots")
	if err != nil {
		return err
	}
	out := append([]Value{}, list.List...)
	p.dict = p.dict.WithEntry("Annots", Value{Kind: Array, List: append(out, NewReference(annotation))})
	return nil
}

// Write writes the page.
func (p *PageUpdate) Write() { p.u.PutObject(p.page.Number, p.gen, p.dict) }
