package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// caller makes a call of the API, by the method's name, as one of the protocols offers it. The key may be empty.
// Errors are *apiError.
type caller func(ctx context.Context, key, method string, req, resp proto.Message) error

// eachCaller runs a test over both protocols.
func eachCaller(t *testing.T, r *fixture, test func(t *testing.T, call caller)) {
	t.Helper()
	t.Run("grpc", func(t *testing.T) { test(t, r.callRPC) })
	t.Run("rest", func(t *testing.T) { test(t, r.callREST) })
}

func (r *fixture) callRPC(ctx context.Context, key, method string, req, resp proto.Message) error {
	if key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
	}
	return rpcError(r.conn.Invoke(ctx, "/"+inkstreamv1.InkstreamService_ServiceDesc.ServiceName+"/"+method, req, resp))
}

// callREST makes the request that the method's annotation in service.proto describes.
func (r *fixture) callREST(ctx context.Context, key, method string, req, resp proto.Message) error {
	verb, pattern, body := r.restRule(method)
	said := map[string]any{}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(req)
	if err == nil {
		err = json.Unmarshal(data, &said)
	}
	if err != nil {
		return err
	}
	for {
		before, rest, found := strings.Cut(pattern, "{")
		if !found {
			break
		}
		name, after, _ := strings.Cut(rest, "}")
		name, _, _ = strings.Cut(name, "=")
		pattern = before + url.PathEscape(fmt.Sprint(said[name])) + after
		delete(said, name)
	}
	query := url.Values{}
	var payload io.Reader
	if body == "*" {
		payload = bytes.NewReader(data)
	} else {
		flatten(query, "", said)
	}
	hr, err := http.NewRequestWithContext(ctx, verb, r.base+pattern+"?"+query.Encode(), payload)
	if err != nil {
		return err
	}
	if payload != nil {
		hr.Header.Set("Content-Type", jsonType)
	}
	if key != "" {
		hr.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := r.web.Do(hr)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK && (res.StatusCode != http.StatusAccepted || res.Header.Get("Location") == "") {
		return errorOf(res)
	}
	if data, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	if file, ok := resp.(*httpbody.HttpBody); ok {
		file.ContentType, file.Data = res.Header.Get("Content-Type"), data
		return nil
	}
	return protojson.Unmarshal(data, resp)
}

func (r *fixture) restRule(method string) (verb, pattern, body string) {
	r.t.Helper()
	file := inkstreamv1.File_inkstream_v1_service_proto.Services().ByName("InkstreamService")
	m := file.Methods().ByName(protoreflect.Name(method))
	if m == nil {
		r.t.Fatalf("there is no method %s", method)
	}
	rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, p.Get, ""
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, p.Delete, ""
	case *annotations.HttpRule_Post:
		return http.MethodPost, p.Post, rule.GetBody()
	}
	r.t.Fatalf("%s has no address", method)
	return "", "", ""
}

func flatten(into url.Values, prefix string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			flatten(into, strings.TrimPrefix(prefix+"."+name, "."), x)
		}
	case []any:
		for _, x := range v {
			into.Add(prefix, fmt.Sprint(x))
		}
	default:
		into.Add(prefix, fmt.Sprint(v))
	}
}

// withIndex gives the gateway an index, and keeps its documents as the records are.
func withIndex(t testing.TB) func(*fixtureOptions) {
	return func(s *fixtureOptions) {
		store, err := search.Open(t.Context(), "sqlite://"+t.TempDir()+"/index.db")
		if err != nil {
			t.Fatalf("index: %v", err)
		}
		t.Cleanup(func() { store.Close() })
		s.index = store
	}
}

// startProjection keeps the index's documents as the records are, until the test ends.
func (r *fixture) startProjection() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- projection.New(r.deps.Jobs, r.deps.Bus, r.svc.index, r.deps.Log).Run(ctx, func() {}) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("projection: %v", err)
		}
	})
}

// A filter names a label with a value, or any value of it; and what an upload over REST says of its labels may hold
// commas.
func TestListByLabel(t *testing.T) {
	t.Parallel()
	r := startGateway(t, withIndex(t))
	labels := map[string]string{"team": "ops, Berlin", "case": "17"}
	text, err := json.Marshal(labels)
	if err != nil {
		t.Fatal(err)
	}
	code, _, body := r.requestWithKey(http.MethodPost, "/v1/jobs?labels="+url.QueryEscape(string(text)), "", pdfType,
		"%PDF")
	v := &inkstreamv1.Job{}
	if err := protojson.Unmarshal(body, v); err != nil || code != http.StatusAccepted ||
		!maps.Equal(v.GetLabels(), labels) {
		t.Fatalf("got %d %v, %v, want the labels %v", code, v.GetLabels(), err, labels)
	}
	rec, err := r.deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(v.GetId()))
	if err == nil {
		err = r.svc.index.PutDocument(t.Context(), projection.IndexDocument(rec))
	}
	if err != nil {
		t.Fatal(err)
	}
	eachCaller(t, r, func(t *testing.T, call caller) {
		for _, tt := range []struct {
			label []string
			jobs  int
			want  fault.Code
		}{
			{nil, 1, ""}, {[]string{"team"}, 1, ""}, {[]string{"team=ops, Berlin", "case"}, 1, ""},
			{[]string{"team=ops"}, 0, ""}, {[]string{"ops"}, 0, ""},
			{[]string{"team", "none"}, 0, ""}, {[]string{"=x"}, 0, fault.InvalidArgument},
			{[]string{""}, 0, fault.InvalidArgument},
		} {
			list := &inkstreamv1.ListJobsResponse{}
			err := call(t.Context(), "", "ListJobs",
				&inkstreamv1.ListJobsRequest{Filter: &inkstreamv1.JobFilter{Label: tt.label}}, list)
			checkError(t, err, tt.want)
			if len(list.GetJobs()) != tt.jobs {
				t.Errorf("labels %q: got %v, want %d jobs", tt.label, list.GetJobs(), tt.jobs)
			}
		}
	})
}

// A bound is one however far away it lies: what is to be deleted before a time when there was nothing is nothing.
func TestListByTimesFarAway(t *testing.T) {
	t.Parallel()
	r := startGateway(t, withIndex(t))
	rec := r.newJob(setRunning)
	if err := r.svc.index.PutDocument(t.Context(), projection.IndexDocument(rec)); err != nil {
		t.Fatal(err)
	}
	begin, end := &timestamppb.Timestamp{Seconds: -62135596800}, &timestamppb.Timestamp{Seconds: 253402300799} // the years 1 and 9999
	for _, tt := range []struct {
		after, before *timestamppb.Timestamp
		jobs          int
		want          fault.Code
	}{
		{after: begin, jobs: 1}, {before: end, jobs: 1}, {after: begin, before: end, jobs: 1}, {before: begin}, {after: end},
		{before: &timestamppb.Timestamp{}}, {after: &timestamppb.Timestamp{}, jobs: 1},
		{before: &timestamppb.Timestamp{Seconds: math.MaxInt64}, want: fault.InvalidArgument},
		{before: &timestamppb.Timestamp{Seconds: math.MinInt64}, want: fault.InvalidArgument},
	} {
		f := &inkstreamv1.JobFilter{CreateAfter: tt.after, CreateBefore: tt.before}
		list := &inkstreamv1.ListJobsResponse{}
		checkError(t, r.callRPC(t.Context(), "", "ListJobs", &inkstreamv1.ListJobsRequest{Filter: f}, list), tt.want)
		if len(list.GetJobs()) != tt.jobs {
			t.Errorf("after %v, before %v: got %v, want %d jobs", tt.after, tt.before, list.GetJobs(), tt.jobs)
		}
	}
	did := &inkstreamv1.BatchJobsResponse{}
	f := &inkstreamv1.BatchJobsRequest{Filter: &inkstreamv1.JobFilter{CreateBefore: begin}}
	checkError(t, r.callRPC(t.Context(), "", "DeleteJobs", f, did), "")
	if did.GetDone() != 0 || did.GetSkipped() != 0 {
		t.Errorf("delete what is from before the year 1: got %v, want nothing", did)
	}
}

// A stage whose only process has its hands full has that process still.
func TestListStages(t *testing.T) {
	t.Parallel()
	r := startGateway(t, func(s *fixtureOptions) {
		s.bus = bustest.NewWithTopology(t,
			bus.Topology{AckWait: time.Minute})
	})
	for range 2 {
		_, err := uploadWith(t.Context(), r.rpc, &inkstreamv1.UploadMetadata{}, "%PDF")
		checkError(t, err, "")
	}
	cons, err := r.deps.Bus.JetStream().Consumer(t.Context(), bus.Ingest.StreamName(),
		bus.DurableName(bus.Ingest, bus.Interactive))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cons.Next(); err != nil { // a delivered task that no consumer settles
		t.Fatal(err)
	}
	r.deadLetter(r.newJob(setRunning), job.DefaultTenant)
	eachCaller(t, r, func(t *testing.T, call caller) {
		list := &inkstreamv1.ListStagesResponse{}
		checkError(t, call(t.Context(), "", "ListStages", &inkstreamv1.ListStagesRequest{}, list), "")
		if len(list.GetStages()) != len(bus.AllStages()) {
			t.Fatalf("got %v, want every stage", list)
		}
		letters := int64(0)
		for i, st := range list.GetStages() {
			want := []int64{0, 0, 0} // waiting, in hand, processes
			if bus.Stage(st.GetName()) == bus.Ingest {
				want = []int64{1, 1, 1}
			}
			got := []int64{st.GetWaiting()[string(bus.Interactive)], st.GetInFlight(), int64(st.GetReplicas())}
			if st.GetName() != string(bus.AllStages()[i]) || !slices.Equal(got, want) ||
				(st.GetOldest() != nil) != (want[0] > 0) {
				t.Errorf("got %v, want %v waiting, in hand and processes", st, want)
			}
			letters += st.GetDeadLetters()
		}
		if letters != 1 {
			t.Errorf("got %d dead letters, want 1", letters)
		}
	})
}
