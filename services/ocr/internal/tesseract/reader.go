package tesseract

import (
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

const (
	// doubtful is the mean confidence below which a page may be read the wrong way up. The corpus's English pages came to 0.17 to 0.33 on
	// their head, and to 0.72 and more upright.
	doubtful = 0.6
	// clearly is by how much another way up must read better than the page as it is.
	clearly = 0.1
	// probeInches is the side of the squares that are read to tell which way is up: some ten lines of five words.
	probeInches = 2.5
)

// reading is what was read with the image turned clockwise by turn degrees.
type reading struct {
	turn       int
	blocks     []block
	confidence float64 // mean by characters
}

// read recognises an image and finds out which way up it is.
//
// The orientation detector that comes with Tesseract (osd.traineddata) is not used. It takes 0.6 to 1.5 s of CPU a page, as long as the
// recognition itself, was wrong on 8 of the 204 pages that the corpus's 51 give in four directions, and found too few characters on 5 more.
// Reading two squares of the page each way takes a fraction of that, is right on all of them, and judges by the language that is going to
// be read. A page on its head costs a second recognition; that is rare enough.
func read(h *Handle, img grey, dpi float32) (reading, error) {
	below := inkThreshold(img)
	h.LookForLightText(hasDarkAreas(img, dpi, below))
	lines := lineDirection(img, dpi, below)
	first, others := 0, []int{180, 90, 270}
	switch {
	case lines.sideways():
		turn, err := probe(h, img, dpi, below, 90, 270, 0) // 0: Chinese and Japanese may be set in columns
		if err != nil {
			return reading{}, err
		}
		first, others = turn, []int{(turn + 180) % 360}
	case lines.upright():
		others = []int{180}
	}
	best, err := readTurned(h, img, dpi, first, wholePage)
	if err != nil || best.confidence >= doubtful || lines.gaps < enoughGaps/10 {
		return best, err
	}
	turn, err := probe(h, img, dpi, below, append([]int{first}, others...)...)
	if err != nil {
		return reading{}, err
	}
	if turn == first {
		if !lines.sideways() {
			return best, nil
		}
		turn = others[0] // the probe was wrong before, perhaps about a picture
	}
	second, err := readTurned(h, img, dpi, turn, wholePage)
	if err != nil || second.confidence < best.confidence+clearly {
		return best, err
	}
	return second, nil
}

// probe reads the squares with most text turned each way, and returns the way that reads best, the first of equals. What counts is how many
// characters are read well, as the wrong way up may yield a single sure bracket. There are two squares, as one may hold a picture.
func probe(h *Handle, img grey, dpi float32, below byte, turns ...int) (int, error) {
	parts := busiest(img, int(probeInches*dpi), dpi, below, 2)
	best, bestTurn := -1.0, turns[0]
	for _, turn := range turns {
		legible := 0.0
		for _, b := range parts {
			r, err := readTurned(h, img.crop(b), dpi, turn, oneBlock)
			if err != nil {
				return 0, err
			}
			legible += r.legible()
		}
		if legible > best {
			best, bestTurn = legible, turn
		}
	}
	return bestTurn, nil
}

func readTurned(h *Handle, img grey, dpi float32, turn int, as segmentation) (reading, error) {
	h.SetImage(img.turned(turn), int(dpi+0.5), as)
	defer h.Clear()
	if err := h.Recognise(); err != nil {
		return reading{}, err
	}
	r := reading{turn: turn, blocks: h.blocks()}
	var sum float64
	characters := 0
	for w := range words(r.blocks) {
		n := utf8.RuneCountInString(w.text)
		characters += n
		sum += float64(w.confidence) * float64(n)
	}
	if characters > 0 {
		r.confidence = sum / float64(characters)
	}
	return r, nil
}

// legible returns the number of characters by how much better than a guess they were read.
func (r reading) legible() float64 {
	sum := 0.0
	for w := range words(r.blocks) {
		sum += float64(utf8.RuneCountInString(w.text)) * max(0, float64(w.confidence)-0.5)
	}
	return sum
}

// page turns a reading into a page, whose boxes are in points on the image as it was given.
func (r reading) page(img grey, dpi float32) *inkstreamv1.Page {
	points := func(pixels int) float32 { return recognise.Points(pixels, dpi) }
	page := &inkstreamv1.Page{UprightRotation: int32((r.turn + 360 - r.mainAngle()) % 360)}
	for _, b := range r.blocks {
		block := &inkstreamv1.Block{}
		for _, l := range b.lines {
			line := &inkstreamv1.Line{Angle: int32((l.angle + 360 - r.turn) % 360)}
			for _, w := range l.words {
				at := w.box.back(r.turn, img.width, img.height)
				line.Words = append(line.Words, &inkstreamv1.Word{
					Text: w.text, Confidence: &w.confidence,
					Bbox: []float32{points(at[0]), points(at[1]), points(at[2]), points(at[3])},
				})
			}
			block.Lines = append(block.Lines, line)
		}
		page.Blocks = append(page.Blocks, block)
	}
	return page
}

// mainAngle is the direction of most of the text. Tesseract finds lines that run up or down by itself, and then a page on its side with too
// little text for lineDirection is read well without being turned.
func (r reading) mainAngle() int {
	var byAngle [4]int
	for _, b := range r.blocks {
		for _, l := range b.lines {
			for _, w := range l.words {
				byAngle[l.angle/90] += utf8.RuneCountInString(w.text)
			}
		}
	}
	best := 0
	for i, n := range byAngle {
		if n > byAngle[best] {
			best = i
		}
	}
	return best * 90
}
