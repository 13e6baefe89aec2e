package structure

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Field is a form field on a page that has a text.
type Field struct {
	Left, Bottom, Right, Top float64
	// Text is its value as a reader is to see it. Lines end with a line feed.
	Text string
	// Size is the font size, 0 for one that suits the field. Cells is how many characters a field has room for that
	// gives each its own; else 0.
	Size  float64
	Cells int
	// Lines says that the text is broken into lines. Align is 0 for left, 1 for centred, 2 for right.
	Lines bool
	Align int
	// Turns is how many quarter turns counterclockwise it is written.
	Turns int
	// Drawn says that the field has a look of its own, even an outdated one.
	Drawn bool
}

const (
	// maxFields bounds the fields of a page, maxFieldText the bytes of a field's value, maxOptions what a field offers
	// for choice.
	maxFields    = 2000
	maxFieldText = 64 << 10
	maxOptions   = 5000
	// maxFieldDepth bounds the nodes above a field.
	maxFieldDepth = 32
)

// acroForm is what the document says of all its form fields.
type acroForm struct {
	dict Value
	// redraw says that looks may be outdated.
	redraw bool
}

// UndrawnFields returns the filled-in text and choice fields of page index, from 0, that a reader is to see, if they
// are not drawn already: those without a look of their own, and in documents that ask their viewer to draw all fields
// the others too. Passwords are none of them. No script is run.
func (p *PageLookup) UndrawnFields(index int) []Field {
	page, end, ok := p.beginReading(index)
	if !ok {
		return nil
	}
	defer end()
	if p.form == nil {
		p.form = p.readAcroForm()
	}
	if p.form.dict.Kind != Dict {
		return nil
	}
	list, err := p.f.ResolveEntry(page, "Annots")
	if err != nil {
		return nil
	}
	var out []Field
	for _, ref := range list.List[:min(len(list.List), maxFields)] {
		widget, err := p.f.Resolve(ref)
		if err != nil || !widget.Lookup("Subtype").IsName("Widget") {
			continue
		}
		if field, ok := p.readField(widget); ok {
			out = append(out, field)
		}
	}
	return out
}

func (p *PageLookup) readAcroForm() *acroForm {
	out := &acroForm{}
	root, err := p.f.Resolve(p.f.trailer.Lookup("Root"))
	if err != nil {
		return out
	}
	if out.dict, err = p.f.ResolveEntry(root, "AcroForm"); err != nil {
		return out
	}
	redraw, err := p.f.ResolveEntry(out.dict, "NeedAppearances")
	out.redraw = err == nil && redraw.Kind == Bool && string(redraw.Raw) == "true"
	return out
}

// readField reads a field from one of its places on the pages.
func (p *PageLookup) readField(widget Value) (Field, bool) {
	const invisible, hidden, noView = 1 << 0, 1 << 1, 1 << 5
	const multiline, password, comb = 1 << 12, 1 << 13, 1 << 24
	var out Field
	if flags := p.f.integerEntry(widget, "F"); flags > 0 && flags&(invisible|hidden|noView) != 0 {
		return out, false
	}
	look, err := p.f.ResolveEntry(widget, "AP")
	if err != nil {
		return out, false
	}
	look, err = p.f.ResolveEntry(look, "N")
	if out.Drawn = look.Kind != Null; err != nil || out.Drawn && !p.form.redraw || !p.readFieldPlace(&out, widget) {
		return out, false
	}
	nodes := p.fieldAncestors(widget)
	flags := max(0, p.inheritedEntry(nodes, "Ff").Num)
	switch kind := p.inheritedEntry(nodes, "FT"); {
	case kind.IsName("Tx") && flags&password == 0:
		out.Text = p.readText(p.inheritedUnresolved(nodes, "V"))
		out.Lines = flags&multiline != 0
		if n := p.inheritedEntry(nodes, "MaxLen").Num; flags&comb != 0 && !out.Lines && n > 0 && n < maxFieldText {
			out.Cells = int(n)
		}
	case kind.IsName("Ch"):
		out.Text = p.chosenOptions(nodes)
		out.Lines = strings.Contains(out.Text, "\n")
	}
	if strings.TrimSpace(out.Text) == "" {
		return out, false
	}
	style := p.inheritedEntry(nodes, "DA")
	if style.Kind == Null {
		style, _ = p.f.ResolveEntry(p.form.dict, "DA")
	}
	out.Size = parseFontSize(style.Text)
	out.Align = int(p.inheritedEntry(nodes, "Q").Num)
	marks, err := p.f.ResolveEntry(widget, "MK")
	if turned := p.f.integerEntry(marks, "R"); err == nil && turned > 0 {
		out.Turns = int(turned / 90 % 4)
	}
	return out, true
}

// readFieldPlace reads where the field is.
func (p *PageLookup) readFieldPlace(out *Field, widget Value) bool {
	rect, err := p.f.ResolveEntry(widget, "Rect")
	if err != nil || len(rect.List) != 4 {
		return false
	}
	var edges [4]float64
	for i, v := range rect.List {
		if v, err = p.f.Resolve(v); err != nil {
			return false
		}
		edges[i] = v.FloatValue()
	}
	out.Left, out.Right = min(edges[0], edges[2]), max(edges[0], edges[2])
	out.Bottom, out.Top = min(edges[1], edges[3]), max(edges[1], edges[3])
	const least = 1
	return out.Right-out.Left >= least && out.Top-out.Bottom >= least
}

// fieldAncestors returns a field and the nodes above it.
func (p *PageLookup) fieldAncestors(widget Value) []Value {
	out := []Value{widget}
	for range maxFieldDepth {
		parent, err := p.f.ResolveEntry(out[len(out)-1], "Parent")
		if err != nil || parent.Kind != Dict {
			break
		}
		out = append(out, parent)
	}
	return out
}

// inheritedUnresolved returns an entry of the first node that has it, which may be a reference.
func (p *PageLookup) inheritedUnresolved(nodes []Value, key string) Value {
	for _, n := range nodes {
		if v := n.Lookup(key); v.Kind != Null {
			return v
		}
	}
	return Value{}
}

// inheritedEntry returns an entry of the first node that has it.
func (p *PageLookup) inheritedEntry(nodes []Value, key string) Value {
	v, err := p.f.Resolve(p.inheritedUnresolved(nodes, key))
	if err != nil {
		return Value{}
	}
	return v
}

// readText reads a string, which may be the data of a stream.
func (p *PageLookup) readText(v Value) string {
	if v.Kind == Ref {
		o, err := p.f.FetchObject(v.Num)
		if err != nil {
			return ""
		}
		if v = o.Value; o.data >= 0 {
			data, err := p.f.ReadStream(o, maxFieldText)
			if err != nil {
				return ""
			}
			v = Value{Kind: String, Text: data}
		}
	}
	v, err := p.f.Resolve(v)
	if err != nil || v.Kind != String {
		return ""
	}
	return decodeTextString(v.Text[:min(len(v.Text), maxFieldText)])
}

// chosenOptions returns what is chosen in a choice field, as it is called there, a line each.
func (p *PageLookup) chosenOptions(nodes []Value) string {
	options := p.inheritedEntry(nodes, "Opt").List
	options = options[:min(len(options), maxOptions)]
	shown := func(v Value) string {
		text := p.readText(v)
		for _, o := range options {
			o, err := p.f.Resolve(o)
			if err == nil && o.Kind == Array && len(o.List) == 2 && p.readText(o.List[0]) == text {
				return p.readText(o.List[1])
			}
		}
		return text
	}
	value := p.inheritedEntry(nodes, "V")
	if value.Kind != Array {
		return shown(value)
	}
	var out []string
	for _, v := range value.List[:min(len(value.List), len(options))] {
		out = append(out, shown(v))
	}
	return strings.Join(out, "\n")
}

// parseFontSize returns the size that a field's style sets, such as "/Helv 9 Tf 0 g"; 0 for none.
func parseFontSize(style []byte) float64 {
	words := bytes.Fields(style)
	for i, w := range words {
		if i > 0 && string(w) == "Tf" {
			size, err := strconv.ParseFloat(string(words[i-1]), 64)
			if err == nil && size > 0 && size < 1000 {
				return size
			}
		}
	}
	return 0
}

// decodeTextString decodes a text string (ISO 32000-2 §7.9.2.2): UTF-16, UTF-8, or an encoding that is nearly Latin-1.
func decodeTextString(b []byte) string {
	out, wide := DecodeUTF16(b)
	switch {
	case wide:
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		out = strings.ToValidUTF8(string(b[3:]), "")
	default:
		runes := make([]rune, len(b))
		for i, c := range b {
			switch runes[i] = rune(c); {
			case c >= 0x18 && c <= 0x1f:
				runes[i] = []rune("˘ˇˆ˙˝˛˚˜")[c-0x18]
			case c >= 0x80 && c <= 0xa0:
				runes[i] = []rune("•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\ufffd€")[c-0x80]
			}
		}
		out = string(runes)
	}
	out = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\t", " ").Replace(out)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return -1
		}
		return r
	}, out)
}

// DecodeUTF16 decodes UTF-16 with a byte order mark, and reports whether b is that.
func DecodeUTF16(b []byte) (text string, ok bool) {
	var order binary.ByteOrder = binary.BigEndian
	switch {
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		order = binary.LittleEndian
	default:
		return "", false
	}
	units := make([]uint16, 0, len(b)/2)
	for b = b[2:]; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return string(utf16.Decode(units)), true
}
