package host

// coverageGrid is a coarse map of a page: which cells images cover, and which have text in or beside them.
type coverageGrid struct {
	width, height float64 // of the page, in points
	cells         [gridSide * gridSide]uint8
}

const (
	gridSide = 48
	// textReach is how far around a line its surroundings count as read, in points: about a line.
	textReach = 10

	imageCell = 1
	textCell  = 2
)

func newCoverageGrid(width, height float64) coverageGrid {
	return coverageGrid{width: width, height: height}
}

func (c *coverageGrid) markCells(x0, y0, x1, y1 float64, bit uint8, inner bool) {
	fx, fy := gridSide/c.width, gridSide/c.height
	left, top, right, bottom := x0*fx, y0*fy, x1*fx, y1*fy
	if inner { // cells whose centre is covered
		left, top, right, bottom = left+0.5, top+0.5, right-0.5, bottom-0.5
	}
	for y := max(0, int(top)); y <= min(gridSide-1, int(bottom)); y++ {
		for x := max(0, int(left)); x <= min(gridSide-1, int(right)); x++ {
			c.cells[y*gridSide+x] |= bit
		}
	}
}

func (c *coverageGrid) markImage(b []float32) {
	c.markCells(float64(b[0]), float64(b[1]), float64(b[2]), float64(b[3]), imageCell, true)
}

func (c *coverageGrid) markText(b []float32) {
	c.markCells(float64(b[0])-textReach, float64(b[1])-textReach, float64(b[2])+textReach, float64(b[3])+textReach,
		textCell, false)
}

// imageShares returns the share of the page that images cover, and the share that they cover without text.
func (c *coverageGrid) imageShares() (image, bare float64) {
	for _, v := range c.cells {
		if v&imageCell != 0 {
			image++
			if v&textCell == 0 {
				bare++
			}
		}
	}
	return image / (gridSide * gridSide), bare / (gridSide * gridSide)
}

// withoutTextAt reports whether there is no text at a point, given as shares of the width and the height.
func (c *coverageGrid) withoutTextAt(x, y float64) bool {
	i := min(gridSide-1, int(y*gridSide))*gridSide + min(gridSide-1, int(x*gridSide))
	return c.cells[i]&textCell == 0
}
