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

// listPageSize is how many jobs are asked for at a time.
const listPageSize = 500

func newListCommand(a *app) *cobra.Command {
	var f filterFlags
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
	f.registerFlags(cmd)
	cmd.Flags().IntVar(&limit, "limit", 50, "how many jobs at most; 0 for all")
	cmd.Flags().BoolVar(&oldest, "oldest-first", false, "list the oldest first")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print ids alone")
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, _ []string) error {
		if limit < 0 {
			return usageError{fmt.Errorf("--limit %d: want 0 or more", limit)}
		}
		filter, err := f.buildFilter(time.Now())
		if err != nil {
			return err
		}
		jobs, more, err := c.listJobs(cmd.Context(), filter, limit, oldest)
		if err != nil {
			return explainError(err)
		}
		if quiet {
			for _, j := range jobs {
				fmt.Fprintln(a.out, j.GetId())
			}
			return nil
		}
		none := "There are no jobs yet: 'inkstream submit FILE' makes one."
		if !selectsAllJobs(filter) {
			none = "No job is like that."
		}
		if err := a.printTable(*how, jobTable(jobs, none)); err != nil {
			return err
		}
		if more && !how.isMachineReadable() {
			fmt.Fprintf(a.err, "There are more: --limit 0 lists all, --since, --state and others narrow the list.\n")
		}
		return nil
	})
	return cmd
}

// listJobs returns the jobs of a filter, at most limit unless that is 0, and whether there are more.
func (c *client) listJobs(ctx context.Context, f *inkstreamv1.JobFilter, limit int,
	oldest bool) (jobs []*inkstreamv1.Job, more bool, err error) {
	req := &inkstreamv1.ListJobsRequest{Filter: f, PageSize: listPageSize}
	if oldest {
		req.OrderBy = "create_time"
	}
	for {
		if limit > 0 {
			req.PageSize = int32(min(listPageSize, limit-len(jobs)))
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

func jobTable(jobs []*inkstreamv1.Job, none string) table {
	t := table{columns: []string{"ID", "STATE", "PAGES", "CREATED", "TOOK", "BATCH", "LABELS", "SHA256", "FILE"},
		plainColumns: 5, data: protoMessages(jobs), emptyText: none}
	for _, j := range jobs {
		t.rows = append(t.rows, []string{
			j.GetId(), j.GetState().String(), fmt.Sprint(j.GetPageCount()), formatTime(j.GetCreateTime()), jobDuration(j),
			dashIfEmpty(j.GetBatch()), formatLabels(j.GetLabels()),
			dashIfEmpty(j.GetSha256()), dashIfEmpty(j.GetFilename()),
		})
	}
	return t
}

// jobDuration says how long a job took; one that has not ended has not taken it yet.
func jobDuration(j *inkstreamv1.Job) string {
	if j.GetEndTime() == nil {
		return "-"
	}
	return formatDuration(j.GetEndTime().AsTime().Sub(j.GetCreateTime().AsTime()))
}

func formatLabels(labels map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return dashIfEmpty(strings.Join(parts, ","))
}
