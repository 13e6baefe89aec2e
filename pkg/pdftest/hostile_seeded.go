package pdftest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// hostileKinds are the ways in which the pages of HostileFile take an engine's time, each with measures of its own.
var hostileKinds = []struct {
	name string
	make func(d *pdfDocument, r *rand.Rand) (resources string, content objectRef)
}{
	{"colours", func(d *pdfDocument, _ *rand.Rand) (string, objectRef) { return d.addSlowContent() }},
	{"tiling", func(d *pdfDocument, r *rand.Rand) (string, objectRef) {
		step := []float64{0.0001, 0.001, 0.01}[r.IntN(3)]
		cell := d.w.addStream(fmt.Sprintf("/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1] "+
			"/XStep %g /YStep %g /Resources << >>", step, step), []byte("0 0 1 1 re f\n"))
		content := "/Pattern cs /P scn\n" + strings.Repeat("0 0 595 842 re f\n", 20+r.IntN(60))
		return fmt.Sprintf("/Pattern << /P %v >>", cell), d.w.addStream("", []byte(content))
	}},
	{"shading", func(d *pdfDocument, r *rand.Rand) (string, objectRef) {
		shading := d.w.addObject("<< /ShadingType 1 /ColorSpace /DeviceGray /Domain [0 1 0 1] /Matrix [595 0 0 842 0 0] "+
			"/Function %v >>", d.addSlowFunction(2))
		content := "BT /F1 12 Tf 72 700 Td (A word.) Tj ET\n" + strings.Repeat("/S sh\n", 100+r.IntN(900))
		return fmt.Sprintf("/Shading << /S %v >>", shading), d.w.addStream("", []byte(content))
	}},
	{"forms", func(d *pdfDocument, r *rand.Rand) (string, objectRef) {
		levels, times := 8+r.IntN(12), 6+r.IntN(10)
		form := d.w.addStream("/Type /XObject /Subtype /Form /BBox [0 0 595 842]", []byte("0 0 m 1 1 l S\n"))
		for range levels {
			form = d.w.addStream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 595 842] "+
				"/Resources << /XObject << /L %v >> >>", form), []byte(strings.Repeat("/L Do\n", times)))
		}
		return fmt.Sprintf("/XObject << /L %v >>", form), d.w.addStream("", []byte("/L Do\n"))
	}},
	{"images", func(d *pdfDocument, r *rand.Rand) (string, objectRef) {
		image := d.w.addStream("/Type /XObject /Subtype /Image /Width 64 /Height 64 /ColorSpace /DeviceGray /BitsPerComponent 8",
			make([]byte, 64*64))
		var b strings.Builder
		for range 50_000 + r.IntN(100_000) {
			fmt.Fprintf(&b, "q %d 0 0 %d %d %d cm /I Do Q\n", 50+r.IntN(500), 50+r.IntN(700), r.IntN(500), r.IntN(700))
		}
		return fmt.Sprintf("/XObject << /I %v >>", image), d.w.addStream("", []byte(b.String()))
	}},
	{"paths", func(d *pdfDocument, r *rand.Rand) (string, objectRef) {
		var b strings.Builder
		b.WriteString("0 0 m\n")
		for range 300_000 + r.IntN(700_000) {
			fmt.Fprintf(&b, "%d %d l\n", r.IntN(595), r.IntN(842))
		}
		b.WriteString("S\n")
		return "", d.w.addStream("", []byte(b.String()))
	}},
}

// HostileFile returns a small file all of whose pages share a content that takes an engine as long as it is let: of
// which kind, and how much of it, the seed decides.
func HostileFile(seed uint64, pages int) File {
	r := rand.New(rand.NewPCG(seed, 19))
	kind := hostileKinds[r.IntN(len(hostileKinds))]
	d := newPDFDocument(newPDFWriter())
	f := File{Name: fmt.Sprintf("hostile-%s-%d.pdf", kind.name, seed)}
	resources, content := kind.make(d, r)
	for range pages {
		d.addPageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, content), resources)
		f.Pages = append(f.Pages, Page{Kind: NativePage, Width: a4Width, Height: a4Height})
	}
	f.PDF = d.finishDocument("", "")
	return f
}
