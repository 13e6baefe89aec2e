// Command train learns what tells gutters between columns from gaps within a table, and tables from text that stands in
// rows, from generated documents whose contents are known (pkg/pdftest/pagegen), and writes the weights. It prints how many
// gutters and tables of each family a model judges wrongly that has not seen the family. Pages of a corpus whose contents
// are not known keep the answers that the present weights give.
//
//	go run ./pkg/layout/train -n 14 -seed 1000 -corpus FOLDER -o FOLDER
//
// The same documents give the same weights. It says by how much those differ in their answers from the weights in use,
// pkg/layout/gutter_model.json and table_model.json, which are to be replaced only by some that `make quality` shows to read
// better.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/layout/internal/boost"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest/pagegen"
	"inkstream.dev/pkg/sandbox"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func main() {
	sandbox.Main(pdf.Program())
	ctx, stop := lifecycle.SignalContext(context.Background())
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// learned is one of the models with what it learns from.
type learned struct {
	name     string
	features []string
	trees    int
	samples  map[string][]boost.Sample // by family
	corpus   []boost.Sample
}

func (l *learned) settings() boost.Settings {
	s := boost.DefaultSettings()
	s.Trees = l.trees
	return s
}

// trainer reads documents and gathers what the models learn from.
type trainer struct {
	engine          *pdf.Engine
	gutters, tables *learned
}

func run(ctx context.Context, args []string) (err error) {
	fs := flag.NewFlagSet("train", flag.ContinueOnError)
	seed := fs.Uint64("seed", 1000, "the first document's `seed`; the others' follow")
	number := fs.Int("n", 4, "how many documents of each family")
	folds := fs.Int("folds", 5, "how many folds of families the measurement takes")
	corpus := fs.String("corpus", "", "`folder` of PDFs whose pages keep the answers that the present weights give")
	out := fs.String("o", "", "`folder` for the weights; none are written without it")
	if err := fs.Parse(args); err != nil {
		return err
	}
	cfg := pdf.DefaultConfig()
	cfg.Workers = 1
	engine, err := pdf.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	t := trainer{engine: engine, gutters: &learned{name: "gutter", features: layout.GutterFeatureNames(), trees: 400,
		samples: map[string][]boost.Sample{}}, tables: &learned{name: "table", features: layout.TableFeatureNames(), trees: 200,
		samples: map[string][]boost.Sample{}}}
	if err := t.readGenerated(ctx, *seed, *number); err != nil {
		return err
	}
	if err := t.readCorpus(ctx, *corpus); err != nil {
		return err
	}
	for _, l := range []*learned{t.gutters, t.tables} {
		l.measureLeftOut(*folds)
		if err := l.learn(*out); err != nil {
			return err
		}
	}
	return nil
}

// learn learns from all samples, compares what comes of it with the weights in use, and writes it into a folder unless that
// is empty.
func (l *learned) learn(out string) error {
	all := append(samplesOf(l.samples, trainingFamilies()), l.corpus...)
	model := boost.Train(l.features, all, l.settings())
	data, err := json.Marshal(model)
	if err != nil {
		return err
	}
	used, err := os.ReadFile(filepath.Join("pkg", "layout", l.name+"_model.json"))
	if err != nil {
		return err
	}
	present, err := boost.Parse(used, l.features)
	if err != nil {
		return err
	}
	differ, wrong, wrongBefore := compareModels(model, present, all)
	fmt.Printf("%s: the weights are the same as those in use: %t; of %d samples %d are answered otherwise, %d wrongly, by those in use %d\n", l.name,
		bytes.Equal(bytes.TrimSpace(data), bytes.TrimSpace(used)), len(all), differ, wrong, wrongBefore)
	if out == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(out, l.name+"_model.json"), data, 0o644)
}

// compareModels returns how many samples two models answer differently, and how many each of them answers wrongly.
func compareModels(a, b *boost.Model, samples []boost.Sample) (differ, wrongOfA, wrongOfB int) {
	for _, s := range samples {
		ofA, ofB := a.Probability(s.X) >= 0.5, b.Probability(s.X) >= 0.5
		if ofA != ofB {
			differ++
		}
		if ofA != s.Positive {
			wrongOfA++
		}
		if ofB != s.Positive {
			wrongOfB++
		}
	}
	return differ, wrongOfA, wrongOfB
}

// readGenerated generates documents of all families and gathers their samples.
func (t *trainer) readGenerated(ctx context.Context, seed uint64, number int) error {
	var generator pagegen.Generator
	defer generator.Close()
	begin := time.Now()
	for _, family := range trainingFamilies() {
		for i := range number {
			made, err := generator.Make(ctx, family, seed+uint64(i))
			if err != nil {
				return err
			}
			if err := t.collectSamples(ctx, made); err != nil {
				return fmt.Errorf("%s: %w", made.Truth.Name, err)
			}
		}
	}
	fmt.Printf("read %d documents in %.0f s\n", number*len(trainingFamilies()), time.Since(begin).Seconds())
	return nil
}

// measureLeftOut prints how a model judges families that it was not trained on.
func (l *learned) measureLeftOut(folds int) {
	wrong, all := 0, 0
	for _, fold := range pagegen.SplitFamilies(trainingFamilies(), folds) {
		model := boost.Train(l.features, append(samplesOf(l.samples, fold.Train), l.corpus...), l.settings())
		for _, family := range fold.Test {
			count := 0
			for _, s := range l.samples[family.Name] {
				if (model.Probability(s.X) >= 0.5) != s.Positive {
					count++
				}
			}
			fmt.Printf("%-20s %4d of %5d %ss wrong\n", family.Name, count, len(l.samples[family.Name]), l.name)
			wrong, all = wrong+count, all+len(l.samples[family.Name])
		}
	}
	fmt.Printf("%-20s %4d of %5d %ss wrong\n", "all, left out", wrong, all, l.name)
}

// trainingFamilies returns the families of pages that are learnt from. Of those that LibreOffice sets it is not known where each
// word stands; they show how what was learnt does with another typesetter.
func trainingFamilies() []pagegen.Family {
	return slices.DeleteFunc(pagegen.Families(), func(f pagegen.Family) bool { return f.Typesetter == pagegen.LibreOffice })
}

func samplesOf(samples map[string][]boost.Sample, families []pagegen.Family) []boost.Sample {
	var all []boost.Sample
	for _, family := range families {
		all = append(all, samples[family.Name]...)
	}
	return all
}

// collectSamples reads a document and keeps its gutters and tables, of the pages as they are and of disturbed copies.
func (t *trainer) collectSamples(ctx context.Context, made *pagegen.Made) error {
	file, err := os.CreateTemp("", "train-*.pdf")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(made.PDF); err != nil {
		return err
	}
	family := made.Truth.Family
	return t.forEachPage(ctx, file, func(number int, read *inkstreamv1.Page) {
		for _, disturb := range disturbances {
			page := disturb.apply(proto.CloneOf(read), newRandom(made.Truth.Seed, number))
			for _, whole := range []bool{false, true} {
				copied := proto.CloneOf(page) // arranging a page changes it
				t.tables.samples[family] = append(t.tables.samples[family],
					judgeTables(copied, made.Truth, labelWords(copied, made.Truth, number), disturb.weight, whole)...)
			}
			t.gutters.samples[family] = append(t.gutters.samples[family],
				judgeGutters(page, made.Truth, labelWords(page, made.Truth, number), disturb.weight)...)
		}
	})
}

// forEachPage calls f for each page of a document.
func (t *trainer) forEachPage(ctx context.Context, file *os.File, f func(number int, page *inkstreamv1.Page)) error {
	doc, err := t.engine.OpenDocument(ctx, file, "")
	if err != nil {
		return err
	}
	defer doc.Close()
	for n := 1; n <= min(doc.Info().PageCount, maxDocumentPages); n++ {
		read, err := doc.ReadPage(ctx, n, pdf.PageOptions{})
		if err != nil {
			return err
		}
		f(n, read.Page)
	}
	return nil
}
