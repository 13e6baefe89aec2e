package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/telemetry"
)

func setup(t *testing.T, cfg telemetry.Config, w io.Writer) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.Setup(t.Context(), cfg, w)
	if err != nil {
		t.Fatalf("Setup: %v", err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return tel
}

func TestTraceContextRoundTripsThroughHeader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		tel  *telemetry.Telemetry
	}{
		{"set up without export", setup(t, telemetry.DefaultConfig("test", "v1"), io.Discard)},
		{"discarding", telemetry.Discard()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, span := tt.tel.Tracer.Start(t.Context(), "publish")
			defer span.End()
			want := span.SpanContext()
			if !want.IsValid() {
				t.Fatalf("span context: got an invalid one, want valid ids")
			}
			header := nats.Header{"Nats-Msg-Id": {"job.1.ocr.3"}}
			telemetry.Inject(ctx, header)

			ctx = telemetry.Extract(t.Context(), header)
			if got := trace.SpanContextFromContext(ctx); got.TraceID() != want.TraceID() || got.SpanID() != want.SpanID() || !got.IsRemote() {
				t.Errorf("extracted: got %v, want %v, remote", got, want)
			}
			_, child := tt.tel.Tracer.Start(ctx, "ocr")
			defer child.End()
			if got := child.SpanContext(); got.TraceID() != want.TraceID() || got.SpanID() == want.SpanID() {
				t.Errorf("child: got %v, want another span of trace %v", got, want.TraceID())
			}
			if len(header) != 2 || header.Get("Nats-Msg-Id") == "" || !strings.HasPrefix(header.Get("traceparent"), "00-"+want.TraceID().String()) {
				t.Errorf("header: got %v, want the message id and traceparent", header)
			}
		})
	}
}

func TestExtractIgnoresWhatIsNoTraceContext(t *testing.T) {
	t.Parallel()
	for _, header := range []nats.Header{nil, {}, {"traceparent": nil}, {"traceparent": {"nonsense"}}, {"baggage": {"user=alice"}}} {
		ctx := telemetry.Extract(t.Context(), header)
		if got := trace.SpanContextFromContext(ctx); got.IsValid() {
			t.Errorf("Extract(%v): got %v, want no span context", header, got)
		}
		again := nats.Header{}
		telemetry.Inject(ctx, again)
		if len(again) != 0 {
			t.Errorf("Inject after Extract(%v): got %v, want nothing", header, again)
		}
	}
}

func TestMetricsShowWhatWasRecorded(t *testing.T) {
	t.Parallel()
	tel := setup(t, telemetry.DefaultConfig("test", "v1"), io.Discard)
	ctx, m := t.Context(), tel.Metrics
	m.StageDuration(ctx, "ocr", "batch", "ok", 300*time.Millisecond)
	m.QueueWait(ctx, "ocr", "batch", -time.Second)
	m.Redelivery(ctx, "render")
	m.DeadLetter(ctx, "scan")
	m.Pages(ctx, "native_text", 16)
	m.Pages(ctx, "native_text", 4)
	m.JobEnded(ctx, "PARTIAL")
	m.EngineSeconds(ctx, "pdf", 2*time.Millisecond)
	m.ChildRestart(ctx, "tesseract", "timeout")
	m.Upload(ctx, "ok", 1000)
	m.Upload(ctx, "TOO_LARGE", 24)
	m.Dependency(ctx, "nats", true)
	m.Dependency(ctx, "clamd", true)
	m.Dependency(ctx, "clamd", false)

	rec := httptest.NewRecorder()
	tel.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatalf("GET /metrics: got status %d, want 200", rec.Code)
	}
	for _, want := range []string{
		`inkstream_stage_duration_seconds_bucket{lane="batch",result="ok",stage="ocr",le="0.5"} 1`,
		`inkstream_stage_duration_seconds_sum{lane="batch",result="ok",stage="ocr"} 0.3`,
		`inkstream_queue_wait_seconds_sum{lane="batch",stage="ocr"} 0`,
		`inkstream_redeliveries_total{stage="render"} 1`,
		`inkstream_dead_letters_total{stage="scan"} 1`,
		`inkstream_pages_total{outcome="native_text"} 20`,
		`inkstream_jobs_ended_total{state="PARTIAL"} 1`,
		`inkstream_engine_seconds_count{engine="pdf"} 1`,
		`inkstream_engine_child_restarts_total{engine="tesseract",reason="timeout"} 1`,
		`inkstream_uploads_total{result="TOO_LARGE"} 1`,
		`inkstream_upload_bytes_total 1024`,
		`inkstream_dependency_up{dependency="nats"} 1`,
		`inkstream_dependency_up{dependency="clamd"} 0`,
		`go_goroutines `,
		`process_resident_memory_bytes `,
	} {
		if !strings.Contains(rec.Body.String(), "\n"+want) {
			t.Errorf("GET /metrics: no line begins %q in\n%s", want, ours(rec.Body.String()))
		}
	}
}

// ours returns the lines of a scrape that are this package's.
func ours(scrape string) string {
	var b strings.Builder
	for line := range strings.Lines(scrape) {
		if strings.HasPrefix(line, "inkstream_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestLogsCarryTraceIDs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tel := setup(t, telemetry.Config{Service: "test", LogFormat: telemetry.FormatJSON}, &out)
	ctx, span := tel.Tracer.Start(t.Context(), "ocr")
	defer span.End()
	ids := map[string]any{"trace_id": span.SpanContext().TraceID().String(), "span_id": span.SpanContext().SpanID().String()}
	for _, tt := range []struct {
		name string
		ctx  context.Context
		log  *slog.Logger
		want map[string]any
	}{
		{"with a span", ctx, tel.Log, map[string]any{"n": 1.0}},
		{"with attributes", ctx, tel.Log.With("job", "j"), map[string]any{"n": 1.0, "job": "j"}},
		{"in groups", ctx, tel.Log.With("job", "j").WithGroup("a").With("x", "y").WithGroup("b"),
			map[string]any{"job": "j", "a": map[string]any{"x": "y", "b": map[string]any{"n": 1.0}}}},
		{"without a span", t.Context(), tel.Log, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out.Reset()
			tt.log.InfoContext(tt.ctx, "page read", "n", 1)
			tt.log.DebugContext(tt.ctx, "not shown")
			var got map[string]any
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("log line %q: %v", out.String(), err)
			}
			want := map[string]any{"level": "INFO", "msg": "page read", "time": got["time"], "n": 1.0}
			if tt.want != nil {
				want = map[string]any{"level": "INFO", "msg": "page read", "time": got["time"],
					"trace_id": ids["trace_id"], "span_id": ids["span_id"]}
				for k, v := range tt.want {
					want[k] = v
				}
			}
			if g, w := asJSON(t, got), asJSON(t, want); g != w {
				t.Errorf("log line: got %s, want %s", g, w)
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	return string(b)
}

func TestFlags(t *testing.T) {
	t.Parallel()
	cfg := telemetry.DefaultConfig("test", "v1")
	fs := config.NewFlagSet("test", io.Discard)
	cfg.Register(fs)
	env := map[string]string{"LOG_LEVEL": "debug"}
	if err := config.Parse(fs, []string{"--log.format=json"}, func(k string) string { return env[k] }); err != nil {
		t.Fatalf("Parse: %v", err)
	}
	var out bytes.Buffer
	setup(t, cfg, &out).Log.Debug("shown")
	if !strings.HasPrefix(out.String(), "{") || !strings.Contains(out.String(), `"level":"DEBUG"`) {
		t.Errorf("log line: got %q, want JSON at level DEBUG", out.String())
	}
}

func TestSetupReportsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := telemetry.Setup(t.Context(), telemetry.Config{LogFormat: "xml", OTLPEndpoint: "user:sesame@collector:4317"}, io.Discard)
	if err == nil {
		t.Fatalf("Setup: got no error, want one")
	}
	for _, want := range []string{"service", "log.format", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error: got %q, want it to name %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "sesame") {
		t.Errorf("error: got %q, want no password in it", err)
	}
}

func BenchmarkSpanWithoutExport(b *testing.B) {
	tel := telemetry.Discard()
	for b.Loop() {
		_, span := tel.Tracer.Start(b.Context(), "ocr")
		span.End()
	}
}
