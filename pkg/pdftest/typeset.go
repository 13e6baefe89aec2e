package pdftest

import (
	"fmt"
	"strings"
)

// PageDesign is how a page is laid out.
type PageDesign string

// The designs of pages.
const (
	Report    PageDesign = "report"     // running head, headings, paragraphs across the page, page number
	Columns   PageDesign = "columns"    // a title across the page over two columns, with a full-width heading half way down
	Letter    PageDesign = "letter"     // sender, address, date, subject, a few paragraphs, signature
	Tabular   PageDesign = "table"      // a paragraph, a table of figures with rules, another paragraph
	Footnotes PageDesign = "footnotes"  // paragraphs with raised reference marks, notes in small type below a rule
	alternate PageDesign = "alternate"  // Report, with a page of each other design now and then
	blankPage PageDesign = "blank-page" // nothing
)

// textRun is a piece of text on one baseline in one face.
type textRun struct {
	x, y float64 // where the baseline begins, in points from the top left
	size float64
	face face
	text string
}

// box is a rectangle in points from the top left.
type box struct{ x, y, w, h float64 }

// typesetPage is a page after typesetting. It knows nothing of PDF: the same sheet becomes characters in one file and
// pixels in another.
type typesetPage struct {
	w, h  float64
	runs  []textRun
	rules []box
	truth strings.Builder
}

// textMeasure measures a text in points.
type textMeasure func(f face, size float64, s string) float64

// typesetter fills a sheet from the top down.
type typesetter struct {
	*typesetPage
	measure textMeasure
	words   proseGenerator
	left    float64
	right   float64
	y       float64
	bottom  float64
	size    float64 // of body text
}

// A4, the size of every page that does not say otherwise.
const (
	a4Width  = 595
	a4Height = 842
)

// newTypesetter begins a sheet of the given size with margins in proportion.
func newTypesetter(w, h, size float64, measure textMeasure, words proseGenerator) *typesetter {
	return &typesetter{
		typesetPage: &typesetPage{w: w, h: h}, measure: measure, words: words, size: size,
		left: w * 0.11, right: w * 0.89, y: h * 0.085, bottom: h * 0.91,
	}
}

// placeText places text with its baseline at y.
func (s *typesetter) placeText(f face, size, x, y float64, text string) {
	s.runs = append(s.runs, textRun{x: x, y: y, size: size, face: f, text: text})
}

// endBlock ends the current block of the truth: the next line begins another.
func (s *typesetter) endBlock() {
	if s.truth.Len() > 0 {
		s.truth.WriteByte('\n')
	}
}

// addTruthLine adds a line to the truth.
func (s *typesetter) addTruthLine(line string) {
	s.truth.WriteString(line)
	s.truth.WriteByte('\n')
}

// setLine sets one line at the left edge and moves down.
func (s *typesetter) setLine(f face, size float64, text string) {
	s.y += size * 1.2
	s.placeText(f, size, s.left, s.y, text)
	s.addTruthLine(text)
}

// wrapLines breaks text into lines that fit between the edges.
func (s *typesetter) wrapLines(f face, size float64, text string) []string {
	var lines []string
	limit := s.right - s.left
	blank := s.measure(f, size, " ")
	line, at := "", 0.0
	for _, word := range strings.Fields(text) {
		w := s.measure(f, size, word)
		if line != "" && at+blank+w > limit {
			lines = append(lines, line)
			line, at = "", 0
		}
		if line != "" {
			line += " "
			at += blank
		}
		line += word
		at += w
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// setText sets a block of text, as many lines of it as fit, and reports whether all did.
func (s *typesetter) setText(f face, size float64, text string) bool {
	lines := s.wrapLines(f, size, text)
	room := int((s.bottom - s.y) / (size * 1.2))
	if room < 1 {
		return false
	}
	s.endBlock()
	for _, line := range lines[:min(room, len(lines))] {
		s.setLine(f, size, line)
	}
	s.y += size * 0.7
	return len(lines) <= room
}

// fillColumn sets headings and paragraphs down to the bottom edge. fullness says how much of what is left is filled.
func (s *typesetter) fillColumn(fullness float64) {
	end := s.bottom
	s.bottom = s.y + (end-s.y)*fullness
	for n := 0; s.bottom-s.y > s.size*5; n++ {
		if n%3 == 0 {
			s.setText(bold, s.size*1.25, s.words.makeHeading())
		}
		if !s.setText(regular, s.size, s.words.makeParagraph(3+s.words.rng.IntN(3))) {
			break
		}
	}
	s.bottom = end
}

// composePage lays out page n of a document of total pages.
func composePage(d PageDesign, n, total int, size, w, h float64, measure textMeasure,
	words proseGenerator) *typesetPage {
	s := newTypesetter(w, h, size, measure, words)
	switch d {
	case blankPage:
	case Columns:
		s.setColumns(n)
	case Letter:
		s.setLetter(n)
	case Tabular:
		s.setTable(n)
	case Footnotes:
		s.setFootnotes(n)
	case alternate:
		others := []PageDesign{Columns, Tabular, Letter, Footnotes}
		if n%6 == 3 {
			return composePage(others[n/6%len(others)], n, total, size, w, h, measure, words)
		}
		fallthrough
	default:
		s.setReport(n, total)
	}
	return s.typesetPage
}

func (s *typesetter) setReport(n, total int) {
	s.setText(regular, s.size*0.85, fmt.Sprintf("Quarterly review of the %s, reference %s", s.words.makeNounPhrase(),
		MarkerWord(n)))
	s.y += s.size
	s.fillColumn(0.98)
	foot := fmt.Sprintf("Page %d of %d", n, total)
	s.y = s.h * 0.935
	s.endBlock()
	s.placeText(regular, s.size*0.85, (s.w-s.measure(regular, s.size*0.85, foot))/2, s.y, foot)
	s.addTruthLine(foot)
}

func (s *typesetter) setColumns(n int) {
	s.setText(bold, s.size*1.9, s.words.makeHeading())
	s.setText(regular, s.size, fmt.Sprintf("%s This bulletin is filed under %s.", s.words.makeParagraph(2), MarkerWord(n)))
	s.setColumnPair(s.y+(s.bottom-s.y)*0.45, 0.97)
	s.setText(bold, s.size*1.5, s.words.makeHeading())
	s.setColumnPair(s.bottom, 0.9)
}

// setColumnPair sets two columns side by side down to the given height; fullness is how far down the second goes.
func (s *typesetter) setColumnPair(bottom, fullness float64) {
	left, right, end, top := s.left, s.right, s.bottom, s.y
	gutter := s.size * 2
	middle := (left + right) / 2
	s.bottom = bottom
	s.right = middle - gutter/2
	s.fillColumn(1)
	lowest := s.y
	s.left, s.right, s.y = middle+gutter/2, right, top
	s.fillColumn(fullness)
	s.left, s.right, s.bottom, s.y = left, right, end, max(lowest, s.y)
}

func (s *typesetter) setLetter(n int) {
	p := s.words
	s.endBlock()
	for _, line := range []string{p.pickWord(places) + " Trading Company",
		fmt.Sprintf("%d %s Street", 1+p.rng.IntN(200), p.pickWord(persons)), p.pickWord(places)} {
		s.setLine(bold, s.size, line)
	}
	s.y += s.size * 2
	s.endBlock()
	for _, line := range []string{"Mr " + p.pickWord(persons),
		"Department of " + p.makeNounPhrase() + " and " + p.makeNounPhrase(), p.pickWord(places)} {
		s.setLine(regular, s.size, line)
	}
	s.y += s.size * 1.5
	s.setText(regular, s.size, p.makeDate())
	s.setText(bold, s.size, "Your reference "+MarkerWord(n))
	s.setText(regular, s.size, "Dear Sir,")
	for range 4 {
		s.setText(regular, s.size, p.makeParagraph(4))
	}
	s.setText(regular, s.size, "Yours faithfully,")
	s.y += s.size * 3
	s.setText(regular, s.size, p.pickWord(persons)+" and "+p.pickWord(persons))
}

func (s *typesetter) setTable(n int) {
	p := s.words
	s.setText(bold, s.size*1.4, s.words.makeHeading())
	s.setText(regular, s.size, p.makeParagraph(3)+" The figures are kept under "+MarkerWord(n)+".")
	s.y += s.size * 0.5
	s.endBlock()
	stops := []float64{0, 0.42, 0.62, 0.82}
	row := func(f face, cells []string) {
		top := s.y
		s.y += s.size * 1.5
		for i, cell := range cells {
			s.placeText(f, s.size, s.left+(s.right-s.left)*stops[i], s.y, cell)
		}
		s.addTruthLine(strings.Join(cells, " "))
		s.rules = append(s.rules, box{s.left - 4, top + s.size*0.35, s.right - s.left + 8, 0.6})
	}
	row(bold, []string{"Item", "Ordered", "Received", "Amount"})
	for range 12 {
		amount := fmt.Sprintf("%d,%03d.%02d", 1+p.rng.IntN(90), p.rng.IntN(1000), p.rng.IntN(100))
		row(regular, []string{p.pickWord(adjectives) + " " + p.makeNounPhrase(), fmt.Sprint(10 + p.rng.IntN(900)),
			fmt.Sprint(10 + p.rng.IntN(900)), amount})
	}
	s.rules = append(s.rules, box{s.left - 4, s.y + s.size*0.5, s.right - s.left + 8, 0.6})
	s.y += s.size * 2
	s.fillColumn(0.7)
}

func (s *typesetter) setFootnotes(n int) {
	s.setText(bold, s.size*1.4, s.words.makeHeading())
	for i := range 4 {
		paragraph := s.words.makeParagraph(4)
		if i == 0 {
			paragraph += " The whole is known as " + MarkerWord(n) + "."
		}
		s.setText(regular, s.size, paragraph)
		last := s.runs[len(s.runs)-1]
		// The mark belongs to the line's last word, as it does in print; the truth has it there too.
		mark := fmt.Sprint(i + 1)
		s.placeText(regular, s.size*0.6, last.x+s.measure(last.face, last.size, last.text), last.y-s.size*0.4, mark)
		truth := strings.TrimSuffix(s.truth.String(), "\n")
		s.truth.Reset()
		s.truth.WriteString(truth + mark + "\n")
	}
	s.y += s.size
	s.rules = append(s.rules, box{s.left, s.y, (s.right - s.left) / 3, 0.5})
	for i := range 4 {
		s.setText(regular, s.size*0.8, fmt.Sprintf("%d. %s", i+1, s.words.makeSentence()))
	}
}
