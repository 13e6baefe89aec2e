package search_test

import (
	"fmt"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

// Jobs are counted as a list has them: by state, by the code that they ended with, by label.
func TestCountJobs(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	for i, state := range []job.State{job.Failed, job.Failed, job.Rejected, job.Running} {
		rec := r.NewJob(func(rec *job.Record) {
			rec.Labels = map[string]string{"team": []string{"ops", "law"}[i%2]}
		})
		rec.State = state
		switch state {
		case job.Failed:
			rec.Error = &job.Fault{Code: fault.DocumentTimeout}
		case job.Rejected:
			rec.Error = &job.Fault{Code: fault.NotAPDF}
		}
		if err := r.Index.PutDocument(t.Context(), projection.IndexDocument(rec)); err != nil {
			t.Fatal(err)
		}
	}
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		for _, tt := range []struct {
			name   string
			req    *inkstreamv1.CountJobsRequest
			states string
			codes  string
			labels string
		}{
			{"all", &inkstreamv1.CountJobsRequest{Labels: true}, "map[FAILED:2 REJECTED:1 RUNNING:1]",
				"map[DOCUMENT_TIMEOUT:2 NOT_A_PDF:1]", "team=law:2 team=ops:2 "},
			{"without labels", &inkstreamv1.CountJobsRequest{}, "map[FAILED:2 REJECTED:1 RUNNING:1]",
				"map[DOCUMENT_TIMEOUT:2 NOT_A_PDF:1]", ""},
			{"of a code", &inkstreamv1.CountJobsRequest{Filter: &inkstreamv1.JobFilter{Code: "NOT_A_PDF"}},
				"map[REJECTED:1]", "map[NOT_A_PDF:1]", ""},
			{"of a state", &inkstreamv1.CountJobsRequest{Filter: &inkstreamv1.JobFilter{
				State: []inkstreamv1.Job_State{inkstreamv1.Job_RUNNING}}}, "map[RUNNING:1]", "map[]", ""},
		} {
			resp := &inkstreamv1.CountJobsResponse{}
			gatewaytest.CheckError(t, call(t.Context(), "", "CountJobs", tt.req, resp), "")
			labels, total := "", int64(0)
			for _, l := range resp.GetLabels() {
				labels += fmt.Sprintf("%s=%s:%d ", l.GetName(), l.GetValue(), l.GetCount())
			}
			for _, n := range resp.GetStates() {
				total += n
			}
			if got := fmt.Sprint(resp.GetStates()); got != tt.states || total != resp.GetTotal() {
				t.Errorf("%s: got %d jobs with states %s, want %s", tt.name, resp.GetTotal(), got, tt.states)
			}
			if got := fmt.Sprint(resp.GetCodes()); got != tt.codes || labels != tt.labels {
				t.Errorf("%s: got codes %s and labels %q, want %s and %q", tt.name, got, labels, tt.codes, tt.labels)
			}
		}
	})
}
