package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// eachJob returns a command that does one thing to each of the jobs that are named. It goes on after an error, and returns the first.
func eachJob(s streams, use, short string, do func(ctx context.Context, c *client, id string) (string, error)) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: usageArgs(cobra.MinimumNArgs(1))}
	server := serverFlag(cmd, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := dial(*server)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		var first error
		for _, id := range args {
			said, err := do(cmd.Context(), c, id)
			if err != nil {
				err = fmt.Errorf("%s: %w", id, explain(err))
				if first == nil {
					first = err
				} else {
					fmt.Fprintln(s.err, "inkstream:", err)
				}
				continue
			}
			fmt.Fprintln(s.out, said)
		}
		return first
	}
	return cmd
}

func newCancel(s streams) *cobra.Command {
	return eachJob(s, "cancel ID...", "End jobs that have not ended", func(ctx context.Context, c *client, id string) (string, error) {
		j, err := c.CancelJob(ctx, &inkstreamv1.CancelJobRequest{Id: id})
		return jobLine(j), err
	})
}

func newRetry(s streams) *cobra.Command {
	var all bool
	cmd := eachJob(s, "retry ID...", "Run jobs again: the pages without a result, or with --all everything",
		func(ctx context.Context, c *client, id string) (string, error) {
			j, err := c.RetryJob(ctx, &inkstreamv1.RetryJobRequest{Id: id, All: all})
			return jobLine(j), err
		})
	cmd.Flags().BoolVar(&all, "all", false, "do every page again, also of jobs that succeeded")
	return cmd
}

func newDelete(s streams) *cobra.Command {
	return eachJob(s, "delete ID...", "Remove jobs and all that is kept of them", func(ctx context.Context, c *client, id string) (string, error) {
		_, err := c.DeleteJob(ctx, &inkstreamv1.DeleteJobRequest{Id: id})
		return id + " DELETED", err
	})
}

// jobLine says where a job stands.
func jobLine(j *inkstreamv1.Job) string {
	return fmt.Sprintf("%s %s (run %d)", j.GetId(), j.GetState(), j.GetRun())
}

func newEvents(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events ID",
		Short: "Show what happened to a job, in order",
		Args:  usageArgs(cobra.ExactArgs(1)),
	}
	server := serverFlag(cmd, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := dial(*server)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		w := table(s.out)
		req := &inkstreamv1.ListEventsRequest{Id: args[0], PageSize: 1000}
		for {
			res, err := c.ListEvents(cmd.Context(), req)
			if err != nil {
				return explain(err)
			}
			for _, e := range res.GetEvents() {
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", e.GetTime().AsTime().Local().Format(time.StampMilli), e.GetRun(), e.GetType(), eventFacts(e))
			}
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
				return w.Flush()
			}
		}
	}
	return cmd
}

// table returns a writer that lines up what is set apart by tabs.
func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// eventFacts returns what an event has beside its type, on one line.
func eventFacts(e *inkstreamv1.Event) string {
	var facts []string
	if e.GetPage() > 0 {
		facts = append(facts, fmt.Sprintf("page %d", e.GetPage()))
	}
	if e.GetCode() != "" {
		facts = append(facts, e.GetCode())
	}
	for _, k := range slices.Sorted(maps.Keys(e.GetAttributes())) {
		facts = append(facts, k+"="+e.GetAttributes()[k])
	}
	return strings.Join(facts, " ")
}
