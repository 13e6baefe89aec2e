package admin

import (
	"context"

	"inkstream.dev/pkg/fault"
	index "inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/search"
)

const (
	// maxBatchJobs bounds the jobs that one call does something to; the answer says that there are more.
	maxBatchJobs = 10_000
)

// CancelJobs cancels every job of the filter.
func (s *Service) CancelJobs(ctx context.Context,
	req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error) {
	return s.forEachJob(ctx, req, func(ctx context.Context, id string) error {
		_, err := s.CancelJob(ctx, &inkstreamv1.CancelJobRequest{Id: id})
		return err
	})
}

// RetryJobs retries every job of the filter.
func (s *Service) RetryJobs(ctx context.Context,
	req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error) {
	return s.forEachJob(ctx, req, func(ctx context.Context, id string) error {
		_, err := s.RetryJob(ctx, &inkstreamv1.RetryJobRequest{Id: id, All: req.GetAll()})
		return err
	})
}

// DeleteJobs deletes every job of the filter.
func (s *Service) DeleteJobs(ctx context.Context,
	req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error) {
	return s.forEachJob(ctx, req, func(ctx context.Context, id string) error {
		_, err := s.DeleteJob(ctx, &inkstreamv1.DeleteJobRequest{Id: id})
		return err
	})
}

// forEachJob does something to every job that the request selects. The jobs are found first, so that what is done
// does not move the list. A job that is in no state for it is skipped; any other error ends the call, and what was
// done stays done.
func (s *Service) forEachJob(
	ctx context.Context, req *inkstreamv1.BatchJobsRequest, do func(context.Context, string) error,
) (*inkstreamv1.BatchJobsResponse, error) {
	store, err := s.jobs.RequireIndex()
	if err != nil {
		return nil, err
	}
	f := req.GetFilter()
	if len(f.GetState()) == 0 && f.GetFilename() == "" && f.GetCreateAfter() == nil && f.GetCreateBefore() == nil &&
		len(f.GetLabel()) == 0 &&
		f.GetBatch() == "" {
		return nil, apierror.InvalidField(fault.InvalidArgument, "filter",
			"the filter is empty; say which jobs, or it would be all of them")
	}
	q, err := search.BuildJobQuery(ctx, f)
	if err != nil {
		return nil, err
	}
	q.Limit, q.OldestFirst = index.MaxLimit, true
	var ids []string
	for {
		page, err := store.ListJobs(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Jobs {
			ids = append(ids, d.Job)
		}
		if len(ids) > maxBatchJobs {
			return nil, apierror.InvalidField(fault.InvalidArgument, "filter", "more than %d jobs; narrow the filter", maxBatchJobs)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
	}
	resp := &inkstreamv1.BatchJobsResponse{}
	for _, id := range ids {
		if err := do(ctx, id); err == nil {
			resp.Done++
			continue
		} else if !jobview.IsStateConflict(err) {
			return nil, err
		}
		resp.Skipped++
	}
	return resp, nil
}
