package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newEventsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "events ID",
		Short:             "Show what happened to a job, in order; also to one that was deleted",
		Args:              requireArgs(1, "ID"),
		ValidArgsFunction: completeFirstArg(a.completeFrom(offerJobs())),
	}
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		var events []*inkstreamv1.Event
		req := &inkstreamv1.ListEventsRequest{Id: args[0], PageSize: 1000}
		for {
			res, err := c.ListEvents(cmd.Context(), req)
			if err != nil {
				return explainError(err)
			}
			events = append(events, res.GetEvents()...)
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		t := table{columns: []string{"TIME", "RUN", "EVENT", "STAGE", "ID", "FACTS"}, plainColumns: 3,
			data: protoMessages(events), emptyText: "Nothing is known of such a job."}
		for _, e := range events {
			t.rows = append(t.rows, []string{
				e.GetTime().AsTime().Local().Format(time.StampMilli), fmt.Sprint(e.GetRun()), e.GetType(),
				dashIfEmpty(e.GetStage()), e.GetId(),
				printableText(eventFacts(e)),
			})
		}
		return a.printTable(*how, t)
	})
	return cmd
}

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
