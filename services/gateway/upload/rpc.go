package upload

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/limits"
)

// maxChunkBytes bounds the data of one upload message, as the API says.
const maxChunkBytes = 1 << 20

type uploadStream = grpc.ClientStreamingServer[inkstreamv1.UploadDocumentRequest, inkstreamv1.Job]

// UploadDocument takes a document in and starts its job.
func (s *Service) UploadDocument(stream uploadStream) error {
	ctx, cancel := context.WithTimeout(stream.Context(), MaxUploadTime)
	defer cancel()
	rec, replayed, err := s.receiveRPCUpload(ctx, stream)
	if err != nil {
		return s.AuditRejection(ctx, err)
	}
	return stream.SendAndClose(s.AcceptedJobView(ctx, rec, replayed))
}

func (s *Service) receiveRPCUpload(ctx context.Context, stream uploadStream) (*job.Record, bool, error) {
	in, release, err := s.newUpload(ctx)
	if err != nil {
		return nil, false, err
	}
	defer release()
	data := &chunkReader{messages: s.receiveMessages(ctx, stream), timeout: s.cfg.StallTimeout, ctx: ctx}
	return in.receive(ctx, func(ctx context.Context) error { return in.storeStream(ctx, data) })
}

// storeStream takes in a document that comes in messages.
func (in *upload) storeStream(ctx context.Context, data *chunkReader) error {
	first, err := data.nextMessage()
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
	return in.storeDocument(ctx, data)
}

// uploadMessage is what one call of Recv gave.
type uploadMessage struct {
	req *inkstreamv1.UploadDocumentRequest
	err error
}

// receiveMessages hands out the stream's messages, one ahead, until the first error or the end of ctx. A goroutine of
// its own does it, because Recv knows no deadline; it ends with the stream at the latest.
func (s *Service) receiveMessages(ctx context.Context, stream uploadStream) <-chan uploadMessage {
	out := make(chan uploadMessage)
	s.workers.Go(func() {
		for {
			req, err := stream.Recv()
			select {
			case out <- uploadMessage{req, err}:
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

// chunkReader reads the data of an upload's messages. Its errors are faults or statuses.
type chunkReader struct {
	messages   <-chan uploadMessage
	timeout    time.Duration
	ctx        context.Context //nolint:containedctx // an io.Reader takes none
	rest       []byte
	throughput limits.MinThroughput
}

// nextMessage returns the next message, io.EOF after the last one.
func (c *chunkReader) nextMessage() (*inkstreamv1.UploadDocumentRequest, error) {
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case m := <-c.messages:
		return m.req, m.err
	case <-timer.C:
		return nil, fault.New(apierror.RequestTimeout, "the upload stood still for too long")
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

// Read implements io.Reader.
func (c *chunkReader) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		m, err := c.nextMessage()
		if err != nil {
			return 0, err
		}
		switch part := m.GetPart().(type) {
		case *inkstreamv1.UploadDocumentRequest_Data:
			if len(part.Data) > maxChunkBytes {
				return 0, fault.New(fault.InvalidArgument, "a message with %d bytes of data, want at most %d", len(part.Data),
					maxChunkBytes)
			}
			if err := c.throughput.RecordBytes(len(part.Data)); err != nil {
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
