package search

import (
	"context"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// faultyStates are those in which a job may have ended with a code.
var faultyStates = []string{string(job.Failed), string(job.Rejected), string(job.Partial)}

// CountJobs counts the tenant's jobs by state, code and label.
func (s *Service) CountJobs(ctx context.Context,
	req *inkstreamv1.CountJobsRequest) (*inkstreamv1.CountJobsResponse, error) {
	store, err := s.jobs.RequireIndex()
	if err != nil {
		return nil, err
	}
	q, err := BuildJobQuery(ctx, req.GetFilter())
	if err != nil {
		return nil, err
	}
	ctx, end, err := s.BeginQuery(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	resp := &inkstreamv1.CountJobsResponse{Codes: map[string]int64{}}
	if resp.States, err = store.CountStates(ctx, q); err != nil {
		return nil, err
	}
	for _, n := range resp.GetStates() {
		resp.Total += n
	}
	if req.GetLabels() {
		labels, err := store.CountLabels(ctx, q, "")
		if err != nil {
			return nil, err
		}
		for _, c := range labels {
			resp.Labels = append(resp.Labels, &inkstreamv1.LabelCount{Name: c.Name, Value: c.Value, Count: c.Jobs})
		}
	}
	if len(q.States) == 0 {
		q.States = faultyStates // far fewer than all
	}
	codes, err := store.CountLabels(ctx, q, job.CodeLabel)
	if err != nil {
		return nil, err
	}
	for _, c := range codes {
		resp.Codes[c.Value] = c.Jobs
	}
	return resp, nil
}
