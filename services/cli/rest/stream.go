package rest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// readChunk is how much of a download one message holds.
const readChunk = 256 << 10

// NewStream implements grpc.ClientConnInterface.
func (c *Conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string,
	_ ...grpc.CallOption) (grpc.ClientStream, error) {
	if desc.ClientStreams {
		return c.newUpload(ctx, method)
	}
	return &serverStream{conn: c, ctx: ctx, method: method}, nil
}

// serverStream is a call that is answered by many messages: lines of JSON, or pieces of a file.
type serverStream struct {
	conn   *Conn
	ctx    context.Context //nolint:containedctx // grpc hands a stream's context out by a method only
	method string
	req    *http.Request
	res    *http.Response
	lines  *bufio.Reader
}

// Header, Trailer, CloseSend, Context, SendMsg and RecvMsg implement grpc.ClientStream.
func (s *serverStream) Header() (metadata.MD, error) { return nil, nil }

// Trailer returns nothing: REST has none.
func (s *serverStream) Trailer() metadata.MD { return nil }

// CloseSend ends nothing: the one message was sent whole.
func (s *serverStream) CloseSend() error { return nil }

// Context returns the call's context.
func (s *serverStream) Context() context.Context { return s.ctx }

// SendMsg takes the one request.
func (s *serverStream) SendMsg(m any) error {
	in, ok := m.(proto.Message)
	if !ok || s.req != nil {
		return errSent
	}
	var err error
	s.req, err = s.conn.newRequest(s.ctx, s.method, in)
	return err
}

// RecvMsg reads the next message; io.EOF after the last.
func (s *serverStream) RecvMsg(m any) error {
	if s.res == nil {
		res, err := s.conn.sendRequest(s.req) //nolint:bodyclose // closed after the last message, or with the context
		if err != nil {
			return err
		}
		s.res, s.lines = res, bufio.NewReaderSize(res.Body, readChunk)
	}
	var err error
	if raw, ok := m.(*httpbody.HttpBody); ok {
		raw.ContentType = s.res.Header.Get("Content-Type")
		raw.Data, err = s.readChunk()
	} else if out, ok := m.(proto.Message); ok {
		err = s.readLine(out)
	}
	if err != nil {
		s.res.Body.Close()
	}
	return err
}

func (s *serverStream) readChunk() ([]byte, error) {
	buf := make([]byte, readChunk)
	n, err := io.ReadFull(s.lines, buf)
	if n > 0 {
		return buf[:n], nil
	}
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	return nil, unansweredError(s.ctx, err)
}

// readLine reads a message. A line that is an error ends the stream: it came up after the first was sent.
func (s *serverStream) readLine(out proto.Message) error {
	for {
		line, err := s.lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if bytes.HasPrefix(line, []byte(`{"error":{`)) {
				return parseError(line, 0, "")
			}
			return decodeAnswer(line, out)
		}
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		if err != nil {
			return unansweredError(s.ctx, err)
		}
	}
}

var _ grpc.ClientConnInterface = (*Conn)(nil)

var errNoUpload = status.Error(codes.Internal, "the first message of an upload must hold its metadata")
