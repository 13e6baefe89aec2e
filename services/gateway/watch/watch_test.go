package watch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/rest"
	"inkstream.dev/services/gateway/watch"
)

func TestWatchFollowsJobToItsEnd(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		rec := r.NewJob(nil)
		var seen []string
		err := a.Watch(t.Context(), string(rec.ID), func(v *inkstreamv1.Job) bool {
			seen = append(seen, fmt.Sprintf("%s %d", v.GetState(), v.GetPagesDone()))
			switch len(seen) {
			case 1:
				r.Update(rec, func(rec *job.Record) error { gatewaytest.SetRunning(rec); return nil })
			case 2:
				rec.PageCount = 5
				r.ProgressOf(rec)
			case 3:
				r.Update(rec, gatewaytest.SetFailed(job.Failed, fault.DocumentTimeout))
			}
			return true
		})
		gatewaytest.CheckError(t, err, "")
		if got, want := strings.Join(seen, ", "), "PENDING 0, RUNNING 0, RUNNING 3, FAILED 3"; got != want {
			t.Errorf("saw %s, want %s", got, want)
		}
		// A watch of a job that has ended says so and ends.
		n := 0
		err = a.Watch(t.Context(), string(rec.ID),
			func(v *inkstreamv1.Job) bool { n++; return v.GetState() == inkstreamv1.Job_FAILED })
		if err != nil || n != 1 {
			t.Errorf("saw %d states (%v), want the last one", n, err)
		}
	})
	gatewaytest.Eventually(t, "no topic is left", func() bool {
		topics, watchers := r.Service.Components().Watches.CountWatches()
		return topics == 0 && watchers == 0
	})
}

func TestWatchAsEvents(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(nil)
	r.Update(rec, gatewaytest.SetFailed(job.Rejected, fault.NotAPDF))
	path := "/v1/jobs/" + string(rec.ID) + "/watch"
	res, body := r.Get(t, path, map[string]string{"Accept": "text/html, text/event-stream;q=0.9"})
	if got := res.Header.Get("Content-Type"); got != rest.EventStreamType {
		t.Errorf("got content type %q, want %q", got, rest.EventStreamType)
	}
	if !strings.HasPrefix(body, "event: job\nid: end-1\ndata: {\"id\":") || !strings.HasSuffix(body, "}\n\n") {
		t.Errorf("got %q, want one event", body)
	}
	if res, _ := r.Get(t, path, map[string]string{"Accept": rest.EventStreamType,
		"Last-Event-ID": "end-1"}); res.StatusCode != 204 {
		t.Errorf("got %d for a browser that saw the end, want 204", res.StatusCode)
	}
	if res, _ := r.Get(t, path+"?lastEventId=end-1", map[string]string{"Accept": rest.EventStreamType}); res.StatusCode != 204 {
		t.Errorf("got %d for what imitates a browser that saw the end, want 204", res.StatusCode)
	}
	if res, body := r.Get(t, path, map[string]string{"Accept": rest.EventStreamType,
		"Last-Event-ID": "end-2"}); res.StatusCode != 200 || body == "" {
		t.Errorf("got %d, %q for a browser that saw the end of another run, want the end of this one", res.StatusCode, body)
	}
	if res, _ := r.Get(t, path, nil); res.Header.Get("Content-Type") != rest.NDJSONType {
		t.Errorf("got content type %q, want %q", res.Header.Get("Content-Type"), rest.NDJSONType)
	}
}

func TestSlowWatcherDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	// One watcher stops reading after the first state: its pipe is full until the end.
	slow, err := r.RPC.WatchJob(t.Context(), &inkstreamv1.WatchJobRequest{Id: string(rec.ID)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Recv(); err != nil {
		t.Fatal(err)
	}
	stuck, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // and one that is stuck inside the server
		_ = r.Service.Components().Watches.WatchStuck(t.Context(), jobview.Ref{Tenant: rec.Tenant, ID: rec.ID}, func() error {
			select {
			case stuck <- struct{}{}:
			case <-release:
			}
			<-release
			return nil
		})
	})
	<-stuck
	const states = 8
	quick := make([]int, 3)
	for i := range quick {
		wg.Go(func() {
			err := gatewaytest.RESTAPI{Gateway: r}.Watch(t.Context(), string(rec.ID),
				func(*inkstreamv1.Job) bool { quick[i]++; return true })
			gatewaytest.CheckError(t, err, "")
		})
	}
	gatewaytest.Eventually(t, "all watch", func() bool {
		topics, watchers := r.Service.Components().Watches.CountWatches()
		return watchers == 5 && topics == 1
	})
	for i := range states {
		r.Update(rec, func(rec *job.Record) error {
			rec.Document.Title = strings.Repeat("x", 1000) + fmt.Sprint(i)
			return nil
		})
	}
	r.Update(rec, gatewaytest.SetFailed(job.Failed, fault.DocumentTimeout))
	gatewaytest.Eventually(t, "the quick ones have seen the end", func() bool {
		_, watchers := r.Service.Components().Watches.CountWatches()
		return watchers <= 2
	})
	close(release)
	wg.Wait()
	for _, n := range quick {
		if n < 2 || n > states+2 {
			t.Errorf("a quick watcher saw %d states, want 2 to %d", n, states+2)
		}
	}
	var last *inkstreamv1.Job
	for {
		v, err := slow.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = v
	}
	if last.GetState() != inkstreamv1.Job_FAILED {
		t.Errorf("the slow watcher saw %s last, want FAILED", last.GetState())
	}
}

func TestManyChangesAreCoalesced(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	began, seen := time.Now(), 0
	go func() {
		for i := range 300 {
			if _, err := r.Deps.Jobs.UpdateRecord(t.Context(), rec.Tenant, rec.ID, func(rec *job.Record) error {
				rec.Document.Title = fmt.Sprint(i)
				if i == 299 {
					return gatewaytest.SetFailed(job.Failed, fault.DocumentTimeout)(rec)
				}
				return nil
			}); err != nil {
				return
			}
		}
	}()
	err := gatewaytest.RPCAPI{C: r.RPC}.Watch(t.Context(), string(rec.ID), func(*inkstreamv1.Job) bool { seen++; return true })
	gatewaytest.CheckError(t, err, "")
	if most := int(time.Since(began)/watch.MinWatchInterval) + 2; seen > most {
		t.Errorf("saw %d states in %s, want at most %d", seen, time.Since(began), most)
	}
}

func TestWatchEndsWhenServiceStops(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	var wg sync.WaitGroup
	var begun sync.WaitGroup
	for _, a := range []gatewaytest.API{gatewaytest.RPCAPI{C: r.RPC}, gatewaytest.RESTAPI{Gateway: r}, gatewaytest.RESTAPI{Gateway: r, Accept: rest.EventStreamType}} {
		begun.Add(1)
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := a.Watch(ctx, string(rec.ID), func(*inkstreamv1.Job) bool { begun.Done(); return true })
			gatewaytest.CheckError(t, err, apierror.ShuttingDown)
		})
	}
	begun.Wait()
	start := time.Now()
	if err := r.Stop(); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
	wg.Wait()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("stopping took %s with watchers", took)
	}
}

// A browser that connects again with the last event's id receives what is new since, and nothing else.
func TestWatchResumes(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(nil)
	follow := func(last string) (*http.Response, *bufio.Scanner) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.BaseURL+"/v1/jobs/"+string(rec.ID)+"/watch", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", rest.EventStreamType)
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		res, err := r.Web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res, bufio.NewScanner(res.Body)
	}
	// next returns the next line that begins so, and fails at one that begins otherwise.
	next := func(lines *bufio.Scanner, prefix, not string) string {
		t.Helper()
		for lines.Scan() {
			if not != "" && strings.HasPrefix(lines.Text(), not) {
				t.Fatalf("got %q before %q", lines.Text(), prefix)
			}
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return rest
			}
		}
		t.Fatalf("the stream ended before %q: %v", prefix, lines.Err())
		return ""
	}
	res, lines := follow("")
	last := next(lines, "id: ", "")
	res.Body.Close()
	res, lines = follow(last)
	defer res.Body.Close()
	next(lines, ": nothing new", "data:")
	r.Update(rec, func(rec *job.Record) error { gatewaytest.SetRunning(rec); return nil })
	if id := next(lines, "id: ", ""); id == last || strings.HasPrefix(id, watch.EndEventPrefix) {
		t.Errorf("the next event has the id %q, want one of its own", id)
	}
	if data := next(lines, "data: ", ""); !strings.Contains(data, `"RUNNING"`) {
		t.Errorf("got %s", data)
	}
	stale, lines := follow(last)
	defer stale.Body.Close()
	if data := next(lines, "data: ", ": nothing"); !strings.Contains(data, `"RUNNING"`) {
		t.Errorf("got %s for a client that missed a change", data)
	}
}

// However many watch, the broker sees one consumer of the jobs' bucket.
func TestWatchesShareASubscription(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	consumers := func() int {
		t.Helper()
		stream, err := r.Deps.Bus.JetStream().Stream(t.Context(), "KV_"+bus.JobBucket)
		if err != nil {
			t.Fatal(err)
		}
		return stream.CachedInfo().State.Consumers
	}
	gatewaytest.Eventually(t, "the gateway follows the bucket", func() bool { return consumers() > 0 })
	before := consumers()
	ctx, cancel := context.WithCancel(t.Context())
	var open, over sync.WaitGroup
	for i := range 100 {
		rec := r.NewJob(nil)
		open.Add(1)
		over.Go(func() {
			first := sync.OnceFunc(open.Done)
			defer first()
			// The error is that of the end.
			_ = []gatewaytest.API{gatewaytest.RPCAPI{C: r.RPC}, gatewaytest.RESTAPI{Gateway: r, Accept: rest.EventStreamType}}[i%2].Watch(ctx, string(rec.ID),
				func(*inkstreamv1.Job) bool {
					first()
					return true
				})
		})
	}
	open.Wait()
	if after := consumers(); after != before {
		t.Errorf("%d consumers with 100 watches, want the %d that there were", after, before)
	}
	cancel()
	over.Wait()
}

// A browser that saw a run's end, and connects again once the next run is under way, receives that run's events.
func TestWatchGoesOnInTheNextRun(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(nil)
	r.Update(rec, gatewaytest.SetFailed(job.Failed, fault.Internal))
	path := "/v1/jobs/" + string(rec.ID)
	headers := map[string]string{"Accept": rest.EventStreamType, "Last-Event-ID": "end-1"}
	if res, _ := r.Get(t, path+"/watch", headers); res.StatusCode != http.StatusNoContent {
		t.Fatalf("got %d for a browser that saw the end, want 204", res.StatusCode)
	}
	if _, err := r.Deps.JobService().RetryJob(t.Context(), rec.Tenant, rec.ID, job.ScopeAll); err != nil {
		t.Fatal(err)
	}
	r.Update(rec, gatewaytest.SetFailed(job.Failed, fault.Internal))
	res, body := r.Get(t, path+"/watch", headers)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "id: end-2\n") {
		t.Errorf("got %d, %q for a browser that saw the first run's end, want the second's", res.StatusCode, body)
	}
}
