package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Bounds of the histograms, in seconds.
var (
	// A task takes from a few milliseconds (a chunk of native pages) to the hour that a document may last; so may its wait.
	taskBounds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600}
	// An engine call is one page: from a millisecond of text to the two minutes after which it is killed.
	engineBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
)

// Metrics holds the instruments of a process. Labels have few values by construction: stages, lanes, engines, codes and states, never
// an id or a name. Its methods are safe for concurrent use. At /metrics the instruments are
//
//	inkstream_stage_duration_seconds{stage,lane,result}    histogram
//	inkstream_queue_wait_seconds{stage,lane}               histogram
//	inkstream_redeliveries_total{stage}                    counter
//	inkstream_dead_letters_total{stage}                    counter
//	inkstream_pages_total{outcome}                         counter
//	inkstream_jobs_ended_total{state}                      counter
//	inkstream_engine_seconds{engine}                       histogram
//	inkstream_engine_child_restarts_total{engine,reason}   counter
//	inkstream_uploads_total{result}                        counter
//	inkstream_upload_bytes_total                           counter
//	inkstream_dependency_up{dependency}                    gauge, 1 or 0
type Metrics struct {
	stageDuration metric.Float64Histogram
	queueWait     metric.Float64Histogram
	redeliveries  metric.Int64Counter
	deadLetters   metric.Int64Counter
	pages         metric.Int64Counter
	jobsEnded     metric.Int64Counter
	engineSeconds metric.Float64Histogram
	childRestarts metric.Int64Counter
	uploads       metric.Int64Counter
	uploadBytes   metric.Int64Counter
	dependencyUp  metric.Int64Gauge
}

func newMetrics(meter metric.Meter) (*Metrics, error) {
	var errs []error
	seconds := func(name, description string, bounds []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return h
	}
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	up, err := meter.Int64Gauge("inkstream.dependency.up", metric.WithDescription("Whether a dependency answered when last asked."))
	errs = append(errs, err)
	m := &Metrics{
		stageDuration: seconds("inkstream.stage.duration", "Time that a task's handler took.", taskBounds),
		queueWait:     seconds("inkstream.queue.wait", "Time from publishing a task to its handler's start.", taskBounds),
		redeliveries:  counter("inkstream.redeliveries", "", "Tasks that were delivered again."),
		deadLetters:   counter("inkstream.dead_letters", "", "Tasks that were given up."),
		pages:         counter("inkstream.pages", "", "Pages that ended, by outcome."),
		jobsEnded:     counter("inkstream.jobs.ended", "", "Jobs that ended, by state."),
		engineSeconds: seconds("inkstream.engine", "Time that an engine's child process took for a call.", engineBounds),
		childRestarts: counter("inkstream.engine.child_restarts", "", "Child processes of engines that were replaced, by reason."),
		uploads:       counter("inkstream.uploads", "", "Uploads, by result."),
		uploadBytes:   counter("inkstream.upload", "By", "Bytes of uploads that were read."),
		dependencyUp:  up,
	}
	return m, errors.Join(errs...)
}

// StageDuration records how long a task's handler took. Result is "ok" or the fault kind.
func (m *Metrics) StageDuration(ctx context.Context, stage, lane, result string, d time.Duration) {
	m.stageDuration.Record(ctx, d.Seconds(),
		labels(attribute.String("stage", stage), attribute.String("lane", lane), attribute.String("result", result)))
}

// QueueWait records how long a task waited in its stage's queue. A negative wait, from clocks that differ, counts as none.
func (m *Metrics) QueueWait(ctx context.Context, stage, lane string, d time.Duration) {
	m.queueWait.Record(ctx, max(0, d).Seconds(), labels(attribute.String("stage", stage), attribute.String("lane", lane)))
}

// Redelivery counts a task that came again.
func (m *Metrics) Redelivery(ctx context.Context, stage string) {
	m.redeliveries.Add(ctx, 1, labels(attribute.String("stage", stage)))
}

// DeadLetter counts a task that was given up.
func (m *Metrics) DeadLetter(ctx context.Context, stage string) {
	m.deadLetters.Add(ctx, 1, labels(attribute.String("stage", stage)))
}

// Pages counts n pages that ended with that outcome, e.g. "native_text" or "failed".
func (m *Metrics) Pages(ctx context.Context, outcome string, n int) {
	m.pages.Add(ctx, int64(n), labels(attribute.String("outcome", outcome)))
}

// JobEnded counts a job that ended in that state.
func (m *Metrics) JobEnded(ctx context.Context, state string) {
	m.jobsEnded.Add(ctx, 1, labels(attribute.String("state", state)))
}

// EngineSeconds records how long one call of an engine took, e.g. "pdf" or "tesseract".
func (m *Metrics) EngineSeconds(ctx context.Context, engine string, d time.Duration) {
	m.engineSeconds.Record(ctx, d.Seconds(), labels(attribute.String("engine", engine)))
}

// ChildRestart counts a child process that was replaced, by reason, e.g. "timeout", "memory" or "crash".
func (m *Metrics) ChildRestart(ctx context.Context, engine, reason string) {
	m.childRestarts.Add(ctx, 1, labels(attribute.String("engine", engine), attribute.String("reason", reason)))
}

// Upload counts an upload by result, "ok" or the error's code, and the bytes that were read of it.
func (m *Metrics) Upload(ctx context.Context, result string, bytes int64) {
	m.uploads.Add(ctx, 1, labels(attribute.String("result", result)))
	m.uploadBytes.Add(ctx, bytes)
}

// Dependency records whether a dependency, e.g. "nats" or "clamd", answered.
func (m *Metrics) Dependency(ctx context.Context, name string, up bool) {
	value := int64(0)
	if up {
		value = 1
	}
	m.dependencyUp.Record(ctx, value, labels(attribute.String("dependency", name)))
}

func labels(attrs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}
