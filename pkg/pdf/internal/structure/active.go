package structure

import (
	"cmp"
	"slices"
)

// What a viewer runs, or what leads out of the document without the reader's asking, goes from documents that others
// are to open: actions of the types below wherever they stand, scripts by name, forms in XML, and what annotations
// play. Links to web pages, destinations, form fields, attachments and all that is drawn stay. The original's bytes
// are not changed: an object with such content is written once more without it, and that is the one that counts.

// activeActions are the types of actions that go (ISO 32000-2 §12.6.4).
var activeActions = []string{"JavaScript", "Launch", "GoToR", "GoToE", "SubmitForm", "ImportData", "Rendition", "Movie", "Sound",
	"RichMediaExecute", "GoTo3DView"}

// playedEntries are what annotations play, by their subtype; what they show instead of it stays.
var playedEntries = map[string][]string{
	"RichMedia": {"RichMediaContent", "RichMediaSettings"}, "3D": {"3DD", "3DA", "3DU"}, "Movie": {"Movie", "A"},
	"Sound": {"Sound"},
}

// maxRewrittenStream bounds a stream whose dictionary is written once more.
const maxRewrittenStream = 64 << 20

// activeContent knows which objects have a part in the document's structure by which they hold active content.
type activeContent struct{ catalogue, names, form int64 }

// findActiveContent looks where the document's scripts by name and its form in XML are.
func findActiveContent(f *File) activeContent {
	var out activeContent
	if r := f.trailer.Lookup("Root"); r.Kind == Ref {
		out.catalogue = r.Num
	}
	root, err := f.Resolve(f.trailer.Lookup("Root"))
	if err != nil {
		return out
	}
	if r := root.Lookup("Names"); r.Kind == Ref {
		out.names = lastReference(f, r)
	}
	if r := root.Lookup("AcroForm"); r.Kind == Ref {
		out.form = lastReference(f, r)
	}
	return out
}

// lastReference follows references to the object that is none.
func lastReference(f *File, v Value) int64 {
	for range 8 {
		o, err := f.FetchObject(v.Num)
		if err != nil || o.Kind != Ref {
			break
		}
		v = o.Value
	}
	return v.Num
}

// RemoveActiveContent writes the objects of the original that hold active content once more without it, and returns how
// many there are. Objects that the update has written have none already. An object that cannot be read is taken for
// one: another reader may make something of it.
func (u *Update) RemoveActiveContent() (int, error) {
	budget := u.f.in.allowance()
	u.f.in.budget = &budget
	defer func() { u.f.in.budget = nil }()
	type place struct {
		number int64
		xrefEntry
	}
	var places []place
	for number, e := range u.f.xref.allEntries() {
		if !u.HasObject(int(number)) && !u.f.isEncryptDict(number) {
			places = append(places, place{number, e})
		}
	}
	// In the order of the file, so that each object stream is inflated once.
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.offset, b.offset))
	})
	removed := 0
	for _, p := range places {
		o, err := u.f.FetchObject(p.number)
		if budget < 0 {
			return removed, ErrDamaged
		}
		if err != nil {
			o = Object{Number: int(p.number), Generation: int(p.generation), data: -1}
		} else if v, changed := u.withoutActive(int64(o.Number), o.Value); changed {
			o.Value = v
		} else {
			continue
		}
		removed++
		if err := u.putAgain(o); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// putAgain writes an object of the original with another value. A stream keeps its bytes as they are in the file, which
// are encrypted for its number.
func (u *Update) putAgain(o Object) error {
	if o.data < 0 || o.Kind != Dict {
		u.PutObject(o.Number, o.Generation, o.Value)
		return nil
	}
	raw, err := u.f.readRawStream(o, maxRewrittenStream)
	if err != nil {
		return err
	}
	if s := u.f.security; s != nil {
		o.mapStrings(func(b []byte) []byte { return s.encryptBytes(s.strings, b, o.Number, o.Generation) })
	}
	u.beginObject(o.Number, o.Generation)
	u.appendStream(o.Value, raw)
	return nil
}

// withoutActive returns an object's value without active content, and whether there was any.
func (u *Update) withoutActive(number int64, v Value) (Value, bool) {
	if v.Kind != Dict && v.Kind != Array {
		return v, false
	}
	out, changed := u.stripValue(v)
	drop := func(keys ...string) {
		for _, key := range keys {
			if out.Kind == Dict && out.Lookup(key).Kind != Null {
				out, changed = out.without(key), true
			}
		}
	}
	switch number {
	case 0: // no object has it
	case u.active.names:
		drop("JavaScript")
	case u.active.form:
		drop("XFA")
	case u.active.catalogue:
		if names := out.Lookup("Names"); names.Lookup("JavaScript").Kind != Null {
			out, changed = out.WithEntry("Names", names.without("JavaScript")), true
		}
		if form := out.Lookup("AcroForm"); form.Lookup("XFA").Kind != Null {
			out, changed = out.WithEntry("AcroForm", form.without("XFA")), true
		}
		drop("NeedsRendering") // of forms in XML: the page as it stands is all that there is
	}
	return out, changed
}

// stripValue takes actions out of a value. In an array null takes the place of one, so that the others keep theirs.
func (u *Update) stripValue(v Value) (Value, bool) {
	switch {
	case v.Kind == Dict && u.isActiveAction(v):
		return Value{}, true
	case v.Kind == Dict:
		return u.stripDict(v)
	case v.Kind == Array:
		changed := false
		for i, e := range v.List {
			stripped, different := u.stripValue(e)
			if different && !changed {
				v.List, changed = slices.Clone(v.List), true
			}
			if different {
				v.List[i] = stripped
			}
		}
		return v, changed
	}
	return v, false
}

func (u *Update) stripDict(v Value) (Value, bool) {
	played := playedEntries[u.nameOf(v.Lookup("Subtype"))]
	out, changed := Value{Kind: Dict, Entries: make([]Entry, 0, len(v.Entries))}, false
	for _, e := range v.Entries {
		if slices.ContainsFunc(played, func(key string) bool { return spellsName(e.Key, key) }) {
			changed = true
			continue
		}
		stripped, different := u.stripValue(e.Value)
		if changed = changed || different; different && stripped.Kind == Null {
			continue
		}
		out.Entries = append(out.Entries, Entry{e.Key, stripped})
	}
	if !changed {
		return v, false
	}
	return out, true
}

// isActiveAction reports whether a dictionary is an action that goes. Viewers differ in which of two entries of the
// same key they take.
func (u *Update) isActiveAction(v Value) bool {
	for _, e := range v.Entries {
		if spellsName(e.Key, "S") && slices.Contains(activeActions, u.nameOf(e.Value)) {
			return true
		}
	}
	return false
}

// nameOf returns a name, which may stand in an object of its own.
func (u *Update) nameOf(v Value) string {
	if v.Kind == Ref {
		if r, err := u.f.Resolve(v); err == nil {
			v = r
		}
	}
	return v.decodedName()
}
