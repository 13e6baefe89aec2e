package gatewaytest

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Control is the part of the API that changes jobs, as one of the protocols offers it.
type Control interface {
	Cancel(ctx context.Context, id string) (*inkstreamv1.Job, error)
	Retry(ctx context.Context, req *inkstreamv1.RetryJobRequest) (*inkstreamv1.Job, error)
	Remove(ctx context.Context, id string) error
	Events(ctx context.Context, id string, size int32, token string) (*inkstreamv1.ListEventsResponse, error)
	Letters(ctx context.Context, size int32, token string) (*inkstreamv1.ListDeadLettersResponse, error)
	Letter(ctx context.Context, id string) (*inkstreamv1.DeadLetter, error)
	RetryLetter(ctx context.Context, id string) (*inkstreamv1.Job, error)
	DropLetter(ctx context.Context, id string) error
}

// EachControl runs a test over both protocols, each with a gateway of its own.
func EachControl(t *testing.T, test func(t *testing.T, r *Gateway, a API, c Control)) {
	t.Helper()
	for _, name := range []string{"grpc", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Start(t, nil)
			if name == "grpc" {
				test(t, r, RPCAPI{C: r.RPC}, RPCAPI{C: r.RPC})
				return
			}
			a := RESTAPI{Gateway: r}
			test(t, r, a, a)
		})
	}
}

// Cancel cancels a job over gRPC.
func (a RPCAPI) Cancel(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v, err := a.C.CancelJob(ctx, &inkstreamv1.CancelJobRequest{Id: id})
	return v, RPCError(err)
}

// Retry starts another run of a job over gRPC.
func (a RPCAPI) Retry(ctx context.Context, req *inkstreamv1.RetryJobRequest) (*inkstreamv1.Job, error) {
	v, err := a.C.RetryJob(ctx, req)
	return v, RPCError(err)
}

// Remove deletes a job over gRPC.
func (a RPCAPI) Remove(ctx context.Context, id string) error {
	_, err := a.C.DeleteJob(ctx, &inkstreamv1.DeleteJobRequest{Id: id})
	return RPCError(err)
}

// Events lists a page of a job's events over gRPC.
func (a RPCAPI) Events(ctx context.Context, id string, size int32,
	token string) (*inkstreamv1.ListEventsResponse, error) {
	v, err := a.C.ListEvents(ctx, &inkstreamv1.ListEventsRequest{Id: id, PageSize: size, PageToken: token})
	return v, RPCError(err)
}

// Letters lists a page of the dead letters over gRPC.
func (a RPCAPI) Letters(ctx context.Context, size int32, token string) (*inkstreamv1.ListDeadLettersResponse, error) {
	v, err := a.C.ListDeadLetters(ctx, &inkstreamv1.ListDeadLettersRequest{PageSize: size, PageToken: token})
	return v, RPCError(err)
}

// Letter returns a dead letter over gRPC.
func (a RPCAPI) Letter(ctx context.Context, id string) (*inkstreamv1.DeadLetter, error) {
	v, err := a.C.GetDeadLetter(ctx, &inkstreamv1.GetDeadLetterRequest{Id: id})
	return v, RPCError(err)
}

// RetryLetter queues the task of a dead letter again over gRPC.
func (a RPCAPI) RetryLetter(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v, err := a.C.RetryDeadLetter(ctx, &inkstreamv1.RetryDeadLetterRequest{Id: id})
	return v, RPCError(err)
}

// DropLetter drops a dead letter over gRPC.
func (a RPCAPI) DropLetter(ctx context.Context, id string) error {
	_, err := a.C.DropDeadLetter(ctx, &inkstreamv1.DropDeadLetterRequest{Id: id})
	return RPCError(err)
}

// call sends a request without a body and reads the answer into m.
func (a RESTAPI) call(ctx context.Context, method, path string, m proto.Message) error {
	req, err := http.NewRequestWithContext(ctx, method, a.Gateway.BaseURL+path, nil)
	if err != nil {
		return err
	}
	res, err := a.Gateway.Web.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return ErrorOf(res)
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(data, m)
}

// Cancel cancels a job over REST.
func (a RESTAPI) Cancel(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v := &inkstreamv1.Job{}
	return v, a.call(ctx, http.MethodPost, "/v1/jobs/"+url.PathEscape(id)+":cancel", v)
}

// Retry starts another run of a job over REST.
func (a RESTAPI) Retry(ctx context.Context, req *inkstreamv1.RetryJobRequest) (*inkstreamv1.Job, error) {
	v, query := &inkstreamv1.Job{}, url.Values{}
	if req.GetAll() {
		query.Set("all", "true")
	}
	if req.GetDoubts() {
		query.Set("doubts", "true")
	}
	return v, a.call(ctx, http.MethodPost, "/v1/jobs/"+url.PathEscape(req.GetId())+":retry?"+query.Encode(), v)
}

// Remove deletes a job over REST.
func (a RESTAPI) Remove(ctx context.Context, id string) error {
	return a.call(ctx, http.MethodDelete, "/v1/jobs/"+url.PathEscape(id), &emptypb.Empty{})
}

func pageQuery(size int32, token string) string {
	return "?" + url.Values{"page_size": {strconv.Itoa(int(size))}, "pageToken": {token}}.Encode()
}

// Events lists a page of a job's events over REST.
func (a RESTAPI) Events(ctx context.Context, id string, size int32,
	token string) (*inkstreamv1.ListEventsResponse, error) {
	v := &inkstreamv1.ListEventsResponse{}
	return v, a.call(ctx, http.MethodGet, "/v1/jobs/"+url.PathEscape(id)+"/events"+pageQuery(size, token), v)
}

// Letters lists a page of the dead letters over REST.
func (a RESTAPI) Letters(ctx context.Context, size int32, token string) (*inkstreamv1.ListDeadLettersResponse, error) {
	v := &inkstreamv1.ListDeadLettersResponse{}
	return v, a.call(ctx, http.MethodGet, "/v1/deadletters"+pageQuery(size, token), v)
}

// Letter returns a dead letter over REST.
func (a RESTAPI) Letter(ctx context.Context, id string) (*inkstreamv1.DeadLetter, error) {
	v := &inkstreamv1.DeadLetter{}
	return v, a.call(ctx, http.MethodGet, "/v1/deadletters/"+url.PathEscape(id), v)
}

// RetryLetter queues the task of a dead letter again over REST.
func (a RESTAPI) RetryLetter(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v := &inkstreamv1.Job{}
	return v, a.call(ctx, http.MethodPost, "/v1/deadletters/"+url.PathEscape(id)+":retry", v)
}

// DropLetter drops a dead letter over REST.
func (a RESTAPI) DropLetter(ctx context.Context, id string) error {
	return a.call(ctx, http.MethodDelete, "/v1/deadletters/"+url.PathEscape(id), &emptypb.Empty{})
}

// Queued returns how many tasks wait at a stage.
func (b *Backend) Queued(s bus.Stage) uint64 {
	b.t.Helper()
	stream, err := b.Deps.Bus.JetStream().Stream(b.t.Context(), s.StreamName())
	if err != nil {
		b.t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// EventTypes returns the types of a job's events, in order.
func EventTypes(t *testing.T, c Control, id job.ID) string {
	t.Helper()
	res, err := c.Events(t.Context(), string(id), 0, "")
	CheckError(t, err, "")
	var types []string
	for _, e := range res.GetEvents() {
		types = append(types, e.GetType())
	}
	return strings.Join(types, " ")
}

// DeadLetter stores a task that was given up, as the bus does, and returns its id.
func (b *Backend) DeadLetter(rec *job.Record, tenant string) string {
	b.t.Helper()
	task := &busv1.RenderTask{Unit: jobs.NewUnit(rec), Chunk: 3, FirstPage: 1, LastPage: 5}
	data, err := protojson.Marshal(task)
	if err != nil {
		b.t.Fatal(err)
	}
	msg := nats.NewMsg("ink.dlq.render." + tenant + "." + string(rec.ID))
	msg.Data = data
	for k, v := range map[string]string{
		bus.HeaderClass: "transient", bus.HeaderReason: "INTERNAL", bus.HeaderError: "internal error",
		bus.HeaderAttempts: "8",
		bus.HeaderSubject:  "ink.render.batch." + tenant + "." + string(rec.ID),
		bus.HeaderMsgID:    string(rec.ID) + ".1.render.chunk-3#r7",
		bus.HeaderTime:     When.Format(time.RFC3339Nano), bus.HeaderRun: "1",
		"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	} {
		msg.Header.Set(k, v)
	}
	ack, err := b.Deps.Bus.JetStream().PublishMsg(b.t.Context(), msg)
	if err != nil {
		b.t.Fatal(err)
	}
	return strconv.FormatUint(ack.Sequence, 10)
}
