package gateway

import (
	"context"
	"errors"
	"fmt"
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
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// control is the part of the API that changes jobs, as one of the protocols offers it.
type control interface {
	cancel(ctx context.Context, id string) (*inkstreamv1.Job, error)
	retry(ctx context.Context, id string, all bool) (*inkstreamv1.Job, error)
	remove(ctx context.Context, id string) error
	events(ctx context.Context, id string, size int32, token string) (*inkstreamv1.ListEventsResponse, error)
	letters(ctx context.Context, size int32, token string) (*inkstreamv1.ListDeadLettersResponse, error)
	letter(ctx context.Context, id string) (*inkstreamv1.DeadLetter, error)
	retryLetter(ctx context.Context, id string) (*inkstreamv1.Job, error)
	dropLetter(ctx context.Context, id string) error
}

// eachControl runs a test over both protocols, each with a gateway of its own.
func eachControl(t *testing.T, test func(t *testing.T, r *fixture, a testAPI, c control)) {
	t.Helper()
	for _, name := range []string{"grpc", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startGateway(t, nil)
			if name == "grpc" {
				test(t, r, rpcAPI{r.rpc}, rpcAPI{r.rpc})
				return
			}
			a := restAPI{r: r}
			test(t, r, a, a)
		})
	}
}

func (a rpcAPI) cancel(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v, err := a.c.CancelJob(ctx, &inkstreamv1.CancelJobRequest{Id: id})
	return v, rpcError(err)
}

func (a rpcAPI) retry(ctx context.Context, id string, all bool) (*inkstreamv1.Job, error) {
	v, err := a.c.RetryJob(ctx, &inkstreamv1.RetryJobRequest{Id: id, All: all})
	return v, rpcError(err)
}

func (a rpcAPI) remove(ctx context.Context, id string) error {
	_, err := a.c.DeleteJob(ctx, &inkstreamv1.DeleteJobRequest{Id: id})
	return rpcError(err)
}

func (a rpcAPI) events(ctx context.Context, id string, size int32,
	token string) (*inkstreamv1.ListEventsResponse, error) {
	v, err := a.c.ListEvents(ctx, &inkstreamv1.ListEventsRequest{Id: id, PageSize: size, PageToken: token})
	return v, rpcError(err)
}

func (a rpcAPI) letters(ctx context.Context, size int32, token string) (*inkstreamv1.ListDeadLettersResponse, error) {
	v, err := a.c.ListDeadLetters(ctx, &inkstreamv1.ListDeadLettersRequest{PageSize: size, PageToken: token})
	return v, rpcError(err)
}

func (a rpcAPI) letter(ctx context.Context, id string) (*inkstreamv1.DeadLetter, error) {
	v, err := a.c.GetDeadLetter(ctx, &inkstreamv1.GetDeadLetterRequest{Id: id})
	return v, rpcError(err)
}

func (a rpcAPI) retryLetter(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v, err := a.c.RetryDeadLetter(ctx, &inkstreamv1.RetryDeadLetterRequest{Id: id})
	return v, rpcError(err)
}

func (a rpcAPI) dropLetter(ctx context.Context, id string) error {
	_, err := a.c.DropDeadLetter(ctx, &inkstreamv1.DropDeadLetterRequest{Id: id})
	return rpcError(err)
}

// call sends a request without a body and reads the answer into m.
func (a restAPI) call(ctx context.Context, method, path string, m proto.Message) error {
	req, err := http.NewRequestWithContext(ctx, method, a.r.base+path, nil)
	if err != nil {
		return err
	}
	res, err := a.r.web.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errorOf(res)
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(data, m)
}

func (a restAPI) cancel(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v := &inkstreamv1.Job{}
	return v, a.call(ctx, http.MethodPost, "/v1/jobs/"+url.PathEscape(id)+":cancel", v)
}

func (a restAPI) retry(ctx context.Context, id string, all bool) (*inkstreamv1.Job, error) {
	v, query := &inkstreamv1.Job{}, ""
	if all {
		query = "?all=true"
	}
	return v, a.call(ctx, http.MethodPost, "/v1/jobs/"+url.PathEscape(id)+":retry"+query, v)
}

func (a restAPI) remove(ctx context.Context, id string) error {
	return a.call(ctx, http.MethodDelete, "/v1/jobs/"+url.PathEscape(id), &emptypb.Empty{})
}

func pageQuery(size int32, token string) string {
	return "?" + url.Values{"page_size": {strconv.Itoa(int(size))}, "pageToken": {token}}.Encode()
}

func (a restAPI) events(ctx context.Context, id string, size int32,
	token string) (*inkstreamv1.ListEventsResponse, error) {
	v := &inkstreamv1.ListEventsResponse{}
	return v, a.call(ctx, http.MethodGet, "/v1/jobs/"+url.PathEscape(id)+"/events"+pageQuery(size, token), v)
}

func (a restAPI) letters(ctx context.Context, size int32, token string) (*inkstreamv1.ListDeadLettersResponse, error) {
	v := &inkstreamv1.ListDeadLettersResponse{}
	return v, a.call(ctx, http.MethodGet, "/v1/deadletters"+pageQuery(size, token), v)
}

func (a restAPI) letter(ctx context.Context, id string) (*inkstreamv1.DeadLetter, error) {
	v := &inkstreamv1.DeadLetter{}
	return v, a.call(ctx, http.MethodGet, "/v1/deadletters/"+url.PathEscape(id), v)
}

func (a restAPI) retryLetter(ctx context.Context, id string) (*inkstreamv1.Job, error) {
	v := &inkstreamv1.Job{}
	return v, a.call(ctx, http.MethodPost, "/v1/deadletters/"+url.PathEscape(id)+":retry", v)
}

func (a restAPI) dropLetter(ctx context.Context, id string) error {
	return a.call(ctx, http.MethodDelete, "/v1/deadletters/"+url.PathEscape(id), &emptypb.Empty{})
}

func TestOptionsInTheBodyOfACallAreRefused(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(setRunning)
	r.update(rec, setFailed(job.Failed, fault.DocumentTimeout))
	path := "/v1/jobs/" + string(rec.ID) + ":retry"
	for _, tt := range []struct {
		body   string
		status int
	}{
		{`{"all":true}`, http.StatusBadRequest}, {strings.Repeat(" ", 100), http.StatusBadRequest}, {" {}\n", http.StatusOK},
	} {
		if res, body := r.postUpload(t, path, tt.body); res.StatusCode != tt.status {
			t.Errorf("body %q: got %d %s, want %d", tt.body, res.StatusCode, body, tt.status)
		}
	}
}

// queued returns how many tasks wait at a stage.
func (r *fixture) queued(s bus.Stage) uint64 {
	r.t.Helper()
	stream, err := r.deps.Bus.JetStream().Stream(r.t.Context(), s.StreamName())
	if err != nil {
		r.t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// eventTypes returns the types of a job's events, in order.
func eventTypes(t *testing.T, c control, id job.ID) string {
	t.Helper()
	res, err := c.events(t.Context(), string(id), 0, "")
	checkError(t, err, "")
	var types []string
	for _, e := range res.GetEvents() {
		types = append(types, e.GetType())
	}
	return strings.Join(types, " ")
}

func TestCancelJob(t *testing.T) {
	t.Parallel()
	eachControl(t, func(t *testing.T, r *fixture, a testAPI, c control) {
		v, err := a.upload(t.Context(), testUpload{data: strings.NewReader("%PDF-1.7"), filename: "a.pdf"})
		checkError(t, err, "")
		r.putBlob(job.RasterKey(job.DefaultTenant, job.ID(v.GetId()), 1, 1), "raster")
		for range 2 {
			v, err = c.cancel(t.Context(), v.GetId())
			checkError(t, err, "")
			if v.GetState() != inkstreamv1.Job_CANCELLED || v.GetEndTime() == nil || v.GetError() != nil {
				t.Errorf("got %v, want CANCELLED", v)
			}
		}
		if n := r.queued(bus.Ingest); n != 0 {
			t.Errorf("%d tasks are queued, want none", n)
		}
		for _, key := range r.blobKeys() {
			if strings.Contains(key, "/tmp/") {
				t.Errorf("left behind: %s", key)
			}
		}
		if got, want := eventTypes(t, c, job.ID(v.GetId())), "uploaded cancelled ended"; got != want {
			t.Errorf("events %q, want %q", got, want)
		}
		_, err = c.cancel(t.Context(), string(r.newEndedJob(nil).ID))
		checkError(t, err, jobEnded)
		for _, id := range []string{"x", string(unknownJob)} {
			_, err = c.cancel(t.Context(), id)
			checkError(t, err, fault.JobNotFound)
		}
	})
}

const unknownJob job.ID = "01arz3ndektsv4rrffq69g5fav" // of 2016

func TestRetryJob(t *testing.T) {
	t.Parallel()
	partial := func(rec *job.Record) error {
		rec.Outcomes, rec.ResultRun = map[string]int{job.OutcomeNative: 4, job.OutcomeFailed: 1}, 1
		return rec.Transition(job.Partial, when.Add(time.Minute))
	}
	eachControl(t, func(t *testing.T, r *fixture, a testAPI, c control) {
		for _, tt := range []struct {
			name  string
			make  func(*job.Record)
			end   func(*job.Record) error
			all   bool
			want  fault.Code
			state inkstreamv1.Job_State
			stage bus.Stage
		}{
			{"partial", setRunning, partial, false, "", inkstreamv1.Job_RUNNING, bus.Scan},
			{"partial, all of it", setRunning, partial, true, "", inkstreamv1.Job_RUNNING, bus.Scan},
			{"failed", setRunning, setFailed(job.Failed, fault.DocumentTimeout), false, "", inkstreamv1.Job_RUNNING, bus.Scan},
			{"failed before it was opened", nil, setFailed(job.Failed, fault.RetriesSpent), false, "", inkstreamv1.Job_PENDING,
				bus.Ingest},
			{"cancelled", setRunning, func(r *job.Record) error { return r.Transition(job.Cancelled, when) }, false, "",
				inkstreamv1.Job_RUNNING, bus.Scan},
			{"succeeded", setRunning, func(r *job.Record) error { return r.Transition(job.Succeeded, when) }, false,
				jobNotRetryable, 0, ""},
			{"succeeded, all of it", setRunning, func(r *job.Record) error { return r.Transition(job.Succeeded, when) }, true,
				"", inkstreamv1.Job_RUNNING, bus.Scan},
			{"rejected", nil, setFailed(job.Rejected, fault.Encrypted), true, jobNotRetryable, 0, ""},
			{"running", setRunning, func(*job.Record) error { return nil }, true, jobRunning, 0, ""},
			{"expired", setRunning, func(r *job.Record) error {
				return errors.Join(r.Transition(job.Succeeded, when), r.Transition(job.Expired, when))
			}, true, jobExpired, 0, ""},
		} {
			rec := r.newJob(tt.make)
			r.update(rec, tt.end)
			before := uint64(0)
			if tt.stage != "" {
				before = r.queued(tt.stage)
			}
			v, err := c.retry(t.Context(), string(rec.ID), tt.all)
			checkError(t, err, tt.want)
			if tt.want != "" {
				continue
			}
			if v.GetState() != tt.state || v.GetRun() != 2 || v.GetEndTime() != nil || v.GetError() != nil ||
				len(v.GetFailures()) > 0 {
				t.Errorf("%s: got %v, want run 2 %s", tt.name, v, tt.state)
			}
			if got := r.queued(tt.stage); got != before+1 {
				t.Errorf("%s: %d tasks at %s, want %d", tt.name, got, tt.stage, before+1)
			}
			want := "ended retried" // the end event comes first, in case it was not published before
			if tt.name == "cancelled" {
				want = "cancelled " + want
			}
			if got := eventTypes(t, c, rec.ID); got != want {
				t.Errorf("%s: events %q, want %q", tt.name, got, want)
			}
		}
		_, err := c.retry(t.Context(), string(unknownJob), false)
		checkError(t, err, fault.JobNotFound)
	})
}

func TestResultsOfTheLastRunAnswerDuringARetry(t *testing.T) {
	t.Parallel()
	eachControl(t, func(t *testing.T, r *fixture, a testAPI, c control) {
		rec := r.newJob(setRunning)
		p := r.progressOf(rec)
		if _, err := p.SetOutcomes([]job.Outcome{{Page: 4, Kind: job.OutcomeBlank},
			{Page: 5, Kind: job.OutcomeBlank}}); err != nil {
			t.Fatal(err)
		}
		r.putBlob(job.ArtifactKey(rec.Tenant, rec.ID, 1, "text.txt"), "old")
		for n := 1; n <= 5; n++ {
			r.putBlob(job.PageKey(rec.Tenant, rec.ID, 1, n), fmt.Sprintf(`{"number":%d,"text":"old"}`, n))
		}
		r.update(rec, func(rec *job.Record) error { return rec.FinishRun(p, when.Add(time.Minute)) })
		_, err := c.retry(t.Context(), string(rec.ID), false)
		checkError(t, err, "")
		r.putBlob(job.PageKey(rec.Tenant, rec.ID, 2, 2), `{"number":2,"text":"new"}`)
		wantText := func(want string) {
			t.Helper()
			data, _, err := a.download(t.Context(), string(rec.ID), "text.txt")
			checkError(t, err, "")
			list, err := a.artifacts(t.Context(), string(rec.ID))
			checkError(t, err, "")
			if string(data) != want || len(list) != 1 {
				t.Errorf("got %q and artifacts %v, want %q", data, list, want)
			}
		}
		wantText("old")
		for n, want := range map[int]string{1: "old", 2: "new", 5: "old"} {
			page, err := a.page(t.Context(), string(rec.ID), n)
			checkError(t, err, "")
			if page.GetText() != want {
				t.Errorf("page %d: got %q, want %q", n, page.GetText(), want)
			}
		}
		// A run that came to nothing replaces nothing.
		_, err = c.cancel(t.Context(), string(rec.ID))
		checkError(t, err, "")
		wantText("old")
		_, err = c.retry(t.Context(), string(rec.ID), false)
		checkError(t, err, "")
		p.Run, p.Pages, p.Failed = 3, "noobb", nil
		r.putBlob(job.ArtifactKey(rec.Tenant, rec.ID, 3, "text.txt"), "new")
		r.update(rec, func(rec *job.Record) error { return rec.FinishRun(p, when.Add(time.Hour)) })
		wantText("new")
		v, err := a.job(t.Context(), string(rec.ID))
		checkError(t, err, "")
		if v.GetState() != inkstreamv1.Job_SUCCEEDED || v.GetRun() != 3 || v.GetResultRun() != 3 {
			t.Errorf("got %v, want SUCCEEDED by run 3", v)
		}
	})
}

func TestDeletedJobsAnswerGone(t *testing.T) {
	t.Parallel()
	eachControl(t, func(t *testing.T, r *fixture, a testAPI, c control) {
		v, err := a.upload(t.Context(), testUpload{data: strings.NewReader("%PDF-1.7"), filename: "a.pdf"})
		checkError(t, err, "")
		checkError(t, c.remove(t.Context(), v.GetId()), "")
		for name, call := range map[string]func() error{
			"get":       func() error { _, err := a.job(t.Context(), v.GetId()); return err },
			"watch":     func() error { return a.watch(t.Context(), v.GetId(), func(*inkstreamv1.Job) bool { return true }) },
			"page":      func() error { _, err := a.page(t.Context(), v.GetId(), 1); return err },
			"artifacts": func() error { _, err := a.artifacts(t.Context(), v.GetId()); return err },
			"download":  func() error { _, _, err := a.download(t.Context(), v.GetId(), "text.txt"); return err },
			"cancel":    func() error { _, err := c.cancel(t.Context(), v.GetId()); return err },
			"retry":     func() error { _, err := c.retry(t.Context(), v.GetId(), true); return err },
			"delete":    func() error { return c.remove(t.Context(), v.GetId()) },
		} {
			t.Run(name, func(t *testing.T) { checkError(t, call(), jobDeleted) })
		}
		if got, want := eventTypes(t, c, job.ID(v.GetId())), "uploaded cancelled deleted"; got != want {
			t.Errorf("events %q, want %q", got, want)
		}
		if in, out := r.queued(bus.Ingest), r.queued(bus.Index); in != 0 || out != 1 {
			t.Errorf("%d tasks at ingest, %d at index, want none and the removal", in, out)
		}
		checkError(t, c.remove(t.Context(), string(unknownJob)), fault.JobNotFound)
	})
}

func TestEventsAreListedInOrderByPages(t *testing.T) {
	t.Parallel()
	eachControl(t, func(t *testing.T, r *fixture, _ testAPI, c control) {
		rec := r.newJob(setRunning)
		var want []string
		for n := range 7 {
			for _, of := range []*job.Record{rec, r.newJob(setRunning)} { // the other jobs' events lie between
				e := jobs.NewEvent(of, "page_failed", "index")
				e.Page, e.Code = int32(n+1), string(fault.PageTimeout)
				if err := r.deps.Bus.PublishEvent(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			want = append(want, fmt.Sprintf("page_failed %d PAGE_TIMEOUT", n+1))
		}
		var got []string
		token := ""
		for calls := 1; ; calls++ {
			res, err := c.events(t.Context(), string(rec.ID), 3, token)
			checkError(t, err, "")
			for _, e := range res.GetEvents() {
				got = append(got, fmt.Sprintf("%s %d %s", e.GetType(), e.GetPage(), e.GetCode()))
				if e.GetTime() == nil || e.GetRun() != 1 || e.GetId() == "" {
					t.Errorf("event %v lacks something", e)
				}
			}
			if token = res.GetNextPageToken(); token == "" {
				if calls != 3 {
					t.Errorf("%d pages, want 3", calls)
				}
				break
			}
		}
		if g, w := strings.Join(got, ", "), strings.Join(want, ", "); g != w {
			t.Errorf("got %s, want %s", g, w)
		}
		for _, tt := range []struct {
			id    job.ID
			size  int32
			token string
			want  fault.Code
		}{
			{rec.ID, 0, "x", fault.InvalidArgument}, {rec.ID, -1, "", fault.InvalidArgument},
			{unknownJob, 0, "", fault.JobNotFound},
			{r.newJob(nil).ID, 5000, "", ""},
		} {
			_, err := c.events(t.Context(), string(tt.id), tt.size, tt.token)
			checkError(t, err, tt.want)
		}
		res, err := c.events(t.Context(), string(rec.ID), 0, "18446744073709551615") // behind the last one that there can be
		if checkError(t, err, ""); len(res.GetEvents()) > 0 {
			t.Errorf("behind the end: got %v", res)
		}
	})
}

// deadLetter stores a task that was given up, as the bus does, and returns its id.
func (r *fixture) deadLetter(rec *job.Record, tenant string) string {
	r.t.Helper()
	task := &busv1.RenderTask{Unit: jobs.NewUnit(rec), Chunk: 3, FirstPage: 1, LastPage: 5}
	data, err := protojson.Marshal(task)
	if err != nil {
		r.t.Fatal(err)
	}
	msg := nats.NewMsg("ink.dlq.render." + tenant + "." + string(rec.ID))
	msg.Data = data
	for k, v := range map[string]string{
		bus.HeaderClass: "transient", bus.HeaderReason: "INTERNAL", bus.HeaderError: "internal error",
		bus.HeaderAttempts: "8",
		bus.HeaderSubject:  "ink.render.batch." + tenant + "." + string(rec.ID),
		bus.HeaderMsgID:    string(rec.ID) + ".1.render.chunk-3#r7",
		bus.HeaderTime:     when.Format(time.RFC3339Nano), bus.HeaderRun: "1",
		"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	} {
		msg.Header.Set(k, v)
	}
	ack, err := r.deps.Bus.JetStream().PublishMsg(r.t.Context(), msg)
	if err != nil {
		r.t.Fatal(err)
	}
	return strconv.FormatUint(ack.Sequence, 10)
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	eachControl(t, func(t *testing.T, r *fixture, _ testAPI, c control) {
		rec := r.newJob(setRunning)
		first, second := r.deadLetter(rec, job.DefaultTenant), r.deadLetter(rec, job.DefaultTenant)
		foreign := r.deadLetter(rec, "other")
		third := r.deadLetter(rec, job.DefaultTenant)
		var got []string
		for token := ""; ; {
			res, err := c.letters(t.Context(), 2, token)
			checkError(t, err, "")
			for _, l := range res.GetDeadLetters() {
				got = append(got, l.GetId())
			}
			if token = res.GetNextPageToken(); token == "" {
				break
			}
		}
		if want := []string{first, second, third}; strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("got %v, want %v", got, want)
		}
		l, err := c.letter(t.Context(), first)
		checkError(t, err, "")
		have := strings.Join([]string{
			l.GetStage(), l.GetClass(), l.GetCode(), l.GetError(), strconv.Itoa(int(l.GetRun())),
			strconv.Itoa(int(l.GetAttempts())), l.GetTraceId(),
		}, "|")
		if want := "render|transient|INTERNAL|internal error|1|8|0af7651916cd43dd8448eb211c80319c"; have != want {
			t.Errorf("got %s, want %s", have, want)
		}
		if l.GetJob() != string(rec.ID) || !l.GetTime().AsTime().Equal(when) || l.GetMessageId() == "" ||
			!strings.Contains(l.GetPayload(), `"lastPage"`) {
			t.Errorf("got %v", l)
		}
		// The job runs: the very task is queued again under another id.
		v, err := c.retryLetter(t.Context(), first)
		checkError(t, err, "")
		if v.GetState() != inkstreamv1.Job_RUNNING || v.GetRun() != 1 || r.queued(bus.Render) != 1 {
			t.Errorf("got %v and %d tasks, want run 1 with one", v, r.queued(bus.Render))
		}
		stream, err := r.deps.Bus.JetStream().Stream(t.Context(), bus.Render.StreamName())
		if err != nil {
			t.Fatal(err)
		}
		msg, err := stream.GetLastMsgForSubject(t.Context(), "ink.render.batch."+job.DefaultTenant+"."+string(rec.ID))
		if err != nil {
			t.Fatal(err)
		}
		if id, want := msg.Header.Get(nats.MsgIdHdr), string(rec.ID)+".1.render.chunk-3#r"+first; id != want ||
			!strings.Contains(string(msg.Data), `"replay"`) {
			t.Errorf("got message %q %s, want %q with a replay", id, msg.Data, want)
		}
		// The job has failed: another run takes over what there is.
		r.update(rec, setFailed(job.Failed, fault.RetriesSpent))
		v, err = c.retryLetter(t.Context(), second)
		checkError(t, err, "")
		if v.GetState() != inkstreamv1.Job_RUNNING || v.GetRun() != 2 || r.queued(bus.Render) != 1 ||
			r.queued(bus.Scan) != 1 {
			t.Errorf("got %v, want run 2", v)
		}
		checkError(t, c.dropLetter(t.Context(), third), "")
		for _, id := range []string{first, second, third, foreign, "0", "x", "-1", "99"} {
			_, err := c.letter(t.Context(), id)
			checkError(t, err, deadLetterNotFound)
			_, err = c.retryLetter(t.Context(), id)
			checkError(t, err, deadLetterNotFound)
			checkError(t, c.dropLetter(t.Context(), id), deadLetterNotFound)
		}
		_, err = c.letters(t.Context(), 0, "x")
		checkError(t, err, fault.InvalidArgument)
		rejected := r.newJob(nil)
		r.update(rejected, setFailed(job.Rejected, fault.NotAPDF))
		_, err = c.retryLetter(t.Context(), r.deadLetter(rejected, job.DefaultTenant))
		checkError(t, err, jobNotRetryable)
		gone := r.deadLetter(rejected, job.DefaultTenant)
		checkError(t, c.remove(t.Context(), string(rejected.ID)), "")
		_, err = c.retryLetter(t.Context(), gone)
		checkError(t, err, jobDeleted)
	})
}
