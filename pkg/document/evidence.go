package document

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Evidence is what the rules of a whole document need to know about one of its pages.
type Evidence struct {
	Number        int
	Width, Height float32
	Words         int
	// Language counts words by language.
	Language map[string]int
	// Sizes counts characters by type size in quarters of a point.
	Sizes  map[int]int
	Blocks []BlockEvidence
	// Edges are the lines nearest to the page's upper and lower edge.
	Edges []EdgeLine
}

// BlockEvidence is what is known about a block.
type BlockEvidence struct {
	Type byte // index into types
	Box  [4]float32
	// Size is the type size in quarters of a point; of a recognised block what the heights of its words tell.
	Size  int
	Words int
	Lines int
	Flags Flags
	// Key is a hash of its text's letters and digits in lower case, without the number that it begins with, by which it
	// is found again in the outline; of long blocks 0.
	Key uint64
	// Depth is that of the number which the block begins with: 2 for "1.3 Results".
	Depth int
	// Tag is the level of the heading that the document's structure says this is, TagHeading for one without a level,
	// TagTitle for the title, TagText for text that is none; 0 where the structure does not say.
	Tag int
	// Columns are those of a table.
	Columns int
	// Style tells apart fonts of one size: a hash of the name.
	Style uint32
}

// Flags are facts about a block's text.
type Flags uint32

// The facts.
const (
	FlagBold        Flags = 1 << iota // all of it
	FlagCaps                          // no small letters
	FlagSentence                      // ends as a sentence does
	FlagStop                          // ends with a stop, comma or the like
	FlagHyphen                        // ends with a hyphen
	FlagLower                         // begins with a small letter
	FlagFull                          // its last line reaches the right edge of the block
	FlagRecognised                    // recognised in an image
	FlagLeader                        // has a row of dots, or a line to write on
	FlagLetters                       // has two letters or more in a row
	FlagUnspaced                      // ends in a script without blanks
	FlagCentred                       // stands in the middle of the page
	FlagItalic                        // all of it
	FlagTurned                        // not upright
	FlagNumber                        // ends with a number
	FlagSign                          // begins with a sign: a bullet, a dash
	FlagLong                          // longer than headings are
	FlagQuote                         // stands in quotation marks
	FlagInitial                       // a capital alone, with which the text below begins
	FlagPrice                         // one line that ends with a figure that stands apart, as a price does
	FlagMidColumn                     // one line in the middle of the block above or below it, which is wider
	FlagDoubtful                      // recognised, and hardly a letter for sure: a drawing, a signature or a stamp rather than text
	FlagFigures                       // more figures than letters, and longer than a year: a telephone number, an account
	FlagLineNumbers                   // counts the lines of the text next to it
	FlagColon                         // ends with a colon
	FlagIndented                      // its first line is indented, and its second is not
)

// What Tag says besides the levels 1 to 6.
const (
	TagHeading = 7
	TagTitle   = 8
	TagText    = 9
	// TagParagraph is a plain paragraph, which authors make a heading of by its type alone.
	TagParagraph = 10
)

// EdgeLine is a line near the upper or lower edge of a page.
type EdgeLine struct {
	Block, Line int
	Top         bool
	Y           float32
	// Key is a hash of the line's text with every number made the same.
	Key uint64
	// Value is the number that the line is, or has alone; 0 where it is none. Bare says that it has nothing else.
	Value int
	Bare  bool
	Words int
	// Numbered says that it begins or ends with a page's number in figures, which stands apart from its other words.
	Numbered bool
}

// blockTypes lists the types of blocks in the order by which they are stored.
var blockTypes = []string{
	"", layout.Title, layout.Heading, layout.Paragraph, layout.ListItem, layout.Code, layout.Table, layout.Figure,
	layout.Caption, layout.Header,
	layout.Footer, layout.PageNumber, layout.Footnote, layout.Formula,
}

func blockTypeIndex(name string) byte { return byte(max(0, slices.Index(blockTypes, name))) }

// ObservePage gathers the evidence of an arranged page.
func ObservePage(p *inkstreamv1.Page) *Evidence {
	e := &Evidence{
		Number: int(p.GetNumber()), Width: p.GetWidth(), Height: p.GetHeight(), Language: map[string]int{},
		Sizes:  map[int]int{},
		Blocks: make([]BlockEvidence, len(p.GetBlocks())),
	}
	o := observer{e: e, fonts: p.GetFonts(), bold: make([]bool, len(p.GetFonts())+1), dominantAngle: dominantAngle(p), tableSizes: map[int]int{}}
	for i, f := range p.GetFonts() {
		o.bold[i+1] = layout.IsBoldFont(f)
	}
	for i, b := range p.GetBlocks() {
		o.observeBlock(&e.Blocks[i], b)
		if layout.CountsLines(b) {
			e.Blocks[i].Flags |= FlagLineNumbers
		}
	}
	o.addTableSizes()
	for i := 1; i < len(p.GetBlocks()); i++ {
		if isInitial(p.GetBlocks()[i-1], p.GetBlocks()[i]) {
			e.Blocks[i-1].Flags |= FlagInitial
		}
		for _, pair := range [2][2]int{{i - 1, i}, {i, i - 1}} {
			if line := &e.Blocks[pair[0]]; line.Lines == 1 && isCentredIn(line, &e.Blocks[pair[1]]) {
				line.Flags |= FlagMidColumn
			}
		}
	}
	applyStructureTags(e, p)
	collectEdgeLines(e, p)
	return e
}

// isInitial reports whether a block is a capital alone, and the block below it begins with the same letter, as the
// parts of directories and indexes do.
func isInitial(b, next *inkstreamv1.Block) bool {
	if len(b.GetLines()) != 1 || len(next.GetLines()) == 0 || len(b.GetBbox()) != 4 || len(next.GetBbox()) != 4 ||
		next.GetBbox()[1] < b.GetBbox()[3]-1 || len(b.GetLines()[0].GetWords()) != 1 || len(next.GetLines()[0].GetWords()) == 0 {
		return false
	}
	text := b.GetLines()[0].GetWords()[0].GetText()
	letter, size := utf8.DecodeRuneInString(text)
	first, _ := utf8.DecodeRuneInString(next.GetLines()[0].GetWords()[0].GetText())
	return size == len(text) && unicode.IsUpper(letter) && unicode.ToUpper(first) == letter &&
		len(next.GetLines()[0].GetWords())+len(next.GetLines()[0].GetWords()[0].GetText()) > 2
}

// dominantAngle returns the angle that most of a page's lines have.
func dominantAngle(p *inkstreamv1.Page) int32 {
	var count [4]int
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			count[((l.GetAngle()%360+360)%360)/90] += len(l.GetWords())
		}
	}
	best := 0
	for i, n := range count {
		if n > count[best] {
			best = i
		}
	}
	return int32(best * 90)
}

type observer struct {
	e             *Evidence
	fonts         []*inkstreamv1.Font
	bold          []bool
	dominantAngle int32
	tableSizes    map[int]int // counts characters of tables by type size
	hasProse      bool        // a block outside tables has several lines, or ends as a sentence does
}

// maxKeyWords is how many words a block has at most that is looked for in the outline.
const maxKeyWords = 40

// maxHeadingLetters is how many characters a heading has at most, blanks aside, whatever the structure says: a
// heading is repeated in every passage under it. In the corpus the longest has 355, and that is a paragraph with the
// wrong tag.
const maxHeadingLetters = 400

// minSureness is the mean confidence of its letters, from 0 to 1, below which recognised text is doubtful. On scans of
// letters, magazines and reports what was read out of drawings and signatures has 0.05 to 0.57, headings have more.
const minSureness = 0.6

// countSizes counts the characters of a block by type size. Those of code and of drawings do not tell the body's.
func (o *observer) countSizes(kind string, sizes map[int]int) {
	into := o.e.Sizes
	switch kind {
	case layout.Code, layout.Figure:
		return
	case layout.Table:
		into = o.tableSizes
	}
	for size, n := range sizes {
		into[size] += n
	}
}

// addTableSizes counts the characters of tables too on a page that has hardly any other text, or less and nothing but
// lines by themselves: there they are the body, as in a price list.
func (o *observer) addTableSizes() {
	text, tables := 0, 0
	for _, n := range o.e.Sizes {
		text += n
	}
	for _, n := range o.tableSizes {
		tables += n
	}
	if 4*text > tables && (o.hasProse || text > tables) {
		return
	}
	for size, n := range o.tableSizes {
		o.e.Sizes[size] += n
	}
}

func (o *observer) observeBlock(out *BlockEvidence, b *inkstreamv1.Block) {
	out.Type, out.Lines = blockTypeIndex(b.GetType()), len(b.GetLines())
	out.Columns = int(b.GetTable().GetColumns())
	defer o.observeTableHeader(out, b.GetTable())
	if box := b.GetBbox(); len(box) == 4 {
		out.Box = [4]float32(box)
	}
	sizes := map[int]int{}
	bold, letters, lower, upper, recognised := true, 0, 0, 0, false
	characters, figures, sure := 0, 0, 0.0
	var style *inkstreamv1.Word
	for _, line := range b.GetLines() {
		if line.GetAngle() != o.dominantAngle {
			out.Flags |= FlagTurned
		}
		for _, w := range line.GetWords() {
			out.Words++
			n, small, capital := countLetters(w.GetText())
			lower, upper = lower+small, upper+capital
			letters += n
			characters, figures = characters+utf8.RuneCountInString(w.GetText()), figures+countDigits(w.GetText())
			size := typeSizeQuarters(w, line.GetAngle())
			sizes[size] += len(w.GetText())
			if n >= 2 {
				out.Flags |= FlagLetters
				if style == nil {
					style = w
				}
			}
			if n > 0 {
				bold = bold && o.isBold(w)
			}
			recognised = recognised || w.Confidence != nil
			sure += float64(w.GetConfidence()) * float64(utf8.RuneCountInString(w.GetText()))
		}
	}
	if out.Size = mostFrequent(sizes); recognised {
		out.Size = medianSize(sizes)
	}
	o.countSizes(b.GetType(), sizes)
	o.e.Words += out.Words
	if b.GetLanguage() != "" {
		o.e.Language[b.GetLanguage()] += out.Words
	}
	set := func(f Flags, on bool) {
		if on {
			out.Flags |= f
		}
	}
	set(FlagBold, bold && letters > 0)
	set(FlagCaps, upper > 1 && lower == 0)
	set(FlagRecognised, recognised)
	set(FlagDoubtful, recognised && sure < minSureness*float64(characters))
	set(FlagLong, characters > maxHeadingLetters)
	set(FlagFigures, figures > max(letters, yearDigits))
	set(FlagPrice, endsWithPrice(b.GetLines(), 1.5*float32(out.Size)/4))
	o.observeFont(out, style)
	o.observeTextEnds(out, b)
	o.noteProse(b.GetType(), out)
}

// observeFont takes the font of a block from one of its words, which may be nil.
func (o *observer) observeFont(out *BlockEvidence, w *inkstreamv1.Word) {
	if w == nil || w.GetFont() <= 0 || int(w.GetFont()) > len(o.fonts) {
		return
	}
	f := o.fonts[w.GetFont()-1]
	if out.Style = hash32(f.GetName()); f.GetItalic() {
		out.Flags |= FlagItalic
	}
}

// noteProse notes whether a block is text that runs on.
func (o *observer) noteProse(kind string, b *BlockEvidence) {
	switch kind {
	case layout.Table, layout.Code, layout.Figure:
	default:
		o.hasProse = o.hasProse || b.Lines > 1 || b.Flags&FlagStop != 0 && b.Words > 3
	}
}

// yearDigits is how many figures a year has.
const yearDigits = 4

// countDigits counts the figures of a text.
func countDigits(text string) (n int) {
	for _, r := range text {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// countLetters counts the letters of a text, the small ones and the capitals.
func countLetters(text string) (n, small, capital int) {
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		n++
		switch {
		case unicode.IsLower(r):
			small++
		case unicode.IsUpper(r):
			capital++
		}
	}
	return n, small, capital
}

// observeTableHeader makes the key of a table that of its heading rows, and its depth their number.
func (o *observer) observeTableHeader(out *BlockEvidence, t *inkstreamv1.Table) {
	if t == nil {
		return
	}
	k := newTextHash()
	for _, c := range t.GetCells() {
		if c.GetRow() < t.GetHeaderRows() {
			k.addText(c.GetText())
		}
	}
	out.Key, out.Depth = k.sum, int(t.GetHeaderRows())
}

func (o *observer) isBold(w *inkstreamv1.Word) bool {
	return int(w.GetFont()) < len(o.bold) && w.GetFont() >= 0 && o.bold[w.GetFont()]
}

// isFirstLineIndented reports whether the first line of a block begins farther right than its second, as that of a
// paragraph may.
func isFirstLineIndented(b *BlockEvidence, lines []*inkstreamv1.Line) bool {
	const least, most, edge = 0.8, 6, 0.5 // ems
	if len(lines) < 2 || len(lines[0].GetBbox()) != 4 || len(lines[1].GetBbox()) != 4 {
		return false
	}
	em := float32(b.Size) / 4
	indent := lines[0].GetBbox()[0] - b.Box[0]
	return indent >= least*em && indent <= most*em && lines[1].GetBbox()[0]-b.Box[0] < edge*em
}

// observeTextEnds looks at how a block's text begins and ends.
func (o *observer) observeTextEnds(out *BlockEvidence, b *inkstreamv1.Block) {
	lines := b.GetLines()
	if len(lines) == 0 || len(lines[0].GetWords()) == 0 {
		return
	}
	first := lines[0].GetWords()[0].GetText()
	last := lines[len(lines)-1]
	end := ""
	if n := len(last.GetWords()); n > 0 {
		end = last.GetWords()[n-1].GetText()
	}
	if r, n := utf8.DecodeRuneInString(first); unicode.IsLower(r) {
		out.Flags |= FlagLower
	} else if n == len(first) && !unicode.IsLetter(r) && !unicode.IsNumber(r) {
		out.Flags |= FlagSign
	}
	if _, ok := layout.ParsePageNumber(end); ok && out.Words > 1 {
		out.Flags |= FlagNumber
	}
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(end, "\"'”’»)]"))
	switch {
	case strings.ContainsRune(".!?:…。！？：؟।", r):
		out.Flags |= FlagSentence
		switch r {
		case '?', '!':
		case ':':
			out.Flags |= FlagColon
		default:
			out.Flags |= FlagStop
		}
	case strings.ContainsRune(",;،、，；", r):
		out.Flags |= FlagStop
	case r == '-' || r == 0x2010 || r == 0xad:
		out.Flags |= FlagHyphen
	case r > 0x0e00 && !layout.NeedsSpace(string(r), string(r)):
		out.Flags |= FlagUnspaced
	}
	if box := last.GetBbox(); len(box) == 4 && out.Box[2]-box[2] < 2.5*float32(out.Size)/4 {
		out.Flags |= FlagFull
	}
	if isFirstLineIndented(out, lines) {
		out.Flags |= FlagIndented
	}
	left, right := out.Box[0], o.e.Width-out.Box[2]
	if width := out.Box[2] - out.Box[0]; width < 0.7*o.e.Width && math.Abs(float64(left-right)) < 0.05*float64(o.e.Width) {
		out.Flags |= FlagCentred
	}
	if isQuotation(first, end) {
		out.Flags |= FlagQuote
	}
	if out.Words <= maxKeyWords {
		observeKey(out, lines, first)
	}
}

// observeKey notes what a short text says, without the number that it begins with, so that the same is known again.
func observeKey(out *BlockEvidence, lines []*inkstreamv1.Line, first string) {
	k := newTextHash()
	out.Depth = numberDepth(first)
	for i, line := range lines {
		for j, w := range line.GetWords() {
			if i+j > 0 || out.Depth == 0 || out.Words == 1 {
				k.addText(w.GetText())
			}
			if strings.Contains(w.GetText(), "....") || strings.Contains(w.GetText(), "___") {
				out.Flags |= FlagLeader
			}
		}
	}
	out.Key = k.sum
	if hasLeaderDots(lines[0]) {
		out.Flags |= FlagLeader
	}
}

// endsWithPrice reports whether the last word of a line alone is a figure with at least that much room before it.
func endsWithPrice(lines []*inkstreamv1.Line, room float32) bool {
	if len(lines) != 1 || len(lines[0].GetWords()) < 2 {
		return false
	}
	words := lines[0].GetWords()
	last, before := words[len(words)-1], words[len(words)-2]
	if len(last.GetBbox()) != 4 || len(before.GetBbox()) != 4 || last.GetBbox()[0]-before.GetBbox()[2] < room {
		return false
	}
	letters, _, _ := countLetters(last.GetText())
	return letters == 0 && strings.ContainsFunc(last.GetText(), unicode.IsDigit)
}

// isCentredIn reports whether a line stands in the middle of a block above or below it with room on both sides, of an
// em at least.
func isCentredIn(line, block *BlockEvidence) bool {
	em := float32(line.Size) / 4
	left, right := line.Box[0]-block.Box[0], block.Box[2]-line.Box[2]
	return block.Lines > 1 && left > 2*em && right > 2*em && left-right < em && right-left < em
}

// isQuotation reports whether a text that begins and ends with these words stands in quotation marks.
func isQuotation(first, last string) bool {
	opening, _ := utf8.DecodeRuneInString(first)
	closing, _ := utf8.DecodeLastRuneInString(last)
	return strings.ContainsRune("\"“„«»‟「『", opening) && strings.ContainsRune("\"”“»«」』", closing)
}

// hasLeaderDots reports whether a line has a row of single dots.
func hasLeaderDots(line *inkstreamv1.Line) bool {
	n := 0
	for _, w := range line.GetWords() {
		if strings.Trim(w.GetText(), ".·") == "" {
			n++
		}
	}
	return n >= 4
}

// numberDepth returns how deep the number is that a heading begins with: 1 for "3" and "3.", 2 for "3.1", "A.1" and
// "3.1."; 0 for none.
func numberDepth(word string) int {
	word = strings.TrimRight(word, ".:)")
	if word == "" || len(word) > 12 {
		return 0
	}
	n := 1
	digits := 0
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
			if digits++; digits > 3 {
				return 0
			}
		case c == '.' && i > 0 && word[i-1] != '.':
			n++
			digits = 0
		case i == 0 && c >= 'A' && c <= 'Z' && len(word) > 1 && word[1] == '.':
		default:
			return 0
		}
	}
	return n
}

func hash32(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // never fails
	return h.Sum32()
}

// textHash hashes the letters and digits of a text, whatever their case, and nothing else (FNV-1a).
type textHash struct{ sum uint64 }

func newTextHash() textHash { return textHash{14695981039346656037} }

func (k *textHash) addRune(r rune) { k.sum = (k.sum ^ uint64(r)) * 1099511628211 }

func (k *textHash) addText(text string) {
	for _, r := range text {
		if r < utf8.RuneSelf {
			switch {
			case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			case r >= 'A' && r <= 'Z':
				r += 'a' - 'A'
			default:
				continue
			}
		} else if unicode.IsLetter(r) || unicode.IsDigit(r) {
			r = unicode.ToLower(r)
		} else {
			continue
		}
		k.addRune(r)
	}
}

// headingKey hashes a title without its number: documents print numbers that their outlines leave out, and the other
// way round.
func headingKey(title string) uint64 {
	k := newTextHash()
	if first, rest, ok := strings.Cut(strings.TrimSpace(title), " "); ok && numberDepth(first) > 0 {
		title = rest
	}
	k.addText(title)
	return k.sum
}

// HasRecognisedWords reports whether the page has words that were recognised.
func (e *Evidence) HasRecognisedWords() bool {
	for i := range e.Blocks {
		if e.Blocks[i].Flags&FlagRecognised != 0 {
			return true
		}
	}
	return false
}
