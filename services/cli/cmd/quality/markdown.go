package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// wantsMarkdown takes files whose markdown is known, those of which statements are known, and born-digital ones whose
// outline, made by their authors, says what their headings are.
func wantsMarkdown(f pdftest.CorpusFile) bool {
	return isPDF(f) && (f.HasTags("md-expected") || f.HasTags("text-tests") || hasOutline(f))
}

func hasOutline(f pdftest.CorpusFile) bool {
	return f.HasTags("born-digital", "real-document") && f.TopFolder() == "pdf"
}

// markdownComparison is how the markdown of a file agrees with the truth.
type markdownComparison struct {
	*sample
	similarity, order         float64
	peerSimilarity, peerOrder float64
	headings                  score.HeadingScore
	tables                    score.Cells
	note                      string
}

// checkResult is how many statements of a file hold.
type checkResult struct {
	*sample
	held, of           int
	failed             []string
	peerHeld, peerHave int
	heldOfReach, reach int         // of the statements that are within reach
	beyond             [][2]string // the others, and why they are none
}

//go:embed statements.txt
var statementsBeyondReach string

// findReasons returns why statements cannot be met, by their ids.
func findReasons(list string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(list) {
		if id, why, found := strings.Cut(strings.TrimSpace(line), " "); found && id != "#" {
			out[id] = why
		}
	}
	return out
}

// outlineComparison is how the headings of a file agree with its outline.
type outlineComparison struct {
	*sample
	entries  int
	headings score.HeadingScore
}

func scoreMarkdown(ctx context.Context, b *qualityRun, samples []*sample) (section, error) {
	sec := section{method: "document.md against known markdown of the same documents (docling's, reviewed). Likeness is one less the edit distance in " +
		"characters over the longer text, marks left out; text in another order costs as much as wrong text. Order is that of the words which " +
		"both have. Headings are the same where their texts are alike to 0.8, and in the tree where they also stand below the same heading; where " +
		"the truth has one level only there is no tree to compare. Tables: cell F1 as under Tables. Peer: the text of pdftotext. " +
		"Statements are those of olmOCR's benchmark: texts that are there, running headers that are not, order, neighbours in tables; peer: " +
		"pdftotext again, without those of tables. Outlines: the headings against the outline that the authors gave the PDF, numbers left out.",
	}
	parts := []func(context.Context, *qualityRun, []*sample, *section) error{scoreMarkdownTruth, scoreChecks,
		scoreOutlines}
	for _, part := range parts {
		if err := part(ctx, b, samples, &sec); err != nil {
			return section{}, err
		}
	}
	return sec, nil
}

// filterSamples returns the samples for which keep holds.
func filterSamples(samples []*sample, keep func(pdftest.CorpusFile) bool) []*sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s *sample) bool { return !keep(s.CorpusFile) })
}

// readMarkdown reads document.md; one that is not there is empty.
func (s *sample) readMarkdown() (score.Markdown, string) {
	text, ok := s.readArtifact("document.md")
	if !ok {
		return score.Markdown{}, "document.md " + absentArtifact + ": " + s.state
	}
	return score.ParseMarkdown(text), ""
}

// pdftotextOutput returns the text that pdftotext reads; empty if it is not installed or cannot read the file.
func (b *qualityRun) pdftotextOutput(ctx context.Context, s *sample) (string, error) {
	text, err := b.peers.cachedText(ctx, s.CorpusFile, "pdftotext", "-enc", "UTF-8", "-cropbox", inputFile, "-")
	_, err = noteForFailure(err)
	return text, err
}

func scoreMarkdownTruth(ctx context.Context, b *qualityRun, samples []*sample, sec *section) error {
	all, err := forEachSample(ctx, b, filterSamples(samples,
		func(f pdftest.CorpusFile) bool { return f.HasTags("md-expected") }), b.compareMarkdown)
	if err != nil || len(all) == 0 {
		return err
	}
	var like, order, headings, peerLike, peerOrder []float64
	var cells score.Cells
	t := reportTable{title: "Markdown by file", columns: []string{
		"File", "Likeness", "pdftotext", "Order", "pdftotext", "Headings", "of", "F1", "Tree F1", "Table cells", "F1",
		"Note"}}
	for _, m := range all {
		like, order, headings = append(like, m.similarity), append(order, m.order), append(headings, m.headings.F1)
		peerLike, peerOrder = append(peerLike, m.peerSimilarity), append(peerOrder, m.peerOrder)
		cells = cells.Add(m.tables)
		t.addRow(m.Path, formatRatio(m.similarity), formatRatio(m.peerSimilarity), formatRatio(m.order),
			formatRatio(m.peerOrder), fmt.Sprint(m.headings.Got), fmt.Sprint(m.headings.Truth),
			formatRatio(m.headings.F1), formatTreeScore(m.headings), fmt.Sprint(m.tables.Truth), formatCellF1(m.tables), m.note)
	}
	sec.summary = append(sec.summary,
		summaryFigure{"likeness to known markdown, mean", formatRatio(meanOf(like)),
			formatRatio(meanOf(peerLike)) + " pdftotext", "", false},
		summaryFigure{"order of the words, mean", formatRatio(meanOf(order)), formatRatio(meanOf(peerOrder)) + " pdftotext",
			"", false},
		summaryFigure{"heading F1, mean", formatRatio(meanOf(headings)), absent, "", false},
		summaryFigure{"cell F1 of tables in markdown, all cells", formatRatio(cells.F1()), absent, "", false})
	sec.tables = append(sec.tables, t)
	return nil
}

func formatTreeScore(h score.HeadingScore) string {
	if h.Flat {
		return absent
	}
	return formatRatio(h.Tree)
}

func formatCellF1(c score.Cells) string {
	if c.Truth == 0 {
		return absent
	}
	return formatRatio(c.F1())
}

func (b *qualityRun) compareMarkdown(ctx context.Context, s *sample) (markdownComparison, error) {
	data, err := os.ReadFile(filepath.Join(b.corpus, filepath.FromSlash(s.TruthPath)))
	if err != nil {
		return markdownComparison{}, err
	}
	truth := score.ParseMarkdown(string(data))
	got, note := s.readMarkdown()
	plain, err := b.pdftotextOutput(ctx, s)
	if err != nil {
		return markdownComparison{}, err
	}
	m := markdownComparison{sample: s, note: note, headings: score.CompareHeadings(truth.Headings, got.Headings)}
	m.similarity, m.peerSimilarity = score.TextSimilarity(truth.Text, got.Text),
		score.TextSimilarity(truth.Text, plain)
	if note == "" {
		m.order = score.WordOrder(truth.Text, got.Text)
	} else { // nothing agrees in everything with nothing, but something should be there
		m.headings.F1 = 0
	}
	m.peerOrder = score.WordOrder(truth.Text, plain)
	cells, others := score.MatchTables(placeGrids(truth.Tables), placeGrids(got.Tables))
	for _, c := range cells {
		m.tables = m.tables.Add(c)
	}
	m.tables.Got += score.CountFilledCells(others)
	return m, nil
}

func placeGrids(grids []score.Grid) []score.PlacedTable {
	var out []score.PlacedTable
	for _, g := range grids {
		out = append(out, score.PlacedTable{Grid: g})
	}
	return out
}

func scoreChecks(ctx context.Context, b *qualityRun, samples []*sample, sec *section) error {
	all, err := forEachSample(ctx, b, filterSamples(samples,
		func(f pdftest.CorpusFile) bool { return f.HasTags("text-tests") }), b.runChecks)
	if err != nil || len(all) == 0 {
		return err
	}
	var sum checkResult
	t := reportTable{title: "Statements by file",
		columns: []string{"File", "Hold", "of", "pdftotext", "of", "Do not hold"}}
	beyond := reportTable{title: "Statements that a pipeline of text cannot meet", columns: []string{"File", "Statement", "Why"}}
	for _, c := range all {
		sum.heldOfReach, sum.reach = sum.heldOfReach+c.heldOfReach, sum.reach+c.reach
		for _, b := range c.beyond {
			beyond.addRow(c.Path, b[0], b[1])
		}
		sum.held, sum.of = sum.held+c.held, sum.of+c.of
		sum.peerHeld, sum.peerHave = sum.peerHeld+c.peerHeld, sum.peerHave+c.peerHave
		t.addRow(c.Path, fmt.Sprint(c.held), fmt.Sprint(c.of), fmt.Sprint(c.peerHeld), fmt.Sprint(c.peerHave),
			strings.Join(c.failed, ", "))
	}
	sec.summary = append(sec.summary, summaryFigure{"olmOCR's statements that hold",
		fmt.Sprintf("%d of %d", sum.held, sum.of),
		fmt.Sprintf("%d of %d pdftotext", sum.peerHeld, sum.peerHave), "", false},
		summaryFigure{"those of them that are within reach", fmt.Sprintf("%d of %d", sum.heldOfReach, sum.reach), absent, "", false})
	sec.tables = append(sec.tables, t, beyond)
	return nil
}

func (b *qualityRun) runChecks(ctx context.Context, s *sample) (checkResult, error) {
	c := checkResult{sample: s}
	f, err := os.Open(filepath.Join(b.corpus, filepath.FromSlash(s.TruthPath), "olmocr-tests.jsonl"))
	if err != nil {
		return c, err
	}
	defer f.Close()
	checks, err := score.ReadChecks(f)
	if err != nil {
		return c, err
	}
	md, _ := s.readMarkdown()
	plain, err := b.pdftotextOutput(ctx, s)
	if err != nil {
		return c, err
	}
	reasons := findReasons(statementsBeyondReach)
	for _, check := range checks {
		c.of++
		holds := check.HoldsFor(md)
		if why := reasons[check.ID]; why != "" {
			c.beyond = append(c.beyond, [2]string{check.String(), why})
		} else if c.reach++; holds {
			c.heldOfReach++
		}
		if holds {
			c.held++
		} else {
			c.failed = append(c.failed, check.String())
		}
		if check.Type != "table" {
			c.peerHave++
			if check.HoldsFor(score.Markdown{Text: plain}) {
				c.peerHeld++
			}
		}
	}
	return c, nil
}

// fewEntries is how many entries an outline must have to tell of headings.
const fewEntries = 5

func scoreOutlines(ctx context.Context, b *qualityRun, samples []*sample, sec *section) error {
	all, err := forEachSample(ctx, b, filterSamples(samples, hasOutline), b.compareOutline)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(x, y outlineComparison) int { return cmp.Compare(x.headings.F1, y.headings.F1) })
	var f1s, trees []float64
	t := reportTable{title: "Headings against the outline",
		columns: []string{"File", "Headings", "Entries", "F1", "Tree F1"}}
	for _, o := range all {
		if o.entries < fewEntries {
			continue
		}
		f1s = append(f1s, o.headings.F1)
		if !o.headings.Flat {
			trees = append(trees, o.headings.Tree)
		}
		t.addRow(o.Path, fmt.Sprint(o.headings.Got), fmt.Sprint(o.entries), formatRatio(o.headings.F1),
			formatTreeScore(o.headings))
	}
	if len(t.rows) == 0 {
		return nil
	}
	sec.summary = append(sec.summary,
		summaryFigure{"heading F1 against outlines, mean", formatRatio(meanOf(f1s)), absent, "", false},
		summaryFigure{"heading tree F1 against outlines, mean", formatRatio(meanOf(trees)), absent, "", false})
	sec.tables = append(sec.tables, t)
	return nil
}

func (b *qualityRun) compareOutline(ctx context.Context, s *sample) (outlineComparison, error) {
	o := outlineComparison{sample: s}
	text, err := b.peers.cachedText(ctx, s.CorpusFile, "mutool", "show", inputFile, "outline")
	if note, err := noteForFailure(err); err != nil || note != "" {
		return o, err
	}
	truth := score.ReadOutline(text)
	md, _ := s.readMarkdown()
	o.entries, o.headings = len(truth), score.CompareHeadings(stripHeadingNumbers(truth),
		stripHeadingNumbers(md.Headings))
	return o, nil
}

var headingNumber = regexp.MustCompile(`^([A-Z]\.)?\d{1,3}(\.\d{1,3})*[.:)]?\s+`)

// stripHeadingNumbers returns headings without the numbers that they begin with: documents print them, and their
// outlines mostly leave them out.
func stripHeadingNumbers(headings []score.Heading) []score.Heading {
	out := slices.Clone(headings)
	for i := range out {
		out[i].Text = headingNumber.ReplaceAllString(out[i].Text, "")
	}
	return out
}
