package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newDeadLettersCommand(a *app) *cobra.Command {
	return newParentCommand("deadletters", "Judge, retry or drop the tasks that were given up",
		newDeadLetterListCommand(a),
		newDeadLetterShowCommand(a),
		a.newEachCommand("retry ID...", "Have the work done after all", a.completeFrom(offerDeadLetters),
			func(cmd *cobra.Command, c *client, id string) (string, error) {
				j, err := c.RetryDeadLetter(cmd.Context(), &inkstreamv1.RetryDeadLetterRequest{Id: id})
				return jobStatusLine(j), err
			}),
		a.newEachCommand("drop ID...", "Remove dead letters; nothing comes of their work", a.completeFrom(offerDeadLetters),
			func(cmd *cobra.Command, c *client, id string) (string, error) {
				_, err := c.DropDeadLetter(cmd.Context(), &inkstreamv1.DropDeadLetterRequest{Id: id})
				return id + " dropped", err
			}))
}

func newDeadLetterListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List dead letters, oldest first",
		Args: usageArgs(cobra.NoArgs)}
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, _ []string) error {
		var letters []*inkstreamv1.DeadLetter
		req := &inkstreamv1.ListDeadLettersRequest{PageSize: 1000}
		for {
			res, err := c.ListDeadLetters(cmd.Context(), req)
			if err != nil {
				return explainError(err)
			}
			letters = append(letters, res.GetDeadLetters()...)
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		t := table{
			columns: []string{"ID", "TIME", "STAGE", "JOB", "ATTEMPTS", "CLASS", "RUN", "ERROR", "CODE"}, plainColumns: 6,
			data:      protoMessages(letters),
			emptyText: "There are no dead letters.",
		}
		for _, l := range letters {
			t.rows = append(t.rows, []string{
				l.GetId(), formatTime(l.GetTime()), l.GetStage(), l.GetJob(), fmt.Sprint(l.GetAttempts()), l.GetClass(),
				fmt.Sprint(l.GetRun()),
				dashIfEmpty(l.GetError()), l.GetCode(),
			})
		}
		return a.printTable(*how, t)
	})
	return cmd
}

func newDeadLetterShowCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a dead letter with its task", Args: requireArgs(1, "ID"),
		ValidArgsFunction: completeFirstArg(a.completeFrom(offerDeadLetters)),
	}
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		l, err := c.GetDeadLetter(cmd.Context(), &inkstreamv1.GetDeadLetterRequest{Id: args[0]})
		if err != nil {
			return explainError(err)
		}
		if how.isMachineReadable() {
			return a.printEncoded(*how, l)
		}
		t := table{columns: []string{"", ""}, rows: [][]string{
			{"id", l.GetId()}, {"time", formatTime(l.GetTime())}, {"stage", l.GetStage()}, {"job", l.GetJob()},
			{"run", fmt.Sprint(l.GetRun())},
			{"class", l.GetClass()}, {"code", l.GetCode()}, {"error", dashIfEmpty(l.GetError())},
			{"attempts", fmt.Sprint(l.GetAttempts())},
			{"subject", l.GetSubject()}, {"message", l.GetMessageId()}, {"trace", dashIfEmpty(l.GetTraceId())},
		}}
		if err := a.printTable(*how, t); err != nil {
			return err
		}
		var task bytes.Buffer
		if err := json.Indent(&task, []byte(l.GetPayload()), "", "  "); err != nil {
			task.Reset()
			task.WriteString(printableText(l.GetPayload())) // no JSON: shown as it is
		}
		_, err = fmt.Fprintf(a.out, "\n%s\n", task.Bytes())
		return err
	})
	return cmd
}
