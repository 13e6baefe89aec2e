package ocr

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/image/draw"

	"inkstream.dev/pkg/agree"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

// A scan's text layer is believed as far as the ink agrees. A few of its lines are cut out of the raster, put under
// each other and read. Where they say something else, the page is read whole, and the layer goes if that says something
// else too. A reading that is itself not sure proves nothing, nor does one in another script than the layer: the layer
// stays then.

const (
	// minAgreement is the share of a line's letters that a reading has to have for the layer to be believed. Layers with
	// 5 % of wrong letters have 0.95, with 10 % 0.92, with 20 % 0.75, sound ones 0.99 and more (make quality, "Text layers").
	minAgreement = 0.92
	// maxMisspelt is the share of the words that a sure reading of the page has otherwise from which the layer goes, and
	// maxSampleMisspelt that of the sample's from which the page is read. Layers with 2 % of wrong letters have 0.10, with
	// 5 % 0.23, with 10 % 0.42; a sound one of another recogniser 0.03, others none.
	maxMisspelt, maxSampleMisspelt = 0.08, 0.05
	// A word is read surely from minWordCertainty on, and a reading is sure that has minSureWords of them, and minSureShare
	// of all that are compared.
	minWordCertainty, minSureWords, minSureShare = 0.85, 20, 0.8
	// minCertainty is the mean confidence of a line below which its reading proves nothing.
	minCertainty = 0.75
	// minLetters is the least text that can be judged.
	minLetters = 40
	// sampleLines is how many lines are read, and settleLines how many at most are held against a reading of the whole
	// page.
	sampleLines, settleLines = 8, 200
	// longLine and shortLine are how many letters make a line worth it: where there are too few of the first, as in a
	// table, those of the second are taken.
	longLine, shortLine = 12, 4
	// maxLineHeight is the height of the tallest line that is held against the ink, in points: of a larger one, a few
	// would be the whole page.
	maxLineHeight = 72
)

// checkTextLayer reads a sample of the page's text layer. It reports whether the layer stays: the page then has its
// outcome and its quality. So does one with too little text to be judged: a reading of the whole page would not know
// better.
func (st *steps) checkTextLayer(ctx context.Context, s *stage.Snapshot, native *inkstreamv1.Page,
	img Image) (bool, error) {
	lines := pickLines(native, sampleLines)
	if len(lines) == 0 {
		keepTextLayer(native, comparison{})
		return true, nil
	}
	sample, places, err := cutSample(img, lines)
	if fault.CodeOf(err) == fault.PageDamaged {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer sample.Close()
	reading, err := st.recognisePage(ctx, s, int(native.GetNumber()), Image{File: sample, DPI: img.DPI}, RecogniseOptions{})
	if err != nil || reading.GetOutcome() == outcome.Failed {
		return false, err
	}
	c := compareLines(lines, places, reading)
	if c.comparable && (c.agreement < minAgreement || c.misspelt > maxSampleMisspelt) {
		return false, nil
	}
	keepTextLayer(native, c)
	return true, nil
}

// settleTextLayer decides about a text layer by a reading of the whole page, and reports whether it stays. One that
// goes leaves the page without its words, and with the reason. Of the reading, one that stays leaves the words that the
// layer has not.
func settleTextLayer(native, reading *inkstreamv1.Page) bool {
	lines := pickLines(native, settleLines)
	places := make([][]float32, len(lines))
	for i, l := range lines {
		places[i] = l.GetBbox()
	}
	c := compareLines(lines, places, reading)
	if !c.comparable || !c.certain || c.agreement >= minAgreement && c.misspelt <= maxMisspelt {
		keepTextLayer(native, c)
		dropKnownWords(reading, native)
		return true
	}
	native.Blocks, native.Fonts = nil, nil
	native.Reason = outcome.LayerDisagrees
	native.Notes = append(native.Notes, "the text layer was replaced: "+c.describeDifference())
	return false
}

// describeDifference says what of a layer that goes is not what the page shows.
func (c comparison) describeDifference() string {
	if c.agreement >= minAgreement {
		return fmt.Sprintf("it spells %.0f %% of its words otherwise than the page shows them", 100*c.misspelt)
	}
	return fmt.Sprintf("%.0f %% of it agrees with what the page shows", 100*c.agreement)
}

// keepTextLayer makes the page one of native text.
func keepTextLayer(native *inkstreamv1.Page, c comparison) {
	outcome.SetNative(native)
	native.Dpi = 0
	if c.comparable && c.agreement >= minAgreement {
		native.Quality = float32(c.agreement)
	}
}

// dropKnownWords removes the words of a reading that a text layer has, wherever it has them: a layer may be a little
// out of place.
func dropKnownWords(reading, native *inkstreamv1.Page) {
	partners := agree.Align(pageWords(native), pageWords(reading), agree.Options{}).WitnessPartner
	next := 0
	for _, b := range reading.GetBlocks() {
		for _, l := range b.GetLines() {
			l.Words = slices.DeleteFunc(l.Words, func(*inkstreamv1.Word) bool {
				next++
				return partners[next-1] >= 0
			})
		}
	}
}

// pickLines returns at most n lines of the page that can be judged, spread over it.
func pickLines(page *inkstreamv1.Page, n int) []*inkstreamv1.Line {
	lines := findLines(page, longLine)
	if len(lines) < sampleLines/2 {
		lines = findLines(page, shortLine)
	}
	if len(lines) <= n {
		return lines
	}
	out := make([]*inkstreamv1.Line, n)
	for i := range out {
		out[i] = lines[(2*i+1)*len(lines)/(2*n)]
	}
	return out
}

// findLines returns the level lines of the page with at least so many letters.
func findLines(page *inkstreamv1.Page, letters int) []*inkstreamv1.Line {
	var out []*inkstreamv1.Line
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			if at := l.GetBbox(); l.GetAngle() == 0 && len(at) == 4 && at[3]-at[1] <= maxLineHeight &&
				countLetters(lineWords(l)) >= letters {
				out = append(out, l)
			}
		}
	}
	return out
}

// cutSample returns a raster of the lines of a page under each other, in a file without a name, and where on it each
// line stands, in points. What a layer says of the places of its words may be anything: lines that would make the
// sample larger than half of the page are left blank, and so are words of a line that cover it again and again.
func cutSample(img Image, lines []*inkstreamv1.Line) (*os.File, [][]float32, error) {
	size, err := img.CheckHeader()
	if err != nil {
		return nil, nil, err
	}
	const margin = 30
	page := image.Rect(0, 0, size.Width, size.Height)
	room, width, height := size.Pixels()/2, 0, margin
	strips := make([]image.Rectangle, len(lines))
	for i, l := range lines {
		strip := pixelsAround(l.GetBbox(), img.DPI).Intersect(page)
		if room -= strip.Dx() * strip.Dy(); room < 0 {
			break
		}
		strips[i] = strip
		width, height = max(width, strip.Dx()), height+strip.Dy()+margin
	}
	out := image.NewGray(image.Rect(0, 0, width+2*margin, height))
	draw.Draw(out, out.Rect, image.NewUniform(color.Gray{Y: 255}), image.Point{}, draw.Src)
	places := make([][]float32, len(lines))
	y := margin
	for i, strip := range strips {
		move := image.Pt(margin, y).Sub(strip.Min)
		if err := copyWords(out, move, img, size, strip, lines[i].GetWords()); err != nil {
			return nil, nil, err
		}
		at, scale := strip.Add(move), 72/img.DPI
		places[i] = []float32{float32(at.Min.X) * scale, float32(at.Min.Y) * scale, float32(at.Max.X) * scale,
			float32(at.Max.Y) * scale}
		y += strip.Dy() + margin
	}
	f, err := recognise.WritePGM(out)
	return f, places, err
}

// copyWords copies the words of a line, whose place on the raster is strip. It goes word by word, because a line's box
// shows its neighbours where it is skewed.
func copyWords(to *image.Gray, move image.Point, img Image, size recognise.Size, strip image.Rectangle,
	words []*inkstreamv1.Word) error {
	if strip.Empty() {
		return nil
	}
	rows := &image.Gray{Pix: make([]byte, strip.Dy()*size.Width), Stride: size.Width,
		Rect: image.Rect(0, strip.Min.Y, size.Width, strip.Max.Y)}
	if _, err := img.File.ReadAt(rows.Pix, size.Offset+int64(strip.Min.Y)*int64(size.Width)); err != nil {
		return fmt.Errorf("read raster: %w", err)
	}
	const layers = 4
	room := layers * strip.Dx() * strip.Dy()
	for i, w := range words {
		if len(w.GetBbox()) != 4 {
			continue
		}
		word := pixelsAround(w.GetBbox(), img.DPI).Intersect(strip)
		if i+1 < len(words) && len(words[i+1].GetBbox()) == 4 { // a layer's words may end before their ink does
			next := pixelsAround(words[i+1].GetBbox(), img.DPI)
			if gap := next.Min.X - word.Max.X; gap > 0 && gap < word.Dy() {
				word.Max.X = min(next.Min.X, strip.Max.X)
			}
		}
		if room -= word.Dx() * word.Dy(); room < 0 {
			return nil
		}
		word = trimSlivers(rows, word)
		draw.Draw(to, word.Add(move), rows, word.Min, draw.Src)
	}
	return nil
}

// pixelsAround returns the pixels of a box and a little around it.
func pixelsAround(box []float32, dpi float32) image.Rectangle {
	height, scale := box[3]-box[1], dpi/72
	padX, padY := 0.15*height, 0.04*height // more above and below shows the neighbouring lines
	return image.Rect(int((box[0]-padX)*scale), int((box[1]-padY)*scale), int((box[2]+padX)*scale), int((box[3]+padY)*scale))
}

// trimSlivers cuts off what shows of the lines above and below a word: ink that runs along an edge of its box and ends
// before the word begins.
func trimSlivers(page *image.Gray, word image.Rectangle) image.Rectangle {
	if word.Empty() {
		return word
	}
	darkest, sum := 255, 0
	for y := word.Min.Y; y < word.Max.Y; y++ {
		for x := word.Min.X; x < word.Max.X; x++ {
			v := int(page.GrayAt(x, y).Y)
			darkest, sum = min(darkest, v), sum+v
		}
	}
	limit := (darkest + sum/(word.Dx()*word.Dy())) / 2
	hasInk := func(y int) bool {
		const speck = 2
		n := 0
		for x := word.Min.X; x < word.Max.X; x++ {
			if int(page.GrayAt(x, y).Y) < limit {
				n++
			}
		}
		return n > speck
	}
	out, reach := word, word.Dy()/3
	for y := word.Min.Y; y < word.Min.Y+reach && hasInk(word.Min.Y); y++ {
		if !hasInk(y) {
			out.Min.Y = y
			break
		}
	}
	for y := word.Max.Y - 1; y >= word.Max.Y-reach && hasInk(word.Max.Y-1); y-- {
		if !hasInk(y) {
			out.Max.Y = y + 1
			break
		}
	}
	return out
}

// comparison is what holding a text layer against a reading tells.
type comparison struct {
	// agreement is the share of a line's letters that the reading has, 0 to 1: that of the line in the middle, for a bad
	// layer is bad everywhere, and a sound one may be out of place here and there.
	agreement float64
	// comparable says that there is enough text, in one script.
	comparable bool
	// certain says that the reading of most lines is.
	certain bool
	// misspelt is the share of the words that are read otherwise and surely; 0 where the reading is not sure of nearly all.
	misspelt float64
}

// compareLines holds the lines of a text layer against a reading that has each of them at a place.
func compareLines(lines []*inkstreamv1.Line, places [][]float32, reading *inkstreamv1.Page) comparison {
	var supports []float64
	var layer, witness []agree.Word
	certain := 0
	var spelling spellingCount
	for i, l := range lines {
		own, found := lineWords(l), wordsWithin(reading, places[i])
		layer, witness = append(layer, own...), append(witness, found...)
		aligned := agree.Align(own, found, agree.Options{})
		supports = append(supports, aligned.Support)
		spelling.addLine(own, found, aligned)
		if certaintyOf(found) >= minCertainty {
			certain++
		}
	}
	if countLetters(layer) < minLetters || mainScript(layer) != mainScript(witness) {
		return comparison{}
	}
	slices.Sort(supports)
	return comparison{agreement: supports[len(supports)/2], comparable: true, certain: 2*certain >= len(lines),
		misspelt: spelling.misspeltShare()}
}

// spellingCount counts the words of a layer that a reading has too: all, those that it is sure of, and those of them that
// it spells otherwise.
type spellingCount struct{ words, sure, otherwise int }

// addLine counts the words of a line. Only words of plain Latin letters count: others may be of a language that the
// reader was not told of, and it reads its own letters in their place, surely.
func (s *spellingCount) addLine(own, found []agree.Word, aligned agree.Result) {
	const shortest = 3 // letters
	for i, w := range own {
		partners := aligned.Words[i].Witness
		if len(partners) == 0 || countLetters(own[i:i+1]) < shortest || !isPlainLatin(w.Text) {
			continue
		}
		isSure, isPlain := true, true
		for _, j := range partners {
			isSure = isSure && found[j].Confidence >= minWordCertainty
			isPlain = isPlain && isPlainLatin(found[j].Text)
		}
		if !isPlain {
			continue
		}
		s.words++
		if !isSure {
			continue
		}
		s.sure++
		if aligned.Words[i].Similarity < 1 {
			s.otherwise++
		}
	}
}

func (s *spellingCount) misspeltShare() float64 {
	if s.sure < minSureWords || float64(s.sure) < minSureShare*float64(s.words) {
		return 0
	}
	return float64(s.otherwise) / float64(s.sure)
}

// isPlainLatin reports whether all letters of a word are those of ASCII.
func isPlainLatin(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsLetter(r) })
}

// wordsWithin returns the words of a page whose middle lies in a box.
func wordsWithin(page *inkstreamv1.Page, box []float32) []agree.Word {
	var out []agree.Word
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for i, w := range lineWords(l) {
				at := l.GetWords()[i].GetBbox()
				if len(at) != 4 {
					continue
				}
				x, y := (at[0]+at[2])/2, (at[1]+at[3])/2
				if x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3] {
					out = append(out, w)
				}
			}
		}
	}
	return out
}

// hasWords reports whether the page has any.
func hasWords(page *inkstreamv1.Page) bool { return len(pageWords(page)) > 0 }

// pageWords returns the words of a page, in order.
func pageWords(page *inkstreamv1.Page) []agree.Word {
	var out []agree.Word
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			out = append(out, lineWords(l)...)
		}
	}
	return out
}

// lineWords returns the words of a line. Those of a text layer have no confidence, and count as certain.
func lineWords(l *inkstreamv1.Line) []agree.Word {
	out := make([]agree.Word, len(l.GetWords()))
	for i, w := range l.GetWords() {
		out[i] = agree.Word{Text: w.GetText(), Confidence: 1}
		if w.Confidence != nil {
			out[i].Confidence = w.GetConfidence()
		}
	}
	return out
}

func countLetters(words []agree.Word) int {
	n := 0
	for _, w := range words {
		for _, r := range w.Text {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				n++
			}
		}
	}
	return n
}

// certaintyOf returns the mean confidence of words, by their length.
func certaintyOf(words []agree.Word) float64 {
	sum, n := 0.0, 0
	for _, w := range words {
		sum += float64(w.Confidence) * float64(len(w.Text))
		n += len(w.Text)
	}
	return sum / float64(max(1, n))
}

// scripts are told apart: a reading in one proves nothing of a text in another, for the language may not be installed.
var scripts = []*unicode.RangeTable{
	unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew, unicode.Han, unicode.Hiragana,
	unicode.Katakana, unicode.Hangul, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Telugu, unicode.Thai,
	unicode.Georgian, unicode.Armenian, unicode.Ethiopic,
}

// mainScript returns the index in scripts of most letters; -1 where there are none of them. Japanese counts as Han.
func mainScript(words []agree.Word) int {
	counts := make([]int, len(scripts))
	for _, w := range words {
		for _, r := range w.Text {
			if i := slices.IndexFunc(scripts, func(s *unicode.RangeTable) bool { return unicode.Is(s, r) }); i >= 0 {
				counts[i]++
			}
		}
	}
	han := slices.Index(scripts, unicode.Han)
	counts[han] += counts[han+1] + counts[han+2]
	counts[han+1], counts[han+2] = 0, 0
	best := slices.Index(counts, slices.Max(counts))
	if counts[best] == 0 {
		return -1
	}
	return best
}
