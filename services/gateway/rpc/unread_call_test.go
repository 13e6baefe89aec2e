package rpc_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

// The server ends calls that send their head alone, and no message.
func TestCallsThatSendNoMessage(t *testing.T) {
	t.Parallel()
	const calls, wait = 70, 25 * time.Second // more than may wait long
	r, _ := gatewaytest.StartWithKeys(t, nil)
	conn, err := grpc.NewClient(r.Service.Addrs().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	ended := make(chan error, calls)
	for range calls {
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, inkstreamv1.InkstreamService_ListJobs_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- stream.RecvMsg(&inkstreamv1.ListJobsResponse{}) }()
	}
	if err := <-ended; status.Code(err) != codes.Canceled || ctx.Err() != nil {
		t.Errorf("a call without a message ends with %v, want the server to cancel it", err)
	}
}
