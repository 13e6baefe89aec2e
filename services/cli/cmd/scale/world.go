package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/search/searchtest"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/standalone/chaos"
)

const (
	// nodes is the number of NATS servers, and of the replicas of each stream.
	nodes = 3
	// stageMark is how many tasks wait for a stage behind ingest before the one ahead of it stops.
	stageMark = 50
	// bucket holds the blobs.
	bucket = "inkstream"
	// stopPatience is how long a process may take to end, and startPatience until it is ready.
	stopPatience, startPatience = time.Minute, 5 * time.Minute
	poll                        = 20 * time.Millisecond
	s3User, s3Password          = "scale", "scale-password"
)

// held are the services that are stopped while the queue is filled, in the order in which they start.
var held = []string{"index", "ocr", "render", "scan", "ingest"}

// world is all that runs.
type world struct {
	cfg    config
	dir    string
	report *report

	nats     [nodes]*chaos.Process
	monitors [nodes]string
	addrs    [nodes]string
	natsURL  string
	s3, ch   *chaos.Process
	chDSN    string
	services map[string]*chaos.Process
	ops      map[string]string // by service
	client   *chaos.Client
	other    *chaos.Client // of another tenant

	bus     *bus.Bus
	jobs    *job.Store
	index   search.Store
	closers []func()
	sampler *sampler
	watcher *watcher
	uploads []string // jobs that came by the API
	seeded  int
}

// open builds and starts everything.
func (w *world) open(ctx context.Context) error {
	bin := filepath.Join(w.dir, "bin")
	if err := chaos.BuildServices(w.cfg.root, bin); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(bin, "nats-server"),
		"github.com/nats-io/nats-server/v2")
	cmd.Dir = w.cfg.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build nats-server: %w\n%s", err, out)
	}
	for _, start := range []func(context.Context, string) error{w.openNATS, w.openS3, w.openClickHouse, w.connect,
		w.openServices} {
		if err := start(ctx, bin); err != nil {
			return err
		}
	}
	w.watcher = newWatcher(w)
	w.sampler = newSampler(w)
	w.closers = append(w.closers, w.sampler.close)
	return nil
}

// logFile returns where a process says what it has to say.
func (w *world) logFile(name string) io.Writer {
	f, err := os.Create(filepath.Join(w.dir, name+".log"))
	if err != nil {
		return os.Stderr
	}
	w.closers = append(w.closers, func() { f.Close() })
	return f
}

func (w *world) openNATS(ctx context.Context, bin string) error {
	var routes [nodes]string
	for i := range nodes {
		for _, to := range []*string{&w.addrs[i], &w.monitors[i], &routes[i]} {
			var err error
			if *to, err = chaos.FindFreeAddr(); err != nil {
				return err
			}
		}
	}
	w.natsURL = "nats://" + strings.Join(w.addrs[:], ",nats://")
	for i := range nodes {
		var others []string
		for j, route := range routes {
			if j != i {
				others = append(others, strconv.Quote("nats://"+route))
			}
		}
		conf := fmt.Sprintf("server_name: n%d\nlisten: %q\nhttp: %q\nmax_payload: 1MB\ncluster { name: scale, listen: %q, routes: [%s] }\n"+
			"jetstream { store_dir: %q, sync_interval: SYNC, max_file_store: 100GB }\n",
			i, w.addrs[i], w.monitors[i], routes[i], strings.Join(others, ", "), filepath.Join(w.dir,
				fmt.Sprintf("nats-%d", i)))
		for file, sync := range map[string]string{"always": "always", "later": `"2m"`} {
			path := filepath.Join(w.dir, fmt.Sprintf("nats-%d-%s.conf", i, file))
			if err := os.WriteFile(path, []byte(strings.Replace(conf, "SYNC", sync, 1)), 0o600); err != nil {
				return err
			}
		}
	}
	_, err := w.startNATS(ctx, bin, "always")
	return err
}

// startNATS starts all servers, which are stopped, and returns how long it took until the cluster was whole.
func (w *world) startNATS(ctx context.Context, bin, sync string) (time.Duration, error) {
	start := time.Now()
	for i := range nodes {
		conf := filepath.Join(w.dir, fmt.Sprintf("nats-%d-%s.conf", i, sync))
		w.nats[i] = chaos.NewProcess(filepath.Join(bin, "nats-server"), []string{"-c", conf},
			w.logFile(fmt.Sprintf("nats-%d-%s", i, sync)))
		if err := w.nats[i].Start(); err != nil {
			return 0, err
		}
	}
	for i := range nodes {
		if err := awaitHTTP(ctx, "http://"+w.monitors[i]+"/healthz"); err != nil {
			return 0, fmt.Errorf("nats server %d: %w", i, err)
		}
	}
	return time.Since(start), nil
}

func (w *world) openS3(ctx context.Context, _ string) error {
	program, err := processtest.BuildTool("github.com/versity/versitygw/cmd/versitygw")
	if err != nil {
		return err
	}
	addr, err := chaos.FindFreeAddr()
	if err != nil {
		return err
	}
	env := map[string]string{"AWS_ACCESS_KEY_ID": s3User, "AWS_SECRET_ACCESS_KEY": s3Password,
		"AWS_EC2_METADATA_DISABLED": "true"}
	for name, value := range env {
		if err := os.Setenv(name, value); err != nil { // the services inherit it
			return err
		}
	}
	attributes := filepath.Join(w.dir, "attributes")
	if err := errors.Join(os.MkdirAll(w.bucket(), 0o700), os.Mkdir(attributes, 0o700)); err != nil {
		return err
	}
	w.s3 = chaos.NewProcess(program, []string{
		"--port", addr, "--access", s3User, "--secret", s3Password, "--keep-alive", "--quiet", "posix", "--sidecar",
		attributes, filepath.Dir(w.bucket()),
	}, w.logFile("s3"))
	if err := w.s3.Start(); err != nil {
		return err
	}
	w.closers = append(w.closers, func() { w.s3.Kill() })
	store, err := blob.Open(ctx, w.blobsURL(addr))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	w.report.s3 = addr
	return retry(ctx, func() error {
		_, err := store.ReadAttributes(ctx, "none")
		if errors.Is(err, blob.ErrNotFound) {
			return nil
		}
		return err
	})
}

// bucket is the folder behind the S3 server's bucket.
func (w *world) bucket() string { return filepath.Join(w.dir, "s3", bucket) }

func (w *world) blobsURL(addr string) string {
	return "s3://" + bucket + "?endpoint=" + url.QueryEscape("http://"+addr)
}

func (w *world) openClickHouse(ctx context.Context, _ string) error {
	port, err := processtest.FreePort()
	if err != nil {
		return err
	}
	dir := filepath.Join(w.dir, "clickhouse")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	args, err := searchtest.WriteClickHouseConfig(dir, port)
	if err != nil {
		return err
	}
	w.ch = chaos.NewProcess(searchtest.ClickHouseProgram(), args, w.logFile("clickhouse"))
	if err := w.ch.Start(); err != nil {
		return err
	}
	w.closers = append(w.closers, func() { w.ch.Kill() })
	w.chDSN = searchtest.ClickHouseDSN(port, "inkstream")
	return retry(ctx, func() error {
		_, _, err := searchtest.Inserts(ctx, searchtest.ClickHouseDSN(port, "default"))
		return err
	})
}

// connect makes the streams, and room in them for all the jobs.
func (w *world) connect(ctx context.Context, _ string) (err error) {
	if w.bus, err = bus.Connect(w.natsURL, "scale", slog.New(slog.DiscardHandler), telemetry.NewDiscard()); err != nil {
		return err
	}
	w.closers = append(w.closers, w.bus.Close)
	if err := w.bus.ProvisionWhenUp(ctx, bus.Topology{Replicas: nodes, MaxTasks: int64(max(50_000,
		2*w.cfg.jobs))}); err != nil {
		return err
	}
	if err := w.lowerMarks(ctx); err != nil {
		return err
	}
	kv, err := w.bus.OpenJobBucket(ctx)
	if err != nil {
		return err
	}
	w.jobs = job.NewStore(kv)
	if w.index, err = search.Open(ctx, w.chDSN); err != nil {
		return err
	}
	w.closers = append(w.closers, func() { _ = w.index.Close() })
	return nil
}

// lowerMarks has ingest stop soon where scan does not keep up, and so on, so that in a window of a deep queue as many
// jobs go through each stage as end. With the marks of production the first stages would work ahead for hours.
func (w *world) lowerMarks(ctx context.Context) error {
	for _, s := range bus.AllStages()[1:] {
		stream, err := w.bus.JetStream().Stream(ctx, s.StreamName())
		if err != nil {
			return err
		}
		cfg := stream.CachedInfo().Config
		cfg.Metadata["mark"] = strconv.Itoa(stageMark)
		if _, err := w.bus.JetStream().UpdateStream(ctx, cfg); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) openServices(ctx context.Context, bin string) error {
	w.services, w.ops = make(map[string]*chaos.Process), make(map[string]string)
	httpAddr, err1 := chaos.FindFreeAddr()
	grpcAddr, err2 := chaos.FindFreeAddr()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	keyFile := filepath.Join(w.dir, "admin.key")
	own := map[string][]string{
		"ingest": {"--ingest.max-pages", "100000"},
		"index":  {"--index", w.chDSN},
		"gateway": {
			"--index", w.chDSN, "--gateway.http", httpAddr, "--gateway.grpc", grpcAddr, "--auth", "keys",
			"--auth.admin-key-file", keyFile,
		},
	}
	for _, name := range chaos.Services {
		ops, err := chaos.FindFreeAddr()
		if err != nil {
			return err
		}
		w.ops[name] = ops
		args := append([]string{"--nats", w.natsURL, "--nats.provision=false", "--blobs", w.blobsURL(w.report.s3),
			"--ops", ops}, own[name]...)
		w.services[name] = chaos.NewProcess(filepath.Join(bin, name), args, w.logFile(name))
		if _, err := w.startService(ctx, name); err != nil {
			return err
		}
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	w.client = chaos.NewClient("http://" + httpAddr)
	w.client.Key = strings.TrimSpace(string(key))
	return w.otherTenant(ctx)
}

// startService starts a service, and returns how long it took until it was ready.
func (w *world) startService(ctx context.Context, name string) (time.Duration, error) {
	start := time.Now()
	if err := w.services[name].Start(); err != nil {
		return 0, err
	}
	if err := awaitHTTP(ctx, "http://"+w.ops[name]+"/readyz"); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return time.Since(start), nil
}

// restartServices restarts services one after the other, and returns how long each took until it was ready.
func (w *world) restartServices(ctx context.Context, names []string) (map[string]time.Duration, error) {
	took := make(map[string]time.Duration)
	for _, name := range names {
		if err := w.services[name].Stop(stopPatience); err != nil {
			return nil, err
		}
		var err error
		if took[name], err = w.startService(ctx, name); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// hold stops the services that would empty the queue.
func (w *world) hold(names ...string) error {
	for _, name := range names {
		if err := w.services[name].Stop(stopPatience); err != nil {
			return err
		}
	}
	return nil
}

// release starts them again.
func (w *world) release(ctx context.Context, names ...string) error {
	for _, name := range names {
		if w.services[name].Running() {
			continue
		}
		if _, err := w.startService(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) close() {
	for _, p := range w.services {
		p.Kill()
	}
	for i := len(w.closers) - 1; i >= 0; i-- {
		w.closers[i]()
	}
	for _, p := range w.nats {
		if p != nil {
			p.Kill()
		}
	}
}

// awaitHTTP waits until a page answers with 200.
func awaitHTTP(ctx context.Context, page string) error {
	return retry(ctx, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(res.Body) // it only adds to the error
			return fmt.Errorf("%s: %s %.300s", page, res.Status, body)
		}
		return nil
	})
}

// retry tries until there is no error.
func retry(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(poll):
		}
	}
}
