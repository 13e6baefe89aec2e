package rpc_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/rpc"
)

// headerStream is the stream of a call whose headers are not looked at.
type headerStream struct{ grpc.ServerTransportStream }

func (headerStream) SetHeader(metadata.MD) error { return nil }

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	call := rpc.InterceptUnary(gate.New(nil, true, false, r.Service.Components().Limits.Rates()), apierror.NewReporter(r.Deps.Log))
	ctx := grpc.NewContextWithServerTransportStream(t.Context(), headerStream{})
	_, err := call(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { panic("ouch") })
	gatewaytest.CheckError(t, gatewaytest.RPCError(err), fault.Internal)
	if !strings.Contains(r.Logs.String(), "panic_test.go") {
		t.Error("the log has no stack of the panic")
	}
}
