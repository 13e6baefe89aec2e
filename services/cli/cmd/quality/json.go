package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// wantsJSON takes all files that the other measures take.
func wantsJSON(f pdftest.CorpusFile) bool {
	return wantsRecognition(f) || wantsNative(f) || wantsMarkdown(f) || wantsTables(f) || wantsSearchable(f) ||
		wantsImages(f)
}

func scoreJSON(ctx context.Context, b *qualityRun, samples []*sample) (section, error) {
	sec := section{method: "document.json of every job that ended with results, against the JSON Schema that is published beside the API."}
	data, err := os.ReadFile(b.schema)
	if errors.Is(err, fs.ErrNotExist) {
		sec.method += " Not measured: there is no schema in " + b.schema + "."
		sec.summary = []summaryFigure{{"valid document.json", "no schema", absent, "all", false}}
		return sec, nil
	}
	if err != nil {
		return section{}, err
	}
	schema, err := score.ParseSchema(data)
	if err != nil {
		return section{}, err
	}
	wrong, err := forEachSample(ctx, b, samples, func(_ context.Context, s *sample) (error, error) {
		text, ok := s.readArtifact("document.json")
		switch {
		case ok:
			return schema.Validate([]byte(text)), nil
		case s.endedWithResults():
			return errors.New(absentArtifact + ": " + s.state), nil
		default:
			return nil, nil
		}
	})
	if err != nil {
		return section{}, err
	}
	t := reportTable{title: "Documents that are not valid", columns: []string{"File", "What is wrong first"}}
	of, valid := 0, 0
	for i, s := range samples {
		if s.endedWithResults() {
			of++
		}
		switch {
		case wrong[i] != nil:
			t.addRow(s.Path, wrong[i].Error())
		case s.endedWithResults():
			valid++
		}
	}
	sec.summary = []summaryFigure{{"valid document.json", fmt.Sprintf("%d of %d", valid, of), absent, "all", valid == of}}
	if len(t.rows) > 0 {
		sec.tables = []reportTable{t}
	}
	return sec, nil
}
