// Package standalone runs every service in one process, with an embedded NATS server. It builds them by the same
// constructors as the services' own mains; only the connections differ.
package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/embedded"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/service/pdfengine"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/gateway"
	"inkstream.dev/services/index"
	"inkstream.dev/services/ingest"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/render"
	"inkstream.dev/services/scan"
)

const quietLevel = slog.LevelError

// ChildPrograms lists the child processes that the services need; a process that runs them calls sandbox.Main with it
// first thing.
func ChildPrograms() []sandbox.Program {
	return append(ocr.Programs(), pdf.Program())
}

// Addrs are the addresses that a running Server listens on.
type Addrs struct {
	HTTP, GRPC, NATS string
}

// Server is the whole pipeline.
type Server struct {
	cfg     Config
	tel     *telemetry.Telemetry
	nats    *embedded.Server
	gateway *gateway.Service
	units   []lifecycle.Unit
	closers []func() error
}

// New starts the NATS server and opens the stores; the services are not yet running. The caller must Close the Server.
func New(ctx context.Context, cfg Config, tel *telemetry.Telemetry) (_ *Server, err error) {
	if err := cfg.resolvePaths(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, tel: tel}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.lockDataDir(); err != nil {
		return nil, err
	}
	stop, err := tel.Metrics.ObserveDisk("data", s.cfg.DataDir)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, stop)
	env, err := s.connectStores(ctx)
	if err != nil {
		return nil, err
	}
	return s, s.buildServices(ctx, env)
}

// lockDataDir keeps a second process out of the data folder.
func (s *Server) lockDataDir() error {
	if err := os.MkdirAll(s.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(s.cfg.DataDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	s.closers = append(s.closers, f.Close)
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("data folder %s is in use by another process, perhaps another 'inkstream serve': end that, or name another folder with --data-dir",
			s.cfg.DataDir)
	}
	return nil
}

func (s *Server) connectStores(ctx context.Context) (stage.Deps, error) {
	secured, err := s.cfg.natsServerConfig()
	if err != nil {
		return stage.Deps{}, err
	}
	s.nats, err = embedded.StartServer(secured, s.tel.Log)
	if err != nil {
		return stage.Deps{}, err
	}
	s.closers = append(s.closers, func() error { s.nats.ShutDown(); return nil })
	b, err := bus.Connect(s.nats.InProcessURL(), "standalone", s.tel.Log, s.tel, s.nats.InProcessOption())
	if err != nil {
		return stage.Deps{}, err
	}
	s.closers = append(s.closers, func() error { b.Close(); return nil })
	if err := b.Provision(ctx, bus.Topology{}); err != nil {
		return stage.Deps{}, err
	}
	kv, err := b.OpenJobBucket(ctx)
	if err != nil {
		return stage.Deps{}, err
	}
	blobs, err := blob.Open(ctx, s.cfg.Blobs)
	if err != nil {
		return stage.Deps{}, err
	}
	s.closers = append(s.closers, blobs.Close)
	sealer, err := job.LoadOrCreateSealer(s.cfg.SealKeyFile)
	if err != nil {
		return stage.Deps{}, err
	}
	return stage.Deps{
		Bus: b, Jobs: job.NewStore(kv), Blobs: blobs, Tel: s.tel, Log: s.tel.Log, DocumentTimeout: s.cfg.DocumentTimeout,
		StallTimeout: s.cfg.StallTimeout, Sealer: sealer,
	}, nil
}

// buildServices makes the engines and the services. The gateway comes last, so that nothing is taken in before all of
// it can be worked on, and stops first.
func (s *Server) buildServices(ctx context.Context, env stage.Deps) error {
	rt := &service.Runtime{
		Deps: env, Status: lifecycle.NewStatus(), BestEffort: s.cfg.Sandbox == service.SandboxBestEffort,
		Close: func(_ string, closer func() error) { s.closers = append(s.closers, closer) },
	}
	rt.Status.Observe = s.tel.Metrics.RecordDependency
	pdfEngine, err := pdfengine.Open(ctx, rt, s.cfg.PDF)
	if err != nil {
		return err
	}
	ocrEngine, err := ocr.OpenEngine(rt, s.cfg.OCREngine, s.cfg.OCR)
	if err != nil {
		return err
	}
	store, err := search.Open(ctx, s.cfg.Index)
	if err != nil {
		return fmt.Errorf("index database: %w", err)
	}
	s.closers = append(s.closers, store.Close)

	var units []lifecycle.Unit
	units, s.gateway, err = Units(rt, s.cfg, Parts{PDF: pdfEngine, OCR: ocrEngine, Index: store})
	if err != nil {
		return err
	}
	s.units = rt.Status.TrackUnits(append([]lifecycle.Unit{
		{Name: "dependencies", Run: rt.Status.WatchChecks}, {Name: "engines", Run: warmPDFEngine(pdfEngine, s.tel.Log)},
	}, units...)...)
	return nil
}

// Parts are what the services share.
type Parts struct {
	PDF   *pdf.Engine
	OCR   ocr.Engine
	Index search.Store
}

// Units builds the services, in the order in which they are started, each by the constructor of its own main. A caller
// that runs one of them elsewhere leaves it out by its name.
func Units(rt *service.Runtime, cfg Config, p Parts) ([]lifecycle.Unit, *gateway.Service, error) {
	var units []lifecycle.Unit
	for _, build := range []func() ([]lifecycle.Unit, error){
		func() ([]lifecycle.Unit, error) { return index.Units(rt, cfg.IndexCfg, p.Index, p.PDF) },
		func() ([]lifecycle.Unit, error) { return ocr.Units(rt, cfg.OCR, p.OCR) },
		func() ([]lifecycle.Unit, error) { return render.Units(rt, cfg.Render, p.PDF) },
		func() ([]lifecycle.Unit, error) { return scan.Units(rt, cfg.Scan, p.PDF) },
		func() ([]lifecycle.Unit, error) { return ingest.Units(rt, cfg.Ingest, p.PDF) },
	} {
		own, err := build()
		if err != nil {
			return nil, nil, err
		}
		units = append(units, own...)
	}
	own, api, err := gateway.Units(rt, gateway.Parts{
		Config: cfg.Gateway, Reconcile: cfg.Reconcile, Index: p.Index, Remover: p.Index,
	})
	if err != nil {
		return nil, nil, err
	}
	return append(units, own...), api, nil
}

// warmPDFEngine starts an engine child ahead of the first document; the very first of a data folder compiles the
// engine, which takes seconds.
func warmPDFEngine(engine *pdf.Engine, log *slog.Logger) func(context.Context, func()) error {
	return func(ctx context.Context, ready func()) error {
		ready()
		if err := engine.StartChildren(ctx, 1); err != nil && ctx.Err() == nil {
			// The first document tries again, and fails with the reason if it must.
			log.WarnContext(ctx, "start of the PDF engine", "error", err)
		}
		<-ctx.Done()
		return nil
	}
}

// Run runs the services until ctx is done. It calls ready with the addresses once all of them accept work.
func (s *Server) Run(ctx context.Context, ready func(Addrs)) error {
	announce := lifecycle.Unit{Name: "announce", Run: func(ctx context.Context, up func()) error {
		up()
		addrs := s.gateway.Addrs()
		ready(Addrs{HTTP: addrs.HTTP, GRPC: addrs.GRPC, NATS: s.nats.ClientURL()})
		<-ctx.Done()
		return nil
	}}
	return lifecycle.Run(ctx, s.tel.Log, append(s.units, announce)...)
}

// Close releases what New has opened, last opened first. Run must have returned.
func (s *Server) Close() error {
	var errs []error
	for len(s.closers) > 0 {
		last := s.closers[len(s.closers)-1]
		s.closers = s.closers[:len(s.closers)-1]
		errs = append(errs, last())
	}
	return errors.Join(errs...)
}

// Serve runs the pipeline until ctx is done, and prints its addresses to out; logs go to logs.
func Serve(ctx context.Context, cfg Config, out, logs io.Writer) error {
	return runPipeline(ctx, cfg, logs, func(ctx context.Context, a Addrs, walls string) error {
		fmt.Fprint(out, startMessage(cfg, a, walls))
		<-ctx.Done()
		fmt.Fprintln(out, "stopping; a second Ctrl-C kills")
		return nil
	})
}

// startMessage returns what the user of a pipeline needs to know when it has started.
func startMessage(cfg Config, a Addrs, walls string) string {
	scheme, auth, pages := "http", "", ""
	if cfg.Gateway.Access.TLSCert != "" {
		scheme = "https"
	}
	if cfg.Gateway.Access.Auth == gateway.AuthKeys {
		file := cfg.Gateway.Access.AdminKeyFile
		if file == "" {
			file = filepath.Join(cfg.DataDir, "admin.key")
		}
		auth = "  auth   API keys; the first one, an administrator's, is in " + file + " until somebody takes it away\n"
	}
	if cfg.Gateway.UI {
		pages = "  pages  " + scheme + "://" + a.HTTP + "/ui/\n"
	}
	if walls != "" {
		walls = "\n  warning: this kernel lacks " + walls + "\n"
	}
	return "inkstream is ready\n\n" + pages + fmt.Sprintf(`  REST   %s://%s     curl -F file=@scan.pdf %[1]s://%[2]s/v1/jobs
  gRPC   %s            inkstream --help
  NATS   %s     %s
  data   %s (durability: %s)
%s%s
Ctrl-C stops it; what is queued goes on at the next start.
`, scheme, a.HTTP, a.GRPC, a.NATS, cfg.inspectionCommands(a.NATS), cfg.DataDir, cfg.Durability, auth, walls)
}

// RunWith runs the pipeline while use does, which is given the gRPC address.
func RunWith(ctx context.Context, cfg Config, logs io.Writer,
	use func(ctx context.Context, grpcAddr string) error) error {
	return runPipeline(ctx, cfg, logs, func(ctx context.Context, a Addrs, _ string) error { return use(ctx, a.GRPC) })
}

func runPipeline(ctx context.Context, cfg Config, logs io.Writer,
	use func(context.Context, Addrs, string) error) (err error) {
	paced := os.Getenv("GOGC") == "" // which overrides it
	if paced {
		debug.SetGCPercent(maxGCPercent)
	}
	service.LimitMemory()
	tel, err := telemetry.SetUpTelemetry(ctx, cfg.Telemetry, logs)
	if err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	defer func() { err = errors.Join(err, tel.Shutdown(context.WithoutCancel(ctx))) }()
	s, err := New(ctx, cfg, tel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { trimWhenQuiet(ctx, quietTime) })
	if paced {
		wg.Go(func() { paceCollector(ctx) })
	}
	var useErr error
	err = s.Run(ctx, func(a Addrs) {
		wg.Go(func() {
			defer stop()
			useErr = use(ctx, a, sandbox.Isolation().Warning())
		})
	})
	stop()
	wg.Wait()
	return errors.Join(useErr, err)
}
