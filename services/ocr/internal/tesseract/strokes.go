package tesseract

const (
	// paleGreyShare is the share of the paper's grey below which the mean of a pixel and those around it is no paper.
	paleGreyShare = 0.85
	// thinEdges is the number of pale pixels for each pixel of ink from which letters are thin: their strokes are
	// hardly two pixels wide. Of the corpus, eight scans of small or faint print at 150 and 200 dpi have 0.90 to 1.06,
	// and the others up to 0.86, but for screened ones.
	thinEdges = 0.88
	// blackShare and whiteShare are the shares of the paper's grey that become black and white where letters are thin.
	blackShare, whiteShare = 0.25, 0.94
)

// hasThinStrokes reports whether the letters are so thin that nearly as many pixels are edges of strokes as are
// strokes. Tesseract takes what is darker than halfway between ink and paper for ink: it finds less than half of such
// letters, runs their lines together, or leaves them out.
func (g greyImage) hasThinStrokes(below, paper byte) bool {
	const every = 3 // rows
	pale := int(9 * paleGreyShare * float64(paper))
	ink, edges := 0, 0
	for y := 1; y+1 < g.height; y += every {
		row := g.pix[y*g.width:][:g.width]
		above, under := g.pix[(y-1)*g.width:][:g.width], g.pix[(y+1)*g.width:][:g.width]
		left, middle := 0, 0 // sums of columns
		for x, v := range row {
			right := int(above[x]) + int(v) + int(under[x])
			if x > 1 {
				if row[x-1] < below {
					ink++
				} else if left+middle+right < pale {
					edges++
				}
			}
			left, middle = middle, right
		}
	}
	return ink > 0 && float64(edges) >= thinEdges*float64(ink)
}

// darkenThinStrokes makes the letters of a page darker where their strokes are thin.
func darkenThinStrokes(r *reader) {
	paper := r.img.medianGrey()
	if r.img.hasThinStrokes(r.below, paper) {
		r.img = r.img.darkenStrokes(paper)
		r.below = inkThreshold(r.img)
	}
}

// medianGrey returns the grey in the middle of all pixels.
func (g greyImage) medianGrey() byte {
	const enough = 64 << 10 // pixels
	step := len(g.pix)/enough | 1
	var histogram [256]int
	n := 0
	for i := 0; i < len(g.pix); i += step {
		histogram[g.pix[i]]++
		n++
	}
	for v, k := range histogram {
		if n -= 2 * k; n < 0 {
			return byte(v)
		}
	}
	return 255
}

// darkenStrokes returns the image with pale strokes nearly as dark as ink, and the paper white.
func (g greyImage) darkenStrokes(paper byte) greyImage {
	return g.stretchTones(blackShare*float64(paper), whiteShare*float64(paper))
}

// stretchTones returns the image with the greys from black to white stretched over the whole scale.
func (g greyImage) stretchTones(black, white float64) greyImage {
	var tone [256]byte
	for v := range tone {
		tone[v] = byte(min(255, max(0, (float64(v)-black)*255/max(1, white-black))))
	}
	out := greyImage{pix: make([]byte, len(g.pix)), width: g.width, height: g.height}
	for i, v := range g.pix {
		out.pix[i] = tone[v]
	}
	return out
}
