package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
)

// fillQueue queues n documents that no stage works on.
func (r *fixture) fillQueue(n int) {
	r.t.Helper()
	for i := range n {
		err := r.deps.Bus.Publish(r.t.Context(), bus.Message{
			Stage: bus.Ingest, Lane: bus.Batch, Unit: "document",
			Task: &busv1.IngestTask{Unit: &busv1.Unit{Tenant: "default", Job: "j" + strconv.Itoa(i), Run: 1}},
		})
		if err != nil {
			r.t.Fatalf("publish: %v", err)
		}
	}
}

func TestOverload(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		max  int64 // gateway.max-backlog
		fill int
		want fault.Code
	}{
		{"below the mark", 4, 3, ""},
		{"at the mark", 4, 4, fault.QueueFull},
		{"below nine tenths", 0, 8, ""},
		{"at nine tenths", 0, 9, fault.QueueFull},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := startGateway(t, func(s *fixtureOptions) {
				s.cfg.MaxBacklog = tt.max
				s.bus = bustest.NewWithTopology(t, bus.Topology{MaxTasks: 10})
			})
			r.fillQueue(tt.fill)
			if tt.want == "" {
				_, err := rpcAPI{r.rpc}.upload(t.Context(), testUpload{data: strings.NewReader("%PDF-1.7")})
				checkError(t, err, "")
				return
			}
			eachAPI(t, r, func(t *testing.T, a testAPI) {
				_, err := a.upload(t.Context(), testUpload{data: strings.NewReader("%PDF-1.7")})
				checkError(t, err, tt.want)
			})
			r.wantNoJobs()
			r.wantRetryAfter()
		})
	}
}

// wantRetryAfter makes sure that a refused client is told when to come back.
func (r *fixture) wantRetryAfter() {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.base+"/v1/jobs",
		strings.NewReader("%PDF-1.7"))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", pdfType)
	res, err := r.web.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Retry-After"); res.StatusCode != http.StatusTooManyRequests || got != "2" {
		r.t.Errorf("got %d with Retry-After %q, want 429 with 2", res.StatusCode, got)
	}
	stream, err := r.rpc.UploadDocument(r.t.Context())
	if err == nil {
		// The refusal may come before anything is sent.
		_ = stream.Send(&inkstreamv1.UploadDocumentRequest{})
		_, err = stream.CloseAndRecv()
	}
	var delay time.Duration
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			delay = info.GetRetryDelay().AsDuration()
		}
	}
	if delay != 2*time.Second {
		r.t.Errorf("retry delay over gRPC: got %s, want 2 s", delay)
	}
}

// When the queue drains, uploads are taken again by themselves.
func TestOverloadPasses(t *testing.T) {
	t.Parallel()
	r := startGateway(t, func(s *fixtureOptions) { s.cfg.MaxBacklog = 1 })
	r.fillQueue(1)
	try := func() error {
		_, err := rpcAPI{r.rpc}.upload(t.Context(), testUpload{data: strings.NewReader("%PDF-1.7")})
		return err
	}
	checkError(t, try(), fault.QueueFull)
	s, err := r.deps.Bus.JetStream().Stream(t.Context(), bus.Ingest.StreamName())
	if err == nil {
		err = s.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "an upload is taken", func() bool { return try() == nil })
}

func TestAdmissionAsksRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		answer, failing := bus.Backlog{Tasks: 5, Limit: 10}, false
		a := &admission{maxBacklog: 5, loadBacklog: func(context.Context, bus.Stage) (bus.Backlog, error) {
			asked.Add(1)
			if failing {
				return bus.Backlog{}, errors.New("the broker is away")
			}
			b := answer
			b.Time = time.Now()
			return b, nil
		}}
		step := func(what string, questions int64, want fault.Code) {
			t.Helper()
			before := asked.Load()
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					code := fault.Code("")
					if err := a.checkBacklog(t.Context()); err != nil {
						code = fault.CodeOf(err)
					}
					if code != want {
						t.Errorf("%s: got %q, want %q", what, code, want)
					}
				})
			}
			wg.Wait()
			if got := asked.Load() - before; got != questions {
				t.Errorf("%s: asked %d times, want %d", what, got, questions)
			}
		}
		wait := func() { <-time.After(backlogAge) }

		step("at first", 1, fault.QueueFull)
		answer.Tasks = 0
		step("within a second", 0, fault.QueueFull)
		wait()
		_ = a.checkBacklog(t.Context())
		step("when the queue has drained", 0, "")
		answer.Tasks = 5
		wait()
		_ = a.checkBacklog(t.Context())
		failing = true
		wait()
		_ = a.checkBacklog(t.Context())
		step("when the backlog cannot be read", 0, "")
	})
}

// Uploads of one tenant that hardly move leave room for others.
func TestTenantSlotsAreBounded(t *testing.T) {
	t.Parallel()
	s := &Service{uploadSlots: make(chan struct{}, 3), tenantSlots: tenantSlots{maxPerTenant: 2}}
	leave := map[string][]func(){}
	for _, tt := range []struct {
		tenant string
		leaves bool // instead of coming
		ok     bool
	}{
		{"a", false, true}, {"a", false, true}, {"a", false, false}, {"b", false, true}, {"b", false, false}, // no place at all
		{"a", true, true}, {"b", false, true}, {"a", false, false}, {"b", true, true}, {"a", false, true},
	} {
		if had := leave[tt.tenant]; tt.leaves {
			had[0]()
			leave[tt.tenant] = had[1:]
			continue
		}
		release, err := s.acquireUploadSlot(access.WithIdentity(t.Context(), &access.Identity{Tenant: tt.tenant}))
		if (err == nil) != tt.ok || err != nil && fault.CodeOf(err) != fault.QueueFull {
			t.Fatalf("tenant %s with %d places: got %v, want one more: %v", tt.tenant, len(leave[tt.tenant]), err, tt.ok)
		}
		if err == nil {
			leave[tt.tenant] = append(leave[tt.tenant], release)
		}
	}
	for _, all := range leave {
		for _, release := range all {
			release()
		}
	}
	if len(s.uploadSlots) > 0 || len(s.tenantSlots.held) > 0 {
		t.Errorf("%d places and %v are left", len(s.uploadSlots), s.tenantSlots.held)
	}
}

// While a dependency is known to be away that an upload needs, it is refused at once, before anything of it is read.
func TestUploadsAreRefusedWhileADependencyIsDown(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	type away map[string]error
	for _, tt := range []struct {
		away    away
		refused bool
	}{
		{away{"blobs": errors.New("no answer")}, true},
		{away{"nats": errors.New("no answer")}, true},
		{away{"nats": bus.ErrUnresponsive, "blobs": errors.New("no answer")}, true},
		{away{"index": errors.New("no answer")}, false}, // which takes no part in an upload
		{away{"nats": bus.ErrUnresponsive}, false},      // the record can be written, and the task is queued later
	} {
		var down atomic.Bool
		down.Store(true)
		for name, err := range tt.away {
			r.status.AddCheck(name, func(context.Context) error {
				if down.Load() {
					return err
				}
				return nil
			})
		}
		// known counts those of the dependencies that are known to be away.
		known := func() (n int) {
			r.status.BuildReport(t.Context())
			for name := range tt.away {
				if r.status.DependencyError(name) != nil {
					n++
				}
			}
			return n
		}
		eventually(t, fmt.Sprintf("%v is known to be away", tt.away), func() bool { return known() == len(tt.away) })
		_, err := rpcAPI{r.rpc}.upload(t.Context(), testUpload{data: strings.NewReader("%PDF-1.7")})
		if tt.refused {
			checkError(t, err, fault.Unavailable)
			r.wantNoJobs()
		} else {
			checkError(t, err, "")
		}
		down.Store(false)
		eventually(t, fmt.Sprintf("%v is back", tt.away), func() bool { return known() == 0 })
	}
}
