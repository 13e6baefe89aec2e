package gateway

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/test/bufconn"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// maxMessageBytes bounds a message that a client sends. Upload messages hold at most 1 MiB of data by contract; the
	// rest is room to tell a client that exceeds it what is wrong.
	maxMessageBytes = 4 << 20
	// maxMetadataBytes bounds the metadata of a call.
	maxMetadataBytes = 16 << 10
	// maxStreams bounds the calls under way on one connection.
	maxStreams = 1000
	// maxPageBytes bounds the stored result of one page.
	maxPageBytes = 64 << 20
	// maxLoopBytes bounds an answer on the in-process connection: a page whose words come twice.
	maxLoopBytes = 4 * maxPageBytes
)

// newGRPCServer returns a server with the API, health and reflection.
func (s *Service) newGRPCServer() *grpc.Server {
	tel := s.deps.Tel
	srv := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxMetadataBytes),
		grpc.WaitForHandlers(true),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.StatsHandler(otelgrpc.NewServerHandler(
			otelgrpc.WithTracerProvider(tel.TracerProvider), otelgrpc.WithMeterProvider(tel.MeterProvider),
			otelgrpc.WithPropagators(tel.Propagator), otelgrpc.WithFilter(isAPICall))),
		grpc.UnaryInterceptor(s.interceptUnary),
		grpc.StreamInterceptor(s.interceptStream),
	)
	inkstreamv1.RegisterInkstreamServiceServer(srv, s)
	healthv1.RegisterHealthServer(srv, &healthService{service: s})
	reflection.Register(srv)
	return srv
}

// isAPICall leaves health checks and reflection out of traces.
func isAPICall(info *stats.RPCTagInfo) bool {
	return strings.HasPrefix(info.FullMethodName, "/inkstream.")
}

// dialInProcess connects the REST side to the gRPC server in this process. It dials when first used.
func dialInProcess(loop *bufconn.Listener) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///gateway",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return loop.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxLoopBytes)))
	if err != nil {
		return nil, fmt.Errorf("in-process gRPC connection: %w", err)
	}
	return conn, nil
}

// interceptUnary gives every call a request id, turns a panic into an internal error, and errors into statuses.
func (s *Service) interceptUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler) (resp any, err error) {
	ctx = incomingRequestID(ctx)
	defer func() {
		if v := recover(); v != nil {
			err = s.reportPanic(ctx, v)
		}
		if err != nil {
			resp, err = nil, s.reportError(ctx, info.FullMethod, err).Err()
		}
	}()
	if err := grpc.SetHeader(ctx, metadata.Pairs(requestIDKey, requestIDFromContext(ctx))); err != nil {
		return nil, fmt.Errorf("set header: %w", err)
	}
	if ctx, err = s.admitRPCCall(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	if err := validateRequest(req); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

// interceptStream does for streams what interceptUnary does for calls.
func (s *Service) interceptStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) (err error) {
	ctx := incomingRequestID(stream.Context())
	defer func() {
		if v := recover(); v != nil {
			err = s.reportPanic(ctx, v)
		}
		if err != nil {
			err = s.reportError(ctx, info.FullMethod, err).Err()
		}
	}()
	if err := stream.SetHeader(metadata.Pairs(requestIDKey, requestIDFromContext(ctx))); err != nil {
		return fmt.Errorf("set header: %w", err)
	}
	if ctx, err = s.admitRPCCall(ctx, info.FullMethod); err != nil {
		return err
	}
	return next(srv, &contextStream{stream, ctx})
}

// contextStream is a stream with another context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // grpc hands a stream's context out by a method only
}

// Context returns the stream's context.
func (s *contextStream) Context() context.Context { return s.ctx }

// reportPanic logs a panic with its stack and returns what the client gets to see of it: a status, so that it is not
// logged again.
func (s *Service) reportPanic(ctx context.Context, v any) error {
	s.log.ErrorContext(ctx, "handler panicked", "request", requestIDFromContext(ctx), "panic", v, "stack",
		string(debug.Stack()))
	return statusFromError(fault.New(fault.Internal, "panic")).Err()
}

// healthInterval is how often the state that a health watch reports is looked at.
const healthInterval = time.Second

// healthService is the gRPC health service: it reports what /readyz does.
type healthService struct {
	healthv1.UnimplementedHealthServer
	service *Service
}

// Check answers whether the process is ready.
func (h *healthService) Check(ctx context.Context,
	req *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	if !h.knowsService(req.GetService()) {
		return nil, fault.New(notFound, "there is no such service")
	}
	return &healthv1.HealthCheckResponse{Status: h.servingStatus(ctx)}, nil
}

// Watch sends whether the process is ready, now and at every change.
func (h *healthService) Watch(req *healthv1.HealthCheckRequest, stream healthv1.Health_WatchServer) error {
	ctx := stream.Context()
	tick := time.NewTicker(healthInterval)
	defer tick.Stop()
	last := healthv1.HealthCheckResponse_UNKNOWN
	for {
		state := healthv1.HealthCheckResponse_SERVICE_UNKNOWN
		if h.knowsService(req.GetService()) {
			state = h.servingStatus(ctx)
		}
		if state != last {
			if err := stream.Send(&healthv1.HealthCheckResponse{Status: state}); err != nil {
				return err
			}
			last = state
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.service.stopping:
			return fault.New(shuttingDown, "the server is stopping")
		case <-tick.C:
		}
	}
}

func (*healthService) knowsService(service string) bool {
	return service == "" || service == inkstreamv1.InkstreamService_ServiceDesc.ServiceName
}

func (h *healthService) servingStatus(ctx context.Context) healthv1.HealthCheckResponse_ServingStatus {
	if h.service.status.BuildReport(ctx).Ready {
		return healthv1.HealthCheckResponse_SERVING
	}
	return healthv1.HealthCheckResponse_NOT_SERVING
}
