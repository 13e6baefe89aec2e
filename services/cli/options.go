package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// durationFlag is a length of time that a flag takes: 90s, 36h, 30d, 2w.
type durationFlag time.Duration

// String returns the length.
func (l *durationFlag) String() string { return time.Duration(*l).String() }

// Type names the values in help.
func (l *durationFlag) Type() string { return "time" }

// Set reads a length.
func (l *durationFlag) Set(text string) error {
	d, err := parseLongDuration(text)
	if err != nil {
		return errors.New("want a length of time such as 90s, 36h or 30d")
	}
	*l = durationFlag(d)
	return nil
}

// addOptionFlags adds the flags of a job's options but those that mean nothing to the command, and has them
// completed. What it returns reads them once they are parsed. Flags that are not given leave the choice to the
// server.
func addOptionFlags(cmd *cobra.Command, but ...string) func() (*inkstreamv1.JobOptions, error) {
	f := pflag.NewFlagSet("options", pflag.ContinueOnError)
	o := &inkstreamv1.JobOptions{}
	f.StringVar(&o.Languages, "languages", "", "languages to recognise, e.g. eng+deu, or auto")
	f.StringVar(&o.Ocr, "ocr", "", "auto (the default), force, skip or redo")
	f.StringVar(&o.Pages, "pages", "", "pages to process, e.g. 1-3,7,12-")
	deskew := f.Bool("deskew", true, "straighten skewed scans")
	f.StringVar(&o.Rotate, "rotate", "", "auto (the default): turn scans upright; off")
	f.StringVar(&o.Engine, "engine", "", "tesseract (the default); vision or auto: a vision model too, which pictures are sent to")
	f.StringSliceVar(&o.Artifacts, "artifacts", nil,
		"what to make, comma-separated: "+strings.Join(listArtifacts(), ", ")+", or all")
	tables := f.Bool("tables", true, "find tables")
	f.BoolVar(&o.RawCsv, "raw-csv", false, "write cells of tables as they are, also those that a spreadsheet would run")
	f.BoolVar(&o.LeanJson, "lean-json", false, "leave the boxes of words out of document.json")
	f.BoolVar(&o.AllowSignatureInvalidation, "allow-signature-invalidation", false, "make searchable.pdf although that breaks signatures")
	f.Int32Var(&o.ChunkWords, "chunk-words", 0,
		"words of a passage in chunks.jsonl, 50 to 2000; 0 for the server's choice")
	dedupe := f.Bool("dedupe", true, "take over the results of an earlier job with the same bytes and options")
	var documentTimeout, pageTimeout, stallTimeout, retention durationFlag
	f.Var(&documentTimeout, "document-timeout", "how long a document may take, up to the server's limit, e.g. 30m")
	f.Var(&pageTimeout, "page-timeout", "how long an engine may take over a page, up to the server's limit, e.g. 90s")
	f.Var(&stallTimeout, "stall-timeout", "how long a job may go on without moving, up to the server's limit")
	f.Var(&retention, "retention", "how long results are kept, e.g. 30d; 0 for ever; without it, the server's choice")
	passwordFile := f.String("password-file", "", "`file` with the document's password, which may end with a line feed")
	f.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(but, flag.Name) {
			cmd.Flags().AddFlag(flag)
		}
	})
	completeValues(cmd, "ocr", "auto", "force", "skip", "redo")
	completeValues(cmd, "rotate", "auto", "off")
	completeValues(cmd, "engine", job.AllEngines()...)
	completeValues(cmd, "artifacts", append([]string{"all"}, listArtifacts()...)...)
	return func() (*inkstreamv1.JobOptions, error) {
		for name, b := range map[string]struct{ given, into **bool }{
			"deskew": {&deskew, &o.Deskew}, "tables": {&tables, &o.Tables}, "dedupe": {&dedupe, &o.Dedupe},
		} {
			if f.Changed(name) {
				*b.into = *b.given
			}
		}
		for name, d := range map[string]struct {
			given durationFlag
			into  **durationpb.Duration
		}{
			"document-timeout": {documentTimeout, &o.DocumentTimeout}, "page-timeout": {pageTimeout, &o.PageTimeout},
			"stall-timeout": {stallTimeout, &o.StallTimeout}, "retention": {retention, &o.Retention},
		} {
			if f.Changed(name) {
				*d.into = durationpb.New(time.Duration(d.given))
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

// listArtifacts returns the kinds of artifacts that there are.
func listArtifacts() []string {
	var names []string
	for _, a := range job.AllArtifacts() {
		names = append(names, string(a))
	}
	return names
}
