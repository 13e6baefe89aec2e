package textlayer

import (
	"fmt"
	"math"
	"strings"

	"inkstream.dev/pkg/pdf/internal/structure"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// colours by type of block, as red, green and blue from 0 to 1: like things alike, neighbours on a page apart.
var colours = map[string][3]float64{
	"title":       {0.75, 0.05, 0.15},
	"heading":     {0.85, 0.25, 0.05},
	"paragraph":   {0.10, 0.40, 0.75},
	"list_item":   {0.00, 0.55, 0.60},
	"code":        {0.35, 0.35, 0.35},
	"table":       {0.10, 0.55, 0.15},
	"figure":      {0.55, 0.20, 0.70},
	"caption":     {0.80, 0.20, 0.60},
	"header":      {0.55, 0.45, 0.10},
	"footer":      {0.55, 0.45, 0.10},
	"page_number": {0.55, 0.45, 0.10},
	"footnote":    {0.45, 0.30, 0.15},
	"formula":     {0.20, 0.15, 0.60},
}

// Legend is what all overlays of a document share: a font, and a graphics state for areas to be seen through.
type Legend struct{ font, veil int }

// NewLegend writes the shared objects.
func NewLegend(u *structure.Update) Legend {
	l := Legend{font: u.New(), veil: u.New()}
	u.Put(l.font, 0, dict("Type", name("Font"), "Subtype", name("Type1"), "BaseFont", name("Helvetica"), "Encoding", name("WinAnsiEncoding")))
	u.Put(l.veil, 0, dict("Type", name("ExtGState"), "ca", number(0.10)))
	return l
}

// maxMarks bounds what is drawn on a page.
const maxMarks = 5000

// AddBoxes draws the blocks of p over the page, each in the colour of its type with its number in reading order. They are drawn as an
// annotation, which is laid over a page whatever its content leaves behind, and can be hidden.
func AddBoxes(u *structure.Update, page *structure.PageUpdate, legend Legend, p *inkstreamv1.Page) (bool, error) {
	o := overlay{canvas: newCanvas(page, p)}
	o.unit = math.Min(3, math.Max(0.4, math.Min(o.width, o.height)/600))
	for i, b := range p.GetBlocks() {
		if b != nil && i < maxMarks {
			o.block(i+1, b)
		}
	}
	if len(o.out) == 0 {
		return false, nil
	}
	g := page.Geometry
	rect := array(number(g.Left), number(g.Bottom), number(g.Right), number(g.Top))
	form, annotation := u.New(), u.New()
	err := u.PutStream(form, dict("Type", name("XObject"), "Subtype", name("Form"), "BBox", rect, "Resources", dict(
		"Font", dict("F", structure.Reference(legend.font)), "ExtGState", dict("V", structure.Reference(legend.veil)))), o.out)
	if err != nil {
		return false, err
	}
	const printed, readOnly, locked = 4, 64, 128
	u.Put(annotation, 0, dict("Type", name("Annot"), "Subtype", name("Stamp"), "Rect", rect, "F", structure.Integer(printed|readOnly|locked),
		"NM", text("inkstream-layout"), "AP", dict("N", structure.Reference(form))))
	return true, page.AddAnnotation(annotation)
}

type overlay struct {
	canvas
	unit float64 // a point on an ordinary page
}

func (o *overlay) block(n int, b *inkstreamv1.Block) {
	box, ok := o.box(b.GetBbox())
	if !ok {
		return
	}
	c, known := colours[b.GetType()]
	if !known {
		c = [3]float64{0.5, 0.5, 0.5}
	}
	o.printf("q %.2f %.2f %.2f RG %.2f %.2f %.2f rg %.2f w\n", c[0], c[1], c[2], c[0], c[1], c[2], 0.8*o.unit)
	o.rect(box)
	o.printf("/V gs B\nQ\n")
	if t := b.GetTable(); t != nil {
		o.printf("q %.2f %.2f %.2f RG %.2f w\n", c[0], c[1], c[2], 0.35*o.unit)
		for i, cell := range t.GetCells() {
			if cellBox, ok := o.box(cell.GetBbox()); ok && i < maxMarks {
				o.rect(cellBox)
				o.printf("S\n")
			}
		}
		o.printf("Q\n")
	}
	o.label(box, c, caption(n, b))
}

func caption(n int, b *inkstreamv1.Block) string {
	kind := b.GetType()
	if kind == "" {
		kind = "block"
	}
	s := fmt.Sprintf("%d %s", n, kind)
	if b.GetLevel() > 0 {
		s += fmt.Sprintf(" %d", b.GetLevel())
	}
	if t := b.GetTable(); t != nil {
		s += fmt.Sprintf(" %dx%d", t.GetRows(), t.GetColumns())
	}
	return s
}

func (o *overlay) printf(format string, args ...any) { o.out = fmt.Appendf(o.out, format, args...) }

// rect appends a rectangle given as displayed.
func (o *overlay) rect(box [4]float64) {
	x0, y0 := o.geometry.User(box[0], box[1])
	x1, y1 := o.geometry.User(box[2], box[3])
	o.printf("%.2f %.2f %.2f %.2f re\n", math.Min(x0, x1), math.Min(y0, y1), math.Abs(x1-x0), math.Abs(y1-y0))
}

// label writes a small tag over the upper left corner of a box, or inside it where the page ends.
func (o *overlay) label(box [4]float64, c [3]float64, text string) {
	text = strings.Map(func(r rune) rune { // types are ours, but a page may come from elsewhere
		if r < ' ' || r > '~' || r == '(' || r == ')' || r == '\\' {
			return '?'
		}
		return r
	}, text[:min(len(text), 60)])
	size := 5.2 * o.unit
	width, height := 0.52*size*float64(len(text))+0.6*size, 1.25*size
	left := math.Max(0, math.Min(box[0], o.width-width))
	top := box[1] - height
	if top < 0 {
		top = box[1]
	}
	o.printf("q %.2f %.2f %.2f rg\n", c[0], c[1], c[2])
	o.rect([4]float64{left, top, left + width, top + height})
	o.printf("f\n1 1 1 rg BT /F %.2f Tf ", size)
	x, y := o.geometry.User(left+0.3*size, top+0.95*size)
	ax, ay := o.geometry.User(left+0.3*size+1, top+0.95*size)
	ux, uy := o.geometry.User(left+0.3*size, top+0.95*size-1)
	o.printf("%.0f %.0f %.0f %.0f %.2f %.2f Tm (%s) Tj ET Q\n", ax-x, ay-y, ux-x, uy-y, x, y, text)
}
