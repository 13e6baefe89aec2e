package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newSubmit(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit FILE...",
		Short: "Upload documents to a server",
		Args:  usageArgs(cobra.MinimumNArgs(1)),
	}
	server := serverFlag(cmd, s)
	wait := cmd.Flags().Bool("wait", false, "wait until every job has ended")
	key := cmd.Flags().String("idempotency-key", "", "answer the same job for the same key; one file only")
	lane := cmd.Flags().String("lane", "", "interactive (the default) or batch")
	languages := cmd.Flags().String("languages", "", "languages to recognise, e.g. eng+deu")
	documentTimeout := cmd.Flags().Duration("document-timeout", 0, "how long a document may take, up to the server's limit")
	pageTimeout := cmd.Flags().Duration("page-timeout", 0, "how long an engine may take over a page, up to the server's limit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *key != "" && len(args) > 1 {
			return usageError{fmt.Errorf("--idempotency-key goes with one file, not %d", len(args))}
		}
		c, err := dial(*server)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		meta := func() *inkstreamv1.UploadMetadata {
			opts := &inkstreamv1.JobOptions{Lane: *lane, Languages: *languages}
			if *documentTimeout != 0 {
				opts.DocumentTimeout = durationpb.New(*documentTimeout)
			}
			if *pageTimeout != 0 {
				opts.PageTimeout = durationpb.New(*pageTimeout)
			}
			return &inkstreamv1.UploadMetadata{IdempotencyKey: *key, Options: opts}
		}
		results, err := submitAll(cmd.Context(), s, c, args, meta)
		if err != nil {
			return err
		}
		if *wait {
			if err := waitAll(cmd.Context(), s, c, results); err != nil {
				return err
			}
			printSummary(s.out, results)
		}
		return verdict(results, *wait)
	}
	return cmd
}

// result is what became of one file.
type result struct {
	path string
	job  *inkstreamv1.Job
	err  error // why it became no job
}

// submitAll uploads files one after the other and prints each job's id. An upload that the server refuses is the file's result; a server
// that does not answer is an error.
func submitAll(
	ctx context.Context, s streams, c *client, paths []string, meta func() *inkstreamv1.UploadMetadata,
) ([]result, error) {
	var results []result
	for _, path := range paths {
		j, err := c.upload(ctx, path, meta())
		if status.Code(err) == codes.Unavailable || ctx.Err() != nil {
			return nil, explain(err)
		}
		if err != nil {
			fmt.Fprintf(s.err, "%s: %v\n", path, explain(err))
		} else {
			fmt.Fprintf(s.out, "%s  %s\n", j.GetId(), path)
		}
		results = append(results, result{path: path, job: j, err: err})
	}
	return results, nil
}

func waitAll(ctx context.Context, s streams, c *client, results []result) error {
	bar := newProgress(s.err)
	bar.expect(len(results))
	defer bar.finish()
	for i := range results {
		if results[i].err != nil {
			bar.refused()
			continue
		}
		j, err := c.follow(ctx, results[i].job.GetId(), func(j *inkstreamv1.Job) { bar.set(j.GetId(), j) })
		if err != nil {
			return explain(err)
		}
		results[i].job = j
	}
	return nil
}

// verdict returns errSome unless every file became a job, and, where they were waited for, every job succeeded.
func verdict(results []result, waited bool) error {
	for _, r := range results {
		if r.err != nil || waited && r.job.GetState() != inkstreamv1.Job_SUCCEEDED {
			return errSome
		}
	}
	return nil
}

func printSummary(w io.Writer, results []result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FILE\tSTATE\tPAGES\tOUTCOMES\tSECONDS\tREASON")
	for _, r := range results {
		if r.err != nil {
			fmt.Fprintf(t, "%s\tREFUSED\t-\t-\t-\t%v\n", r.path, explain(r.err))
			continue
		}
		j := r.job
		reason := "-"
		switch e, failed := j.GetError(), j.GetFailures(); {
		case e != nil:
			reason = e.GetCode() + ": " + e.GetMessage()
		case len(failed) > 0:
			reason = fmt.Sprintf("page %d: %s", failed[0].GetPage(), failed[0].GetReason())
			if len(failed) > 1 {
				reason += fmt.Sprintf(" and %d more", len(failed)-1)
			}
		}
		kinds := "-"
		if o := outcomes(j); o != "" {
			kinds = o[2:]
		}
		took := j.GetEndTime().AsTime().Sub(j.GetCreateTime().AsTime()).Seconds()
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%.2f\t%s\n", r.path, j.GetState(), j.GetPageCount(), kinds, took, reason)
	}
	_ = t.Flush() // the terminal is gone: there is nobody to tell
}
