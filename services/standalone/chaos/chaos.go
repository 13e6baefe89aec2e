package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/telemetry"
)

// Config says what a run is like.
type Config struct {
	// Duration is how long things are killed. Uploads come during the first three quarters of it.
	Duration time.Duration
	// Seed makes the choices of a run; the same seed makes the same choices, though not the same moments.
	Seed uint64
	// Jobs is the number of uploads.
	Jobs int
	// Small leaves out the documents that take long.
	Small bool
	// Sync makes the broker and the blob store wait for the disk, as in production.
	Sync bool
	// Dir holds everything; Bin the services' programs, as BuildServices makes them. Engine children are known by where
	// their program lies, so no other run may have the same Bin at the same time.
	Dir, Bin string
	// Log gets a line now and then.
	Log io.Writer
}

const (
	// ackWait is how long the broker leaves a task with a process that is gone: production's minute would make a run an
	// hour.
	ackWait = 3 * time.Second
	// stallTimeout is how long a job may stand still before the reconciler looks after it.
	stallTimeout = 8 * time.Second
	// drainTimeout is how long the last jobs may take when the killing is over.
	drainTimeout = 3 * time.Minute
	// uploadClients is how many upload at once.
	uploadClients = 6
)

// run is a run.
type run struct {
	Inspector
	cfg      Config
	bin      string
	nats     *Process
	services map[string]*Process
	client   *Client
	recorder *taskRecorder
	docs     []*document
	report   *Report
	log      io.Writer
	closers  []func()

	mu          sync.Mutex // guards what follows
	uploads     []acknowledgedUpload
	cancelled   []string // jobs that were cancelled, or were to be
	engineKills []engineKill
}

// acknowledgedUpload is a document that was acknowledged.
type acknowledgedUpload struct {
	key   string
	id    string
	doc   *document
	start time.Time
}

// Run makes a run and returns what it found. An error means that the run could not be made.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	bin, err := filepath.Abs(cfg.Bin)
	if err != nil {
		return nil, err
	}
	w := &run{cfg: cfg, bin: bin, docs: documentMix(cfg.Small), report: newReport(cfg)}
	defer w.closeAll()
	if err := w.startPipeline(ctx); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := w.recordBaseline(ctx); err != nil {
		return nil, fmt.Errorf("undisturbed run: %w", err)
	}
	w.logProgress("undisturbed: %d documents in %s", len(w.docs), roundedSince(start))

	start = time.Now()
	// Two sources of chance, so that the load is the same whatever the havoc did.
	loading, killing := rand.New(rand.NewPCG(cfg.Seed, 1)), rand.New(rand.NewPCG(cfg.Seed, 2))
	storm, calm := context.WithTimeout(ctx, cfg.Duration)
	defer calm()
	var wg sync.WaitGroup
	wg.Go(func() { (&faultInjector{run: w, rand: killing}).injectFaults(storm) })
	wg.Go(func() { w.restartExited(storm) })
	err = w.uploadAll(ctx, loading)
	wg.Wait()
	w.startStopped()
	w.report.Storm = roundedSince(start)
	if err != nil {
		return nil, err
	}
	w.logProgress("the storm is over after %s: %d uploads acknowledged", roundedSince(start), len(w.uploads))

	start = time.Now()
	w.awaitAllEnded(ctx)
	w.report.Settled = roundedSince(start)
	// First, so that nothing is looked at while a worker is still busy with it: the broker may have taken a worker for
	// gone that was only slow.
	w.stopServices()
	w.checkGuarantees(ctx)
	w.report.Jobs, w.report.Cancels = len(w.uploads), len(w.cancelled)
	return w.report, nil
}

func roundedSince(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }

// logAction writes down what was done and when, beside the logs of the processes.
func (w *run) logAction(format string, args ...any) {
	fmt.Fprintf(w.log, time.Now().UTC().Format("15:04:05.000 ")+format+"\n", args...)
}

func (w *run) logProgress(format string, args ...any) { fmt.Fprintf(w.cfg.Log, format+"\n", args...) }

// startPipeline starts all processes and connects to what they share.
func (w *run) startPipeline(ctx context.Context) error {
	natsAddr, err1 := FindFreeAddr()
	httpAddr, err2 := FindFreeAddr()
	grpcAddr, err3 := FindFreeAddr()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	blobs := "file://" + filepath.Join(w.cfg.Dir, "blobs")
	if !w.cfg.Sync {
		blobs += "?fsync=off"
	}
	index := "sqlite://" + filepath.Join(w.cfg.Dir, "index.db")
	w.log = w.openLogFile("chaos")
	w.client = NewClient("http://" + httpAddr)
	var err error
	if w.nats, err = newNATSProcess(filepath.Join(w.cfg.Dir, "nats"), natsAddr, w.cfg.Sync,
		w.openLogFile("nats")); err != nil {
		return err
	}
	if err := w.nats.Start(); err != nil {
		return err
	}
	if err := w.connectStores(ctx, "nats://"+natsAddr, blobs, index); err != nil {
		return err
	}
	common := []string{"--nats", "nats://" + natsAddr, "--nats.provision=false", "--blobs", blobs, "--ops", "",
		"--log.level", "INFO"}
	own := map[string][]string{
		"render": {"--render.workers", "2"},
		"ocr":    {"--ocr.workers", "2"},
		"index":  {"--index", index, "--index.workers", "2"},
		"gateway": {
			"--gateway.http", httpAddr, "--gateway.grpc", grpcAddr,
			"--reconcile.interval", "1s", "--reconcile.patience", stallTimeout.String(),
		},
	}
	w.services = make(map[string]*Process)
	for _, name := range Services {
		args := append(append([]string{}, common...), own[name]...)
		w.services[name] = NewProcess(filepath.Join(w.bin, name), args, w.openLogFile(name))
	}
	w.startStopped()
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return w.client.AwaitReady(ready)
}

// openLogFile returns where a process says what it has to say.
func (w *run) openLogFile(name string) io.Writer {
	f, err := os.Create(filepath.Join(w.cfg.Dir, name+".log"))
	if err != nil {
		return w.cfg.Log
	}
	w.closers = append(w.closers, func() { f.Close() })
	return f
}

func (w *run) connectStores(ctx context.Context, nats, blobs, index string) error {
	tel := telemetry.NewDiscard()
	var err error
	if w.Bus, err = bus.Connect(nats, "chaos", slog.New(slog.DiscardHandler), tel); err != nil {
		return err
	}
	w.closers = append(w.closers, w.Bus.Close)
	if err := w.Bus.ProvisionWhenUp(ctx, bus.Topology{AckWait: ackWait}); err != nil {
		return err
	}
	kv, err := w.Bus.OpenJobBucket(ctx)
	if err != nil {
		return err
	}
	w.Jobs = job.NewStore(kv)
	if w.Blobs, err = blob.Open(ctx, blobs); err != nil {
		return err
	}
	w.closers = append(w.closers, func() { _ = w.Blobs.Close() })
	if w.Index, err = search.Open(ctx, index); err != nil {
		return err
	}
	w.closers = append(w.closers, func() { _ = w.Index.Close() })
	if w.recorder, err = newTaskRecorder(nats); err != nil {
		return err
	}
	w.closers = append(w.closers, w.recorder.closeConn)
	return nil
}

// startStopped starts whatever is not running.
func (w *run) startStopped() {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := []*Process{w.nats}
	for _, name := range Services {
		all = append(all, w.services[name])
	}
	for _, p := range all {
		if p.Running() {
			continue
		}
		if err := p.Start(); err != nil {
			w.report.addViolation("%v", err)
		}
	}
}

// restartExited starts again what ended by itself, as a supervisor of the services would.
func (w *run) restartExited(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(3 * time.Second):
			w.startStopped()
		}
	}
}

// recordBaseline takes every document through the pipeline undisturbed, so that it is known what comes of each.
func (w *run) recordBaseline(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	ids := make([]string, len(w.docs))
	for i, d := range w.docs {
		j, _, err := w.client.UploadUntilAcknowledged(ctx, "", d.PDF, WithoutDedupe())
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		ids[i] = j.ID
	}
	for i, d := range w.docs {
		if err := w.awaitQuiescence(ctx, ids[i]); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		var err error
		if d.baseline, err = w.CollectEvidence(ctx, ids[i], d.File); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		w.report.uploads = append(w.report.uploads, ids[i])
		if d.baseline.State != "SUCCEEDED" {
			continue
		}
		text, err := w.client.FetchPath(ctx, "/v1/jobs/"+ids[i]+"/artifacts/text.txt")
		if err == nil {
			err = d.checkText(text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitQuiescence waits until a job has ended and nothing temporary is left of it.
func (w *run) awaitQuiescence(ctx context.Context, id string) error {
	if _, err := w.client.AwaitJobEnd(ctx, id); err != nil {
		return err
	}
	for {
		left := 0
		for _, err := range w.Blobs.ListBlobs(ctx, job.Folder(job.DefaultTenant, job.ID(id))+"tmp/") {
			if err != nil {
				return err
			}
			left++
		}
		events, err := w.countEvents(ctx, id)
		if err == nil && left == 0 && events["ended"] > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d temporary blobs are left, events %v: %w", left, events, errors.Join(ctx.Err(), err))
		case <-time.After(retryPause):
		}
	}
}

// uploadAll uploads the documents, spread over three quarters of the storm, each until it is acknowledged.
func (w *run) uploadAll(ctx context.Context, r *rand.Rand) error {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Duration+drainTimeout)
	defer cancel()
	type order struct {
		n     int
		doc   *document
		twice bool
	}
	orders := make(chan order)
	var wg sync.WaitGroup
	for range uploadClients {
		wg.Go(func() {
			for o := range orders {
				err := w.uploadDocument(ctx, o.n, o.doc, o.twice)
				if err == nil && o.n%cancelEvery == 0 {
					err = w.uploadAndCancel(ctx, o.n, o.doc)
				}
				if err != nil {
					w.report.addViolation("upload %d: %v", o.n, err)
				}
			}
		})
	}
	tick := time.NewTicker(w.cfg.Duration * 3 / 4 / time.Duration(w.cfg.Jobs))
	defer tick.Stop()
	for n := range w.cfg.Jobs {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		orders <- order{n, pickDocument(r, w.docs), r.IntN(5) == 0}
		if n > 0 && n%50 == 0 {
			w.logProgress("%d of %d uploads", n, w.cfg.Jobs)
		}
	}
	close(orders)
	wg.Wait()
	return ctx.Err()
}

// uploadDocument uploads one document until it is acknowledged, and some once more, as a client does whose answer got
// lost.
func (w *run) uploadDocument(ctx context.Context, n int, d *document, twice bool) error {
	u := acknowledgedUpload{key: fmt.Sprintf("chaos-%d-%d", w.cfg.Seed, n), doc: d, start: time.Now()}
	options := WithoutDedupe()
	options.Set("lane", laneOfUpload(n))
	j, tries, err := w.client.UploadUntilAcknowledged(ctx, u.key, d.PDF, options)
	if err != nil {
		return err
	}
	u.id = j.ID
	if twice {
		again, more, err := w.client.UploadUntilAcknowledged(ctx, u.key, d.PDF, options)
		if err != nil {
			return err
		}
		tries += more
		if again.ID != j.ID {
			w.report.addViolation("the key of job %s was answered with job %s later", j.ID, again.ID)
		}
	}
	w.report.updateCounts(func(rep *Report) { rep.Tries += tries })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uploads = append(w.uploads, u)
	return nil
}

// cancelEvery is how many uploads there are to one that is made beside them to be cancelled. What happens to its
// tasks is nothing to the others'.
const cancelEvery = 3

// uploadAndCancel uploads a document, and cancels its job wherever it is by then.
func (w *run) uploadAndCancel(ctx context.Context, n int, d *document) error {
	options := WithoutDedupe()
	options.Set("lane", laneOfUpload(n))
	j, _, err := w.client.UploadUntilAcknowledged(ctx, fmt.Sprintf("chaos-%d-%d-cancelled", w.cfg.Seed, n), d.PDF, options)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.cancelled = append(w.cancelled, j.ID)
	w.mu.Unlock()
	return w.client.CancelJob(ctx, j.ID)
}

// stopServices stops the services, which nothing disturbs any more, and makes sure that nothing is left of them.
func (w *run) stopServices() {
	var wg sync.WaitGroup
	for _, p := range w.services {
		wg.Go(func() {
			if err := p.Stop(30 * time.Second); err != nil {
				w.report.addViolation("%v", err)
			}
		})
	}
	wg.Wait()
	w.checkOrphans()
	for _, p := range append([]*Process{w.nats}, allProcesses(w.services)...) {
		if n, err := p.UnexpectedExits(); n > 0 {
			w.report.updateCounts(func(rep *Report) { rep.UnexpectedExits[fmt.Sprintf("%s (%v)", p.name, err)] += n })
		}
	}
}

func allProcesses(m map[string]*Process) (all []*Process) {
	for _, name := range Services {
		if m[name] != nil {
			all = append(all, m[name])
		}
	}
	return all
}

func (w *run) closeAll() {
	for _, p := range allProcesses(w.services) {
		p.Kill()
	}
	if w.nats != nil {
		w.nats.Kill()
	}
	for i := len(w.closers) - 1; i >= 0; i-- {
		w.closers[i]()
	}
}
