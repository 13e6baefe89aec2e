// Package gatewaytest runs a gateway for tests, against a real NATS server, and calls it over gRPC and REST alike.
package gatewaytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
	"inkstream.dev/services/gateway"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/rest"
)

// Gateway is a running gateway over a real NATS server and a folder of blobs.
type Gateway struct {
	Backend
	Client
	T       testing.TB
	Service *gateway.Service
	Cfg     gateway.Config
	Status  *lifecycle.Status
	Logs    *logBuffer
	Stop    func() error // stops the gateway and returns what Run returned
}

// Backend is what a gateway works on: jobs, blobs, queues and perhaps an index.
type Backend struct {
	t     testing.TB
	Deps  stage.Deps
	Index search.Store
}

// Client calls a gateway.
type Client struct {
	t       testing.TB
	RPC     inkstreamv1.InkstreamServiceClient
	Conn    *grpc.ClientConn
	BaseURL string // URL of the REST API
	Web     *http.Client
}

// Options are how a gateway is started.
type Options struct {
	Cfg    gateway.Config
	Bus    *bus.Bus
	Blobs  func(*blob.Store) *blob.Store
	Bucket func(jetstream.KeyValue) jetstream.KeyValue // of jobs
	Sealer *job.Sealer
	Index  search.Store
}

// Start runs a gateway; change may be nil.
func Start(t testing.TB, change func(*Options)) *Gateway {
	t.Helper()
	set := Options{Cfg: gateway.DefaultConfig()}
	set.Cfg.HTTPAddr, set.Cfg.GRPCAddr = "127.0.0.1:0", "127.0.0.1:0"
	set.Cfg.Durability = "sync"
	if change != nil {
		change(&set)
	}
	if set.Bus == nil {
		set.Bus = bustest.New(t)
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
	if set.Blobs != nil {
		blobs = set.Blobs(blobs)
	}
	r := &Gateway{T: t, Backend: Backend{t: t, Index: set.Index}, Client: Client{t: t, Web: &http.Client{Transport: &http.Transport{}}},
		Cfg: set.Cfg, Status: lifecycle.NewStatus(), Logs: logs}
	r.Deps = stage.Deps{Bus: set.Bus, Jobs: bustest.NewJobStore(t, set.Bus), Blobs: blobs, Tel: tel, Log: tel.Log,
		Sealer: set.Sealer}
	if set.Bucket != nil {
		kv, err := set.Bus.OpenJobBucket(t.Context())
		if err != nil {
			t.Fatalf("bucket: %v", err)
		}
		r.Deps.Jobs = job.NewStore(set.Bucket(kv))
	}
	if r.Service, err = gateway.New(set.Cfg, r.Deps, r.Status, set.Index); err != nil {
		t.Fatalf("New: %v", err)
	}
	r.run()
	return r
}

// logBuffer keeps what is logged.
type logBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

// Eventually waits until what holds.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	bustest.EventuallyWithin(t, 10*time.Second, what, holds)
}

// APIError is an error as a client sees it.
type APIError struct {
	code fault.Code
	RPC  codes.Code // OK over REST
	HTTP int        // 0 over gRPC
	Text string
	Job  string // that it names
}

// CheckError compares an error with what the table of answers says about a code; "" means none.
func CheckError(t testing.TB, err error, want fault.Code) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("got error %v, want none", err)
		}
		return
	}
	e, ok := errors.AsType[*APIError](err)
	if !ok {
		t.Errorf("got error %v, want %s", err, want)
		return
	}
	a := apierror.Statuses[want]
	if e.code != want || e.HTTP != 0 && e.HTTP != a.HTTP || e.HTTP == 0 && e.RPC != a.RPC {
		t.Errorf("got %v, want %s (gRPC %s, HTTP %d)", e, want, a.RPC, a.HTTP)
	}
}

// Document is a document to send.
type Document struct {
	Data            io.Reader
	Filename        string
	Lane, Languages string
	Key             string
	Length          int64 // Content-Length of a raw body; 0 means not known
}

// API is the API as one of the protocols offers it.
type API interface {
	Upload(ctx context.Context, u Document) (*inkstreamv1.Job, error)
	Job(ctx context.Context, id string) (*inkstreamv1.Job, error)
	Artifacts(ctx context.Context, id string) ([]*inkstreamv1.Artifact, error)
	Download(ctx context.Context, id, name string) (data []byte, contentType string, err error)
	Page(ctx context.Context, id string, n int) (*inkstreamv1.Page, error)
	// Watch calls see until it returns false or the stream ends.
	Watch(ctx context.Context, id string, see func(*inkstreamv1.Job) bool) error
}

// EachAPI runs a test over every protocol.
func EachAPI(t *testing.T, r *Gateway, test func(t *testing.T, a API)) {
	t.Helper()
	for name, a := range map[string]API{
		"grpc": RPCAPI{C: r.RPC}, "rest form": RESTAPI{Gateway: r, Form: true}, "rest raw": RESTAPI{Gateway: r},
		"rest sse": RESTAPI{Gateway: r, Form: true, Accept: rest.EventStreamType},
	} {
		t.Run(name, func(t *testing.T) { test(t, a) })
	}
}

// RPCAPI is the API over gRPC.
type RPCAPI struct {
	C inkstreamv1.InkstreamServiceClient
}

// RPCError returns a gRPC error as an *APIError, and nil for nil.
func RPCError(err error) error {
	if err == nil {
		return nil
	}
	st := status.Convert(err)
	e := &APIError{code: apierror.ReasonOf(st), RPC: st.Code(), Text: st.Message()}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			e.Job = info.GetMetadata()["job"]
		}
	}
	return e
}

// RESTAPI is the API over REST: uploads as forms or as raw bodies, watches as NDJSON or as events.
type RESTAPI struct {
	Gateway *Gateway
	Form    bool
	Accept  string // the media type of watches; empty for NDJSON
}

// ErrorOf reads an error body.
func ErrorOf(res *http.Response) error {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var body apierror.ErrorBody
	if err := json.Unmarshal(data, &body); err != nil || body.Error.Status != res.StatusCode {
		return fmt.Errorf("HTTP %d with a body that is no error: %s", res.StatusCode, data)
	}
	e := &APIError{code: body.Error.Code, HTTP: res.StatusCode, Text: body.Error.Message}
	for _, d := range body.Error.Details {
		var info struct{ Metadata struct{ Job string } }
		if json.Unmarshal(d, &info) == nil && info.Metadata.Job != "" {
			e.Job = info.Metadata.Job
		}
	}
	return e
}
