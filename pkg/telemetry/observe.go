package telemetry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sys/unix"
)

// Queue is how full the queue of a stage's lane is.
type Queue struct {
	Stage, Lane string
	// Waiting and InHand count its tasks.
	Waiting, InHand int64
	// Oldest is when its oldest task was queued; zero where there is none.
	Oldest time.Time
}

// Stage is what the broker knows of a stage beside its queues.
type Stage struct {
	Name string
	// Processes counts those that waited for tasks within the last minute, DeadLetters the tasks that it gave up and
	// that are still kept.
	Processes, DeadLetters int64
}

// Stream is how a stream of the broker is kept.
type Stream struct {
	Name            string
	Messages, Bytes int64
	// Behind counts the replicas that are away or do not have everything.
	Behind int64
}

// Broker is what a broker says of the whole pipeline.
type Broker struct {
	Queues  []Queue
	Stages  []Stage
	Streams []Stream
}

// observed are the gauges whose values are asked for when metrics are collected. What cannot be told then has no value,
// rather than an old one.
type observed struct {
	meter           metric.Meter
	queueTasks      metric.Int64ObservableGauge
	queueOldest     metric.Float64ObservableGauge
	stageProcesses  metric.Int64ObservableGauge
	deadLettersKept metric.Int64ObservableGauge
	streamMessages  metric.Int64ObservableGauge
	streamBytes     metric.Int64ObservableGauge
	streamBehind    metric.Int64ObservableGauge
	diskFree        metric.Int64ObservableGauge
	diskSize        metric.Int64ObservableGauge
	certificateEnd  metric.Int64ObservableGauge
	jobsOpen        metric.Int64ObservableGauge
}

func newObserved(meter metric.Meter) (observed, error) {
	var errs []error
	gauge := func(name, unit, description string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return g
	}
	oldest, err := meter.Float64ObservableGauge("inkstream.queue.oldest", metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest task of a lane's queue; 0 where there is none."))
	errs = append(errs, err)
	return observed{
		meter:           meter,
		queueTasks:      gauge("inkstream.queue.tasks", "", "Tasks that wait or are in hand."),
		queueOldest:     oldest,
		stageProcesses:  gauge("inkstream.stage.processes", "", "Processes that waited for tasks within the last minute."),
		deadLettersKept: gauge("inkstream.dead_letters.kept", "", "Tasks that were given up, neither retried nor dropped."),
		streamMessages:  gauge("inkstream.stream.messages", "", "Messages of a stream."),
		streamBytes:     gauge("inkstream.stream", "By", "Bytes of a stream."),
		streamBehind:    gauge("inkstream.stream.replicas_behind", "", "Replicas of a stream that are away or behind."),
		diskFree:        gauge("inkstream.disk.free", "By", "Bytes that are free where a process writes."),
		diskSize:        gauge("inkstream.disk.size", "By", "Size of the disk where a process writes."),
		certificateEnd:  gauge("inkstream.certificate.expiry_timestamp", "s", "When a certificate ends, as Unix time."),
		jobsOpen:        gauge("inkstream.jobs.open", "", "Jobs that have not ended, by the tenants that have most."),
	}, errors.Join(errs...)
}

const (
	// askTimeout bounds the question for the broker's state; a scrape waits for it.
	askTimeout = 5 * time.Second
	// askAge is how old an answer may be: several may collect at once, and any client may ask for a page of metrics.
	askAge = time.Second
)

// ObserveBroker has each collection of metrics ask for the broker's state, until stop is called. Of an answer with an
// error the rest counts.
func (m *Metrics) ObserveBroker(ask func(ctx context.Context) (Broker, error)) (stop func() error, err error) {
	o := &m.observed
	var mu sync.Mutex // guards last, at and failed
	var last Broker
	var at time.Time
	var failed error
	return m.observe(func(ctx context.Context, to metric.Observer) error {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(at) >= askAge {
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			last, failed = ask(ctx)
			cancel()
			at = time.Now()
		}
		o.broker(to, last)
		return failed
	}, o.queueTasks, o.queueOldest, o.stageProcesses, o.deadLettersKept, o.streamMessages, o.streamBytes, o.streamBehind)
}

func (o *observed) broker(to metric.Observer, b Broker) {
	for _, q := range b.Queues {
		stage, lane := attribute.String("stage", q.Stage), attribute.String("lane", q.Lane)
		to.ObserveInt64(o.queueTasks, q.Waiting, metricLabels(stage, lane, attribute.String("state", "waiting")))
		to.ObserveInt64(o.queueTasks, q.InHand, metricLabels(stage, lane, attribute.String("state", "in_hand")))
		age := time.Duration(0)
		if !q.Oldest.IsZero() {
			age = max(0, time.Since(q.Oldest))
		}
		to.ObserveFloat64(o.queueOldest, age.Seconds(), metricLabels(stage, lane))
	}
	for _, s := range b.Stages {
		to.ObserveInt64(o.stageProcesses, s.Processes, metricLabels(attribute.String("stage", s.Name)))
		to.ObserveInt64(o.deadLettersKept, s.DeadLetters, metricLabels(attribute.String("stage", s.Name)))
	}
	for _, s := range b.Streams {
		stream := metricLabels(attribute.String("stream", s.Name))
		to.ObserveInt64(o.streamMessages, s.Messages, stream)
		to.ObserveInt64(o.streamBytes, s.Bytes, stream)
		to.ObserveInt64(o.streamBehind, s.Behind, stream)
	}
}

// ObserveDisk has each collection of metrics look at the disk that a folder is on, e.g. "uploads", until stop is
// called.
func (m *Metrics) ObserveDisk(name, folder string) (stop func() error, err error) {
	o, disk := &m.observed, metricLabels(attribute.String("disk", name))
	return m.observe(func(_ context.Context, to metric.Observer) error {
		var fs unix.Statfs_t
		if err := unix.Statfs(folder, &fs); err != nil {
			return err
		}
		to.ObserveInt64(o.diskFree, int64(fs.Bavail)*fs.Bsize, disk)
		to.ObserveInt64(o.diskSize, int64(fs.Blocks)*fs.Bsize, disk)
		return nil
	}, o.diskFree, o.diskSize)
}

// ObserveCertificate has each collection of metrics ask when a certificate ends, until stop is called.
func (m *Metrics) ObserveCertificate(name string, end func() time.Time) (stop func() error, err error) {
	o := &m.observed
	return m.observe(func(_ context.Context, to metric.Observer) error {
		to.ObserveInt64(o.certificateEnd, end().Unix(), metricLabels(attribute.String("certificate", name)))
		return nil
	}, o.certificateEnd)
}

// mostTenants is how many tenants have a series of their own; otherTenants is the label of all others. No tenant can be
// called so.
const (
	mostTenants  = 10
	otherTenants = "(others)"
)

// ObserveOpenJobs has each collection of metrics ask for the number of open jobs of each tenant, until stop is called.
func (m *Metrics) ObserveOpenJobs(open func() map[string]int) (stop func() error, err error) {
	o := &m.observed
	return m.observe(func(_ context.Context, to metric.Observer) error {
		counts := open()
		tenants := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
			if d := counts[b] - counts[a]; d != 0 {
				return d
			}
			if a < b {
				return -1
			}
			return 1
		})
		others := 0
		for i, tenant := range tenants {
			if i >= mostTenants {
				others += counts[tenant]
				continue
			}
			to.ObserveInt64(o.jobsOpen, int64(counts[tenant]), metricLabels(attribute.String(TenantLabel, tenant)))
		}
		to.ObserveInt64(o.jobsOpen, int64(others), metricLabels(attribute.String(TenantLabel, otherTenants)))
		return nil
	}, o.jobsOpen)
}

func (m *Metrics) observe(f metric.Callback, gauges ...metric.Observable) (stop func() error, err error) {
	r, err := m.observed.meter.RegisterCallback(f, gauges...)
	if err != nil {
		return nil, err
	}
	return r.Unregister, nil
}
