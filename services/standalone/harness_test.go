package standalone_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone"
	"inkstream.dev/services/standalone/chaos"
)

// pipeline is a running pipeline as its users see it.
type pipeline struct {
	inkstreamv1.InkstreamServiceClient
	http string // base URL of the REST API
	nats string // address of the embedded NATS server, where the pipeline has one
	dir  string // holds the blobs
	// disconnect has all calls fail, now and later.
	disconnect func()

	mixed *inkstreamv1.Job // of pdftest.MixedFile, once testDocuments has seen it succeed
}

// pageTimeout is short, so that pages that hang the engine do not hold up the tests; a page that does not takes a
// fraction of it.
const pageTimeout = 4 * time.Second

func testConfig(dir string) standalone.Config {
	cfg := standalone.EphemeralConfig(dir, 2)
	cfg.PDF.PageTimeout = pageTimeout
	cfg.OCR.PageTimeout = 60 * time.Second
	return cfg
}

// inOneProcess runs the whole pipeline inside the test.
func inOneProcess(t *testing.T) *pipeline {
	t.Helper()
	return configured(t, func(*standalone.Config) {})
}

// configured is inOneProcess with another configuration.
func configured(t *testing.T, change func(*standalone.Config)) *pipeline {
	t.Helper()
	cfg := testConfig(t.TempDir())
	change(&cfg)
	p, _ := startIn(t, cfg)
	return p
}

// small makes scans that are soon drawn and read: they are letters of large type, with a quarter of the usual pixels.
// Where it matters how well something is read, or that it takes a while, scans are as large as usual.
var small = pdftest.ScanOptions{DPI: 150, Size: 16, Design: pdftest.Letter}

// scans are small pages that need recognition.
func scans(pages int) pdftest.File {
	o := small
	o.Pages = pages
	return pdftest.ScannedFile(o)
}

// smallMixed has pages of every kind, whose scans are small.
func smallMixed() pdftest.File { return pdftest.MixedFileWith(small) }

// wrongPassword opens no document.
const wrongPassword = "wrong-secret-7f3a"

// testLog shows log lines with the test's output.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(wrongPassword)) || bytes.Contains(p, []byte(pdftest.OwnerPassword)) {
		l.t.Errorf("a password was logged: %s", p)
	}
	l.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// inSixProcesses builds the services' own programs and runs each on its own against one NATS server.
func inSixProcesses(t *testing.T) *pipeline {
	t.Helper()
	return inSixProcessesOn(t, bustest.StartServer(t).ClientURL())
}

// inSixProcessesOn is inSixProcesses against the NATS server at a URL.
func inSixProcessesOn(t *testing.T, natsURL string) *pipeline {
	t.Helper()
	bin := buildServices(t)
	dir := t.TempDir()
	blobs := "file://" + filepath.Join(dir, "blobs") + "?fsync=off"
	common := []string{"--nats", natsURL, "--blobs", blobs, "--log.level", "ERROR"}
	pdf := []string{"--pdf.page-timeout", pageTimeout.String()}
	own := map[string][]string{
		"ingest":  pdf,
		"scan":    pdf,
		"render":  append([]string{"--render.workers", "2"}, pdf...),
		"ocr":     {"--ocr.workers", "2", "--ocr.page-timeout", "60s"},
		"index":   {"--index", "sqlite://" + filepath.Join(dir, "index.db")},
		"gateway": {"--gateway.http", freeAddr(t), "--gateway.grpc", freeAddr(t)},
	}
	p := connect(t, own["gateway"][3], "http://"+own["gateway"][1], filepath.Join(dir, "blobs"))
	for _, name := range []string{"index", "ocr", "render", "scan", "ingest", "gateway"} {
		startService(t, filepath.Join(bin, name), append(append([]string{}, common...), own[name]...), p.disconnect)
	}
	return p
}

// builtServices is where the services' programs are, once a test has needed them; TestMain removes the folder.
var builtServices string

// buildOnce builds the six programs once for all tests.
var buildOnce = sync.OnceValues(func() (dir string, err error) {
	if builtServices, err = os.MkdirTemp("", "inkstream-services-*"); err != nil {
		return "", err
	}
	return builtServices, chaos.BuildServices("../..", builtServices)
})

func buildServices(t *testing.T) string {
	t.Helper()
	dir, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// startService runs a program until the test ends. If it ends before that by itself, the test fails, and onEnd is called.
func startService(t *testing.T, program string, args []string, onEnd func()) {
	t.Helper()
	cmd := exec.Command(program, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var stopping atomic.Bool
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if !stopping.Load() {
			onEnd()
		}
		ended <- err
	}()
	t.Cleanup(func() {
		stopping.Store(true)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Errorf("%s: %v", program, err)
		}
		if err := <-ended; err != nil {
			t.Errorf("%s did not stop cleanly: %v", program, err)
		}
		if out.Len() > 0 {
			t.Logf("%s said:\n%s", program, out.String())
		}
	})
}

func connect(t *testing.T, grpcAddr, httpURL, blobs string) *pipeline {
	t.Helper()
	conn, err := grpc.NewClient(grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &pipeline{InkstreamServiceClient: inkstreamv1.NewInkstreamServiceClient(conn), http: httpURL, dir: blobs,
		disconnect: func() { conn.Close() }}
}

// upload sends a document over gRPC. Most tests want the work done, whatever was done before; those of dedupe say so.
func (p *pipeline) upload(ctx context.Context, name string, data []byte,
	opts *inkstreamv1.JobOptions) (*inkstreamv1.Job, error) {
	if opts == nil {
		opts = &inkstreamv1.JobOptions{}
	}
	if opts.Dedupe == nil {
		opts = proto.CloneOf(opts)
		opts.Dedupe = proto.Bool(false)
	}
	stream, err := p.UploadDocument(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{
		Metadata: &inkstreamv1.UploadMetadata{Filename: name, Options: opts},
	}})
	for len(data) > 0 && err == nil {
		n := min(len(data), 256<<10)
		err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: data[:n]}})
		data = data[n:]
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return stream.CloseAndRecv()
}

// finish follows a job to its end.
func (p *pipeline) finish(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	stream, err := p.WatchJob(ctx, &inkstreamv1.WatchJobRequest{Id: id})
	if err != nil {
		return nil, err
	}
	var last *inkstreamv1.Job
	for {
		j, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		last = j
	}
}

// run takes a document through the pipeline.
func (p *pipeline) run(t *testing.T, f pdftest.File) *inkstreamv1.Job {
	t.Helper()
	j, err := p.upload(t.Context(), f.Name, f.PDF, nil)
	if err != nil {
		t.Fatalf("upload %s: %v", f.Name, err)
	}
	j, err = p.finish(t.Context(), j.GetId())
	if err != nil {
		t.Fatalf("follow %s: %v", f.Name, err)
	}
	return j
}

// get answers a path of the REST API.
func (p *pipeline) get(t *testing.T, path string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.http+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// text returns the text of each page from text.txt.
func (p *pipeline) text(t *testing.T, id string) []string {
	t.Helper()
	code, body := p.get(t, "/v1/jobs/"+id+"/artifacts/text.txt")
	if code != http.StatusOK {
		t.Fatalf("text.txt: status %d: %s", code, body)
	}
	return strings.Split(string(body), "\f")
}

// check holds a job that has ended against what is true of every one.
func check(t *testing.T, j *inkstreamv1.Job) {
	t.Helper()
	sum := int32(0)
	for _, n := range j.GetOutcomes() {
		sum += n
	}
	switch j.GetState() {
	case inkstreamv1.Job_SUCCEEDED, inkstreamv1.Job_PARTIAL:
		if sum != j.GetPageCount() || j.GetPagesDone() != j.GetPageCount() {
			t.Errorf("%d pages, %d done, outcomes sum to %d: %v", j.GetPageCount(), j.GetPagesDone(), sum, j.GetOutcomes())
		}
	case inkstreamv1.Job_REJECTED, inkstreamv1.Job_FAILED:
		if j.GetError().GetCode() == "" {
			t.Errorf("%s without a code", j.GetState())
		}
	default:
		t.Errorf("ended as %s", j.GetState())
	}
	if (j.GetState() == inkstreamv1.Job_PARTIAL) != (len(j.GetFailures()) > 0 && sum > int32(len(j.GetFailures()))) {
		t.Errorf("%s with failures %v", j.GetState(), j.GetFailures())
	}
	if j.GetEndTime() == nil {
		t.Error("no end time")
	}
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("decode: %v\n%.300s", err, data)
	}
}
