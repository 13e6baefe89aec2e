package admin

import (
	"context"
	"time"

	"inkstream.dev/pkg/bus"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/jobview"
)

// ListStages answers how the stages stand. All tenants share the queues: those who run the server see them whole, others
// their own part.
func (s *Service) ListStages(ctx context.Context,
	req *inkstreamv1.ListStagesRequest) (*inkstreamv1.ListStagesResponse, error) {
	resp := &inkstreamv1.ListStagesResponse{}
	if caller := access.CallerFrom(ctx); !caller.RunsServer() {
		stages, err := s.deps.Bus.QueryTenantStages(ctx, caller.Tenant)
		for _, st := range stages {
			resp.Stages = append(resp.Stages, stageToProto(st))
		}
		return resp, err
	}
	stages, err := s.deps.Bus.QueryStageStatuses(ctx)
	if err != nil {
		return nil, err
	}
	for _, st := range stages {
		v := stageToProto(st)
		v.Processes = s.history.processesToProto(st.Stage, time.Now())
		if req.GetHistory() {
			v.History = s.history.historyToProto(st.Stage)
		}
		resp.Stages = append(resp.Stages, v)
	}
	return resp, nil
}

func stageToProto(st bus.StageStatus) *inkstreamv1.Stage {
	v := &inkstreamv1.Stage{
		Name: string(st.Stage), Waiting: map[string]int64{}, InFlight: st.InFlight, Oldest: jobview.TimeToProto(st.Oldest),
		Rate:        st.Rate,
		DeadLetters: st.DeadLetters, Replicas: int32(st.Replicas),
	}
	total := int64(0)
	for lane, n := range st.Waiting {
		v.Waiting[string(lane)] = n
		total += n
	}
	if st.Rate > 0 {
		v.EtaSeconds = float64(total+st.InFlight) / st.Rate
	}
	return v
}
