package search_test

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/limits"
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

// A long list takes its tenant's share of memory over gRPC too, until it is sent.
func TestLongListsWaitForMemory(t *testing.T) {
	t.Parallel()
	index := gatewaytest.WithIndex(t)
	r := gatewaytest.Start(t, func(o *gatewaytest.Options) { index(o); o.Cfg.AnswerMemory = 1 << 20 })
	for range 40 {
		rec := r.NewJob(func(rec *job.Record) { rec.Filename = strings.Repeat("a", 2000) })
		if err := r.Index.PutDocument(t.Context(), projection.IndexDocument(rec)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, hold := limits.WithHold(access.WithIdentity(t.Context(), access.OpenIdentity()))
	if err := r.Service.Components().Limits.HoldMemory(ctx, 1<<30); err != nil {
		t.Fatal(err)
	}
	bounded, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := r.RPC.ListJobs(bounded, &inkstreamv1.ListJobsRequest{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v while the tenant's share is taken, want it to wait", err)
	}
	if _, err := r.RPC.ListJobs(t.Context(), &inkstreamv1.ListJobsRequest{PageSize: 1}); err != nil {
		t.Errorf("a short list: %v", err)
	}
	hold.Release()
	if got, err := r.RPC.ListJobs(t.Context(), &inkstreamv1.ListJobsRequest{}); err != nil || len(got.GetJobs()) != 40 {
		t.Errorf("got %d jobs, %v once it is given back, want 40", len(got.GetJobs()), err)
	}
}
