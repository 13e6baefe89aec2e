package gate_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
)

// A browser signs in with a key, and is from then on known by a cookie that scripts cannot read and other origins
// cannot use. It may do what the key may, and ends with it.
func TestSessions(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, nil)
	id, secret := r.NewKey(admin, `{"scopes":["read"]}`)
	send := func(method, path, body string, head map[string]string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, r.BaseURL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range head {
			req.Header.Set(name, value)
		}
		resp, err := r.Web.Transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp, resp.Header.Get("Set-Cookie")
	}
	if resp, set := send(http.MethodPost, "/v1/session", `{"key":"ink_0000000000000000_x"}`, nil); resp.StatusCode != 401 || set != "" {
		t.Errorf("with a key that is none: got %d and cookie %q, want 401", resp.StatusCode, set)
	}
	foreign := map[string]string{"Sec-Fetch-Site": "cross-site"}
	if resp, _ := send(http.MethodPost, "/v1/session", `{"key":"`+secret+`"}`, foreign); resp.StatusCode != http.StatusForbidden {
		t.Errorf("from another origin: got %d, want 403", resp.StatusCode)
	}
	resp, set := send(http.MethodPost, "/v1/session", `{"key":"`+secret+`"}`, map[string]string{"X-Forwarded-Proto": "https"})
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Secure", "Path=/;", "Expires="} {
		if resp.StatusCode != http.StatusNoContent || !strings.Contains(set+";", want) {
			t.Errorf("got %d with cookie %q, want %s", resp.StatusCode, set, want)
		}
	}
	if strings.Contains(set, id) || strings.Contains(set, secret) {
		t.Errorf("the cookie %q tells the key", set)
	}
	cookie, _, _ := strings.Cut(set, ";")
	_, sealed, _ := strings.Cut(cookie, "=")
	for _, tt := range []struct {
		name, method, path string
		head               map[string]string
		want               int
	}{
		{"may read", http.MethodGet, "/v1/me", map[string]string{"Cookie": cookie}, 200},
		{"may not write", http.MethodPost, "/v1/jobs/x:cancel", map[string]string{"Cookie": cookie}, 403},
		{"not from another origin", http.MethodPost, "/v1/jobs/x:cancel",
			map[string]string{"Cookie": cookie, "Sec-Fetch-Site": "same-site"}, 403},
		{"not as a token", http.MethodGet, "/v1/me", map[string]string{"Authorization": "Bearer " + sealed}, 401},
		{"not as what the server makes of it", http.MethodGet, "/v1/me", map[string]string{"Authorization": "Session " + sealed}, 401},
		{"not if it was changed", http.MethodGet, "/v1/me", map[string]string{"Cookie": cookie[:len(cookie)-2] + "AA"}, 401},
		{"a key goes first", http.MethodGet, "/v1/keys", map[string]string{"Cookie": cookie, "Authorization": "Bearer " + admin}, 200},
	} {
		if resp, _ := send(tt.method, tt.path, "", tt.head); resp.StatusCode != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, resp.StatusCode, tt.want)
		}
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Session "+sealed)
	_, err := r.RPC.GetCaller(ctx, &inkstreamv1.GetCallerRequest{})
	gatewaytest.CheckError(t, gatewaytest.RPCError(err), apierror.Unauthenticated)
	_, set = send(http.MethodPost, "/v1/session", `{"key":"`+secret+`"}`, nil)
	other, _, _ := strings.Cut(set, ";")
	if resp, set := send(http.MethodDelete, "/v1/session", "", map[string]string{"Cookie": other}); resp.StatusCode != 204 ||
		!strings.Contains(set, "Max-Age=0") {
		t.Errorf("sign out: got %d with %q, want the cookie gone", resp.StatusCode, set)
	}
	for cookie, want := range map[string]int{other: 401, cookie: 200} {
		if resp, _ := send(http.MethodGet, "/v1/me", "", map[string]string{"Cookie": cookie}); resp.StatusCode != want {
			t.Errorf("after one of two browsers has signed out, its cookie and the other's: got %d, want %d", resp.StatusCode, want)
		}
	}
	if _, _, body := r.RequestWithKey(http.MethodGet, "/v1/keys", admin, "", ""); strings.Contains(string(body), "ended") {
		t.Errorf("the list of keys has what is none: %s", body)
	}
	if code, _, _ := r.RequestWithKey(http.MethodPost, "/v1/keys/"+id+":rotate", admin, "", ""); code != http.StatusOK {
		t.Fatalf("rotate: got %d", code)
	}
	if resp, _ := send(http.MethodGet, "/v1/me", "", map[string]string{"Cookie": cookie}); resp.StatusCode != 401 {
		t.Errorf("after the key has another secret: got %d, want 401", resp.StatusCode)
	}
}

// A caller is told what it may do, and what the server can.
func TestGetCaller(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*gateway.Config)
		scopes string
		want   fault.Code // of a write
	}{
		{"open", nil, "read write", fault.JobNotFound},
		{"read only", func(c *gateway.Config) { c.ReadOnly = true }, "read", apierror.PermissionDenied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, admin := gatewaytest.StartWithKeys(t, tt.change)
			secret := admin
			if tt.change == nil {
				_, secret = r.NewKey(admin, `{"scopes":["write"],"max_jobs":7}`)
			}
			gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
				v := &inkstreamv1.Caller{}
				gatewaytest.CheckError(t, call(t.Context(), secret, "GetCaller", &inkstreamv1.GetCallerRequest{}, v), "")
				if got := strings.Join(v.GetScopes(), " "); got != tt.scopes || v.GetTenant() != "default" ||
					v.GetCredential() != "key" || v.GetFeatures().GetAuth() != "keys" || tt.change == nil && v.GetMaxJobs() != 7 ||
					v.GetFeatures().GetReadOnly() != (tt.change != nil) || v.GetFeatures().GetIndex() {
					t.Errorf("got %v, want the scopes %s", v, tt.scopes)
				}
				err := call(t.Context(), secret, "CancelJob", &inkstreamv1.CancelJobRequest{Id: string(gatewaytest.UnknownJob)},
					&inkstreamv1.Job{})
				gatewaytest.CheckError(t, err, tt.want)
			})
		})
	}
}
