package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/pkg/quality"
)

// wantsMarkdown takes files whose markdown is known, those of which statements are known, and born-digital ones whose outline, made by their
// authors, says what their headings are.
func wantsMarkdown(f pdftest.CorpusFile) bool {
	return isPDF(f) && (f.Has("md-expected") || f.Has("text-tests") || outlined(f))
}

func outlined(f pdftest.CorpusFile) bool {
	return f.Has("born-digital", "real-document") && f.Folder() == "pdf"
}

// marked is how the markdown of a file agrees with the truth.
type marked struct {
	*sample
	like, order         float64
	peerLike, peerOrder float64
	headings            quality.HeadingScore
	tables              quality.Cells
	note                string
}

// checked is how many statements of a file hold.
type checked struct {
	*sample
	held, of           int
	failed             []string
	peerHeld, peerHave int
}

// outline is how the headings of a file agree with its outline.
type outline struct {
	*sample
	entries  int
	headings quality.HeadingScore
}

func scoreMarkdown(ctx context.Context, b *bench, samples []*sample) (section, error) {
	sec := section{how: "document.md against known markdown of the same documents (docling's, reviewed). Likeness is one less the edit distance in " +
		"characters over the longer text, marks left out; text in another order costs as much as wrong text. Order is that of the words which " +
		"both have. Headings are the same where their texts are alike to 0.8, and in the tree where they also stand below the same heading; where " +
		"the truth has one level only there is no tree to compare. Tables: cell F1 as under Tables. Peer: the text of pdftotext. " +
		"Statements are those of olmOCR's benchmark: texts that are there, running headers that are not, order, neighbours in tables; peer: " +
		"pdftotext again, without those of tables. Outlines: the headings against the outline that the authors gave the PDF, numbers left out.",
	}
	parts := []func(context.Context, *bench, []*sample, *section) error{scoreMarked, scoreChecked, scoreOutlines}
	for _, part := range parts {
		if err := part(ctx, b, samples, &sec); err != nil {
			return section{}, err
		}
	}
	return sec, nil
}

// only returns the samples for which keep holds.
func only(samples []*sample, keep func(pdftest.CorpusFile) bool) []*sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s *sample) bool { return !keep(s.CorpusFile) })
}

// markdown reads document.md; one that is not there is empty.
func (s *sample) markdown() (quality.Markdown, string) {
	text, ok := s.read("document.md")
	if !ok {
		return quality.Markdown{}, "document.md " + absentArtifact + ": " + s.state
	}
	return quality.ParseMarkdown(text), ""
}

// plain returns the text that pdftotext reads; empty if it is not installed or cannot read the file.
func (b *bench) plain(ctx context.Context, s *sample) (string, error) {
	text, err := b.peers.text(ctx, s.CorpusFile, "pdftotext", "-enc", "UTF-8", "-cropbox", inputFile, "-")
	_, err = excuse(err)
	return text, err
}

func scoreMarked(ctx context.Context, b *bench, samples []*sample, sec *section) error {
	all, err := each(ctx, b, only(samples, func(f pdftest.CorpusFile) bool { return f.Has("md-expected") }), b.compareMarkdown)
	if err != nil || len(all) == 0 {
		return err
	}
	var like, order, headings, peerLike, peerOrder []float64
	var cells quality.Cells
	t := table{title: "Markdown by file", columns: []string{
		"File", "Likeness", "pdftotext", "Order", "pdftotext", "Headings", "of", "F1", "Tree F1", "Table cells", "F1", "Note"}}
	for _, m := range all {
		like, order, headings = append(like, m.like), append(order, m.order), append(headings, m.headings.F1)
		peerLike, peerOrder = append(peerLike, m.peerLike), append(peerOrder, m.peerOrder)
		cells = cells.Add(m.tables)
		t.add(m.Path, ratio(m.like), ratio(m.peerLike), ratio(m.order), ratio(m.peerOrder), fmt.Sprint(m.headings.Got), fmt.Sprint(m.headings.Truth),
			ratio(m.headings.F1), tree(m.headings), fmt.Sprint(m.tables.Truth), cellF1(m.tables), m.note)
	}
	sec.summary = append(sec.summary,
		figure{"likeness to known markdown, mean", ratio(mean(like)), ratio(mean(peerLike)) + " pdftotext", "", false},
		figure{"order of the words, mean", ratio(mean(order)), ratio(mean(peerOrder)) + " pdftotext", "", false},
		figure{"heading F1, mean", ratio(mean(headings)), absent, "", false},
		figure{"cell F1 of tables in markdown, all cells", ratio(cells.F1()), absent, "", false})
	sec.tables = append(sec.tables, t)
	return nil
}

func tree(h quality.HeadingScore) string {
	if h.Flat {
		return absent
	}
	return ratio(h.Tree)
}

func cellF1(c quality.Cells) string {
	if c.Truth == 0 {
		return absent
	}
	return ratio(c.F1())
}

func (b *bench) compareMarkdown(ctx context.Context, s *sample) (marked, error) {
	data, err := os.ReadFile(filepath.Join(b.corpus, filepath.FromSlash(s.TruthPath)))
	if err != nil {
		return marked{}, err
	}
	truth := quality.ParseMarkdown(string(data))
	got, note := s.markdown()
	plain, err := b.plain(ctx, s)
	if err != nil {
		return marked{}, err
	}
	m := marked{sample: s, note: note, headings: quality.CompareHeadings(truth.Headings, got.Headings)}
	m.like, m.peerLike = quality.Similarity(truth.Text, got.Text), quality.Similarity(truth.Text, plain)
	if note == "" {
		m.order = score.Order(truth.Text, got.Text)
	} else { // nothing agrees in everything with nothing, but something should be there
		m.headings.F1 = 0
	}
	m.peerOrder = score.Order(truth.Text, plain)
	cells, others := quality.MatchTables(placed(truth.Tables), placed(got.Tables))
	for _, c := range cells {
		m.tables = m.tables.Add(c)
	}
	m.tables.Got += quality.Filled(others)
	return m, nil
}

func placed(grids []quality.Grid) []quality.PlacedTable {
	var out []quality.PlacedTable
	for _, g := range grids {
		out = append(out, quality.PlacedTable{Grid: g})
	}
	return out
}

func scoreChecked(ctx context.Context, b *bench, samples []*sample, sec *section) error {
	all, err := each(ctx, b, only(samples, func(f pdftest.CorpusFile) bool { return f.Has("text-tests") }), b.check)
	if err != nil || len(all) == 0 {
		return err
	}
	var sum checked
	t := table{title: "Statements by file", columns: []string{"File", "Hold", "of", "pdftotext", "of", "Do not hold"}}
	for _, c := range all {
		sum.held, sum.of = sum.held+c.held, sum.of+c.of
		sum.peerHeld, sum.peerHave = sum.peerHeld+c.peerHeld, sum.peerHave+c.peerHave
		t.add(c.Path, fmt.Sprint(c.held), fmt.Sprint(c.of), fmt.Sprint(c.peerHeld), fmt.Sprint(c.peerHave), strings.Join(c.failed, ", "))
	}
	sec.summary = append(sec.summary, figure{"olmOCR's statements that hold", fmt.Sprintf("%d of %d", sum.held, sum.of),
		fmt.Sprintf("%d of %d pdftotext", sum.peerHeld, sum.peerHave), "", false})
	sec.tables = append(sec.tables, t)
	return nil
}

func (b *bench) check(ctx context.Context, s *sample) (checked, error) {
	c := checked{sample: s}
	f, err := os.Open(filepath.Join(b.corpus, filepath.FromSlash(s.TruthPath), "olmocr-tests.jsonl"))
	if err != nil {
		return c, err
	}
	defer f.Close()
	checks, err := quality.ReadChecks(f)
	if err != nil {
		return c, err
	}
	md, _ := s.markdown()
	plain, err := b.plain(ctx, s)
	if err != nil {
		return c, err
	}
	for _, check := range checks {
		c.of++
		if check.Holds(md) {
			c.held++
		} else {
			c.failed = append(c.failed, check.String())
		}
		if check.Type != "table" {
			c.peerHave++
			if check.Holds(quality.Markdown{Text: plain}) {
				c.peerHeld++
			}
		}
	}
	return c, nil
}

// fewEntries is how many entries an outline must have to tell of headings.
const fewEntries = 5

func scoreOutlines(ctx context.Context, b *bench, samples []*sample, sec *section) error {
	all, err := each(ctx, b, only(samples, outlined), b.compareOutline)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(x, y outline) int { return cmp.Compare(x.headings.F1, y.headings.F1) })
	var f1s, trees []float64
	t := table{title: "Headings against the outline", columns: []string{"File", "Headings", "Entries", "F1", "Tree F1"}}
	for _, o := range all {
		if o.entries < fewEntries {
			continue
		}
		f1s = append(f1s, o.headings.F1)
		if !o.headings.Flat {
			trees = append(trees, o.headings.Tree)
		}
		t.add(o.Path, fmt.Sprint(o.headings.Got), fmt.Sprint(o.entries), ratio(o.headings.F1), tree(o.headings))
	}
	if len(t.rows) == 0 {
		return nil
	}
	sec.summary = append(sec.summary,
		figure{"heading F1 against outlines, mean", ratio(mean(f1s)), absent, "", false},
		figure{"heading tree F1 against outlines, mean", ratio(mean(trees)), absent, "", false})
	sec.tables = append(sec.tables, t)
	return nil
}

func (b *bench) compareOutline(ctx context.Context, s *sample) (outline, error) {
	o := outline{sample: s}
	text, err := b.peers.text(ctx, s.CorpusFile, "mutool", "show", inputFile, "outline")
	if note, err := excuse(err); err != nil || note != "" {
		return o, err
	}
	truth := quality.ReadOutline(text)
	md, _ := s.markdown()
	o.entries, o.headings = len(truth), quality.CompareHeadings(unnumbered(truth), unnumbered(md.Headings))
	return o, nil
}

var headingNumber = regexp.MustCompile(`^([A-Z]\.)?\d{1,3}(\.\d{1,3})*[.:)]?\s+`)

// unnumbered returns headings without the numbers that they begin with: documents print them, and their outlines mostly leave them out.
func unnumbered(headings []quality.Heading) []quality.Heading {
	out := slices.Clone(headings)
	for i := range out {
		out[i].Text = headingNumber.ReplaceAllString(out[i].Text, "")
	}
	return out
}
