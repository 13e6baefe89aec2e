package tesseract

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

const (
	// minUprightConfidence is the mean confidence below which a page may be read the wrong way up. The corpus's English
	// pages came to 0.17 to 0.33 on their head, and to 0.72 and more upright.
	minUprightConfidence = 0.6
	// minTurnGain is by how much another way up must read better than the page as it is.
	minTurnGain = 0.1
	// minConfidence is the mean confidence below which a page is read once more in another way.
	minConfidence = 0.82
	// minSkew is the angle in degrees below which a page is not straightened: it would gain nothing, and lose
	// sharpness.
	minSkew = 0.4
	// minSkewSureness is how sure Leptonica wants to be of an angle.
	minSkewSureness = 3
	// probeInches is the side of the squares that are read to tell which way is up: some ten lines of five words.
	probeInches = 2.5
)

// reading is what was read, in pixels of the reader's image turned clockwise by turn degrees, and not otherwise changed.
type reading struct {
	width, height int // of that image, before it was turned
	turn          int
	skew          float64 // degrees clockwise by which the turned image was straightened
	blocks        []block
	confidence    float64 // mean by characters
	rulings       []box   // in pixels of that image, before it was turned
	language      string  // as Tesseract names it
	unreadable    bool    // the page was not read, because it would take too long
	unread        unreadInk
	bend          *bend  // how the lines of the image were bent, before they were straightened; nil where they were straight
	other         string // the languages to read the page in instead: this reading was broken off
	missing       bool   // the page seems to be in a language of which no model is installed
}

// options says what may be done to a page.
type options struct {
	deskew, rotate bool
}

// reader reads one page.
type reader struct {
	handle *Handle
	// secondHandle, if set, returns the handle that reads the page again where the first is unsure of it.
	secondHandle func() (*Handle, error)
	// ownHandle, if set, returns the handle that reads the page's language alone, where handle reads Latin letters
	// besides.
	ownHandle func() (*Handle, error)
	// columnHandle, if set, returns the handle that reads columns which run from top to bottom.
	columnHandle func() (*Handle, error)
	// findOther, if set, returns the languages to read the page in instead of those of the handle, by what that has
	// read; "" for none.
	findOther func(*reading) (string, error)
	inColumns bool      // the text runs in such columns
	img       greyImage // cleaned
	dpi       float32   // what the page claims, where that is credible
	below     byte      // what is darker than this is ink
	// ruled, if set, is the image in which rulings are looked for in the place of img, with its ink darker than
	// ruledBelow.
	ruled      *greyImage
	ruledBelow byte
	dark       bool // there were areas dark enough for light text
	// screened says that there are greys made of dots.
	screened bool
	areas    []box // connected ink, but for the dots of leaders; nil where the image has changed since it was looked for
	found    int   // how many such areas there are, the dots included
	leaders  []leader
	enlarged bool    // the image is larger than the one that was given
	xHeight  float64 // the height of small letters of the enlarged image, in pixels
	toldDPI  float64 // the resolution that Tesseract is told of
	options  options
	bend     *bend // how the lines of the image were bent, before they were straightened
}

// readPage recognises the image and finds out which way up it is.
//
// The orientation detector that comes with Tesseract (osd.traineddata) is not used. It takes 0.6 to 1.5 s of CPU a
// page, as long as the recognition itself, was wrong on 8 of the 204 pages that the corpus's 51 give in four
// directions, and found too few characters on 5 more. Reading two squares of the page each way takes a fraction of
// that, is right on all of them, and judges by the language that is going to be read. A page on its head costs a
// second recognition; that is rare enough.
func (r *reader) readPage(h *Handle) (reading, error) {
	r.switchHandle(h)
	if legible, err := r.despeckle(); err != nil || !legible {
		return reading{unreadable: !legible}, err
	}
	if r.options.deskew {
		flattenLines(r)
	}
	takeDots(r)
	r.sharpenTones()
	lines := measureDirections(r.img, r.dpi, r.below)
	if err := r.detectColumns(lines); err != nil {
		return reading{}, err
	}
	got, err := r.readUpright(lines)
	if err != nil {
		return reading{}, err
	}
	if r.findOther != nil {
		if got.other, err = r.findOther(&got); err != nil || got.other != "" {
			return got, err
		}
	}
	if r.screened {
		if got, err = r.readWithoutScreen(got); err != nil {
			return reading{}, err
		}
	}
	if lines.gaps >= minGaps/10 {
		if got, err = readUnwhitened(r, got); err != nil {
			return reading{}, err
		}
		if got.proseConfidence() < minConfidence {
			if got, err = r.readAgain(got); err != nil {
				return reading{}, err
			}
		}
	}
	if err := r.joinLeaders(&got); err != nil {
		return reading{}, err
	}
	if err := r.readLostInk(&got); err != nil {
		return reading{}, err
	}
	got.dropSpecks()
	r.trimTallBoxes(&got)
	if err := r.readLatinWordsAgain(&got); err != nil {
		return reading{}, err
	}
	got.useModernGreek()
	r.markBullets(&got)
	r.useCapitalI(&got)
	markBold(r, &got)
	rulings, down := r.findRulings(got.skew, got.textWidth())
	got.rulings, got.bend = rulings, r.bend
	got.dropReadRulings(down, r.dpi)
	return got, nil
}

// sharpenTones makes what shows through the sheet white, or letters of thin strokes darker.
func (r *reader) sharpenTones() {
	if r.screened {
		return
	}
	paper := r.img.medianGrey()
	whitened, bleeds := r.img, false
	if letterHeight(r.areas) >= minBleedXHeight {
		whitened, bleeds = r.img.whitenBleed(r.dpi, r.below, paper)
	}
	switch {
	case bleeds: // and pale rules become white too
		unbleached := r.img
		r.ruled, r.ruledBelow = &unbleached, r.below
		r.img = whitened
	default:
		darkenThinStrokes(r)
		return
	}
	r.below = inkThreshold(r.img)
}

// newReader enlarges the image where its print is small, and cleans it as far as it has to be. Small print is enlarged
// before anything else is done, for what is done then takes letters of a few pixels for specks and stains; or as soon
// as there are letters, if the ground hid them.
func newReader(img greyImage, dpi float32, o options) (*reader, error) {
	r := &reader{img: img, below: inkThreshold(img), options: o}
	findAreas(r)
	r.dpi = credibleDPI(dpi, letterHeight(r.areas))
	r.toldDPI = float64(r.dpi)
	for _, step := range []func(*reader) error{enlargeSmallPrint, evenGround, darkenPaleText, enlargeSmallPrint} {
		if err := step(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// evenGround makes an uneven ground even, so that its shadows are not taken for dark areas, and then light text on dark
// areas dark. Where it is such areas that sink, it is the other way round: to even them out would leave them grey, and
// their text with them.
func evenGround(r *reader) error {
	img := r.img
	ground := measureBackground(img, r.dpi, r.below)
	r.dark = hasDarkAreas(img, r.dpi, r.below)
	isTurned := false
	if r.dark && ground.isSinking() {
		if err := turnLightText(r); err != nil {
			return err
		}
		if turned := measureBackground(r.img, r.dpi, r.below); turned.isSinking() {
			r.img, r.below, r.areas = img, inkThreshold(img), nil
		} else {
			ground, isTurned = turned, true
		}
	}
	if ground.isUneven() {
		if err := r.cleanImage(imageSteps{evenBackground: true}); err != nil {
			return err
		}
		r.dark = isTurned || hasDarkAreas(r.img, r.dpi, r.below)
	}
	if r.dark && !isTurned {
		return turnLightText(r)
	}
	return nil
}

// turnLightText makes light text on dark areas dark. Such an area is told by the bands of ink between its lines, which
// run along the rows, so a page on its side is turned for it.
func turnLightText(r *reader) error {
	if !measureDirections(r.img, r.dpi, r.below).isSideways() {
		return r.cleanImage(imageSteps{invert: true})
	}
	if err := r.cleanImage(imageSteps{turn: 90, invert: true}); err != nil {
		return err
	}
	r.img = r.img.rotated(270)
	return nil
}

// switchHandle has a handle read the page from here on.
func (r *reader) switchHandle(h *Handle) {
	r.handle = h
	h.RetryAsLightText(r.dark)
}

func (r *reader) cleanImage(s imageSteps) error {
	img, err := r.img.applySteps(s, r.dpi, r.below)
	if err != nil {
		return err
	}
	r.img, r.below, r.areas = img, inkThreshold(img), nil
	return nil
}

// detectColumns finds out whether the text runs in columns from top to bottom, and has the handle for those read the
// page from here on if it does. Tesseract does not tell such columns from lines by itself.
func (r *reader) detectColumns(lines lineDirections) error {
	if r.columnHandle == nil || lines.gaps < minGaps || lines.isUpright() {
		return nil
	}
	ways := []imageSteps{{}}
	if r.options.rotate {
		ways = append(ways, imageSteps{turn: 90}, imageSteps{turn: 270})
	}
	inLines := 0.0
	for _, way := range ways {
		legible, err := r.probeSquares(probeInches, way, oneBlock)
		if err != nil {
			return err
		}
		inLines = max(inLines, legible)
	}
	handle, err := r.columnHandle()
	if err != nil {
		return err
	}
	other := r.handle
	r.switchHandle(handle)
	legible, err := r.probeSquares(probeInches, imageSteps{}, columns)
	if err != nil {
		return err
	}
	if legible > minLanguageLead*inLines {
		r.inColumns, r.secondHandle = true, nil
	} else {
		r.switchHandle(other)
	}
	return nil
}

// readUpright reads the page the way up that reads best.
func (r *reader) readUpright(lines lineDirections) (reading, error) {
	if !r.options.rotate || r.inColumns {
		return r.readWhole(imageSteps{})
	}
	first, others := 0, []int{180, 90, 270}
	switch {
	case lines.isSideways():
		turn, err := r.probeTurns(90, 270, 0) // 0: Chinese and Japanese may be set in columns
		if err != nil {
			return reading{}, err
		}
		first, others = turn, []int{(turn + 180) % 360}
	case lines.isUpright():
		others = []int{180}
	}
	best, err := r.readWhole(imageSteps{turn: first})
	if err != nil || best.confidence >= minUprightConfidence || lines.gaps < minGaps/10 {
		return best, err
	}
	turn, err := r.probeTurns(append([]int{first}, others...)...)
	if err != nil {
		return reading{}, err
	}
	if turn == first {
		if !lines.isSideways() {
			return best, nil
		}
		turn = others[0] // the probe was wrong before, perhaps about a picture
	}
	second, err := r.readWhole(imageSteps{turn: turn})
	if err != nil || second.confidence < best.confidence+minTurnGain {
		return best, err
	}
	return second, nil
}

// readWhole reads the page turned and straightened.
func (r *reader) readWhole(s imageSteps) (reading, error) {
	if r.options.deskew {
		turn := s.turn
		if r.inColumns {
			turn += 90 // skew is measured along the lines
		}
		angle, sureness := r.img.rotated(turn%360).measureSkew(r.dpi, r.below)
		if sureness >= minSkewSureness && math.Abs(angle) >= minSkew {
			s.angle = angle
		}
	}
	return r.readImage(r.img, s, wholePage)
}

// readAgain reads a page once more in another way, and takes from both what was read better.
func (r *reader) readAgain(first reading) (reading, error) {
	if r.secondHandle != nil {
		h, err := r.secondHandle()
		if err != nil {
			return reading{}, err
		}
		r.switchHandle(h)
	}
	second, err := r.readImage(r.img, imageSteps{turn: first.turn, angle: first.skew, scale: 1.5}, wholePage)
	if err != nil {
		return reading{}, err
	}
	return mergeReadings(first, second), nil
}

// readWithoutScreen reads a page with screens once more, blurred, and takes from both what was read better. Dots hide
// the letters that they make up, or that lie on them, so that Tesseract takes them and their neighbours for a
// picture; but small print suffers from the blur.
func (r *reader) readWithoutScreen(first reading) (reading, error) {
	second, err := r.readImage(r.img, imageSteps{turn: first.turn, angle: first.skew,
		blur: screenBlurInches * float64(r.dpi)}, wholePage)
	if err != nil {
		return reading{}, err
	}
	if second.legibilityScore() > first.legibilityScore() {
		first, second = second, first
	}
	return mergeReadings(first, second), nil
}

// probeTurns reads the squares with most text turned each way, and returns the way that reads best, the first of
// equals. What counts is how many characters are read well, as the wrong way up may yield a single sure bracket.
// There are two squares, as one may hold a picture.
func (r *reader) probeTurns(turns ...int) (int, error) {
	best, bestTurn := -1.0, turns[0]
	for _, turn := range turns {
		legible, err := r.probeSquares(probeInches, imageSteps{turn: turn}, oneBlock)
		if err != nil {
			return 0, err
		}
		if legible > best {
			best, bestTurn = legible, turn
		}
	}
	return bestTurn, nil
}

// probeSquares returns how well the two squares with most text, of so many inches, read after the steps.
func (r *reader) probeSquares(inches float32, s imageSteps, as segmentation) (float64, error) {
	legible := 0.0
	for _, b := range densestSquares(r.img, int(inches*r.dpi), r.dpi, r.below, 2) {
		got, err := r.readImage(r.img.cropped(b), s, as)
		if err != nil {
			return 0, err
		}
		legible += got.legibilityScore()
	}
	return legible, nil
}

// readImage reads an image after the steps.
func (r *reader) readImage(img greyImage, s imageSteps, as segmentation) (reading, error) {
	scale := s.scale
	if scale == 0 {
		scale = 1
	}
	ready, err := img.applySteps(s, r.dpi, r.below)
	if err != nil {
		return reading{}, err
	}
	r.handle.SetImage(ready, int(r.toldDPI*scale+0.5), as)
	defer r.handle.ClearImage()
	if r.enlarged {
		if err := r.handle.BlurLines(ready, enlargedBlur*r.xHeight*scale); err != nil {
			return reading{}, err
		}
	}
	if err := r.handle.RecogniseImage(); err != nil {
		return reading{}, err
	}
	got := reading{width: r.img.width, height: r.img.height, turn: s.turn, skew: s.angle, blocks: r.handle.readBlocks()}
	if s.angle != 0 || scale != 1 {
		width, height := img.width, img.height
		if s.turn%180 != 0 {
			width, height = height, width
		}
		got.straightenBack(ready, width, height, scale)
	}
	got.confidence = got.meanConfidence()
	return got, nil
}

// straightenBack maps the boxes from the image that was read to what it was before it was straightened and enlarged.
func (r *reading) straightenBack(from greyImage, width, height int, scale float64) {
	sin, cos := math.Sincos(r.skew * math.Pi / 180)
	for w := range allWords(r.blocks) {
		x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
		for corner := range 4 {
			x := float64(w.box[corner&1*2]) - float64(from.width)/2
			y := float64(w.box[1+corner&2]) - float64(from.height)/2
			x, y = (x*cos+y*sin)/scale, (y*cos-x*sin)/scale
			x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y)
		}
		dx, dy := float64(width)/2, float64(height)/2
		w.box = box{int(math.Floor(x0 + dx)), int(math.Floor(y0 + dy)), int(math.Ceil(x1 + dx)), int(math.Ceil(y1 + dy))}
	}
}

// meanConfidence returns the mean confidence of the characters.
func (r *reading) meanConfidence() float64 {
	var sum float64
	characters := 0
	for w := range allWords(r.blocks) {
		n := utf8.RuneCountInString(w.text)
		characters += n
		sum += float64(w.confidence) * float64(n)
	}
	return sum / float64(max(characters, 1))
}

// proseConfidence is the mean confidence of the characters in words that have letters or digits. Dot leaders and rows
// of dashes read badly however good the page is, and a second reading makes nothing of them.
func (r *reading) proseConfidence() float64 {
	var sum float64
	characters := 0
	for w := range allWords(r.blocks) {
		if !strings.ContainsFunc(w.text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			continue
		}
		n := utf8.RuneCountInString(w.text)
		characters += n
		sum += float64(w.confidence) * float64(n)
	}
	return sum / float64(max(characters, 1))
}

// dropSpecks drops lines of a few characters that were hardly more than guessed: specks, staples, stamps, the edge of
// the sheet. The corpus has 15 such lines on 13 pages, of which one is text.
func (r *reading) dropSpecks() {
	const most, guessed = 3, 0.6
	for i := range r.blocks {
		b := &r.blocks[i]
		b.lines = slices.DeleteFunc(b.lines, func(l line) bool {
			p := placedLine{line: &l}
			return p.characterCount() <= most && p.meanConfidence() < guessed
		})
	}
	r.confidence = r.meanConfidence()
}

// legibilityScore returns the number of characters by how much better than a guess they were read.
func (r reading) legibilityScore() float64 {
	sum := 0.0
	for w := range allWords(r.blocks) {
		sum += float64(utf8.RuneCountInString(w.text)) * max(0, float64(w.confidence)-0.5)
	}
	return sum
}

// toPage turns a reading into a page, whose boxes are in points on the image as it was given.
func (r reading) toPage(img greyImage, dpi float32) *inkstreamv1.Page {
	dpi *= float32(r.width) / float32(img.width) // of the image that was read, where small print was enlarged
	points := func(pixels int) float32 { return recognise.PixelsToPoints(pixels, dpi) }
	page := &inkstreamv1.Page{UprightRotation: int32((r.turn + 360 - r.mainAngle()) % 360), Skew: float32(r.skew),
		Language: isoCode(r.language), Bend: r.bend.sampledAcross(r.width, dpi)}
	if r.unreadable {
		page.Notes = append(page.Notes, recognise.NoteNoise)
	}
	if r.missing {
		page.Notes = append(page.Notes, recognise.NoteNoModel)
	}
	for _, b := range r.blocks {
		block := &inkstreamv1.Block{}
		for _, l := range b.lines {
			line := &inkstreamv1.Line{Angle: int32((l.angle + 360 - r.turn) % 360)}
			for _, w := range l.words {
				at := r.bend.bendBack(w.box.rotatedBack(r.turn, r.width, r.height))
				word := &inkstreamv1.Word{
					Text: w.text, Confidence: &w.confidence,
					Bbox: []float32{points(at[0]), points(at[1]), points(at[2]), points(at[3])},
				}
				if w.bold {
					word.Font, page.Fonts = 1, []*inkstreamv1.Font{recognise.BoldFont()}
				}
				line.Words = append(line.Words, word)
			}
			block.Lines = append(block.Lines, line)
		}
		page.Blocks = append(page.Blocks, block)
	}
	page.InkWithoutWords = float32(r.unread.share)
	for _, region := range r.unread.regions {
		at := r.bend.bendBack(region.rotatedBack(r.turn, r.width, r.height))
		page.UnreadRegions = append(page.UnreadRegions, &inkstreamv1.UnreadRegion{Bbox: []float32{points(at[0]), points(at[1]),
			points(at[2]), points(at[3])}})
	}
	for _, b := range r.rulings {
		b = r.bend.bendBack(b)
		page.Rulings = append(page.Rulings, &inkstreamv1.Ruling{Bbox: []float32{points(b[0]), points(b[1]), points(b[2]),
			points(b[3])}})
	}
	return page
}

// mainAngle is the direction of most of the text. Tesseract finds lines that run up or down by itself, and then a
// page on its side with too little text for measureDirections is read well without being turned.
func (r reading) mainAngle() int {
	var byAngle [4]int
	for _, b := range r.blocks {
		for _, l := range b.lines {
			angle := l.angle
			if l.upright {
				angle = 0
			}
			for _, w := range l.words {
				byAngle[angle/90] += utf8.RuneCountInString(w.text)
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
