package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// client talks to a server over gRPC.
type client struct {
	inkstreamv1.InkstreamServiceClient
	conn *grpc.ClientConn
}

// defaultServer is where 'inkstream serve' listens.
const defaultServer = "127.0.0.1:9090"

// maxMessage bounds an answer; the largest is a page with all its words.
const maxMessage = 64 << 20

func dial(addr string) (*client, error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return nil, usageError{fmt.Errorf("server address: %w", err)}
	}
	return &client{InkstreamServiceClient: inkstreamv1.NewInkstreamServiceClient(conn), conn: conn}, nil
}

func serverFlag(cmd *cobra.Command, s streams) *string {
	addr := s.getenv("INKSTREAM_SERVER")
	if addr == "" {
		addr = defaultServer
	}
	return cmd.Flags().String("server", addr, "gRPC address of the server (environment: INKSTREAM_SERVER)")
}

// explain makes an error of the server readable, and says what to do where that is known.
func explain(err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	if st.Code() == codes.Unavailable {
		return fmt.Errorf("%s\nIs the server running? Start it with 'inkstream serve', or name another one with --server", st.Message())
	}
	return errors.New(st.Message())
}

// chunkSize is how much of a document one message carries.
const chunkSize = 256 << 10

// upload sends a file and returns the job that it became.
func (c *client) upload(ctx context.Context, path string, meta *inkstreamv1.UploadMetadata) (*inkstreamv1.Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	meta.Filename = filepath.Base(path)
	stream, err := c.UploadDocument(ctx)
	if err != nil {
		return nil, err
	}
	req := &inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: meta}}
	err = stream.Send(req)
	buf := make([]byte, chunkSize)
	for err == nil {
		n, rerr := f.Read(buf)
		if n > 0 {
			err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: buf[:n]}})
		}
		if errors.Is(rerr, io.EOF) {
			break
		}
		if rerr != nil {
			return nil, fmt.Errorf("read: %w", rerr)
		}
	}
	// An error of Send says only that the server has ended the call; the answer says why.
	return stream.CloseAndRecv()
}

// download writes an artifact to a file, which appears under its name only when it is whole.
func (c *client) download(ctx context.Context, id, name, path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".inkstream-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after the rename, as it should
	if err := c.copyArtifact(ctx, id, name, tmp); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func (c *client) copyArtifact(ctx context.Context, id, name string, w io.Writer) error {
	stream, err := c.DownloadArtifact(ctx, &inkstreamv1.DownloadArtifactRequest{Id: id, Name: name})
	if err != nil {
		return err
	}
	for {
		body, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(body.GetData()); err != nil {
			return err
		}
	}
}

// follow calls update at every change of a job, and returns the job when it has ended.
func (c *client) follow(ctx context.Context, id string, update func(*inkstreamv1.Job)) (*inkstreamv1.Job, error) {
	stream, err := c.WatchJob(ctx, &inkstreamv1.WatchJobRequest{Id: id})
	if err != nil {
		return nil, err
	}
	var last *inkstreamv1.Job
	for {
		j, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if last == nil || !ended(last) {
				return nil, status.Error(codes.Unavailable, "the server ended the watch before the job")
			}
			return last, nil
		}
		if err != nil {
			return nil, err
		}
		last = j
		update(j)
	}
}

// ended reports whether a job has come to its end.
func ended(j *inkstreamv1.Job) bool {
	switch j.GetState() {
	case inkstreamv1.Job_STATE_UNSPECIFIED, inkstreamv1.Job_PENDING, inkstreamv1.Job_RUNNING:
		return false
	default:
		return true
	}
}
