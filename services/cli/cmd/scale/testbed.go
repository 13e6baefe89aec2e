package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
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
	s3User, s3Password          = "scale", "scale-password"
)

// held are the services that are stopped while the queue is filled, in the order in which they start.
var held = []string{"index", "ocr", "render", "scan", "ingest"}

// testbed is all that runs.
type testbed struct {
	cfg config
	dir string

	nats     *chaos.NATSCluster
	s3, ch   *chaos.Process
	s3Addr   string
	chDSN    string
	services map[string]*chaos.Process
	ops      map[string]string // by service
	client   *chaos.Client
	other    *chaos.Client // of another tenant

	bus     *bus.Bus
	jobs    *job.Store
	index   search.Store
	closers []func()
}

// open builds and starts everything.
func (tb *testbed) open(ctx context.Context) error {
	bin := filepath.Join(tb.dir, "bin")
	if err := chaos.BuildServices(tb.cfg.root, bin); err != nil {
		return err
	}
	for _, start := range []func(context.Context, string) error{tb.openNATS, tb.openS3, tb.openClickHouse, tb.connect,
		tb.openServices} {
		if err := start(ctx, bin); err != nil {
			return err
		}
	}
	return nil
}

// logFile returns where a process says what it has to say.
func (tb *testbed) logFile(name string) io.Writer {
	f, err := os.Create(filepath.Join(tb.dir, name+".log"))
	if err != nil {
		return os.Stderr
	}
	tb.closers = append(tb.closers, func() { f.Close() })
	return f
}

func (tb *testbed) openNATS(ctx context.Context, bin string) (err error) {
	program := filepath.Join(bin, "nats-server")
	if err := chaos.BuildNATSServer(ctx, tb.cfg.root, program); err != nil {
		return err
	}
	if tb.nats, err = chaos.NewNATSCluster(program, tb.dir, nodes, tb.logFile); err != nil {
		return err
	}
	_, err = tb.startNATS(ctx, "always")
	return err
}

// startNATS starts all servers, which are stopped, and returns how long it took until the cluster was whole.
func (tb *testbed) startNATS(ctx context.Context, syncInterval string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	start := time.Now()
	err := tb.nats.Start(ctx, syncInterval)
	return time.Since(start), err
}

func (tb *testbed) openS3(ctx context.Context, _ string) error {
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
	attributes := filepath.Join(tb.dir, "attributes")
	if err := errors.Join(os.MkdirAll(tb.bucket(), 0o700), os.Mkdir(attributes, 0o700)); err != nil {
		return err
	}
	tb.s3 = chaos.NewProcess(program, []string{
		"--port", addr, "--access", s3User, "--secret", s3Password, "--keep-alive", "--quiet", "posix", "--sidecar",
		attributes, filepath.Dir(tb.bucket()),
	}, tb.logFile("s3"))
	if err := tb.s3.Start(); err != nil {
		return err
	}
	tb.closers = append(tb.closers, func() { tb.s3.Kill() })
	store, err := blob.Open(ctx, tb.blobsURL(addr))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	tb.s3Addr = addr
	return retry(ctx, func() error {
		_, err := store.ReadAttributes(ctx, "none")
		if errors.Is(err, blob.ErrNotFound) {
			return nil
		}
		return err
	})
}

// bucket is the folder behind the S3 server's bucket.
func (tb *testbed) bucket() string { return filepath.Join(tb.dir, "s3", bucket) }

func (tb *testbed) blobsURL(addr string) string {
	return "s3://" + bucket + "?endpoint=" + url.QueryEscape("http://"+addr)
}

func (tb *testbed) openClickHouse(ctx context.Context, _ string) error {
	port, err := processtest.FreePort()
	if err != nil {
		return err
	}
	dir := filepath.Join(tb.dir, "clickhouse")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	args, err := searchtest.WriteClickHouseConfig(dir, port)
	if err != nil {
		return err
	}
	tb.ch = chaos.NewProcess(searchtest.ClickHouseProgram(), args, tb.logFile("clickhouse"))
	if err := tb.ch.Start(); err != nil {
		return err
	}
	tb.closers = append(tb.closers, func() { tb.ch.Kill() })
	tb.chDSN = searchtest.ClickHouseDSN(port, "inkstream")
	return retry(ctx, func() error {
		_, _, err := searchtest.Inserts(ctx, searchtest.ClickHouseDSN(port, "default"))
		return err
	})
}

// connect makes the streams, and room in them for all the jobs.
func (tb *testbed) connect(ctx context.Context, _ string) (err error) {
	if tb.bus, err = bus.Connect(tb.nats.URL, "scale", slog.New(slog.DiscardHandler), telemetry.NewDiscard()); err != nil {
		return err
	}
	tb.closers = append(tb.closers, tb.bus.Close)
	if err := tb.bus.ProvisionWhenUp(ctx, bus.Topology{Replicas: nodes, MaxTasks: int64(max(50_000,
		2*tb.cfg.jobs))}); err != nil {
		return err
	}
	if err := tb.lowerMarks(ctx); err != nil {
		return err
	}
	kv, err := tb.bus.OpenJobBucket(ctx)
	if err != nil {
		return err
	}
	tb.jobs = job.NewStore(kv)
	if tb.index, err = search.Open(ctx, tb.chDSN); err != nil {
		return err
	}
	tb.closers = append(tb.closers, func() { _ = tb.index.Close() })
	return nil
}

// lowerMarks has ingest stop soon where scan does not keep up, and so on, so that in a window of a deep queue as many
// jobs go through each stage as end. With the marks of production the first stages would work ahead for hours.
func (tb *testbed) lowerMarks(ctx context.Context) error {
	for _, s := range bus.AllStages()[1:] {
		stream, err := tb.bus.JetStream().Stream(ctx, s.StreamName())
		if err != nil {
			return err
		}
		cfg := stream.CachedInfo().Config
		cfg.Metadata["mark"] = strconv.Itoa(stageMark)
		if _, err := tb.bus.JetStream().UpdateStream(ctx, cfg); err != nil {
			return err
		}
	}
	return nil
}

func (tb *testbed) openServices(ctx context.Context, bin string) error {
	tb.services, tb.ops = make(map[string]*chaos.Process), make(map[string]string)
	httpAddr, err1 := chaos.FindFreeAddr()
	grpcAddr, err2 := chaos.FindFreeAddr()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	keyFile := filepath.Join(tb.dir, "admin.key")
	own := map[string][]string{
		"ingest": {"--ingest.max-pages", "100000"},
		"index":  {"--index", tb.chDSN},
		"gateway": {
			"--index", tb.chDSN, "--gateway.http", httpAddr, "--gateway.grpc", grpcAddr, "--auth", "keys",
			"--auth.admin-key-file", keyFile, "--limit.jobs", "0",
		},
	}
	for _, name := range chaos.Services {
		ops, err := chaos.FindFreeAddr()
		if err != nil {
			return err
		}
		tb.ops[name] = ops
		args := append([]string{"--nats", tb.nats.URL, "--nats.provision=false", "--blobs", tb.blobsURL(tb.s3Addr),
			"--ops", ops}, own[name]...)
		tb.services[name] = chaos.NewProcess(filepath.Join(bin, name), args, tb.logFile(name))
		if _, err := tb.startService(ctx, name); err != nil {
			return err
		}
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	tb.client = chaos.NewClient("http://" + httpAddr)
	tb.client.Key = strings.TrimSpace(string(key))
	return tb.otherTenant(ctx)
}

// startService starts a service, and returns how long it took until it was ready.
func (tb *testbed) startService(ctx context.Context, name string) (time.Duration, error) {
	start := time.Now()
	if err := tb.services[name].Start(); err != nil {
		return 0, err
	}
	if err := awaitOK(ctx, "http://"+tb.ops[name]+"/readyz"); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return time.Since(start), nil
}

// restartServices restarts services one after the other, and returns how long each took until it was ready.
func (tb *testbed) restartServices(ctx context.Context, names []string) (map[string]time.Duration, error) {
	took := make(map[string]time.Duration)
	for _, name := range names {
		if err := tb.services[name].Stop(stopPatience); err != nil {
			return nil, err
		}
		var err error
		if took[name], err = tb.startService(ctx, name); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// hold stops the services that would empty the queue.
func (tb *testbed) hold(names ...string) error {
	for _, name := range names {
		if err := tb.services[name].Stop(stopPatience); err != nil {
			return err
		}
	}
	return nil
}

// release starts them again.
func (tb *testbed) release(ctx context.Context, names ...string) error {
	for _, name := range names {
		if tb.services[name].Running() {
			continue
		}
		if _, err := tb.startService(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (tb *testbed) close() {
	for _, p := range tb.services {
		p.Kill()
	}
	for i := len(tb.closers) - 1; i >= 0; i-- {
		tb.closers[i]()
	}
	if tb.nats != nil {
		tb.nats.Kill()
	}
}

// awaitOK waits until a page answers with 200.
func awaitOK(ctx context.Context, page string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	return chaos.AwaitOK(ctx, page)
}

// retry tries until there is no error.
func retry(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	return chaos.RetryUntilDone(ctx, try)
}
