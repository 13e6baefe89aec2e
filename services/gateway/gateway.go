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
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/webhook"
)

const (
	// maxUploads bounds the uploads under way: each holds a connection, an open blob and about 200 KiB of buffers.
	// maxTenantUploads bounds those of one tenant, so that none can take all the places by uploads that hardly move.
	maxUploads, maxTenantUploads = 320, 256
	// createTimeout is how long an upload tries to write its record when the broker is away: longer than two exchanges
	// of pkg/job, of 5 s each, so that what the first try has written is found by another, and shorter than clients and
	// proxies wait for an answer. An upload with the same idempotency key waits a little longer than that before it
	// takes the key over.
	createTimeout = 12 * time.Second
	// publishTimeout bounds how long an upload waits for its task to be queued. The record is durable by then, so the
	// answer does not depend on it.
	publishTimeout = 3 * time.Second
	// inProcessBuffer is the size of the in-process connection's pipe.
	inProcessBuffer = 1 << 20
)

// Addrs are the addresses that a running gateway listens on.
type Addrs struct {
	HTTP, GRPC string
}

// Service is the gateway.
type Service struct {
	inkstreamv1.UnimplementedInkstreamServiceServer

	cfg      Config
	deps     stage.Deps
	log      *slog.Logger
	status   *lifecycle.Status
	hub      *hub
	jobCache jobCache

	admission *admission
	// auth and keys are nil where requests need no credentials.
	auth   *access.Authenticator
	keys   *access.Keys
	limits *access.Limits
	quota  *quota

	// index is nil where the gateway was started without one.
	index      search.Store
	hooks      *webhook.Hooks
	dispatcher *webhook.Dispatcher
	languages  *languageCache
	rejections *rejectionAudit

	sources *sources
	// resumable is nil where there is no folder for such uploads.
	resumable *tusFolder

	uploadSlots      chan struct{} // a slot for each upload under way
	tenantSlots      tenantSlots   // of the tenants in uploads
	imageSlots       chan struct{} // a slot for each page that boxes are being drawn into
	imageAnswerSlots chan struct{} // a slot for each drawn page that is being answered over REST
	flood            flood         // of uploads, which the work behind the gateway gives way to
	stopping         chan struct{} // closed when the service begins to stop, which ends the watches
	// workers counts REST handlers and the goroutines that handlers start; Run waits for them.
	workers sync.WaitGroup
	// createTimeout is the constant of that name; tests shorten it.
	createTimeout time.Duration

	mu    sync.Mutex // guards addrs
	addrs Addrs
}

// New returns a Service that is not yet running. It adds the gateway's dependencies to the checks of status, which it
// serves as /readyz and as the gRPC health service. Lists and searches read the index database, which stays the
// caller's; nil where there is none.
func New(cfg Config, env stage.Deps, status *lifecycle.Status, index search.Store) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Service{
		cfg:              cfg,
		deps:             env,
		log:              env.Log.With("service", "gateway"),
		status:           status,
		index:            index,
		uploadSlots:      make(chan struct{}, maxUploads),
		tenantSlots:      tenantSlots{maxPerTenant: maxTenantUploads},
		imageSlots:       make(chan struct{}, maxBoxedImages),
		imageAnswerSlots: make(chan struct{}, maxImageAnswers),
		stopping:         make(chan struct{}),
		createTimeout:    createTimeout,
		limits:           access.NewLimits(cfg.Access.Limits),
		quota:            newQuota(),
		admission:        newAdmission(env.Bus, cfg.MaxBacklog),
		languages:        &languageCache{load: env.Jobs.LoadLanguages},
		rejections:       newRejectionAudit(env.Bus.PublishEvent),
	}
	var err error
	if s.sources, err = newSources(cfg.Sources); err != nil {
		return nil, err
	}
	if cfg.TusDir != "" {
		if s.resumable, err = openTusFolder(cfg.TusDir, s.log); err != nil {
			return nil, err
		}
	}
	s.hub = newHub(s.loadJobView, s.log, s.stopping)
	s.hub.perClient = cfg.MaxClientWatches
	status.AddCheck("nats", env.Bus.CheckWrites)
	status.AddCheck("blobs", env.Blobs.CheckReadWrite)
	if cfg.Durability != "" {
		status.SetReportInfo("durability", cfg.Durability)
	}
	return s, nil
}

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
	if err := s.openAccess(base); err != nil {
		return err
	}
	httpListener, grpcListener, err := s.openListeners(ctx)
	if err != nil {
		return err
	}
	loop := bufconn.Listen(inProcessBuffer)
	rpc := s.newGRPCServer()
	conn, err := dialInProcess(loop)
	if err != nil {
		return errors.Join(err, httpListener.Close(), grpcListener.Close())
	}
	web, err := s.newHTTPServer(base, conn)
	if err != nil {
		return errors.Join(err, conn.Close(), httpListener.Close(), grpcListener.Close())
	}

	failed := make(chan error, 4)
	var wg sync.WaitGroup
	wg.Go(func() { failed <- wrapServeError("gRPC", rpc.Serve(grpcListener)) })
	wg.Go(func() { failed <- wrapServeError("in-process gRPC", rpc.Serve(loop)) })
	wg.Go(func() { failed <- wrapServeError("HTTP", web.Serve(httpListener)) })
	wg.Go(func() { failed <- s.dispatcher.Run(base) })
	wg.Go(func() { s.hub.watchBucket(base, s.deps.Bus) })
	wg.Go(func() { s.rejections.publishQueued(base) })
	if s.resumable != nil {
		wg.Go(func() { s.resumable.runSweeps(base) })
	}
	s.log.InfoContext(ctx, "gateway listens", "http", httpListener.Addr().String(), "grpc", grpcListener.Addr().String())
	ready()

	var errs []error
	select {
	case <-ctx.Done():
	case err := <-failed:
		errs = append(errs, err)
	}
	close(s.stopping)
	errs = append(errs, s.drainRequests(base, web, rpc), conn.Close())
	cut()
	wg.Wait()
	s.hub.waitForTopics()
	s.workers.Wait()
	s.hooks.Wait()
	if s.keys != nil {
		s.keys.Wait()
	}
	return errors.Join(append(errs, s.sources.closeStores())...)
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

func (s *Service) openListeners(ctx context.Context) (httpListener, grpcListener net.Listener, err error) {
	var lc net.ListenConfig
	if httpListener, err = lc.Listen(ctx, "tcp", s.cfg.HTTPAddr); err != nil {
		return nil, nil, fmt.Errorf("listen for HTTP: %w", err)
	}
	if grpcListener, err = lc.Listen(ctx, "tcp", s.cfg.GRPCAddr); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("listen for gRPC: %w", err), httpListener.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs = Addrs{HTTP: httpListener.Addr().String(), GRPC: grpcListener.Addr().String()}
	if s.cfg.Access.TLSCert == "" {
		return httpListener, grpcListener, nil
	}
	cert, err := loadCertificate(s.cfg.Access.TLSCert, s.cfg.Access.TLSKey, s.log)
	if err == nil {
		_, err = s.deps.Tel.Metrics.ObserveCertificate("gateway", cert.end)
	}
	if err != nil {
		return nil, nil, errors.Join(err, httpListener.Close(), grpcListener.Close())
	}
	return tls.NewListener(httpListener, cert.tlsConfig("h2", "http/1.1")),
		tls.NewListener(grpcListener, cert.tlsConfig("h2")), nil
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
func (s *Service) drainRequests(base context.Context, web *http.Server, rpc *grpc.Server) error {
	ctx, cancel := context.WithTimeout(base, s.cfg.DrainTimeout)
	defer cancel()
	var err error
	cut := web.Shutdown(ctx) != nil
	if cut {
		err = web.Close()
	}
	unhook := context.AfterFunc(ctx, rpc.Stop)
	rpc.GracefulStop()
	if !unhook() || cut {
		s.log.WarnContext(ctx, "requests were cut, because they outlasted the drain", "timeout", s.cfg.DrainTimeout)
	}
	return err
}
