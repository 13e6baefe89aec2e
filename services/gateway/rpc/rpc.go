// Package rpc is the shell of the gRPC side: what every call passes, the server with its limits, health and reflection.
package rpc

import (
	"context"
	"fmt"
	"net"
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
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/telemetry"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/inbound"
	"inkstream.dev/services/gateway/internal/reqctx"
	"inkstream.dev/services/gateway/internal/validate"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
)

const (
	// maxMessageBytes bounds a message that a client sends. Upload messages hold at most 1 MiB of data by contract; the
	// rest is room to tell a client that exceeds it what is wrong.
	maxMessageBytes = 4 << 20
	// maxMetadataBytes bounds the metadata of a call.
	maxMetadataBytes = 16 << 10
	// handshakeTimeout bounds how long a connection may take until it is ready for calls.
	handshakeTimeout = 10 * time.Second
	// maxStreams bounds the calls under way on one connection.
	maxStreams = 1000
	// minHeldBytes is from what length on an answer is counted that waits in memory for its client, and messageWeight how
	// many bytes it takes for each that it is long: as it is sent, and as a message.
	minHeldBytes, messageWeight = 64 << 10, 4
	// maxLoopBytes bounds an answer on the in-process connection: a page whose words come twice.
	maxLoopBytes = 4 * jobview.MaxPageBytes
)

// Server is what every gRPC call passes.
type Server struct {
	gate   *gate.Gate
	limits *limits.Service
	errors *apierror.Reporter
	codec  *holdingCodec
	unread unreadCalls
}

// New returns a gRPC server with the API, health and reflection, for the connections of the listener and the in-process
// one. Health watches end when stopping is closed.
func New(api inkstreamv1.InkstreamServiceServer, door *gate.Gate, limit *limits.Service, report *apierror.Reporter, tel *telemetry.Telemetry,
	status *lifecycle.Status, listener *inbound.Listener, stopping <-chan struct{}) *grpc.Server {
	s := &Server{gate: door, limits: limit, errors: report, codec: newHoldingCodec(), unread: unreadCalls{calls: map[string]int{}}}
	srv := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxMetadataBytes),
		grpc.WaitForHandlers(true),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.InTapHandle(s.tapCall),
		grpc.ForceServerCodecV2(s.codec),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.StatsHandler(connectionEnds{listener}),
		grpc.StatsHandler(otelgrpc.NewServerHandler(
			otelgrpc.WithTracerProvider(tel.TracerProvider), otelgrpc.WithMeterProvider(tel.MeterProvider),
			otelgrpc.WithPropagators(tel.Propagator), otelgrpc.WithFilter(isAPICall))),
		grpc.UnaryInterceptor(s.interceptUnary),
		grpc.StreamInterceptor(s.interceptStream),
	)
	inkstreamv1.RegisterInkstreamServiceServer(srv, api)
	healthv1.RegisterHealthServer(srv, &healthService{status: status, stopping: stopping})
	reflection.Register(srv)
	return srv
}

// isAPICall leaves health checks and reflection out of traces.
func isAPICall(info *stats.RPCTagInfo) bool {
	return strings.HasPrefix(info.FullMethodName, "/inkstream.")
}

// DialInProcess connects the REST side to the gRPC server in this process. It dials when first used.
func DialInProcess(loop *bufconn.Listener) (*grpc.ClientConn, error) {
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
func (s *Server) interceptUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler) (resp any, err error) {
	markRead(ctx)
	ctx, hold := limits.WithHold(reqctx.IncomingRequestID(ctx))
	defer func() {
		if v := recover(); v != nil {
			err = s.errors.ReportPanic(ctx, v)
		}
		if err != nil {
			resp, err = nil, s.errors.ReportError(ctx, info.FullMethod, err).Err()
		}
		if err != nil || hold.IsEmpty() {
			hold.Release()
			return
		}
		connection := holdsOf(ctx)
		connection.add(hold)
		s.codec.keepHold(resp, &sentHold{hold, connection})
	}()
	if err := grpc.SetHeader(ctx, metadata.Pairs(reqctx.MetadataKey, reqctx.RequestIDFrom(ctx))); err != nil {
		return nil, fmt.Errorf("set header: %w", err)
	}
	if ctx, err = s.gate.AdmitRPCCall(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	if err := validate.CheckRequest(req); err != nil {
		return nil, err
	}
	if resp, err = next(ctx, req); err == nil && hold.IsEmpty() {
		err = s.holdAnswer(ctx, resp)
	}
	return resp, err
}

// holdAnswer takes the tenant's share of memory for a long answer, which may wait for its client.
func (s *Server) holdAnswer(ctx context.Context, resp any) error {
	message, ok := resp.(proto.Message)
	if !ok {
		return nil
	}
	size := proto.Size(message)
	if size < minHeldBytes {
		return nil
	}
	return s.limits.HoldMemory(ctx, messageWeight*int64(size))
}

// interceptStream does for streams what interceptUnary does for calls.
func (s *Server) interceptStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) (err error) {
	ctx, hold := limits.WithHold(reqctx.IncomingRequestID(stream.Context()))
	defer hold.Release()
	defer func() {
		if v := recover(); v != nil {
			err = s.errors.ReportPanic(ctx, v)
		}
		if err != nil {
			err = s.errors.ReportError(ctx, info.FullMethod, err).Err()
		}
	}()
	if err := stream.SetHeader(metadata.Pairs(reqctx.MetadataKey, reqctx.RequestIDFrom(ctx))); err != nil {
		return fmt.Errorf("set header: %w", err)
	}
	if ctx, err = s.gate.AdmitRPCCall(ctx, info.FullMethod); err != nil {
		return err
	}
	return next(srv, &contextStream{&readStream{stream}, ctx})
}

// contextStream is a stream with another context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // grpc hands a stream's context out by a method only
}

// Context returns the stream's context.
func (s *contextStream) Context() context.Context { return s.ctx }
