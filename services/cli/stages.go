package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newStagesCommand(a *app) *cobra.Command {
	var once bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "stages",
		Short: "Show how the stages stand; on a terminal the table follows until Ctrl-C",
		Long: `Show how the stages stand: what waits (interactive and batch), what is in hand, how long the oldest task has waited, tasks a second over the last
minute, when the queue will be empty at that rate, tasks given up, and the processes that run the stage.`,
		Example: `  inkstream stages
  inkstream stages --once -o json | jq '.[] | select(.deadLetters != "0")'`,
		Args: usageArgs(cobra.NoArgs),
	}
	cmd.Flags().BoolVar(&once, "once", false, "show the table once, on a terminal too")
	cmd.Flags().DurationVar(&interval, "interval", 2*time.Second, "how often the table is drawn anew")
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, _ []string) error {
		if interval < 100*time.Millisecond {
			return usageError{fmt.Errorf("--interval %s: want 100ms or more", interval)}
		}
		if once || how.isMachineReadable() || !isTerminal(a.out) {
			return a.printStages(cmd.Context(), c, *how)
		}
		return a.followStages(cmd.Context(), c, *how, interval)
	})
	return cmd
}

func (a *app) printStages(ctx context.Context, c *client, how outputFormat) error {
	res, err := c.ListStages(ctx, &inkstreamv1.ListStagesRequest{})
	if err != nil {
		return explainError(err)
	}
	return a.printTable(how, stageTable(res.GetStages(), time.Now()))
}

// followStages draws the table until ctx is done, on the terminal's other screen; the last one stays behind.
func (a *app) followStages(ctx context.Context, c *client, how outputFormat, interval time.Duration) error {
	const (
		enter = "\x1b[?1049h\x1b[?25l" // the other screen, without a cursor
		leave = "\x1b[?25h\x1b[?1049l"
		home  = "\x1b[H\x1b[J"
	)
	// The first answer comes before the screen changes, so that an error is seen where it belongs.
	res, err := c.ListStages(ctx, &inkstreamv1.ListStagesRequest{})
	if err != nil {
		return explainError(err)
	}
	last := stageTable(res.GetStages(), time.Now())
	fmt.Fprint(a.out, enter)
	defer func() {
		fmt.Fprint(a.out, leave)
		_ = a.printTable(how, last) // on an error the terminal is gone: the table has no reader
	}()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	trouble := ""
	for {
		fmt.Fprintf(a.out, "%s%s  %s, every %s; Ctrl-C ends\n\n", home, a.applyStyle(styleBold, c.server),
			time.Now().Format(time.TimeOnly), interval)
		if err := a.printTable(how, last); err != nil {
			return err
		}
		if trouble != "" {
			fmt.Fprintf(a.out, "\n%s\n", a.applyStyle(styleRed, trouble))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		res, err := c.ListStages(ctx, &inkstreamv1.ListStagesRequest{})
		switch {
		case err == nil:
			last, trouble = stageTable(res.GetStages(), time.Now()), ""
		case ctx.Err() == nil:
			// The server may come back.
			trouble, _, _ = strings.Cut(explainError(err).Error(), "\n")
		}
	}
}

func stageTable(stages []*inkstreamv1.Stage, now time.Time) table {
	t := table{columns: []string{"STAGE", "WAITING", "BATCH", "IN HAND", "OLDEST", "RATE", "ETA", "GIVEN UP",
		"PROCESSES"}, data: protoMessages(stages)}
	for _, s := range stages {
		oldest, rate, eta := "-", "-", "-"
		if s.GetOldest() != nil {
			oldest = formatDuration(max(now.Sub(s.GetOldest().AsTime()), 0).Round(time.Second))
		}
		if s.GetRate() > 0 {
			rate = fmt.Sprintf("%.1f/s", s.GetRate())
		}
		if s.GetEtaSeconds() > 0 {
			eta = formatDuration(time.Duration(s.GetEtaSeconds() * float64(time.Second)).Round(time.Second))
		}
		others := int64(0)
		for lane, n := range s.GetWaiting() {
			if lane != "batch" {
				others += n
			}
		}
		t.rows = append(t.rows, []string{
			s.GetName(), fmt.Sprint(others), fmt.Sprint(s.GetWaiting()["batch"]), fmt.Sprint(s.GetInFlight()), oldest, rate, eta,
			fmt.Sprint(s.GetDeadLetters()), fmt.Sprint(s.GetReplicas()),
		})
	}
	return t
}
