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
	// A task takes from a few milliseconds (a chunk of native pages) to the hour that a document may last; so may its
	// wait.
	taskBounds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600}
	// An engine call is one page: from a millisecond of text to the two minutes after which it is killed.
	engineBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
)

// Metrics holds the instruments of a process. Labels have few values by construction: stages, lanes, engines, codes
// and states, never an id or a name, but for the ten tenants that have most open jobs. Its methods are safe for
// concurrent use. At /metrics the instruments are
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
//	inkstream_sandbox_wall{wall}                           gauge, 1 or 0
//
// and, asked for when they are collected, of the gateway (the broker and the certificate) or of any process (disks)
//
//	inkstream_queue_tasks{stage,lane,state}                gauge, state is waiting or in_hand
//	inkstream_queue_oldest_seconds{stage,lane}             gauge
//	inkstream_stage_processes{stage}                       gauge
//	inkstream_dead_letters_kept{stage}                     gauge
//	inkstream_stream_messages{stream}                      gauge
//	inkstream_stream_bytes{stream}                         gauge
//	inkstream_stream_replicas_behind{stream}               gauge
//	inkstream_jobs_open{tenant}                            gauge
//	inkstream_certificate_expiry_timestamp_seconds{certificate}
//	inkstream_disk_free_bytes{disk}, inkstream_disk_size_bytes{disk}
type Metrics struct {
	stageDuration metric.Float64Histogram
	queueWait     metric.Float64Histogram
	redeliveries  metric.Int64Counter
	deadLetters   metric.Int64Counter
	pages         metric.Int64Counter
	jobsEnded     metric.Int64Counter
	engineSeconds metric.Float64Histogram
	childRestarts metric.Int64Counter
	visionAnswers metric.Int64Counter
	visionTokens  metric.Int64Counter
	uploads       metric.Int64Counter
	uploadBytes   metric.Int64Counter
	dependencyUp  metric.Int64Gauge
	sandboxWall   metric.Int64Gauge
	observed      observed
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
	up, err := meter.Int64Gauge("inkstream.dependency.up",
		metric.WithDescription("Whether a dependency answered when last asked."))
	errs = append(errs, err)
	wall, err := meter.Int64Gauge("inkstream.sandbox.wall",
		metric.WithDescription("Whether the kernel gives a wall around engines."))
	errs = append(errs, err)
	observed, err := newObserved(meter)
	errs = append(errs, err)
	m := &Metrics{
		stageDuration: seconds("inkstream.stage.duration", "Time that a task's handler took.", taskBounds),
		queueWait:     seconds("inkstream.queue.wait", "Time from publishing a task to its handler's start.", taskBounds),
		redeliveries:  counter("inkstream.redeliveries", "", "Tasks that were delivered again."),
		deadLetters:   counter("inkstream.dead_letters", "", "Tasks that were given up."),
		pages:         counter("inkstream.pages", "", "Pages that ended, by outcome."),
		jobsEnded:     counter("inkstream.jobs.ended", "", "Jobs that ended, by state."),
		engineSeconds: seconds("inkstream.engine", "Time that an engine took for a call; of ocr with that of vision models that were asked for the page.", engineBounds),
		visionAnswers: counter("inkstream.vision.answers", "", "Answers of vision models, by endpoint and result."),
		visionTokens:  counter("inkstream.vision.tokens", "", "Tokens of vision models, by endpoint and kind."),
		childRestarts: counter("inkstream.engine.child_restarts", "",
			"Child processes of engines that were replaced, by reason."),
		uploads:      counter("inkstream.uploads", "", "Uploads, by result."),
		uploadBytes:  counter("inkstream.upload", "By", "Bytes of uploads that were read."),
		dependencyUp: up,
		sandboxWall:  wall,
		observed:     observed,
	}
	return m, errors.Join(errs...)
}

// RecordStageDuration records how long a task's handler took. Result is "ok" or the fault kind.
func (m *Metrics) RecordStageDuration(ctx context.Context, stage, lane, result string, d time.Duration) {
	m.stageDuration.Record(ctx, d.Seconds(),
		metricLabels(attribute.String("stage", stage), attribute.String("lane", lane), attribute.String("result", result)))
}

// RecordQueueWait records how long a task waited in its stage's queue. A negative wait, from clocks that differ,
// counts as none.
func (m *Metrics) RecordQueueWait(ctx context.Context, stage, lane string, d time.Duration) {
	m.queueWait.Record(ctx, max(0, d).Seconds(),
		metricLabels(attribute.String("stage", stage), attribute.String("lane", lane)))
}

// CountRedelivery counts a task that came again.
func (m *Metrics) CountRedelivery(ctx context.Context, stage string) {
	m.redeliveries.Add(ctx, 1, metricLabels(attribute.String("stage", stage)))
}

// CountDeadLetter counts a task that was given up.
func (m *Metrics) CountDeadLetter(ctx context.Context, stage string) {
	m.deadLetters.Add(ctx, 1, metricLabels(attribute.String("stage", stage)))
}

// CountPages counts n pages that ended with that outcome, e.g. "native_text" or "failed".
func (m *Metrics) CountPages(ctx context.Context, outcome string, n int) {
	m.pages.Add(ctx, int64(n), metricLabels(attribute.String("outcome", outcome)))
}

// CountEndedJob counts a job that ended in that state.
func (m *Metrics) CountEndedJob(ctx context.Context, state string) {
	m.jobsEnded.Add(ctx, 1, metricLabels(attribute.String("state", state)))
}

// RecordEngineTime records how long one call of an engine took, e.g. "pdf" or "tesseract".
func (m *Metrics) RecordEngineTime(ctx context.Context, engine string, d time.Duration) {
	m.engineSeconds.Record(ctx, d.Seconds(), metricLabels(attribute.String("engine", engine)))
}

// CountChildRestart counts a child process that was replaced, by reason, e.g. "timeout", "memory" or "crash".
func (m *Metrics) CountChildRestart(ctx context.Context, engine, reason string) {
	m.childRestarts.Add(ctx, 1, metricLabels(attribute.String("engine", engine), attribute.String("reason", reason)))
}

// CountVisionTokens counts an answer of the vision endpoint of that number, by result, and its tokens.
func (m *Metrics) CountVisionTokens(ctx context.Context, endpoint int, result string, prompt, answer int64) {
	at := attribute.Int("endpoint", endpoint)
	m.visionAnswers.Add(ctx, 1, metricLabels(at, attribute.String("result", result)))
	m.visionTokens.Add(ctx, prompt, metricLabels(at, attribute.String("kind", "prompt")))
	m.visionTokens.Add(ctx, answer, metricLabels(at, attribute.String("kind", "answer")))
}

// CountUpload counts an upload by result, "ok" or the error's code, and the bytes that were read of it.
func (m *Metrics) CountUpload(ctx context.Context, result string, bytes int64) {
	m.uploads.Add(ctx, 1, metricLabels(attribute.String("result", result)))
	m.uploadBytes.Add(ctx, bytes)
}

// RecordDependency records whether a dependency, e.g. "nats" or "clamd", answered.
func (m *Metrics) RecordDependency(ctx context.Context, name string, up bool) {
	m.dependencyUp.Record(ctx, oneIf(up), metricLabels(attribute.String("dependency", name)))
}

// SandboxWall records whether a wall is around an engine, e.g. "landlock": as its last child has found it, or, of the
// engine "kernel", as the kernel offers it.
func (m *Metrics) SandboxWall(ctx context.Context, engine, wall string, there bool) {
	m.sandboxWall.Record(ctx, oneIf(there), metricLabels(attribute.String("engine", engine), attribute.String("wall", wall)))
}

func oneIf(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

func metricLabels(attrs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}
