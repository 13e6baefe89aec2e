package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"inkstream.dev/pkg/lifecycle"
	indexdb "inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/services/gateway/admin"
	"inkstream.dev/services/gateway/compat"
	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/inbound"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/results"
	"inkstream.dev/services/gateway/rpc"
	"inkstream.dev/services/gateway/search"
	"inkstream.dev/services/gateway/upload"
	"inkstream.dev/services/gateway/watch"
)

const (
	// inProcessBuffer is the size of the in-process connection's pipe.
	inProcessBuffer = 1 << 20
)

// Addrs are the addresses that a running gateway listens on.
type Addrs struct {
	HTTP, GRPC string
}

// Components are what the gateway is composed of. The REST and the gRPC side share them.
type Components struct {
	Jobs    *jobview.Service
	Limits  *limits.Service
	Uploads *upload.Service
	Tus     *upload.Tus
	Watches *watch.Service
	Results *results.Service
	Search  *search.Service
	Compat  *compat.Service
	History *admin.StageHistory
}

// Service is the gateway.
type Service struct {
	cfg        Config
	deps       stage.Deps
	log        *slog.Logger
	status     *lifecycle.Status
	errors     *apierror.Reporter
	components Components

	stopping chan struct{} // closed when the service begins to stop, which ends the watches
	// workers counts REST handlers and the goroutines that handlers start; Run waits for them.
	workers sync.WaitGroup

	mu    sync.Mutex // guards addrs
	addrs Addrs
}

// New returns a Service that is not yet running. It adds the gateway's dependencies to the checks of status, which it
// serves as /readyz and as the gRPC health service. The index database, which lists and searches read, may be nil; it
// stays the caller's.
func New(cfg Config, deps stage.Deps, status *lifecycle.Status, index indexdb.Store) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	deps.Log = deps.Log.With("service", "gateway")
	s := &Service{cfg: cfg, deps: deps, log: deps.Log, status: status, errors: apierror.NewReporter(deps.Log),
		stopping: make(chan struct{})}
	if err := s.compose(index); err != nil {
		return nil, err
	}
	status.AddCheck("nats", deps.Bus.CheckWrites)
	status.AddCheck("blobs", deps.Blobs.CheckReadWrite)
	if cfg.Durability != "" {
		status.SetReportInfo("durability", cfg.Durability)
	}
	return s, nil
}

func (s *Service) compose(index indexdb.Store) (err error) {
	p, cfg := &s.components, s.cfg
	if p.Jobs, err = jobview.New(s.deps, index); err != nil {
		return err
	}
	p.Limits = limits.New(limits.Config{Rates: cfg.Access.Limits.WithDefaults(cfg.Access.Auth == AuthKeys), MaxBacklog: cfg.MaxBacklog,
		AnswerMemory: cfg.AnswerMemory, StallTimeout: cfg.StallTimeout},
		s.deps, s.status, index, &s.workers)
	p.Uploads, err = upload.New(upload.Config{
		MaxUploadBytes: cfg.MaxUploadBytes, Retention: cfg.Retention, StallTimeout: cfg.StallTimeout,
		CreateTimeout: cfg.CreateTimeout, Sources: cfg.Sources, CallWebhooks: !cfg.Access.WebhookSecret.IsEmpty(),
		WebhookPolicy: cfg.Access.webhookPolicy(),
	}, s.deps, p.Jobs, p.Limits, s.errors, index, &s.workers)
	if err != nil {
		return err
	}
	if p.Tus, err = upload.NewTus(p.Uploads, cfg.TusDir); err != nil {
		return err
	}
	p.Watches = watch.New(s.deps, p.Jobs, p.Limits, s.errors, cfg.MaxClientWatches, s.stopping)
	p.Results = results.New(s.deps, p.Jobs, p.Limits, s.errors)
	p.History = admin.NewStageHistory(s.deps.Bus, s.log)
	p.Search = search.New(s.deps, p.Jobs, p.Limits)
	p.Compat = compat.New(p.Uploads, p.Watches, p.Results, p.Search, p.Jobs, s.errors, s.status)
	return nil
}

// Components returns what the gateway is composed of.
func (s *Service) Components() Components { return s.components }

// Addrs returns the addresses that the gateway listens on. They are empty before it is ready.
func (s *Service) Addrs() Addrs {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addrs
}

// Run serves until ctx is done, then finishes the requests in hand, at most DrainTimeout. It calls ready once it
// listens. A nil error means a clean stop. A Service runs once.
func (s *Service) Run(ctx context.Context, ready func()) error {
	// Handlers outlive ctx: they are drained, not cut.
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop, err := s.observe()
	if err != nil {
		return err
	}
	defer stop()
	access, err := s.openAccess(base)
	if err != nil {
		return err
	}
	httpListener, grpcListener, cert, err := s.openListeners(ctx)
	if err != nil {
		return err
	}
	loop := bufconn.Listen(inProcessBuffer)
	gate := gate.New(access.auth, s.cfg.Access.Auth == "", s.cfg.ReadOnly, s.components.Limits.Rates())
	calls := rpc.New(s.newAPI(access), gate, s.components.Limits, s.errors, s.deps.Tel, s.status, grpcListener, s.stopping)
	conn, err := rpc.DialInProcess(loop)
	if err != nil {
		return errors.Join(err, httpListener.Close(), grpcListener.Close())
	}
	web, err := s.newHTTPServer(base, gate, httpListener, conn)
	if err != nil {
		return errors.Join(err, conn.Close(), httpListener.Close(), grpcListener.Close())
	}

	failed := make(chan error, 4)
	var wg sync.WaitGroup
	wg.Go(func() { failed <- wrapServeError("gRPC", calls.Serve(withTLS(grpcListener, cert, "h2"))) })
	wg.Go(func() { failed <- wrapServeError("in-process gRPC", calls.Serve(loop)) })
	wg.Go(func() { failed <- wrapServeError("HTTP", web.Serve(withTLS(httpListener, cert, "h2", "http/1.1"))) })
	wg.Go(func() { failed <- access.dispatcher.Run(base) })
	wg.Go(func() { s.components.Watches.Run(base) })
	wg.Go(func() { s.components.Uploads.Run(base) })
	wg.Go(func() { s.components.History.Run(base) })
	wg.Go(func() { s.components.Tus.Run(base) })
	s.log.InfoContext(ctx, "gateway listens", "http", httpListener.Addr().String(), "grpc", grpcListener.Addr().String())
	ready()

	var errs []error
	select {
	case <-ctx.Done():
	case err := <-failed:
		errs = append(errs, err)
	}
	close(s.stopping)
	errs = append(errs, s.drainRequests(base, web, calls), conn.Close())
	cut()
	wg.Wait()
	s.components.Watches.Wait()
	s.workers.Wait()
	access.wait()
	return errors.Join(append(errs, s.components.Uploads.Close())...)
}

// observe has the metrics tell of the queues, of which the gateway sees all, and of the disk that uploads are on,
// until stop is called.
func (s *Service) observe() (stop func(), err error) {
	stopBroker, err := s.deps.Tel.Metrics.ObserveBroker(s.deps.Bus.State)
	if err != nil {
		return nil, err
	}
	stopDisk := func() error { return nil }
	if s.cfg.TusDir != "" {
		if stopDisk, err = s.deps.Tel.Metrics.ObserveDisk("uploads", s.cfg.TusDir); err != nil {
			return nil, errors.Join(err, stopBroker())
		}
	}
	return func() {
		if err := errors.Join(stopBroker(), stopDisk()); err != nil {
			s.log.Warn("stop metrics", "error", err) // the process is about to end
		}
	}, nil
}

// openListeners begins to listen. The certificate is nil where there is none.
func (s *Service) openListeners(ctx context.Context) (httpListener, grpcListener *inbound.Listener, cert *certificate, err error) {
	heads, err := inbound.DefaultLimits(inbound.HeadBytes)
	if err != nil {
		return nil, nil, nil, err
	}
	messages := heads
	messages.UnreadBytes = inbound.MessageBytes
	var lc net.ListenConfig
	web, err := lc.Listen(ctx, "tcp", s.cfg.HTTPAddr)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("listen for HTTP: %w", err)
	}
	calls, err := lc.Listen(ctx, "tcp", s.cfg.GRPCAddr)
	if err != nil {
		return nil, nil, nil, errors.Join(fmt.Errorf("listen for gRPC: %w", err), web.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs = Addrs{HTTP: web.Addr().String(), GRPC: calls.Addr().String()}
	if s.cfg.Access.TLSCert != "" {
		cert, err = loadCertificate(s.cfg.Access.TLSCert, s.cfg.Access.TLSKey, s.log)
		if err == nil {
			_, err = s.deps.Tel.Metrics.ObserveCertificate("gateway", cert.end)
		}
		if err != nil {
			return nil, nil, nil, errors.Join(err, web.Close(), calls.Close())
		}
	}
	return inbound.NewListener(web, heads), inbound.NewListener(calls, messages), cert, nil
}

// withTLS returns the listener with the certificate, or as it is where there is none.
func withTLS(l net.Listener, cert *certificate, protocols ...string) net.Listener {
	if cert == nil {
		return l
	}
	return tls.NewListener(l, cert.tlsConfig(protocols...))
}

// wrapServeError drops the errors with which servers say that they were stopped.
func wrapServeError(what string, err error) error {
	if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", what, err)
}

// drainRequests lets requests finish, and cuts those that take longer than DrainTimeout. REST goes first, for it
// calls the gRPC server.
func (s *Service) drainRequests(base context.Context, web *http.Server, calls *grpc.Server) error {
	ctx, cancel := context.WithTimeout(base, s.cfg.DrainTimeout)
	defer cancel()
	var err error
	cut := web.Shutdown(ctx) != nil
	if cut {
		err = web.Close()
	}
	unhook := context.AfterFunc(ctx, calls.Stop)
	calls.GracefulStop()
	if !unhook() || cut {
		s.log.WarnContext(ctx, "requests were cut, because they outlasted the drain", "timeout", s.cfg.DrainTimeout)
	}
	return err
}
