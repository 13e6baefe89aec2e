package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newDeadLetters(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deadletters",
		Short: "Judge, retry or drop the tasks that were given up",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newLetterList(s),
		newLetterShow(s),
		eachJob(s, "retry ID...", "Have the work done after all", func(ctx context.Context, c *client, id string) (string, error) {
			j, err := c.RetryDeadLetter(ctx, &inkstreamv1.RetryDeadLetterRequest{Id: id})
			return jobLine(j), err
		}),
		eachJob(s, "drop ID...", "Remove dead letters; nothing comes of their work", func(ctx context.Context, c *client, id string) (string, error) {
			_, err := c.DropDeadLetter(ctx, &inkstreamv1.DropDeadLetterRequest{Id: id})
			return id + " dropped", err
		}),
	)
	return cmd
}

func newLetterList(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List dead letters, oldest first",
		Args:  usageArgs(cobra.NoArgs),
	}
	server := serverFlag(cmd, s)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := dial(*server)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		w := table(s.out)
		fmt.Fprintln(w, "ID\tTIME\tSTAGE\tJOB\tCLASS\tCODE\tATTEMPTS")
		req := &inkstreamv1.ListDeadLettersRequest{PageSize: 1000}
		for {
			res, err := c.ListDeadLetters(cmd.Context(), req)
			if err != nil {
				return explain(err)
			}
			for _, l := range res.GetDeadLetters() {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\n", l.GetId(), l.GetTime().AsTime().Local().Format(time.DateTime), l.GetStage(), l.GetJob(),
					l.GetClass(), l.GetCode(), l.GetAttempts())
			}
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
				return w.Flush()
			}
		}
	}
	return cmd
}

func newLetterShow(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a dead letter with its task",
		Args:  usageArgs(cobra.ExactArgs(1)),
	}
	server := serverFlag(cmd, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := dial(*server)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		l, err := c.GetDeadLetter(cmd.Context(), &inkstreamv1.GetDeadLetterRequest{Id: args[0]})
		if err != nil {
			return explain(err)
		}
		w := table(s.out)
		for _, row := range [][2]string{
			{"id", l.GetId()}, {"time", l.GetTime().AsTime().Local().Format(time.DateTime)}, {"stage", l.GetStage()}, {"job", l.GetJob()},
			{"run", fmt.Sprint(l.GetRun())}, {"class", l.GetClass()}, {"code", l.GetCode()}, {"error", l.GetError()},
			{"attempts", fmt.Sprint(l.GetAttempts())}, {"subject", l.GetSubject()}, {"message", l.GetMessageId()}, {"trace", l.GetTraceId()},
		} {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
		if err := w.Flush(); err != nil {
			return err
		}
		var task bytes.Buffer
		if err := json.Indent(&task, []byte(l.GetPayload()), "", "  "); err != nil {
			task.Reset()
			task.WriteString(l.GetPayload()) // no JSON: shown as it is
		}
		_, err = fmt.Fprintf(s.out, "\n%s\n", task.Bytes())
		return err
	}
	return cmd
}
