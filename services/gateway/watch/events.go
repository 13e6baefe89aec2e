package watch

import (
	"context"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/jobview"
)

// ListEvents answers a job's audit trail. It outlives the job.
func (s *Service) ListEvents(ctx context.Context,
	req *inkstreamv1.ListEventsRequest) (*inkstreamv1.ListEventsResponse, error) {
	ref, err := jobview.ParseRef(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	after, limit, err := jobview.ParsePageRequest(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	events, more, err := s.deps.Bus.ListEvents(ctx, ref.Tenant, string(ref.ID), after, limit)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		if _, err := s.jobs.LoadAnyRecord(ctx, ref); err != nil {
			// A refused upload has no record; its event comes a moment after its answer, and that moment is over now.
			events, more, _ = s.deps.Bus.ListEvents(ctx, ref.Tenant, string(ref.ID), after, limit)
			if len(events) == 0 {
				return nil, err
			}
		}
	}
	res := &inkstreamv1.ListEventsResponse{}
	for _, e := range events {
		res.Events = append(res.Events, &inkstreamv1.Event{
			Id: jobview.EncodeToken(e.Sequence), Time: e.GetTime(), Type: e.GetType(), Run: e.GetRun(), Stage: e.GetStage(),
			Page: e.GetPage(),
			Code: e.GetCode(), Attributes: e.GetAttributes(),
		})
	}
	if more {
		res.NextPageToken = jobview.EncodeToken(events[len(events)-1].Sequence)
	}
	return res, nil
}
