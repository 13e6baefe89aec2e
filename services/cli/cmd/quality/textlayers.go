package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/pagegen"
	"inkstream.dev/pkg/pdftest/score"
)

// layerDamage is the shares of wrong letters in the layers that are measured.
var layerDamage = []float64{0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5}

// layeredDocuments is how many generated documents have layers of every damage.
const layeredDocuments = 12

// latinOne are the languages whose letters a layer's font has.
var latinOne = map[string]bool{"eng": true, "deu": true, "fra": true, "spa": true, "ita": true, "nld": true, "por": true}

// layeredScan is a scan with a text layer, or without one where damage is negative.
type layeredScan struct {
	*sample
	truth  *pagegen.Document
	damage float64
	layer  string // the layer's text
	// madeByPeer says that OCRmyPDF recognised the scan.
	madeByPeer bool
}

// scoreTextLayers measures of which scans the text layer is believed.
func scoreTextLayers(ctx context.Context, b *qualityRun) (section, error) {
	seed := b.seed
	if seed == 0 {
		seed = uint64(time.Now().Unix())
	}
	scans, err := b.makeLayeredScans(ctx, seed)
	if err != nil {
		return section{}, err
	}
	if scans, err = addPeerLayers(ctx, b, scans); err != nil {
		return section{}, err
	}
	samples := make([]*sample, len(scans))
	for i, s := range scans {
		samples[i] = s.sample
	}
	if err := processSamples(ctx, samples, b.jobs); err != nil {
		return section{}, err
	}
	sec := section{method: fmt.Sprintf("%d generated documents, fresh seeds from %d, as scans degraded at random, with a text layer of which a share of the "+
		"letters is wrong. With ocr=auto the layer is held against the ink. Read anew: the share of the pages. F1 of the words, regardless of order, "+
		"against what the page says: of the layer, of what comes out, and of the same scan read without a layer. Markdown: the same scans "+
		"without a layer, with a sound one, and as OCRmyPDF makes them searchable.", layeredDocuments, seed)}
	table := reportTable{title: "Text layers by damage", columns: []string{"Wrong letters", "Pages", "Read anew", "Agreement, mean", "F1 of the layer",
		"F1 of what comes out", "F1 read without a layer"}}
	bare, _ := measureLayers(scans, -1)
	for _, damage := range layerDamage {
		m, shown := measureLayers(scans, damage)
		table.addRow(append(append([]string{fmt.Sprintf("%.0f %%", 100*damage)}, shown...), formatRatio(bare.f1))...)
		switch damage {
		case 0:
			sec.summary = append(sec.summary, summaryFigure{"sound text layers that are read anew", formatRatio(m.anew), absent, "≤ 0.02", m.anew <= 0.02})
		case 0.3:
			sec.summary = append(sec.summary, summaryFigure{"text layers with 30 % wrong letters that are read anew", formatRatio(m.anew), absent, "≥ 0.95", m.anew >= 0.95})
		}
	}
	sec.tables = []reportTable{table}
	err = compareLayerMarkdown(scans, &sec)
	return sec, err
}

// compareLayerMarkdown measures the Markdown of scans without a layer, with a sound one, and with that of OCRmyPDF.
func compareLayerMarkdown(scans []*layeredScan, sec *section) error {
	table := reportTable{title: "Markdown of scans with text layers", columns: []string{"Layer", "Documents", "Whole paragraphs",
		"Paragraphs that are one block", "Code that is none", "Documents with false tables", "Headings"}}
	for _, kind := range []struct {
		name string
		has  func(*layeredScan) bool
	}{
		{"none", func(s *layeredScan) bool { return s.damage < 0 && !s.madeByPeer }},
		{"sound", func(s *layeredScan) bool { return s.damage == 0 }},
		{"OCRmyPDF", func(s *layeredScan) bool { return s.madeByPeer }},
	} {
		var sum figures
		code := 0
		for _, s := range scans {
			if !kind.has(s) {
				continue
			}
			d := generatedDocument{sample: s.sample, truth: s.truth}
			r, err := d.readOwn()
			if err != nil {
				return err
			}
			sum = sum.add(measureReading(s.truth, r))
			code += countFalseCode(s.truth, r.blocks)
		}
		table.addRow(kind.name, fmt.Sprint(sum.documents), formatRatio(sum.wholeShare()), formatRatio(sum.oneBlockShare()), fmt.Sprint(code),
			fmt.Sprint(sum.falseTables), formatRatio(sum.headingF1()))
		if kind.name == "OCRmyPDF" && sum.documents > 0 {
			sec.summary = append(sec.summary,
				summaryFigure{"scans with OCRmyPDF's layer: pieces of code in Markdown that are none", fmt.Sprint(code), absent, "0", code == 0},
				summaryFigure{"scans with OCRmyPDF's layer: paragraphs that are one block of Markdown", formatRatio(sum.oneBlockShare()), absent, "", false})
		}
	}
	sec.tables = append(sec.tables, table)
	return nil
}

// countFalseCode counts the pieces of code in a document that has none.
func countFalseCode(truth *pagegen.Document, blocks []score.Block) int {
	if slices.ContainsFunc(truth.Blocks, func(b pagegen.Block) bool { return b.Kind == pagegen.KindCode }) {
		return 0
	}
	n := 0
	for _, b := range blocks {
		if b.Code {
			n++
		}
	}
	return n
}

// addPeerLayers appends the scans without a layer as OCRmyPDF makes them searchable, where it is installed.
func addPeerLayers(ctx context.Context, b *qualityRun, scans []*layeredScan) ([]*layeredScan, error) {
	if !b.peers.areInstalled("ocrmypdf") {
		return scans, nil
	}
	out := scans
	for _, s := range scans {
		if s.damage >= 0 {
			continue
		}
		made, err := b.peers.runOCRmyPDF(ctx, s.CorpusFile, s.truth.Language)
		if errors.Is(err, errPeer) {
			continue // a peer that fails has no layer to be read
		}
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(filepath.Join(made, "out.pdf"))
		if err != nil {
			return nil, err
		}
		layered, err := keepLayer(b, strings.TrimSuffix(filepath.Base(s.Path), ".pdf")+"-ocrmypdf.pdf", s.truth, data)
		if err != nil {
			return nil, err
		}
		layered.damage, layered.madeByPeer, layered.allArtifacts = -1, true, true
		out = append(out, layered)
	}
	return out, nil
}

// layerFigures is what came of the layers of one damage.
type layerFigures struct{ anew, f1 float64 }

func measureLayers(scans []*layeredScan, damage float64) (layerFigures, []string) {
	var pages, anew, kept int
	var agreement, layer, out, n float64
	for _, s := range scans {
		if s.damage != damage || s.madeByPeer {
			continue
		}
		n++
		text, _ := s.readArtifact("text.txt")
		var truth []string
		for _, block := range s.truth.Blocks {
			truth = append(truth, block.Text)
		}
		whole := strings.Join(truth, "\n")
		out += score.CompareTexts(whole, text, score.Options{Lenient: true}).F1
		layer += score.CompareTexts(whole, s.layer, score.Options{Lenient: true}).F1
		doc := s.parsedDocument()
		if doc == nil {
			continue
		}
		for _, p := range doc.Pages {
			pages++
			if p.Reason == "text_layer_disagrees" {
				anew++
			} else {
				kept++
				agreement += p.Quality
			}
		}
	}
	f := layerFigures{anew: float64(anew) / float64(max(1, pages)), f1: out / max(1, n)}
	return f, []string{fmt.Sprint(pages), formatRatio(f.anew), formatRatio(agreement / float64(max(1, kept))), formatRatio(layer / max(1, n)),
		formatRatio(f.f1)}
}

// makeLayeredScans makes every scan with every damage, and without a layer.
func (b *qualityRun) makeLayeredScans(ctx context.Context, seed uint64) ([]*layeredScan, error) {
	if err := os.MkdirAll(layerDir(b), 0o755); err != nil {
		return nil, err
	}
	var generator pagegen.Generator
	defer generator.Close()
	var scans []*layeredScan
	families := pagegen.Families()
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(families), func(i, j int) { families[i], families[j] = families[j], families[i] })
	for i := 0; len(scans) < layeredDocuments*(len(layerDamage)+1); i++ {
		made, err := generator.Make(ctx, families[i%len(families)], seed+uint64(i/len(families)))
		if err != nil {
			return nil, err
		}
		if !latinOne[made.Truth.Language] {
			continue
		}
		recipe := pagegen.PickRecipe(seed*37 + uint64(i))
		recipe.Warp = 0 // a layer that follows no warp is in the wrong place, and is rightly read again
		sheets, err := pagegen.MakeSheets(ctx, made, recipe)
		if err != nil {
			return nil, err
		}
		for _, damage := range append([]float64{-1}, layerDamage...) {
			s, err := b.keepLayeredScan(ctx, made, recipe, sheets, damage)
			if err != nil {
				return nil, err
			}
			scans = append(scans, s)
		}
	}
	return scans, nil
}

func (b *qualityRun) keepLayeredScan(ctx context.Context, made *pagegen.Made, recipe pagegen.ScanRecipe,
	sheets []pdftest.ScannedSheet, damage float64) (*layeredScan, error) {
	var layer []string
	if damage >= 0 {
		if err := pagegen.AddTextLayer(ctx, made, recipe, sheets, damage); err != nil {
			return nil, err
		}
		for _, sheet := range sheets {
			for _, w := range sheet.Layer {
				layer = append(layer, w.Text)
			}
		}
	}
	s, err := keepLayer(b, fmt.Sprintf("%s-%.0f.pdf", made.Truth.Name, 100*damage), made.Truth, pdftest.EncodeSheets(sheets))
	if err != nil {
		return nil, err
	}
	s.damage, s.layer = damage, strings.Join(layer, " ")
	s.allArtifacts = damage <= 0 // of the others the text alone is measured
	return s, nil
}

// keepLayer writes the file of a scan.
func keepLayer(b *qualityRun, name string, truth *pagegen.Document, data []byte) (*layeredScan, error) {
	path := filepath.Join(layerDir(b), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, err
	}
	digest := sha256.Sum256(data)
	f := pdftest.CorpusFile{Path: "layers/" + name, Abs: path, SHA256: hex.EncodeToString(digest[:]), Tags: []string{"lang-" + truth.Language}}
	return &layeredScan{sample: &sample{CorpusFile: f, dir: filepath.Join(b.artifacts, "layers", name)}, truth: truth}, nil
}

func layerDir(b *qualityRun) string { return filepath.Join(b.tempDir, "layers") }
