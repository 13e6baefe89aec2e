package gateway_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/lifecycle"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/rest"
)

func TestReadinessFollowsNATS(t *testing.T) {
	t.Parallel()
	srv := bustest.StartServer(t)
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		s.Cfg.CreateTimeout = 100 * time.Millisecond
		s.Bus = bustest.Connect(t, srv)
		if err := s.Bus.Provision(t.Context(), bus.Topology{}); err != nil {
			t.Fatalf("provision: %v", err)
		}
	})
	health := healthv1.NewHealthClient(r.Conn)
	serving := func() string {
		res, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "inkstream.v1.InkstreamService"})
		if err != nil {
			return err.Error()
		}
		return res.GetStatus().String()
	}
	watch, err := health.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	wantNext := func(want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if res, err := watch.Recv(); err != nil || res.GetStatus() != want {
			t.Errorf("health watch: got %v (%v), want %v", res, err, want)
		}
	}
	wantNext(healthv1.HealthCheckResponse_SERVING)
	res, body := r.Get(t, "/readyz", nil)
	var report lifecycle.Report
	if err := json.Unmarshal([]byte(body), &report); err != nil {
		t.Fatalf("readyz: %v: %s", err, body)
	}
	if res.StatusCode != 200 || !report.Ready || !report.Checks["nats"].Up || !report.Checks["blobs"].Up ||
		report.Info["durability"] != "sync" {
		t.Errorf("got %d %s, want all up and the durability", res.StatusCode, body)
	}
	if got := serving(); got != "SERVING" {
		t.Errorf("gRPC health: got %s, want SERVING", got)
	}

	srv.ShutDown()
	gatewaytest.Eventually(t, "readyz is red", func() bool {
		res, _ := r.Get(t, "/readyz", nil)
		return res.StatusCode == http.StatusServiceUnavailable
	})
	wantNext(healthv1.HealthCheckResponse_NOT_SERVING)
	if got := serving(); got != "NOT_SERVING" {
		t.Errorf("gRPC health: got %s, want NOT_SERVING", got)
	}
	if res, body := r.Get(t, "/healthz", nil); res.StatusCode != 200 || body != "ok\n" {
		t.Errorf("healthz: got %d %q, want 200 ok", res.StatusCode, body)
	}
	// All at once, because each waits for a while for the broker to come back.
	var wg sync.WaitGroup
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		ctx := r.T.Context()
		for _, key := range []string{"k", ""} {
			wg.Go(func() {
				_, err := a.Upload(ctx, gatewaytest.Document{Data: strings.NewReader("%PDF"), Key: key})
				gatewaytest.CheckError(r.T, err, fault.Unavailable)
			})
		}
		wg.Go(func() {
			_, err := a.Job(ctx, "01arz3ndektsv4rrffq69g5fav")
			gatewaytest.CheckError(r.T, err, fault.Unavailable)
		})
	})
	wg.Wait()
	if keys := r.BlobKeys(); len(keys) > 0 {
		t.Errorf("blobs are left: %v", keys)
	}
	if res, _ := r.Get(t, "/v1/jobs/01arz3ndektsv4rrffq69g5fav", nil); res.Header.Get("Retry-After") == "" {
		t.Error("a 503 has no Retry-After")
	}
}

func TestUnknownAddressesAndMethodsAnswerJSON(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	for _, tt := range []struct {
		method, path string
		want         fault.Code
		allow        string
	}{
		{"GET", "/", apierror.NotFound, ""},
		{"GET", "/v1/", apierror.NotFound, ""},
		{"GET", "/v1/nothing", apierror.NotFound, ""},
		{"GET", "/v2/jobs", apierror.NotFound, ""},
		{"GET", "/v1/jobs/x/y", apierror.NotFound, ""},
		{"GET", "/v1/jobs", apierror.NoIndex, ""},
		{"PUT", "/v1/jobs", apierror.MethodNotAllowed, "GET, HEAD, POST"},
		{"PUT", "/v1/jobs/01arz3ndektsv4rrffq69g5fav", apierror.MethodNotAllowed, "GET, HEAD, DELETE"},
		{"GET", "/v1/jobs/01arz3ndektsv4rrffq69g5fav:cancel", fault.JobNotFound, ""},
		{"DELETE", "/v1/jobs/x/events", apierror.MethodNotAllowed, "GET, HEAD"},
		{"PUT", "/v1/deadletters/1:retry", apierror.MethodNotAllowed, "POST"},
		{"POST", "/v1/jobs/x/watch", apierror.MethodNotAllowed, "GET, HEAD"},
		{"POST", "/v1/jobs/x/artifacts/text.txt", apierror.MethodNotAllowed, "GET, HEAD"},
		{"POST", "/healthz", apierror.MethodNotAllowed, "GET, HEAD"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, r.BaseURL+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		err = gatewaytest.ErrorOf(res)
		res.Body.Close()
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			gatewaytest.CheckError(t, err, tt.want)
			if got := res.Header.Get("Allow"); got != tt.allow {
				t.Errorf("Allow: got %q, want %q", got, tt.allow)
			}
		})
	}
	// Dots in an address lead nowhere.
	for _, path := range []string{"/v1/jobs/../../etc/passwd", "/v1/jobs/%2e%2e/%2e%2e/x", "/v1//jobs"} {
		if res, _ := r.Get(t, path, nil); res.StatusCode == http.StatusOK {
			t.Errorf("%s: got 200", path)
		}
	}
	rec := r.NewJob(nil)
	if res, body := r.Do(t, http.MethodHead, "/v1/jobs/"+string(rec.ID), nil); res.StatusCode != 200 || body != "" ||
		res.ContentLength < 100 {
		t.Errorf("HEAD of a job: got %d, length %d", res.StatusCode, res.ContentLength)
	}
}

func TestInternalErrorsStayInside(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	r.PutBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 1), "secret garbage")
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		_, err := a.Page(t.Context(), string(rec.ID), 1)
		gatewaytest.CheckError(t, err, fault.Internal)
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "decode")) {
			t.Errorf("the error tells too much: %v", err)
		}
	})
	res, _ := r.Get(t, "/v1/jobs/"+string(rec.ID)+"/pages/1", map[string]string{"X-Request-Id": "find-me"})
	if got := res.Header.Get("X-Request-Id"); got != "find-me" {
		t.Errorf("got request id %q, want find-me", got)
	}
	failed := 0
	for line := range strings.Lines(r.Logs.String()) {
		if strings.Contains(line, "request=find-me") && strings.Contains(line, "request failed") {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("the failure was logged %d times, want once:\n%s", failed, r.Logs)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	for _, tt := range []struct {
		given string
		kept  bool
	}{{"abc-1", true}, {"", false}, {strings.Repeat("x", 129), false}, {"a b", false}, {"ä", false}} {
		res, _ := r.Get(t, "/healthz", map[string]string{"X-Request-Id": tt.given})
		got := res.Header.Get("X-Request-Id")
		if tt.kept && got != tt.given || !tt.kept && (got == tt.given || got == "") {
			t.Errorf("REST: given %q, got %q; want it kept: %t", tt.given, got, tt.kept)
		}
	}
	var header metadata.MD
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "abc-2")
	if _, err := r.RPC.GetJob(ctx, &inkstreamv1.GetJobRequest{Id: "x"}, grpc.Header(&header)); err == nil {
		t.Error("got no error for a job that does not exist")
	}
	if got := header.Get("x-request-id"); len(got) != 1 || got[0] != "abc-2" {
		t.Errorf("gRPC: got request id %q, want abc-2", got)
	}
}

func TestTraceContextGoesIntoTheQueue(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.BaseURL+"/v1/jobs", strings.NewReader("%PDF"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", rest.PDFType)
	req.Header.Set("Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	res, err := r.Web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	stream, err := r.Deps.Bus.JetStream().Stream(t.Context(), bus.Ingest.StreamName())
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := msg.Header.Get("traceparent"); !strings.Contains(got, id) {
		t.Errorf("got traceparent %q, want trace %s", got, id)
	}
}

func TestMetricsAndReflection(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	if _, err := (gatewaytest.RPCAPI{C: r.RPC}).Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF")}); err != nil {
		t.Fatal(err)
	}
	if _, body := r.Get(t, "/metrics", nil); !strings.Contains(body, `inkstream_uploads_total{result="ok"} 1`) {
		t.Errorf("the metrics do not count the upload:\n%s", body)
	}
	stream, err := reflectionv1.NewServerReflectionClient(r.Conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	}); err != nil {
		t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range res.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "inkstream.v1.InkstreamService") ||
		!strings.Contains(got, "grpc.health.v1.Health") {
		t.Errorf("reflection lists %s", got)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
}

func TestStopLetsUploadFinish(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	for _, a := range []gatewaytest.API{gatewaytest.RESTAPI{Gateway: r, Form: true}} {
		pr, pw := io.Pipe()
		answered := make(chan error)
		go func() {
			v, err := a.Upload(t.Context(), gatewaytest.Document{Data: pr, Filename: "a"})
			if err == nil && v.GetSizeBytes() != 8 {
				t.Errorf("got %d bytes, want 8", v.GetSizeBytes())
			}
			answered <- err
		}()
		_, _ = io.WriteString(pw, "half")
		gatewaytest.Eventually(t, "the upload has begun", func() bool { return r.Service.Components().Limits.UploadsUnderWay() == 1 })
		stopped := make(chan error)
		go func() { stopped <- r.Stop() }()
		<-r.Service.Stopping()
		_, _ = io.WriteString(pw, "half")
		pw.Close()
		gatewaytest.CheckError(t, <-answered, "")
		if err := <-stopped; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	}
}

func TestStopCutsWhatOutlastsTheDrain(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.DrainTimeout = 200 * time.Millisecond })
	for _, a := range []gatewaytest.API{gatewaytest.RESTAPI{Gateway: r}, gatewaytest.RPCAPI{C: r.RPC}} {
		pr, pw := io.Pipe()
		defer pw.Close()
		go func() { _, _ = io.WriteString(pw, "half") }()
		go func() { _, _ = a.Upload(context.Background(), gatewaytest.Document{Data: pr}) }()
	}
	gatewaytest.Eventually(t, "the uploads have begun", func() bool { return r.Service.Components().Limits.UploadsUnderWay() == 2 })
	if err := r.Stop(); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
	if n := r.Service.Components().Limits.UploadsUnderWay(); n != 0 {
		t.Errorf("%d uploads outlive Run", n)
	}
	r.WantNoJobs()
}

func TestAddressInUseIsAnError(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	cfg := gateway.DefaultConfig()
	cfg.HTTPAddr, cfg.GRPCAddr = "127.0.0.1:0", r.Service.Addrs().GRPC
	s, err := gateway.New(cfg, r.Deps, lifecycle.NewStatus(), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context(), func() { t.Error("ready was called") })
	if err == nil || !strings.Contains(err.Error(), "listen for gRPC") {
		t.Errorf("got %v, want that it cannot listen for gRPC", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	cfg := gateway.DefaultConfig()
	fs := flag.NewFlagSet("gateway", flag.ContinueOnError)
	cfg.Register(fs)
	if err := config.ParseFlags(fs, []string{"--gateway.max-upload", "2MB"}, func(k string) string {
		return map[string]string{"GATEWAY_HTTP": ":0"}[k]
	}); err != nil {
		t.Fatal(err)
	}
	if cfg.MaxUploadBytes != 2*config.MB || cfg.HTTPAddr != ":0" {
		t.Errorf("got %+v", cfg)
	}
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "--auth=none") {
		t.Errorf("an address that everybody can reach, without authentication: got %v, want what to do about it", err)
	}
	for _, auth := range []string{gateway.AuthNone, gateway.AuthKeys} {
		cfg.Access.Auth = auth
		if err := cfg.Validate(); err != nil {
			t.Errorf("Validate with --auth=%s: %v", auth, err)
		}
	}
	bad := gateway.Config{HTTPAddr: "x", GRPCAddr: ":0", MaxUploadBytes: 5 * config.GB, Retention: -1, DrainTimeout: -1}
	err := bad.Validate()
	for _, name := range []string{"gateway.http", "gateway.max-upload", "gateway.retention", "gateway.stall-timeout",
		"gateway.drain-timeout"} {
		if err == nil || !strings.Contains(err.Error(), name+": ") {
			t.Errorf("got %v, want it to name %s", err, name)
		}
	}
}

func TestSecureHeaders(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	for path, policy := range map[string]string{"/healthz": "default-src 'none'", "/v1/jobs/x": "default-src 'none'",
		"/docs/": "default-src 'self'"} {
		res, _ := r.Get(t, path, nil)
		h := res.Header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" ||
			h.Get("Referrer-Policy") != "no-referrer" ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), policy) || h.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: got %v", path, h)
		}
	}
}
