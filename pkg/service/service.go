// Package service holds what the mains of the services share: the connections that each needs, its flags, and its
// readiness page. Knowing one service's main is knowing six.
package service

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
)

// Version is the version of all services, and Revision the commit that they were built from, if that is known. A
// build of a release sets both, with -ldflags "-X inkstream.dev/pkg/service.Version=…".
var (
	Version  = "0.1.0"
	Revision = ""
)

// Config says where a service finds what it works with.
type Config struct {
	// NATS is the address of the NATS servers, comma-separated.
	NATS string
	// Credentials say who the service is to them.
	Credentials bus.Credentials
	// Blobs is the URL of the blob store; every service of a deployment has the same.
	Blobs string
	// Ops is where /healthz, /readyz and /metrics are served; empty for nowhere. Port 0 picks a free one.
	Ops string
	// Provision creates the streams and buckets at the start; without it the service waits until they are there.
	Provision bool
	// Replicas of each stream where Provision is set; 0 keeps what there is, and begins with 3 on a cluster.
	Replicas int
	// DocumentTimeout bounds a run of a job, StallTimeout how long it may go on without moving.
	DocumentTimeout, StallTimeout time.Duration
	// SealKeyFile holds the key that documents' passwords are sealed with; every service of a deployment has the same.
	// Empty for none: then no document can have a password.
	SealKeyFile string
	// AwaitIndex is the address of the index service's /readyz: the start waits while one of another version answers
	// there. Empty waits for none.
	AwaitIndex string
	// Sandbox is SandboxRequired or SandboxBestEffort.
	Sandbox string
	// Telemetry says how the service logs.
	Telemetry telemetry.Config
}

// DefaultConfig returns the defaults of a service of that name.
func DefaultConfig(name string) Config {
	return Config{
		NATS: "nats://127.0.0.1:4222", Ops: "127.0.0.1:0", Provision: true, DocumentTimeout: time.Hour,
		StallTimeout: 2 * time.Minute, Credentials: bus.Credentials{InboxPrefix: bus.InboxPrefix(name)},
		Sandbox: SandboxRequired, Telemetry: telemetry.DefaultConfig("inkstream-"+name, Version),
	}
}

// Register adds the flags that all services have.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.NATS, "nats", c.NATS, "`addresses` of the NATS servers, comma-separated")
	fs.StringVar(&c.Blobs, "blobs", c.Blobs, "`URL` of the blob store, e.g. file:///var/lib/inkstream/blobs")
	fs.StringVar(&c.Ops, "ops", c.Ops, "`address` of /healthz, /readyz and /metrics; empty for none")
	fs.BoolVar(&c.Provision, "nats.provision", c.Provision,
		"create streams and buckets at the start instead of waiting for them")
	fs.IntVar(&c.Replicas, "nats.replicas", c.Replicas,
		"least replicas of each stream (default: as many as now; at first 1 on one server, 3 on a cluster)")
	fs.DurationVar(&c.DocumentTimeout, "document-timeout", c.DocumentTimeout,
		"how long the run of a job may take; 0 for no bound")
	fs.DurationVar(&c.StallTimeout, "stall-timeout", c.StallTimeout,
		"how long a job in hand may go on without any page or stage ending; 0 for no bound")
	fs.StringVar(&c.SealKeyFile, "seal-key-file", c.SealKeyFile,
		"`file` with 32 bytes in base64 that documents' passwords are sealed with; empty: no passwords are taken")
	fs.StringVar(&c.AwaitIndex, "await-index", c.AwaitIndex,
		"`URL` of the index service's /readyz: start no work while it tells of another version, as during an update; empty: wait for none")
	RegisterSandbox(fs, &c.Sandbox)
	c.Credentials.Register(fs)
	c.Telemetry.Register(fs)
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var p config.Problems
	p.CheckFlag(c.NATS != "", "nats", "empty, want an address")
	p.CheckFlag(c.Blobs != "", "blobs", "empty, want a URL such as file:///var/lib/inkstream/blobs")
	p.CheckFlag(c.Replicas >= 0 && c.Replicas <= 5, "nats.replicas", "%d, want 0 to 5", c.Replicas)
	p.CheckFlag(c.DocumentTimeout >= 0, "document-timeout", "%s, want 0 or more", c.DocumentTimeout)
	p.CheckFlag(c.StallTimeout >= 0, "stall-timeout", "%s, want 0 or more", c.StallTimeout)
	if c.AwaitIndex != "" {
		u, err := url.Parse(c.AwaitIndex)
		p.CheckFlag(err == nil && u.Scheme == "http" &&
			u.Host != "", "await-index", "%q, want an address such as http://index:9100/readyz", c.AwaitIndex)
	}
	p.AddError(CheckSandbox(c.Sandbox))
	p.AddError(c.Credentials.Validate())
	p.AddError(c.Telemetry.Validate())
	return p.Err()
}

// Settings are a service's own flags.
type Settings interface {
	Register(fs *flag.FlagSet)
	Validate() error
}

// Runtime is what a service is built from.
type Runtime struct {
	Deps   stage.Deps
	Status *lifecycle.Status
	// BestEffort starts engines also where the kernel does not wall them in.
	BestEffort bool
	// Close adds something that is closed after the service has stopped, last added first.
	Close func(name string, closer func() error)
}

// Builder builds a service's units from what it works with.
type Builder func(ctx context.Context, rt *Runtime) ([]lifecycle.Unit, error)

// Main runs a service until a signal stops it, and ends the process: 0 after a clean stop, 1 after an error, 2 for
// wrong usage. With "healthcheck" as the first argument it asks the service that runs on this machine whether it is
// ready: 0 if it is, 1 if not.
func Main(name string, settings []Settings, build Builder) {
	ctx, stop := lifecycle.SignalContext(context.Background())
	var err error
	if len(os.Args) > 1 && os.Args[1] == "healthcheck" {
		err = runHealthcheck(ctx, name, os.Args[2:], os.Getenv)
	} else {
		err = Run(ctx, name, os.Args[1:], os.Getenv, os.Stderr, settings, build)
	}
	stop()
	if code := reportExit(os.Stderr, name, err); code != 0 {
		os.Exit(code)
	}
}

var errUsage = errors.New("wrong usage")

// reportExit says on stderr what a service ended with, and returns the code that its process ends with.
func reportExit(stderr io.Writer, name string, err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	if errors.Is(err, errUsage) {
		fmt.Fprintf(stderr, "Run '%s --help' for its flags.\n", name)
		return 2
	}
	return 1
}

// Run is Main without the process: it runs a service until ctx is done.
func Run(
	ctx context.Context, name string, args []string, getenv func(string) string, stderr io.Writer, settings []Settings,
	build Builder,
) (err error) {
	cfg, err := parseConfig(name, args, getenv, stderr, settings)
	if err != nil {
		return err
	}
	LimitMemory()
	tel, err := telemetry.SetUpTelemetry(ctx, cfg.Telemetry, stderr)
	if err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	closers := &closerStack{}
	defer func() { err = errors.Join(err, closers.closeAll()) }()
	closers.pushCloser("telemetry", func() error { return tel.Shutdown(context.WithoutCancel(ctx)) })
	if err := failpoint.ArmFromEnv(ctx, getenv, tel.Log); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}

	status := lifecycle.NewStatus()
	status.Observe = tel.Metrics.RecordDependency
	status.SetReportInfo(versionInfo, Version)
	// The page comes first: it says what is missing while the rest waits for it.
	var units []lifecycle.Unit
	if cfg.Ops != "" {
		page, err := startOpsServer(ctx, cfg.Ops, status, tel)
		if err != nil {
			return err
		}
		closers.pushCloser("ops page", page.shutDown)
		units = append(units, lifecycle.Unit{Name: "ops", Run: page.waitUntilDone})
	}
	env, err := connectDependencies(ctx, name, cfg, tel, status, closers)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // it was stopped while it waited
		}
		return err
	}
	if cfg.AwaitIndex != "" {
		if err := awaitIndex(ctx, http.DefaultClient, cfg.AwaitIndex, status, tel.Log); err != nil {
			return nil // it was stopped while it waited
		}
	}
	own, err := build(ctx, &Runtime{Deps: env, Status: status, BestEffort: cfg.Sandbox == SandboxBestEffort,
		Close: closers.pushCloser})
	if err != nil {
		return err
	}
	units = append(units, lifecycle.Unit{Name: "dependencies", Run: status.WatchChecks})
	return lifecycle.Run(ctx, tel.Log, status.TrackUnits(append(units, own...)...)...)
}

// CheckFlags reports what is wrong with the flags and variables that a service of that name is given, without running
// it.
func CheckFlags(name string, args []string, getenv func(string) string, settings []Settings) error {
	_, err := parseConfig(name, args, getenv, io.Discard, settings)
	return err
}

// parseConfig returns the configuration, and fills the service's own settings. It prints the flags where that is
// asked for.
func parseConfig(name string, args []string, getenv func(string) string, stderr io.Writer,
	settings []Settings) (Config, error) {
	cfg := DefaultConfig(name)
	fs := config.NewFlagSet(name, io.Discard) // a slip in a line needs no hundred lines of help
	cfg.Register(fs)
	for _, s := range settings {
		s.Register(fs)
	}
	switch err := config.ParseFlags(fs, args, getenv); {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(stderr)
		config.PrintUsage(fs)
		return cfg, err
	case err != nil:
		return cfg, fmt.Errorf("%w: %w", errUsage, err)
	case fs.NArg() > 0:
		return cfg, fmt.Errorf("%w: all arguments are flags, and %q is none", errUsage, fs.Arg(0))
	}
	problems := cfg.Validate()
	for _, s := range settings {
		problems = errors.Join(problems, s.Validate())
	}
	if problems != nil {
		return cfg, fmt.Errorf("%w: %w", errUsage, problems)
	}
	return cfg, nil
}

// connectDependencies returns what the service works with. It waits until the broker is there, and until then status
// says that it waits.
func connectDependencies(
	ctx context.Context, name string, cfg Config, tel *telemetry.Telemetry, status *lifecycle.Status, closers *closerStack,
) (stage.Deps, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	env := stage.Deps{Tel: tel, Log: tel.Log, DocumentTimeout: cfg.DocumentTimeout, StallTimeout: cfg.StallTimeout}
	if cfg.SealKeyFile != "" {
		if env.Sealer, err = job.LoadSealer(cfg.SealKeyFile); err != nil {
			return stage.Deps{}, err
		}
	}
	if env.Blobs, err = blob.Open(ctx, cfg.Blobs); err != nil {
		return stage.Deps{}, err
	}
	closers.pushCloser("blobs", env.Blobs.Close)
	if u, err := url.Parse(cfg.Blobs); err == nil && u.Scheme == "file" {
		stop, err := tel.Metrics.ObserveDisk("blobs", u.Path)
		if err != nil {
			return stage.Deps{}, err
		}
		closers.pushCloser("metrics of the disk", stop)
	}
	status.AddCheck("blobs", env.Blobs.CheckReadWrite)
	credentials, err := cfg.Credentials.Options()
	if err != nil {
		return stage.Deps{}, err
	}
	if env.Bus, err = bus.Connect(cfg.NATS, name+"/"+host, tel.Log, tel, credentials...); err != nil {
		return stage.Deps{}, err
	}
	closers.pushCloser("bus", func() error { env.Bus.Close(); return nil })
	if err := prepareStreams(ctx, name, cfg, env.Bus, status); err != nil {
		return stage.Deps{}, err
	}
	kv, err := env.Bus.OpenJobBucket(ctx)
	if err != nil {
		return stage.Deps{}, err
	}
	env.Jobs = job.NewStore(kv)
	return env, nil
}

// prepareStreams makes the streams and buckets or waits for them, and makes sure that the service's user may do what
// the service will.
func prepareStreams(ctx context.Context, name string, cfg Config, b *bus.Bus, status *lifecycle.Status) error {
	var own []bus.Stage // none means all
	if slices.Contains(bus.AllStages(), bus.Stage(name)) {
		own = append(own, bus.Stage(name))
	}
	var err error
	if cfg.Provision {
		status.AddCheck("nats", b.CheckWrites)
		err = b.ProvisionWhenUp(ctx, bus.Topology{Replicas: cfg.Replicas})
	} else {
		status.AddCheck("nats", func(ctx context.Context) error { return b.CheckProvisioned(ctx, own...) })
		err = b.AwaitProvisioned(ctx, own...)
		status.AddCheck("nats", b.CheckWrites)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// What follows a refusal says no more than that something timed out, so what is missing is told first.
	if missing := b.CheckPermissions(ctx, name); missing != nil {
		return missing
	}
	return err
}

// closerStack are closed in reverse.
type closerStack struct {
	list []struct {
		name  string
		close func() error
	}
}

func (c *closerStack) pushCloser(name string, closer func() error) {
	c.list = append(c.list, struct {
		name  string
		close func() error
	}{name, closer})
}

func (c *closerStack) closeAll() error {
	var errs []error
	for len(c.list) > 0 {
		last := c.list[len(c.list)-1]
		c.list = c.list[:len(c.list)-1]
		if err := last.close(); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", last.name, err))
		}
	}
	return errors.Join(errs...)
}

// opsServer serves readiness and metrics.
type opsServer struct {
	srv  *http.Server
	done chan struct{} // closed when it has ended, with err
	err  error
}

// startOpsServer returns a page that is being served. The caller closes it.
func startOpsServer(ctx context.Context, addr string, status *lifecycle.Status,
	tel *telemetry.Telemetry) (*opsServer, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("ops address: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.Handle("GET /readyz", status)
	mux.Handle("GET /metrics", tel.MetricsHandler())
	p := &opsServer{
		srv:  &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second},
		done: make(chan struct{}),
	}
	go func() {
		defer close(p.done)
		p.err = p.srv.Serve(l)
	}()
	tel.Log.InfoContext(ctx, "ops page", "addr", l.Addr().String())
	return p, nil
}

// waitUntilDone returns when ctx is done, or the page cannot be served any more. The page goes on until it is closed.
// It is a unit's Run.
func (p *opsServer) waitUntilDone(ctx context.Context, ready func()) error {
	ready()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return nil
	}
}

func (p *opsServer) shutDown() error {
	stop, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := p.srv.Shutdown(stop)
	<-p.done // http.ErrServerClosed
	return err
}
