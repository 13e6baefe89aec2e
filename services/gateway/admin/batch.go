package admin

import (
	"context"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	index "inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/search"
)

const (
	// maxBatchJobs bounds the jobs that one call without a page size does something to.
	maxBatchJobs = 10_000
)

// batchAction is what is done to each job of a batch call.
type batchAction struct {
	do func(ctx context.Context, id string) error
	// fits reports whether a job in that state is one for it, as far as the state alone tells.
	fits func(job.State) bool
}

// CancelJobs cancels every job of the filter.
func (s *Service) CancelJobs(ctx context.Context,
	req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error) {
	return s.runBatch(ctx, req, batchAction{
		do: func(ctx context.Context, id string) error {
			_, err := s.CancelJob(ctx, &inkstreamv1.CancelJobRequest{Id: id})
			return err
		},
		fits: func(state job.State) bool { return !state.HasEnded() },
	})
}

// RetryJobs retries every job of the filter.
func (s *Service) RetryJobs(ctx context.Context,
	req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error) {
	scope, err := newRetryScope(req.GetAll(), req.GetDoubts())
	if err != nil {
		return nil, err
	}
	return s.runBatch(ctx, req, batchAction{
		do: func(ctx context.Context, id string) error {
			_, err := s.RetryJob(ctx, &inkstreamv1.RetryJobRequest{Id: id, All: req.GetAll(), Doubts: req.GetDoubts()})
			return err
		},
		fits: func(state job.State) bool {
			return state == job.Failed || state == job.Partial || state == job.Cancelled ||
				scope != job.ScopeMissing && state == job.Succeeded
		},
	})
}

// DeleteJobs deletes every job of the filter.
func (s *Service) DeleteJobs(ctx context.Context,
	req *inkstreamv1.BatchJobsRequest) (*inkstreamv1.BatchJobsResponse, error) {
	return s.runBatch(ctx, req, batchAction{
		do: func(ctx context.Context, id string) error {
			_, err := s.DeleteJob(ctx, &inkstreamv1.DeleteJobRequest{Id: id})
			return err
		},
		fits: func(state job.State) bool { return !state.IsGone() },
	})
}

// runBatch does something to every job that the request selects. The jobs are found first, so that what is done does
// not move the list. A job that is in no state for it is skipped; any other error ends the call, and what was done
// stays done.
func (s *Service) runBatch(ctx context.Context, req *inkstreamv1.BatchJobsRequest,
	action batchAction) (*inkstreamv1.BatchJobsResponse, error) {
	resp := &inkstreamv1.BatchJobsResponse{}
	ids := req.GetIds()
	var err error
	switch {
	case len(ids) > 0 && proto.Size(req.GetFilter()) > 0:
		err = apierror.InvalidField(fault.InvalidArgument, "ids", "both ids and a filter; want one of them")
	case len(ids) > 0 && req.GetDryRun():
		return s.countListedJobs(ctx, ids, action)
	case len(ids) > 0:
	case proto.Size(req.GetFilter()) == 0:
		err = apierror.InvalidField(fault.InvalidArgument, "filter",
			"the filter is empty; say which jobs, or it would be all of them")
	case req.GetDryRun():
		return s.countFilteredJobs(ctx, req.GetFilter(), action)
	default:
		ids, resp.NextPageToken, err = s.findBatchJobs(ctx, req)
	}
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := action.do(ctx, id); err == nil {
			resp.Done++
			continue
		} else if !jobview.IsStateConflict(err) {
			return nil, err
		}
		resp.Skipped++
	}
	return resp, nil
}

// findBatchJobs returns the jobs of the filter, and where to go on if the request wants so many at once.
func (s *Service) findBatchJobs(ctx context.Context, req *inkstreamv1.BatchJobsRequest) (ids []string, next string,
	err error) {
	store, err := s.jobs.RequireIndex()
	if err != nil {
		return nil, "", err
	}
	q, err := search.BuildJobQuery(ctx, req.GetFilter())
	if err != nil {
		return nil, "", err
	}
	ctx, end, err := s.queries.BeginQuery(ctx)
	if err != nil {
		return nil, "", err
	}
	defer end()
	q.OldestFirst, q.Cursor = true, req.GetPageToken()
	size := int(req.GetPageSize())
	for {
		q.Limit = index.MaxLimit
		if size > 0 {
			q.Limit = min(q.Limit, size-len(ids))
		}
		page, err := store.ListJobs(ctx, q)
		if err != nil {
			return nil, "", err
		}
		for _, d := range page.Jobs {
			ids = append(ids, d.Job)
		}
		q.Cursor = page.NextCursor
		switch {
		case q.Cursor == "" || size > 0 && len(ids) >= size:
			return ids, q.Cursor, nil
		case len(ids) > maxBatchJobs:
			return nil, "", apierror.InvalidField(fault.InvalidArgument, "filter",
				"more than %d jobs; narrow the filter, or set page_size", maxBatchJobs)
		}
	}
}

// countFilteredJobs answers a dry run over a filter.
func (s *Service) countFilteredJobs(ctx context.Context, filter *inkstreamv1.JobFilter,
	action batchAction) (*inkstreamv1.BatchJobsResponse, error) {
	store, err := s.jobs.RequireIndex()
	if err != nil {
		return nil, err
	}
	q, err := search.BuildJobQuery(ctx, filter)
	if err != nil {
		return nil, err
	}
	ctx, end, err := s.queries.BeginQuery(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	states, err := store.CountStates(ctx, q)
	if err != nil {
		return nil, err
	}
	return newDryRun(states, action), nil
}

// countListedJobs answers a dry run over ids. A job that is not there is skipped.
func (s *Service) countListedJobs(ctx context.Context, ids []string,
	action batchAction) (*inkstreamv1.BatchJobsResponse, error) {
	states := map[string]int64{}
	missing := int32(0)
	for _, id := range ids {
		rec, err := s.jobs.LoadRequestedJob(ctx, id)
		switch {
		case err == nil:
			states[string(rec.State)]++
		case jobview.IsStateConflict(err):
			missing++
		default:
			return nil, err
		}
	}
	resp := newDryRun(states, action)
	resp.Skipped += missing
	return resp, nil
}

func newDryRun(states map[string]int64, action batchAction) *inkstreamv1.BatchJobsResponse {
	resp := &inkstreamv1.BatchJobsResponse{States: map[string]int32{}}
	for state, n := range states {
		resp.States[state] = int32(n)
		if action.fits(job.State(state)) {
			resp.Done += int32(n)
		} else {
			resp.Skipped += int32(n)
		}
	}
	return resp
}
