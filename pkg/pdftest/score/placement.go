package score

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Box is a word with its place in points from the page's top left: x0, y0, x1, y1.
type Box struct {
	Text string
	At   [4]float64
}

var (
	boxPage = regexp.MustCompile(`^\s*<page width="`)
	boxWord = regexp.MustCompile(`^\s*<word xMin="([^"]+)" yMin="([^"]+)" xMax="([^"]+)" yMax="([^"]+)">(.*)</word>`)
)

// ReadBoxes reads what pdftotext -bbox writes: the words of each page.
func ReadBoxes(r io.Reader) ([][]Box, error) {
	var pages [][]Box
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if boxPage.MatchString(lines.Text()) {
			pages = append(pages, nil)
			continue
		}
		m := boxWord.FindStringSubmatch(lines.Text())
		if m == nil || len(pages) == 0 {
			continue
		}
		b := Box{Text: html.UnescapeString(m[5])}
		for i := range b.At {
			v, err := strconv.ParseFloat(m[i+1], 64)
			if err != nil {
				return nil, fmt.Errorf("box of a word: %w", err)
			}
			b.At[i] = v
		}
		pages[len(pages)-1] = append(pages[len(pages)-1], b)
	}
	return pages, lines.Err()
}

// Placement says where the words of a page were found again.
type Placement struct {
	Words int
	// Across counts those whose left and right edges are in place, Both those whose upper and lower edges are too.
	Across, Both int
	// Missing counts those that were not found near their place at all.
	Missing int
	// Worst is the greatest distance, in points, of an edge of a word that was found.
	Worst float64
}

// Add returns the sum of two placements.
func (p Placement) Add(q Placement) Placement {
	return Placement{p.Words + q.Words, p.Across + q.Across, p.Both + q.Both, p.Missing + q.Missing, max(p.Worst, q.Worst)}
}

// maxMatchDistance is how far off, in points, a word of the same text may be to count as found.
const maxMatchDistance = 36

// MatchPlacements looks for words among those found on the page and says how many are in place, each edge within
// tolerance points. A word that was found joined with its neighbours, as happens in scripts without blanks, is in
// place where the box of all of them holds its own.
func MatchPlacements(words, found []Box, tolerance float64) Placement {
	p := Placement{Words: len(words)}
	norm := make([]string, len(found))
	for i, f := range found {
		norm[i] = normalisePlaced(f.Text)
	}
	for _, w := range words {
		text := normalisePlaced(w.Text)
		across, up, seen := math.Inf(1), math.Inf(1), false
		for i, f := range found {
			if !strings.Contains(norm[i], text) {
				continue
			}
			x, y := edgeDistance(w.At, f.At, 0, len(norm[i]) > len(text)), edgeDistance(w.At, f.At, 1, false)
			if max(x, y) <= maxMatchDistance && max(x, y) < max(across, up) {
				across, up, seen = x, y, true
			}
		}
		switch {
		case !seen:
			p.Missing++
			continue
		case max(across, up) <= tolerance:
			p.Across++
			p.Both++
		case across <= tolerance:
			p.Across++
		}
		p.Worst = max(p.Worst, across, up)
	}
	return p
}

// edgeDistance returns how far, along one axis, the edges of a word are from those of the one found; with inside, how
// far the word sticks out of it.
func edgeDistance(want, got [4]float64, axis int, inside bool) float64 {
	if inside {
		return max(0, got[axis]-want[axis], want[axis+2]-got[axis+2])
	}
	return max(math.Abs(got[axis]-want[axis]), math.Abs(got[axis+2]-want[axis+2]))
}

func normalisePlaced(s string) string {
	return SortRightToLeft(strings.ReplaceAll(NormaliseText(s, Options{Lenient: true}), " ", ""))
}
