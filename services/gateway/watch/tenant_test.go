package watch_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/rest"
)

// changeStream calls see with the changes of a stream until it returns false.
type changeStream func(ctx context.Context, t *testing.T, see func(*inkstreamv1.JobChange) bool)

func streamRPC(r *gatewaytest.Gateway, filter *inkstreamv1.JobFilter) changeStream {
	return func(ctx context.Context, t *testing.T, see func(*inkstreamv1.JobChange) bool) {
		t.Helper()
		stream, err := r.RPC.WatchJobs(ctx, &inkstreamv1.WatchJobsRequest{Filter: filter})
		for err == nil {
			var c *inkstreamv1.JobChange
			if c, err = stream.Recv(); err == nil && !see(c) {
				return
			}
		}
		t.Fatalf("the stream ended: %v", err)
	}
}

func streamREST(r *gatewaytest.Gateway, query, accept string) changeStream {
	return func(ctx context.Context, t *testing.T, see func(*inkstreamv1.JobChange) bool) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.BaseURL+"/v1/jobs:watch?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		res, err := r.Web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("got %d, want a stream", res.StatusCode)
		}
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			line := strings.TrimPrefix(lines.Text(), "data: ")
			if !strings.HasPrefix(line, "{") {
				continue
			}
			c := &inkstreamv1.JobChange{}
			if err := protojson.Unmarshal([]byte(line), c); err != nil {
				t.Fatal(err)
			}
			if !see(c) {
				return
			}
		}
		t.Fatal("the stream ended")
	}
}

// awaitBucketWatch returns when changes of jobs reach their watchers. Until then one is told to read its list again
// instead, perhaps a second time.
func awaitBucketWatch(t *testing.T, r *gatewaytest.Gateway) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	streamRPC(r, nil)(ctx, t, func(c *inkstreamv1.JobChange) bool {
		if c.GetReset_() {
			r.NewJob(nil)
		}
		return c.GetReset_()
	})
}

// A tenant's stream begins with a reset, and tells of jobs that come, change and go, of another tenant's nothing. A
// filter says which of them match.
func TestWatchJobs(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	awaitBucketWatch(t, r)
	failed := &inkstreamv1.JobFilter{State: []inkstreamv1.Job_State{inkstreamv1.Job_FAILED}, Filename: "SCAN",
		Label: []string{"team=ops"}}
	query := "state=FAILED&filename=SCAN&label=team%3Dops"
	for name, follow := range map[string]changeStream{
		"grpc": streamRPC(r, failed), "rest": streamREST(r, query, rest.JSONType),
		"rest sse": streamREST(r, query, rest.EventStreamType),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var rec *job.Record
			var seen []string
			follow(ctx, t, func(c *inkstreamv1.JobChange) bool {
				if rec != nil && c.GetJob().GetId() != string(rec.ID) {
					return true
				}
				seen = append(seen, fmt.Sprint(c.GetReset_(), c.GetJob().GetState(), c.GetMatches()))
				switch len(seen) {
				case 1:
					r.NewJob(func(rec *job.Record) { rec.Tenant = "other" })
					rec = r.NewJob(func(rec *job.Record) {
						rec.Filename, rec.Labels = "a scan.pdf", map[string]string{"team": "ops"}
					})
				case 2:
					r.Update(rec, gatewaytest.SetFailed(job.Failed, fault.DocumentTimeout))
				case 3:
					if res, _ := r.Do(t, http.MethodDelete, "/v1/jobs/"+string(rec.ID), nil); res.StatusCode != http.StatusOK {
						t.Errorf("delete: got %d", res.StatusCode)
					}
				case 4:
					return false
				}
				return true
			})
			want := "true STATE_UNSPECIFIED false, false PENDING false, false FAILED true, false DELETED false"
			if got := strings.Join(seen, ", "); got != want {
				t.Errorf("saw %s, want %s", got, want)
			}
		})
	}
	gatewaytest.Eventually(t, "no watcher is left", func() bool {
		_, watchers := r.Service.Components().Watches.CountWatches()
		return watchers == 0
	})
	if res, _ := r.Get(t, "/v1/jobs:watch?stat=FAILED", nil); res.StatusCode != http.StatusBadRequest {
		t.Errorf("with an unknown parameter: got %d, want 400", res.StatusCode)
	}
}
