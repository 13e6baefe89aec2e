package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// chunkSize is how much of a document one message carries.
const chunkSize = 256 << 10

// uploadDocument sends a document and returns the job that it became. sent is told of the bytes that went; it may be
// nil.
func (c *client) uploadDocument(ctx context.Context, doc io.Reader, meta *inkstreamv1.UploadMetadata,
	sent func(int)) (*inkstreamv1.Job, error) {
	// Ends what a reading error leaves half sent.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.UploadDocument(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: meta}})
	buf := make([]byte, chunkSize)
	for err == nil {
		n, rerr := io.ReadFull(doc, buf)
		if n > 0 {
			err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: buf[:n]}})
			if sent != nil {
				sent(n)
			}
		}
		if errors.Is(rerr, io.EOF) || errors.Is(rerr, io.ErrUnexpectedEOF) {
			break
		}
		if rerr != nil {
			return nil, fmt.Errorf("read: %w", rerr)
		}
	}
	// An error of Send says only that the server has ended the call; the answer says why.
	return stream.CloseAndRecv()
}

// outputFolder is where artifacts go: nothing that is named outside of it is written.
type outputFolder struct{ root *os.Root }

// openOutputFolder opens a folder, making it where it is missing; the caller closes it.
func openOutputFolder(path string) (outputFolder, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return outputFolder{}, err
	}
	root, err := os.OpenRoot(path)
	return outputFolder{root}, err
}

// writeFile has a file written, which appears under its name only when it is whole.
func (f outputFolder) writeFile(name string, fill func(io.Writer) error) error {
	path := filepath.FromSlash(name)
	if err := f.root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
	tmp, err := f.root.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = fill(tmp)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = f.root.Rename(part, path)
	}
	if err != nil {
		// The error of what was wanted is the one to tell.
		_ = f.root.Remove(part)
	}
	return err
}

// downloadArtifacts downloads what a job has yielded into a folder; only says which, and nil means all. It returns
// what was fetched.
func (c *client) downloadArtifacts(ctx context.Context, id, path string,
	only func(name string) bool) ([]*inkstreamv1.Artifact, error) {
	res, err := c.ListArtifacts(ctx, &inkstreamv1.ListArtifactsRequest{Id: id})
	if err != nil {
		return nil, err
	}
	if len(res.GetArtifacts()) == 0 {
		return nil, nil
	}
	into, err := openOutputFolder(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = into.root.Close() }() // it was only looked through
	var fetched []*inkstreamv1.Artifact
	for _, artifact := range res.GetArtifacts() {
		if only != nil && !only(artifact.GetName()) {
			continue
		}
		err := into.writeFile(artifact.GetName(),
			func(w io.Writer) error { return c.copyArtifact(ctx, id, artifact.GetName(), w) })
		if err != nil {
			return fetched, fmt.Errorf("%s: %w", artifact.GetName(), err)
		}
		fetched = append(fetched, artifact)
	}
	return fetched, nil
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

// awayLimit is how long a server that was there is waited for, for instance while it is started again.
const awayLimit = 2 * time.Minute

// followJob calls update at every change of a job, and returns the job when it has ended. A watch that breaks off
// begins again.
func (c *client) followJob(ctx context.Context, id string, update func(*inkstreamv1.Job)) (*inkstreamv1.Job, error) {
	var last *inkstreamv1.Job
	reached := time.Now() // a server that was never reached is given as long
	policy := retryPolicy{unreachableLimit: awayLimit, lastReached: func() time.Time { return reached }}
	err := policy.runWithRetry(ctx, func() error {
		seen, err := c.followJobOnce(ctx, id, update)
		if seen != nil {
			reached = time.Now()
			last = seen
		}
		if err == nil && !hasEnded(last) {
			return status.Error(codes.Unavailable, "the server ended the watch before the job")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return last, nil
}

func (c *client) followJobOnce(ctx context.Context, id string,
	update func(*inkstreamv1.Job)) (last *inkstreamv1.Job, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.WatchJob(ctx, &inkstreamv1.WatchJobRequest{Id: id})
	if err != nil {
		return nil, err
	}
	for {
		j, err := stream.Recv()
		if errors.Is(err, io.EOF) || err == nil && hasEnded(j) {
			if j != nil {
				last = j
				update(j)
			}
			return last, nil
		}
		if err != nil {
			return last, err
		}
		last = j
		update(j)
	}
}

// hasEnded reports whether a job has come to its end.
func hasEnded(j *inkstreamv1.Job) bool {
	switch j.GetState() {
	case inkstreamv1.Job_STATE_UNSPECIFIED, inkstreamv1.Job_PENDING, inkstreamv1.Job_RUNNING:
		return false
	default:
		return true
	}
}
