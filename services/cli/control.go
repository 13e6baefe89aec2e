package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// newEachCommand returns a command that does one thing to each of what is named. It goes on after an error, and
// returns the first.
func (a *app) newEachCommand(
	use, short string, complete completer, do func(cmd *cobra.Command, c *client, id string) (string, error),
) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: requireArgs(-1, "ID"), ValidArgsFunction: complete.withoutGiven}
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client,
		args []string) error {
		return a.runForEach(cmd, c, args, do)
	})
	return cmd
}

func (a *app) runForEach(cmd *cobra.Command, c *client, ids []string,
	do func(cmd *cobra.Command, c *client, id string) (string, error)) error {
	var failed error
	for _, id := range ids {
		said, err := do(cmd, c, id)
		switch {
		case err == nil:
			fmt.Fprintln(a.out, said)
		case failed == nil:
			failed = fmt.Errorf("%s: %w", id, explainError(err))
		default:
			fmt.Fprintf(a.err, "inkstream: %s: %v\n", id, explainError(err))
		}
	}
	return failed
}

// bulkAction is something that is done to jobs: to those that are named, or to all that a filter selects.
type bulkAction struct {
	use, verb, pastTense, short, long, example string
	one                                        func(cmd *cobra.Command, c *client, id string) (string, error)
	all                                        func(ctx context.Context, c *client,
		req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error)
	// states are those that are worth completing.
	states []inkstreamv1.Job_State
}

// redoFlags say which pages a retry does beside those without a result.
type redoFlags struct{ all, doubts bool }

// jobsCommand makes a command of it.
func (a *app) jobsCommand(b bulkAction) (*cobra.Command, *redoFlags) {
	var f filterFlags
	var yes, dryRun bool
	var redo redoFlags
	cmd := &cobra.Command{
		Use: b.use, Short: b.short, Example: b.example, ValidArgsFunction: a.completeFrom(offerJobs(b.states...)).withoutGiven,
		Long: b.short + ".\n\n" + b.long +
			"Jobs are named by their ids, or selected by --state, --filename, --label, --since, --until and --batch; then they are counted first, " +
			"and\n--yes confirms.",
	}
	f.registerFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask before it is done to all that the filter selects")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only list what the filter selects")
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		filter, err := f.buildFilter(time.Now())
		if err != nil {
			return err
		}
		switch {
		case len(args) > 0 && (!selectsAllJobs(filter) || dryRun):
			return usageError{fmt.Errorf("%s: name jobs, or select them by a filter, not both", cmd.Name())}
		case len(args) > 0:
			return a.runForEach(cmd, c, args, b.one)
		case selectsAllJobs(filter):
			return usageError{fmt.Errorf("%s: ID is missing, or a filter such as --state; usage: %s", cmd.Name(), cmd.UseLine())}
		}
		jobs, _, err := c.listJobs(cmd.Context(), filter, 0, true)
		if err != nil {
			return explainError(err)
		}
		if dryRun || len(jobs) == 0 {
			return a.printTable(asTable, jobTable(jobs, "No job is like that."))
		}
		if !yes {
			if err := a.askConfirmation(fmt.Sprintf("%s %s", b.verb, pluralize(len(jobs), "job"))); err != nil {
				return err
			}
		}
		res, err := b.all(cmd.Context(), c, &inkstreamv1.BatchJobsRequest{Filter: filter, All: redo.all, Doubts: redo.doubts})
		if err != nil {
			return explainError(err)
		}
		fmt.Fprintf(a.out, "%s %s", pluralize(int(res.GetDone()), "job"), b.pastTense)
		if n := res.GetSkipped(); n > 0 {
			fmt.Fprintf(a.out, "; %d were in no state for it", n)
		}
		fmt.Fprintln(a.out)
		return nil
	})
	return cmd, &redo
}

func pluralize(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// askConfirmation asks the user at the terminal. Without a terminal it returns an error that asks for --yes.
func (a *app) askConfirmation(what string) error {
	in, ok := a.in.(*os.File)
	if !ok || !isatty.IsTerminal(in.Fd()) {
		return usageError{fmt.Errorf("this would %s: say --yes to have it done, or --dry-run to see which", what)}
	}
	fmt.Fprintf(a.err, "%s%s? [y/N] ", strings.ToUpper(what[:1]), what[1:])
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}

func newCancelCommand(a *app) *cobra.Command {
	cmd, _ := a.jobsCommand(bulkAction{
		use: "cancel ID...", verb: "cancel", pastTense: "cancelled", short: "End jobs that have not ended",
		long:    "What is queued of a job is dropped at once, and what is under way stops within seconds. Results of an earlier run stay.\n\n",
		example: "  inkstream cancel 01m7z3g43yb9atzzvtxpj2ph4p\n  inkstream cancel --state pending,running --label project=atlas --yes",
		states:  []inkstreamv1.Job_State{inkstreamv1.Job_PENDING, inkstreamv1.Job_RUNNING},
		one: func(cmd *cobra.Command, c *client, id string) (string, error) {
			j, err := c.CancelJob(cmd.Context(), &inkstreamv1.CancelJobRequest{Id: id})
			return jobStatusLine(j), err
		},
		all: func(ctx context.Context, c *client, req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error) {
			return c.CancelJobs(ctx, req)
		},
	})
	return cmd
}

func newRetryCommand(a *app) *cobra.Command {
	var redo *redoFlags
	cmd, flags := a.jobsCommand(bulkAction{
		use: "retry ID...", verb: "run again", pastTense: "queued again",
		short:   "Run jobs again: the pages without a result, with --doubts those with doubts too, or with --all everything",
		long:    "The results of the last run answer until the new ones replace them.\n\n",
		example: "  inkstream retry --state partial,failed --since 1d --yes",
		states: []inkstreamv1.Job_State{
			inkstreamv1.Job_FAILED, inkstreamv1.Job_PARTIAL, inkstreamv1.Job_CANCELLED,
		},
		one: func(cmd *cobra.Command, c *client, id string) (string, error) {
			j, err := c.RetryJob(cmd.Context(), &inkstreamv1.RetryJobRequest{Id: id, All: redo.all, Doubts: redo.doubts})
			return jobStatusLine(j), err
		},
		all: func(ctx context.Context, c *client, req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error) {
			return c.RetryJobs(ctx, req)
		},
	})
	redo = flags
	cmd.Flags().BoolVar(&redo.all, "all", false, "do every page again, also of jobs that succeeded")
	cmd.Flags().BoolVar(&redo.doubts, "doubts", false,
		"do pages with doubts about what a vision model wrote again too, also of jobs that succeeded")
	cmd.MarkFlagsMutuallyExclusive("all", "doubts")
	return cmd
}

func newDeleteCommand(a *app) *cobra.Command {
	cmd, _ := a.jobsCommand(bulkAction{
		use: "delete ID...", verb: "delete", pastTense: "deleted", short: "Remove jobs and all that is kept of them",
		long:    "A job that has not ended is cancelled first. Its audit trail stays.\n\n",
		example: "  inkstream delete --until 90d --dry-run\n  inkstream delete --until 90d --yes",
		one: func(cmd *cobra.Command, c *client, id string) (string, error) {
			_, err := c.DeleteJob(cmd.Context(), &inkstreamv1.DeleteJobRequest{Id: id})
			return id + " DELETED", err
		},
		all: func(ctx context.Context, c *client, req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error) {
			return c.DeleteJobs(ctx, req)
		},
	})
	return cmd
}

// jobStatusLine says where a job stands.
func jobStatusLine(j *inkstreamv1.Job) string {
	return fmt.Sprintf("%s %s (run %d)", j.GetId(), j.GetState(), j.GetRun())
}
