package telemetry

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"inkstream.dev/pkg/config"
)

// instrumentationScope names this instrumentation in exported traces and metrics.
const instrumentationScope = "inkstream.dev/pkg/telemetry"

// TenantLabel is the label that names the tenant whom a metric is about.
const TenantLabel = "tenant"

// endpointVariable turns the export on. Like every OTEL_ variable it is a standard of its own, so it is no flag of
// ours: the exporters read it, and those about headers, certificates, sampling and batching, themselves.
const endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"

// shutdownTimeout is short enough to fit behind a drain into the grace that a process gets to stop.
const shutdownTimeout = 5 * time.Second

// The forms that logs can have.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// Config says who the process is and how it logs. The zero value but for Service is usable: text logs from Info on.
type Config struct {
	// Service names the process, e.g. "ocr"; "inkstream" where all services share one.
	Service string
	Version string
	// LogLevel is the least level that is logged.
	LogLevel slog.Level
	// LogFormat is FormatText or FormatJSON; empty means text.
	LogFormat string
	// OTLPEndpoint is where traces and metrics go over gRPC, e.g. http://collector:4317. Empty means what
	// OTEL_EXPORTER_OTLP_ENDPOINT says, and if that is empty too, nothing is exported.
	OTLPEndpoint string
}

// DefaultConfig returns the configuration of a process of that name.
func DefaultConfig(service, version string) Config {
	return Config{Service: service, Version: version, LogLevel: slog.LevelInfo, LogFormat: FormatText}
}

// Register adds the flags log.level and log.format.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.TextVar(&c.LogLevel, "log.level", c.LogLevel, "least `level` to log: debug, info, warn or error")
	fs.StringVar(&c.LogFormat, "log.format", c.LogFormat, "`form` of the logs: text or json")
}

// Validate reports everything that is wrong with the configuration.
func (c Config) Validate() error {
	var p config.Problems
	p.CheckFlag(c.Service != "", "service", "no name, want one")
	p.CheckFlag(c.LogFormat == "" || c.LogFormat == FormatText ||
		c.LogFormat == FormatJSON, "log.format", "%q, want text or json", c.LogFormat)
	if endpoint := c.exportEndpoint(); endpoint != "" {
		u, err := url.Parse(endpoint)
		// The address itself is not repeated: it may hold a password.
		p.CheckFlag(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", endpointVariable,
			"no usable address, want one such as http://collector:4317")
	}
	return p.Err()
}

func (c Config) exportEndpoint() string {
	if c.OTLPEndpoint != "" {
		return c.OTLPEndpoint
	}
	return os.Getenv(endpointVariable)
}

// Telemetry is a process's logger, tracer and metrics. All of it is safe for concurrent use.
type Telemetry struct {
	// Version is that of the service.
	Version string
	// Log adds trace_id and span_id to whatever is logged with a context that has a span.
	Log *slog.Logger
	// Tracer starts spans. Trace ids are valid whether or not anything is exported.
	Tracer  trace.Tracer
	Metrics *Metrics
	// TracerProvider, MeterProvider and Propagator are for libraries that instrument themselves, such as otelgrpc.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	Propagator     propagation.TextMapPropagator
	// Registry is what MetricsHandler shows; more collectors may be registered.
	Registry *prometheus.Registry

	shutdown func(context.Context) error
}

// SetUpTelemetry builds the Telemetry of a process that logs to w. It dials nothing: exporters connect when they
// first have something to send.
func SetUpTelemetry(ctx context.Context, cfg Config, w io.Writer) (*Telemetry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	log := slog.New(newHandler(cfg, w))
	res, err := newResource(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("describe process: %w", err)
	}
	tracers, err := newTracerProvider(ctx, cfg, res)
	if err != nil {
		return nil, fmt.Errorf("trace exporter: %w", err)
	}
	registry := prometheus.NewRegistry()
	meters, err := newMeterProvider(ctx, cfg, res, registry)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("metric exporter: %w", err), tracers.Shutdown(ctx))
	}
	if cfg.exportEndpoint() != "" {
		reportExportErrors(log)
	}
	metrics, err := newMetrics(meters.Meter(instrumentationScope))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("metrics: %w", err), tracers.Shutdown(ctx), meters.Shutdown(ctx))
	}
	t := &Telemetry{Version: cfg.Version,
		Log:            log,
		Tracer:         tracers.Tracer(instrumentationScope),
		Metrics:        metrics,
		TracerProvider: tracers,
		MeterProvider:  meters,
		Propagator:     propagator,
		Registry:       registry,
	}
	var once sync.Once
	t.shutdown = func(ctx context.Context) (err error) {
		once.Do(func() { err = errors.Join(tracers.Shutdown(ctx), meters.Shutdown(ctx)) })
		return err
	}
	return t, nil
}

// NewDiscard returns a Telemetry that logs, counts and exports nothing, for tests and one-shot commands. Its trace
// ids are valid.
func NewDiscard() *Telemetry {
	registry := prometheus.NewRegistry()
	meters := noop.NewMeterProvider()
	metrics, err := newMetrics(meters.Meter(instrumentationScope))
	if err != nil {
		panic("telemetry: " + err.Error()) // the no-op meter makes any instrument
	}
	tracers := newSilentTracerProvider()
	return &Telemetry{
		Log:            slog.New(slog.DiscardHandler),
		Tracer:         tracers.Tracer(instrumentationScope),
		Metrics:        metrics,
		TracerProvider: tracers,
		MeterProvider:  meters,
		Propagator:     propagator,
		Registry:       registry,
		shutdown:       func(context.Context) error { return nil },
	}
}

// MetricsHandler serves the metrics in Prometheus's format, for /metrics.
func (t *Telemetry) MetricsHandler() http.Handler { return t.newMetricsHandler(t.Registry) }

// TenantMetricsHandler serves what is a tenant's own of the metrics: those that name it.
func (t *Telemetry) TenantMetricsHandler(tenant string) http.Handler {
	return t.newMetricsHandler(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := t.Registry.Gather()
		var own []*dto.MetricFamily
		for _, f := range families {
			f.Metric = slices.DeleteFunc(f.GetMetric(), func(m *dto.Metric) bool {
				return !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
					return l.GetName() == TenantLabel && l.GetValue() == tenant
				})
			})
			if len(f.GetMetric()) > 0 {
				own = append(own, f)
			}
		}
		return own, err
	}))
}

func (t *Telemetry) newMetricsHandler(from prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(from, promhttp.HandlerOpts{
		ErrorLog:      scrapeErrorLog{t.Log},
		ErrorHandling: promhttp.ContinueOnError,
		Registry:      t.Registry,
	})
}

// Shutdown sends what is not yet exported and stops the exporters. A second call does nothing. It ends with ctx, and
// after five seconds at the latest, which a collector that is away costs.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	return t.shutdown(ctx)
}

// scrapeErrorLog writes the complaints of a scrape to the log.
type scrapeErrorLog struct{ log *slog.Logger }

// Println makes scrapeErrorLog a promhttp.Logger.
func (l scrapeErrorLog) Println(v ...any) {
	l.log.Warn("collect metrics", "error", strings.TrimSpace(fmt.Sprintln(v...)))
}
