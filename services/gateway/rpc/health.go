package rpc

import (
	"context"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/lifecycle"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
)

// healthInterval is how often the state that a health watch reports is looked at.
const healthInterval = time.Second

// healthService is the gRPC health service: it reports what /readyz does.
type healthService struct {
	healthv1.UnimplementedHealthServer
	status   *lifecycle.Status
	stopping <-chan struct{}
}

// Check answers whether the process is ready.
func (h *healthService) Check(ctx context.Context,
	req *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	if !h.knowsService(req.GetService()) {
		return nil, fault.New(apierror.NotFound, "there is no such service")
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
		case <-h.stopping:
			return fault.New(apierror.ShuttingDown, "the server is stopping")
		case <-tick.C:
		}
	}
}

func (*healthService) knowsService(service string) bool {
	return service == "" || service == inkstreamv1.InkstreamService_ServiceDesc.ServiceName
}

func (h *healthService) servingStatus(ctx context.Context) healthv1.HealthCheckResponse_ServingStatus {
	if h.status.BuildReport(ctx).Ready {
		return healthv1.HealthCheckResponse_SERVING
	}
	return healthv1.HealthCheckResponse_NOT_SERVING
}
