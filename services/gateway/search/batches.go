package search

import (
	"context"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	index "inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
)

const (
	defaultBatches = 20
	maxBatches     = 100
	// maxBatchJobs is how many jobs of a batch are shown.
	maxBatchJobs = 1000
)

// ListBatches answers the tenant's batches. Their ids are ULIDs, so that their order is that of time.
func (s *Service) ListBatches(ctx context.Context,
	req *inkstreamv1.ListBatchesRequest) (*inkstreamv1.ListBatchesResponse, error) {
	store, err := s.jobs.RequireIndex()
	if err != nil {
		return nil, err
	}
	before, err := job.ParseID(req.GetPageToken())
	if err != nil && req.GetPageToken() != "" {
		return nil, apierror.InvalidField(fault.InvalidArgument, "page_token", "a page token that is none")
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultBatches
	}
	ctx, end, err := s.BeginQuery(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	q := index.JobQuery{Tenant: access.TenantFrom(ctx), Limit: min(size, maxBatches)}
	page, err := store.CountGroups(ctx, q, job.BatchLabel, string(before))
	if err != nil {
		return nil, err
	}
	resp := &inkstreamv1.ListBatchesResponse{}
	for _, g := range page.Groups {
		resp.Batches = append(resp.Batches, summarizeBatch(g))
	}
	if page.More {
		resp.NextPageToken = page.Groups[len(page.Groups)-1].Value
	}
	return resp, nil
}

func summarizeBatch(g index.LabelGroup) *inkstreamv1.BatchSummary {
	b := &inkstreamv1.BatchSummary{
		Id: g.Value, CreateTime: jobview.TimeToProto(g.FirstTime), States: g.States, PageCount: g.Pages, Done: true,
	}
	for state, n := range g.States {
		b.JobCount += n
		b.Done = b.GetDone() && job.State(state).HasEnded()
	}
	return b
}

// GetBatch answers how the jobs of a batch stand.
func (s *Service) GetBatch(ctx context.Context, req *inkstreamv1.GetBatchRequest) (*inkstreamv1.Batch, error) {
	store, err := s.jobs.RequireIndex()
	if err != nil {
		return nil, err
	}
	q := index.JobQuery{
		Tenant: access.TenantFrom(ctx), Filter: index.Filter{Labels: map[string]string{job.BatchLabel: req.GetId()}},
		OldestFirst: true, Limit: index.MaxLimit,
	}
	ctx, end, err := s.BeginQuery(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	b := jobview.NewBatch(req.GetId())
	for {
		page, err := store.ListJobs(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Jobs {
			// The index is a moment behind; a batch is looked at to see it move.
			v, err := s.jobs.LoadJobView(ctx, jobview.Ref{Tenant: q.Tenant, ID: job.ID(d.Job)})
			if jobview.IsStateConflict(err) {
				v = jobview.DocumentToProto(d)
			} else if err != nil {
				return nil, err
			}
			jobview.AddToBatch(b, v)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
		if len(b.GetJobs()) >= maxBatchJobs {
			return b, countWholeBatch(ctx, store, q, b)
		}
	}
	if len(b.GetJobs()) == 0 {
		return nil, fault.New(apierror.NotFound, "there is no such batch")
	}
	return b, nil
}

// countWholeBatch has a batch's numbers say what the index knows of all of its jobs, those that are not shown too.
func countWholeBatch(ctx context.Context, store index.Store, q index.JobQuery, b *inkstreamv1.Batch) error {
	q.Cursor, q.Limit = "", 1
	all, err := store.CountGroups(ctx, q, job.BatchLabel, "")
	if err != nil || len(all.Groups) == 0 {
		return err
	}
	whole := summarizeBatch(all.Groups[0])
	b.PageCount, b.Done = int32(whole.GetPageCount()), whole.GetDone()
	for state, n := range whole.GetStates() {
		b.States[state] = int32(n)
	}
	return nil
}
