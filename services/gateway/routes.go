package gateway

import (
	"context"
	"mime"
	"net/http"

	"google.golang.org/grpc"

	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/docs"
	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/gateway/internal/inbound"
	"inkstream.dev/services/gateway/rest"
	"inkstream.dev/services/gateway/ui"
	"inkstream.dev/services/gateway/watch"
)

// serveMetrics is GET /metrics: all of it for those who run the server, a tenant's own for others.
func (s *Service) serveMetrics(w http.ResponseWriter, r *http.Request) {
	caller := access.CallerFrom(r.Context())
	if caller.RunsServer() {
		s.deps.Tel.MetricsHandler().ServeHTTP(w, r)
		return
	}
	s.deps.Tel.TenantMetricsHandler(caller.Tenant).ServeHTTP(w, r)
}

// newHTTPServer returns the REST server. It calls the gRPC server through conn.
func (s *Service) newHTTPServer(base context.Context, admission *gate.Gate, listener *inbound.Listener,
	conn *grpc.ClientConn) (*http.Server, error) {
	p := s.components
	shell := rest.New(rest.Config{StallTimeout: s.cfg.StallTimeout, TLS: s.cfg.Access.TLSCert != "", Limits: p.Limits, Prepare: p.Tus.Prepare,
		Listener: listener},
		admission, s.errors, s.deps.Tel, s.log, &s.workers)
	calls, err := shell.NewCallMux(base, conn)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	shell.HandleMethods(mux, "/v1/jobs", map[string]http.HandlerFunc{http.MethodGet: calls.ServeHTTP,
		http.MethodPost: func(w http.ResponseWriter, r *http.Request) {
			if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == rest.JSONType {
				p.Uploads.HandleCreateJob(w, r)
				return
			}
			p.Uploads.HandleUpload(w, r)
		}})
	mux.Handle("/v1/jobs/{id}", p.Watches.ServeJobStatus(calls))
	shell.HandleMethods(mux, "/v1/jobs/{id}/watch",
		map[string]http.HandlerFunc{http.MethodGet: shell.AllowParameters(p.Watches.HandleWatch, watch.LastEventParameter)})
	shell.HandleMethods(mux, "/v1/jobs/{id}/artifacts/{name...}",
		map[string]http.HandlerFunc{http.MethodGet: shell.AllowParameters(p.Results.HandleDownload)})
	shell.HandleMethods(mux, "/v1/jobs/{id}/artifacts.zip",
		map[string]http.HandlerFunc{http.MethodGet: shell.AllowParameters(p.Results.HandleArchive)})
	shell.HandleMethods(mux, "/v1/jobs/{id}/pages/{number}",
		map[string]http.HandlerFunc{http.MethodGet: p.Results.ServePage(rest.WithConditionalGet(calls)).ServeHTTP})
	shell.HandleMethods(mux, "/v1/jobs/{id}/pages/{number}/image",
		map[string]http.HandlerFunc{http.MethodGet: p.Results.ServePageImage(p.Results.LimitImageAnswers(calls),
			p.Results.LimitImageAnswers(rest.WithConditionalGet(calls)))})
	shell.HandleMethods(mux, "/v1/jobs:watch", map[string]http.HandlerFunc{http.MethodGet: p.Watches.HandleWatchJobs()})
	shell.HandleMethods(mux, "/healthz", map[string]http.HandlerFunc{http.MethodGet: rest.ServeHealth})
	shell.HandleMethods(mux, "/readyz", map[string]http.HandlerFunc{http.MethodGet: s.status.ServeHTTP})
	shell.HandleMethods(mux, "/metrics", map[string]http.HandlerFunc{http.MethodGet: s.serveMetrics})
	shell.HandleMethods(mux, gate.SessionPath, map[string]http.HandlerFunc{http.MethodGet: admission.DescribeSignIn,
		http.MethodPost: admission.SignIn(s.errors), http.MethodDelete: admission.SignOut(s.errors)})
	shell.HandleMethods(mux, gate.SignInPath, map[string]http.HandlerFunc{http.MethodGet: admission.BeginSignIn(s.errors)})
	shell.HandleMethods(mux, gate.CallbackPath, map[string]http.HandlerFunc{http.MethodGet: admission.EndSignIn(s.errors)})
	p.Tus.RegisterRoutes(shell, mux)
	if s.cfg.Compat {
		p.Compat.RegisterRoutes(shell, mux)
	}
	if err := docs.RegisterDocs(shell, mux); err != nil {
		return nil, err
	}
	mux.Handle("/v1/", calls)
	mux.Handle("/v1/jobs/{id}/artifacts", calls) // else the address would be sent on to the one with a slash at its end
	root := http.HandlerFunc(shell.ServeNotFound)
	if s.cfg.UI {
		mux.Handle(ui.Path, ui.Handler())
		root = ui.RedirectBrowsers(root)
	}
	mux.Handle("/", root)
	return shell.NewServer(base, mux), nil
}
