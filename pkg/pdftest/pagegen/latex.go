package pagegen

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// LuaLaTeX is the typesetter that sets LaTeX. It breaks paragraphs as wholes, floats figures, hyphenates by patterns and
// writes no blanks into its PDFs, none of which Chromium does; and its pages can be asked what stands where.
const LuaLaTeX = "lualatex"

// latexTimeout bounds what LaTeX takes for one document.
const latexTimeout = 2 * time.Minute

// placesScript writes what stands where.
//
//go:embed places.lua
var placesScript []byte

// The numbers of blocks that stand on every page; those of others follow.
const (
	headerBlock = 1 + iota
	numberBlock
	firstBlock
)

// latexComposer writes a document in LaTeX.
type latexComposer struct {
	writer
	style
	class    string // with its options
	preamble strings.Builder
	body     strings.Builder
	blocks   []Block // without their places
	flow     string
	flows    int
	header   string // at the top of each page; empty means that there is none
	first    int    // the number of the first page
	sections [3]int // how many there were of each level
	numbered bool
	notes    int
}

func newLaTeXComposer(seed uint64, family, code string) *latexComposer {
	c := newChance(seed, family)
	out := &latexComposer{writer: newWriter(c, code), style: newStyle(c, code), flow: "main", class: "article", first: c.count(1, 300)}
	out.numbered = c.happens(0.6)
	return out
}

// put writes LaTeX.
func (c *latexComposer) put(format string, args ...any) { fmt.Fprintf(&c.body, format, args...) }

// setup writes LaTeX that stands before the document.
func (c *latexComposer) setup(format string, args ...any) {
	fmt.Fprintf(&c.preamble, format+"\n", args...)
}

// beginFlow makes what follows a text of its own, until the function that it returns is called.
func (c *latexComposer) beginFlow() (end func()) {
	before := c.flow
	c.flows++
	c.flow = fmt.Sprintf("flow%d", c.flows)
	return func() { c.flow = before }
}

// begin returns the command after which all that is set belongs to a new block.
func (c *latexComposer) begin(kind Kind, level int, text string) string {
	c.blocks = append(c.blocks, Block{Kind: kind, Level: level, Text: text, Flow: c.flow})
	return fmt.Sprintf(`\inkblock=%d\relax `, firstBlock+len(c.blocks)-1)
}

// latexLetters are what stands for letters that LaTeX does not set as they are.
var latexLetters = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`, "#", `\#`, "_", `\_`, "%", `\%`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, string(softHyphen), `\-`, "–", "--", "•", `\textbullet{}`, "−", "$-$")

// escape returns text as LaTeX. English is hyphenated by LaTeX itself.
func (c *latexComposer) escape(text string) string {
	if c.code != "eng" {
		text = hyphenate(text)
	}
	return latexLetters.Replace(text)
}

// prose writes a paragraph of some sentences, perhaps with a few words in italics.
func (c *latexComposer) prose(sentences int) { c.proseOf(c.paragraph(sentences)) }

func (c *latexComposer) proseOf(text string) {
	inner := strings.Split(c.escape(text), " ")
	if at := c.IntN(len(inner)); at+2 < len(inner) && c.happens(0.15) {
		inner[at], inner[at+1] = choose(c.chance, `\emph{`, `\emph{`, `\textbf{`)+inner[at], inner[at+1]+"}"
	}
	c.put("%s%s\\par\n", c.begin(KindParagraph, 0, text), strings.Join(inner, " "))
}

func (c *latexComposer) proses(number, fewest, most int) {
	for range number {
		c.prose(c.count(fewest, most))
	}
}

// noted writes a paragraph with a footnote.
func (c *latexComposer) noted(sentences int) {
	text := c.paragraph(sentences)
	words := strings.Split(text, " ")
	at := c.count(1, len(words)-2)
	c.notes++
	words[at] += fmt.Sprint(c.notes)
	start := c.begin(KindParagraph, 0, strings.Join(words, " "))
	c.blocks[len(c.blocks)-1].Marked = []string{words[at]}
	words[at] = strings.TrimSuffix(words[at], fmt.Sprint(c.notes))
	end := c.beginFlow()
	note := c.sentence()
	c.blocks = append(c.blocks, Block{Kind: KindFootnote, Text: fmt.Sprintf("%d %s", c.notes, note), Flow: c.flow})
	end()
	c.put(`%s%s\inknote{%d}{%s} %s\par`+"\n", start, c.escape(strings.Join(words[:at+1], " ")), firstBlock+len(c.blocks)-1, c.escape(note),
		c.escape(strings.Join(words[at+1:], " ")))
}

// heading writes a heading of a level from 1 to 3.
func (c *latexComposer) heading(level int, text string) {
	command, shown := []string{"section", "subsection", "subsubsection"}[level-1], text
	if c.numbered {
		c.sections[level-1]++
		number := ""
		for i := range c.sections {
			if i < level {
				number += fmt.Sprintf(".%d", c.sections[i])
			} else {
				c.sections[i] = 0
			}
		}
		shown = number[1:] + " " + text
	} else {
		command += "*"
	}
	c.put("%s\\%s{%s}\n", c.begin(KindHeading, level, shown), command, latexLetters.Replace(text))
}

// plain writes a line or a paragraph of a kind, set by a command.
func (c *latexComposer) plain(kind Kind, command, text string) {
	c.put("{%s%s%s\\par}\n", c.begin(kind, 0, text), command, latexLetters.Replace(text))
}

// latexFonts are files of fonts: upright, bold, italic.
var latexFonts = [][3]string{
	{"texgyretermes-regular.otf", "texgyretermes-bold.otf", "texgyretermes-italic.otf"},
	{"texgyrepagella-regular.otf", "texgyrepagella-bold.otf", "texgyrepagella-italic.otf"},
	{"texgyreschola-regular.otf", "texgyreschola-bold.otf", "texgyreschola-italic.otf"},
	{"texgyreheros-regular.otf", "texgyreheros-bold.otf", "texgyreheros-italic.otf"},
	{"lmroman10-regular.otf", "lmroman10-bold.otf", "lmroman10-italic.otf"},
	{"LinLibertine_R.otf", "LinLibertine_RB.otf", "LinLibertine_RI.otf"},
}

// source returns the whole document.
func (c *latexComposer) source() string {
	var out strings.Builder
	fmt.Fprintf(&out, "\\documentclass%s\n\\newattribute\\inkblock \\newattribute\\inkcell\n\\directlua{dofile(\"places.lua\")}\n", c.classWithSize())
	out.WriteString(latexRules)
	text := c.body.String()
	if c.code == "eng" && c.happens(0.4) && isASCII(text) { // as pdfTeX does: old fonts with an encoding of their own
		out.WriteString("\\usepackage[T1]{fontenc}\\usepackage{lmodern}\n")
	} else {
		files := choose(c.chance, latexFonts...)
		out.WriteString("\\DeclareFontFamily{TU}{ink}{}\n")
		for i, shape := range []string{"{m}{n}", "{bx}{n}", "{m}{it}"} {
			fmt.Fprintf(&out, "\\DeclareFontShape{TU}{ink}%s{<->\"[%s]:mode=node;script=latn;+liga;+kern;+tlig\"}{}\n", shape, files[i])
		}
		out.WriteString("\\DeclareFontShape{TU}{ink}{bx}{it}{<->ssub*ink/bx/n}{}\\renewcommand\\rmdefault{ink}\n")
	}
	fmt.Fprintf(&out, "\\paperwidth=%.2fbp \\paperheight=%.2fbp \\pagewidth=\\paperwidth \\pageheight=\\paperheight\n", c.pageWidth, c.pageHeight)
	fmt.Fprintf(&out, "\\oddsidemargin=%.2fbp \\advance\\oddsidemargin by -1in \\evensidemargin=\\oddsidemargin \\textwidth=%.2fbp\n", c.marginX,
		c.pageWidth-2*c.marginX)
	fmt.Fprintf(&out, "\\topmargin=%.2fbp \\advance\\topmargin by -1in \\headheight=12pt \\headsep=14pt \\footskip=26pt\n", c.marginY-10)
	fmt.Fprintf(&out, "\\textheight=%.2fbp \\columnsep=%.2fbp\n", c.pageHeight-2*c.marginY-36, c.gutter)
	if c.columnRule {
		out.WriteString("\\columnseprule=0.4pt\n")
	}
	if !c.indent {
		out.WriteString("\\parindent=0pt \\parskip=0.5\\baselineskip plus 1pt\n")
	}
	fmt.Fprintf(&out, "\\linespread{%.3f}\n%s%s\\begin{document}\n\\setcounter{page}{%d}\n", c.between(0.95, 1.2), c.pageStyle(), c.preamble.String(), c.first)
	if !c.justify && c.happens(0.5) {
		out.WriteString("\\raggedright\n")
	}
	out.WriteString(text)
	out.WriteString("\\end{document}\n")
	return out.String()
}

func (c *latexComposer) classWithSize() string {
	name, options, _ := strings.Cut(c.class, ",")
	return fmt.Sprintf("[%s,%s]{%s}", choose(c.chance, "10pt", "10pt", "11pt"), options, name)
}

// pageStyle returns what stands at the top and the foot of pages.
func (c *latexComposer) pageStyle() string {
	header := `{\inkblock=1\relax\small ` + latexLetters.Replace(c.header) + `}`
	number := `{\inkblock=2\relax\small\thepage}`
	odd, even, foot := header+`\hfil `+number, number+`\hfil `+header, ""
	if c.header == "" {
		odd, even, foot = "", "", `\hfil `+number+`\hfil`
	}
	return fmt.Sprintf("\\makeatletter\\def\\ps@ink{\\def\\@oddhead{%s}\\def\\@evenhead{%s}\\def\\@oddfoot{%s}\\let\\@evenfoot\\@oddfoot}"+
		"\\let\\ps@plain\\ps@ink\\makeatother\\pagestyle{ink}\n", odd, even, foot)
}

// latexRules is what all documents share.
const latexRules = `\usepackage{multicol}
\pdfvariable suppressoptionalinfo 1023 \pdfvariable trailerid{ink}
\emergencystretch=3em \hbadness=10000 \vbadness=10000 \hfuzz=2pt \clubpenalty=300 \widowpenalty=300
\makeatletter
\newcommand\inkhline[1]{\noalign{\ifnum0=` + "`" + `}\fi\hrule height #1\futurelet\reserved@a\@xhline}
\renewcommand\@makefntext[1]{{\inkblock=\inknumber\relax\noindent\@makefnmark\enspace #1}}
\newcommand\inknote[2]{\gdef\inknumber{#1}\footnote{#2}}
\makeatother
`

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > 126 }) < 0
}

// typesetLaTeX typesets a document, and returns the PDF and what stands where in it.
func typesetLaTeX(ctx context.Context, c *latexComposer) ([]byte, *printed, error) {
	dir, err := os.MkdirTemp("", "pagegen-latex-*")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	for name, data := range map[string][]byte{"document.tex": []byte(c.source()), "places.lua": placesScript} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, latexTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, LuaLaTeX, "--interaction=nonstopmode", "--halt-on-error", "document.tex")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OSFONTDIR=/usr/share/fonts//", "SOURCE_DATE_EPOCH=0", "FORCE_SOURCE_DATE=1")
	pdf, err := runTypesetter(cmd, filepath.Join(dir, "document.pdf"), "texlive-latex-base, texlive-luatex")
	if err != nil {
		return nil, nil, err
	}
	places, err := os.ReadFile(filepath.Join(dir, "document.places"))
	if err != nil {
		return nil, nil, err
	}
	found, err := c.placeBlocks(string(places))
	return pdf, found, err
}

// runTypesetter runs the command of a typesetter, which comes with Debian packages, and returns the file that it makes. Some
// end without an error where they made none.
func runTypesetter(cmd *exec.Cmd, file, packages string) ([]byte, error) {
	out, err := cmd.CombinedOutput()
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (Debian packages %s): %s", err, packages, out[max(0, len(out)-1500):])
	}
	return data, nil
}

// setRect is a run of glyphs or a rule of a block.
type setRect struct {
	rule              bool
	page, block, cell int
	box               Rect
}

// readPlaces reads what the script wrote.
func readPlaces(places string) (pages []PageSize, rects []setRect, err error) {
	for line := range strings.Lines(places) {
		var kind string
		var r setRect
		var size PageSize
		if strings.HasPrefix(line, "size") {
			if _, err := fmt.Sscan(line, &kind, &r.page, &size.Width, &size.Height); err != nil {
				return nil, nil, fmt.Errorf("read places: %q: %w", line, err)
			}
			pages = append(pages, size)
			continue
		}
		if _, err := fmt.Sscan(line, &kind, &r.page, &r.block, &r.cell, &r.box[0], &r.box[1], &r.box[2], &r.box[3]); err != nil {
			return nil, nil, fmt.Errorf("read places: %q: %w", line, err)
		}
		r.rule = kind == "rule"
		rects = append(rects, r)
	}
	return pages, rects, nil
}

// placeBlocks gives the blocks their places, and puts those of each page in order: the running head, the text, footnotes,
// the page's number.
func (c *latexComposer) placeBlocks(places string) (*printed, error) {
	pages, rects, err := readPlaces(places)
	if err != nil {
		return nil, err
	}
	of := map[int][]setRect{}
	for _, r := range rects {
		of[r.block] = append(of[r.block], r)
	}
	found := &printed{Pages: pages}
	for i := range c.blocks {
		b := c.blocks[i]
		b.place(of[firstBlock+i])
		if len(b.Parts) == 0 {
			return nil, fmt.Errorf("%s %.40q was not set", b.Kind, b.Text)
		}
		found.Blocks = append(found.Blocks, b)
	}
	for number, kind := range map[int]Kind{headerBlock: KindHeader, numberBlock: KindPageNumber} {
		for page := range pages {
			text := c.header
			if kind == KindPageNumber {
				text = fmt.Sprint(c.first + page)
			}
			b := Block{Kind: kind, Text: text}
			b.place(slices.DeleteFunc(slices.Clone(of[number]), func(r setRect) bool { return r.page != page+1 }))
			if len(b.Parts) > 0 {
				found.Blocks = append(found.Blocks, b)
			}
		}
	}
	rank := map[Kind]int{KindHeader: -1, KindFootnote: 1, KindPageNumber: 2}
	slices.SortStableFunc(found.Blocks, func(a, b Block) int {
		return 4*(a.Page()-b.Page()) + rank[a.Kind] - rank[b.Kind]
	})
	return found, nil
}

// place gives a block its parts, and a table's cells their boxes.
func (b *Block) place(rects []setRect) {
	whole := b.Kind == KindTable || b.Kind == KindFigure || b.Kind == KindFormula
	for _, r := range rects {
		if r.rule && (b.Kind != KindTable && b.Kind != KindFigure || r.box[2] <= r.box[0]) {
			continue // lines beside notes and between columns, which belong to what is being set
		}
		if b.Table != nil && r.cell > 0 && !r.rule {
			cell := &b.Table.Cells[r.cell-1]
			if cell.Box == (Rect{}) {
				cell.Box = r.box
			}
			cell.Box = cell.Box.union(r.box)
		}
		last := len(b.Parts) - 1
		switch {
		case last < 0 || b.Parts[last].Page != r.page,
			!whole && (r.box[3] < b.lastLine()[1]+1 || r.box[0] > b.lastLine()[2]+3*(r.box[3]-r.box[1])):
			b.Parts = append(b.Parts, Part{Page: r.page, Box: r.box})
			if !whole {
				b.Parts[last+1].Lines = []Rect{r.box}
			}
			continue
		case whole:
		case isLevel(r.box, b.lastLine()):
			lines := b.Parts[last].Lines
			lines[len(lines)-1] = lines[len(lines)-1].union(r.box)
		default:
			b.Parts[last].Lines = append(b.Parts[last].Lines, r.box)
		}
		b.Parts[last].Box = b.Parts[last].Box.union(r.box)
	}
}

func (b *Block) lastLine() Rect {
	lines := b.Parts[len(b.Parts)-1].Lines
	return lines[len(lines)-1]
}

// isLevel reports whether two runs stand in one line.
func isLevel(a, b Rect) bool {
	return min(a[3], b[3])-max(a[1], b[1]) > 0.5*min(a[3]-a[1], b[3]-b[1])
}

func (r Rect) union(s Rect) Rect {
	return Rect{min(r[0], s[0]), min(r[1], s[1]), max(r[2], s[2]), max(r[3], s[3])}
}
