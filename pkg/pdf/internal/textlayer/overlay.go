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
type Legend struct{ font, transparency int }

// NewLegend writes the shared objects.
func NewLegend(u *structure.Update) Legend {
	l := Legend{font: u.NewObject(), transparency: u.NewObject()}
	u.PutObject(l.font, 0, dictValue("Type", nameValue("Font"), "Subtype", nameValue("Type1"), "BaseFont",
		nameValue("Helvetica"), "Encoding", nameValue("WinAnsiEncoding")))
	u.PutObject(l.transparency, 0, dictValue("Type", nameValue("ExtGState"), "ca", numberValue(0.10)))
	return l
}

// maxMarks bounds what is drawn on a page.
const maxMarks = 5000

// AddBoxes draws the blocks of p over the page, each in the colour of its type with its number in reading order. They
// are drawn as an annotation, which is laid over a page whatever its content leaves behind, and can be hidden.
func AddBoxes(u *structure.Update, page *structure.PageUpdate, legend Legend, p *inkstreamv1.Page) (bool, error) {
	o := overlayCanvas{pageCanvas: newPageCanvas(page, p)}
	o.unit = math.Min(3, math.Max(0.4, math.Min(o.width, o.height)/600))
	for i, b := range p.GetBlocks() {
		if b != nil && i < maxMarks {
			o.drawBlock(i+1, b)
		}
	}
	if len(o.out) == 0 {
		return false, nil
	}
	g := page.Geometry
	rect := arrayValue(numberValue(g.Left), numberValue(g.Bottom), numberValue(g.Right), numberValue(g.Top))
	form, annotation := u.NewObject(), u.NewObject()
	err := u.PutStream(form, dictValue("Type", nameValue("XObject"), "Subtype", nameValue("Form"), "BBox", rect,
		"Resources", dictValue(
			"Font", dictValue("F", structure.NewReference(legend.font)), "ExtGState",
			dictValue("V", structure.NewReference(legend.transparency)))), o.out)
	if err != nil {
		return false, err
	}
	const printed, readOnly, locked = 4, 64, 128
	u.PutObject(annotation, 0, dictValue("Type", nameValue("Annot"), "Subtype", nameValue("Stamp"), "Rect", rect, "F",
		structure.NewInteger(printed|readOnly|locked),
		"NM", stringValue("inkstream-layout"), "AP", dictValue("N", structure.NewReference(form))))
	return true, page.AddAnnotation(annotation)
}

type overlayCanvas struct {
	pageCanvas
	unit float64 // a point on an ordinary page
}

func (o *overlayCanvas) drawBlock(n int, b *inkstreamv1.Block) {
	box, ok := o.toPageBox(b.GetBbox())
	if !ok {
		return
	}
	c, known := colours[b.GetType()]
	if !known {
		c = [3]float64{0.5, 0.5, 0.5}
	}
	o.appendFormat("q %.2f %.2f %.2f RG %.2f %.2f %.2f rg %.2f w\n", c[0], c[1], c[2], c[0], c[1], c[2], 0.8*o.unit)
	o.appendRect(box)
	o.appendFormat("/V gs B\nQ\n")
	if t := b.GetTable(); t != nil {
		o.appendFormat("q %.2f %.2f %.2f RG %.2f w\n", c[0], c[1], c[2], 0.35*o.unit)
		for i, cell := range t.GetCells() {
			if cellBox, ok := o.toPageBox(cell.GetBbox()); ok && i < maxMarks {
				o.appendRect(cellBox)
				o.appendFormat("S\n")
			}
		}
		o.appendFormat("Q\n")
	}
	o.drawLabel(box, c, blockCaption(n, b))
}

func blockCaption(n int, b *inkstreamv1.Block) string {
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

func (o *overlayCanvas) appendFormat(format string, args ...any) {
	o.out = fmt.Appendf(o.out, format, args...)
}

// appendRect appends a rectangle given as displayed.
func (o *overlayCanvas) appendRect(box [4]float64) {
	x0, y0 := o.geometry.DisplayToUser(box[0], box[1])
	x1, y1 := o.geometry.DisplayToUser(box[2], box[3])
	o.appendFormat("%.2f %.2f %.2f %.2f re\n", math.Min(x0, x1), math.Min(y0, y1), math.Abs(x1-x0), math.Abs(y1-y0))
}

// drawLabel writes a small tag over the upper left corner of a box, or inside it where the page ends.
func (o *overlayCanvas) drawLabel(box [4]float64, c [3]float64, text string) {
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
	o.appendFormat("q %.2f %.2f %.2f rg\n", c[0], c[1], c[2])
	o.appendRect([4]float64{left, top, left + width, top + height})
	o.appendFormat("f\n1 1 1 rg BT /F %.2f Tf ", size)
	x, y := o.geometry.DisplayToUser(left+0.3*size, top+0.95*size)
	ax, ay := o.geometry.DisplayToUser(left+0.3*size+1, top+0.95*size)
	ux, uy := o.geometry.DisplayToUser(left+0.3*size, top+0.95*size-1)
	o.appendFormat("%.0f %.0f %.0f %.0f %.2f %.2f Tm (%s) Tj ET Q\n", ax-x, ay-y, ux-x, uy-y, x, y, text)
}
