package tesseract

// greyImage is an image of 8-bit grey, 0 black, in rows without padding.
type greyImage struct {
	pix           []byte
	width, height int
}

// rotated returns the image turned clockwise by 0, 90, 180 or 270 degrees.
func (g greyImage) rotated(degrees int) greyImage {
	switch degrees {
	case 90: // the left column becomes the top row, read from the bottom
		return g.transposed(func(src []byte, x, y int) byte { return src[(g.height-1-x)*g.width+y] })
	case 270: // the right column becomes the top row, read from the top
		return g.transposed(func(src []byte, x, y int) byte { return src[x*g.width+g.width-1-y] })
	case 180:
		out := greyImage{pix: make([]byte, len(g.pix)), width: g.width, height: g.height}
		last := len(g.pix) - 1
		for i, v := range g.pix {
			out.pix[last-i] = v
		}
		return out
	default:
		return g
	}
}

// transposed fills an image of swapped sides, in squares that fit the cache: a column of the source touches a cache
// line for every pixel.
func (g greyImage) transposed(at func(src []byte, x, y int) byte) greyImage {
	const square = 64
	out := greyImage{pix: make([]byte, len(g.pix)), width: g.height, height: g.width}
	for y0 := 0; y0 < out.height; y0 += square {
		for x0 := 0; x0 < out.width; x0 += square {
			x1 := min(x0+square, out.width)
			for y := y0; y < min(y0+square, out.height); y++ {
				row := out.pix[y*out.width : (y+1)*out.width]
				for x := x0; x < x1; x++ {
					row[x] = at(g.pix, x, y)
				}
			}
		}
	}
	return out
}

// cropped returns a copy of a part, which must lie inside.
func (g greyImage) cropped(b box) greyImage {
	out := greyImage{pix: make([]byte, 0, (b[2]-b[0])*(b[3]-b[1])), width: b[2] - b[0], height: b[3] - b[1]}
	for y := b[1]; y < b[3]; y++ {
		out.pix = append(out.pix, g.pix[y*g.width+b[0]:y*g.width+b[2]]...)
	}
	return out
}

// rotatedBack maps a box on the image turned clockwise by degrees to the image as it was, whose size is given.
func (b box) rotatedBack(degrees, width, height int) box {
	switch degrees {
	case 90:
		return box{b[1], height - b[2], b[3], height - b[0]}
	case 180:
		return box{width - b[2], height - b[3], width - b[0], height - b[1]}
	case 270:
		return box{width - b[3], b[0], width - b[1], b[2]}
	default:
		return b
	}
}
