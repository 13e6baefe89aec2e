package watch_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
)

// A watch ends with the key that it was begun with, whether that is revoked, replaced or expires.
func TestWatchesEndWithTheirKey(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, nil)
	at := "/v1/jobs/" + string(r.NewJob(gatewaytest.SetRunning).ID)
	watchers := func() int {
		_, n := r.Service.Components().Watches.CountWatches()
		return n
	}
	end := map[string]func(id string){
		"revoked": func(id string) {
			if code, _, body := r.RequestWithKey(http.MethodDelete, "/v1/keys/"+id, admin, "", ""); code != http.StatusOK {
				t.Errorf("revoke: %d %s", code, body)
			}
		},
		"rotated": func(id string) {
			if code, _, body := r.RequestWithKey(http.MethodPost, "/v1/keys/"+id+":rotate", admin, "", ""); code != http.StatusOK {
				t.Errorf("rotate: %d %s", code, body)
			}
		},
		"expired": func(string) {},
	}
	for how, stop := range end {
		for _, path := range []string{at + "/watch", "/v1/jobs:watch", at + "?wait=50s"} {
			t.Run(how+path, func(t *testing.T) {
				fields := `{"scopes":["read"]}`
				if how == "expired" {
					fields = `{"scopes":["read"],"expireTime":"` + time.Now().Add(3*time.Second).UTC().Format(time.RFC3339Nano) + `"}`
				}
				id, key := r.NewKey(admin, fields)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.BaseURL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+key)
				before := watchers()
				ended := make(chan error, 1)
				go func() {
					res, err := r.Web.Do(req)
					if err == nil {
						_, err = io.Copy(io.Discard, res.Body)
						res.Body.Close()
					}
					ended <- err
				}()
				gatewaytest.Eventually(t, "the watch is open", func() bool { return watchers() > before })
				stop(id)
				if err := <-ended; err != nil {
					t.Errorf("the watch goes on: %v", err)
				}
			})
		}
	}
	id, key := r.NewKey(admin, `{"scopes":["read"]}`)
	stream, err := r.RPC.WatchJobs(gatewaytest.WithKey(t.Context(), key), &inkstreamv1.WatchJobsRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	end["revoked"](id)
	for err == nil {
		_, err = stream.Recv()
	}
	gatewaytest.CheckError(t, gatewaytest.RPCError(err), apierror.Unauthenticated)
}
