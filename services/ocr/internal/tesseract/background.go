package tesseract

import (
	"slices"
)

// background is what the paper of a page looks like.
type background struct {
	// light and dark are the grey values of the paper where it is lightest and darkest, the outermost twentieth left
	// out.
	light, dark byte
	// darkShare is the share of the page where the paper is so dark that it is taken for ink, though there is darker
	// ink on it.
	darkShare float64
}

const backgroundTileInches = 0.25

// measureBackground finds the paper's grey in each tile of the page: nearly the lightest fifth of its pixels.
func measureBackground(img greyImage, dpi float32, below byte) background {
	step := sampleStep(dpi)
	side := max(8*step, int(dpi*backgroundTileInches))
	columns, rows := max(1, img.width/side), max(1, img.height/side)
	var papers, sunken []byte
	histograms := make([][256]uint16, columns)
	for r := range rows {
		clear(histograms)
		n := 0
		for y := r * side; y < min((r+1)*side, img.height); y += step {
			row := img.pix[y*img.width:][:img.width]
			n++
			for c := range columns {
				h := &histograms[c]
				for x := c * side; x < min((c+1)*side, img.width); x += step {
					h[row[x]]++
				}
			}
		}
		for c := range columns {
			count := 0
			for _, k := range histograms[c] {
				count += int(k)
			}
			paper, ink := histogramRank(&histograms[c], count*4/5), histogramRank(&histograms[c], count/50)
			papers = append(papers, paper)
			if int(paper) < int(below)+8 && int(paper)-int(ink) >= 40 {
				sunken = append(sunken, paper)
			}
		}
	}
	slices.Sort(papers)
	g := background{light: papers[len(papers)*19/20], dark: papers[len(papers)/20]}
	for _, paper := range sunken {
		if paper >= g.light/2 { // else it is no paper, but what lies around it, or a picture
			g.darkShare += 1 / float64(len(papers))
		}
	}
	return g
}

// histogramRank returns the grey value that n pixels are below.
func histogramRank(h *[256]uint16, n int) byte {
	for v, k := range h {
		if n -= int(k); n < 0 {
			return byte(v)
		}
	}
	return 255
}

// isSinking reports whether so much of the ground is dark that a share of the page is taken for ink.
func (g background) isSinking() bool { return g.darkShare >= 0.03 }

// isUneven reports whether the ground has to be evened out before it can be told from ink by one threshold. On the
// corpus's shaded and yellowed pages 4 to 25 % of it sink, on all others nothing, but for a slide that is dark
// itself. Tinted rows of a table do not sink, but the edges of the tint divide them.
func (g background) isUneven() bool {
	return g.isSinking() || float64(g.dark) < 0.9*float64(g.light) && g.dark > g.light/2
}
