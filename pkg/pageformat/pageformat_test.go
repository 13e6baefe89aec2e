package pageformat

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// sample is a page with everything that pages have.
func sample() *inkstreamv1.Page {
	word := func(text string, x float32, c float32) *inkstreamv1.Word {
		return &inkstreamv1.Word{Text: text, Bbox: []float32{x, 100, x + 40, 112}, Confidence: proto.Float32(c)}
	}
	return &inkstreamv1.Page{
		Number: 7, Width: 612, Height: 792, Dpi: 150, Confidence: 0.9, Language: "deu", Label: "iv",
		Fonts: []*inkstreamv1.Font{{Name: "Times \"New\"", Weight: 700, Italic: true, Color: "#1a2b3c"}},
		Blocks: []*inkstreamv1.Block{
			{Type: "heading", Level: 1, Bbox: []float32{72, 50, 300, 70}, Lines: []*inkstreamv1.Line{{
				Bbox: []float32{72, 50, 300, 70}, Words: []*inkstreamv1.Word{{Text: "<Kopf> & \"Fuß\"",
					Bbox: []float32{72, 50, 300, 70}, Font: 1, Size: 14.5}},
			}}},
			{Type: "paragraph", Language: "eng", Bbox: []float32{72, 100, 300, 112}, Lines: []*inkstreamv1.Line{{
				Bbox: []float32{72, 100, 300, 112}, Angle: 90,
				Words: []*inkstreamv1.Word{word("one", 72, 0.5), word(" ", 115, 1), word("two", 120, 0.98)},
			}}},
			{Type: "figure", Bbox: []float32{72, 200, 300, 400}, Image: 1},
			{Type: "footer", Bbox: []float32{72, 740, 300, 750},
				Lines: []*inkstreamv1.Line{{Words: []*inkstreamv1.Word{word(" ", 80, 0.7)}}}},
			{Type: "table", Bbox: []float32{72, 500, 300, 600},
				Lines: []*inkstreamv1.Line{{Words: []*inkstreamv1.Word{word("cell", 80, 0.7)}}}},
		},
	}
}

// absurd are pages that no engine should yield.
func absurd() map[string]*inkstreamv1.Page {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	odd := &inkstreamv1.Page{Number: -3, Width: nan, Height: inf, Dpi: -1, Confidence: nan, Language: "<x>",
		Blocks: []*inkstreamv1.Block{
			nil,
			{Type: "<script>", Language: "abcdefghi-", Bbox: []float32{nan, inf, -inf, 0},
				Lines: []*inkstreamv1.Line{nil, {Angle: 1 << 30, Words: []*inkstreamv1.Word{
					nil, {Text: "\x00\xff\ufffe\u202e", Bbox: []float32{1}, Confidence: proto.Float32(nan), Size: inf, Font: 99},
					{Text: "a", Bbox: []float32{-1e30, -1e30, 1e30, 1e30}, Confidence: proto.Float32(17), Size: 3, Font: -4},
				}}}},
		}}
	return map[string]*inkstreamv1.Page{"empty": {}, "odd": odd, "nil": nil}
}

// element is what the tests look at.
type element struct {
	name  string
	attrs map[string]string
}

func elements(t testing.TB, b []byte) []element {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	var out []element
	ids := map[string]bool{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, b)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		e := element{start.Name.Local, map[string]string{}}
		for _, a := range start.Attr {
			e.attrs[a.Name.Local] = a.Value
		}
		for _, key := range []string{"id", "ID"} {
			if id := e.attrs[key]; id != "" {
				if ids[id] {
					t.Errorf("two elements have the ID %s", id)
				}
				ids[id] = true
			}
		}
		out = append(out, e)
	}
}

var hocrBox = regexp.MustCompile(`bbox (\d+) (\d+) (\d+) (\d+)`)

func checkHOCR(t testing.TB, p *inkstreamv1.Page, meta Meta) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHOCR(&b, p, meta); err != nil {
		t.Fatal(err)
	}
	var page, classes []string
	metas := map[string]string{}
	for _, e := range elements(t, b.Bytes()) {
		if e.name == "meta" {
			metas[e.attrs["name"]] = e.attrs["content"]
			classes = strings.Fields(metas["ocr-capabilities"])
		}
		if e.attrs["lang"] != "" && e.name != "html" && !slices.Contains(classes, "ocrp_lang") {
			t.Errorf("%v has a language, which is none of the capabilities %v", e, classes)
		}
		if !strings.HasPrefix(e.attrs["class"], "ocr") {
			continue
		}
		if !slices.Contains(classes, e.attrs["class"]) {
			t.Errorf("%s is none of the capabilities %v", e.attrs["class"], classes)
		}
		checkProperties(t, e, classes)
		m := hocrBox.FindStringSubmatch(e.attrs["title"])
		if m == nil {
			t.Fatalf("%s %v: no box", e.name, e.attrs)
		}
		if e.attrs["class"] == "ocr_page" {
			page = m
		}
		for i := 1; i <= 4; i++ {
			v, _ := strconv.Atoi(m[i])
			most, _ := strconv.Atoi(page[3+(i-1)%2])
			if v > most {
				t.Errorf("%v: box beyond the page %v", e.attrs, page[0])
			}
		}
	}
	for _, name := range []string{"ocr-system", "ocr-capabilities", "ocr-number-of-pages"} {
		if metas[name] == "" {
			t.Errorf("no meta element %s", name)
		}
	}
	if page == nil {
		t.Error("no ocr_page")
	}
	return b.String()
}

// hocrProperties are the properties that are in use, with the form of their values.
var hocrProperties = map[string]*regexp.Regexp{
	"bbox":     regexp.MustCompile(`^\d+ \d+ \d+ \d+$`),
	"image":    regexp.MustCompile(`^"[^";]*"$`),
	"ppageno":  regexp.MustCompile(`^\d+$`),
	"scan_res": regexp.MustCompile(`^\d+ \d+$`),
	"baseline": regexp.MustCompile(`^-?\d+(\.\d+)? -?\d+(\.\d+)?$`),
	// An angle or a confidence beyond its range would be read as none.
	"textangle": regexp.MustCompile(`^-?([0-2]?\d?\d|3[0-5]\d)$`),
	"x_wconf":   regexp.MustCompile(`^(\d?\d|100)$`),
	"x_fsize":   regexp.MustCompile(`^\d+$`),
}

// checkProperties checks the title of an element: what properties it has, each once, and that the file is said to be
// capable of them.
func checkProperties(t testing.TB, e element, capabilities []string) {
	t.Helper()
	seen := map[string]bool{}
	for property := range strings.SplitSeq(e.attrs["title"], "; ") {
		name, value, _ := strings.Cut(property, " ")
		form := hocrProperties[name]
		if form == nil || !form.MatchString(value) || seen[name] {
			t.Errorf("%s: property %q", e.attrs["class"], property)
		}
		seen[name] = true
	}
	for _, need := range []struct{ class, property string }{{"ocr_page", "image"}, {"ocr_page", "ppageno"},
		{"ocrx_word", "x_wconf"}} {
		if e.attrs["class"] == need.class && !seen[need.property] {
			t.Errorf("%s %v lacks %s", need.class, e.attrs, need.property)
		}
	}
	for property, capability := range map[string]string{"x_wconf": "ocrp_wconf", "x_fsize": "ocrp_font"} {
		if seen[property] && !slices.Contains(capabilities, capability) {
			t.Errorf("%s has %s, and %s is none of the capabilities %v", e.attrs["class"], property, capability, capabilities)
		}
	}
}

func TestHOCR(t *testing.T) {
	t.Parallel()
	out := checkHOCR(t, sample(), Meta{Title: "A & B", Software: "inkstream", Version: "1", Image: `p"7".png`, DPI: 300})
	for _, want := range []string{
		`<title>A &amp; B</title>`,
		`class="ocr_page" id="page_7" title="image &quot;p_7_.png&quot;; bbox 0 0 2550 3300; ppageno 6; scan_res 300 300"`,
		`class="ocr_photo"`, `class="ocr_table"`, `title="bbox 300 416 467 467; x_wconf 50">one<`, `textangle 270`,
		`x_wconf 98`, `&lt;Kopf&gt; &amp;`, `lang="eng"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if got := strings.Count(out, `class="ocrx_word"`); got != 4 {
		t.Errorf("words: got %d, want 4, the blank one left out", got)
	}
}

func TestALTO(t *testing.T) {
	t.Parallel()
	out := checkALTO(t, sample(), Meta{Title: "A & B", Software: "inkstream", Version: "1"})
	for _, want := range []string{
		`<Page ID="page_7" PHYSICAL_IMG_NR="7" PRINTED_IMG_NR="iv" WIDTH="1275" HEIGHT="1650" PC="0.900" LANG="deu">`,
		`<MeasurementUnit>pixel</MeasurementUnit>`,
		`CONTENT="one" HPOS="150" VPOS="208" WIDTH="84" HEIGHT="26" WC="0.500"`, `<SP HPOS="234"`,
		`<Illustration ID="figure_7_3"`, `TYPE="table"`,
		`FONTFAMILY="Times &#34;New&#34;" FONTSIZE="14.5" FONTCOLOR="1a2b3c" FONTSTYLE="bold italics"`,
		`<StructureTag ID="kind_heading" LABEL="heading"/>`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

func TestAbsurdPagesStayWellFormed(t *testing.T) {
	t.Parallel()
	for name, p := range absurd() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkHOCR(t, p, Meta{})
			checkALTO(t, p, Meta{DPI: float32(math.NaN())})
		})
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorsAreReturned(t *testing.T) {
	t.Parallel()
	if err := WriteHOCR(full{}, sample(), Meta{}); !errors.Is(err, errFull) {
		t.Errorf("hocr: got %v, want %v", err, errFull)
	}
	if err := WriteALTO(full{}, sample(), Meta{}); !errors.Is(err, errFull) {
		t.Errorf("alto: got %v, want %v", err, errFull)
	}
}

// FuzzPage feeds pages as they come over the wire.
func FuzzPage(f *testing.F) {
	for _, p := range absurd() {
		b, _ := proto.Marshal(p) // invalid UTF-8 does not marshal; the other seeds do
		f.Add(b, float32(0))
	}
	if b, err := proto.Marshal(sample()); err == nil {
		f.Add(b, float32(72))
	}
	f.Fuzz(func(t *testing.T, b []byte, dpi float32) {
		p := &inkstreamv1.Page{}
		if proto.Unmarshal(b, p) != nil {
			return
		}
		checkHOCR(t, p, Meta{DPI: dpi})
		checkALTO(t, p, Meta{DPI: dpi})
	})
}
