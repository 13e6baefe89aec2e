package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

func TestGetJobShowsProgressThenRecord(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	p := r.ProgressOf(rec)
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		v, err := a.Job(t.Context(), strings.ToUpper(string(rec.ID)))
		gatewaytest.CheckError(t, err, "")
		if v.GetState() != inkstreamv1.Job_RUNNING || v.GetPageCount() != 5 || v.GetPagesDone() != 3 ||
			v.GetEndTime() != nil || v.GetError() != nil {
			t.Errorf("got %v", v)
		}
		if got, want := fmt.Sprint(v.GetOutcomes()), "map[failed:1 native_text:1 ocr:1]"; got != want {
			t.Errorf("got outcomes %s, want %s", got, want)
		}
		var stages []string
		for _, s := range v.GetStages() {
			stages = append(stages, fmt.Sprintf("%s %d %g %t", s.GetName(), s.GetUnitsDone(), s.GetBusySeconds(),
				s.GetEndTime() != nil))
		}
		if got, want := strings.Join(stages, ", "),
			"ingest 1 1 true, scan 1 1 true, render 1 3 false, index 1 1 false"; got != want {
			t.Errorf("got stages %s, want %s", got, want)
		}
		if f := v.GetFailures(); len(f) != 1 || f[0].GetPage() != 2 || f[0].GetReason() != "timeout" ||
			f[0].GetCode() != "PAGE_TIMEOUT" {
			t.Errorf("got failures %v, want page 2", f)
		}
	})
	if _, err := p.SetOutcomes([]job.Outcome{
		{Page: 4, Kind: outcome.Failed, Code: fault.EngineCrashed},
		{Page: 5, Kind: outcome.Failed, Code: fault.PageTimeout},
	}); err != nil {
		t.Fatal(err)
	}
	r.Update(rec, func(rec *job.Record) error { return rec.FinishRun(p, gatewaytest.When.Add(time.Minute)) })
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		v, err := a.Job(t.Context(), string(rec.ID))
		gatewaytest.CheckError(t, err, "")
		if v.GetState() != inkstreamv1.Job_PARTIAL || v.GetPagesDone() != 5 || v.GetEndTime() == nil {
			t.Errorf("got %v, want PARTIAL with 5 pages", v)
		}
		var failures []string
		for _, f := range v.GetFailures() {
			failures = append(failures, fmt.Sprintf("%d %s", f.GetPage(), f.GetCode()))
		}
		if got, want := strings.Join(failures, ", "), "2 PAGE_TIMEOUT, 4 ENGINE_CRASHED, 5 PAGE_TIMEOUT"; got != want {
			t.Errorf("got failures %s, want %s", got, want)
		}
		for _, s := range v.GetStages() {
			if s.GetEndTime() == nil {
				t.Errorf("stage %s has no end in a job that has ended", s.GetName())
			}
		}
	})
}

func TestGetJobThatWasRejectedOrCutShort(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rejected := r.NewJob(nil)
	r.Update(rejected, gatewaytest.SetFailed(job.Rejected, fault.Encrypted))
	cut := r.NewJob(gatewaytest.SetRunning)
	r.ProgressOf(cut)
	r.Update(cut, gatewaytest.SetFailed(job.Failed, fault.DocumentTimeout))
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		v, err := a.Job(t.Context(), string(rejected.ID))
		gatewaytest.CheckError(t, err, "")
		if e := v.GetError(); v.GetState() != inkstreamv1.Job_REJECTED || e.GetCode() != "ENCRYPTED" ||
			e.GetStage() != "ingest" || e.GetRetryable() {
			t.Errorf("got %v, want REJECTED as ENCRYPTED by ingest", v)
		}
		v, err = a.Job(t.Context(), string(cut.ID))
		gatewaytest.CheckError(t, err, "")
		if v.GetState() != inkstreamv1.Job_FAILED || v.GetPagesDone() != 3 || !v.GetError().GetRetryable() {
			t.Errorf("got %v, want FAILED with the 3 pages that were through", v)
		}
	})
}

func TestJobJSONShowsZeroes(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(nil)
	res, body := r.Get(t, "/v1/jobs/"+string(rec.ID), nil)
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("got content type %q, want application/json", got)
	}
	for _, want := range []string{
		`"state": "PENDING"`, `"pageCount": 0`, `"pagesDone": 0`, `"outcomes": {}`, `"stages": []`, `"sizeBytes": 7`,
		`"createTime": "2`, `"lane": "interactive"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the JSON has no %s:\n%s", want, body)
		}
	}
	for _, unwanted := range []string{"null", `"error"`, `"endTime"`} {
		if strings.Contains(body, unwanted) {
			t.Errorf("the JSON has %s:\n%s", unwanted, body)
		}
	}
	if !strings.HasSuffix(body, "}\n") {
		t.Error("the JSON does not end with a line feed")
	}
}

func TestUnknownJobs(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	const old = "01arz3ndektsv4rrffq69g5fav" // a valid id of 2016
	for _, id := range []string{old, "x", "01arz3ndektsv4rrffq69g5fa", "../../etc", "job.default.*", "%00",
		strings.Repeat("a", 5000)} {
		gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
			_, err := a.Job(t.Context(), id)
			gatewaytest.CheckError(t, err, fault.JobNotFound)
			_, err = a.Artifacts(t.Context(), id)
			gatewaytest.CheckError(t, err, fault.JobNotFound)
			_, _, err = a.Download(t.Context(), id, "text.txt")
			gatewaytest.CheckError(t, err, fault.JobNotFound)
			_, err = a.Page(t.Context(), id, 1)
			gatewaytest.CheckError(t, err, fault.JobNotFound)
			err = a.Watch(t.Context(), id, func(*inkstreamv1.Job) bool { return true })
			gatewaytest.CheckError(t, err, fault.JobNotFound)
		})
	}
	// One that might have been made this very moment is looked for a little longer.
	_, err := gatewaytest.RPCAPI{C: r.RPC}.Job(t.Context(), string(job.NewID()))
	gatewaytest.CheckError(t, err, fault.JobNotFound)
}

func TestJobThatAReplicaDoesNotKnowYetIsFound(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := &job.Record{ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Pending}
	time.AfterFunc(100*time.Millisecond, func() {
		if err := r.Deps.Jobs.CreateRecord(t.Context(), rec); err != nil {
			t.Errorf("create: %v", err)
		}
	})
	_, err := gatewaytest.RPCAPI{C: r.RPC}.Job(t.Context(), string(rec.ID))
	gatewaytest.CheckError(t, err, "")
}
