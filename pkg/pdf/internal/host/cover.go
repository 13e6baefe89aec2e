package host

// cover is a coarse map of a page: which cells images cover, and which have text in or beside them.
type cover struct {
	width, height float64 // of the page, in points
	cells         [coverSide * coverSide]uint8
}

const (
	coverSide = 48
	// textReach is how far around a line its surroundings count as read, in points: about a line.
	textReach = 10

	imageCell = 1
	textCell  = 2
)

func newCover(width, height float64) cover { return cover{width: width, height: height} }

func (c *cover) mark(x0, y0, x1, y1 float64, bit uint8, inner bool) {
	fx, fy := coverSide/c.width, coverSide/c.height
	left, top, right, bottom := x0*fx, y0*fy, x1*fx, y1*fy
	if inner { // cells whose centre is covered
		left, top, right, bottom = left+0.5, top+0.5, right-0.5, bottom-0.5
	}
	for y := max(0, int(top)); y <= min(coverSide-1, int(bottom)); y++ {
		for x := max(0, int(left)); x <= min(coverSide-1, int(right)); x++ {
			c.cells[y*coverSide+x] |= bit
		}
	}
}

func (c *cover) image(b []float32) {
	c.mark(float64(b[0]), float64(b[1]), float64(b[2]), float64(b[3]), imageCell, true)
}

func (c *cover) text(b []float32) {
	c.mark(float64(b[0])-textReach, float64(b[1])-textReach, float64(b[2])+textReach, float64(b[3])+textReach, textCell, false)
}

// shares returns the share of the page that images cover, and the share that they cover without text.
func (c *cover) shares() (image, bare float64) {
	for _, v := range c.cells {
		if v&imageCell != 0 {
			image++
			if v&textCell == 0 {
				bare++
			}
		}
	}
	return image / (coverSide * coverSide), bare / (coverSide * coverSide)
}

// bareAt reports whether there is no text at a point, given as shares of the width and the height.
func (c *cover) bareAt(x, y float64) bool {
	i := min(coverSide-1, int(y*coverSide))*coverSide + min(coverSide-1, int(x*coverSide))
	return c.cells[i]&textCell == 0
}
