package gate_test

import (
	"net/http"
	"testing"

	"inkstream.dev/services/gateway"
	"inkstream.dev/services/gateway/gatewaytest"
)

// Without credentials, any page open in a browser could otherwise control the server on the same machine.
func TestPagesOfOtherOriginsChangeNothing(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	path := "/v1/jobs/" + string(r.NewJob(gatewaytest.SetRunning).ID)
	for _, tc := range []struct {
		method, path string
		head         map[string]string
		want         int
	}{
		{http.MethodPost, path + ":cancel", map[string]string{"Origin": "https://example.org"}, http.StatusForbidden},
		{http.MethodPost, path + ":cancel", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{http.MethodDelete, path, map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		{http.MethodGet, path, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusOK}, // its answer is not for the page to read
		{http.MethodPost, path + ":cancel", map[string]string{"Origin": r.BaseURL, "Sec-Fetch-Site": "same-origin"},
			http.StatusOK},
		{http.MethodDelete, path, nil, http.StatusOK}, // no browser
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, r.BaseURL+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range tc.head {
			req.Header.Set(name, value)
		}
		res, err := r.Web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != tc.want {
			t.Errorf("%s %s with %v: got %d, want %d", tc.method, tc.path, tc.head, res.StatusCode, tc.want)
		}
	}
}

// A page whose name is made to resolve to this machine is of the same origin as the server. So without credentials
// the server has no name but its own.
func TestNamesThatResolveToThisMachine(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{"", gateway.AuthNone} {
		r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.Access.Auth = auth })
		path := "/v1/jobs/" + string(r.NewJob(gatewaytest.SetRunning).ID)
		for host, ours := range map[string]bool{
			"127.0.0.1:8080": true, "127.0.0.1": true, "[::1]:8080": true, "[::1]": true, "localhost:8080": true,
			"LocalHost": true, "ink.localhost:80": true,
			"10.0.0.1:8080": true, "evil.example:8080": false, "evil.example": false, "127.0.0.1.evil.example": false,
			"localhost.evil.example": false,
			"evillocalhost":          false,
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				at, want := path, http.StatusOK
				if method == http.MethodPost {
					at, want = path+":retry", http.StatusConflict // it runs
				}
				if !ours && auth == "" {
					want = http.StatusForbidden
				}
				req, err := http.NewRequestWithContext(t.Context(), method, r.BaseURL+at, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Host = host
				req.Header.Set("Sec-Fetch-Site", "same-origin")
				res, err := r.Web.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != want {
					t.Errorf("auth %q: %s of host %s: got %d, want %d", auth, method, host, res.StatusCode, want)
				}
			}
		}
	}
}
