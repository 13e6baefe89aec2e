package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/pagegen"
)

// The documents that are generated: the record's seed never changes, the fresh one is another at each run.
const (
	recordSeed       = 1000
	defaultGenerated = 110
	worstKept        = 10
)

// generatedDocument is a generated document, born-digital or as a scan, with what the pipeline made of it.
type generatedDocument struct {
	*sample
	truth    *pagegen.Document
	scan     bool
	readings map[string]reading // by reader
	figures  map[string]figures
}

// generatedSet is the documents of one first seed.
type generatedSet struct {
	label     string
	documents []*generatedDocument
	seconds   map[string]float64 // a page, by reader
}

// scoreGenerated generates documents, takes them through the pipeline and the peers, and measures both.
func scoreGenerated(ctx context.Context, b *qualityRun) (section, error) {
	fresh := b.seed
	if fresh == 0 {
		fresh = uint64(time.Now().Unix())
	}
	seeds := []uint64{recordSeed, fresh}
	if b.seed != 0 {
		seeds = []uint64{fresh} // one seed is asked for
	}
	sec := section{method: "Documents that pkg/pdftest/pagegen generates from seeds and Chromium, LuaLaTeX or LibreOffice sets, all families in turn, with known blocks, order, tables " +
		"and headings. Whole paragraphs: the share of the five-word runs of all blocks of text that stand unbroken in text.txt. Order: the share of " +
		"neighbouring blocks of one flow that come in order. Whole and in order: documents with 0.95 of the runs and all neighbours in order. " +
		"Tables: a document has the right number if the tables that were found are as many as those of the truth, those aside that may be read either way; " +
		"a table with no cell of the truth is false. Cells: as for the corpus. Headings: F1 of the texts. Scans are the same pages, degraded at random. " +
		"A family is behind a peer if its share of whole runs is lower by more than 0.01. The targets hold for each typesetter. Seconds are those of " + describeMachine() + "."}
	for _, seed := range seeds {
		label := fmt.Sprintf("fresh seeds from %d", seed)
		if seed == recordSeed {
			label = "fixed seeds"
		}
		set, err := b.makeGeneratedSet(ctx, seed, label)
		if err != nil {
			return section{}, err
		}
		if err := b.readGeneratedSet(ctx, set); err != nil {
			return section{}, err
		}
		sec.summary = append(sec.summary, set.summarise()...)
		sec.tables = append(sec.tables, set.tabulate()...)
		if err := b.keepWorstPages(ctx, set); err != nil {
			return section{}, err
		}
	}
	sec.tables = append(sec.tables, reportTable{title: "Peers that are not installed", columns: []string{"Why"}, rows: wrapRows(b.peers.missingPeers())})
	return sec, nil
}

// describeMachine names the processor that times were taken on.
func describeMachine() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // other systems have none
	for line := range strings.Lines(string(info)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return fmt.Sprintf("%d × %s", runtime.NumCPU(), strings.TrimSpace(value))
		}
	}
	return fmt.Sprintf("%d × %s", runtime.NumCPU(), runtime.GOARCH)
}

func wrapRows(cells []string) [][]string {
	var rows [][]string
	for _, cell := range cells {
		rows = append(rows, []string{cell})
	}
	return rows
}

// makeGeneratedSet writes the documents of a seed, and of some the scans.
func (b *qualityRun) makeGeneratedSet(ctx context.Context, seed uint64, label string) (*generatedSet, error) {
	dir := filepath.Join(b.tempDir, fmt.Sprintf("generated-%d", seed))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "generating %d documents, %s\n", b.generated, label)
	families, err := pagegen.SelectFamilies(b.families)
	if err != nil {
		return nil, err
	}
	made := make([][]*generatedDocument, b.generated)
	g, ctx := errgroup.WithContext(ctx)
	for worker := range b.jobs {
		g.Go(func() error {
			var generator pagegen.Generator
			defer generator.Close()
			for i := worker; i < b.generated; i += b.jobs {
				document, err := generator.Make(ctx, families[i%len(families)], seed+uint64(i/len(families)))
				if err != nil {
					return err
				}
				if b.scans && (i+i/len(families))%b.scanEvery == 0 {
					if err := document.AddScan(ctx); err != nil {
						return err
					}
				}
				if made[i], err = b.keepDocument(document, dir); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return &generatedSet{label: label, documents: slices.Concat(made...), seconds: map[string]float64{}}, nil
}

// keepDocument writes the files of a document, and returns it as what is measured.
func (b *qualityRun) keepDocument(made *pagegen.Made, dir string) ([]*generatedDocument, error) {
	if err := made.WriteFiles(dir); err != nil {
		return nil, err
	}
	var out []*generatedDocument
	for _, file := range []struct {
		name string
		data []byte
	}{{made.Truth.Name + ".pdf", made.PDF}, {made.Truth.Name + ".scan.pdf", made.Scan}} {
		if file.data == nil {
			continue
		}
		digest := sha256.Sum256(file.data)
		f := pdftest.CorpusFile{Path: "generated/" + file.name, Abs: filepath.Join(dir, file.name), SHA256: hex.EncodeToString(digest[:]),
			Tags: []string{"lang-" + made.Truth.Language}}
		out = append(out, &generatedDocument{sample: &sample{CorpusFile: f, dir: filepath.Join(b.artifacts, "generated", file.name), allArtifacts: true},
			truth: made.Truth, scan: strings.HasSuffix(file.name, ".scan.pdf"), readings: map[string]reading{}, figures: map[string]figures{}})
	}
	return out, nil
}

// readGeneratedSet lets the pipeline and the peers read the documents, and measures what they read.
func (b *qualityRun) readGeneratedSet(ctx context.Context, set *generatedSet) error {
	var digital, scans []*generatedDocument
	samples := map[bool][]*sample{}
	for _, d := range set.documents {
		if d.scan {
			scans = append(scans, d)
		} else {
			digital = append(digital, d)
		}
		samples[d.scan] = append(samples[d.scan], d.sample)
	}
	for scan, name := range map[bool]string{false: "Inkstream", true: "Inkstream (scans)"} {
		if len(samples[scan]) == 0 {
			continue
		}
		begin := time.Now()
		if err := processSamples(ctx, samples[scan], b.jobs); err != nil {
			return err
		}
		set.seconds[name] = time.Since(begin).Seconds() / float64(countPages(set.documents, scan))
	}
	for _, d := range set.documents {
		var err error
		if d.readings["Inkstream"], err = d.readOwn(); err != nil {
			return err
		}
	}
	if err := b.readWithPeers(ctx, set, digital, scans); err != nil {
		return err
	}
	for _, d := range set.documents {
		for name, r := range d.readings {
			d.figures[name] = measureReading(d.truth, r)
		}
	}
	return nil
}

func countPages(documents []*generatedDocument, scan bool) int {
	pages := 0
	for _, d := range documents {
		if d.scan == scan {
			pages += len(d.truth.Pages)
		}
	}
	return pages
}

// sumFigures adds the figures of documents, by reader and family; typesetter may be empty for all.
func (s *generatedSet) sumFigures(scan bool, typesetter string) (all map[string]figures, byFamily map[string]map[string]figures) {
	all, byFamily = map[string]figures{}, map[string]map[string]figures{}
	for _, d := range s.documents {
		if d.scan != scan || typesetter != "" && d.truth.Typesetter != typesetter {
			continue
		}
		if byFamily[d.truth.Family] == nil {
			byFamily[d.truth.Family] = map[string]figures{}
		}
		for name, f := range d.figures {
			all[name] = all[name].add(f)
			byFamily[d.truth.Family][name] = byFamily[d.truth.Family][name].add(f)
		}
	}
	return all, byFamily
}

// bestPeer returns the best value of a peer with its name; false if no peer was run.
func bestPeer(by map[string]figures, of func(figures) float64) (value float64, name string, found bool) {
	for _, peer := range slices.Sorted(maps.Keys(by)) {
		if v := of(by[peer]); peer != "Inkstream" && (!found || v > value) {
			value, name, found = v, peer, true
		}
	}
	return value, name, found
}

// keepWorstPages draws the pages of the documents that were read worst, with their layout, into out/generated-worst.
func (b *qualityRun) keepWorstPages(ctx context.Context, set *generatedSet) error {
	dir := filepath.Join("out", "generated-worst")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	worst := slices.Clone(set.documents)
	slices.SortStableFunc(worst, func(x, y *generatedDocument) int {
		return cmp.Compare(x.figures["Inkstream"].merit(), y.figures["Inkstream"].merit())
	})
	for i, d := range worst[:min(worstKept, len(worst))] {
		name := fmt.Sprintf("%02d-%s", i+1, strings.TrimSuffix(filepath.Base(d.Path), ".pdf"))
		if err := copyFile(d.Abs, filepath.Join(dir, name+".pdf")); err != nil {
			return err
		}
		if _, err := runCommand(ctx, "pdftoppm", "-png", "-r", "80", "-f", "1", "-l", "2", d.artifactPath("layout.pdf"),
			filepath.Join(dir, name)); err != nil {
			fmt.Fprintf(os.Stderr, "%s has no picture: %v\n", name, err)
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
