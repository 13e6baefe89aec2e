package document

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestMain(m *testing.M) {
	sandbox.Main(pdf.Program())
	processtest.UsePlainChildren(sandbox.SetChildFile)
	os.Exit(m.Run())
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// startEngine starts PDFium: what it makes of a page is what the rules have to cope with.
func startEngine(t *testing.T) *pdf.Engine {
	t.Helper()
	cfg := pdf.DefaultConfig()
	cfg.Workers = 1
	engine, err := pdf.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("start the engine: %v", err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// assembled is a document as a job yields it, of its native text.
type assembled struct {
	markdown, json string
	tables         []score.PlacedTable
	ruled          []bool
}

// assemble reads a document and writes its artifacts.
func assemble(t *testing.T, engine *pdf.Engine, path string) assembled {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := engine.OpenDocument(t.Context(), f, "")
	if err != nil {
		t.Fatalf("open %s: %v", filepath.Base(path), err)
	}
	defer doc.Close()
	var pages []*inkstreamv1.Page
	var evidence []*Evidence
	for n := 1; n <= doc.Info().PageCount; n++ {
		result, err := doc.ReadPage(t.Context(), n, pdf.PageOptions{NoRaster: true})
		if err != nil {
			t.Fatalf("%s, page %d: %v", filepath.Base(path), n, err)
		}
		p := result.Page
		p.Number = int32(n)
		if p.Outcome == "" {
			p.Outcome = "ocr"
		}
		layout.ArrangePage(p)
		DetectLanguages(p)
		pages, evidence = append(pages, p), append(evidence, ObservePage(p))
	}
	plan := NewPlan(evidence, doc.Info().Document.GetOutline())
	var out assembled
	var md, js strings.Builder
	m := NewMarkdownWriter(&md, plan)
	j, err := NewJSONWriter(&js, Head{
		Version: "inkstream.v1", Job: "j", SHA256: strings.Repeat("0", 64), PageCount: len(pages), Language: plan.Language(),
		Words: plan.Words, TableMerges: plan.Merges,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		plan.ApplyTo(p)
		if err := m.WritePage(p); err != nil {
			t.Fatal(err)
		}
		if err := j.WritePage(p); err != nil {
			t.Fatal(err)
		}
		for _, b := range p.GetBlocks() {
			if table := b.GetTable(); table != nil {
				out.tables = append(out.tables, score.PlacedTable{Page: int(p.GetNumber()), Grid: tableGrid(table)})
				out.ruled = append(out.ruled, table.GetRuled())
			}
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	out.markdown, out.json = md.String(), js.String()
	return out
}

// truthTables reads the tables that people found in a document.
func truthTables(t *testing.T, folder string) []score.PlacedTable {
	t.Helper()
	pages := map[string]int{}
	if data, err := os.ReadFile(filepath.Join(folder, "tables.json")); err == nil {
		var list []struct {
			File string
			Page int
		}
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		for _, entry := range list {
			pages[entry.File] = entry.Page
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	var out []score.PlacedTable
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := score.ReadCSV(f)
		if cerr := f.Close(); err != nil || cerr != nil {
			t.Fatal(err, cerr)
		}
		out = append(out, score.PlacedTable{Page: pages[filepath.Base(file)], Grid: g})
	}
	return out
}

// TestTablesOfCorpus compares the tables of real documents with what people wrote down. The floors are below what
// holds, so that a change for the worse shows and a change elsewhere does not.
func TestTablesOfCorpus(t *testing.T) {
	t.Parallel()
	corpus := pdftest.OpenCorpus(t)
	engine := startEngine(t)
	sum := map[bool]float64{}
	count := map[bool]int{}
	for _, f := range corpus.Files {
		if f.TopFolder() != "tables" || f.TruthPath == "" {
			continue
		}
		got := assemble(t, engine, f.Abs)
		truth := truthTables(t, filepath.Join(corpus.Root, filepath.FromSlash(f.TruthPath)))
		for i, cells := range matched(truth, got) {
			sum[cells.ruled] += cells.F1()
			count[cells.ruled]++
			if cells.F1() < 0.75 {
				t.Logf("%s, table %d: cell F1 %.3f, ruled %v", f.Path, i+1, cells.F1(), cells.ruled)
			}
		}
	}
	minRuled, minOthers, minRuledF1, minOtherF1 := 15, 10, 0.95, 0.85
	if corpus.Committed { // of five tables one with a cell that spans columns weighs more
		minRuled, minOthers, minRuledF1 = 1, 1, 0.92
	}
	if count[true] < minRuled || count[false] < minOthers {
		t.Errorf("%d ruled tables and %d others with truths, want at least %d and %d", count[true], count[false], minRuled,
			minOthers)
	}
	ruled, aligned := sum[true]/float64(count[true]), sum[false]/float64(count[false])
	t.Logf("cell F1 of %d ruled tables %.3f, of %d others %.3f", count[true], ruled, count[false], aligned)
	if ruled < minRuledF1 || aligned < minOtherF1 {
		t.Errorf("cell F1 of ruled tables %.3f, of others %.3f; want %v and %v", ruled, aligned, minRuledF1, minOtherF1)
	}
}

type match struct {
	score.Cells
	ruled bool
}

// matched pairs the tables of a truth with those that were found. One that was not found counts among those that
// alignment tells.
func matched(truth []score.PlacedTable, got assembled) []match {
	cells, _ := score.MatchTables(truth, got.tables)
	out := make([]match, len(truth))
	for i := range truth {
		out[i].Cells = cells[i]
		for k, g := range got.tables {
			if (truth[i].Page == 0 || truth[i].Page == g.Page) && score.CompareTables(truth[i].Grid, g.Grid) == cells[i] &&
				cells[i].Equal > 0 {
				out[i].ruled = got.ruled[k]
			}
		}
	}
	return out
}

// TestMarkdownOfCorpus compares the markdown of real documents with that of people and of another converter that they
// corrected.
func TestMarkdownOfCorpus(t *testing.T) {
	t.Parallel()
	corpus := pdftest.OpenCorpus(t)
	engine := startEngine(t)
	similar, headings, n := 0.0, 0.0, 0
	for _, f := range corpus.FilesWithTags("md-expected", "born-digital") {
		truth := score.ParseMarkdown(string(readFile(t, filepath.Join(corpus.Root, filepath.FromSlash(f.TruthPath)))))
		got := score.ParseMarkdown(assemble(t, engine, f.Abs).markdown)
		s, h := score.TextSimilarity(truth.Text, got.Text), score.CompareHeadings(truth.Headings, got.Headings)
		t.Logf("%s: similarity %.3f, headings %+v", f.Path, s, h)
		similar, headings, n = similar+s, headings+h.F1, n+1
	}
	if n == 0 {
		t.Error("the corpus has no documents with markdown")
	}
	if similar/float64(n) < 0.75 || headings/float64(n) < 0.5 {
		t.Errorf("mean similarity %.3f, mean F1 of headings %.3f; want 0.75 and 0.5", similar/float64(n), headings/float64(n))
	}
}

// TestJSONOfCorpus validates what is made of the smaller native documents, the broken and hostile ones too, as far as
// they open.
func TestJSONOfCorpus(t *testing.T) {
	t.Parallel()
	corpus := pdftest.OpenCorpus(t)
	engine := startEngine(t)
	s := schema(t)
	n := 0
	for _, f := range corpus.Files {
		if f.Pages < 1 || f.Pages > 20 || f.Encrypted || f.HasTags("slow-or-heavy") || !strings.HasSuffix(f.Path, ".pdf") ||
			f.TopFolder() == "ocr" || f.TopFolder() == "hostile" {
			continue
		}
		src, err := os.Open(f.Abs)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := engine.OpenDocument(t.Context(), src, "")
		if err == nil {
			doc.Close()
		}
		if cerr := src.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if err != nil {
			continue // refused, with its reason
		}
		n++
		if err := s.Validate([]byte(assemble(t, engine, f.Abs).json)); err != nil {
			t.Errorf("%s: %v", f.Path, err)
		}
	}
	t.Logf("%d documents", n)
}
