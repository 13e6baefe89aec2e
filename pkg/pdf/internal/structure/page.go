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

// Page begins to add to page index, from 0. It reports false for a page object that the update has changed already: documents may show one
// page object as several pages.
func (u *Update) Page(index int) (*PageUpdate, bool, error) {
	if index < 0 || index >= len(u.tree.Pages) {
		return nil, false, ErrDamaged
	}
	page := u.tree.Pages[index]
	if u.Done(page.Number) {
		return nil, false, nil
	}
	o, err := u.f.Fetch(int64(page.Number))
	if err != nil {
		return nil, false, err
	}
	if o.Kind != Dict {
		return nil, false, ErrDamaged
	}
	return &PageUpdate{u: u, page: page, dict: o.Value, gen: o.Generation, Geometry: u.tree.geometry(page, o.Value)}, true, nil
}

// AddContent puts a content stream before the page's own. In front it finds the graphics state as it is at the beginning of a page, whatever
// the page's own content leaves behind.
func (p *PageUpdate) AddContent(content []byte) error {
	contents := p.dict.At("Contents")
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
	num := p.u.New()
	if err := p.u.PutStream(num, Value{Kind: Dict}, content); err != nil {
		return err
	}
	p.dict = p.dict.With("Contents", Value{Kind: Array, List: append([]Value{Reference(num)}, list...)})
	return nil
}

// AddFont makes a font known to the page, and returns the name that its content calls it by.
func (p *PageUpdate) AddFont(name string, font int) (string, error) {
	resources, owner := p.u.tree.inherited(p.page, p.dict, "Resources")
	if resources.Kind == Ref {
		owner = int(resources.Num)
		o, err := p.u.f.Fetch(resources.Num)
		if err != nil {
			return "", err
		}
		resources = o.Value
		if resources.Kind == Ref { // a reference to a reference: take what it means, into the page
			if resources, err = p.u.f.Resolve(resources); err != nil {
				return "", err
			}
			owner = p.page.Number
		}
	}
	if resources.Kind != Dict {
		resources, owner = Value{Kind: Dict}, p.page.Number
	}
	fonts := resources.At("Font")
	if fonts.Kind == Ref {
		return p.addFont(int(fonts.Num), name, font)
	}
	name, known := unused(fonts, name, font)
	if known {
		return name, nil
	}
	resources = resources.With("Font", withFont(fonts, name, font))
	if owner == p.page.Number {
		p.dict = p.dict.With("Resources", resources)
		return name, nil
	}
	return name, p.u.share(owner, name, font)
}

// addFont adds the font to a dictionary of fonts that is an object of its own.
func (p *PageUpdate) addFont(owner int, name string, font int) (string, error) {
	o, err := p.u.f.Fetch(int64(owner))
	if err != nil {
		return "", err
	}
	name, known := unused(o.Value, name, font)
	if !known && !p.u.Done(owner) {
		p.u.Put(owner, o.Generation, withFont(o.Value, name, font))
	}
	return name, nil
}

// share adds the font to the resources that several pages have in common: an object of their own, or an entry of a node above.
func (u *Update) share(owner int, name string, font int) error {
	if u.Done(owner) {
		return nil // by another page, under the same name
	}
	o, err := u.f.Fetch(int64(owner))
	if err != nil {
		return err
	}
	v := o.Value
	if v.At("Kids").Kind != Null {
		resources := v.At("Resources")
		v = v.With("Resources", resources.With("Font", withFont(resources.At("Font"), name, font)))
	} else {
		v = v.With("Font", withFont(v.At("Font"), name, font))
	}
	u.Put(owner, o.Generation, v)
	return nil
}

func withFont(fonts Value, name string, font int) Value {
	if fonts.Kind != Dict {
		fonts = Value{Kind: Dict}
	}
	return fonts.With(name, Reference(font))
}

// unused returns a name like the wanted one that the fonts do not have; known says that it is the font's own already.
func unused(fonts Value, want string, font int) (string, bool) {
	name := want
	for i := 2; ; i++ {
		v := fonts.At(name)
		if v.Kind == Null {
			return name, false
		}
		if v.Kind == Ref && v.Num == int64(font) {
			return name, true
		}
		name = fmt.Sprintf("%s%d", want, i)
	}
}

// AddAnnotation puts an annotation on top of the page's own.
func (p *PageUpdate) AddAnnotation(annotation int) error {
	list, err := p.u.f.Entry(p.dict, "Annots")
	if err != nil {
		return err
	}
	out := append([]Value{}, list.List...)
	p.dict = p.dict.With("Annots", Value{Kind: Array, List: append(out, Reference(annotation))})
	return nil
}

// Write writes the page.
func (p *PageUpdate) Write() { p.u.Put(p.page.Number, p.gen, p.dict) }
