package tesseract

const (
	// speckled is the number of connected areas of ink from which a page is smoothed before it is read. Pages of text have up to 5,500, small
	// print on a screened ground 18,000, and a hundredth of specks on a page at 300 dpi makes 80,000.
	speckled = 25_000
	// hopeless is the number of them on a square inch from which a page that is speckled even when smoothed is not read: it is noise or a
	// screened picture, on which Tesseract's layout analysis takes minutes and finds nothing. Six-point print has 150, noise from 550.
	hopeless = 400
)

// smooth smooths a speckled page, and reports whether it can be read at all.
func (r *reader) smooth() (bool, error) {
	if r.img.components(r.below) < speckled {
		return true, nil
	}
	if err := r.clean(steps{median: true}); err != nil {
		return false, err
	}
	left := r.img.components(r.below)
	inches := float64(len(r.img.pix)) / float64(r.dpi*r.dpi)
	return left < speckled || float64(left) < hopeless*inches, nil
}
