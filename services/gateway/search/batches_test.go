package search_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	index "inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

// Batches are listed the newest first, with their jobs by state, a page after the other.
func TestListBatches(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	ids := []job.ID{job.NewID(), job.NewID(), job.NewID()}
	slices.Sort(ids) // those of one millisecond have no order
	for i, state := range []job.State{job.Succeeded, job.Running, job.Failed, job.Succeeded, job.Succeeded, job.Succeeded} {
		rec := r.NewJob(func(rec *job.Record) {
			rec.PageCount = i + 1
			if i < 5 {
				rec.Batch = ids[i%3]
			}
		})
		rec.State = state
		if err := r.Index.PutDocument(t.Context(), projection.IndexDocument(rec)); err != nil {
			t.Fatal(err)
		}
	}
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		var got []string
		pages := 0
		for token := ""; ; pages++ {
			resp := &inkstreamv1.ListBatchesResponse{}
			gatewaytest.CheckError(t, call(t.Context(), "", "ListBatches",
				&inkstreamv1.ListBatchesRequest{PageSize: 2, PageToken: token}, resp), "")
			for _, b := range resp.GetBatches() {
				at := slices.Index(ids, job.ID(b.GetId()))
				got = append(got, fmt.Sprint(at, b.GetStates(), b.GetJobCount(), b.GetPageCount(), b.GetDone(), b.GetCreateTime().IsValid()))
			}
			if token = resp.GetNextPageToken(); token == "" {
				break
			}
		}
		want := []string{
			"2 map[FAILED:1] 1 3 true true", "1 map[RUNNING:1 SUCCEEDED:1] 2 7 false true", "0 map[SUCCEEDED:2] 2 5 true true",
		}
		if !slices.Equal(got, want) || pages != 1 {
			t.Errorf("got %q in %d pages, want %q in 2", got, pages+1, want)
		}
		gatewaytest.CheckError(t, call(t.Context(), "", "ListBatches", &inkstreamv1.ListBatchesRequest{PageToken: "none"},
			&inkstreamv1.ListBatchesResponse{}), "INVALID_ARGUMENT")
	})
}

// A batch of many documents is counted whole, and shows the first of them.
func TestLargeBatch(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	const total, succeeded = 1100, 1095
	batch := string(job.NewID())
	var docs []index.Document
	for i := range total {
		created := gatewaytest.When.Add(time.Duration(i) * time.Second)
		d := index.Document{Tenant: job.DefaultTenant, Job: string(job.NewIDAt(created)), State: string(job.Succeeded), PageCount: 2,
			CreateTime: created, Labels: map[string]string{job.BatchLabel: batch}}
		if i >= succeeded {
			d.State, d.PageCount = string(job.Pending), 0
		}
		docs = append(docs, d)
	}
	if err := r.Index.PutDocuments(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	b, err := r.RPC.GetBatch(t.Context(), &inkstreamv1.GetBatchRequest{Id: batch}, gatewaytest.AnySize())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.GetJobs()) != 1000 || b.GetJobs()[0].GetId() != docs[0].Job {
		t.Errorf("%d jobs are shown, want the first 1000", len(b.GetJobs()))
	}
	if b.GetStates()["SUCCEEDED"] != succeeded || b.GetStates()["PENDING"] != total-succeeded || b.GetPageCount() != 2*succeeded || b.GetDone() {
		t.Errorf("got states %v, %d pages, done %t; want %d succeeded, %d pending, %d pages, not done", b.GetStates(), b.GetPageCount(),
			b.GetDone(), succeeded, total-succeeded, 2*succeeded)
	}
}
