package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/embedded"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/telemetry"
)

// bareStep is what a step of a job with one born-digital page leaves behind, in the order in which it does.
type bareStep struct {
	stage   bus.Stage    // whose task the step begins with; empty for the upload
	groups  [][]bareBlob // those of each are stored together
	records int          // how many times a record is written
	events  int
	next    bus.Stage // that has a task then; empty at the job's end
}

type bareBlob struct {
	name string
	size int // bytes
}

// bareSteps are the steps of measureSmall's jobs.
var bareSteps = []bareStep{
	{groups: [][]bareBlob{{{"source.pdf", 2900}}}, records: 1, events: 1, next: bus.Ingest},
	{stage: bus.Ingest, groups: [][]bareBlob{{{"manifest.json", 330}}, {{"run-1/info.json", 150}}}, records: 1, events: 1,
		next: bus.Scan},
	{stage: bus.Scan, records: 1, events: 1, next: bus.Render},
	{stage: bus.Render, groups: [][]bareBlob{{{"tmp/run-1/chunk.pb", 8000}}}, next: bus.Index},
	{stage: bus.Index, groups: [][]bareBlob{{{"run-1/pages/00001.pb", 5300}}, {
		{"run-1/plan.bin", 22}, {"run-1/document.idx", 340}, {"run-1/artifacts/text.txt", 3100},
		{"run-1/artifacts/document.md", 3100}, {"run-1/artifacts/chunks.jsonl", 4000},
		{"run-1/artifacts/searchable.pdf", 2900}, {"run-1/artifacts/metadata.json", 1500},
	}}, records: 2, events: 2},
}

// bareRecordBytes and bareMessageBytes are about what a record of such a job, and a task or an event, have.
const bareRecordBytes, bareMessageBytes = 700, 450

// bareJobs are jobs that are messages, records and files alone.
type bareJobs struct {
	blobs   *blob.Store
	js      jetstream.JetStream
	records jetstream.KeyValue
	ended   chan struct{} // has one for each job that ended
}

// measureBareJobs measures what the messages, records and files of jobs of one page cost by themselves, with the same
// broker and the same file system, in this process: nothing is read, parsed, checked, indexed or answered.
func measureBareJobs(ctx context.Context, b *benchmark, jobs int) (u usage, err error) {
	dir := filepath.Join(b.dir, "bare-jobs")
	tel := telemetry.NewDiscard()
	broker, err := embedded.StartServer(
		embedded.Config{Dir: filepath.Join(dir, "nats"), Addr: "127.0.0.1:0", Sync: true}, tel.Log)
	if err != nil {
		return u, err
	}
	defer broker.ShutDown()
	conn, err := bus.Connect(broker.InProcessURL(), "bench", tel.Log, tel, broker.InProcessOption())
	if err != nil {
		return u, err
	}
	defer conn.Close()
	if err := conn.Provision(ctx, bus.Topology{}); err != nil {
		return u, err
	}
	bare := &bareJobs{js: conn.JetStream(), ended: make(chan struct{}, jobs)}
	if bare.records, err = conn.OpenJobBucket(ctx); err != nil {
		return u, err
	}
	if bare.blobs, err = blob.Open(ctx, "file://"+filepath.Join(dir, "blobs")); err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, bare.blobs.Close()) }()
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for _, step := range bareSteps[1:] {
		stop, err := bare.consume(failed, step, fail)
		if err != nil {
			return u, err
		}
		defer stop()
	}
	const own = "/proc/self/stat"
	before, err := processtest.ReadTimes(own)
	if err != nil {
		return u, err
	}
	u.wall, err = timeCall(func() error { return bare.runJobs(failed, jobs) })
	after, timesErr := processtest.ReadTimes(own)
	u.cpu = after.Self - before.Self
	return u, errors.Join(err, timesErr, context.Cause(failed))
}

// runJobs has jobs go through all steps.
func (j *bareJobs) runJobs(ctx context.Context, jobs int) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(jobUploadsAtOnce)
	for range jobs {
		g.Go(func() error { return j.doStep(gctx, bareSteps[0], string(job.NewID())) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for range jobs {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-j.ended:
		}
	}
	return nil
}

// consume does a step for each of its tasks until stop is called.
func (j *bareJobs) consume(ctx context.Context, step bareStep, fail context.CancelCauseFunc) (stop func(), err error) {
	consumer, err := j.js.Consumer(ctx, step.stage.StreamName(), bus.DurableName(step.stage, bus.Interactive))
	if err != nil {
		return nil, err
	}
	slots := make(chan struct{}, jobUploadsAtOnce)
	consuming, err := consumer.Consume(func(task jetstream.Msg) {
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			parts := strings.Split(task.Subject(), ".")
			err := j.doStep(ctx, step, parts[len(parts)-1])
			if err == nil {
				err = task.DoubleAck(ctx)
			}
			if err != nil {
				fail(fmt.Errorf("bare job, %s: %w", step.stage, err))
			}
			if step.next == "" {
				j.ended <- struct{}{}
			}
		}()
	}, jetstream.PullMaxMessages(jobUploadsAtOnce))
	if err != nil {
		return nil, err
	}
	return consuming.Stop, nil
}

func (j *bareJobs) doStep(ctx context.Context, step bareStep, id string) error {
	folder := "default/" + id + "/"
	for _, group := range step.groups {
		var objects []blob.Object
		for _, b := range group {
			objects = append(objects, blob.Object{Key: folder + b.name, Data: make([]byte, b.size)})
		}
		if err := j.blobs.PutAll(ctx, objects); err != nil {
			return err
		}
	}
	for range step.records {
		if _, err := j.records.Put(ctx, "job.default."+id, make([]byte, bareRecordBytes)); err != nil {
			return err
		}
	}
	for n := range step.events {
		if err := j.publish(ctx, fmt.Sprintf("ink.events.default.%s.%s%d", id, step.next, n)); err != nil {
			return err
		}
	}
	if step.next == "" {
		return j.blobs.DeletePrefix(ctx, folder+"tmp/")
	}
	return j.publish(ctx, fmt.Sprintf("ink.%s.%s.default.%s", step.next, bus.Interactive, id))
}

func (j *bareJobs) publish(ctx context.Context, subject string) error {
	m := &nats.Msg{Subject: subject, Data: make([]byte, bareMessageBytes)}
	_, err := j.js.PublishMsg(ctx, m, jetstream.WithMsgID(subject))
	return err
}
