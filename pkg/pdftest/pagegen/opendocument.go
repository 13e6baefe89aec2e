package pagegen

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// LibreOffice is the typesetter that exports OpenDocument texts, as office programs do whatever people write in them:
// lists and notes that number themselves, text in sections of columns and in frames, tables that break over pages,
// tabulators.
const LibreOffice = "libreoffice"

// officeProgram is LibreOffice's command, officeTimeout bounds what it takes for one document.
const (
	officeProgram = "soffice"
	officeTimeout = 2 * time.Minute
)

// odtComposer writes a document as flat OpenDocument text (OpenDocument 1.3, part 3).
type odtComposer struct {
	writer
	style
	body     strings.Builder
	styles   strings.Builder // automatic ones of the family
	blocks   []Block         // without their places
	anchors  map[int]int     // of blocks in notes and frames: the block in whose text that stands
	flow     string
	flows    int
	names    int // of automatic styles, frames and notes
	notes    int
	header   string // at the top of each page; empty means that there is none
	sections [3]int // how many there were of each level
	numbered bool
	bullets  [2]string
}

func newODTComposer(seed uint64, family, code string) *odtComposer {
	c := newChance(seed, family)
	out := &odtComposer{writer: newWriter(c, code), style: newStyle(c, code), flow: "main", anchors: map[int]int{}}
	out.numbered = c.happens(0.4)
	out.bullets = [2]string{choose(c, "•", "•", "–", "▪"), choose(c, "–", "◦", "•")}
	return out
}

// put writes XML.
func (c *odtComposer) put(format string, args ...any) { fmt.Fprintf(&c.body, format, args...) }

// escapeXML returns text as XML.
func escapeXML(text string) string {
	var out strings.Builder
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		panic(err) // a Builder takes everything
	}
	return out.String()
}

// beginFlow makes what follows a text of its own, until the function that it returns is called.
func (c *odtComposer) beginFlow() (end func()) {
	before := c.flow
	c.flows++
	c.flow = fmt.Sprintf("flow%d", c.flows)
	return func() { c.flow = before }
}

// addStyle writes an automatic style and returns its name.
func (c *odtComposer) addStyle(family, properties string) string {
	c.names++
	name := fmt.Sprintf("S%d", c.names)
	fmt.Fprintf(&c.styles, `<style:style style:name="%s" style:family="%s">%s</style:style>`, name, family, properties)
	return name
}

// begin adds a block, and returns the marks of where it begins and ends.
func (c *odtComposer) begin(kind Kind, level int, text string) (start, end string) {
	c.blocks = append(c.blocks, Block{Kind: kind, Level: level, Text: text, Flow: c.flow})
	n := len(c.blocks)
	return fmt.Sprintf(`<text:bookmark text:name="b%d"/>`, n), fmt.Sprintf(`<text:bookmark text:name="e%d"/>`, n)
}

// plain writes a paragraph of a kind and a style. Tabulators and line ends stand for what they are, and are blanks in
// the truth.
func (c *odtComposer) plain(kind Kind, style, text string) {
	start, end := c.begin(kind, 0, strings.Join(strings.Fields(text), " "))
	c.put(`<text:p text:style-name="%s">%s%s%s</text:p>`, style, start, odtText(text), end)
}

func odtText(text string) string {
	return strings.NewReplacer("&#x9;", "<text:tab/>", "&#xA;", "<text:line-break/>").Replace(escapeXML(text))
}

// prose writes a paragraph of some sentences, perhaps with a few words in bold or italics.
func (c *odtComposer) prose(sentences int) { c.proseOf("Text", c.paragraph(sentences)) }

func (c *odtComposer) proseOf(style, text string) {
	start, end := c.begin(KindParagraph, 0, text)
	inner := strings.Split(escapeXML(text), " ")
	if at := c.IntN(len(inner)); at+2 < len(inner) && c.happens(0.15) {
		inner[at] = `<text:span text:style-name="` + choose(c.chance, "Bold", "Italic", "Italic") + `">` + inner[at]
		inner[at+1] += "</text:span>"
	}
	c.put(`<text:p text:style-name="%s">%s%s%s</text:p>`, style, start, strings.Join(inner, " "), end)
}

func (c *odtComposer) proses(number, fewest, most int) {
	for range number {
		c.prose(c.count(fewest, most))
	}
}

// noted writes a paragraph with a footnote.
func (c *odtComposer) noted(sentences int) {
	words := strings.Split(c.paragraph(sentences), " ")
	at := c.count(1, len(words)-2)
	c.notes++
	plain := words[at]
	words[at] += fmt.Sprint(c.notes)
	start, end := c.begin(KindParagraph, 0, strings.Join(words, " "))
	anchor := len(c.blocks) - 1
	c.blocks[anchor].Marked = []string{words[at]}
	words[at] = plain
	done := c.beginFlow()
	text := c.sentence()
	noteStart, noteEnd := c.begin(KindFootnote, 0, fmt.Sprintf("%d %s", c.notes, text))
	c.anchors[len(c.blocks)-1] = anchor
	done()
	c.put(`<text:p text:style-name="Text">%s%s<text:note text:note-class="footnote"><text:note-citation>%d</text:note-citation><text:note-body>`+
		`<text:p text:style-name="Footnote">%s%s%s</text:p></text:note-body></text:note> %s%s</text:p>`, start, escapeXML(strings.Join(words[:at+1], " ")),
		c.notes, noteStart, escapeXML(text), noteEnd, escapeXML(strings.Join(words[at+1:], " ")), end)
}

// heading writes a heading of a level from 1 to 3.
func (c *odtComposer) heading(level int, text string) {
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
		text = number[1:] + " " + text
	}
	start, end := c.begin(KindHeading, level, text)
	c.put(`<text:h text:style-name="Heading%d" text:outline-level="%d">%s%s%s</text:h>`, level, level, start, escapeXML(text), end)
}

// list writes a list whose items may have lists of their own.
func (c *odtComposer) list(ordered bool, level int) {
	style := "Bullets"
	if ordered {
		style = "Numbers"
	}
	c.put(`<text:list text:style-name="%s">`, style)
	for i := range c.count(2, 5) {
		mark := c.bullets[level-1]
		if ordered {
			mark = []string{fmt.Sprintf("%d.", i+1), fmt.Sprintf("%c)", 'a'+i)}[level-1]
		}
		text := c.paragraph(c.count(1, 3-level))
		start, end := c.begin(KindListItem, level, mark+" "+text)
		c.put(`<text:list-item><text:p text:style-name="Item">%s%s%s</text:p>`, start, escapeXML(text), end)
		if level == 1 && c.happens(0.35) {
			c.list(ordered, 2)
		}
		c.put(`</text:list-item>`)
	}
	c.put(`</text:list>`)
}

// typesetOffice exports a document as PDF, with a profile of LibreOffice in a folder, and returns it with what stands
// where in it.
func typesetOffice(ctx context.Context, profile string, c *odtComposer) ([]byte, *printed, error) {
	dir, err := os.MkdirTemp("", "pagegen-office-*")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	source, file := filepath.Join(dir, "document.fodt"), filepath.Join(dir, "document.pdf")
	if err := os.WriteFile(source, []byte(odtFile{c}.source()), 0o600); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, officeTimeout)
	defer cancel()
	// Tags would tell readers what stands where, which hardly any document does.
	cmd := exec.CommandContext(ctx, officeProgram, "-env:UserInstallation=file://"+profile, "--headless", "--norestore", "--convert-to",
		`pdf:writer_pdf_Export:{"ExportBookmarksToPDFDestination":{"type":"boolean","value":"true"},"UseTaggedPDF":{"type":"boolean","value":"false"}}`,
		"--outdir", dir, source)
	pdf, err := runTypesetter(cmd, file, "libreoffice-writer-nogui")
	if err != nil {
		return nil, nil, err
	}
	places, err := exec.CommandContext(ctx, "pdfinfo", "-dests", file).Output()
	if err != nil {
		return nil, nil, fmt.Errorf("where blocks stand: %w", err)
	}
	facts, err := exec.CommandContext(ctx, "pdfinfo", file).Output()
	if err != nil {
		return nil, nil, fmt.Errorf("how many pages there are: %w", err)
	}
	pages := 0
	for line := range strings.Lines(string(facts)) {
		if number, is := strings.CutPrefix(line, "Pages:"); is {
			_, err = fmt.Sscan(number, &pages)
		}
	}
	if err != nil || pages == 0 {
		return nil, nil, fmt.Errorf("no number of pages in %q: %w", facts, err)
	}
	found, err := c.placeBlocks(string(places), pages)
	return pdf, found, err
}

// partTable returns a block, or the tables of each page that a table breaks over: LibreOffice repeats its head on each.
func (b Block) partTable(marks map[string]Part, number int) []Block {
	if b.Table == nil {
		return []Block{b}
	}
	pageOf := func(row int) int { return marks[fmt.Sprintf("b%d-%d", number, row)].Page }
	var out []Block
	for start := 1; start < b.Table.Rows; {
		end := start + 1
		for end < b.Table.Rows && pageOf(end) == pageOf(start) {
			end++
		}
		part := *b.Table
		part.Rows, part.Cells = 1+end-start, nil
		var words []string
		for _, cell := range b.Table.Cells {
			if cell.Row >= 1 && (cell.Row < start || cell.Row >= end) {
				continue
			}
			if cell.Row > 0 {
				cell.Row -= start - 1
			}
			part.Cells, words = append(part.Cells, cell), append(words, cell.Text)
		}
		out = append(out, Block{Kind: b.Kind, Flow: b.Flow, Text: strings.Join(words, " "), Table: &part,
			Parts: []Part{marks[fmt.Sprintf("b%d-%d", number, start)]}})
		start = end
	}
	out[0].Parts[0].Box = out[0].Parts[0].Box.union(b.Parts[0].Box)
	return out
}

// readDestinations reads what pdfinfo lists: the points of the marks, from the top left, and their pages.
func (c *odtComposer) readDestinations(list string) map[string]Part {
	marks := map[string]Part{}
	for line := range strings.Lines(list) {
		var page int
		var x, y float64
		if n, _ := fmt.Sscanf(line, "%d [ XYZ %f %f", &page, &x, &y); n == 3 { // the first line is a head
			_, name, _ := strings.Cut(line, `"`)
			marks[strings.TrimRight(name, "\"\n")] = Part{Page: page, Box: Rect{x, c.pageHeight - y, x + 1, c.pageHeight - y + c.size}}
		}
	}
	return marks
}

// placeBlocks gives the blocks their places, and puts those of each page in order: the running head, the text,
// footnotes, the page's number. LibreOffice tells where a block begins and where it ends: it has a part there each,
// of a line's height.
func (c *odtComposer) placeBlocks(list string, pages int) (*printed, error) {
	marks, found := c.readDestinations(list), &printed{}
	for i := range c.blocks {
		b := c.blocks[i]
		start, begun := marks[fmt.Sprintf("b%d", i+1)]
		if anchor, is := c.anchors[i]; !begun && is { // frames' marks are not told
			start, begun = c.blocks[anchor].Parts[0], true
		}
		if !begun {
			return nil, fmt.Errorf("%s %.40q was not set", b.Kind, b.Text)
		}
		b.Parts = []Part{start}
		if end, ended := marks[fmt.Sprintf("e%d", i+1)]; ended {
			if end.Page == start.Page && end.Box[1] >= start.Box[1] {
				b.Parts[0].Box = start.Box.union(end.Box)
			} else {
				b.Parts = append(b.Parts, end)
			}
		}
		c.blocks[i] = b
		found.Blocks = append(found.Blocks, b.partTable(marks, i+1)...)
	}
	width := c.pageWidth - c.marginX
	for page := 1; page <= pages; page++ {
		found.Pages = append(found.Pages, PageSize{c.pageWidth, c.pageHeight})
		if c.header != "" {
			found.Blocks = append(found.Blocks, Block{Kind: KindHeader, Text: c.header,
				Parts: []Part{{Page: page, Box: Rect{c.marginX, c.marginY, width, c.marginY + c.size}}}})
		}
		bottom := c.pageHeight - c.marginY
		found.Blocks = append(found.Blocks, Block{Kind: KindPageNumber, Text: fmt.Sprint(page),
			Parts: []Part{{Page: page, Box: Rect{c.marginX, bottom - c.size, width, bottom}}}})
	}
	rank := map[Kind]int{KindHeader: -1, KindFootnote: 1, KindPageNumber: 2}
	slices.SortStableFunc(found.Blocks, func(a, b Block) int { return 4*(a.Page()-b.Page()) + rank[a.Kind] - rank[b.Kind] })
	return found, nil
}
