package gatewaytest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/lifecycle"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/rest"
)

// run starts the service and waits until it is ready.
func (r *Gateway) run() {
	r.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	unit := r.Status.TrackUnits(lifecycle.Unit{Name: "gateway", Run: r.Service.Run})[0]
	go func() { ended <- unit.Run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		r.T.Fatalf("Run: %v", err)
	}
	r.Stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	addrs := r.Service.Addrs()
	conn, err := grpc.NewClient(addrs.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		r.T.Fatalf("dial: %v", err)
	}
	r.BaseURL, r.Conn, r.RPC = "http://"+addrs.HTTP, conn, inkstreamv1.NewInkstreamServiceClient(conn)
	r.T.Cleanup(func() {
		conn.Close()
		r.Web.CloseIdleConnections()
		if err := r.Stop(); err != nil {
			r.T.Errorf("Run returned %v, want nil", err)
		}
	})
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// BlobKeys returns the keys of all blobs.
func (b *Backend) BlobKeys() []string {
	b.t.Helper()
	var keys []string
	for e, err := range b.Deps.Blobs.ListBlobs(b.t.Context(), "") {
		if err != nil {
			b.t.Fatalf("list blobs: %v", err)
		}
		keys = append(keys, e.Key)
	}
	return keys
}

// Records returns how many job records there are.
func (b *Backend) Records() int {
	b.t.Helper()
	kv, err := b.Deps.Bus.OpenJobBucket(b.t.Context())
	if err != nil {
		b.t.Fatalf("bucket: %v", err)
	}
	keys, err := kv.ListKeysFiltered(b.t.Context(), "job.>")
	if err != nil {
		b.t.Fatalf("list records: %v", err)
	}
	n := 0
	for range keys.Keys() {
		n++
	}
	return n
}

// WantNoJobs makes sure that an upload left neither blobs nor records.
func (b *Backend) WantNoJobs() {
	b.t.Helper()
	if keys := b.BlobKeys(); len(keys) > 0 {
		b.t.Errorf("blobs are left: %v", keys)
	}
	if n := b.Records(); n > 0 {
		b.t.Errorf("%d records are left, want none", n)
	}
}

// NewJob stores a record; change may be nil.
func (b *Backend) NewJob(change func(*job.Record)) *job.Record {
	b.t.Helper()
	rec := &job.Record{
		ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Pending, Options: job.Options{Lane: "interactive"},
		Filename: "a.pdf", Size: 7, SHA256: "ab", CreateTime: time.Now().UTC(),
	}
	if change != nil {
		change(rec)
	}
	if err := b.Deps.Jobs.CreateRecord(b.t.Context(), rec); err != nil {
		b.t.Fatalf("create job: %v", err)
	}
	return rec
}

// Update changes a record.
func (b *Backend) Update(rec *job.Record, change func(*job.Record) error) {
	b.t.Helper()
	if _, err := b.Deps.Jobs.UpdateRecord(b.t.Context(), rec.Tenant, rec.ID, change); err != nil {
		b.t.Fatalf("update job: %v", err)
	}
}

// PutBlob stores a blob as the pipeline does: compressed where that makes it smaller, but for PDFs.
func (b *Backend) PutBlob(key, data string) {
	b.t.Helper()
	o := blob.Object{Key: key, Data: []byte(data), Compress: path.Ext(key) != ".pdf"}
	if err := b.Deps.Blobs.PutAll(b.t.Context(), []blob.Object{o}); err != nil {
		b.t.Fatalf("put %s: %v", key, err)
	}
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%s (gRPC %s, HTTP %d): %s", e.code, e.RPC, e.HTTP, e.Text)
}

// Upload uploads a document over gRPC.
func (a RPCAPI) Upload(ctx context.Context, u Document) (*inkstreamv1.Job, error) {
	stream, err := a.C.UploadDocument(ctx)
	if err != nil {
		return nil, RPCError(err)
	}
	err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: &inkstreamv1.UploadMetadata{
		Filename: u.Filename, IdempotencyKey: u.Key, Options: &inkstreamv1.JobOptions{Lane: u.Lane, Languages: u.Languages},
	}}})
	for err == nil {
		buf := make([]byte, 64<<10)
		n, rerr := u.Data.Read(buf)
		if n > 0 {
			err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: buf[:n]}})
		}
		if rerr != nil {
			break
		}
	}
	res, err := stream.CloseAndRecv() // it also has the reason why Send failed
	return res, RPCError(err)
}

// Job returns a job over gRPC.
func (a RPCAPI) Job(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	res, err := a.C.GetJob(ctx, &inkstreamv1.GetJobRequest{Id: id})
	return res, RPCError(err)
}

// Artifacts lists the artifacts of a job over gRPC.
func (a RPCAPI) Artifacts(ctx context.Context, id string) ([]*inkstreamv1.Artifact, error) {
	res, err := a.C.ListArtifacts(ctx, &inkstreamv1.ListArtifactsRequest{Id: id})
	return res.GetArtifacts(), RPCError(err)
}

// Download returns an artifact and its content type over gRPC.
func (a RPCAPI) Download(ctx context.Context, id, name string) (data []byte, contentType string, err error) {
	stream, err := a.C.DownloadArtifact(ctx, &inkstreamv1.DownloadArtifactRequest{Id: id, Name: name})
	for err == nil {
		m, rerr := stream.Recv()
		if errors.Is(rerr, io.EOF) {
			return data, contentType, nil
		}
		err = rerr
		data = append(data, m.GetData()...)
		if m.GetContentType() != "" {
			contentType = m.GetContentType()
		}
	}
	return nil, "", RPCError(err)
}

// Page returns a page of a job over gRPC.
func (a RPCAPI) Page(ctx context.Context, id string, n int) (*inkstreamv1.Page, error) {
	res, err := a.C.GetPage(ctx, &inkstreamv1.GetPageRequest{Id: id, Number: int32(n)})
	return res, RPCError(err)
}

// Watch calls see with each state of a job until see returns false or the job has ended over gRPC.
func (a RPCAPI) Watch(ctx context.Context, id string, see func(*inkstreamv1.Job) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := a.C.WatchJob(ctx, &inkstreamv1.WatchJobRequest{Id: id})
	for err == nil {
		v, rerr := stream.Recv()
		if errors.Is(rerr, io.EOF) {
			return nil
		}
		if err = rerr; err == nil && !see(v) {
			return nil
		}
	}
	return RPCError(err)
}

// Get sends a GET request; an answer other than 200 is an *APIError. The caller closes the body.
func (a RESTAPI) Get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Gateway.BaseURL+path, nil)
	if err != nil {
		return nil, err
	}
	if a.Accept != "" {
		req.Header.Set("Accept", a.Accept)
	}
	res, err := a.Gateway.Web.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, ErrorOf(res)
	}
	return res, nil
}

func (a RESTAPI) message(ctx context.Context, path string, m proto.Message) error {
	res, err := a.Get(ctx, path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(data, m)
}

// Upload uploads a document over REST.
func (a RESTAPI) Upload(ctx context.Context, u Document) (*inkstreamv1.Job, error) {
	// Without NopCloser the client would find out the length of readers that it knows.
	body, contentType, query := io.NopCloser(u.Data), rest.PDFType, url.Values{}
	if a.Form {
		body, contentType = a.formBody(u)
	} else {
		for name, v := range map[string]string{"filename": u.Filename, "lane": u.Lane, "languages": u.Languages} {
			if v != "" {
				query.Set(name, v)
			}
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Gateway.BaseURL+"/v1/jobs?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	if !a.Form && u.Length > 0 {
		req.ContentLength = u.Length
	}
	req.Header.Set("Content-Type", contentType)
	if u.Key != "" {
		req.Header.Set("Idempotency-Key", u.Key)
	}
	res, err := a.Gateway.Web.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		return nil, ErrorOf(res)
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	v := &inkstreamv1.Job{}
	if err := protojson.Unmarshal(data, v); err != nil {
		return nil, err
	}
	if got, want := res.Header.Get("Location"), "/v1/jobs/"+v.GetId(); got != want {
		return nil, fmt.Errorf("location %q, want %q", got, want)
	}
	return v, nil
}

// formBody returns a form with an option before the file and one after it.
func (a RESTAPI) formBody(u Document) (io.ReadCloser, string) {
	pr, pw := io.Pipe()
	form := multipart.NewWriter(pw)
	go func() {
		var errs []error
		if u.Lane != "" {
			errs = append(errs, form.WriteField("lane", u.Lane))
		}
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", multipart.FileContentDisposition("file", u.Filename))
		h.Set("Content-Type", rest.PDFType)
		part, err := form.CreatePart(h)
		errs = append(errs, err)
		if err == nil {
			_, err = io.Copy(part, u.Data)
			errs = append(errs, err)
		}
		if u.Languages != "" {
			errs = append(errs, form.WriteField("languages", u.Languages))
		}
		pw.CloseWithError(errors.Join(append(errs, form.Close())...))
	}()
	return pr, form.FormDataContentType()
}

// Job returns a job over REST.
func (a RESTAPI) Job(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v := &inkstreamv1.Job{}
	return v, a.message(ctx, "/v1/jobs/"+url.PathEscape(id), v)
}

// Artifacts lists the artifacts of a job over REST.
func (a RESTAPI) Artifacts(ctx context.Context, id string) ([]*inkstreamv1.Artifact, error) {
	v := &inkstreamv1.ListArtifactsResponse{}
	err := a.message(ctx, "/v1/jobs/"+url.PathEscape(id)+"/artifacts", v)
	return v.GetArtifacts(), err
}

// Download returns an artifact and its content type over REST.
func (a RESTAPI) Download(ctx context.Context, id, name string) (data []byte, contentType string, err error) {
	res, err := a.Get(ctx, "/v1/jobs/"+url.PathEscape(id)+"/artifacts/"+url.PathEscape(name))
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	data, err = io.ReadAll(res.Body)
	return data, res.Header.Get("Content-Type"), err
}

// Page returns a page of a job over REST.
func (a RESTAPI) Page(ctx context.Context, id string, n int) (*inkstreamv1.Page, error) {
	v := &inkstreamv1.Page{}
	return v, a.message(ctx, "/v1/jobs/"+url.PathEscape(id)+"/pages/"+strconv.Itoa(n), v)
}

// Watch calls see with each state of a job until see returns false or the job has ended over REST.
func (a RESTAPI) Watch(ctx context.Context, id string, see func(*inkstreamv1.Job) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := a.Get(ctx, "/v1/jobs/"+url.PathEscape(id)+"/watch")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		line := lines.Text()
		if a.Accept == rest.EventStreamType {
			rest, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			line = rest
		}
		if strings.HasPrefix(line, `{"error":`) {
			var body apierror.ErrorBody
			if err := json.Unmarshal([]byte(line), &body); err != nil {
				return err
			}
			return &APIError{code: body.Error.Code, HTTP: body.Error.Status, Text: body.Error.Message}
		}
		v := &inkstreamv1.Job{}
		if err := protojson.Unmarshal([]byte(line), v); err != nil {
			return err
		}
		if !see(v) {
			return nil
		}
	}
	return lines.Err()
}
