package gateway

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// maxChunkBytes bounds the data of one upload message, as the API says.
const maxChunkBytes = 1 << 20

type uploadStream = grpc.ClientStreamingServer[inkstreamv1.UploadDocumentRequest, inkstreamv1.Job]

// UploadDocument takes a document in and starts its job.
func (s *Service) UploadDocument(stream uploadStream) error {
	ctx, cancel := context.WithTimeout(stream.Context(), maxUploadTime)
	defer cancel()
	rec, replayed, err := s.rpcIntake(ctx, stream)
	if err != nil {
		return s.refused(ctx, err)
	}
	return stream.SendAndClose(s.viewAccepted(ctx, rec, replayed))
}

func (s *Service) rpcIntake(ctx context.Context, stream uploadStream) (*job.Record, bool, error) {
	in, release, err := s.newIntake(ctx)
	if err != nil {
		return nil, false, err
	}
	defer release()
	data := &chunks{messages: s.receive(ctx, stream), timeout: s.cfg.StallTimeout, ctx: ctx}
	return in.finish(ctx, in.takeStream(ctx, data))
}

// takeStream takes in a document that comes in messages.
func (in *intake) takeStream(ctx context.Context, data *chunks) error {
	first, err := data.next()
	if errors.Is(err, io.EOF) {
		return fault.New(fault.InvalidArgument, "the first message must hold the metadata")
	}
	if err != nil {
		return err
	}
	about := first.GetMetadata()
	if about == nil {
		return fault.New(fault.InvalidArgument, "the first message must hold the metadata")
	}
	if err := in.applyMetadata("metadata.", about); err != nil {
		return err
	}
	return in.store(ctx, data)
}

// message is what one call of Recv gave.
type message struct {
	req *inkstreamv1.UploadDocumentRequest
	err error
}

// receive hands out the stream's messages, one ahead, until the first error or the end of ctx. A goroutine of its own does it, because Recv
// knows no deadline; it ends with the stream at the latest.
func (s *Service) receive(ctx context.Context, stream uploadStream) <-chan message {
	out := make(chan message)
	s.workers.Go(func() {
		for {
			req, err := stream.Recv()
			select {
			case out <- message{req, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
	return out
}

// chunks reads the data of an upload's messages. Its errors are faults or statuses.
type chunks struct {
	messages <-chan message
	timeout  time.Duration
	ctx      context.Context //nolint:containedctx // an io.Reader takes none
	rest     []byte
	pace     pace
}

// next returns the next message, io.EOF after the last one.
func (c *chunks) next() (*inkstreamv1.UploadDocumentRequest, error) {
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case m := <-c.messages:
		return m.req, m.err
	case <-timer.C:
		return nil, fault.New(requestTimeout, "the upload stood still for too long")
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		m, err := c.next()
		if err != nil {
			return 0, err
		}
		switch part := m.GetPart().(type) {
		case *inkstreamv1.UploadDocumentRequest_Data:
			if len(part.Data) > maxChunkBytes {
				return 0, fault.New(fault.InvalidArgument, "a message with %d bytes of data, want at most %d", len(part.Data), maxChunkBytes)
			}
			if err := c.pace.moved(len(part.Data)); err != nil {
				return 0, err
			}
			c.rest = part.Data
		case *inkstreamv1.UploadDocumentRequest_Metadata:
			return 0, fault.New(fault.InvalidArgument, "only the first message may hold metadata")
		default:
			return 0, fault.New(fault.InvalidArgument, "a message without a part")
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
