package tesseract

import "slices"

const (
	// minDashes is how many dashes make a rule at least. Rows of hyphens in a text are shorter.
	minDashes = 10
	// longestDash and thickestDash are the length and the thickness of a dash at most, in heights of small letters. The
	// stem of an i is 1 high.
	longestDash, thickestDash = 0.8, 0.35
	// widestDashGap is how far apart two dashes are at most, in lengths of a dash. Hyphens that begin lines are further.
	widestDashGap = 2
)

// eraseDashedRules makes the dashes and dots paper that frames, rules and lines to cut along are made of. Tesseract
// knows unbroken lines only: it takes dashes for letters, and for parts of the letters beside them.
func eraseDashedRules(r *reader) {
	height := letterHeight(r.areas)
	if height == 0 || r.screened {
		return
	}
	isDash := map[box]bool{}
	for _, rule := range findDashedRules(r.areas, height) {
		for _, dash := range rule {
			isDash[dash] = true
		}
	}
	if len(isDash) == 0 {
		return
	}
	paper := r.img.medianGrey()
	r.img = greyImage{pix: slices.Clone(r.img.pix), width: r.img.width, height: r.img.height}
	r.areas = slices.DeleteFunc(slices.Clone(r.areas), func(b box) bool {
		if isDash[b] {
			r.img.fillBox(b.widenedBy(1), paper)
		}
		return isDash[b]
	})
}

// findDashedRules returns the rules along the rows and the columns of an image, each as its dashes.
func findDashedRules(areas []box, height float64) [][]box {
	var out [][]box
	for _, isDown := range []bool{false, true} {
		var dashes []box
		for _, b := range areas {
			if isDown {
				b = b.transposed()
			}
			long, thick := b[2]-b[0], b[3]-b[1]
			isSmall := float64(long) <= longestDash*height && float64(thick) <= max(2, thickestDash*height)
			if isSmall && (isDown || long > thick) { // dots along a row are those of leaders, or a text's
				dashes = append(dashes, b)
			}
		}
		for _, rule := range chainMarks(dashes, dashGap) {
			if len(rule) < minDashes || !isEvenRow(rule) || !areAlike(rule) {
				continue
			}
			if isDown {
				for i, b := range rule {
					rule[i] = b.transposed()
				}
			}
			out = append(out, rule)
		}
	}
	return out
}

// transposed returns the box on the image whose rows are its columns.
func (b box) transposed() box { return box{b[1], b[0], b[3], b[2]} }

// dashGap returns the room between two dashes, and whether dashes of one rule may be so far apart.
func dashGap(last, dash box) (int, bool) {
	gap := dash[0] - last[2]
	return gap, gap <= widestDashGap*max(dash[2]-dash[0], last[2]-last[0])
}

// areAlike reports whether nearly all dashes are as long as one another; those in the corners of a frame are not.
func areAlike(dashes []box) bool {
	const share, uneven = 0.8, 0.35
	lengths := make([]int, len(dashes))
	for i, b := range dashes {
		lengths[i] = b[2] - b[0]
	}
	slices.Sort(lengths)
	middle, alike := lengths[len(lengths)/2], 0
	for _, long := range lengths {
		if d := float64(max(long-middle, middle-long)); d <= max(1, uneven*float64(middle)) {
			alike++
		}
	}
	return float64(alike) >= share*float64(len(dashes))
}
