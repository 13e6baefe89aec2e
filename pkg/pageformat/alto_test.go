package pageformat

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// altoRule is what ALTO 4.4 asks of an element, as far as it is written here: an order of children, as an expression
// over their names with a blank after each, and the types of its attributes, with "!" where it must be there.
type altoRule struct {
	children string
	attrs    map[string]string
	text     string // the type of its text; none where it is empty
}

func with(more map[string]string, groups ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, g := range append(groups, more) {
		for name, kind := range g {
			out[name] = kind
		}
	}
	return out
}

var (
	altoPlace = map[string]string{"HPOS": "float", "VPOS": "float", "WIDTH": "float", "HEIGHT": "float"}
	altoBlock = with(map[string]string{"ID": "ID!", "STYLEREFS": "IDREFS", "TAGREFS": "IDREFS", "ROTATION": "float",
		"IDNEXT": "IDREFS"}, altoPlace)
	altoBlocks = "((TextBlock|Illustration|GraphicalElement|ComposedBlock) )*"
)

// altoRules are those of the schema, http://www.loc.gov/standards/alto/v4/alto-4-4.xsd, for the elements that
// WriteALTO writes.
var altoRules = map[string]altoRule{
	"alto": {children: "(Description )?(Styles )?(Tags )?(ReadingOrder )?Layout ",
		attrs: map[string]string{"SCHEMAVERSION": "string", "schemaLocation": "string"}},
	"Description":            {children: "MeasurementUnit (sourceImageInformation )?(Processing )*"},
	"MeasurementUnit":        {text: "unit"},
	"sourceImageInformation": {children: "(fileName )?(fileIdentifier )*(documentIdentifier )*"},
	"fileName":               {text: "string"},
	"Processing": {
		children: "(processingCategory )?(processingDateTime )?(processingAgency )?(processingStepDescription )*(processingStepSettings )?(processingSoftware )?",
		attrs:    map[string]string{"ID": "ID!"},
	},
	"processingStepSettings": {text: "string"},
	"processingSoftware":     {children: "(softwareCreator )?(softwareName )?(softwareVersion )?(applicationDescription )?"},
	"softwareName":           {text: "string"},
	"softwareVersion":        {text: "string"},
	"Styles":                 {children: "(TextStyle )*(ParagraphStyle )*"},
	"TextStyle": {attrs: map[string]string{
		"ID": "ID", "FONTFAMILY": "string", "FONTTYPE": "fontType", "FONTWIDTH": "fontWidth", "FONTSIZE": "float",
		"FONTCOLOR": "hexBinary", "FONTSTYLE": "fontStyles",
	}},
	"Tags":         {children: "((LayoutTag|StructureTag|RoleTag|NamedEntityTag|OtherTag) )*"},
	"StructureTag": {attrs: map[string]string{"ID": "ID!", "TYPE": "string", "LABEL": "string!", "DESCRIPTION": "string"}},
	"Layout":       {children: "(Page )+", attrs: map[string]string{"STYLEREFS": "IDREFS"}},
	"Page": {
		children: "(TopMargin )?(LeftMargin )?(RightMargin )?(BottomMargin )?(PrintSpace )?",
		attrs: map[string]string{
			"ID": "ID!", "PHYSICAL_IMG_NR": "float!", "PRINTED_IMG_NR": "string", "WIDTH": "float", "HEIGHT": "float",
			"PC": "share", "LANG": "language", "ROTATION": "float",
		},
	},
	"PrintSpace": {children: altoBlocks,
		attrs: with(map[string]string{"ID": "ID", "STYLEREFS": "IDREFS"}, altoPlace)},
	"ComposedBlock": {children: altoBlocks,
		attrs: with(map[string]string{"TYPE": "string", "FILEID": "string"}, altoBlock)},
	"Illustration":     {attrs: with(map[string]string{"TYPE": "string", "FILEID": "string"}, altoBlock)},
	"GraphicalElement": {attrs: altoBlock},
	"TextBlock":        {children: "(TextLine )*", attrs: with(map[string]string{"LANG": "language"}, altoBlock)},
	"TextLine": {
		children: "(String (SP )?)+(HYP )?",
		attrs: with(map[string]string{"ID": "ID", "STYLEREFS": "IDREFS", "TAGREFS": "IDREFS", "LANG": "language"},
			altoPlace),
	},
	"SP": {attrs: with(map[string]string{"ID": "ID"}, altoPlace)},
	"String": {attrs: with(map[string]string{
		"ID": "ID", "STYLEREFS": "IDREFS", "TAGREFS": "IDREFS", "CONTENT": "string!", "WC": "share", "LANG": "language",
	}, altoPlace)},
}

// altoTypes are the types of attributes and texts. What an IDREFS names must be there as well.
var altoTypes = map[string]*regexp.Regexp{
	"string":     regexp.MustCompile(`(?s)^.*$`),
	"ID":         regexp.MustCompile(`^[\pL_][\pL\pM\pN._-]*$`),
	"IDREFS":     regexp.MustCompile(`^[\pL_][\pL\pM\pN._-]*( [\pL_][\pL\pM\pN._-]*)*$`),
	"float":      regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`),
	"share":      regexp.MustCompile(`^(0(\.\d+)?|1(\.0+)?)$`),
	"hexBinary":  regexp.MustCompile(`^([0-9a-fA-F]{2})*$`),
	"language":   regexp.MustCompile(`^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*$`),
	"unit":       regexp.MustCompile(`^(pixel|mm10|inch1200)$`),
	"fontType":   regexp.MustCompile(`^(serif|sans-serif)$`),
	"fontWidth":  regexp.MustCompile(`^(proportional|fixed)$`),
	"fontStyles": regexp.MustCompile(`^(bold|italics|smallcaps|strikethrough|subscript|superscript|underline)( (bold|italics|smallcaps|strikethrough|subscript|superscript|underline))*$`),
}

// altoChecker walks through a file.
type altoChecker struct {
	testing.TB
	open []*altoElement
	ids  map[string]bool
	refs []string
}

type altoElement struct{ name, children, text string }

func checkALTO(t testing.TB, p *inkstreamv1.Page, meta Meta) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteALTO(&b, p, meta); err != nil {
		t.Fatal(err)
	}
	checkALTOText(t, b.String())
	return b.String()
}

func checkALTOText(t testing.TB, text string) {
	t.Helper()
	elements(t, []byte(text)) // IDs are unique
	c := &altoChecker{TB: t, ids: map[string]bool{}}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			c.start(e)
		case xml.CharData:
			if n := len(c.open); n > 0 {
				c.open[n-1].text += string(e)
			}
		case xml.EndElement:
			c.end()
		}
	}
	for _, ref := range c.refs {
		if !c.ids[ref] {
			t.Errorf("%s is referred to, and there is no such ID", ref)
		}
	}
}

func (c *altoChecker) start(e xml.StartElement) {
	name := e.Name.Local
	rule, known := altoRules[name]
	if !known || e.Name.Space != "http://www.loc.gov/standards/alto/ns-v4#" {
		c.Errorf("element %s of %q is none of ALTO", name, e.Name.Space)
	}
	if n := len(c.open); n > 0 {
		c.open[n-1].children += name + " "
	} else if name != "alto" {
		c.Errorf("the file is of %s, want alto", name)
	}
	c.open = append(c.open, &altoElement{name: name})
	given := map[string]bool{}
	for _, a := range e.Attr {
		if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" {
			continue
		}
		given[a.Name.Local] = true
		kind := strings.TrimSuffix(rule.attrs[a.Name.Local], "!")
		if form := altoTypes[kind]; form == nil || !form.MatchString(a.Value) {
			c.Errorf("%s %s=%q, want %q", name, a.Name.Local, a.Value, kind)
		}
		switch kind {
		case "ID":
			c.ids[a.Value] = true
		case "IDREFS":
			c.refs = append(c.refs, strings.Fields(a.Value)...)
		case "float":
			if v, err := strconv.ParseFloat(a.Value, 32); err != nil || v < 0 || math.IsInf(v, 0) {
				c.Errorf("%s %s=%q, want a number from 0", name, a.Name.Local, a.Value)
			}
		}
	}
	for attr, kind := range rule.attrs {
		if strings.HasSuffix(kind, "!") && !given[attr] {
			c.Errorf("%s lacks %s", name, attr)
		}
	}
}

func (c *altoChecker) end() {
	e := c.open[len(c.open)-1]
	c.open = c.open[:len(c.open)-1]
	rule := altoRules[e.name]
	if ok, err := regexp.MatchString("^("+rule.children+")$", e.children); err != nil || !ok {
		c.Errorf("%s holds %s, want %s (%v)", e.name, e.children, rule.children, err)
	}
	switch {
	case rule.text == "" && strings.TrimSpace(e.text) != "":
		c.Errorf("%s holds text %q", e.name, e.text)
	case rule.text != "" && !altoTypes[rule.text].MatchString(e.text):
		c.Errorf("%s holds %q, want %s", e.name, e.text, rule.text)
	}
}

// counted counts errors instead of failing for them.
type counted struct {
	testing.TB
	errors int
}

func (c *counted) Errorf(string, ...any) { c.errors++ }

func (c *counted) Helper() {}

func TestALTORulesRefuseWhatTheSchemaDoes(t *testing.T) {
	t.Parallel()
	good := checkALTO(t, sample(), Meta{Title: "A"})
	for _, tt := range []struct{ name, old, new string }{
		{"no number of the page", ` PHYSICAL_IMG_NR="7"`, ``},
		{"a confidence above 1", `WC="0.500"`, `WC="1.500"`},
		{"a reference to nothing", `STYLEREFS="style_1"`, `STYLEREFS="style_9"`},
		{"an ID that begins with a digit", `ID="space_7"`, `ID="7"`},
		{"a space before the first word", `<String ID="word_7_1"`, `<SP/><String ID="word_7_1"`},
		{"an unknown attribute", `<PrintSpace `, `<PrintSpace ANGLE="1" `},
		{"a language that is none", `LANG="eng"`, `LANG="english language"`},
		{"styles after tags", `<Styles>`, `<Tags></Tags><Styles>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("no %s in\n%s", tt.old, good)
			}
			c := &counted{TB: t}
			if checkALTOText(c, bad); c.errors == 0 {
				t.Error("it was taken")
			}
		})
	}
}
