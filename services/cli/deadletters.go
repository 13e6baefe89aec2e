package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newDeadLetters(a *app) *cobra.Command {
	return parent("deadletters", "Judge, retry or drop the tasks that were given up",
		newLetterList(a),
		newLetterShow(a),
		a.each("retry ID...", "Have the work done after all", a.completeLetters, func(cmd *cobra.Command, c *client, id string) (string, error) {
			j, err := c.RetryDeadLetter(cmd.Context(), &inkstreamv1.RetryDeadLetterRequest{Id: id})
			return jobLine(j), err
		}),
		a.each("drop ID...", "Remove dead letters; nothing comes of their work", a.completeLetters,
			func(cmd *cobra.Command, c *client, id string) (string, error) {
				_, err := c.DropDeadLetter(cmd.Context(), &inkstreamv1.DropDeadLetterRequest{Id: id})
				return id + " dropped", err
			}))
}

func newLetterList(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List dead letters, oldest first", Args: usageArgs(cobra.NoArgs)}
	how := outputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, _ []string) error {
		var letters []*inkstreamv1.DeadLetter
		req := &inkstreamv1.ListDeadLettersRequest{PageSize: 1000}
		for {
			res, err := c.ListDeadLetters(cmd.Context(), req)
			if err != nil {
				return explain(err)
			}
			letters = append(letters, res.GetDeadLetters()...)
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		t := sheet{
			head: []string{"ID", "TIME", "STAGE", "JOB", "ATTEMPTS", "CLASS", "RUN", "ERROR", "CODE"}, plain: 6, data: list(letters),
			none: "There are no dead letters.",
		}
		for _, l := range letters {
			t.rows = append(t.rows, []string{
				l.GetId(), clock(l.GetTime()), l.GetStage(), l.GetJob(), fmt.Sprint(l.GetAttempts()), l.GetClass(), fmt.Sprint(l.GetRun()),
				dash(l.GetError()), l.GetCode(),
			})
		}
		return a.show(*how, t)
	})
	return cmd
}

func newLetterShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a dead letter with its task", Args: wantArgs(1, "ID"), ValidArgsFunction: onlyFirst(a.completeLetters),
	}
	how := outputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		l, err := c.GetDeadLetter(cmd.Context(), &inkstreamv1.GetDeadLetterRequest{Id: args[0]})
		if err != nil {
			return explain(err)
		}
		if how.machine() {
			return a.encode(*how, l)
		}
		t := sheet{head: []string{"", ""}, rows: [][]string{
			{"id", l.GetId()}, {"time", clock(l.GetTime())}, {"stage", l.GetStage()}, {"job", l.GetJob()}, {"run", fmt.Sprint(l.GetRun())},
			{"class", l.GetClass()}, {"code", l.GetCode()}, {"error", dash(l.GetError())}, {"attempts", fmt.Sprint(l.GetAttempts())},
			{"subject", l.GetSubject()}, {"message", l.GetMessageId()}, {"trace", dash(l.GetTraceId())},
		}}
		if err := a.show(*how, t); err != nil {
			return err
		}
		var task bytes.Buffer
		if err := json.Indent(&task, []byte(l.GetPayload()), "", "  "); err != nil {
			task.Reset()
			task.WriteString(printable(l.GetPayload())) // no JSON: shown as it is
		}
		_, err = fmt.Fprintf(a.out, "\n%s\n", task.Bytes())
		return err
	})
	return cmd
}
