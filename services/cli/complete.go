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
	// completeTimeout bounds the question to the server: the shell waits for the answer after a press of tab.
	completeTimeout = 1500 * time.Millisecond
	// maxCompletions bounds what is offered.
	maxCompletions = 50
)

// completer offers values, each with a tab and what it is behind it.
type completer func(ctx context.Context) ([]string, error)

// offer asks a server what is to be offered.
type offer func(ctx context.Context, c *client) ([]string, error)

// completeFrom has the server say what is offered.
func (a *app) completeFrom(ask offer) completer {
	return func(ctx context.Context) ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, completeTimeout)
		defer cancel()
		e, err := a.conn.resolveEndpoint(a.streams)
		if err != nil {
			return nil, err
		}
		e.warn = nil
		c, err := e.dialEndpoint(ctx)
		if err != nil {
			return nil, err
		}
		defer c.conn.Close()
		return ask(ctx, c)
	}
}

// offerJobs offers the latest jobs in some states, or in any.
func offerJobs(states ...inkstreamv1.Job_State) offer {
	return func(ctx context.Context, c *client) ([]string, error) {
		jobs, _, err := c.listJobs(ctx, &inkstreamv1.JobFilter{State: states}, maxCompletions, false)
		var out []string
		for _, j := range jobs {
			out = append(out, fmt.Sprintf("%s\t%s %s", j.GetId(), j.GetState(), printableText(j.GetFilename())))
		}
		return out, err
	}
}

func offerKeys(ctx context.Context, c *client) ([]string, error) {
	res, err := c.ListKeys(ctx, &inkstreamv1.ListKeysRequest{})
	var out []string
	for _, k := range res.GetKeys() {
		out = append(out, fmt.Sprintf("%s\t%s %s", k.GetId(), strings.Join(k.GetScopes(), ","), printableText(k.GetName())))
	}
	return out, err
}

func offerWebhooks(ctx context.Context, c *client) ([]string, error) {
	res, err := c.ListWebhooks(ctx, &inkstreamv1.ListWebhooksRequest{})
	var out []string
	for _, h := range res.GetWebhooks() {
		out = append(out, h.GetId()+"\t"+printableText(h.GetUrl()))
	}
	return out, err
}

func offerDeadLetters(ctx context.Context, c *client) ([]string, error) {
	res, err := c.ListDeadLetters(ctx, &inkstreamv1.ListDeadLettersRequest{PageSize: maxCompletions})
	var out []string
	for _, l := range res.GetDeadLetters() {
		out = append(out, fmt.Sprintf("%s\t%s %s", l.GetId(), l.GetStage(), l.GetCode()))
	}
	return out, err
}

// withoutGiven offers what is not an argument yet. A server that does not answer offers nothing: an error has no
// place in a line that is being typed.
func (f completer) withoutGiven(cmd *cobra.Command, args []string,
	_ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	values, err := f(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(values, func(v string) bool {
		id, _, _ := strings.Cut(v, "\t")
		return slices.Contains(args, id)
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeFirstArg offers values for the first argument alone.
func completeFirstArg(f completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f.withoutGiven(cmd, args, toComplete)
	}
}

// registerCompletion has a flag's value completed.
func registerCompletion(cmd *cobra.Command, flag string, f completer) {
	// As in completeValues.
	if err := cmd.RegisterFlagCompletionFunc(flag, f.withoutGiven); err != nil {
		panic(err)
	}
}

// completeProfiles offers the names in the configuration file.
func completeProfiles(root *cobra.Command, s streams) {
	registerCompletion(root, "profile", func(context.Context) ([]string, error) {
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
