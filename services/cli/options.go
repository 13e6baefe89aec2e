package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// optionFlags adds the flags of a job's options, and returns what reads them once they are parsed. Flags that are not given leave the choice to
// the server.
func optionFlags(cmd *cobra.Command) func() (*inkstreamv1.JobOptions, error) {
	f := cmd.Flags()
	o := &inkstreamv1.JobOptions{}
	f.StringVar(&o.Languages, "languages", "", "languages to recognise, e.g. eng+deu, or auto")
	f.StringVar(&o.Ocr, "ocr", "", "auto (the default), force, skip or redo")
	f.StringVar(&o.Pages, "pages", "", "pages to process, e.g. 1-3,7,12-")
	deskew := f.Bool("deskew", true, "straighten skewed scans")
	f.StringVar(&o.Rotate, "rotate", "", "auto (the default): turn scans upright; off")
	f.StringSliceVar(&o.Artifacts, "artifacts", nil,
		"what to make, comma-separated: text, json, markdown, tables, images, searchable_pdf, layout_pdf, hocr, alto, metadata, chunks, or all")
	tables := f.Bool("tables", true, "find tables")
	f.BoolVar(&o.AllowSignatureInvalidation, "allow-signature-invalidation", false, "make searchable.pdf although that breaks signatures")
	f.Int32Var(&o.ChunkWords, "chunk-words", 0, "words of a passage in chunks.jsonl, 50 to 2000; 0 for the server's choice")
	dedupe := f.Bool("dedupe", true, "take over the results of an earlier job with the same bytes and options")
	documentTimeout := f.Duration("document-timeout", 0, "how long a document may take, up to the server's limit")
	pageTimeout := f.Duration("page-timeout", 0, "how long an engine may take over a page, up to the server's limit")
	stallTimeout := f.Duration("stall-timeout", 0, "how long a job may go on without moving, up to the server's limit")
	retention := f.Duration("retention", 0, "how long results are kept, e.g. 720h; 0 for ever; without it, as long as the server keeps them")
	passwordFile := f.String("password-file", "", "`file` with the document's password, which may end with a line feed")
	return func() (*inkstreamv1.JobOptions, error) {
		for name, b := range map[string]struct{ given, into **bool }{
			"deskew": {&deskew, &o.Deskew}, "tables": {&tables, &o.Tables}, "dedupe": {&dedupe, &o.Dedupe},
		} {
			if f.Changed(name) {
				*b.into = *b.given
			}
		}
		for name, d := range map[string]struct {
			given time.Duration
			into  **durationpb.Duration
		}{
			"document-timeout": {*documentTimeout, &o.DocumentTimeout}, "page-timeout": {*pageTimeout, &o.PageTimeout},
			"stall-timeout": {*stallTimeout, &o.StallTimeout}, "retention": {*retention, &o.Retention},
		} {
			if f.Changed(name) {
				*d.into = durationpb.New(d.given)
			}
		}
		if *passwordFile != "" {
			// A flag would show in the list of processes and stay in the shell's history.
			data, err := os.ReadFile(*passwordFile)
			if err != nil {
				return nil, fmt.Errorf("--password-file: %w", err)
			}
			o.Password = strings.TrimRight(string(data), "\r\n")
		}
		return o, nil
	}
}
