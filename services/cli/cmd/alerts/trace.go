package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/services/standalone/chaos"
)

// span is what is looked at of one.
type span struct {
	service, name, job string
	trace, id, parent  string
}

// sink is where the collector sends the spans to, in the place of Jaeger.
type sink struct {
	collector.UnimplementedTraceServiceServer
	addr string
	srv  *grpc.Server

	mu    sync.Mutex // guards spans
	spans []span
}

func openSink() (*sink, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{addr: l.Addr().String(), srv: grpc.NewServer()}
	collector.RegisterTraceServiceServer(s.srv, s)
	go func() { _ = s.srv.Serve(l) }() // it ends with close
	return s, nil
}

func (s *sink) close() { s.srv.Stop() }

// Export takes spans.
func (s *sink) Export(_ context.Context,
	req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, got := range scope.GetSpans() {
				one := span{
					service: service, name: got.GetName(), trace: hex.EncodeToString(got.GetTraceId()),
					id: hex.EncodeToString(got.GetSpanId()), parent: hex.EncodeToString(got.GetParentSpanId()),
				}
				for _, a := range got.GetAttributes() {
					if a.GetKey() == "job" {
						one.job = a.GetValue().GetStringValue()
					}
				}
				s.spans = append(s.spans, one)
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// of returns the spans of the traces that a job's id is found in.
func (s *sink) of(job string) []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	traces := map[string]bool{}
	for _, one := range s.spans {
		if one.job == job {
			traces[one.trace] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(s.spans), func(one span) bool { return !traces[one.trace] })
}

// checkTrace takes a scan through the pipeline, and finds one trace by the job's id: of all services, from the upload
// to the job's end.
func (tb *testbed) checkTrace(ctx context.Context) error {
	j, _, err := tb.client.UploadUntilAcknowledged(ctx, "", pdftest.ScannedFile(pdftest.ScanOptions{Pages: 2}).PDF,
		chaos.WithoutDedupe())
	if err != nil {
		return err
	}
	if err := tb.finish(ctx, j.ID); err != nil {
		return err
	}
	var spans []span
	if err := poll(ctx, 30*time.Second, func() (bool, error) {
		spans = tb.sink.of(j.ID)
		err := checkSpans(spans)
		return err == nil, err
	}); err != nil {
		return fmt.Errorf("trace of job %s: %w", j.ID, err)
	}
	services := map[string]int{}
	for _, one := range spans {
		services[strings.TrimPrefix(one.service, "inkstream-")]++
	}
	fmt.Printf("trace %s of job %s, through the collector: %d spans of %v\n", spans[0].trace, j.ID, len(spans), services)
	return nil
}

// checkSpans looks whether they are one tree, with every service in it: of two pages each in ocr and in index, where
// the last one ends the job.
func checkSpans(spans []span) error {
	ids, traces, names, roots := map[string]bool{}, map[string]bool{}, map[string]int{}, 0
	for _, one := range spans {
		ids[one.id], traces[one.trace] = true, true
		names[one.service]++
	}
	for _, one := range spans {
		if one.parent == "" {
			roots++
		} else if !ids[one.parent] {
			return fmt.Errorf("the parent %s of %s of %s is not there", one.parent, one.name, one.service)
		}
	}
	for name, least := range map[string]int{"gateway": 1, "ingest": 1, "scan": 1, "render": 1, "ocr": 2, "index": 2} {
		if names["inkstream-"+name] < least {
			return fmt.Errorf("%d spans of %s, want at least %d: %v", names["inkstream-"+name], name, least, names)
		}
	}
	if len(traces) != 1 || roots != 1 {
		return fmt.Errorf("want one trace with one root, got %d of %v", roots, slices.Collect(maps.Keys(traces)))
	}
	return nil
}
