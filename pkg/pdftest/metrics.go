package pdftest

// The advance widths of Helvetica and Helvetica-Bold, in thousandths of the font size, for the characters from blank
// to tilde. They are part of what every PDF reader must know of the fourteen standard fonts.
var (
	helvetica = [95]int{
		278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
		556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778,
		722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278,
		278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
		556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
	}
	helveticaBold = [95]int{
		278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
		556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778,
		722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333,
		278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611,
		611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
	}
)

// face is one of the two faces that documents here are set in.
type face int

const (
	regular face = iota
	bold
)

// helveticaWidth returns the width of s in points.
func helveticaWidth(f face, size float64, s string) float64 {
	widths := &helvetica
	if f == bold {
		widths = &helveticaBold
	}
	sum := 0
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c <= '~' {
			sum += widths[c-' ']
		}
	}
	return float64(sum) * size / 1000
}
