package gateway

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
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
)

func TestReadinessFollowsNATS(t *testing.T) {
	t.Parallel()
	srv := bustest.StartServer(t)
	r := startGateway(t, func(s *fixtureOptions) {
		s.createTimeout = 100 * time.Millisecond
		s.bus = bustest.Connect(t, srv)
		if err := s.bus.Provision(t.Context(), bus.Topology{}); err != nil {
			t.Fatalf("provision: %v", err)
		}
	})
	health := healthv1.NewHealthClient(r.conn)
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
	res, body := r.get(t, "/readyz", nil)
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
	eventually(t, "readyz is red", func() bool {
		res, _ := r.get(t, "/readyz", nil)
		return res.StatusCode == http.StatusServiceUnavailable
	})
	wantNext(healthv1.HealthCheckResponse_NOT_SERVING)
	if got := serving(); got != "NOT_SERVING" {
		t.Errorf("gRPC health: got %s, want NOT_SERVING", got)
	}
	if res, body := r.get(t, "/healthz", nil); res.StatusCode != 200 || body != "ok\n" {
		t.Errorf("healthz: got %d %q, want 200 ok", res.StatusCode, body)
	}
	// All at once, because each waits for a while for the broker to come back.
	var wg sync.WaitGroup
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		ctx := r.t.Context()
		for _, key := range []string{"k", ""} {
			wg.Go(func() {
				_, err := a.upload(ctx, testUpload{data: strings.NewReader("%PDF"), key: key})
				checkError(r.t, err, fault.Unavailable)
			})
		}
		wg.Go(func() {
			_, err := a.job(ctx, "01arz3ndektsv4rrffq69g5fav")
			checkError(r.t, err, fault.Unavailable)
		})
	})
	wg.Wait()
	if keys := r.blobKeys(); len(keys) > 0 {
		t.Errorf("blobs are left: %v", keys)
	}
	if res, _ := r.get(t, "/v1/jobs/01arz3ndektsv4rrffq69g5fav", nil); res.Header.Get("Retry-After") == "" {
		t.Error("a 503 has no Retry-After")
	}
}

func TestUnknownAddressesAndMethodsAnswerJSON(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	for _, tt := range []struct {
		method, path string
		want         fault.Code
		allow        string
	}{
		{"GET", "/", notFound, ""},
		{"GET", "/v1/", notFound, ""},
		{"GET", "/v1/nothing", notFound, ""},
		{"GET", "/v2/jobs", notFound, ""},
		{"GET", "/v1/jobs/x/y", notFound, ""},
		{"GET", "/v1/jobs", noIndex, ""},
		{"PUT", "/v1/jobs", methodNotAllowed, "GET, HEAD, POST"},
		{"PUT", "/v1/jobs/01arz3ndektsv4rrffq69g5fav", methodNotAllowed, "GET, HEAD, DELETE"},
		{"GET", "/v1/jobs/01arz3ndektsv4rrffq69g5fav:cancel", fault.JobNotFound, ""},
		{"DELETE", "/v1/jobs/x/events", methodNotAllowed, "GET, HEAD"},
		{"PUT", "/v1/deadletters/1:retry", methodNotAllowed, "POST"},
		{"POST", "/v1/jobs/x/watch", methodNotAllowed, "GET, HEAD"},
		{"POST", "/v1/jobs/x/artifacts/text.txt", methodNotAllowed, "GET, HEAD"},
		{"POST", "/healthz", methodNotAllowed, "GET, HEAD"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, r.base+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		err = errorOf(res)
		res.Body.Close()
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			checkError(t, err, tt.want)
			if got := res.Header.Get("Allow"); got != tt.allow {
				t.Errorf("Allow: got %q, want %q", got, tt.allow)
			}
		})
	}
	// Dots in an address lead nowhere.
	for _, path := range []string{"/v1/jobs/../../etc/passwd", "/v1/jobs/%2e%2e/%2e%2e/x", "/v1//jobs"} {
		if res, _ := r.get(t, path, nil); res.StatusCode == http.StatusOK {
			t.Errorf("%s: got 200", path)
		}
	}
	rec := r.newJob(nil)
	if res, body := r.do(t, http.MethodHead, "/v1/jobs/"+string(rec.ID), nil); res.StatusCode != 200 || body != "" ||
		res.ContentLength < 100 {
		t.Errorf("HEAD of a job: got %d, length %d", res.StatusCode, res.ContentLength)
	}
}

func TestInternalErrorsStayInside(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(setRunning)
	r.putBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 1), "secret garbage")
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		_, err := a.page(t.Context(), string(rec.ID), 1)
		checkError(t, err, fault.Internal)
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "decode")) {
			t.Errorf("the error tells too much: %v", err)
		}
	})
	res, _ := r.get(t, "/v1/jobs/"+string(rec.ID)+"/pages/1", map[string]string{"X-Request-Id": "find-me"})
	if got := res.Header.Get("X-Request-Id"); got != "find-me" {
		t.Errorf("got request id %q, want find-me", got)
	}
	failed := 0
	for line := range strings.Lines(r.logs.String()) {
		if strings.Contains(line, "request=find-me") && strings.Contains(line, "request failed") {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("the failure was logged %d times, want once:\n%s", failed, r.logs)
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	h := r.svc.wrapRequest(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("ouch") }))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/", nil))
	res := w.Result()
	checkError(t, errorOf(res), fault.Internal)
	_, err := r.svc.interceptUnary(t.Context(), nil, &grpc.UnaryServerInfo{},
		func(context.Context, any) (any, error) { panic("ouch") })
	checkError(t, rpcError(err), fault.Internal)
	if !strings.Contains(r.logs.String(), "server_test.go") {
		t.Error("the log has no stack of the panic")
	}
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // recover gives back the very value, of any type
			t.Errorf("got panic %v, want http.ErrAbortHandler once an answer is under way", v)
		}
	}()
	h = r.svc.wrapRequest(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("ouch")
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/", nil))
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	for _, tt := range []struct {
		given string
		kept  bool
	}{{"abc-1", true}, {"", false}, {strings.Repeat("x", 129), false}, {"a b", false}, {"ä", false}} {
		res, _ := r.get(t, "/healthz", map[string]string{"X-Request-Id": tt.given})
		got := res.Header.Get("X-Request-Id")
		if tt.kept && got != tt.given || !tt.kept && (got == tt.given || got == "") {
			t.Errorf("REST: given %q, got %q; want it kept: %t", tt.given, got, tt.kept)
		}
	}
	var header metadata.MD
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "abc-2")
	if _, err := r.rpc.GetJob(ctx, &inkstreamv1.GetJobRequest{Id: "x"}, grpc.Header(&header)); err == nil {
		t.Error("got no error for a job that does not exist")
	}
	if got := header.Get("x-request-id"); len(got) != 1 || got[0] != "abc-2" {
		t.Errorf("gRPC: got request id %q, want abc-2", got)
	}
}

func TestTraceContextGoesIntoTheQueue(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base+"/v1/jobs", strings.NewReader("%PDF"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", pdfType)
	req.Header.Set("Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	res, err := r.web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	stream, err := r.deps.Bus.JetStream().Stream(t.Context(), bus.Ingest.StreamName())
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
	r := startGateway(t, nil)
	if _, err := (rpcAPI{r.rpc}).upload(t.Context(), testUpload{data: strings.NewReader("%PDF")}); err != nil {
		t.Fatal(err)
	}
	if _, body := r.get(t, "/metrics", nil); !strings.Contains(body, `inkstream_uploads_total{result="ok"} 1`) {
		t.Errorf("the metrics do not count the upload:\n%s", body)
	}
	stream, err := reflectionv1.NewServerReflectionClient(r.conn).ServerReflectionInfo(t.Context())
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
	r := startGateway(t, nil)
	for _, a := range []testAPI{restAPI{r, true, ""}} {
		pr, pw := io.Pipe()
		answered := make(chan error)
		go func() {
			v, err := a.upload(t.Context(), testUpload{data: pr, filename: "a"})
			if err == nil && v.GetSizeBytes() != 8 {
				t.Errorf("got %d bytes, want 8", v.GetSizeBytes())
			}
			answered <- err
		}()
		_, _ = io.WriteString(pw, "half")
		eventually(t, "the upload has begun", func() bool { return len(r.svc.uploadSlots) == 1 })
		stopped := make(chan error)
		go func() { stopped <- r.stop() }()
		<-r.svc.stopping
		_, _ = io.WriteString(pw, "half")
		pw.Close()
		checkError(t, <-answered, "")
		if err := <-stopped; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	}
}

func TestStopCutsWhatOutlastsTheDrain(t *testing.T) {
	t.Parallel()
	r := startGateway(t, func(s *fixtureOptions) { s.cfg.DrainTimeout = 200 * time.Millisecond })
	for _, a := range []testAPI{restAPI{r, false, ""}, rpcAPI{r.rpc}} {
		pr, pw := io.Pipe()
		defer pw.Close()
		go func() { _, _ = io.WriteString(pw, "half") }()
		go func() { _, _ = a.upload(context.Background(), testUpload{data: pr}) }()
	}
	eventually(t, "the uploads have begun", func() bool { return len(r.svc.uploadSlots) == 2 })
	if err := r.stop(); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
	if n := len(r.svc.uploadSlots); n != 0 {
		t.Errorf("%d uploads outlive Run", n)
	}
	r.wantNoJobs()
}

func TestAddressInUseIsAnError(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	cfg := DefaultConfig()
	cfg.HTTPAddr, cfg.GRPCAddr = "127.0.0.1:0", r.svc.Addrs().GRPC
	s, err := New(cfg, r.deps, lifecycle.NewStatus(), nil)
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
	cfg := DefaultConfig()
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
	for _, auth := range []string{AuthNone, AuthKeys} {
		cfg.Access.Auth = auth
		if err := cfg.Validate(); err != nil {
			t.Errorf("Validate with --auth=%s: %v", auth, err)
		}
	}
	bad := Config{HTTPAddr: "x", GRPCAddr: ":0", MaxUploadBytes: 5 * config.GB, Retention: -1, DrainTimeout: -1}
	err := bad.Validate()
	for _, name := range []string{"gateway.http", "gateway.max-upload", "gateway.retention", "gateway.stall-timeout",
		"gateway.drain-timeout"} {
		if err == nil || !strings.Contains(err.Error(), name+": ") {
			t.Errorf("got %v, want it to name %s", err, name)
		}
	}
}

func TestCleanFilename(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"a.pdf", "a.pdf"},
		{"", ""},
		{"/etc/passwd", "passwd"},
		{`C:\Users\x\a.pdf`, "a.pdf"},
		{"..", ""},
		{"../..", ""},
		{"a/", ""},
		{" a\x00\r\n\tb.pdf ", "ab.pdf"},
		{"\xff\xfe.pdf", "\uFFFD.pdf"},
		{"exe.\u202Efdp.pdf", "exe.fdp.pdf"},
		{"日本語.pdf", "日本語.pdf"},
		{strings.Repeat("ä", 200), strings.Repeat("ä", 127)},
	} {
		if got := cleanFilename(tt.in); got != tt.want {
			t.Errorf("cleanFilename(%q): got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestEveryCodeHasAnAnswer(t *testing.T) {
	t.Parallel()
	for code, a := range codeStatuses {
		st := statusFromError(fault.New(code, "m"))
		if st.Code() != a.rpc || httpStatusOf(st) != a.http || reasonOfStatus(st) != code {
			t.Errorf("%s: got %s, %d, %s, want %s, %d", code, st.Code(), httpStatusOf(st), reasonOfStatus(st), a.rpc, a.http)
		}
	}
	if st := statusFromError(fault.New("NEW_CODE", "secret")); reasonOfStatus(st) != fault.Internal ||
		strings.Contains(st.Message(), "secret") {
		t.Errorf("a code without an answer: got %v, want INTERNAL", st)
	}
}

func TestSecureHeaders(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	for path, policy := range map[string]string{"/healthz": "default-src 'none'", "/v1/jobs/x": "default-src 'none'",
		"/docs/": "default-src 'self'"} {
		res, _ := r.get(t, path, nil)
		h := res.Header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" ||
			h.Get("Referrer-Policy") != "no-referrer" ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), policy) || h.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: got %v", path, h)
		}
	}
}
