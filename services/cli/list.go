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

// listPage is how many jobs are asked for at a time.
const listPage = 500

func newList(a *app) *cobra.Command {
	var f filter
	var limit int
	var oldest, quiet bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List jobs, the latest first",
		Example: `  inkstream list --state failed,partial --since 7d
  inkstream list --label project=atlas -o json | jq -r '.[].id'
  inkstream retry $(inkstream list -q --state partial)`,
		Args: usageArgs(cobra.NoArgs),
	}
	f.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", 50, "how many jobs at most; 0 for all")
	cmd.Flags().BoolVar(&oldest, "oldest-first", false, "list the oldest first")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print ids alone")
	how := outputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, _ []string) error {
		if limit < 0 {
			return usageError{fmt.Errorf("--limit %d: want 0 or more", limit)}
		}
		filter, err := f.build(time.Now())
		if err != nil {
			return err
		}
		jobs, more, err := c.list(cmd.Context(), filter, limit, oldest)
		if err != nil {
			return explain(err)
		}
		if quiet {
			for _, j := range jobs {
				fmt.Fprintln(a.out, j.GetId())
			}
			return nil
		}
		none := "There are no jobs yet: 'inkstream submit FILE' makes one."
		if !emptyFilter(filter) {
			none = "No job is like that."
		}
		if err := a.show(*how, jobSheet(jobs, none)); err != nil {
			return err
		}
		if more && !how.machine() {
			fmt.Fprintf(a.err, "There are more: --limit 0 lists all, --since, --state and others narrow the list.\n")
		}
		return nil
	})
	return cmd
}

// list returns the jobs of a filter, at most limit unless that is 0, and whether there are more.
func (c *client) list(ctx context.Context, f *inkstreamv1.JobFilter, limit int, oldest bool) (jobs []*inkstreamv1.Job, more bool, err error) {
	req := &inkstreamv1.ListJobsRequest{Filter: f, PageSize: listPage}
	if oldest {
		req.OrderBy = "create_time"
	}
	for {
		if limit > 0 {
			req.PageSize = int32(min(listPage, limit-len(jobs)))
		}
		res, err := c.ListJobs(ctx, req)
		if err != nil {
			return nil, false, err
		}
		jobs = append(jobs, res.GetJobs()...)
		req.PageToken = res.GetNextPageToken()
		if req.PageToken == "" || limit > 0 && len(jobs) >= limit {
			return jobs, req.PageToken != "", nil
		}
	}
}

func jobSheet(jobs []*inkstreamv1.Job, none string) sheet {
	t := sheet{head: []string{"ID", "STATE", "PAGES", "CREATED", "TOOK", "BATCH", "LABELS", "SHA256", "FILE"}, plain: 5, data: list(jobs), none: none}
	for _, j := range jobs {
		t.rows = append(t.rows, []string{
			j.GetId(), j.GetState().String(), fmt.Sprint(j.GetPageCount()), clock(j.GetCreateTime()), took(j), dash(j.GetBatch()), labelText(j.GetLabels()),
			dash(j.GetSha256()), dash(j.GetFilename()),
		})
	}
	return t
}

// took says how long a job took; one that has not ended has not taken it yet.
func took(j *inkstreamv1.Job) string {
	if j.GetEndTime() == nil {
		return "-"
	}
	return span(j.GetEndTime().AsTime().Sub(j.GetCreateTime().AsTime()))
}

func labelText(labels map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return dash(strings.Join(parts, ","))
}
