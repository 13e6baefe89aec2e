package host

import (
	"cmp"
	"math"
	"slices"

	"inkstream.dev/pkg/pdf/internal/pdfium"
)

// disc is a small round path, and the characters next to it on its line: -1 where there is none.
type disc struct {
	pdfium.Rect
	left, right int
}

// addBullets adds a bullet for each disc that is drawn before a line of text, as browsers draw those of lists: two or
// more stand below each other, each as far before the first character of its line as bullets do.
func addBullets(text *pdfium.Text, discs []pdfium.Rect, unit float64) {
	const fewest, near = 2, 0.6 // bullets; points
	if len(discs) < fewest || len(text.Chars) == 0 || unit <= 0 {
		return
	}
	bullets := findNeighbours(text, discs, unit)
	bullets = slices.DeleteFunc(bullets, func(d disc) bool { return !d.isBullet(text, unit) })
	slices.SortFunc(bullets, func(a, b disc) int {
		return cmp.Or(cmp.Compare(math.Round(a.Left*unit/near), math.Round(b.Left*unit/near)),
			cmp.Compare(b.Bottom, a.Bottom))
	})
	var found []disc
	for start, end := 0, 1; end <= len(bullets); end++ {
		if end < len(bullets) && (bullets[end].Left-bullets[end-1].Left)*unit <= near {
			continue
		}
		if column := bullets[start:end]; stepsDown(column) >= fewest {
			found = append(found, column...)
		}
		start = end
	}
	insertBullets(text, found)
}

// stepsDown counts the discs of a column that stand clear of the one before.
func stepsDown(column []disc) int {
	n := 1
	for i := 1; i < len(column); i++ {
		if column[i].Top < column[i-1].Bottom {
			n++
		}
	}
	return n
}

// findNeighbours returns the discs with the characters that are next to them on their lines.
func findNeighbours(text *pdfium.Text, discs []pdfium.Rect, unit float64) []disc {
	const bucket = 8.0
	out := make([]disc, len(discs))
	at := map[int][]int{}
	for i, r := range discs {
		out[i] = disc{Rect: r, left: -1, right: -1}
		y := int(math.Floor((r.Bottom + r.Top) / 2 / bucket))
		at[y] = append(at[y], i)
	}
	for i := range text.Chars {
		c := &text.Chars[i]
		if c.Generated || c.Box.IsEmpty() || !c.Box.IsFinite() || c.Rune == ' ' {
			continue
		}
		size := text.Runs[c.Run].Size / unit
		y := (c.Box.Bottom + c.Box.Top) / 2
		first, last := math.Floor((y-size)/bucket), math.Floor((y+size)/bucket)
		for b := first; b <= last && b < first+64; b++ {
			for _, k := range at[int(b)] {
				out[k].addNeighbour(text, i, size)
			}
		}
	}
	return out
}

// addNeighbour keeps a character of type of a size that is nearer than the one that was, if it is on the disc's line.
func (d *disc) addNeighbour(text *pdfium.Text, i int, size float64) {
	box := text.Chars[i].Box
	middle := (d.Bottom + d.Top) / 2
	if middle < box.Bottom-0.5*size || middle > box.Top+0.5*size {
		return
	}
	switch {
	case box.Left >= d.Right && (d.right < 0 || box.Left < text.Chars[d.right].Box.Left):
		d.right = i
	case box.Left < d.Right && (d.left < 0 || box.Right > text.Chars[d.left].Box.Right):
		d.left = i
	}
}

// isBullet reports whether a disc is one before a line of text: of the size of one, at the height of the letters, with
// no more room to them than a bullet has, and far from what stands left of it.
func (d *disc) isBullet(text *pdfium.Text, unit float64) bool {
	const least, most, nearest, farthest, apart, level = 0.15, 0.75, 0.1, 2.5, 3, 0.4 // of the size of the type
	if d.right < 0 {
		return false
	}
	c := &text.Chars[d.right]
	run := &text.Runs[c.Run]
	size := run.Size / unit
	gap, side := c.Box.Left-d.Right, d.Right-d.Left
	upright := run.DirX > 0 && math.Abs(run.DirY) <= 0.01*run.DirX && !run.Column
	if size <= 0 || run.Invisible || !upright || side < least*size || side > most*size || gap < nearest*size ||
		gap > farthest*size || math.Abs(d.Bottom+d.Top-c.Box.Bottom-c.Box.Top) > 2*level*size {
		return false
	}
	return d.left < 0 || d.Left-text.Chars[d.left].Box.Right > apart*size
}

// insertBullets puts a bullet and a blank before the first character of each line that a disc stands before.
func insertBullets(text *pdfium.Text, discs []disc) {
	if len(discs) == 0 || len(text.Chars)+2*len(discs) > maxChars {
		return
	}
	slices.SortFunc(discs, func(a, b disc) int { return cmp.Compare(a.right, b.right) })
	discs = slices.CompactFunc(discs, func(a, b disc) bool { return a.right == b.right })
	chars := make([]pdfium.Char, 0, len(text.Chars)+2*len(discs))
	from := 0
	for _, d := range discs {
		run := text.Chars[d.right].Run
		chars = append(chars, text.Chars[from:d.right]...)
		chars = append(chars, pdfium.Char{Rune: '•', Box: d.Rect, Run: run},
			pdfium.Char{Rune: ' ', Run: run, Generated: true})
		from = d.right
	}
	text.Chars = append(chars, text.Chars[from:]...)
}
