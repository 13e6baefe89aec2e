package standalone_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/ocr/enginetest"
	"inkstream.dev/services/ocr/recognise"
	"inkstream.dev/services/standalone"
	"inkstream.dev/services/standalone/chaos"
)

// pipelineOptions says what a rig is made of; the zero value is an ordinary pipeline.
type pipelineOptions struct {
	bus    *bus.Bus // nil for one on a server of its own
	change func(*standalone.Config)
	// blobs and index return what stands between the services and the stores.
	blobs func(*blob.Store) *blob.Store
	index func(search.Store) search.Store
	// dir holds the blobs and the index.
	dir string
	// without names units that are started later, or never.
	without []string
}

// testPipeline is a pipeline inside the test, over connections that the test chose. Its recogniser answers at once;
// the PDF engine is the real one.
type testPipeline struct {
	*pipeline
	chaos.Inspector // behind whatever stands between
	status          *lifecycle.Status
	tel             *telemetry.Telemetry
	heldUnits       []lifecycle.Unit
}

// sharedPDFEngine is the PDF engine of all rigs, because none of their tests is about it, and to start one takes as
// long as to read dozens of pages. TestMain closes it.
var sharedPDFEngine = sync.OnceValues(func() (*pdf.Engine, error) {
	return pdf.New(pdf.DefaultConfig(), slog.New(slog.DiscardHandler))
})

func newTestPipeline(t *testing.T, with pipelineOptions) *testPipeline {
	t.Helper()
	if with.bus == nil {
		with.bus = bustest.New(t)
	}
	if with.dir == "" {
		with.dir = t.TempDir()
	}
	r := &testPipeline{status: lifecycle.NewStatus()}
	r.Bus, r.Jobs = with.bus, bustest.NewJobStore(t, with.bus)
	var err error
	if r.tel, err = telemetry.SetUpTelemetry(t.Context(), telemetry.DefaultConfig("test", "0"), testLog{t}); err != nil {
		t.Fatal(err)
	}
	r.status.Observe = r.tel.Metrics.RecordDependency
	blobs := filepath.Join(with.dir, "blobs")
	if r.Blobs, err = blob.Open(t.Context(), "file://"+blobs+"?fsync=off"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Blobs.Close() })
	if r.Index, err = search.Open(t.Context(), "sqlite://"+filepath.Join(with.dir, "index.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Index.Close() })
	quiet := slog.New(slog.DiscardHandler)
	engine, err := sharedPDFEngine()
	if err != nil {
		t.Fatal(err)
	}
	rt := &service.Runtime{Status: r.status, Deps: stage.Deps{
		Bus: r.Bus, Jobs: r.Jobs, Blobs: r.Blobs, Tel: r.tel, Log: quiet, DocumentTimeout: time.Hour,
	}}
	parts := standalone.Parts{PDF: engine, OCR: quickOCR, Index: r.Index}
	if with.blobs != nil {
		rt.Deps.Blobs = with.blobs(r.Blobs)
	}
	if with.index != nil {
		parts.Index = with.index(r.Index)
	}
	cfg := testConfig(with.dir)
	// An upload may be taken when the queue has just filled up; then it is the reconciler who queues it.
	cfg.Reconcile.Interval, cfg.Reconcile.Patience = 200*time.Millisecond, 3*time.Second
	if with.change != nil {
		with.change(&cfg)
	}
	units, entrance, err := standalone.Units(rt, cfg, parts)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range with.without {
		for _, u := range units {
			if u.Name == name {
				r.heldUnits = append(r.heldUnits, u)
			}
		}
		units = without(units, name)
	}
	runUnits(t, r.status.TrackUnits(append([]lifecycle.Unit{{Name: "dependencies", Run: r.status.WatchChecks}},
		units...)...))
	addrs := entrance.Addrs()
	r.pipeline = connect(t, addrs.GRPC, "http://"+addrs.HTTP, blobs)
	return r
}

// startWaiting starts the units that were left out.
func (r *testPipeline) startWaiting(t *testing.T) {
	t.Helper()
	runUnits(t, r.heldUnits)
	r.heldUnits = nil
}

// runUnits runs units until the end of the test, and returns when they are ready.
func runUnits(t *testing.T, units []lifecycle.Unit) {
	t.Helper()
	(&crashHarness{}).run(t, units)
}

// quickOCR finds one word on every page.
var quickOCR ocr.Engine = enginetest.EngineFunc(func(ctx context.Context, img recognise.Image,
	_ recognise.Options) (*inkstreamv1.Page, error) {
	size, err := img.CheckHeader()
	if err != nil {
		return nil, err
	}
	confidence := float32(0.9)
	word := &inkstreamv1.Word{Text: "word", Bbox: []float32{10, 10, 40, 20}, Confidence: &confidence}
	page := &inkstreamv1.Page{Blocks: []*inkstreamv1.Block{{Lines: []*inkstreamv1.Line{{Words: []*inkstreamv1.Word{word}}}}}}
	return recognise.Sanitize(page, size, img.DPI), ctx.Err()
})

// send uploads a document to a lane.
func (r *testPipeline) send(t *testing.T, f pdftest.File, lane bus.Lane) *inkstreamv1.Job {
	t.Helper()
	j, err := r.upload(t.Context(), f.Name, f.PDF, options(lane))
	if err != nil {
		t.Fatalf("upload %s: %v", f.Name, err)
	}
	return j
}

func options(lane bus.Lane) *inkstreamv1.JobOptions {
	return &inkstreamv1.JobOptions{Lane: string(lane), Dedupe: new(bool)} // the same document again is work again
}

// wantDone waits for jobs to end, and holds each against what must be true of every one that nothing was wrong with
// but the machine: all pages are there, none was counted twice, and no failure was counted.
func (r *testPipeline) wantDone(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		var j *inkstreamv1.Job
		deadline := time.Now().Add(2 * patience)
		bustest.EventuallyWithin(t, 3*patience, "job "+id+" has ended", func() bool {
			var err error
			j, err = r.GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: id})
			if time.Now().After(deadline) {
				t.Fatalf("job %s stands still: %v, %v", id, j, err)
			}
			return err == nil && j.GetEndTime() != nil
		})
		check(t, j)
		if j.GetState() != inkstreamv1.Job_SUCCEEDED {
			t.Errorf("job %s: %s, %v, want SUCCEEDED", id, j.GetState(), j.GetError())
		}
		rec, err := r.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(id))
		if err != nil {
			t.Fatal(err)
		}
		if len(rec.Failures) > 0 || len(j.GetFailedTries()) > 0 {
			t.Errorf("job %s: failures counted: %v, %v, want none", id, rec.Failures, j.GetFailedTries())
		}
		r.wantEvents(t, id)
	}
	bustest.EventuallyWithin(t, patience, "nothing is left behind", func() bool {
		left, err := r.FindResidue(t.Context())
		return err == nil && len(left) == 0
	})
}

// wantEvents waits until the audit trail has the job's end, and makes sure that no event is in it twice.
func (r *testPipeline) wantEvents(t *testing.T, id string) {
	t.Helper()
	want := []string{"uploaded", "ingested", "scanned", "ended"}
	var kinds map[string]int
	bustest.EventuallyWithin(t, patience, "the audit trail of job "+id+" is complete", func() bool {
		events, _, err := r.Bus.ListEvents(t.Context(), job.DefaultTenant, id, 0, 1000)
		if err != nil {
			return false
		}
		kinds = make(map[string]int)
		for _, e := range events {
			kinds[e.GetType()]++
		}
		return !slices.ContainsFunc(want, func(kind string) bool { return kinds[kind] == 0 })
	})
	for _, kind := range want {
		if kinds[kind] != 1 {
			t.Errorf("job %s: %d events %s, want 1 (%v)", id, kinds[kind], kind, kinds)
		}
	}
}

// patience is how long the pipeline may take for what it does by itself, on a machine that is busy with other things.
const patience = 2 * time.Minute

// await waits for so long, while other things go on.
func await(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// wantDependency waits until /readyz and the metric say that a dependency is up or down.
func (r *testPipeline) wantDependency(t *testing.T, name string, up bool) {
	t.Helper()
	bustest.EventuallyWithin(t, patience, "readiness and metric of "+name, func() bool { return r.showsDependency(t, name, up) })
}

// showsDependency reports whether readiness and metric say that a dependency is there, or away.
func (r *testPipeline) showsDependency(t *testing.T, name string, up bool) bool {
	t.Helper()
	value := map[bool]string{true: "1", false: "0"}[up]
	metric := regexp.MustCompile(`(?m)^inkstream_dependency_up\{[^}]*dependency="` + name + `"[^}]*\} ` + value + `$`)
	code, body := r.get(t, "/readyz")
	var report lifecycle.Report
	decode(t, body, &report)
	rec := httptest.NewRecorder()
	r.tel.MetricsHandler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", strings.NewReader("")))
	return report.Checks[name].Up == up && report.Ready == up && (code == 200) == up &&
		metric.MatchString(rec.Body.String())
}

// switchable is something that can be shut and opened again.
type switchable struct {
	mu   sync.Mutex // guards shut
	shut bool
}

func (g *switchable) setShut(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
}

func (g *switchable) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}
