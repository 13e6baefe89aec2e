package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

// Those who run the server see what it does for all tenants; a tenant sees its own part.
func TestTenantsSeeTheirOwnNumbers(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, nil)
	_, acme := r.NewKey(admin, `{"tenant":"acme","scopes":["write"]}`)
	_, other := r.NewKey(admin, `{"tenant":"other","scopes":["admin"]}`)
	_, reader := r.NewKey(admin, `{"tenant":"default","scopes":["read"]}`)
	for range 3 {
		if code, _, body := r.RequestWithKey(http.MethodPost, "/v1/jobs", acme, "application/pdf", "%PDF"); code != http.StatusAccepted {
			t.Fatalf("upload: %d %s", code, body)
		}
	}
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		for key, want := range map[string]int64{acme: 3, other: 0, admin: 3, reader: 3} {
			list := &inkstreamv1.ListStagesResponse{}
			gatewaytest.CheckError(t, call(t.Context(), key, "ListStages", &inkstreamv1.ListStagesRequest{History: true}, list), "")
			if len(list.GetStages()) != len(bus.AllStages()) {
				t.Fatalf("got %v, want every stage", list)
			}
			own := key == acme || key == other
			for _, st := range list.GetStages() {
				n := st.GetWaiting()[string(bus.Interactive)] + st.GetInFlight()
				if bus.Stage(st.GetName()) == bus.Ingest && n != want || own && (st.GetHistory() != nil || len(st.GetProcesses()) > 0) {
					t.Errorf("got %v, want %d tasks at ingest, of history and processes: %v", st, want, !own)
				}
			}
		}
	})
	for key, all := range map[string]bool{acme: false, other: false, admin: true, reader: true} {
		code, _, body := r.RequestWithKey(http.MethodGet, "/metrics", key, "", "")
		if code != http.StatusOK || strings.Contains(string(body), "inkstream_uploads_total") != all {
			t.Errorf("metrics: got %d %.300s, want those of all: %v", code, body, all)
		}
	}
	r.DeadLetter(r.NewJob(gatewaytest.SetRunning), job.DefaultTenant)
	list := &inkstreamv1.ListStagesResponse{}
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		gatewaytest.CheckError(t, call(t.Context(), acme, "ListStages", &inkstreamv1.ListStagesRequest{}, list), "")
		for _, st := range list.GetStages() {
			if st.GetDeadLetters() != 0 {
				t.Errorf("a tenant is told of another's dead letters: %v", st)
			}
		}
	})
}

// Servers that ask for keys bound what a tenant may use, and no tenant's administrator gives more than that.
func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, nil)
	_, acme := r.NewKey(admin, `{"tenant":"acme","scopes":["admin"]}`)
	open := gatewaytest.Start(t, nil)
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		me := &inkstreamv1.Caller{}
		gatewaytest.CheckError(t, call(t.Context(), acme, "GetCaller", &inkstreamv1.GetCallerRequest{}, me), "")
		if me.GetMaxJobs() == 0 || me.GetMaxBytesPerDay() == 0 {
			t.Errorf("with keys: got %v, want limits", me)
		}
		for _, tc := range []struct {
			key  string
			more int32
			want string
		}{{acme, 0, ""}, {acme, 1, "PERMISSION_DENIED"}, {admin, 1, ""}} {
			err := call(t.Context(), tc.key, "CreateKey", &inkstreamv1.CreateKeyRequest{Tenant: "acme", Scopes: []string{"write"},
				MaxJobs: me.GetMaxJobs() + tc.more}, &inkstreamv1.Key{})
			if (err == nil) != (tc.want == "") {
				t.Errorf("%d jobs more than the server's limit: got %v, want %q", tc.more, err, tc.want)
			}
		}
	})
	gatewaytest.EachCaller(t, open, func(t *testing.T, call gatewaytest.Caller) {
		me := &inkstreamv1.Caller{}
		gatewaytest.CheckError(t, call(t.Context(), "", "GetCaller", &inkstreamv1.GetCallerRequest{}, me), "")
		if me.GetMaxJobs() != 0 || me.GetMaxBytesPerDay() != 0 {
			t.Errorf("without keys: got %v, want no limits", me)
		}
	})
}
