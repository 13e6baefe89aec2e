package main

import (
	"context"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/layout/internal/boost"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// maxDocumentPages is how many pages of a document are learnt from, maxCorpusBytes how large a file of the corpus is.
	maxDocumentPages, maxCorpusBytes = 12, 3 << 20
	// The weights of a page of the corpus, whose labels are what was answered before.
	gutterCorpusWeight, tableCorpusWeight = 4, 8
)

// readCorpus keeps the answers that the models give on the pages of a folder of PDFs. Files that cannot be read are left
// out. Gutters beside a single line are too: what the models say of those is what is to be learnt.
func (t *trainer) readCorpus(ctx context.Context, folder string) error {
	if folder == "" {
		return nil
	}
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".pdf" {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() > maxCorpusBytes {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_ = t.forEachPage(ctx, file, func(_ int, page *inkstreamv1.Page) { t.keepAnswers(page) }) // a broken file teaches nothing
		return ctx.Err()
	})
}

func (t *trainer) keepAnswers(page *inkstreamv1.Page) {
	var gutters, tables []boost.Sample
	layout.ArrangeJudged(page, layout.Judge{
		Gutter: func(s layout.GutterSample) bool {
			if len(s.Left) > 1 {
				gutters = append(gutters, boost.Sample{X: s.Features, Positive: s.Column})
			}
			return s.Column
		},
		Table: func(s layout.TableSample) bool {
			tables = append(tables, boost.Sample{X: s.Features, Positive: s.Table})
			return s.Table
		},
	})
	t.gutters.corpus = append(t.gutters.corpus, weigh(gutters, gutterCorpusWeight)...)
	t.tables.corpus = append(t.tables.corpus, weigh(tables, tableCorpusWeight)...)
}

// weigh lets the samples of a page share its weight, so that pages with many do not outweigh the others.
func weigh(samples []boost.Sample, weight float64) []boost.Sample {
	for i := range samples {
		samples[i].Weight = weight / math.Sqrt(float64(len(samples)))
	}
	return samples
}
