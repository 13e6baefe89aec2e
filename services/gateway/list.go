package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	defaultList = 100
	maxList     = 1000
	// listParallel is how many records of a list are read at once.
	listParallel = 16
	// listTimeout bounds what a list or a search may take of the index database.
	listTimeout = 20 * time.Second
	// maxBatchJobs bounds the jobs that one call does something to; the answer says that there are more.
	maxBatchJobs = 10_000
)

// noIndex is the answer where the gateway was started without an index database.
const noIndex fault.Code = "NO_INDEX"

func (s *Service) requireIndex() (search.Store, error) {
	if s.index == nil {
		return nil, fault.New(noIndex, "this gateway has no index database; start it with --index")
	}
	return s.index, nil
}

// ListJobs answers the tenant's jobs.
func (s *Service) ListJobs(ctx context.Context,
	req *inkstreamv1.ListJobsRequest) (*inkstreamv1.ListJobsResponse, error) {
	store, err := s.requireIndex()
	if err != nil {
		return nil, err
	}
	q, err := buildJobQuery(ctx, req.GetFilter())
	if err != nil {
		return nil, err
	}
	order := req.GetOrderBy()
	q.OldestFirst = order == "create_time" || order == "create_time asc"
	q.Cursor = req.GetPageToken()
	left := int(req.GetPageSize())
	if left == 0 {
		left = defaultList
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	resp := &inkstreamv1.ListJobsResponse{}
	for left = min(left, maxList); left > 0; {
		q.Limit = min(left, search.MaxLimit)
		page, err := store.ListJobs(ctx, q)
		if err != nil {
			return nil, err
		}
		views, err := s.loadJobViews(ctx, page.Jobs, q.States)
		if err != nil {
			return nil, err
		}
		resp.Jobs = append(resp.Jobs, views...)
		left -= len(page.Jobs)
		q.Cursor, resp.NextPageToken = page.NextCursor, page.NextCursor
		if page.NextCursor == "" {
			break
		}
	}
	return resp, nil
}

// loadJobViews returns jobs that the index lists as their records say they are: those know more, and know it sooner.
// A job that is gone by now, or is no longer in any of the states, is left out; no states means all states.
func (s *Service) loadJobViews(ctx context.Context, listed []search.Document,
	states []string) ([]*inkstreamv1.Job, error) {
	views := make([]*inkstreamv1.Job, len(listed))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(listParallel)
	for i, d := range listed {
		g.Go(func() error {
			rec, err := s.deps.Jobs.LoadRecord(ctx, d.Tenant, job.ID(d.Job))
			if errors.Is(err, job.ErrNotFound) {
				views[i] = documentToProto(d) // the index has outlived it
				return nil
			}
			if err != nil || rec.State.IsGone() || len(states) > 0 && !slices.Contains(states, string(rec.State)) {
				return err
			}
			p, err := s.loadProgress(ctx, rec)
			views[i] = jobToProto(rec, p)
			return err
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(views, func(v *inkstreamv1.Job) bool { return v == nil }), err
}

// buildJobQuery reads a filter.
func buildJobQuery(ctx context.Context, f *inkstreamv1.JobFilter) (search.JobQuery, error) {
	q := search.JobQuery{Tenant: tenantFromContext(ctx)}
	for _, state := range f.GetState() {
		if state == inkstreamv1.Job_STATE_UNSPECIFIED {
			return q, invalidField(fault.InvalidArgument, "filter.state", "a state that is none")
		}
		q.States = append(q.States, state.String())
	}
	var err error
	q.Filter, err = buildDocumentFilter("filter.", f.GetFilename(), f.GetLabel(), f.GetCreateAfter(), f.GetCreateBefore())
	if b := f.GetBatch(); b != "" {
		if q.Filter.Labels == nil {
			q.Filter.Labels = map[string]string{}
		}
		q.Filter.Labels[job.BatchLabel] = b
	}
	return q, err
}

// buildDocumentFilter reads what lists and searches have alike.
func buildDocumentFilter(prefix, filename string, labels []string, from,
	before *timestamppb.Timestamp) (search.Filter, error) {
	f := search.Filter{Filename: filename}
	for _, b := range []struct {
		field string
		given *timestamppb.Timestamp
		into  *time.Time
	}{{"create_after", from, &f.From}, {"create_before", before, &f.Before}} {
		if b.given == nil {
			continue
		}
		at, err := parseTimestamp(prefix+b.field, b.given)
		if err != nil {
			return f, err
		}
		// No job is older than 1970, and the zero Time, which begins the year 1, would be no bound at all.
		if *b.into = at; at.Unix() < 0 {
			*b.into = time.Unix(0, 0)
		}
	}
	for _, l := range labels {
		if !f.AddLabel(l) {
			return f, invalidField(fault.InvalidArgument, prefix+"label", "label %q, want key=value, or key for any value",
				clipText(l))
		}
	}
	return f, nil
}

// documentToProto returns what the index database knows of a job.
func documentToProto(d search.Document) *inkstreamv1.Job {
	v := &inkstreamv1.Job{
		Id: d.Job, State: inkstreamv1.Job_State(inkstreamv1.Job_State_value[d.State]), Filename: d.Filename, Sha256: d.SHA256,
		PageCount: int32(d.PageCount), CreateTime: timeToProto(d.CreateTime), EndTime: timeToProto(d.EndTime),
	}
	for key, value := range d.Labels {
		switch key {
		case job.BatchLabel:
			v.Batch = value
			continue
		case job.CallerLabel: // for counting alone
			continue
		}
		if v.Labels == nil {
			v.Labels = map[string]string{}
		}
		v.Labels[key] = value
	}
	return v
}

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
	store, err := s.requireIndex()
	if err != nil {
		return nil, err
	}
	f := req.GetFilter()
	if len(f.GetState()) == 0 && f.GetFilename() == "" && f.GetCreateAfter() == nil && f.GetCreateBefore() == nil &&
		len(f.GetLabel()) == 0 &&
		f.GetBatch() == "" {
		return nil, invalidField(fault.InvalidArgument, "filter",
			"the filter is empty; say which jobs, or it would be all of them")
	}
	q, err := buildJobQuery(ctx, f)
	if err != nil {
		return nil, err
	}
	q.Limit, q.OldestFirst = search.MaxLimit, true
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
			return nil, invalidField(fault.InvalidArgument, "filter", "more than %d jobs; narrow the filter", maxBatchJobs)
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
		} else if !isStateConflict(err) {
			return nil, err
		}
		resp.Skipped++
	}
	return resp, nil
}

// isStateConflict reports whether an error says that a job is in no state for what was asked, or is gone.
func isStateConflict(err error) bool {
	switch fault.CodeOf(err) {
	case jobEnded, jobRunning, jobNotRetryable, jobDeleted, jobExpired, fault.JobNotFound:
		return true
	default:
		return false
	}
}

// GetBatch answers how the jobs of one request with several files stand.
func (s *Service) GetBatch(ctx context.Context, req *inkstreamv1.GetBatchRequest) (*inkstreamv1.Batch, error) {
	store, err := s.requireIndex()
	if err != nil {
		return nil, err
	}
	q := search.JobQuery{
		Tenant: tenantFromContext(ctx), Filter: search.Filter{Labels: map[string]string{job.BatchLabel: req.GetId()}},
		OldestFirst: true, Limit: search.MaxLimit,
	}
	b := newBatchView(req.GetId())
	for {
		page, err := store.ListJobs(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Jobs {
			// The index is a moment behind; a batch is looked at to see it move.
			v, err := s.loadJobView(ctx, jobRef{q.Tenant, job.ID(d.Job)})
			if isStateConflict(err) {
				v = documentToProto(d)
			} else if err != nil {
				return nil, err
			}
			addJobToBatch(b, v)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
	}
	if len(b.GetJobs()) == 0 {
		return nil, fault.New(notFound, "there is no such batch")
	}
	return b, nil
}
