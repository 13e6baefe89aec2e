package admin_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/gatewaytest"
)

func putIndexed(t *testing.T, r *gatewaytest.Gateway, recs ...*job.Record) {
	t.Helper()
	for _, rec := range recs {
		now, err := r.Deps.Jobs.LoadRecord(t.Context(), rec.Tenant, rec.ID)
		if err == nil {
			err = r.Index.PutDocument(t.Context(), projection.IndexDocument(now))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A dry run answers how many jobs a call would change, and changes none; ids name jobs one by one; and with a page size
// a call goes on where the one before ended.
func TestBatchCalls(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		name := t.Name()[len(t.Name())-4:] + ".pdf"
		named := func(rec *job.Record) { rec.Filename = name }
		var pending []*job.Record
		for range 5 {
			pending = append(pending, r.NewJob(named))
		}
		ended := r.NewJob(named)
		r.Update(ended, gatewaytest.SetFailed(job.Failed, fault.DocumentTimeout))
		putIndexed(t, r, append(pending, ended)...)
		filter := &inkstreamv1.JobFilter{Filename: name}

		resp := &inkstreamv1.BatchJobsResponse{}
		err := call(t.Context(), "", "CancelJobs", &inkstreamv1.BatchJobsRequest{Filter: filter, DryRun: true}, resp)
		gatewaytest.CheckError(t, err, "")
		if got := fmt.Sprint(resp.GetDone(), resp.GetSkipped(), resp.GetStates()); got != "5 1 map[FAILED:1 PENDING:5]" {
			t.Errorf("dry run: got %s, want 5 to cancel and 1 to skip", got)
		}
		ids := []string{string(pending[0].ID), string(ended.ID), string(gatewaytest.UnknownJob)}
		resp = &inkstreamv1.BatchJobsResponse{}
		err = call(t.Context(), "", "CancelJobs", &inkstreamv1.BatchJobsRequest{Ids: ids, DryRun: true}, resp)
		gatewaytest.CheckError(t, err, "")
		if resp.GetDone() != 1 || resp.GetSkipped() != 2 {
			t.Errorf("dry run of ids: got %v, want 1 to cancel and 2 to skip", resp)
		}
		if rec, err := r.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, pending[0].ID); err != nil ||
			rec.State != job.Pending {
			t.Errorf("after dry runs: got %v, %v, want a pending job", rec, err)
		}
		resp = &inkstreamv1.BatchJobsResponse{}
		gatewaytest.CheckError(t, call(t.Context(), "", "CancelJobs", &inkstreamv1.BatchJobsRequest{Ids: ids}, resp), "")
		if resp.GetDone() != 1 || resp.GetSkipped() != 2 {
			t.Errorf("by ids: got %v, want 1 cancelled and 2 skipped", resp)
		}
		token, done, skipped := "", int32(0), int32(0)
		for calls := 1; ; calls++ {
			resp = &inkstreamv1.BatchJobsResponse{}
			err = call(t.Context(), "", "CancelJobs",
				&inkstreamv1.BatchJobsRequest{Filter: filter, PageSize: 2, PageToken: token}, resp)
			gatewaytest.CheckError(t, err, "")
			done, skipped, token = done+resp.GetDone(), skipped+resp.GetSkipped(), resp.GetNextPageToken()
			if resp.GetDone()+resp.GetSkipped() > 2 || calls > 3 {
				t.Fatalf("call %d did it to %v, want 2 jobs a call", calls, resp)
			}
			if token == "" {
				break
			}
		}
		if done != 5 || skipped != 1 { // one is cancelled already, and answered as it is
			t.Errorf("page by page: got %d cancelled and %d skipped, want 5 and 1", done, skipped)
		}
		for what, bad := range map[string]*inkstreamv1.BatchJobsRequest{
			"nothing": {}, "an empty filter": {Filter: &inkstreamv1.JobFilter{}}, "both": {Filter: filter, Ids: ids},
		} {
			err := call(t.Context(), "", "DeleteJobs", bad, &inkstreamv1.BatchJobsResponse{})
			if err == nil {
				t.Errorf("%s: got no error, want one", what)
			}
			gatewaytest.CheckError(t, err, fault.InvalidArgument)
		}
	})
}

// Dead letters are grouped by stage and code, listed by either, and retried or dropped together.
func TestDeadLettersTogether(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "rest"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r := gatewaytest.Start(t, nil)
			call := r.CallRPC
			if protocol == "rest" {
				call = r.CallREST
			}
			running := r.NewJob(gatewaytest.SetRunning)
			for range 3 {
				r.DeadLetter(running, job.DefaultTenant)
			}
			other := r.DeadLetter(r.NewJob(gatewaytest.SetRunning), job.DefaultTenant)
			r.DeadLetter(running, "elsewhere")
			groups := &inkstreamv1.ListDeadLetterGroupsResponse{}
			err := call(t.Context(), "", "ListDeadLetterGroups", &inkstreamv1.ListDeadLetterGroupsRequest{}, groups)
			gatewaytest.CheckError(t, err, "")
			if g := groups.GetGroups(); len(g) != 1 || g[0].GetStage() != "render" || g[0].GetCode() != "INTERNAL" ||
				g[0].GetCount() != 4 || g[0].GetNewest() == nil {
				t.Errorf("got groups %v, want one of 4", g)
			}
			for _, tt := range []struct {
				req  *inkstreamv1.ListDeadLettersRequest
				want int
				more bool
			}{
				{&inkstreamv1.ListDeadLettersRequest{Job: string(running.ID)}, 3, false},
				{&inkstreamv1.ListDeadLettersRequest{Job: string(running.ID), PageSize: 2}, 2, true},
				{&inkstreamv1.ListDeadLettersRequest{Stage: "render", Code: "INTERNAL"}, 4, false},
				{&inkstreamv1.ListDeadLettersRequest{Stage: "ocr"}, 0, false},
			} {
				list := &inkstreamv1.ListDeadLettersResponse{}
				gatewaytest.CheckError(t, call(t.Context(), "", "ListDeadLetters", tt.req, list), "")
				if len(list.GetDeadLetters()) != tt.want || (list.GetNextPageToken() != "") != tt.more {
					t.Errorf("list of %v: got %d, more %q, want %d", tt.req, len(list.GetDeadLetters()), list.GetNextPageToken(), tt.want)
				}
			}
			for _, tt := range []struct {
				method        string
				req           *inkstreamv1.BatchDeadLettersRequest
				done, skipped int32
				left          int
			}{
				{"DropDeadLetters", &inkstreamv1.BatchDeadLettersRequest{Stage: "render", DryRun: true}, 4, 0, 4},
				{"DropDeadLetters", &inkstreamv1.BatchDeadLettersRequest{Ids: []string{other, "999999"}}, 1, 1, 3},
				{"RetryDeadLetters", &inkstreamv1.BatchDeadLettersRequest{Stage: "render", Code: "INTERNAL"}, 3, 0, 0},
			} {
				resp := &inkstreamv1.BatchDeadLettersResponse{}
				gatewaytest.CheckError(t, call(t.Context(), "", tt.method, tt.req, resp), "")
				if resp.GetDone() != tt.done || resp.GetSkipped() != tt.skipped {
					t.Errorf("%s of %v: got %v, want %d done and %d skipped", tt.method, tt.req, resp, tt.done, tt.skipped)
				}
				list := &inkstreamv1.ListDeadLettersResponse{}
				err := call(t.Context(), "", "ListDeadLetters", &inkstreamv1.ListDeadLettersRequest{}, list)
				gatewaytest.CheckError(t, err, "")
				if len(list.GetDeadLetters()) != tt.left {
					t.Errorf("after %s of %v: %d dead letters are left, want %d", tt.method, tt.req, len(list.GetDeadLetters()), tt.left)
				}
			}
			err = call(t.Context(), "", "DropDeadLetters", &inkstreamv1.BatchDeadLettersRequest{},
				&inkstreamv1.BatchDeadLettersResponse{})
			gatewaytest.CheckError(t, err, fault.InvalidArgument)
		})
	}
}

// Calls for the jobs of a filter wait for the places that lists have.
func TestBatchCallsTakeAQuerysPlace(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	rec := r.NewJob(func(rec *job.Record) { rec.Filename = "a.pdf"; rec.Batch = "b" })
	putIndexed(t, r, rec)
	as := access.WithIdentity(t.Context(), access.OpenIdentity())
	var releases []func()
	for {
		bounded, cancel := context.WithTimeout(as, 50*time.Millisecond)
		release, err := r.Service.Components().Limits.AcquireQuery(bounded)
		cancel()
		if err != nil {
			break
		}
		releases = append(releases, release)
	}
	filter := &inkstreamv1.JobFilter{Filename: "a.pdf"}
	calls := map[string]func(context.Context) error{
		"cancel": func(ctx context.Context) error {
			_, err := r.RPC.CancelJobs(ctx, &inkstreamv1.BatchJobsRequest{Filter: filter})
			return err
		},
		"dry run": func(ctx context.Context) error {
			_, err := r.RPC.DeleteJobs(ctx, &inkstreamv1.BatchJobsRequest{Filter: filter, DryRun: true})
			return err
		},
		"batch": func(ctx context.Context) error {
			_, err := r.RPC.GetBatch(ctx, &inkstreamv1.GetBatchRequest{Id: "b"})
			return err
		},
	}
	for name, call := range calls {
		bounded, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if err := call(bounded); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s: got %v while all places are taken, want it to wait", name, err)
		}
		cancel()
	}
	for _, release := range releases {
		release()
	}
	for name, call := range calls {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: got %v when places are free", name, err)
		}
	}
}
