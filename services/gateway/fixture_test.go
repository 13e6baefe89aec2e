package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a running gateway over a real NATS server and a folder of blobs.
type fixture struct {
	t      testing.TB
	svc    *Service
	deps   stage.Deps
	status *lifecycle.Status
	rpc    inkstreamv1.InkstreamServiceClient
	conn   *grpc.ClientConn
	base   string // URL of the REST API
	web    *http.Client
	logs   *logBuffer
	stop   func() error // stops the gateway and returns what Run returned
}

type fixtureOptions struct {
	cfg           Config
	bus           *bus.Bus
	blobs         func(*blob.Store) *blob.Store
	bucket        func(jetstream.KeyValue) jetstream.KeyValue // of jobs
	createTimeout time.Duration
	sealer        *job.Sealer
	index         search.Store
}

// startGateway runs a gateway; change may be nil.
func startGateway(t testing.TB, change func(*fixtureOptions)) *fixture {
	t.Helper()
	set := fixtureOptions{cfg: DefaultConfig(), createTimeout: createTimeout}
	set.cfg.HTTPAddr, set.cfg.GRPCAddr = "127.0.0.1:0", "127.0.0.1:0"
	set.cfg.Durability = "sync"
	if change != nil {
		change(&set)
	}
	if set.bus == nil {
		set.bus = bustest.New(t)
	}
	logs := &logBuffer{}
	tel, err := telemetry.SetUpTelemetry(t.Context(), telemetry.Config{Service: "gateway", LogLevel: slog.LevelDebug},
		logs)
	if err != nil {
		t.Fatalf("telemetry: %v", err)
	}
	blobs, err := blob.Open(t.Context(), "file://"+t.TempDir()+"?fsync=off")
	if err != nil {
		t.Fatalf("open blobs: %v", err)
	}
	t.Cleanup(func() { blobs.Close() })
	if set.blobs != nil {
		blobs = set.blobs(blobs)
	}
	r := &fixture{t: t, status: lifecycle.NewStatus(), logs: logs, web: &http.Client{Transport: &http.Transport{}}}
	r.deps = stage.Deps{Bus: set.bus, Jobs: bustest.NewJobStore(t, set.bus), Blobs: blobs, Tel: tel, Log: tel.Log,
		Sealer: set.sealer}
	if set.bucket != nil {
		kv, err := set.bus.OpenJobBucket(t.Context())
		if err != nil {
			t.Fatalf("bucket: %v", err)
		}
		r.deps.Jobs = job.NewStore(set.bucket(kv))
	}
	if r.svc, err = New(set.cfg, r.deps, r.status, set.index); err != nil {
		t.Fatalf("New: %v", err)
	}
	r.svc.createTimeout = set.createTimeout
	r.run()
	return r
}

// run starts the service and waits until it is ready.
func (r *fixture) run() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	unit := r.status.TrackUnits(lifecycle.Unit{Name: "gateway", Run: r.svc.Run})[0]
	go func() { ended <- unit.Run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		r.t.Fatalf("Run: %v", err)
	}
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	addrs := r.svc.Addrs()
	conn, err := grpc.NewClient(addrs.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		r.t.Fatalf("dial: %v", err)
	}
	r.base, r.conn, r.rpc = "http://"+addrs.HTTP, conn, inkstreamv1.NewInkstreamServiceClient(conn)
	r.t.Cleanup(func() {
		conn.Close()
		r.web.CloseIdleConnections()
		if err := r.stop(); err != nil {
			r.t.Errorf("Run returned %v, want nil", err)
		}
	})
}

// logBuffer keeps what is logged.
type logBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
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

// eventually waits until what holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	bustest.EventuallyWithin(t, 10*time.Second, what, holds)
}

// blobKeys returns the keys of all blobs.
func (r *fixture) blobKeys() []string {
	r.t.Helper()
	var keys []string
	for e, err := range r.deps.Blobs.ListBlobs(r.t.Context(), "") {
		if err != nil {
			r.t.Fatalf("list blobs: %v", err)
		}
		keys = append(keys, e.Key)
	}
	return keys
}

// records returns how many job records there are.
func (r *fixture) records() int {
	r.t.Helper()
	kv, err := r.deps.Bus.OpenJobBucket(r.t.Context())
	if err != nil {
		r.t.Fatalf("bucket: %v", err)
	}
	keys, err := kv.ListKeysFiltered(r.t.Context(), "job.>")
	if err != nil {
		r.t.Fatalf("list records: %v", err)
	}
	n := 0
	for range keys.Keys() {
		n++
	}
	return n
}

// wantNoJobs makes sure that an upload left neither blobs nor records.
func (r *fixture) wantNoJobs() {
	r.t.Helper()
	if keys := r.blobKeys(); len(keys) > 0 {
		r.t.Errorf("blobs are left: %v", keys)
	}
	if n := r.records(); n > 0 {
		r.t.Errorf("%d records are left, want none", n)
	}
}

// newJob stores a record; change may be nil.
func (r *fixture) newJob(change func(*job.Record)) *job.Record {
	r.t.Helper()
	rec := &job.Record{
		ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Pending, Options: job.Options{Lane: "interactive"},
		Filename: "a.pdf", Size: 7, SHA256: "ab", CreateTime: time.Now().UTC(),
	}
	if change != nil {
		change(rec)
	}
	if err := r.deps.Jobs.CreateRecord(r.t.Context(), rec); err != nil {
		r.t.Fatalf("create job: %v", err)
	}
	return rec
}

// update changes a record.
func (r *fixture) update(rec *job.Record, change func(*job.Record) error) {
	r.t.Helper()
	if _, err := r.deps.Jobs.UpdateRecord(r.t.Context(), rec.Tenant, rec.ID, change); err != nil {
		r.t.Fatalf("update job: %v", err)
	}
}

// putBlob stores a blob.
func (r *fixture) putBlob(key, data string) {
	r.t.Helper()
	if err := r.deps.Blobs.PutBytes(r.t.Context(), key, []byte(data), ""); err != nil {
		r.t.Fatalf("put %s: %v", key, err)
	}
}

// apiError is an error as a client sees it.
type apiError struct {
	code fault.Code
	rpc  codes.Code // OK over REST
	http int        // 0 over gRPC
	text string
	job  string // that it names
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s (gRPC %s, HTTP %d): %s", e.code, e.rpc, e.http, e.text)
}

// checkError compares an error with what the table of answers says about a code; "" means none.
func checkError(t testing.TB, err error, want fault.Code) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("got error %v, want none", err)
		}
		return
	}
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		t.Errorf("got error %v, want %s", err, want)
		return
	}
	a := codeStatuses[want]
	if e.code != want || e.http != 0 && e.http != a.http || e.http == 0 && e.rpc != a.rpc {
		t.Errorf("got %v, want %s (gRPC %s, HTTP %d)", e, want, a.rpc, a.http)
	}
}

// testUpload is a document to send.
type testUpload struct {
	data            io.Reader
	filename        string
	lane, languages string
	key             string
	length          int64 // Content-Length of a raw body; 0 means not known
}

// testAPI is the API as one of the protocols offers it.
type testAPI interface {
	upload(ctx context.Context, u testUpload) (*inkstreamv1.Job, error)
	job(ctx context.Context, id string) (*inkstreamv1.Job, error)
	artifacts(ctx context.Context, id string) ([]*inkstreamv1.Artifact, error)
	download(ctx context.Context, id, name string) (data []byte, contentType string, err error)
	page(ctx context.Context, id string, n int) (*inkstreamv1.Page, error)
	// watch calls see until it returns false or the stream ends.
	watch(ctx context.Context, id string, see func(*inkstreamv1.Job) bool) error
}

// eachAPI runs a test over every protocol.
func eachAPI(t *testing.T, r *fixture, test func(t *testing.T, a testAPI)) {
	t.Helper()
	for name, a := range map[string]testAPI{
		"grpc": rpcAPI{r.rpc}, "rest form": restAPI{r, true, ""}, "rest raw": restAPI{r, false, ""},
		"rest sse": restAPI{r, true, eventStreamType},
	} {
		t.Run(name, func(t *testing.T) { test(t, a) })
	}
}

// rpcAPI is the API over gRPC.
type rpcAPI struct {
	c inkstreamv1.InkstreamServiceClient
}

func rpcError(err error) error {
	if err == nil {
		return nil
	}
	st := status.Convert(err)
	e := &apiError{code: reasonOfStatus(st), rpc: st.Code(), text: st.Message()}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			e.job = info.GetMetadata()["job"]
		}
	}
	return e
}

func (a rpcAPI) upload(ctx context.Context, u testUpload) (*inkstreamv1.Job, error) {
	stream, err := a.c.UploadDocument(ctx)
	if err != nil {
		return nil, rpcError(err)
	}
	err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: &inkstreamv1.UploadMetadata{
		Filename: u.filename, IdempotencyKey: u.key, Options: &inkstreamv1.JobOptions{Lane: u.lane, Languages: u.languages},
	}}})
	for err == nil {
		buf := make([]byte, 64<<10)
		n, rerr := u.data.Read(buf)
		if n > 0 {
			err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: buf[:n]}})
		}
		if rerr != nil {
			break
		}
	}
	res, err := stream.CloseAndRecv() // it also has the reason why Send failed
	return res, rpcError(err)
}

func (a rpcAPI) job(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	res, err := a.c.GetJob(ctx, &inkstreamv1.GetJobRequest{Id: id})
	return res, rpcError(err)
}

func (a rpcAPI) artifacts(ctx context.Context, id string) ([]*inkstreamv1.Artifact, error) {
	res, err := a.c.ListArtifacts(ctx, &inkstreamv1.ListArtifactsRequest{Id: id})
	return res.GetArtifacts(), rpcError(err)
}

func (a rpcAPI) download(ctx context.Context, id, name string) (data []byte, contentType string, err error) {
	stream, err := a.c.DownloadArtifact(ctx, &inkstreamv1.DownloadArtifactRequest{Id: id, Name: name})
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
	return nil, "", rpcError(err)
}

func (a rpcAPI) page(ctx context.Context, id string, n int) (*inkstreamv1.Page, error) {
	res, err := a.c.GetPage(ctx, &inkstreamv1.GetPageRequest{Id: id, Number: int32(n)})
	return res, rpcError(err)
}

func (a rpcAPI) watch(ctx context.Context, id string, see func(*inkstreamv1.Job) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := a.c.WatchJob(ctx, &inkstreamv1.WatchJobRequest{Id: id})
	for err == nil {
		v, rerr := stream.Recv()
		if errors.Is(rerr, io.EOF) {
			return nil
		}
		if err = rerr; err == nil && !see(v) {
			return nil
		}
	}
	return rpcError(err)
}

// restAPI is the API over REST: uploads as forms or as raw bodies, watches as NDJSON or as events.
type restAPI struct {
	r      *fixture
	form   bool
	accept string
}

// errorOf reads an error body.
func errorOf(res *http.Response) error {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var body errorBody
	if err := json.Unmarshal(data, &body); err != nil || body.Error.Status != res.StatusCode {
		return fmt.Errorf("HTTP %d with a body that is no error: %s", res.StatusCode, data)
	}
	e := &apiError{code: body.Error.Code, http: res.StatusCode, text: body.Error.Message}
	for _, d := range body.Error.Details {
		var info struct{ Metadata struct{ Job string } }
		if json.Unmarshal(d, &info) == nil && info.Metadata.Job != "" {
			e.job = info.Metadata.Job
		}
	}
	return e
}

func (a restAPI) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.r.base+path, nil)
	if err != nil {
		return nil, err
	}
	if a.accept != "" {
		req.Header.Set("Accept", a.accept)
	}
	res, err := a.r.web.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, errorOf(res)
	}
	return res, nil
}

func (a restAPI) message(ctx context.Context, path string, m proto.Message) error {
	res, err := a.get(ctx, path)
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

func (a restAPI) upload(ctx context.Context, u testUpload) (*inkstreamv1.Job, error) {
	// Without NopCloser the client would find out the length of readers that it knows.
	body, contentType, query := io.NopCloser(u.data), pdfType, url.Values{}
	if a.form {
		body, contentType = a.formBody(u)
	} else {
		for name, v := range map[string]string{"filename": u.filename, "lane": u.lane, "languages": u.languages} {
			if v != "" {
				query.Set(name, v)
			}
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.r.base+"/v1/jobs?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	if !a.form && u.length > 0 {
		req.ContentLength = u.length
	}
	req.Header.Set("Content-Type", contentType)
	if u.key != "" {
		req.Header.Set("Idempotency-Key", u.key)
	}
	res, err := a.r.web.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		return nil, errorOf(res)
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
func (a restAPI) formBody(u testUpload) (io.ReadCloser, string) {
	pr, pw := io.Pipe()
	form := multipart.NewWriter(pw)
	go func() {
		var errs []error
		if u.lane != "" {
			errs = append(errs, form.WriteField("lane", u.lane))
		}
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", multipart.FileContentDisposition("file", u.filename))
		h.Set("Content-Type", pdfType)
		part, err := form.CreatePart(h)
		errs = append(errs, err)
		if err == nil {
			_, err = io.Copy(part, u.data)
			errs = append(errs, err)
		}
		if u.languages != "" {
			errs = append(errs, form.WriteField("languages", u.languages))
		}
		pw.CloseWithError(errors.Join(append(errs, form.Close())...))
	}()
	return pr, form.FormDataContentType()
}

func (a restAPI) job(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v := &inkstreamv1.Job{}
	return v, a.message(ctx, "/v1/jobs/"+url.PathEscape(id), v)
}

func (a restAPI) artifacts(ctx context.Context, id string) ([]*inkstreamv1.Artifact, error) {
	v := &inkstreamv1.ListArtifactsResponse{}
	err := a.message(ctx, "/v1/jobs/"+url.PathEscape(id)+"/artifacts", v)
	return v.GetArtifacts(), err
}

func (a restAPI) download(ctx context.Context, id, name string) (data []byte, contentType string, err error) {
	res, err := a.get(ctx, "/v1/jobs/"+url.PathEscape(id)+"/artifacts/"+url.PathEscape(name))
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	data, err = io.ReadAll(res.Body)
	return data, res.Header.Get("Content-Type"), err
}

func (a restAPI) page(ctx context.Context, id string, n int) (*inkstreamv1.Page, error) {
	v := &inkstreamv1.Page{}
	return v, a.message(ctx, "/v1/jobs/"+url.PathEscape(id)+"/pages/"+strconv.Itoa(n), v)
}

func (a restAPI) watch(ctx context.Context, id string, see func(*inkstreamv1.Job) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := a.get(ctx, "/v1/jobs/"+url.PathEscape(id)+"/watch")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		line := lines.Text()
		if a.accept == eventStreamType {
			rest, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			line = rest
		}
		if strings.HasPrefix(line, `{"error":`) {
			var body errorBody
			if err := json.Unmarshal([]byte(line), &body); err != nil {
				return err
			}
			return &apiError{code: body.Error.Code, http: body.Error.Status, text: body.Error.Message}
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
