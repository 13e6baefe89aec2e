package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/quality"
)

// wantsJSON takes all files that the other measures take.
func wantsJSON(f pdftest.CorpusFile) bool {
	return wantsRecognition(f) || wantsNative(f) || wantsMarkdown(f) || wantsTables(f) || wantsSearchable(f) || wantsImages(f)
}

func scoreJSON(ctx context.Context, b *bench, samples []*sample) (section, error) {
	sec := section{how: "document.json of every job that ended with results, against the JSON Schema that is published beside the API."}
	data, err := os.ReadFile(b.schema)
	if errors.Is(err, fs.ErrNotExist) {
		sec.how += " Not measured: there is no schema in " + b.schema + "."
		sec.summary = []figure{{"valid document.json", "no schema", absent, "all", false}}
		return sec, nil
	}
	if err != nil {
		return section{}, err
	}
	schema, err := quality.ParseSchema(data)
	if err != nil {
		return section{}, err
	}
	wrong, err := each(ctx, b, samples, func(_ context.Context, s *sample) (error, error) {
		text, ok := s.read("document.json")
		switch {
		case ok:
			return schema.Validate([]byte(text)), nil
		case s.ended():
			return errors.New(absentArtifact + ": " + s.state), nil
		default:
			return nil, nil
		}
	})
	if err != nil {
		return section{}, err
	}
	t := table{title: "Documents that are not valid", columns: []string{"File", "What is wrong first"}}
	of, valid := 0, 0
	for i, s := range samples {
		if s.ended() {
			of++
		}
		switch {
		case wrong[i] != nil:
			t.add(s.Path, wrong[i].Error())
		case s.ended():
			valid++
		}
	}
	sec.summary = []figure{{"valid document.json", fmt.Sprintf("%d of %d", valid, of), absent, "all", valid == of}}
	if len(t.rows) > 0 {
		sec.tables = []table{t}
	}
	return sec, nil
}
