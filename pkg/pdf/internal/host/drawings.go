package host

import (
	"cmp"
	"math"
	"slices"

	"inkstream.dev/pkg/pdf/internal/pdfium"
)

const (
	// maxShapes bounds the paths of a page that are looked at for drawings, maxDrawings the drawings.
	maxShapes   = 20_000
	maxDrawings = 8
	// cellSize is the side of the cells that shapes are gathered by, in points: shapes that are about as close as that
	// belong together.
	cellSize = 6.0
	// A drawing has that many shapes which are more than rectangles, or so many segments in them, and at least that side
	// in points.
	drawingShapes   = 3
	drawingSegments = 30
	drawingSide     = 36
	// frameShare is how much of the page a shape may cover before it is its background or frame.
	frameShare = 0.6
)

// area is a rectangle as displayed.
type area struct{ x0, y0, x1, y1 float64 }

func (a area) squarePoints() float64 { return math.Max(0, a.x1-a.x0) * math.Max(0, a.y1-a.y0) }

func (a area) union(b area) area {
	return area{math.Min(a.x0, b.x0), math.Min(a.y0, b.y0), math.Max(a.x1, b.x1), math.Max(a.y1, b.y1)}
}

func (a area) intersect(b area) area {
	return area{math.Max(a.x0, b.x0), math.Max(a.y0, b.y0), math.Min(a.x1, b.x1), math.Min(a.y1, b.y1)}
}

// cluster is shapes that lie together.
type cluster struct {
	area
	strong, segments int
}

// shape is a pdfium.Shape as displayed.
type shape struct {
	area
	strong   bool
	segments int
}

// clusterDrawings puts shapes together that lie close to each other, and returns those clusters that are drawings,
// the largest first.
func clusterDrawings(shapes []shape, page area) []area {
	columns, rows := int(page.x1/cellSize)+1, int(page.y1/cellSize)+1
	const maxCells = 1 << 20 // a page of 6,000 points a side
	if columns*rows > maxCells || columns <= 0 || rows <= 0 {
		return nil
	}
	cells := make([]int32, columns*rows) // one more than the index of the cluster that a cell belongs to
	clusters := make([]cluster, 0, 64)
	parent := make([]int32, 0, 64)
	find := func(i int32) int32 {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for _, s := range shapes {
		at := s.intersect(page)
		if !(at.x1 >= at.x0 && at.y1 >= at.y0) || at.squarePoints() > frameShare*page.squarePoints() {
			continue
		}
		self := int32(len(clusters))
		c := cluster{area: at}
		if s.strong {
			c.strong, c.segments = 1, s.segments
		}
		clusters, parent = append(clusters, c), append(parent, self)
		const reach = cellSize / 2 // around each
		for y := max(0, int((at.y0-reach)/cellSize)); y <= min(rows-1, int((at.y1+reach)/cellSize)); y++ {
			for x := max(0, int((at.x0-reach)/cellSize)); x <= min(columns-1, int((at.x1+reach)/cellSize)); x++ {
				cell := &cells[y*columns+x]
				if *cell != 0 {
					a, b := find(*cell-1), find(self)
					if a != b {
						parent[b] = a
						clusters[a] = cluster{clusters[a].union(clusters[b].area), clusters[a].strong + clusters[b].strong,
							clusters[a].segments + clusters[b].segments}
					}
				}
				*cell = self + 1
			}
		}
	}
	var out []area
	for i, c := range clusters {
		if parent[i] == int32(i) && c.isDrawing(page) {
			out = append(out, c.area)
		}
	}
	slices.SortStableFunc(out, func(a, b area) int { return cmp.Compare(b.squarePoints(), a.squarePoints()) })
	return out[:min(len(out), maxDrawings)]
}

func (c cluster) isDrawing(page area) bool {
	return (c.strong >= drawingShapes || c.segments >= drawingSegments) && c.x1-c.x0 >= drawingSide &&
		c.y1-c.y0 >= drawingSide &&
		c.squarePoints() <= frameShare*page.squarePoints()
}

// findDrawings returns where figures composed of lines and shapes stand on the page. Pictures with some lines over
// them are images, not drawings.
func (s *pageReader) findDrawings() []area {
	strong := false
	shapes := make([]shape, 0, len(s.objects.Shapes))
	for _, o := range s.objects.Shapes {
		strong = strong || o.Strong
		if a, ok := s.displayArea(o.Bounds); ok {
			shapes = append(shapes, shape{a, o.Strong, o.Segments})
		}
	}
	if !strong {
		return nil
	}
	page := area{0, 0, s.page.Width, s.page.Height}
	var out []area
	for _, d := range clusterDrawings(shapes, page) {
		if !s.coveredByImage(d) {
			out = append(out, s.withAxisLines(d, page))
		}
	}
	return out
}

// displayArea maps a rectangle of user space to the page as displayed.
func (s *pageReader) displayArea(r pdfium.Rect) (area, bool) {
	x0, y0 := s.page.UserToDisplay(r.Left, r.Bottom)
	x1, y1 := s.page.UserToDisplay(r.Right, r.Top)
	a := area{math.Min(x0, x1), math.Min(y0, y1), math.Max(x0, x1), math.Max(y0, y1)}
	return a, r.IsFinite()
}

// coveredByImage reports whether an image covers most of an area.
func (s *pageReader) coveredByImage(d area) bool {
	for _, img := range s.objects.Images {
		if a, ok := s.displayArea(img.Bounds); ok && d.intersect(a).squarePoints() > 0.5*d.squarePoints() {
			return true
		}
	}
	return false
}

// withAxisLines adds the straight lines that belong to a drawing, as axes do: those that touch it and are no longer
// than it is.
func (s *pageReader) withAxisLines(d, page area) area {
	const near, longer = 4, 1.3
	out := d
	for _, r := range s.objects.Rulings {
		a, ok := s.displayArea(r)
		if !ok || a.x1 < d.x0-near || a.x0 > d.x1+near || a.y1 < d.y0-near || a.y0 > d.y1+near {
			continue
		}
		if a.x1-a.x0 <= longer*(d.x1-d.x0) && a.y1-a.y0 <= longer*(d.y1-d.y0) {
			out = out.union(a)
		}
	}
	const margin = 2 // half a line's width and a little
	return area{out.x0 - margin, out.y0 - margin, out.x1 + margin, out.y1 + margin}.intersect(page)
}
