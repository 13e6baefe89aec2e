package search_test

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"net/url"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/rest"
)

// A filter names a label with a value, or any value of it; and what an upload over REST says of its labels may hold
// commas.
func TestListByLabel(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	labels := map[string]string{"team": "ops, Berlin", "case": "17"}
	text, err := json.Marshal(labels)
	if err != nil {
		t.Fatal(err)
	}
	code, _, body := r.RequestWithKey(http.MethodPost, "/v1/jobs?labels="+url.QueryEscape(string(text)), "", rest.PDFType,
		"%PDF")
	v := &inkstreamv1.Job{}
	if err := protojson.Unmarshal(body, v); err != nil || code != http.StatusAccepted ||
		!maps.Equal(v.GetLabels(), labels) {
		t.Fatalf("got %d %v, %v, want the labels %v", code, v.GetLabels(), err, labels)
	}
	rec, err := r.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(v.GetId()))
	if err == nil {
		err = r.Index.PutDocument(t.Context(), projection.IndexDocument(rec))
	}
	if err != nil {
		t.Fatal(err)
	}
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		for _, tt := range []struct {
			label []string
			jobs  int
			want  fault.Code
		}{
			{nil, 1, ""}, {[]string{"team"}, 1, ""}, {[]string{"team=ops, Berlin", "case"}, 1, ""},
			{[]string{"team=ops"}, 0, ""}, {[]string{"ops"}, 0, ""},
			{[]string{"team", "none"}, 0, ""}, {[]string{"=x"}, 0, fault.InvalidArgument},
			{[]string{""}, 0, fault.InvalidArgument},
		} {
			list := &inkstreamv1.ListJobsResponse{}
			err := call(t.Context(), "", "ListJobs",
				&inkstreamv1.ListJobsRequest{Filter: &inkstreamv1.JobFilter{Label: tt.label}}, list)
			gatewaytest.CheckError(t, err, tt.want)
			if len(list.GetJobs()) != tt.jobs {
				t.Errorf("labels %q: got %v, want %d jobs", tt.label, list.GetJobs(), tt.jobs)
			}
		}
	})
}

// A bound is one however far away it lies: what is to be deleted before a time when there was nothing is nothing.
func TestListByTimesFarAway(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	rec := r.NewJob(gatewaytest.SetRunning)
	if err := r.Index.PutDocument(t.Context(), projection.IndexDocument(rec)); err != nil {
		t.Fatal(err)
	}
	begin, end := &timestamppb.Timestamp{Seconds: -62135596800}, &timestamppb.Timestamp{Seconds: 253402300799} // the years 1 and 9999
	for _, tt := range []struct {
		after, before *timestamppb.Timestamp
		jobs          int
		want          fault.Code
	}{
		{after: begin, jobs: 1}, {before: end, jobs: 1}, {after: begin, before: end, jobs: 1}, {before: begin}, {after: end},
		{before: &timestamppb.Timestamp{}}, {after: &timestamppb.Timestamp{}, jobs: 1},
		{before: &timestamppb.Timestamp{Seconds: math.MaxInt64}, want: fault.InvalidArgument},
		{before: &timestamppb.Timestamp{Seconds: math.MinInt64}, want: fault.InvalidArgument},
	} {
		f := &inkstreamv1.JobFilter{CreateAfter: tt.after, CreateBefore: tt.before}
		list := &inkstreamv1.ListJobsResponse{}
		gatewaytest.CheckError(t, r.CallRPC(t.Context(), "", "ListJobs", &inkstreamv1.ListJobsRequest{Filter: f}, list), tt.want)
		if len(list.GetJobs()) != tt.jobs {
			t.Errorf("after %v, before %v: got %v, want %d jobs", tt.after, tt.before, list.GetJobs(), tt.jobs)
		}
	}
	did := &inkstreamv1.BatchJobsResponse{}
	f := &inkstreamv1.BatchJobsRequest{Filter: &inkstreamv1.JobFilter{CreateBefore: begin}}
	gatewaytest.CheckError(t, r.CallRPC(t.Context(), "", "DeleteJobs", f, did), "")
	if did.GetDone() != 0 || did.GetSkipped() != 0 {
		t.Errorf("delete what is from before the year 1: got %v, want nothing", did)
	}
}
