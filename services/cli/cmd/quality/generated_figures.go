package main

import (
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest/pagegen"
	"inkstream.dev/pkg/pdftest/score"
)

// reading is what a reader made of a document.
type reading struct {
	text string
	// structured says that the reader finds tables and headings.
	structured bool
	tables     []score.PlacedTable
	headings   []score.Heading
	blocks     []score.Block
}

// figures are what is measured of documents, as sums.
type figures struct {
	documents, inOrder        int
	whole, runs               int
	pairs, ordered            int
	structured                int // documents of readers that find tables and headings
	tablesRight, falseTables  int
	ruled, plain              score.Cells
	headings                  float64
	headed                    int // documents with headings
	parted, paragraphs        int // paragraphs of Markdown that are not one block, of how many
	charEdits, chars          int
	wordEdits, words, misread int
	errorRates                float64 // of the documents
}

func (f figures) add(g figures) figures {
	return figures{f.documents + g.documents, f.inOrder + g.inOrder, f.whole + g.whole, f.runs + g.runs, f.pairs + g.pairs,
		f.ordered + g.ordered, f.structured + g.structured, f.tablesRight + g.tablesRight, f.falseTables + g.falseTables,
		f.ruled.Add(g.ruled), f.plain.Add(g.plain), f.headings + g.headings, f.headed + g.headed, f.parted + g.parted,
		f.paragraphs + g.paragraphs, f.charEdits + g.charEdits,
		f.chars + g.chars, f.wordEdits + g.wordEdits, f.words + g.words, f.misread + g.misread, f.errorRates + g.errorRates}
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

func (f figures) wholeShare() float64   { return share(f.whole, f.runs) }
func (f figures) orderShare() float64   { return share(f.ordered, f.pairs) }
func (f figures) inOrderShare() float64 { return share(f.inOrder, f.documents) }
func (f figures) errorRate() float64    { return float64(f.charEdits) / float64(max(1, f.chars)) }
func (f figures) meanErrorRate() float64 {
	return f.errorRates / float64(max(1, f.documents))
}
func (f figures) misreadShare() float64 { return float64(f.misread) / float64(max(1, f.words)) }
func (f figures) headingF1() float64    { return f.headings / float64(max(1, f.headed)) }

// oneBlockShare is the share of the paragraphs that are one block of the Markdown.
func (f figures) oneBlockShare() float64 { return 1 - float64(f.parted)/float64(max(1, f.paragraphs)) }

// merit orders documents from the worst read.
func (f figures) merit() float64 {
	return f.wholeShare() + f.orderShare() - float64(f.falseTables)*0.5 + float64(f.tablesRight)*0.2
}

// readOwn reads what the pipeline made of a document.
func (d *generatedDocument) readOwn() (reading, error) {
	r := reading{structured: true}
	r.text, _ = d.readArtifact("text.txt") // what is not there was not read
	markdown, _ := d.readArtifact("document.md")
	parsed := score.ParseMarkdown(markdown)
	r.headings, r.blocks = parsed.Headings, parsed.Blocks
	var err error
	r.tables, err = d.readTables()
	return r, err
}

// hasRuns reports whether a block's text is measured by runs: the cells of tables are measured as such, and what stands
// in margins may be left out.
func hasRuns(b pagegen.Block) bool {
	switch b.Kind {
	case pagegen.KindTable, pagegen.KindFormula:
		return false
	}
	return b.IsBody()
}

// measureReading compares what was read with the truth.
func measureReading(truth *pagegen.Document, r reading) figures {
	f := figures{documents: 1}
	index := score.NewRunIndex(r.text)
	last := map[string]int{} // the place of the flow's block before, or -1
	for _, b := range truth.Blocks {
		if !hasRuns(b) {
			continue
		}
		found := index.FindParagraph(b.Text, b.Marked)
		if found.Total == 0 {
			continue
		}
		f.whole, f.runs = f.whole+found.Whole, f.runs+found.Total
		if before, known := last[b.Flow]; known && before >= 0 && found.Place >= 0 {
			f.pairs++
			if before <= found.Place {
				f.ordered++
			}
		}
		last[b.Flow] = found.Place
	}
	if f.wholeShare() >= 0.95 && f.pairs == f.ordered {
		f.inOrder = 1
	}
	compared := score.CompareTexts(truth.Text(), r.text, score.Options{Lenient: true})
	f.charEdits, f.chars, f.wordEdits, f.words = compared.CharEdits, compared.TruthChars, compared.WordEdits, compared.TruthWords
	f.errorRates = f.errorRate()
	f.misread = int(float64(compared.TruthWords)*(1-compared.Recall) + 0.5)
	if r.structured {
		f.structured = 1
		f.measureTables(truth, r.tables)
		f.measureHeadings(truth, r.headings)
		f.measureBlocks(truth, r.blocks)
	}
	return f
}

// measureBlocks counts the paragraphs that are not one block of the Markdown.
func (f *figures) measureBlocks(truth *pagegen.Document, got []score.Block) {
	index := score.NewBlockIndex(got)
	for _, b := range truth.Blocks {
		if b.Kind != pagegen.KindParagraph || len(b.Marked) > 0 {
			continue
		}
		if one, judged := index.IsOneBlock(b.Text); judged {
			f.paragraphs++
			if !one {
				f.parted++
			}
		}
	}
}

// measureTables counts the tables and compares their cells.
func (f *figures) measureTables(truth *pagegen.Document, got []score.PlacedTable) {
	var certain, either []score.PlacedTable
	var rulings []pagegen.Ruling
	for _, b := range truth.Blocks {
		switch {
		case b.Table == nil:
		case b.Table.Optional:
			either = append(either, score.PlacedTable{Page: b.Page(), Grid: b.Table.Grid()})
		default:
			certain = append(certain, score.PlacedTable{Page: b.Page(), Grid: b.Table.Grid()})
			rulings = append(rulings, b.Table.Ruling)
		}
	}
	matches, others := score.MatchTables(certain, got)
	for i, cells := range matches {
		if rulings[i] == pagegen.Ruled {
			f.ruled = f.ruled.Add(cells)
		} else {
			f.plain = f.plain.Add(cells)
		}
	}
	_, spurious := score.MatchTables(either, others)
	lines := listTextLines(truth)
	spurious = slices.DeleteFunc(spurious, func(t score.PlacedTable) bool { return isListOfLines(t.Grid, lines) })
	if truth.Family == "form" { // the grid of a form may be read as a table, a field at a time or as text
		spurious = nil
	}
	found := len(got) - len(others) + len(spurious)
	if found == len(certain) {
		f.tablesRight = 1
	}
	if len(spurious) > 0 {
		f.falseTables = 1
	}
}

// listTextLines returns the texts of those blocks that may be seen in more than one way.
func listTextLines(truth *pagegen.Document) map[string]bool {
	out := map[string]bool{}
	for _, b := range truth.Blocks {
		if b.Kind == pagegen.KindText {
			out[foldLine(b.Text)] = true
		}
	}
	return out
}

func foldLine(text string) string {
	return strings.Join(strings.Fields(score.NormaliseText(text, score.Options{Lenient: true})), "")
}

// isListOfLines reports whether each row of a table is such a line, as in a list of names and numbers: it may be read as
// a table or as text.
func isListOfLines(grid score.Grid, lines map[string]bool) bool {
	for _, row := range grid {
		if text := foldLine(strings.Join(row, " ")); text != "" && !lines[text] {
			return false
		}
	}
	return true
}

// measureHeadings compares the headings' texts, regardless of their order, which is certain within a flow only.
func (f *figures) measureHeadings(truth *pagegen.Document, got []score.Heading) {
	var known []score.Heading
	for _, b := range truth.Blocks {
		if b.Kind == pagegen.KindTitle || b.Kind == pagegen.KindHeading {
			known = append(known, score.Heading{Level: 1, Text: b.Text})
		}
	}
	if len(known) == 0 {
		return
	}
	byText := func(x, y score.Heading) int { return strings.Compare(x.Text, y.Text) }
	sorted := slices.Clone(got)
	slices.SortFunc(known, byText)
	slices.SortFunc(sorted, byText)
	f.headings += score.CompareHeadings(known, sorted).F1
	f.headed++
}
