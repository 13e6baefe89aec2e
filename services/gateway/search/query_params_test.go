package search_test

import (
	"net/url"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

// A list is the same by every spelling of its filter, and over gRPC.
func TestFiltersOfListsByEveryName(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	failed := r.NewJob(func(rec *job.Record) {
		gatewaytest.SetRunning(rec)
		rec.Filename, rec.Labels, rec.Batch, rec.CreateTime = "scan of one.pdf", map[string]string{"set": "own"},
			job.NewID(), gatewaytest.When
	})
	r.Update(failed, gatewaytest.SetFailed(job.Failed, fault.AllPagesFailed))
	other := r.NewJob(gatewaytest.SetRunning)
	for _, id := range []job.ID{failed.ID, other.ID} {
		rec, err := r.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, id)
		if err == nil {
			err = r.Index.PutDocument(t.Context(), projection.IndexDocument(rec))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	noon := gatewaytest.When.Add(time.Hour)
	for _, tt := range []struct {
		names  []string
		value  string
		filter *inkstreamv1.JobFilter
		want   job.ID
	}{
		{[]string{"state", "filter.state"}, "FAILED",
			&inkstreamv1.JobFilter{State: []inkstreamv1.Job_State{inkstreamv1.Job_FAILED}}, failed.ID},
		{[]string{"filename", "filter.filename"}, "ONE", &inkstreamv1.JobFilter{Filename: "ONE"}, failed.ID},
		{[]string{"label", "filter.label"}, "set=own", &inkstreamv1.JobFilter{Label: []string{"set=own"}}, failed.ID},
		{[]string{"batch", "filter.batch"}, string(failed.Batch), &inkstreamv1.JobFilter{Batch: string(failed.Batch)},
			failed.ID},
		{
			[]string{"create_before", "createBefore", "filter.create_before", "filter.createBefore"}, noon.Format(time.RFC3339),
			&inkstreamv1.JobFilter{CreateBefore: timestamppb.New(noon)}, failed.ID,
		},
		{
			[]string{"create_after", "createAfter", "filter.create_after", "filter.createAfter"}, noon.Format(time.RFC3339),
			&inkstreamv1.JobFilter{CreateAfter: timestamppb.New(noon)}, other.ID,
		},
	} {
		gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
			list := &inkstreamv1.ListJobsResponse{}
			gatewaytest.CheckError(t, call(t.Context(), "", "ListJobs", &inkstreamv1.ListJobsRequest{Filter: tt.filter}, list), "")
			gatewaytest.WantJobs(t, list, tt.want)
		})
		for _, name := range tt.names {
			gatewaytest.WantJobs(t, r.ListJobs(t, name+"="+url.QueryEscape(tt.value)), tt.want)
		}
	}
	gatewaytest.WantJobs(t, r.ListJobs(t, "state=FAILED&filter.state=RUNNING"), failed.ID, other.ID)
	gatewaytest.WantJobs(t, r.ListJobs(t, "state=FAILED&label=set&pageSize=1&page_token=&orderBy=create_time"), failed.ID)
}
