package admin_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
)

func TestOptionsInTheBodyOfACallAreRefused(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	r.Update(rec, gatewaytest.SetFailed(job.Failed, fault.DocumentTimeout))
	path := "/v1/jobs/" + string(rec.ID) + ":retry"
	for _, tt := range []struct {
		body   string
		status int
	}{
		{`{"all":true}`, http.StatusBadRequest}, {strings.Repeat(" ", 100), http.StatusBadRequest}, {" {}\n", http.StatusOK},
	} {
		if res, body := r.PostUpload(t, path, tt.body); res.StatusCode != tt.status {
			t.Errorf("body %q: got %d %s, want %d", tt.body, res.StatusCode, body, tt.status)
		}
	}
}

func TestCancelJob(t *testing.T) {
	t.Parallel()
	gatewaytest.EachControl(t, func(t *testing.T, r *gatewaytest.Gateway, a gatewaytest.API, c gatewaytest.Control) {
		v, err := a.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF-1.7"), Filename: "a.pdf"})
		gatewaytest.CheckError(t, err, "")
		r.PutBlob(job.RasterKey(job.DefaultTenant, job.ID(v.GetId()), 1, 1), "raster")
		for range 2 {
			v, err = c.Cancel(t.Context(), v.GetId())
			gatewaytest.CheckError(t, err, "")
			if v.GetState() != inkstreamv1.Job_CANCELLED || v.GetEndTime() == nil || v.GetError() != nil {
				t.Errorf("got %v, want CANCELLED", v)
			}
		}
		if n := r.Queued(bus.Ingest); n != 0 {
			t.Errorf("%d tasks are queued, want none", n)
		}
		for _, key := range r.BlobKeys() {
			if strings.Contains(key, "/tmp/") {
				t.Errorf("left behind: %s", key)
			}
		}
		if got, want := gatewaytest.EventTypes(t, c, job.ID(v.GetId())), "uploaded cancelled ended"; got != want {
			t.Errorf("events %q, want %q", got, want)
		}
		_, err = c.Cancel(t.Context(), string(r.NewEndedJob(nil).ID))
		gatewaytest.CheckError(t, err, apierror.JobEnded)
		for _, id := range []string{"x", string(gatewaytest.UnknownJob)} {
			_, err = c.Cancel(t.Context(), id)
			gatewaytest.CheckError(t, err, fault.JobNotFound)
		}
	})
}

func TestRetryJob(t *testing.T) {
	t.Parallel()
	partial := func(rec *job.Record) error {
		rec.Outcomes, rec.ResultRun = map[string]int{outcome.Native: 4, outcome.Failed: 1}, 1
		return rec.Transition(job.Partial, gatewaytest.When.Add(time.Minute))
	}
	doubtful := func(rec *job.Record) error {
		rec.DoubtfulPages = "2,4-5"
		return rec.Transition(job.Succeeded, gatewaytest.When)
	}
	gatewaytest.EachControl(t, func(t *testing.T, r *gatewaytest.Gateway, a gatewaytest.API, c gatewaytest.Control) {
		for _, tt := range []struct {
			name  string
			make  func(*job.Record)
			end   func(*job.Record) error
			all   bool
			doubt bool
			want  fault.Code
			state inkstreamv1.Job_State
			stage bus.Stage
		}{
			{name: "partial", make: gatewaytest.SetRunning, end: partial, state: inkstreamv1.Job_RUNNING,
				stage: bus.Scan},
			{name: "partial, all of it", make: gatewaytest.SetRunning, end: partial, all: true,
				state: inkstreamv1.Job_RUNNING, stage: bus.Scan},
			{name: "failed", make: gatewaytest.SetRunning,
				end: gatewaytest.SetFailed(job.Failed, fault.DocumentTimeout), state: inkstreamv1.Job_RUNNING,
				stage: bus.Scan},
			{name: "failed before it was opened", end: gatewaytest.SetFailed(job.Failed, fault.RetriesSpent),
				state: inkstreamv1.Job_PENDING, stage: bus.Ingest},
			{name: "cancelled", make: gatewaytest.SetRunning,
				end:   func(r *job.Record) error { return r.Transition(job.Cancelled, gatewaytest.When) },
				state: inkstreamv1.Job_RUNNING, stage: bus.Scan},
			{name: "succeeded", make: gatewaytest.SetRunning,
				end:  func(r *job.Record) error { return r.Transition(job.Succeeded, gatewaytest.When) },
				want: apierror.JobNotRetryable},
			{name: "succeeded, all of it", make: gatewaytest.SetRunning,
				end: func(r *job.Record) error { return r.Transition(job.Succeeded, gatewaytest.When) }, all: true,
				state: inkstreamv1.Job_RUNNING, stage: bus.Scan},
			{name: "succeeded with doubts", make: gatewaytest.SetRunning, end: doubtful, doubt: true,
				state: inkstreamv1.Job_RUNNING, stage: bus.Scan},
			{name: "succeeded without doubts", make: gatewaytest.SetRunning,
				end:   func(r *job.Record) error { return r.Transition(job.Succeeded, gatewaytest.When) },
				doubt: true, want: apierror.JobNotRetryable},
			{name: "all and doubts", make: gatewaytest.SetRunning, end: doubtful, all: true, doubt: true,
				want: fault.InvalidArgument},
			{name: "rejected", end: gatewaytest.SetFailed(job.Rejected, fault.Encrypted), all: true,
				want: apierror.JobNotRetryable},
			{name: "running", make: gatewaytest.SetRunning, end: func(*job.Record) error { return nil }, all: true,
				want: apierror.JobRunning},
			{name: "expired", make: gatewaytest.SetRunning, end: func(r *job.Record) error {
				return errors.Join(r.Transition(job.Succeeded, gatewaytest.When), r.Transition(job.Expired, gatewaytest.When))
			}, all: true, want: apierror.JobExpired, state: 0, stage: ""},
		} {
			rec := r.NewJob(tt.make)
			r.Update(rec, tt.end)
			before := uint64(0)
			if tt.stage != "" {
				before = r.Queued(tt.stage)
			}
			v, err := c.Retry(t.Context(), &inkstreamv1.RetryJobRequest{Id: string(rec.ID), All: tt.all, Doubts: tt.doubt})
			gatewaytest.CheckError(t, err, tt.want)
			if tt.want != "" {
				continue
			}
			if v.GetState() != tt.state || v.GetRun() != 2 || v.GetEndTime() != nil || v.GetError() != nil ||
				len(v.GetFailures()) > 0 || v.GetDoubtfulPages() != "" {
				t.Errorf("%s: got %v, want run 2 %s", tt.name, v, tt.state)
			}
			if got := r.Queued(tt.stage); got != before+1 {
				t.Errorf("%s: %d tasks at %s, want %d", tt.name, got, tt.stage, before+1)
			}
			want := "ended retried" // the end event comes first, in case it was not published before
			if tt.name == "cancelled" {
				want = "cancelled " + want
			}
			if got := gatewaytest.EventTypes(t, c, rec.ID); got != want {
				t.Errorf("%s: events %q, want %q", tt.name, got, want)
			}
		}
		_, err := c.Retry(t.Context(), &inkstreamv1.RetryJobRequest{Id: string(gatewaytest.UnknownJob)})
		gatewaytest.CheckError(t, err, fault.JobNotFound)
	})
}

func TestResultsOfTheLastRunAnswerDuringARetry(t *testing.T) {
	t.Parallel()
	gatewaytest.EachControl(t, func(t *testing.T, r *gatewaytest.Gateway, a gatewaytest.API, c gatewaytest.Control) {
		rec := r.NewJob(gatewaytest.SetRunning)
		p := r.ProgressOf(rec)
		if _, err := p.SetOutcomes([]job.Outcome{{Page: 4, Kind: outcome.Blank},
			{Page: 5, Kind: outcome.Blank}}); err != nil {
			t.Fatal(err)
		}
		r.PutBlob(job.ArtifactKey(rec.Tenant, rec.ID, 1, "text.txt"), "old")
		for n := 1; n <= 5; n++ {
			r.PutBlob(job.PageKey(rec.Tenant, rec.ID, 1, n), fmt.Sprintf(`{"number":%d,"text":"old"}`, n))
		}
		r.Update(rec, func(rec *job.Record) error { return rec.FinishRun(p, gatewaytest.When.Add(time.Minute)) })
		_, err := c.Retry(t.Context(), &inkstreamv1.RetryJobRequest{Id: string(rec.ID)})
		gatewaytest.CheckError(t, err, "")
		r.PutBlob(job.PageKey(rec.Tenant, rec.ID, 2, 2), `{"number":2,"text":"new"}`)
		wantText := func(want string) {
			t.Helper()
			data, _, err := a.Download(t.Context(), string(rec.ID), "text.txt")
			gatewaytest.CheckError(t, err, "")
			list, err := a.Artifacts(t.Context(), string(rec.ID))
			gatewaytest.CheckError(t, err, "")
			if string(data) != want || len(list) != 1 {
				t.Errorf("got %q and artifacts %v, want %q", data, list, want)
			}
		}
		wantText("old")
		for n, want := range map[int]string{1: "old", 2: "new", 5: "old"} {
			page, err := a.Page(t.Context(), string(rec.ID), n)
			gatewaytest.CheckError(t, err, "")
			if page.GetText() != want {
				t.Errorf("page %d: got %q, want %q", n, page.GetText(), want)
			}
		}
		// A run that came to nothing replaces nothing.
		_, err = c.Cancel(t.Context(), string(rec.ID))
		gatewaytest.CheckError(t, err, "")
		wantText("old")
		_, err = c.Retry(t.Context(), &inkstreamv1.RetryJobRequest{Id: string(rec.ID)})
		gatewaytest.CheckError(t, err, "")
		p.Run, p.Pages, p.Failed = 3, "noobb", nil
		r.PutBlob(job.ArtifactKey(rec.Tenant, rec.ID, 3, "text.txt"), "new")
		r.Update(rec, func(rec *job.Record) error { return rec.FinishRun(p, gatewaytest.When.Add(time.Hour)) })
		wantText("new")
		v, err := a.Job(t.Context(), string(rec.ID))
		gatewaytest.CheckError(t, err, "")
		if v.GetState() != inkstreamv1.Job_SUCCEEDED || v.GetRun() != 3 || v.GetResultRun() != 3 {
			t.Errorf("got %v, want SUCCEEDED by run 3", v)
		}
	})
}

func TestDeletedJobsAnswerGone(t *testing.T) {
	t.Parallel()
	gatewaytest.EachControl(t, func(t *testing.T, r *gatewaytest.Gateway, a gatewaytest.API, c gatewaytest.Control) {
		v, err := a.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF-1.7"), Filename: "a.pdf"})
		gatewaytest.CheckError(t, err, "")
		gatewaytest.CheckError(t, c.Remove(t.Context(), v.GetId()), "")
		for name, call := range map[string]func() error{
			"get":       func() error { _, err := a.Job(t.Context(), v.GetId()); return err },
			"watch":     func() error { return a.Watch(t.Context(), v.GetId(), func(*inkstreamv1.Job) bool { return true }) },
			"page":      func() error { _, err := a.Page(t.Context(), v.GetId(), 1); return err },
			"artifacts": func() error { _, err := a.Artifacts(t.Context(), v.GetId()); return err },
			"download":  func() error { _, _, err := a.Download(t.Context(), v.GetId(), "text.txt"); return err },
			"cancel":    func() error { _, err := c.Cancel(t.Context(), v.GetId()); return err },
			"retry": func() error {
				_, err := c.Retry(t.Context(), &inkstreamv1.RetryJobRequest{Id: v.GetId(), All: true})
				return err
			},
			"delete": func() error { return c.Remove(t.Context(), v.GetId()) },
		} {
			t.Run(name, func(t *testing.T) { gatewaytest.CheckError(t, call(), apierror.JobDeleted) })
		}
		if got, want := gatewaytest.EventTypes(t, c, job.ID(v.GetId())), "uploaded cancelled deleted"; got != want {
			t.Errorf("events %q, want %q", got, want)
		}
		if in, out := r.Queued(bus.Ingest), r.Queued(bus.Index); in != 0 || out != 1 {
			t.Errorf("%d tasks at ingest, %d at index, want none and the removal", in, out)
		}
		gatewaytest.CheckError(t, c.Remove(t.Context(), string(gatewaytest.UnknownJob)), fault.JobNotFound)
	})
}

func TestEventsAreListedInOrderByPages(t *testing.T) {
	t.Parallel()
	gatewaytest.EachControl(t, func(t *testing.T, r *gatewaytest.Gateway, _ gatewaytest.API, c gatewaytest.Control) {
		rec := r.NewJob(gatewaytest.SetRunning)
		var want []string
		for n := range 7 {
			for _, of := range []*job.Record{rec, r.NewJob(gatewaytest.SetRunning)} { // the other jobs' events lie between
				e := jobs.NewEvent(of, "page_failed", "index")
				e.Page, e.Code = int32(n+1), string(fault.PageTimeout)
				if err := r.Deps.Bus.PublishEvent(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			want = append(want, fmt.Sprintf("page_failed %d PAGE_TIMEOUT", n+1))
		}
		var got []string
		token := ""
		for calls := 1; ; calls++ {
			res, err := c.Events(t.Context(), string(rec.ID), 3, token)
			gatewaytest.CheckError(t, err, "")
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
			{gatewaytest.UnknownJob, 0, "", fault.JobNotFound},
			{r.NewJob(nil).ID, 5000, "", ""},
		} {
			_, err := c.Events(t.Context(), string(tt.id), tt.size, tt.token)
			gatewaytest.CheckError(t, err, tt.want)
		}
		res, err := c.Events(t.Context(), string(rec.ID), 0, "18446744073709551615") // behind the last one that there can be
		if gatewaytest.CheckError(t, err, ""); len(res.GetEvents()) > 0 {
			t.Errorf("behind the end: got %v", res)
		}
	})
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	gatewaytest.EachControl(t, func(t *testing.T, r *gatewaytest.Gateway, _ gatewaytest.API, c gatewaytest.Control) {
		rec := r.NewJob(gatewaytest.SetRunning)
		first, second := r.DeadLetter(rec, job.DefaultTenant), r.DeadLetter(rec, job.DefaultTenant)
		foreign := r.DeadLetter(rec, "other")
		third := r.DeadLetter(rec, job.DefaultTenant)
		var got []string
		for token := ""; ; {
			res, err := c.Letters(t.Context(), 2, token)
			gatewaytest.CheckError(t, err, "")
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
		l, err := c.Letter(t.Context(), first)
		gatewaytest.CheckError(t, err, "")
		have := strings.Join([]string{
			l.GetStage(), l.GetClass(), l.GetCode(), l.GetError(), strconv.Itoa(int(l.GetRun())),
			strconv.Itoa(int(l.GetAttempts())), l.GetTraceId(),
		}, "|")
		if want := "render|transient|INTERNAL|internal error|1|8|0af7651916cd43dd8448eb211c80319c"; have != want {
			t.Errorf("got %s, want %s", have, want)
		}
		if l.GetJob() != string(rec.ID) || !l.GetTime().AsTime().Equal(gatewaytest.When) || l.GetMessageId() == "" ||
			!strings.Contains(l.GetPayload(), `"lastPage"`) {
			t.Errorf("got %v", l)
		}
		// The job runs: the very task is queued again under another id.
		v, err := c.RetryLetter(t.Context(), first)
		gatewaytest.CheckError(t, err, "")
		if v.GetState() != inkstreamv1.Job_RUNNING || v.GetRun() != 1 || r.Queued(bus.Render) != 1 {
			t.Errorf("got %v and %d tasks, want run 1 with one", v, r.Queued(bus.Render))
		}
		stream, err := r.Deps.Bus.JetStream().Stream(t.Context(), bus.Render.StreamName())
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
		r.Update(rec, gatewaytest.SetFailed(job.Failed, fault.RetriesSpent))
		v, err = c.RetryLetter(t.Context(), second)
		gatewaytest.CheckError(t, err, "")
		if v.GetState() != inkstreamv1.Job_RUNNING || v.GetRun() != 2 || r.Queued(bus.Render) != 1 ||
			r.Queued(bus.Scan) != 1 {
			t.Errorf("got %v, want run 2", v)
		}
		gatewaytest.CheckError(t, c.DropLetter(t.Context(), third), "")
		for _, id := range []string{first, second, third, foreign, "0", "x", "-1", "99"} {
			_, err := c.Letter(t.Context(), id)
			gatewaytest.CheckError(t, err, apierror.DeadLetterNotFound)
			_, err = c.RetryLetter(t.Context(), id)
			gatewaytest.CheckError(t, err, apierror.DeadLetterNotFound)
			gatewaytest.CheckError(t, c.DropLetter(t.Context(), id), apierror.DeadLetterNotFound)
		}
		_, err = c.Letters(t.Context(), 0, "x")
		gatewaytest.CheckError(t, err, fault.InvalidArgument)
		rejected := r.NewJob(nil)
		r.Update(rejected, gatewaytest.SetFailed(job.Rejected, fault.NotAPDF))
		_, err = c.RetryLetter(t.Context(), r.DeadLetter(rejected, job.DefaultTenant))
		gatewaytest.CheckError(t, err, apierror.JobNotRetryable)
		gone := r.DeadLetter(rejected, job.DefaultTenant)
		gatewaytest.CheckError(t, c.Remove(t.Context(), string(rejected.ID)), "")
		_, err = c.RetryLetter(t.Context(), gone)
		gatewaytest.CheckError(t, err, apierror.JobDeleted)
	})
}
