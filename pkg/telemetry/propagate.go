package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

// propagator carries trace context, and nothing else, as W3C traceparent and tracestate.
var propagator = propagation.TraceContext{}

// carrier is a message header, for instance a nats.Header. Its keys keep their case.
type carrier map[string][]string

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(key string) string {
	if v := c[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(key, value string) { c[key] = []string{value} }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

// InjectContext writes the trace context of ctx into header, which must not be nil unless ctx has none.
func InjectContext(ctx context.Context, header map[string][]string) {
	propagator.Inject(ctx, carrier(header))
}

// ExtractContext returns ctx with the trace context that header carries, so that the next span continues that trace.
// A header without one, or with a broken one, leaves ctx as it is.
func ExtractContext(ctx context.Context, header map[string][]string) context.Context {
	return propagator.Extract(ctx, carrier(header))
}
