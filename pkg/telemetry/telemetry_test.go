package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

func setUpTelemetry(t *testing.T, cfg telemetry.Config, w io.Writer) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.SetUpTelemetry(t.Context(), cfg, w)
	if err != nil {
		t.Fatalf("SetUpTelemetry: %v", err)
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
		{"set up without export", setUpTelemetry(t, telemetry.DefaultConfig("test", "v1"), io.Discard)},
		{"discarding", telemetry.NewDiscard()},
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
			telemetry.InjectContext(ctx, header)

			ctx = telemetry.ExtractContext(t.Context(), header)
			if got := trace.SpanContextFromContext(ctx); got.TraceID() != want.TraceID() || got.SpanID() != want.SpanID() ||
				!got.IsRemote() {
				t.Errorf("extracted: got %v, want %v, remote", got, want)
			}
			_, child := tt.tel.Tracer.Start(ctx, "ocr")
			defer child.End()
			if got := child.SpanContext(); got.TraceID() != want.TraceID() || got.SpanID() == want.SpanID() {
				t.Errorf("child: got %v, want another span of trace %v", got, want.TraceID())
			}
			if len(header) != 2 || header.Get("Nats-Msg-Id") == "" ||
				!strings.HasPrefix(header.Get("traceparent"), "00-"+want.TraceID().String()) {
				t.Errorf("header: got %v, want the message id and traceparent", header)
			}
		})
	}
}

func TestExtractIgnoresWhatIsNoTraceContext(t *testing.T) {
	t.Parallel()
	for _, header := range []nats.Header{nil, {}, {"traceparent": nil}, {"traceparent": {"nonsense"}},
		{"baggage": {"user=alice"}}} {
		ctx := telemetry.ExtractContext(t.Context(), header)
		if got := trace.SpanContextFromContext(ctx); got.IsValid() {
			t.Errorf("ExtractContext(%v): got %v, want no span context", header, got)
		}
		again := nats.Header{}
		telemetry.InjectContext(ctx, again)
		if len(again) != 0 {
			t.Errorf("InjectContext after ExtractContext(%v): got %v, want nothing", header, again)
		}
	}
}

func TestMetricsShowWhatWasRecorded(t *testing.T) {
	t.Parallel()
	tel := setUpTelemetry(t, telemetry.DefaultConfig("test", "v1"), io.Discard)
	ctx, m := t.Context(), tel.Metrics
	m.RecordStageDuration(ctx, "ocr", "batch", "ok", 300*time.Millisecond)
	m.RecordQueueWait(ctx, "ocr", "batch", -time.Second)
	m.CountRedelivery(ctx, "render")
	m.CountDeadLetter(ctx, "scan")
	m.CountPages(ctx, "native_text", 16)
	m.CountPages(ctx, "native_text", 4)
	m.CountEndedJob(ctx, "PARTIAL")
	m.RecordEngineTime(ctx, "pdf", 2*time.Millisecond)
	m.CountChildRestart(ctx, "tesseract", "timeout")
	m.CountUpload(ctx, "ok", 1000)
	m.CountUpload(ctx, "TOO_LARGE", 24)
	m.RecordDependency(ctx, "nats", true)
	m.RecordDependency(ctx, "clamd", true)
	m.RecordDependency(ctx, "clamd", false)
	m.SandboxWall(ctx, "pdfium", "seccomp", true)
	observe(t, m)

	rec := httptest.NewRecorder()
	tel.MetricsHandler().ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil))
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
		`inkstream_sandbox_wall{engine="pdfium",wall="seccomp"} 1`,
		`inkstream_queue_tasks{lane="batch",stage="ocr",state="waiting"} 3`,
		`inkstream_queue_tasks{lane="batch",stage="ocr",state="in_hand"} 2`,
		`inkstream_queue_oldest_seconds{lane="batch",stage="ocr"} 1080`, // and some
		`inkstream_queue_oldest_seconds{lane="batch",stage="scan"} 0`,
		`inkstream_stage_processes{stage="ocr"} 4`,
		`inkstream_dead_letters_kept{stage="ocr"} 5`,
		`inkstream_stream_messages{stream="INK_OCR"} 5`,
		`inkstream_stream_bytes{stream="INK_OCR"} 600`,
		`inkstream_stream_replicas_behind{stream="INK_OCR"} 1`,
		`inkstream_disk_free_bytes{disk="data"} `,
		`inkstream_disk_size_bytes{disk="data"} `,
		`inkstream_certificate_expiry_timestamp_seconds{certificate="gateway"} 1.7e+09`,
		`inkstream_jobs_open{tenant="t12"} 12`,
		`inkstream_jobs_open{tenant="(others)"} 3`,
		`go_goroutines `,
		`process_resident_memory_bytes `,
	} {
		if !strings.Contains(rec.Body.String(), "\n"+want) {
			t.Errorf("GET /metrics: no line begins %q in\n%s", want, inkstreamMetrics(rec.Body.String()))
		}
	}
}

// observe registers what is asked for when metrics are collected. The broker's answer comes with an error, as where
// one stream has no leader.
func observe(t *testing.T, m *telemetry.Metrics) {
	t.Helper()
	_, brokerErr := m.ObserveBroker(func(context.Context) (telemetry.Broker, error) {
		return telemetry.Broker{
			Queues: []telemetry.Queue{
				{Stage: "ocr", Lane: "batch", Waiting: 3, InHand: 2, Oldest: time.Now().Add(-3 * time.Hour)},
				{Stage: "scan", Lane: "batch"},
			},
			Stages:  []telemetry.Stage{{Name: "ocr", Processes: 4, DeadLetters: 5}},
			Streams: []telemetry.Stream{{Name: "INK_OCR", Messages: 5, Bytes: 600, Behind: 1}},
		}, errors.New("no leader of another")
	})
	_, diskErr := m.ObserveDisk("data", t.TempDir())
	_, certErr := m.ObserveCertificate("gateway", func() time.Time { return time.Unix(1_700_000_000, 0) })
	_, jobsErr := m.ObserveOpenJobs(func() map[string]int {
		open := map[string]int{}
		for i := range 12 {
			open[fmt.Sprintf("t%d", i+1)] = i + 1
		}
		return open
	})
	if err := errors.Join(brokerErr, diskErr, certErr, jobsErr); err != nil {
		t.Fatal(err)
	}
}

// inkstreamMetrics returns the lines of a scrape that are this package's.
func inkstreamMetrics(scrape string) string {
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
	tel := setUpTelemetry(t, telemetry.Config{Service: "test", LogFormat: telemetry.FormatJSON}, &out)
	ctx, span := tel.Tracer.Start(t.Context(), "ocr")
	defer span.End()
	ids := map[string]any{"trace_id": span.SpanContext().TraceID().String(),
		"span_id": span.SpanContext().SpanID().String()}
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
	if err := config.ParseFlags(fs, []string{"--log.format=json"}, func(k string) string { return env[k] }); err != nil {
		t.Fatalf("Parse: %v", err)
	}
	var out bytes.Buffer
	setUpTelemetry(t, cfg, &out).Log.Debug("shown")
	if !strings.HasPrefix(out.String(), "{") || !strings.Contains(out.String(), `"level":"DEBUG"`) {
		t.Errorf("log line: got %q, want JSON at level DEBUG", out.String())
	}
}

func TestSetupReportsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := telemetry.SetUpTelemetry(t.Context(),
		telemetry.Config{LogFormat: "xml", OTLPEndpoint: "user:sesame@collector:4317"}, io.Discard)
	if err == nil {
		t.Fatalf("SetUpTelemetry: got no error, want one")
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
	tel := telemetry.NewDiscard()
	for b.Loop() {
		_, span := tel.Tracer.Start(b.Context(), "ocr")
		span.End()
	}
}
