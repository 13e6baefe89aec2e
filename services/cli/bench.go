package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	documents, concurrency, pages int
	lane                          string
	keep                          bool
	options                       func() (*inkstreamv1.JobOptions, error)
	how                           *outputFormat
}

func newBenchCommand(a *app) *cobra.Command {
	f := &benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench [FILE|FOLDER|PATTERN...]",
		Short: "Measure how fast a server takes documents and works on them",
		Long: `Measure how fast a server takes documents and works on them: it sends documents, so many at a time, asks after each, and follows them to
their end. Without files it makes documents of text; with files it sends those in turn. No results of earlier jobs are taken over, and the
jobs are deleted at the end. The server's other work is measured with it, and slowed down by it.`,
		Example: `  inkstream bench
  inkstream bench --documents 500 --concurrency 20 --lane batch scans/ -o json`,
		ValidArgsFunction: completePDFs,
	}
	flags := cmd.Flags()
	flags.IntVar(&f.documents, "documents", 50, "how many documents are sent")
	flags.IntVar(&f.concurrency, "concurrency", 10, "how many are under way at once")
	flags.IntVar(&f.pages, "made-pages", 5, "pages of each document that is made")
	flags.StringVar(&f.lane, "lane", "", "interactive (the default) or batch")
	flags.BoolVar(&f.keep, "keep", false, "do not delete the jobs at the end")
	f.options = addOptionFlags(cmd, "dedupe")
	f.how = addOutputFlag(cmd)
	completeValues(cmd, "lane", "interactive", "batch")
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client,
		args []string) error {
		return a.runBench(cmd.Context(), c, args, f)
	})
	return cmd
}

// sample is one document of a bench.
type sample struct {
	upload, status, total time.Duration
	job                   *inkstreamv1.Job
}

func (a *app) runBench(ctx context.Context, c *client, args []string, f *benchFlags) error {
	if f.documents < 1 || f.concurrency < 1 || f.pages < 1 {
		return usageError{fmt.Errorf("bench: --documents, --concurrency and --made-pages: want 1 or more")}
	}
	opts, err := f.options()
	if err != nil {
		return usageError{err}
	}
	opts.Lane, opts.Dedupe = f.lane, new(bool)
	var files []inputFile
	if len(args) > 0 {
		if files, err = expandInputs(args); err != nil {
			return usageError{fmt.Errorf("bench: %w", err)}
		}
	}
	bars := newProgress(a.streams, f.documents)
	bars.withoutFileLines = true
	trials := make([]sample, f.documents)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(f.concurrency)
	start := time.Now()
	for i := range trials {
		g.Go(func() error {
			name := fmt.Sprintf("bench-%d.pdf", i+1)
			data := makeTextPDF(f.pages, i)
			if len(files) > 0 {
				var err error
				name = files[i%len(files)].path
				if data, err = os.ReadFile(name); err != nil {
					return err
				}
			}
			return trials[i].runDocument(gctx, c, bars, name, data, opts)
		})
	}
	err = g.Wait()
	took := time.Since(start)
	bars.finishBars()
	if !f.keep {
		deleteSampleJobs(context.WithoutCancel(ctx), c, trials)
	}
	if err != nil {
		return explainError(err)
	}
	return a.showBench(*f.how, trials, took)
}

// runDocument sends a document, asks after it and follows it.
func (t *sample) runDocument(ctx context.Context, c *client, bars *progress, name string, data []byte,
	opts *inkstreamv1.JobOptions) error {
	bar := bars.startFile(name, int64(len(data)))
	start := time.Now()
	j, err := c.uploadDocument(ctx, bytes.NewReader(data), &inkstreamv1.UploadMetadata{Filename: name, Options: opts},
		bar.addUploaded)
	if err != nil {
		return err
	}
	t.upload, t.job = time.Since(start), j
	asked := time.Now()
	if _, err := c.GetJob(ctx, &inkstreamv1.GetJobRequest{Id: j.GetId()}); err != nil {
		return err
	}
	t.status = time.Since(asked)
	if t.job, err = c.followJob(ctx, j.GetId(), bar.updateFromJob); err != nil {
		t.job = j
		return err
	}
	t.total = time.Since(start)
	bar.finishFile(&uploadResult{path: name, job: t.job})
	return nil
}

// deleteSampleJobs deletes what a bench has made. What cannot be deleted goes when its retention is over.
func deleteSampleJobs(ctx context.Context, c *client, trials []sample) {
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	slots := make(chan struct{}, maxInFlight)
	var wg sync.WaitGroup
	for _, t := range trials {
		if t.job != nil {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				_, _ = c.DeleteJob(ctx, &inkstreamv1.DeleteJobRequest{Id: t.job.GetId()}) // as the comment above says
			})
		}
	}
	wg.Wait()
}

// quantiles are the times of a bench, in milliseconds.
type quantiles struct {
	P50 float64 `json:"p50Ms"`
	P95 float64 `json:"p95Ms"`
	P99 float64 `json:"p99Ms"`
	Max float64 `json:"maxMs"`
}

func quantilesOf(trials []sample, of func(sample) time.Duration) quantiles {
	var all []time.Duration
	for _, t := range trials {
		all = append(all, of(t))
	}
	slices.Sort(all)
	at := func(q float64) float64 { return float64(all[int(q*float64(len(all)-1)+0.5)].Microseconds()) / 1000 }
	return quantiles{at(0.5), at(0.95), at(0.99), at(1)}
}

func (s streams) showBench(how outputFormat, trials []sample, took time.Duration) error {
	pages, fine := 0, 0
	for _, t := range trials {
		pages += int(t.job.GetPageCount())
		if t.job.GetState() == inkstreamv1.Job_SUCCEEDED {
			fine++
		}
	}
	report := struct {
		Documents int       `json:"documents"`
		Succeeded int       `json:"succeeded"`
		Pages     int       `json:"pages"`
		Seconds   float64   `json:"seconds"`
		PagesPerS float64   `json:"pagesPerSecond"`
		Upload    quantiles `json:"upload"`
		Status    quantiles `json:"status"`
		Whole     quantiles `json:"whole"`
	}{
		len(trials), fine, pages, took.Seconds(), float64(pages) / took.Seconds(),
		quantilesOf(trials, func(t sample) time.Duration { return t.upload }),
		quantilesOf(trials, func(t sample) time.Duration { return t.status }),
		quantilesOf(trials, func(t sample) time.Duration { return t.total }),
	}
	t := table{columns: []string{"WHAT", "P50", "P95", "P99", "MOST"}, data: report}
	ms := func(v float64) string { return fmt.Sprintf("%.1f ms", v) }
	for _, r := range []struct {
		what string
		q    quantiles
	}{{"upload, to the job's id", report.Upload}, {"status", report.Status}, {"whole document", report.Whole}} {
		t.rows = append(t.rows, []string{r.what, ms(r.q.P50), ms(r.q.P95), ms(r.q.P99), ms(r.q.Max)})
	}
	if err := s.printTable(how, t); err != nil {
		return err
	}
	if !how.isMachineReadable() {
		fmt.Fprintf(s.out, "\n%s of %d succeeded, %s in %s: %.1f pages/s\n", pluralize(fine, "document"), len(trials),
			pluralize(pages, "page"), formatDuration(took),
			report.PagesPerS)
	}
	if fine < len(trials) {
		return errSomeFailed
	}
	return nil
}

// makeTextPDF returns a document of text, different for each n.
func makeTextPDF(pages, n int) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), fmt.Sprintf(format, args...))
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	kids := ""
	for p := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+2*p)
	}
	object("<< /Type /Pages /Count %d /Kids [ %s] >>", pages, kids)
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	const lines = 40
	for p := range pages {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>", 5+2*p)
		text := "BT /F 11 Tf 60 780 Td 16 TL\n"
		for l := range lines {
			text += fmt.Sprintf("(Document %d, page %d, line %d: measured once, written down, and never read again.) Tj T*\n",
				n+1, p+1, l+1)
		}
		text += "ET"
		object("<< /Length %d >>\nstream\n%s\nendstream", len(text), text)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}
