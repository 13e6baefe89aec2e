package gateway

import (
	"context"
	"strconv"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	defaultPageSize = 100
	maxPageSize     = 1000
)

// parsePageRequest reads where a listing goes on and how long it may be. A token is the number of the last entry that
// was sent.
func parsePageRequest(size int32, token string) (after uint64, limit int, err error) {
	if size < 0 {
		return 0, 0, invalidField(fault.InvalidArgument, "page_size", "page size %d, want 0 or more", size)
	}
	if size == 0 {
		size = defaultPageSize
	}
	if token != "" {
		if after, err = strconv.ParseUint(token, 10, 64); err != nil {
			return 0, 0, invalidField(fault.InvalidArgument, "page_token", "the page token is none that this server gave out")
		}
	}
	return after, int(min(size, maxPageSize)), nil
}

func encodeToken(last uint64) string { return strconv.FormatUint(last, 10) }

// ListEvents answers a job's audit trail. It outlives the job.
func (s *Service) ListEvents(ctx context.Context,
	req *inkstreamv1.ListEventsRequest) (*inkstreamv1.ListEventsResponse, error) {
	ref, err := parseJobRef(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	after, limit, err := parsePageRequest(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	events, more, err := s.deps.Bus.ListEvents(ctx, ref.tenant, string(ref.id), after, limit)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		if _, err := s.loadAnyRecord(ctx, ref); err != nil {
			// A refused upload has no record; its event comes a moment after its answer, and that moment is over now.
			events, more, _ = s.deps.Bus.ListEvents(ctx, ref.tenant, string(ref.id), after, limit)
			if len(events) == 0 {
				return nil, err
			}
		}
	}
	res := &inkstreamv1.ListEventsResponse{}
	for _, e := range events {
		res.Events = append(res.Events, &inkstreamv1.Event{
			Id: encodeToken(e.Sequence), Time: e.GetTime(), Type: e.GetType(), Run: e.GetRun(), Stage: e.GetStage(),
			Page: e.GetPage(),
			Code: e.GetCode(), Attributes: e.GetAttributes(),
		})
	}
	if more {
		res.NextPageToken = encodeToken(events[len(events)-1].Sequence)
	}
	return res, nil
}
