package tesseract

import (
	"math"
	"slices"
)

const (
	// minXHeight is the height of small letters, in pixels, below which a page is enlarged, and goodXHeight the height
	// to which it is. Recognition and layout analysis were made for text of ordinary size: ten points at 300 dpi, whose
	// small letters are 20 pixels high. CER, as it is and enlarged, told the resolution at which the print would have
	// ordinary size:
	//
	//	 8 pixels, scan at 150 dpi on a page of the wrong size   0.309 0.093
	//	 9 pixels, page of 2.5 by 4 inches                       0.360 0.095
	//	 9 pixels, scan at 100 dpi                               0.372 0.212
	//	10 pixels, three pages at 120 to 240 dpi                 0.231 0.231
	//	12 and 13 pixels, two pages                              0.046 0.047
	minXHeight, goodXHeight = 9.8, 16
	// ordinaryXHeight is that of ordinary text at ordinaryDPI.
	ordinaryXHeight, ordinaryDPI = 20, 300
	maxEnlargement               = 3
	// enlargedBlur is the deviation of the Gaussian with which lines are smoothed that are read enlarged, in heights of small
	// letters. What scales a line to the size that the recogniser reads sharpens it as well, and of the few pixels of a full
	// stop that makes a comma: see doc.go.
	enlargedBlur = 1.0 / 16
	// maxEnlargedPixels bounds the image that is made, and with it the time.
	maxEnlargedPixels = 24 << 20
	// ordinaryCapital is the height of capitals and figures of ordinary text at ordinaryDPI.
	ordinaryCapital = 28
	// maxPrint is how many times the ordinary size letters may have at the resolution that a page claims, taken for
	// capitals. Images without a resolution are taken for 96 dpi, which makes their print two to four times too large.
	// Letters of Chinese and Japanese, which are as high as their lines, come to 1.6 at twelve points.
	maxPrint = 1.75
	// maxScannedDPI is the most that scanners make of pages: what is larger still is a poster or a slide.
	maxScannedDPI = 600
)

// credibleDPI returns the resolution that a page claims, or the one at which letters of that height in pixels would
// have ordinary size, were they capitals, where its print would be far too large. By how many inches high they are the
// layout analysis takes letters for pictures, and figures in the cells of a table for specks.
func credibleDPI(claimed float32, height float64) float32 {
	if ordinary := float32(ordinaryDPI * height / ordinaryCapital); ordinary > maxPrint*claimed {
		return max(claimed, min(ordinary, maxScannedDPI))
	}
	return claimed
}

// enlargeSmallPrint enlarges a page whose print is small, unless that was done. The layout analysis takes
// distances for what they are at the resolution that it is told, so that small print told the scan's resolution is taken
// for pictures and noise, and left out in silence. What counts is not what the page says of its size.
func enlargeSmallPrint(r *reader) error {
	if r.enlarged || findAreas(r) >= minSpeckles {
		return nil
	}
	height := letterHeight(withoutSpecks(r.areas))
	if height == 0 || height >= minXHeight || hasScreens(r) {
		return nil
	}
	return enlarge(r, height)
}

// enlarge enlarges a page whose small letters have that height in pixels.
func enlarge(r *reader, height float64) error {
	scale := min(goodXHeight/height, maxEnlargement, math.Sqrt(maxEnlargedPixels/float64(len(r.img.pix))))
	if scale <= 1 {
		return nil
	}
	takeDots(r) // those of a pixel or two are read as letters when they are enlarged
	if err := r.cleanImage(imageSteps{scale: scale}); err != nil {
		return err
	}
	for i, l := range r.leaders {
		r.leaders[i] = leader{l.first.scaledBy(scale), l.last.scaledBy(scale)}
	}
	r.enlarged, r.xHeight = true, height*scale
	r.dpi *= float32(scale)
	r.toldDPI = ordinaryDPI * height * scale / ordinaryXHeight
	return nil
}

// letterHeight returns the height of small letters among areas of ink; 0 where too few are letters to tell. Most
// letters of any text are small ones.
func letterHeight(areas []box) float64 {
	const (
		smallest, largest = 4, 160 // pixels
		enough            = 100
		minShare          = 0.3 // of letters among all areas; a noisy page has less
	)
	var heights []int
	for _, b := range areas {
		if w, h := b[2]-b[0], b[3]-b[1]; w >= smallest && h >= smallest && h <= largest && w <= 3*h && h <= 3*w {
			heights = append(heights, h)
		}
	}
	if len(heights) < enough || float64(len(heights)) < minShare*float64(len(areas)) {
		return 0
	}
	slices.Sort(heights)
	// Dust, dots and commas are less than half as high as the larger letters.
	large := heights[len(heights)*4/5]
	from, _ := slices.BinarySearch(heights, large*45/100)
	heights = heights[from:]
	return joinedLetterHeight(areas, float64(heights[len(heights)/2]))
}

// joinedLetterHeight returns the height of small letters where that of areas was measured. On coarse scans letters
// touch: what is measured then are pieces of words, as high as the largest of their letters.
func joinedLetterHeight(areas []box, height float64) float64 {
	const (
		longest = 20  // times as wide as high: longer areas are rulings
		joined  = 3   // letters for each piece of a word, at most
		share   = 0.7 // of a piece's height that small letters have
	)
	letters, pieces := 0, 0
	for _, b := range areas {
		w, h := b[2]-b[0], b[3]-b[1]
		switch {
		case float64(h) < share*height || float64(h) > 3*height:
		case w <= 2*h:
			letters++
		case w <= longest*h:
			pieces++
		}
	}
	if joined*pieces > letters {
		return share * height
	}
	return height
}
