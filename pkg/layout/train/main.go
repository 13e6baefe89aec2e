// Command train learns what tells gutters between columns from gaps within a table, from generated documents whose
// contents are known (pkg/pdftest/pagegen), and writes the weights. It prints how many gutters of each family a model
// judges wrongly that has not seen the family.
//
//	go run ./pkg/layout/train -n 8 -seed 1000 -o gutter_model.json
//
// The weights in pkg/layout/gutter_model.json are to be replaced only by some that `make quality` shows to read better.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/layout/internal/boost"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest/pagegen"
	"inkstream.dev/pkg/sandbox"
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

func run(ctx context.Context, args []string) (err error) {
	fs := flag.NewFlagSet("train", flag.ContinueOnError)
	seed := fs.Uint64("seed", 1000, "the first document's `seed`; the others' follow")
	number := fs.Int("n", 4, "how many documents of each family")
	folds := fs.Int("folds", 5, "how many folds of families the measurement takes")
	out := fs.String("o", "", "`file` for the weights; none are written without it")
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
	var generator pagegen.Generator
	defer generator.Close()
	samples, begin := map[string][]boost.Sample{}, time.Now()
	for _, family := range pagegen.Families() {
		for i := range *number {
			made, err := generator.Make(ctx, family, *seed+uint64(i))
			if err != nil {
				return err
			}
			got, err := collectSamples(ctx, engine, made)
			if err != nil {
				return fmt.Errorf("%s: %w", made.Truth.Name, err)
			}
			samples[family.Name] = append(samples[family.Name], got...)
		}
	}
	fmt.Printf("read %d documents in %.0f s\n", *number*len(samples), time.Since(begin).Seconds())
	measureLeftOut(samples, *folds)
	if *out == "" {
		return nil
	}
	model := boost.Train(layout.GutterFeatureNames(), samplesOf(samples, pagegen.Families()), boost.DefaultSettings())
	data, err := json.Marshal(model)
	if err != nil {
		return err
	}
	return os.WriteFile(*out, data, 0o644)
}

// measureLeftOut prints how a model judges the gutters of families that it was not trained on.
func measureLeftOut(samples map[string][]boost.Sample, folds int) {
	wrong, all := 0, 0
	for _, fold := range pagegen.SplitFamilies(pagegen.Families(), folds) {
		model := boost.Train(layout.GutterFeatureNames(), samplesOf(samples, fold.Train), boost.DefaultSettings())
		for _, family := range fold.Test {
			count := 0
			for _, s := range samples[family.Name] {
				if (model.Probability(s.X) >= 0.5) != s.Positive {
					count++
				}
			}
			fmt.Printf("%-20s %4d of %5d gutters wrong\n", family.Name, count, len(samples[family.Name]))
			wrong, all = wrong+count, all+len(samples[family.Name])
		}
	}
	fmt.Printf("%-20s %4d of %5d gutters wrong\n", "all, left out", wrong, all)
}

func samplesOf(samples map[string][]boost.Sample, families []pagegen.Family) []boost.Sample {
	var all []boost.Sample
	for _, family := range families {
		all = append(all, samples[family.Name]...)
	}
	return all
}

// collectSamples reads a document and returns its gutters, of the pages as they are and of disturbed copies.
func collectSamples(ctx context.Context, engine *pdf.Engine, made *pagegen.Made) ([]boost.Sample, error) {
	file, err := os.CreateTemp("", "train-*.pdf")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(made.PDF); err != nil {
		return nil, err
	}
	doc, err := engine.OpenDocument(ctx, file, "")
	if err != nil {
		return nil, err
	}
	defer doc.Close()
	var all []boost.Sample
	for n := 1; n <= doc.Info().PageCount; n++ {
		for _, disturb := range disturbances {
			// Arranging a page changes it, so each copy is read again.
			read, err := doc.ReadPage(ctx, n, pdf.PageOptions{})
			if err != nil {
				return nil, err
			}
			page := read.Page
			blocks := labelWords(page, made.Truth, n)
			random := newRandom(made.Truth.Seed, n)
			all = append(all, judgeGutters(disturb.apply(page, random), blocks, disturb.weight)...)
		}
	}
	return all, nil
}
