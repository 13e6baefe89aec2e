package pdftest

import (
	"fmt"
	"strings"
)

// Design is how a page is laid out.
type Design string

// The designs of pages.
const (
	Report    Design = "report"     // running head, headings, paragraphs across the page, page number
	Columns   Design = "columns"    // a title across the page over two columns, with a full-width heading half way down
	Letter    Design = "letter"     // sender, address, date, subject, a few paragraphs, signature
	Tabular   Design = "table"      // a paragraph, a table of figures with rules, another paragraph
	Footnotes Design = "footnotes"  // paragraphs with raised reference marks, notes in small type below a rule
	alternate Design = "alternate"  // Report, with a page of each other design now and then
	blankPage Design = "blank-page" // nothing
)

// run is a piece of text on one baseline in one face.
type run struct {
	x, y float64 // where the baseline begins, in points from the top left
	size float64
	face face
	text string
}

// box is a rectangle in points from the top left.
type box struct{ x, y, w, h float64 }

// sheet is a page after typesetting. It knows nothing of PDF: the same sheet becomes characters in one file and pixels in another.
type sheet struct {
	w, h  float64
	runs  []run
	rules []box
	truth strings.Builder
}

// width measures a text in points.
type width func(f face, size float64, s string) float64

// setter fills a sheet from the top down.
type setter struct {
	*sheet
	measure width
	words   prose
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

// newSetter begins a sheet of the given size with margins in proportion.
func newSetter(w, h, size float64, measure width, words prose) *setter {
	return &setter{
		sheet: &sheet{w: w, h: h}, measure: measure, words: words, size: size,
		left: w * 0.11, right: w * 0.89, y: h * 0.085, bottom: h * 0.91,
	}
}

// put places text with its baseline at y.
func (s *setter) put(f face, size, x, y float64, text string) {
	s.runs = append(s.runs, run{x: x, y: y, size: size, face: f, text: text})
}

// block ends the current block of the truth: the next line begins another.
func (s *setter) block() {
	if s.truth.Len() > 0 {
		s.truth.WriteByte('\n')
	}
}

// say adds a line to the truth.
func (s *setter) say(line string) {
	s.truth.WriteString(line)
	s.truth.WriteByte('\n')
}

// line sets one line at the left edge and moves down.
func (s *setter) line(f face, size float64, text string) {
	s.y += size * 1.2
	s.put(f, size, s.left, s.y, text)
	s.say(text)
}

// wrap breaks text into lines that fit between the edges.
func (s *setter) wrap(f face, size float64, text string) []string {
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

// text sets a block of text, as many lines of it as fit, and reports whether all did.
func (s *setter) text(f face, size float64, text string) bool {
	lines := s.wrap(f, size, text)
	room := int((s.bottom - s.y) / (size * 1.2))
	if room < 1 {
		return false
	}
	s.block()
	for _, line := range lines[:min(room, len(lines))] {
		s.line(f, size, line)
	}
	s.y += size * 0.7
	return len(lines) <= room
}

// fill sets headings and paragraphs down to the bottom edge. fullness says how much of what is left is filled.
func (s *setter) fill(fullness float64) {
	end := s.bottom
	s.bottom = s.y + (end-s.y)*fullness
	for n := 0; s.bottom-s.y > s.size*5; n++ {
		if n%3 == 0 {
			s.text(bold, s.size*1.25, s.words.heading())
		}
		if !s.text(regular, s.size, s.words.paragraph(3+s.words.rng.IntN(3))) {
			break
		}
	}
	s.bottom = end
}

// compose lays out page n of a document of total pages.
func compose(d Design, n, total int, size, w, h float64, measure width, words prose) *sheet {
	s := newSetter(w, h, size, measure, words)
	switch d {
	case blankPage:
	case Columns:
		s.columns(n)
	case Letter:
		s.letter(n)
	case Tabular:
		s.tabular(n)
	case Footnotes:
		s.footnotes(n)
	case alternate:
		others := []Design{Columns, Tabular, Letter, Footnotes}
		if n%6 == 3 {
			return compose(others[n/6%len(others)], n, total, size, w, h, measure, words)
		}
		fallthrough
	default:
		s.report(n, total)
	}
	return s.sheet
}

func (s *setter) report(n, total int) {
	s.text(regular, s.size*0.85, fmt.Sprintf("Quarterly review of the %s, reference %s", s.words.noun(), Marker(n)))
	s.y += s.size
	s.fill(0.98)
	foot := fmt.Sprintf("Page %d of %d", n, total)
	s.y = s.h * 0.935
	s.block()
	s.put(regular, s.size*0.85, (s.w-s.measure(regular, s.size*0.85, foot))/2, s.y, foot)
	s.say(foot)
}

func (s *setter) columns(n int) {
	s.text(bold, s.size*1.9, s.words.heading())
	s.text(regular, s.size, fmt.Sprintf("%s This bulletin is filed under %s.", s.words.paragraph(2), Marker(n)))
	s.pair(s.y+(s.bottom-s.y)*0.45, 0.97)
	s.text(bold, s.size*1.5, s.words.heading())
	s.pair(s.bottom, 0.9)
}

// pair sets two columns side by side down to the given height; fullness is how far down the second goes.
func (s *setter) pair(bottom, fullness float64) {
	left, right, end, top := s.left, s.right, s.bottom, s.y
	gutter := s.size * 2
	middle := (left + right) / 2
	s.bottom = bottom
	s.right = middle - gutter/2
	s.fill(1)
	lowest := s.y
	s.left, s.right, s.y = middle+gutter/2, right, top
	s.fill(fullness)
	s.left, s.right, s.bottom, s.y = left, right, end, max(lowest, s.y)
}

func (s *setter) letter(n int) {
	p := s.words
	s.block()
	for _, line := range []string{p.pick(places) + " Trading Company", fmt.Sprintf("%d %s Street", 1+p.rng.IntN(200), p.pick(persons)), p.pick(places)} {
		s.line(bold, s.size, line)
	}
	s.y += s.size * 2
	s.block()
	for _, line := range []string{"Mr " + p.pick(persons), "Department of " + p.noun() + " and " + p.noun(), p.pick(places)} {
		s.line(regular, s.size, line)
	}
	s.y += s.size * 1.5
	s.text(regular, s.size, p.date())
	s.text(bold, s.size, "Your reference "+Marker(n))
	s.text(regular, s.size, "Dear Sir,")
	for range 4 {
		s.text(regular, s.size, p.paragraph(4))
	}
	s.text(regular, s.size, "Yours faithfully,")
	s.y += s.size * 3
	s.text(regular, s.size, p.pick(persons)+" and "+p.pick(persons))
}

func (s *setter) tabular(n int) {
	p := s.words
	s.text(bold, s.size*1.4, s.words.heading())
	s.text(regular, s.size, p.paragraph(3)+" The figures are kept under "+Marker(n)+".")
	s.y += s.size * 0.5
	s.block()
	stops := []float64{0, 0.42, 0.62, 0.82}
	row := func(f face, cells []string) {
		top := s.y
		s.y += s.size * 1.5
		for i, cell := range cells {
			s.put(f, s.size, s.left+(s.right-s.left)*stops[i], s.y, cell)
		}
		s.say(strings.Join(cells, " "))
		s.rules = append(s.rules, box{s.left - 4, top + s.size*0.35, s.right - s.left + 8, 0.6})
	}
	row(bold, []string{"Item", "Ordered", "Received", "Amount"})
	for range 12 {
		amount := fmt.Sprintf("%d,%03d.%02d", 1+p.rng.IntN(90), p.rng.IntN(1000), p.rng.IntN(100))
		row(regular, []string{p.pick(adjectives) + " " + p.noun(), fmt.Sprint(10 + p.rng.IntN(900)), fmt.Sprint(10 + p.rng.IntN(900)), amount})
	}
	s.rules = append(s.rules, box{s.left - 4, s.y + s.size*0.5, s.right - s.left + 8, 0.6})
	s.y += s.size * 2
	s.fill(0.7)
}

func (s *setter) footnotes(n int) {
	s.text(bold, s.size*1.4, s.words.heading())
	for i := range 4 {
		paragraph := s.words.paragraph(4)
		if i == 0 {
			paragraph += " The whole is known as " + Marker(n) + "."
		}
		s.text(regular, s.size, paragraph)
		last := s.runs[len(s.runs)-1]
		// The mark belongs to the line's last word, as it does in print; the truth has it there too.
		mark := fmt.Sprint(i + 1)
		s.put(regular, s.size*0.6, last.x+s.measure(last.face, last.size, last.text), last.y-s.size*0.4, mark)
		truth := strings.TrimSuffix(s.truth.String(), "\n")
		s.truth.Reset()
		s.truth.WriteString(truth + mark + "\n")
	}
	s.y += s.size
	s.rules = append(s.rules, box{s.left, s.y, (s.right - s.left) / 3, 0.5})
	for i := range 4 {
		s.text(regular, s.size*0.8, fmt.Sprintf("%d. %s", i+1, s.words.sentence()))
	}
}
