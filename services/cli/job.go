package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newGetCommand(a *app) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "get ID...",
		Short: "Show jobs",
		Long: `Show jobs. With --wait the answer comes when all of them have ended, or after that time; the exit code is then 3 unless every one
has SUCCEEDED.`,
		Example: `  inkstream get 01m7z3g43yb9atzzvtxpj2ph4p
  inkstream get 01m7z3g43yb9atzzvtxpj2ph4p --wait 30s -o json | jq .outcomes`,
		Args:              requireArgs(-1, "ID"),
		ValidArgsFunction: a.completeFrom(offerJobs()).withoutGiven,
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so long for the end, e.g. 30s")
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		waited, cancel := context.WithTimeout(cmd.Context(), wait)
		defer cancel()
		var jobs []*inkstreamv1.Job
		var failed error
		for _, id := range args {
			j, err := c.awaitJob(cmd.Context(), waited, id)
			if err != nil {
				err = explainError(err)
				if len(args) > 1 {
					err = fmt.Errorf("%s: %w", id, err)
				}
				failed = errors.Join(failed, err)
				continue
			}
			jobs = append(jobs, j)
		}
		if err := a.showJobs(*how, jobs, len(args) > 1); err != nil || failed != nil {
			return errors.Join(failed, err)
		}
		if len(args) == 1 && !how.isMachineReadable() {
			if err := a.showDoubts(cmd.Context(), c, jobs[0]); err != nil {
				return explainError(err)
			}
		}
		if wait > 0 && slices.ContainsFunc(jobs,
			func(j *inkstreamv1.Job) bool { return j.GetState() != inkstreamv1.Job_SUCCEEDED }) {
			return errSomeFailed
		}
		return nil
	})
	return cmd
}

// showDoubts prints on which pages of a job a vision model's text is in doubt, and how often.
func (a *app) showDoubts(ctx context.Context, c inkstreamv1.InkstreamServiceClient, j *inkstreamv1.Job) error {
	if engine := j.GetOptions().GetEngine(); engine == "" || engine == job.EngineTesseract {
		return nil // no model read any page
	}
	const most = 20 // pages
	var shown []string
	pages, doubts := 0, int32(0)
	for token := ""; ; {
		answer, err := c.ListPages(ctx, &inkstreamv1.ListPagesRequest{Id: j.GetId(), PageSize: 1000, PageToken: token})
		if err != nil {
			return err
		}
		for _, p := range answer.GetPages() {
			if p.GetDoubts() == 0 {
				continue
			}
			pages, doubts = pages+1, doubts+p.GetDoubts()
			if pages <= most {
				shown = append(shown, fmt.Sprintf("%d (%d)", p.GetNumber(), p.GetDoubts()))
			}
		}
		if token = answer.GetNextPageToken(); token == "" {
			break
		}
	}
	if pages == 0 {
		return nil
	}
	if pages > most {
		shown = append(shown, "…")
	}
	_, err := fmt.Fprintf(a.out, "doubts   %d on %s: %s\n", doubts, pluralize(pages, "page"), strings.Join(shown, ", "))
	return err
}

// awaitJob returns a job when it has ended, or as it is when waited is over.
func (c *client) awaitJob(ctx, waited context.Context, id string) (*inkstreamv1.Job, error) {
	if waited.Err() == nil {
		j, err := c.followJob(waited, id, func(*inkstreamv1.Job) {})
		if err == nil || waited.Err() == nil {
			return j, err
		}
	}
	return c.GetJob(ctx, &inkstreamv1.GetJobRequest{Id: id})
}

// showJobs prints one job in full, or several as a table.
func (s streams) showJobs(how outputFormat, jobs []*inkstreamv1.Job, several bool) error {
	switch {
	case len(jobs) == 0:
		return nil
	case several && !how.isMachineReadable():
		return s.printTable(how, jobTable(jobs, ""))
	case several:
		return s.printEncoded(how, protoMessages(jobs))
	case how.isMachineReadable():
		return s.printEncoded(how, jobs[0])
	}
	return s.printTable(how, detailTable(jobs[0], how == asWide))
}

func newWatchCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "watch ID...",
		Short:             "Follow jobs to their end; the exit code is 3 unless every one SUCCEEDED",
		Args:              requireArgs(-1, "ID"),
		ValidArgsFunction: a.completeFrom(offerJobs(inkstreamv1.Job_PENDING, inkstreamv1.Job_RUNNING)).withoutGiven,
	}
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		results := make([]uploadResult, len(args))
		e := &uploader{client: c, progress: newProgress(a.streams, len(args)), wait: true}
		err := e.forEachFile(cmd.Context(), len(args), func(ctx context.Context, i int) error {
			results[i] = uploadResult{path: args[i], job: &inkstreamv1.Job{Id: args[i]}}
			return e.awaitJob(ctx, e.progress.startFile(args[i], 0), &results[i])
		})
		e.progress.finishBars()
		if err != nil {
			return explainError(err)
		}
		var jobs []*inkstreamv1.Job
		for _, r := range results {
			jobs = append(jobs, r.job)
		}
		if err := a.showJobs(*how, jobs, len(args) > 1); err != nil {
			return err
		}
		return resultsError(results, true)
	})
	return cmd
}

func newTextCommand(a *app) *cobra.Command {
	var page int
	cmd := &cobra.Command{
		Use:               "text ID",
		Short:             "Print the text of a job; pages are set apart by form feeds",
		Args:              requireArgs(1, "ID"),
		ValidArgsFunction: completeFirstArg(a.completeFrom(offerJobs())),
	}
	cmd.Flags().IntVar(&page, "page", 0, "print this page alone")
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		out := a.out
		if isTerminal(out) {
			out = &controlFilter{w: out}
		}
		if !cmd.Flags().Changed("page") {
			return explainError(c.copyArtifact(cmd.Context(), args[0], "text.txt", out))
		}
		if page < 1 {
			return usageError{fmt.Errorf("--page %d: pages count from 1", page)}
		}
		r, w := io.Pipe()
		// A page that was read whole needs no more of the document.
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		go func() { w.CloseWithError(c.copyArtifact(ctx, args[0], "text.txt", w)) }()
		err := copyPage(r, out, page)
		_ = r.Close() // a pipe's never fails
		return explainError(err)
	})
	return cmd
}

// copyPage copies the n-th of the texts that form feeds set apart.
func copyPage(from io.Reader, to io.Writer, n int) error {
	pages := bufio.NewReaderSize(from, chunkSize)
	for at := 1; ; {
		piece, err := pages.ReadSlice('\f')
		end := err == nil
		if at == n {
			if _, werr := to.Write([]byte(strings.TrimSuffix(string(piece), "\f"))); werr != nil || end {
				return werr
			}
		}
		switch {
		case end:
			at++
		case errors.Is(err, bufio.ErrBufferFull): // the page goes on
		case errors.Is(err, io.EOF) && at < n:
			return fmt.Errorf("there is no page %d: the document has %s", n, pluralize(at, "page"))
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// controlFilter keeps what a document's text holds beside text from a terminal: the controls, be they of one byte or,
// as those above 0x7f are in UTF-8, of two.
type controlFilter struct {
	w           io.Writer
	pendingLead bool // the last byte was one that such a control may begin with
}

// Write implements io.Writer.
func (c *controlFilter) Write(p []byte) (int, error) {
	const lead = 0xc2
	out := make([]byte, 0, len(p)+1)
	for _, b := range p {
		if c.pendingLead {
			c.pendingLead = false
			if b >= 0x80 && b < 0xa0 {
				continue
			}
			out = append(out, lead)
		}
		switch {
		case b == lead:
			c.pendingLead = true
		case b < ' ' && b != '\n' && b != '\t' && b != '\f' || b == 0x7f:
		default:
			out = append(out, b)
		}
	}
	if _, err := c.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// detailTable shows a job line by line.
func detailTable(j *inkstreamv1.Job, wide bool) table {
	t := table{columns: []string{"", ""}, data: j}
	row := func(name, format string, args ...any) {
		t.rows = append(t.rows, []string{name, printableText(fmt.Sprintf(format, args...))})
	}
	row("id", "%s", j.GetId())
	t.rows = append(t.rows, []string{"state", j.GetState().String()})
	row("file", "%s (%s)", j.GetFilename(), formatBytes(int64(j.GetSizeBytes())))
	row("pages", "%d of %d%s", j.GetPagesDone(), j.GetPageCount(), formatOutcomes(j))
	row("created", "%s", formatTime(j.GetCreateTime()))
	if j.GetEndTime() != nil {
		row("took", "%s", jobDuration(j))
	}
	if j.GetRun() > 1 {
		row("run", "%d", j.GetRun())
	}
	if j.GetDuplicateOf() != "" {
		row("same as", "%s", j.GetDuplicateOf())
	}
	if len(j.GetLabels()) > 0 {
		row("labels", "%s", formatLabels(j.GetLabels()))
	}
	if j.GetBatch() != "" {
		row("batch", "%s", j.GetBatch())
	}
	for _, st := range j.GetStages() {
		row(st.GetName(), "%d done, %.2f s", st.GetUnitsDone(), st.GetBusySeconds())
	}
	if e := j.GetError(); e != nil {
		row("error", "%s: %s (%s)", e.GetCode(), e.GetMessage(), e.GetStage())
	}
	const most = 10
	for i, f := range j.GetFailures() {
		if i == most && !wide {
			row("", "and %d more failed pages", len(j.GetFailures())-i)
			break
		}
		row("failed", "page %d: %s", f.GetPage(), f.GetReason())
	}
	for _, f := range j.GetFindings() {
		row("finding", "%s", strings.TrimSpace(fmt.Sprintf("%s × %d (%s) %s", f.GetKind(), f.GetCount(), f.GetPolicy(),
			f.GetDetail())))
	}
	if wide {
		row("sha256", "%s", j.GetSha256())
		row("expires", "%s", formatTime(j.GetExpireTime()))
		row("title", "%s", dashIfEmpty(j.GetDocument().GetTitle()))
		row("producer", "%s", dashIfEmpty(j.GetDocument().GetProducer()))
		row("options", "%s", formatOptions(j.GetOptions()))
	}
	return t
}

// formatOptions writes the options that are set as the flags that set them: ocr=auto artifacts=text,json dedupe=true.
func formatOptions(o *inkstreamv1.JobOptions) string {
	var parts []string
	fields := o.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !o.ProtoReflect().Has(f) {
			continue
		}
		text := o.ProtoReflect().Get(f).String()
		switch v := o.ProtoReflect().Get(f).Interface().(type) {
		case protoreflect.List:
			var all []string
			for n := range v.Len() {
				all = append(all, v.Get(n).String())
			}
			text = strings.Join(all, ",")
		case protoreflect.Message:
			if d, ok := v.Interface().(*durationpb.Duration); ok {
				text = d.AsDuration().String()
			}
		}
		parts = append(parts, strings.ReplaceAll(string(f.Name()), "_", "-")+"="+text)
	}
	return dashIfEmpty(strings.Join(parts, " "))
}

// formatOutcomes returns ": 3 native_text, 1 ocr", or nothing while no page has ended.
func formatOutcomes(j *inkstreamv1.Job) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(j.GetOutcomes())) {
		if n := j.GetOutcomes()[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func formatBytes(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
