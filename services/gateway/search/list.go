package search

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	index "inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/validate"
	"inkstream.dev/services/gateway/jobview"
)

const (
	defaultList = 100
	// MaxList is the largest page size of a list.
	MaxList = 1000
	// listParallel is how many records of a list are read at once.
	listParallel = 16
	// listTimeout bounds what a list or a search may take of the index database.
	listTimeout = 20 * time.Second
)

// BeginQuery waits until a query may begin, and returns a context that bounds it; the caller calls end in the end.
func (s *Service) BeginQuery(ctx context.Context) (timed context.Context, end func(), err error) {
	release, err := s.limits.AcquireQuery(ctx)
	if err != nil {
		return nil, nil, err
	}
	timed, cancel := context.WithTimeout(ctx, listTimeout)
	return timed, func() { cancel(); release() }, nil
}

// ListJobs answers the tenant's jobs.
func (s *Service) ListJobs(ctx context.Context,
	req *inkstreamv1.ListJobsRequest) (*inkstreamv1.ListJobsResponse, error) {
	store, err := s.jobs.RequireIndex()
	if err != nil {
		return nil, err
	}
	q, err := BuildJobQuery(ctx, req.GetFilter())
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
	ctx, end, err := s.BeginQuery(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	resp := &inkstreamv1.ListJobsResponse{}
	for left = min(left, MaxList); left > 0; {
		q.Limit = min(left, index.MaxLimit)
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
func (s *Service) loadJobViews(ctx context.Context, listed []index.Document,
	states []string) ([]*inkstreamv1.Job, error) {
	views := make([]*inkstreamv1.Job, len(listed))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(listParallel)
	for i, d := range listed {
		g.Go(func() error {
			rec, err := s.deps.Jobs.LoadRecord(ctx, d.Tenant, job.ID(d.Job))
			if errors.Is(err, job.ErrNotFound) {
				views[i] = jobview.DocumentToProto(d) // the index has outlived it
				return nil
			}
			if err != nil || rec.State.IsGone() || len(states) > 0 && !slices.Contains(states, string(rec.State)) {
				return err
			}
			p, err := s.jobs.LoadProgress(ctx, rec)
			views[i] = jobview.ToProto(rec, p)
			return err
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(views, func(v *inkstreamv1.Job) bool { return v == nil }), err
}

// BuildJobQuery reads a filter.
func BuildJobQuery(ctx context.Context, f *inkstreamv1.JobFilter) (index.JobQuery, error) {
	q := index.JobQuery{Tenant: access.TenantFrom(ctx)}
	for _, state := range f.GetState() {
		if state == inkstreamv1.Job_STATE_UNSPECIFIED {
			return q, apierror.InvalidField(fault.InvalidArgument, "filter.state", "a state that is none")
		}
		q.States = append(q.States, state.String())
	}
	var err error
	q.Filter, err = buildDocumentFilter("filter.", f.GetFilename(), f.GetLabel(), f.GetCreateAfter(), f.GetCreateBefore())
	for label, value := range map[string]string{job.BatchLabel: f.GetBatch(), job.CodeLabel: f.GetCode()} {
		if value == "" {
			continue
		}
		if q.Filter.Labels == nil {
			q.Filter.Labels = map[string]string{}
		}
		q.Filter.Labels[label] = value
	}
	return q, err
}

// buildDocumentFilter reads what lists and searches have alike.
func buildDocumentFilter(prefix, filename string, labels []string, from,
	before *timestamppb.Timestamp) (index.Filter, error) {
	f := index.Filter{Filename: filename}
	for _, b := range []struct {
		field string
		given *timestamppb.Timestamp
		into  *time.Time
	}{{"create_after", from, &f.From}, {"create_before", before, &f.Before}} {
		if b.given == nil {
			continue
		}
		at, err := validate.ParseTimestamp(prefix+b.field, b.given)
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
			return f, apierror.InvalidField(fault.InvalidArgument, prefix+"label", "label %q, want key=value, or key for any value",
				apierror.ClipText(l))
		}
	}
	return f, nil
}
