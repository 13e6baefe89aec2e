package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// completeTimeout bounds the question to the server: somebody has pressed tab and waits.
	completeTimeout = 1500 * time.Millisecond
	// completeMost bounds what is offered.
	completeMost = 50
)

// completer offers values, each with a tab and what it is behind it.
type completer func(ctx context.Context) ([]string, error)

// ask has the server say what is offered.
func (a *app) ask(ctx context.Context, offer func(ctx context.Context, c *client) ([]string, error)) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	e, err := a.conn.resolve(a.streams)
	if err != nil {
		return nil, err
	}
	e.warn = nil
	c, err := e.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	return offer(ctx, c)
}

// completeJobs offers the latest jobs.
func (a *app) completeJobs(ctx context.Context) ([]string, error) { return a.completeJobsIn(nil)(ctx) }

// completeJobsIn offers the latest jobs in some states, or in any.
func (a *app) completeJobsIn(states map[inkstreamv1.Job_State]bool) completer {
	return func(ctx context.Context) ([]string, error) {
		return a.ask(ctx, func(ctx context.Context, c *client) ([]string, error) {
			f := &inkstreamv1.JobFilter{State: slices.Sorted(maps.Keys(states))}
			jobs, _, err := c.list(ctx, f, completeMost, false)
			var out []string
			for _, j := range jobs {
				out = append(out, fmt.Sprintf("%s\t%s %s", j.GetId(), j.GetState(), printable(j.GetFilename())))
			}
			return out, err
		})
	}
}

func (a *app) completeKeys(ctx context.Context) ([]string, error) {
	return a.ask(ctx, func(ctx context.Context, c *client) ([]string, error) {
		res, err := c.ListKeys(ctx, &inkstreamv1.ListKeysRequest{})
		var out []string
		for _, k := range res.GetKeys() {
			out = append(out, fmt.Sprintf("%s\t%s %s", k.GetId(), strings.Join(k.GetScopes(), ","), printable(k.GetName())))
		}
		return out, err
	})
}

func (a *app) completeWebhooks(ctx context.Context) ([]string, error) {
	return a.ask(ctx, func(ctx context.Context, c *client) ([]string, error) {
		res, err := c.ListWebhooks(ctx, &inkstreamv1.ListWebhooksRequest{})
		var out []string
		for _, h := range res.GetWebhooks() {
			out = append(out, h.GetId()+"\t"+printable(h.GetUrl()))
		}
		return out, err
	})
}

func (a *app) completeLetters(ctx context.Context) ([]string, error) {
	return a.ask(ctx, func(ctx context.Context, c *client) ([]string, error) {
		res, err := c.ListDeadLetters(ctx, &inkstreamv1.ListDeadLettersRequest{PageSize: completeMost})
		var out []string
		for _, l := range res.GetDeadLetters() {
			out = append(out, fmt.Sprintf("%s\t%s %s", l.GetId(), l.GetStage(), l.GetCode()))
		}
		return out, err
	})
}

// without offers what is not an argument yet. A server that does not answer offers nothing: an error has no place in a line that is being typed.
func (f completer) without(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	values, err := f(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(values, func(v string) bool {
		id, _, _ := strings.Cut(v, "\t")
		return slices.Contains(args, id)
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// onlyFirst offers values for the first argument alone.
func onlyFirst(f completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f.without(cmd, args, toComplete)
	}
}

// completeFlag has a flag's value completed.
func completeFlag(cmd *cobra.Command, flag string, f completer) {
	// As in completeValues.
	if err := cmd.RegisterFlagCompletionFunc(flag, f.without); err != nil {
		panic(err)
	}
}

// completeProfiles offers the names in the configuration file.
func completeProfiles(root *cobra.Command, s streams) {
	completeFlag(root, "profile", func(context.Context) ([]string, error) {
		all, _, err := readProfiles(s)
		var out []string
		for _, name := range slices.Sorted(maps.Keys(all.Profiles)) {
			out = append(out, name+"\t"+all.Profiles[name].Server)
		}
		return out, err
	})
}

// completePDFs has files completed that can be submitted, and folders.
func completePDFs(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []string{"pdf", "PDF"}, cobra.ShellCompDirectiveFilterFileExt
}
