package rpc

import (
	"google.golang.org/grpc"

	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/gateway/internal/apierror"
)

// InterceptUnary returns what every unary call passes.
func InterceptUnary(door *gate.Gate, report *apierror.Reporter) grpc.UnaryServerInterceptor {
	return (&Server{gate: door, errors: report}).interceptUnary
}
