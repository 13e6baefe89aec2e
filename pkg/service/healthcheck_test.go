package service

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	answer := func(status int) *httptest.Server {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"missing": "nats"}`))
		})
		srv := httptest.NewServer(mux)
		t.Cleanup(srv.Close)
		return srv
	}
	ready, waiting := answer(http.StatusOK), answer(http.StatusServiceUnavailable)
	port := func(s *httptest.Server) string { return s.URL[strings.LastIndex(s.URL, ":"):] }
	for _, tt := range []struct {
		name, ops string
		args      []string
		want      string // part of the error; empty for none
	}{
		{"ready", "127.0.0.1" + port(ready), nil, ""},
		{"ready on every address", "0.0.0.0" + port(ready), nil, ""},
		{"ready by the flag", "127.0.0.1:1", []string{"--ops", port(ready)}, ""},
		{"what is missing is told", "127.0.0.1" + port(waiting), nil, `{"missing": "nats"}`},
		{"nothing listens", "127.0.0.1:1", nil, "connection refused"},
		{"no fixed port", "", nil, "want one with a port"},
		{"unknown flag", "", []string{"--opps", "x"}, "-opps"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := runHealthcheck(context.Background(), "scan", tt.args, func(name string) string {
				if name == "OPS" {
					return tt.ops
				}
				return ""
			})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
