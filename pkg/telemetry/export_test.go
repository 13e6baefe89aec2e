package telemetry_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	colmetric "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"inkstream.dev/pkg/telemetry"
)

// collector is a gRPC server that receives OTLP as a real collector does, and keeps the names it sees.
type collector struct {
	coltrace.UnimplementedTraceServiceServer

	mu      sync.Mutex // guards what follows
	spans   []string
	traces  [][]byte
	metrics []string
	service []string
}

// Export receives spans.
func (c *collector) Export(_ context.Context,
	req *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		for _, attr := range rs.GetResource().GetAttributes() {
			if attr.GetKey() == "service.name" {
				c.service = append(c.service, attr.GetValue().GetStringValue())
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			for _, span := range ss.GetSpans() {
				c.spans = append(c.spans, span.GetName())
				c.traces = append(c.traces, span.GetTraceId())
			}
		}
	}
	return &coltrace.ExportTraceServiceResponse{}, nil
}

// metricsService is the other half of the collector: both services call their method Export.
type metricsService struct {
	colmetric.UnimplementedMetricsServiceServer
	*collector
}

// Export receives metrics.
func (s metricsService) Export(_ context.Context,
	req *colmetric.ExportMetricsServiceRequest) (*colmetric.ExportMetricsServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rm := range req.GetResourceMetrics() {
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				s.metrics = append(s.metrics, m.GetName())
			}
		}
	}
	return &colmetric.ExportMetricsServiceResponse{}, nil
}

func TestExportOverOTLP(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	got := &collector{}
	server := grpc.NewServer()
	coltrace.RegisterTraceServiceServer(server, got)
	colmetric.RegisterMetricsServiceServer(server, metricsService{collector: got})
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() { server.Stop(); serving.Wait() })

	cfg := telemetry.DefaultConfig("ocr", "v1")
	cfg.OTLPEndpoint = "http://" + listener.Addr().String()
	tel, err := telemetry.SetUpTelemetry(t.Context(), cfg, t.Output())
	if err != nil {
		t.Fatalf("SetUpTelemetry: %v", err)
	}
	ctx, span := tel.Tracer.Start(t.Context(), "ocr", trace.WithSpanKind(trace.SpanKindConsumer))
	tel.Metrics.CountPages(ctx, "ocr", 1)
	span.End()
	stop, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := tel.Shutdown(stop); err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
	if err := tel.Shutdown(stop); err != nil {
		t.Errorf("second Shutdown: got error %v, want none", err)
	}

	got.mu.Lock()
	defer got.mu.Unlock()
	if want := []string{"ocr"}; !slices.Equal(got.spans, want) || !slices.Equal(got.service, want) {
		t.Fatalf("spans: got %q of services %q, want %q of %q", got.spans, got.service, want, want)
	}
	if want := span.SpanContext().TraceID(); !bytes.Equal(got.traces[0], want[:]) {
		t.Errorf("trace id: got %x, want %s", got.traces[0], want)
	}
	if !slices.Contains(got.metrics, "inkstream.pages") {
		t.Errorf("metrics: got %q, want inkstream.pages among them", got.metrics)
	}
}

func TestUnreachableCollectorOnlyCostsTheShutdown(t *testing.T) {
	t.Parallel()
	cfg := telemetry.DefaultConfig("ocr", "v1")
	cfg.OTLPEndpoint = "http://127.0.0.1:1"
	tel, err := telemetry.SetUpTelemetry(t.Context(), cfg, t.Output())
	if err != nil {
		t.Fatalf("SetUpTelemetry: %v", err)
	}
	_, span := tel.Tracer.Start(t.Context(), "ocr")
	span.End()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tel.Shutdown(ctx); err == nil || strings.Contains(err.Error(), "panic") {
		t.Errorf("Shutdown: got error %v, want the collector's absence", err)
	}
}
