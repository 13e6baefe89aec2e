package layout

import (
	"math"
	"unicode"

	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// MergeNativeAndOCR returns a page that has the words of both: every native word, and of the recognised ones those
// that stand where no native word does. It is for pages that have text beside pictures of text. The result is
// arranged; what it was made of is not changed.
//
// Number, size, fonts, rulings and the like come from native, resolution, skew, bend and confidence from ocr, the
// confidence as the mean of the words that were taken, and the notes from both. The quality is ocr's, with the share
// of the words that are native counted as sound.
func MergeNativeAndOCR(native, ocr *inkstreamv1.Page) *inkstreamv1.Page {
	if native == nil {
		native = &inkstreamv1.Page{}
	}
	page := proto.Clone(native).(*inkstreamv1.Page)
	taken := newBoxGrid()
	sound := 0
	for _, w := range PageWords(page) {
		sound++
		if isValidBox(w.GetBbox()) {
			taken.addBox(rectFromBox(w.GetBbox()))
		}
	}
	sum, n := 0.0, 0
	for _, block := range ocr.GetBlocks() {
		added := &inkstreamv1.Block{}
		for _, line := range block.GetLines() {
			kept := &inkstreamv1.Line{Angle: line.GetAngle()}
			for i, w := range line.GetWords() {
				isNoise := isNoiseWord(w) && !isLabelColon(line.GetWords(), i)
				if !isValidBox(w.GetBbox()) || isNoise || taken.coversBox(rectFromBox(w.GetBbox())) {
					continue
				}
				word := proto.Clone(w).(*inkstreamv1.Word)
				if word.GetFont() > 0 {
					word.Font += int32(len(native.GetFonts()))
				}
				kept.Words = append(kept.Words, word)
				sum += float64(w.GetConfidence())
				n++
			}
			if len(kept.Words) > 0 {
				added.Lines = append(added.Lines, kept)
			}
		}
		if len(added.Lines) > 0 {
			page.Blocks = append(page.Blocks, added)
		}
	}
	page.Fonts = append(page.Fonts, ocr.GetFonts()...)
	page.Dpi, page.UprightRotation, page.Skew = ocr.GetDpi(), ocr.GetUprightRotation(), ocr.GetSkew()
	page.Bend = ocr.GetBend()
	page.Notes = append(page.Notes, ocr.GetNotes()...)
	page.Engine = ocr.GetEngine()
	if len(page.GetTags()) == 0 {
		page.Tags = ocr.GetTags()
	}
	if len(page.GetRulings()) == 0 { // else those of the picture are the page's own, drawn
		page.Rulings = ocr.GetRulings()
	}
	page.InkWithoutWords, page.UnreadRegions = ocr.GetInkWithoutWords(), ocr.GetUnreadRegions()
	page.Doubts, page.Regions = ocr.GetDoubts(), ocr.GetRegions()
	page.Confidence, page.Quality = 0, ocr.GetQuality()
	if n > 0 {
		page.Confidence = float32(sum / float64(n))
		page.Quality = float32((float64(sound) + float64(n)*float64(ocr.GetQuality())) / float64(sound+n))
	} else if sound > 0 {
		page.Quality = 1
	}
	ArrangePage(page)
	return page
}

// isNoiseWord reports recognised words that are most likely rules, frames or shading: no letter or digit, and rather
// not what was read than that.
func isNoiseWord(w *inkstreamv1.Word) bool {
	if w.GetText() == "" {
		return true
	}
	if w.Confidence == nil || w.GetConfidence() >= 0.5 {
		return false
	}
	for _, r := range w.GetText() {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r > 0xbf {
			return false
		}
	}
	return true
}

// isLabelColon reports whether a word of a line is the colon between a label and what it labels, as on receipts and
// forms, where it is set apart: a small mark, which is read with less confidence than words are. Rules and frames are
// read as bars and dashes.
func isLabelColon(line []*inkstreamv1.Word, at int) bool {
	if line[at].GetText() != ":" || at == 0 || at+1 == len(line) {
		return false
	}
	end := lastRune(line[at-1].GetText())
	return unicode.IsLetter(end) || unicode.IsDigit(end) || end == ')'
}

// boxGrid finds the boxes near a place. Its cells are as large as a few words, so that a box lies in few of them.
type boxGrid struct {
	cells          map[[2]int][]rect
	remainingCells int // how many cells the boxes to come may touch
}

const (
	// baseCellBudget and cellBudgetPerBox bound the cells that boxes touch: large ones, each over thousands, must not
	// take more memory than words do.
	baseCellBudget, cellBudgetPerBox = 1 << 18, 16

	gridCell = 48.0
	// maxBoxCells is how many cells a box may cover on one axis. A larger one is no word.
	maxBoxCells = 64
)

func newBoxGrid() *boxGrid {
	return &boxGrid{cells: map[[2]int][]rect{}, remainingCells: baseCellBudget}
}

// forEachCell calls f for every cell that the box touches.
func (g *boxGrid) forEachCell(r rect, f func(cell [2]int)) {
	x0, x1, y0, y1 := cellRange(r)
	for x := x0; x <= x1; x++ {
		for y := y0; y <= y1; y++ {
			f([2]int{x, y})
		}
	}
}

// cellRange returns the first and the last cell that a box touches on each axis.
func cellRange(r rect) (x0, x1, y0, y1 int) {
	x0, y0 = int(math.Floor(r.x0/gridCell)), int(math.Floor(r.y0/gridCell))
	x1, y1 = int(math.Floor(r.x1/gridCell)), int(math.Floor(r.y1/gridCell))
	return x0, min(x1, x0+maxBoxCells), y0, min(y1, y0+maxBoxCells)
}

// maxBoxesPerCell is how many boxes a cell keeps: more than that many words on so little room overlap anyhow.
const maxBoxesPerCell = 256

// addBox puts a box into the grid, unless those before it have used up the room that it needs.
func (g *boxGrid) addBox(r rect) {
	x0, x1, y0, y1 := cellRange(r)
	need := (x1 - x0 + 1) * (y1 - y0 + 1)
	if g.remainingCells += cellBudgetPerBox; need > g.remainingCells {
		return
	}
	g.remainingCells -= need
	g.forEachCell(r, func(cell [2]int) {
		if len(g.cells[cell]) < maxBoxesPerCell {
			g.cells[cell] = append(g.cells[cell], r)
		}
	})
}

// coversBox reports whether the boxes of the grid cover a third of a box or more. Native boxes may be as tight as
// their glyphs, so they count a little larger than they are.
func (g *boxGrid) coversBox(r rect) bool {
	area := max(r.width(), 0.5) * max(r.height(), 0.5)
	slack := min(0.2*r.height(), 3)
	best, seen := 0.0, map[rect]bool{}
	g.forEachCell(rect{r.x0 - slack, r.y0 - slack, r.x1 + slack, r.y1 + slack}, func(cell [2]int) {
		for _, o := range g.cells[cell] {
			if seen[o] {
				continue
			}
			w := min(r.x1, o.x1+slack) - max(r.x0, o.x0-slack)
			h := min(r.y1, o.y1+slack) - max(r.y0, o.y0-slack)
			if w > 0 && h > 0 {
				seen[o] = true
				best += w * h
			}
		}
	})
	return best >= area/3
}
