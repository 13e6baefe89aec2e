package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// submitFlags are the flags of submit.
type submitFlags struct {
	wait, quiet        bool
	key, lane, webhook string
	batch              string
	watch, fetch       string
	labels             []string
	how                *outputFormat
	options            func() (*inkstreamv1.JobOptions, error)
}

func newSubmitCommand(a *app) *cobra.Command {
	f := &submitFlags{}
	cmd := &cobra.Command{
		Use:   "submit FILE|FOLDER|PATTERN...",
		Short: "Upload documents to a server",
		Long: `Upload documents to a server, and print each job's id. Folders are searched for *.pdf; a pattern such as 'scans/**/*.pdf' in quotes is
looked up by inkstream itself.

With --wait the command stays until every job has ended; a server that is too busy is asked again when it says, and one that goes away
is waited for two minutes. A file that is sent again is the same job. With --watch the command stays for good and takes every PDF that
is put into the folder: see below.

` + watchHelp + `

` + exitHelp,
		Example: `  inkstream submit scan.pdf
  inkstream submit --wait --languages deu+eng --label project=atlas scans/
  id=$(inkstream submit -q scan.pdf)
  inkstream submit --wait -d out 'scans/**/*.pdf'
  inkstream submit --watch inbox`,
		ValidArgsFunction: completePDFs,
	}
	cmd.Args = requireFiles(&f.watch)
	flags := cmd.Flags()
	flags.BoolVar(&f.wait, "wait", false, "wait until every job has ended")
	flags.StringVarP(&f.fetch, "dir", "d", "",
		"with --wait: fetch what the jobs yield into this `folder`, one folder for each file")
	flags.StringVar(&f.watch, "watch", "", "take the files that are put into this `folder`, until Ctrl-C")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print ids alone")
	flags.StringVar(&f.key, "idempotency-key", "", "answer the same job for the same key; one file only")
	flags.StringVar(&f.lane, "lane", "", "interactive (the default) or batch")
	flags.StringArrayVar(&f.labels, "label", nil, "give the jobs this `key=value`; may be repeated")
	flags.StringVar(&f.batch, "batch", "", "put the jobs into this batch, a ULID as `id`; several files are one of their own otherwise")
	flags.StringVar(&f.webhook, "webhook", "", "`URL` that is told when a job ends")
	f.options = addOptionFlags(cmd)
	f.how = addOutputFlag(cmd)
	completeValues(cmd, "lane", "interactive", "batch")
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client,
		args []string) error {
		return a.submitInputs(cmd, c, args, f)
	})
	return cmd
}

func (a *app) submitInputs(cmd *cobra.Command, c *client, args []string, f *submitFlags) error {
	opts, err := f.options()
	if err != nil {
		return usageError{err}
	}
	opts.Lane = f.lane
	labels, err := parseLabels(f.labels)
	if err != nil {
		return err
	}
	if _, err := job.ParseID(f.batch); err != nil && f.batch != "" {
		return usageError{fmt.Errorf("submit: --batch: %q, want a ULID: 26 letters and digits", f.batch)}
	}
	meta := &inkstreamv1.UploadMetadata{IdempotencyKey: f.key, Options: opts, Labels: labels, WebhookUrl: f.webhook, Batch: f.batch}
	switch {
	case f.watch != "" && (f.wait || f.key != "" || f.fetch != ""):
		return usageError{errors.New("submit: --watch goes without --wait, -d and --idempotency-key")}
	case f.watch != "":
		return a.watchFolder(cmd.Context(), c, f.watch, "", meta)
	case f.fetch != "" && !f.wait:
		return usageError{errors.New("submit: -d goes with --wait")}
	}
	files, err := expandInputs(args)
	if err != nil {
		return usageError{fmt.Errorf("submit: %w", err)}
	}
	if f.key != "" && len(files) > 1 {
		return usageError{fmt.Errorf("--idempotency-key goes with one file, not %d", len(files))}
	}
	if meta.GetBatch() == "" && len(files) > 1 {
		meta.Batch = string(job.NewID())
	}
	return a.submitFiles(cmd.Context(), c, files, meta, f)
}

func (a *app) submitFiles(ctx context.Context, c *client, files []inputFile, meta *inkstreamv1.UploadMetadata,
	f *submitFlags) error {
	waits := 0 // without waiting, a progress is worth its place only where there is much to send
	if f.wait || len(files) > maxUploads {
		waits = len(files)
	}
	e := &uploader{client: c, progress: newProgress(a.streams, waits), meta: meta, wait: f.wait}
	if f.fetch != "" {
		e.artifactFolder = func(i int) string { return filepath.Join(f.fetch, files[i].folder) }
	}
	// Between bars that are being drawn, ids have no place: they come at the end, or in the table.
	drawn := e.progress.bars != nil && isTerminal(a.out)
	var held strings.Builder
	ids := &orderedPrinter{lines: make([]string, len(files)), print: func(line string) { fmt.Fprint(a.out, line) }}
	if drawn {
		ids.print = func(line string) { held.WriteString(line) }
	}
	if !f.how.isMachineReadable() && (f.quiet || !f.wait || !drawn) {
		e.onAccepted = func(i int, r *uploadResult) { ids.putLine(i, a.submittedIDLine(r, f.quiet, e.progress)) }
	}
	results, err := e.uploadFiles(ctx, files)
	e.progress.finishBars()
	fmt.Fprint(a.out, held.String())
	if meta.GetBatch() != "" && !f.quiet && !f.how.isMachineReadable() {
		fmt.Fprintf(a.err, "They are the batch %s: 'inkstream list --batch %[1]s' shows it.\n", meta.GetBatch())
	}
	if ctx.Err() != nil && f.wait {
		fmt.Fprintln(a.err, "What the server has taken goes on there; 'inkstream list' shows it.")
	}
	if err != nil {
		return explainError(err)
	}
	switch {
	case f.how.isMachineReadable():
		all, err := fileOutcomes(results)
		if err != nil {
			return err
		}
		if err := a.printEncoded(*f.how, all); err != nil {
			return err
		}
	case f.wait && !f.quiet:
		if err := a.printSummary(*f.how, results); err != nil {
			return err
		}
	}
	return resultsError(results, f.wait)
}

// submittedIDLine is what is printed of a file that was sent; of one that became no job nothing, for that is told as
// an error.
func (s streams) submittedIDLine(r *uploadResult, quiet bool, bars *progress) string {
	switch {
	case r.err != nil && bars.bars != nil:
		return "" // said above the bars
	case r.err != nil:
		fmt.Fprintf(s.err, "%s: %v\n", printableText(r.path), explainError(r.err))
		return ""
	case quiet:
		return r.job.GetId() + "\n"
	default:
		return fmt.Sprintf("%s  %s\n", r.job.GetId(), printableText(r.path))
	}
}

// orderedPrinter prints lines in the order of their numbers, as soon as those before are there.
type orderedPrinter struct {
	print func(string)

	mu    sync.Mutex // guards all below
	lines []string
	ready []bool
	next  int
}

func (o *orderedPrinter) putLine(i int, line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ready == nil {
		o.ready = make([]bool, len(o.lines))
	}
	o.lines[i], o.ready[i] = line, true
	for o.next < len(o.lines) && o.ready[o.next] {
		o.print(o.lines[o.next])
		o.next++
	}
}
