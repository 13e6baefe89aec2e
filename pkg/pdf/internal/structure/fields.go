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
	// Size is the font size, 0 for one that suits the field. Cells is how many characters a field has room for that gives each its own; else 0.
	Size  float64
	Cells int
	// Lines says that the text is broken into lines. Align is 0 for left, 1 for centred, 2 for right.
	Lines bool
	Align int
	// Turns is how many quarter turns counterclockwise it is written.
	Turns int
	// Drawn says that the field has a look of its own, be it an outdated one.
	Drawn bool
}

const (
	// maxFields bounds the fields of a page, maxFieldText the bytes of a field's value, maxOptions what a field offers for choice.
	maxFields    = 2000
	maxFieldText = 64 << 10
	maxOptions   = 5000
	// maxFieldDepth bounds the nodes above a field.
	maxFieldDepth = 32
)

// form is what the document says of all its form fields.
type form struct {
	dict Value
	// redraw says that looks may be outdated.
	redraw bool
}

// Fields returns the filled-in text and choice fields of page index, from 0, that a reader is to see, if they are not drawn already: those without a
// look of their own, and in documents that ask their viewer to draw all fields the others too. Passwords are none of them. No script is run.
func (p *Pages) Fields(index int) []Field {
	page, ok := p.at(index)
	if !ok || p.budget <= 0 {
		return nil
	}
	p.f.budget = &p.budget
	defer func() { p.f.budget = nil }()
	defer p.f.trim()
	if p.form == nil {
		p.form = p.readForm()
	}
	if p.form.dict.Kind != Dict {
		return nil
	}
	list, err := p.f.Entry(page, "Annots")
	if err != nil {
		return nil
	}
	var out []Field
	for _, ref := range list.List[:min(len(list.List), maxFields)] {
		widget, err := p.f.Resolve(ref)
		if err != nil || !widget.At("Subtype").Is("Widget") {
			continue
		}
		if field, ok := p.field(widget); ok {
			out = append(out, field)
		}
	}
	return out
}

func (p *Pages) readForm() *form {
	out := &form{}
	root, err := p.f.Resolve(p.f.trailer.At("Root"))
	if err != nil {
		return out
	}
	if out.dict, err = p.f.Entry(root, "AcroForm"); err != nil {
		return out
	}
	redraw, err := p.f.Entry(out.dict, "NeedAppearances")
	out.redraw = err == nil && redraw.Kind == Bool && string(redraw.Raw) == "true"
	return out
}

// field reads a field from one of its places on the pages.
func (p *Pages) field(widget Value) (Field, bool) {
	const invisible, hidden, noView = 1 << 0, 1 << 1, 1 << 5
	const multiline, password, comb = 1 << 12, 1 << 13, 1 << 24
	var out Field
	if flags := p.f.integer(widget, "F"); flags > 0 && flags&(invisible|hidden|noView) != 0 {
		return out, false
	}
	look, err := p.f.Entry(widget, "AP")
	if err != nil {
		return out, false
	}
	look, err = p.f.Entry(look, "N")
	if out.Drawn = look.Kind != Null; err != nil || out.Drawn && !p.form.redraw || !p.place(&out, widget) {
		return out, false
	}
	nodes := p.above(widget)
	flags := max(0, p.inherited(nodes, "Ff").Num)
	switch kind := p.inherited(nodes, "FT"); {
	case kind.Is("Tx") && flags&password == 0:
		out.Text = p.text(p.inheritedAsIs(nodes, "V"))
		out.Lines = flags&multiline != 0
		if n := p.inherited(nodes, "MaxLen").Num; flags&comb != 0 && !out.Lines && n > 0 && n < maxFieldText {
			out.Cells = int(n)
		}
	case kind.Is("Ch"):
		out.Text = p.chosen(nodes)
		out.Lines = strings.Contains(out.Text, "\n")
	}
	if strings.TrimSpace(out.Text) == "" {
		return out, false
	}
	style := p.inherited(nodes, "DA")
	if style.Kind == Null {
		style, _ = p.f.Entry(p.form.dict, "DA")
	}
	out.Size = fontSize(style.Text)
	out.Align = int(p.inherited(nodes, "Q").Num)
	marks, err := p.f.Entry(widget, "MK")
	if turned := p.f.integer(marks, "R"); err == nil && turned > 0 {
		out.Turns = int(turned / 90 % 4)
	}
	return out, true
}

// place reads where the field is.
func (p *Pages) place(out *Field, widget Value) bool {
	rect, err := p.f.Entry(widget, "Rect")
	if err != nil || len(rect.List) != 4 {
		return false
	}
	var edges [4]float64
	for i, v := range rect.List {
		if v, err = p.f.Resolve(v); err != nil {
			return false
		}
		edges[i] = v.Float()
	}
	out.Left, out.Right = min(edges[0], edges[2]), max(edges[0], edges[2])
	out.Bottom, out.Top = min(edges[1], edges[3]), max(edges[1], edges[3])
	const least = 1
	return out.Right-out.Left >= least && out.Top-out.Bottom >= least
}

// above returns a field and the nodes above it.
func (p *Pages) above(widget Value) []Value {
	out := []Value{widget}
	for range maxFieldDepth {
		parent, err := p.f.Entry(out[len(out)-1], "Parent")
		if err != nil || parent.Kind != Dict {
			break
		}
		out = append(out, parent)
	}
	return out
}

// inheritedAsIs returns an entry of the first node that has it, which may be a reference.
func (p *Pages) inheritedAsIs(nodes []Value, key string) Value {
	for _, n := range nodes {
		if v := n.At(key); v.Kind != Null {
			return v
		}
	}
	return Value{}
}

// inherited returns an entry of the first node that has it.
func (p *Pages) inherited(nodes []Value, key string) Value {
	v, err := p.f.Resolve(p.inheritedAsIs(nodes, key))
	if err != nil {
		return Value{}
	}
	return v
}

// text reads a string, which may be the data of a stream.
func (p *Pages) text(v Value) string {
	if v.Kind == Ref {
		o, err := p.f.Fetch(v.Num)
		if err != nil {
			return ""
		}
		if v = o.Value; o.data >= 0 {
			data, err := p.f.Stream(o, maxFieldText)
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
	return textString(v.Text[:min(len(v.Text), maxFieldText)])
}

// chosen returns what is chosen in a choice field, as it is called there, a line each.
func (p *Pages) chosen(nodes []Value) string {
	options := p.inherited(nodes, "Opt").List
	options = options[:min(len(options), maxOptions)]
	shown := func(v Value) string {
		text := p.text(v)
		for _, o := range options {
			o, err := p.f.Resolve(o)
			if err == nil && o.Kind == Array && len(o.List) == 2 && p.text(o.List[0]) == text {
				return p.text(o.List[1])
			}
		}
		return text
	}
	value := p.inherited(nodes, "V")
	if value.Kind != Array {
		return shown(value)
	}
	var out []string
	for _, v := range value.List[:min(len(value.List), len(options))] {
		out = append(out, shown(v))
	}
	return strings.Join(out, "\n")
}

// fontSize returns the size that a field's style sets, such as "/Helv 9 Tf 0 g"; 0 for none.
func fontSize(style []byte) float64 {
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

// textString decodes a text string (ISO 32000-2 §7.9.2.2): UTF-16, UTF-8, or an encoding that is nearly Latin-1.
func textString(b []byte) string {
	out, wide := UTF16Text(b)
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

// UTF16Text decodes UTF-16 with a byte order mark, and reports whether b is that.
func UTF16Text(b []byte) (text string, ok bool) {
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
