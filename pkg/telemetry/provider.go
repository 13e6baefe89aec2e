package telemetry

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// newResource describes the process to the receivers of its traces and metrics. OTEL_RESOURCE_ATTRIBUTES may add to it.
func newResource(ctx context.Context, cfg Config) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{attribute.String("service.namespace", "inkstream"),
		attribute.String("service.name", cfg.Service)}
	if cfg.Version != "" {
		attrs = append(attrs, attribute.String("service.version", cfg.Version))
	}
	return resource.New(ctx, resource.WithAttributes(attrs...), resource.WithHost(), resource.WithTelemetrySDK(),
		resource.WithFromEnv())
}

// newTracerProvider exports spans if there is an endpoint; OTEL_TRACES_SAMPLER then sets the sampling.
func newTracerProvider(ctx context.Context, cfg Config, res *resource.Resource) (*sdktrace.TracerProvider, error) {
	if cfg.exportEndpoint() == "" {
		return newSilentTracerProvider(), nil
	}
	var opts []otlptracegrpc.Option
	if cfg.OTLPEndpoint != "" {
		opts = append(opts, otlptracegrpc.WithEndpointURL(cfg.OTLPEndpoint))
	}
	exporter, err := otlptracegrpc.New(ctx, opts...)
	if err != nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter)), nil
}

// newSilentTracerProvider makes spans that have ids and record nothing: logs and messages carry a valid trace id at
// next to no cost.
func newSilentTracerProvider() *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
}

// newMeterProvider shows metrics in the registry always, and exports them if there is an endpoint.
func newMeterProvider(ctx context.Context, cfg Config, res *resource.Resource,
	registry *prometheus.Registry) (*sdkmetric.MeterProvider, error) {
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	scrape, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	opts := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithReader(scrape)}
	if cfg.exportEndpoint() != "" {
		var push []otlpmetricgrpc.Option
		if cfg.OTLPEndpoint != "" {
			push = append(push, otlpmetricgrpc.WithEndpointURL(cfg.OTLPEndpoint))
		}
		exporter, err := otlpmetricgrpc.New(ctx, push...)
		if err != nil {
			return nil, err
		}
		opts = append(opts, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	return sdkmetric.NewMeterProvider(opts...), nil
}

// reportExportErrors logs what the exporters complain about. The SDK has only this one global door for it, and
// without it such errors go to standard error past the log; a process that sets up telemetry twice gets them in the
// later log.
func reportExportErrors(log *slog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("export telemetry", "error", err)
	}))
}
