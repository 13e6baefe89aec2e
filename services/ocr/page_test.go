package ocr_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/ocr/enginetest"
)

func TestMain(m *testing.M) {
	sandbox.Main(append(ocr.Programs(), enginetest.Programs()...)...)
	processtest.UsePlainChildren(sandbox.SetChildFile)
	os.Exit(m.Run())
}

// fixture is the ocr service with a job of one rastered page before it. The other stages are absent: what it
// publishes stays in their queues.
type fixture struct {
	env stage.Deps
	rec *job.Record
}

func newFixture(t *testing.T, engine ocr.Engine) *fixture {
	t.Helper()
	return newFixtureOf(t, engine, job.Options{}, func(c *ocr.Config) { c.PageTimeout = 10 * time.Second })
}

func newFixtureOf(t *testing.T, engine ocr.Engine, options job.Options, change func(*ocr.Config)) *fixture {
	t.Helper()
	b := bustest.New(t)
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.NewDiscard()
	f := &fixture{
		env: stage.Deps{Bus: b, Jobs: bustest.NewJobStore(t, b), Blobs: blobs, Tel: tel, Log: tel.Log},
		rec: &job.Record{
			ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Running, PageCount: 2, ChunkPages: 16, Window: 4,
			CreateTime: time.Now(), StartTime: time.Now(), Options: options,
		},
	}
	ctx := t.Context()
	if err := f.env.Jobs.CreateRecord(ctx, f.rec); err != nil {
		t.Fatal(err)
	}
	if err := f.env.Jobs.CreateProgress(ctx, f.rec.Tenant, f.rec.ID, job.NewProgress(1, 2)); err != nil {
		t.Fatal(err)
	}
	batch, err := proto.Marshal(&inkstreamv1.PageBatch{Pages: []*inkstreamv1.Page{
		{Number: 1, Width: 595, Height: 842, Outcome: outcome.OCR, Dpi: 150}, {Number: 2, Outcome: outcome.Blank},
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.putObject(t, f.batchKey(), batch)
	cfg := ocr.DefaultConfig()
	change(&cfg)
	s, err := ocr.New(cfg, f.env, engine)
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(run, func() {}) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return f
}

func (f *fixture) batchKey() string  { return job.BatchKey(f.rec.Tenant, f.rec.ID, 1, 0) }
func (f *fixture) rasterKey() string { return job.RasterKey(f.rec.Tenant, f.rec.ID, 1, 1) }

func (f *fixture) putObject(t *testing.T, key string, data []byte) {
	t.Helper()
	if err := f.env.Blobs.PutBytes(t.Context(), key, data, "application/octet-stream"); err != nil {
		t.Fatal(err)
	}
}

// runTask publishes the page's task.
func (f *fixture) runTask(t *testing.T) {
	t.Helper()
	err := f.env.Bus.Publish(t.Context(), bus.Message{Stage: bus.OCR, Lane: bus.Batch, Unit: "page-1",
		Task: &busv1.OcrTask{
			Unit: jobs.NewUnit(f.rec), Page: 1, Raster: &busv1.Blob{Key: f.rasterKey()}, Dpi: 150,
			Batch: &busv1.Blob{Key: f.batchKey()},
		}})
	if err != nil {
		t.Fatal(err)
	}
}

// checkNextTask waits for the first task in a stage's queue.
func (f *fixture) checkNextTask(t *testing.T, s bus.Stage, task proto.Message) {
	t.Helper()
	stream, err := f.env.Bus.JetStream().Stream(t.Context(), s.StreamName())
	if err != nil {
		t.Fatal(err)
	}
	var msg *jetstream.RawStreamMsg
	bustest.EventuallyWithin(t, 2*time.Minute, "a task for "+string(s), func() bool {
		msg, err = stream.GetMsg(t.Context(), 1)
		return err == nil
	})
	if err := protojson.Unmarshal(msg.Data, task); err != nil {
		t.Fatal(err)
	}
}

// readPage returns the page that the service has read.
func (f *fixture) readPage(t *testing.T) *inkstreamv1.Page {
	t.Helper()
	var task busv1.IndexTask
	f.checkNextTask(t, bus.Index, &task)
	data, err := f.env.Blobs.ReadBytes(t.Context(), task.GetBatch().GetKey(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var batch inkstreamv1.PageBatch
	if err := proto.Unmarshal(data, &batch); err != nil {
		t.Fatal(err)
	}
	if len(batch.GetPages()) != 1 || batch.GetPages()[0].GetNumber() != 1 {
		t.Fatalf("batch %v, want page 1 alone", &batch)
	}
	return batch.GetPages()[0]
}

func TestPageEndsByWhatBecomesOfItsEngine(t *testing.T) {
	t.Parallel()
	sheet, err := enginetest.NewTextSample(150, 0)
	if err != nil {
		t.Fatal(err)
	}
	ok := enginetest.NewFakeEngine(t, sheet)
	for _, tt := range []struct {
		name            string
		engine          func(t *testing.T) ocr.Engine
		outcome, reason string
	}{
		{"an engine that works", func(*testing.T) ocr.Engine { return ok }, "ocr", ""},
		{"one crash", func(*testing.T) ocr.Engine {
			return enginetest.FlakyEngine(1, fault.EngineCrashed,
				ok.RecognisePage)
		}, "ocr", ""},
		{"a child that crashes", func(t *testing.T) ocr.Engine { return enginetest.HostileEngine(t, enginetest.Crashes) },
			"failed", "engine_crash"},
		{"a child that floods memory", func(t *testing.T) ocr.Engine {
			return enginetest.HostileEngine(t,
				enginetest.ExhaustsMemory)
		}, "failed", "memory"},
		{"a child that answers nonsense", func(t *testing.T) ocr.Engine {
			return enginetest.HostileEngine(t,
				enginetest.AnswersNonsense)
		}, "ocr", ""},
		{"a timeout", func(*testing.T) ocr.Engine { return enginetest.FailingEngine(fault.PageTimeout) }, "failed",
			"timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tt.engine(t))
			f.putObject(t, f.rasterKey(), sheet.EncodePGM())
			f.runTask(t)
			page := f.readPage(t)
			if page.GetOutcome() != tt.outcome || page.GetReason() != tt.reason {
				t.Errorf("outcome %q, reason %q, error %v, want %q, %q", page.GetOutcome(), page.GetReason(), page.GetError(),
					tt.outcome, tt.reason)
			}
			if page.GetWidth() != 595 {
				t.Errorf("page is %v wide, want 595 as render found it", page.GetWidth())
			}
		})
	}
}

// A page has a short first try, unless a vision model may be asked: that may take as long as a page may. Where the run
// has used up the time for pages that take long, one that was deferred has another first try, and fails after it.
func TestFirstTryOfAPage(t *testing.T) {
	t.Parallel()
	const firstTry, whole = time.Second, 10 * time.Second
	sheet, err := enginetest.NewTextSample(150, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		engine string
		late   bool
		times  []time.Duration
		reason string
	}{
		{name: "an engine", times: []time.Duration{firstTry}},
		{name: "a vision model", engine: "vision", times: []time.Duration{whole}},
		{name: "an engine that takes long", late: true, times: []time.Duration{firstTry, whole},
			reason: "timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			times := make(chan time.Duration, 10)
			engine := enginetest.FlakyEngine(0, fault.PageTimeout, func(_ context.Context, _ ocr.Image,
				opts ocr.RecogniseOptions) (*inkstreamv1.Page, error) {
				times <- opts.Timeout
				if tt.late {
					return nil, fault.New(fault.PageTimeout, "late")
				}
				return &inkstreamv1.Page{Outcome: outcome.OCR}, nil
			})
			f := newFixtureOf(t, engine, job.Options{Engine: tt.engine, Lane: "batch"},
				func(c *ocr.Config) { c.PageTimeout, c.FirstTry = whole, firstTry })
			f.putObject(t, f.rasterKey(), sheet.EncodePGM())
			f.runTask(t)
			if page := f.readPage(t); page.GetReason() != tt.reason {
				t.Errorf("reason %q, want %q", page.GetReason(), tt.reason)
			}
			for _, want := range tt.times {
				if got := <-times; got != want {
					t.Errorf("a try of %v, want %v", got, want)
				}
			}
			rec, err := f.env.Jobs.LoadRecord(t.Context(), f.rec.Tenant, f.rec.ID)
			if err != nil {
				t.Fatal(err)
			}
			if charged := len(rec.SlowPages); charged != len(tt.times)-1 || rec.SlowPageTime != whole*time.Duration(charged) {
				t.Errorf("%v charged for the pages %v, want %v each", rec.SlowPageTime, rec.SlowPages, whole)
			}
		})
	}
}

// Only languages that were not named may turn out to be others.
func TestLanguagesOfAPage(t *testing.T) {
	t.Parallel()
	sheet, err := enginetest.NewTextSample(150, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		named, want string
		mayBeOther  bool
	}{
		{"", "fra", true},
		{"fra", "fra", false},
		{"deu+eng", "deu+eng", false},
	} {
		asked := make(chan ocr.RecogniseOptions, 10)
		engine := enginetest.FlakyEngine(0, fault.PageTimeout, func(_ context.Context, _ ocr.Image,
			opts ocr.RecogniseOptions) (*inkstreamv1.Page, error) {
			asked <- opts
			return &inkstreamv1.Page{Outcome: outcome.OCR}, nil
		})
		f := newFixtureOf(t, engine, job.Options{Languages: tt.named}, func(c *ocr.Config) { c.Languages = "fra" })
		f.putObject(t, f.rasterKey(), sheet.EncodePGM())
		f.runTask(t)
		f.readPage(t)
		if got := <-asked; got.Languages != tt.want || got.MayBeOther != tt.mayBeOther {
			t.Errorf("languages %q named: read in %q, others %v; want %q, %v", tt.named, got.Languages, got.MayBeOther,
				tt.want, tt.mayBeOther)
		}
	}
}

// A crash takes what is not synced: the raster is made again, and its page does not fail for it.
func TestMissingRasterIsRenderedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, enginetest.FailingEngine(fault.Internal))
	f.runTask(t)
	var task busv1.RenderTask
	f.checkNextTask(t, bus.Render, &task)
	if task.GetFirstPage() != 1 || task.GetLastPage() != 2 || task.GetReplay() == 0 {
		t.Errorf("render task %v, want pages 1 to 2 under another number", &task)
	}
	if _, err := f.env.Blobs.ReadBytes(t.Context(), f.batchKey(), 1<<20); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("the chunk's batch: %v, want it gone, so that render does not take the chunk for done", err)
	}
}

// A task that the version before has queued names its page in a list.
func TestTaskOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	sheet, err := enginetest.NewTextSample(150, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, enginetest.NewFakeEngine(t, sheet))
	f.putObject(t, f.rasterKey(), sheet.EncodePGM())
	msg := nats.NewMsg("ink.ocr.batch." + f.rec.Tenant + "." + string(f.rec.ID))
	msg.Header.Set(bus.HeaderSchema, "inkstream.bus.v1.OcrTask")
	msg.Header.Set(bus.HeaderRun, "1")
	msg.Header.Set("Nats-Msg-Id", string(f.rec.ID)+".1.ocr.page-1")
	msg.Data = fmt.Appendf(nil, `{"unit":{"tenant":%q, "job":%q, "run":1}, "pages":[1], "raster":{"key":%q}, "dpi":150, `+
		`"batch":{"key":%q}}`, f.rec.Tenant, f.rec.ID, f.rasterKey(), f.batchKey())
	if _, err := f.env.Bus.JetStream().PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	if page := f.readPage(t); page.GetOutcome() != outcome.OCR || page.GetWidth() != 595 {
		t.Errorf("outcome %q, %v wide, want the page recognised", page.GetOutcome(), page.GetWidth())
	}
}
