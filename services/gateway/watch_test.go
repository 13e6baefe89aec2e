package gateway

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
)

func TestWatchFollowsJobToItsEnd(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	eachAPI(t, r, func(t *testing.T, a testAPI) {
		rec := r.newJob(nil)
		var seen []string
		err := a.watch(t.Context(), string(rec.ID), func(v *inkstreamv1.Job) bool {
			seen = append(seen, fmt.Sprintf("%s %d", v.GetState(), v.GetPagesDone()))
			switch len(seen) {
			case 1:
				r.update(rec, func(rec *job.Record) error { setRunning(rec); return nil })
			case 2:
				rec.PageCount = 5
				r.progressOf(rec)
			case 3:
				r.update(rec, setFailed(job.Failed, fault.DocumentTimeout))
			}
			return true
		})
		checkError(t, err, "")
		if got, want := strings.Join(seen, ", "), "PENDING 0, RUNNING 0, RUNNING 3, FAILED 3"; got != want {
			t.Errorf("saw %s, want %s", got, want)
		}
		// A watch of a job that has ended says so and ends.
		n := 0
		err = a.watch(t.Context(), string(rec.ID),
			func(v *inkstreamv1.Job) bool { n++; return v.GetState() == inkstreamv1.Job_FAILED })
		if err != nil || n != 1 {
			t.Errorf("saw %d states (%v), want the last one", n, err)
		}
	})
	eventually(t, "no topic is left", func() bool {
		r.svc.hub.mu.Lock()
		defer r.svc.hub.mu.Unlock()
		return len(r.svc.hub.topics) == 0 && r.svc.hub.watchers == 0
	})
}

func TestWatchAsEvents(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(nil)
	r.update(rec, setFailed(job.Rejected, fault.NotAPDF))
	path := "/v1/jobs/" + string(rec.ID) + "/watch"
	res, body := r.get(t, path, map[string]string{"Accept": "text/html, text/event-stream;q=0.9"})
	if got := res.Header.Get("Content-Type"); got != eventStreamType {
		t.Errorf("got content type %q, want %q", got, eventStreamType)
	}
	if !strings.HasPrefix(body, "event: job\nid: end-1\ndata: {\"id\":") || !strings.HasSuffix(body, "}\n\n") {
		t.Errorf("got %q, want one event", body)
	}
	if res, _ := r.get(t, path, map[string]string{"Accept": eventStreamType,
		"Last-Event-ID": "end-1"}); res.StatusCode != 204 {
		t.Errorf("got %d for a browser that saw the end, want 204", res.StatusCode)
	}
	if res, _ := r.get(t, path+"?lastEventId=end-1", map[string]string{"Accept": eventStreamType}); res.StatusCode != 204 {
		t.Errorf("got %d for what imitates a browser that saw the end, want 204", res.StatusCode)
	}
	if res, body := r.get(t, path, map[string]string{"Accept": eventStreamType,
		"Last-Event-ID": "end-2"}); res.StatusCode != 200 || body == "" {
		t.Errorf("got %d, %q for a browser that saw the end of another run, want the end of this one", res.StatusCode, body)
	}
	if res, _ := r.get(t, path, nil); res.Header.Get("Content-Type") != ndjsonType {
		t.Errorf("got content type %q, want %q", res.Header.Get("Content-Type"), ndjsonType)
	}
}

func TestSlowWatcherDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(setRunning)
	// One watcher stops reading after the first state: its pipe is full until the end.
	slow, err := r.rpc.WatchJob(t.Context(), &inkstreamv1.WatchJobRequest{Id: string(rec.ID)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Recv(); err != nil {
		t.Fatal(err)
	}
	stuck, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // and one that is stuck inside the server
		_ = r.svc.hub.watchJob(t.Context(), jobRef{rec.Tenant, rec.ID}, func(*view) error {
			select {
			case stuck <- struct{}{}:
			case <-release:
			}
			<-release
			return nil
		}, 0, nil)
	})
	<-stuck
	const states = 8
	quick := make([]int, 3)
	for i := range quick {
		wg.Go(func() {
			err := restAPI{r, false, ""}.watch(t.Context(), string(rec.ID),
				func(*inkstreamv1.Job) bool { quick[i]++; return true })
			checkError(t, err, "")
		})
	}
	eventually(t, "all watch", func() bool {
		r.svc.hub.mu.Lock()
		defer r.svc.hub.mu.Unlock()
		return r.svc.hub.watchers == 5 && len(r.svc.hub.topics) == 1
	})
	for i := range states {
		r.update(rec, func(rec *job.Record) error {
			rec.Document.Title = strings.Repeat("x", 1000) + fmt.Sprint(i)
			return nil
		})
	}
	r.update(rec, setFailed(job.Failed, fault.DocumentTimeout))
	eventually(t, "the quick ones have seen the end", func() bool {
		r.svc.hub.mu.Lock()
		defer r.svc.hub.mu.Unlock()
		return r.svc.hub.watchers <= 2
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
	r := startGateway(t, nil)
	rec := r.newJob(setRunning)
	began, seen := time.Now(), 0
	go func() {
		for i := range 300 {
			if _, err := r.deps.Jobs.UpdateRecord(t.Context(), rec.Tenant, rec.ID, func(rec *job.Record) error {
				rec.Document.Title = fmt.Sprint(i)
				if i == 299 {
					return setFailed(job.Failed, fault.DocumentTimeout)(rec)
				}
				return nil
			}); err != nil {
				return
			}
		}
	}()
	err := rpcAPI{r.rpc}.watch(t.Context(), string(rec.ID), func(*inkstreamv1.Job) bool { seen++; return true })
	checkError(t, err, "")
	if most := int(time.Since(began)/minWatchInterval) + 2; seen > most {
		t.Errorf("saw %d states in %s, want at most %d", seen, time.Since(began), most)
	}
}

func TestWatchEndsWhenServiceStops(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newJob(setRunning)
	var wg sync.WaitGroup
	var begun sync.WaitGroup
	for _, a := range []testAPI{rpcAPI{r.rpc}, restAPI{r, false, ""}, restAPI{r, false, eventStreamType}} {
		begun.Add(1)
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := a.watch(ctx, string(rec.ID), func(*inkstreamv1.Job) bool { begun.Done(); return true })
			checkError(t, err, shuttingDown)
		})
	}
	begun.Wait()
	start := time.Now()
	if err := r.stop(); err != nil {
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
	r := startGateway(t, nil)
	rec := r.newJob(nil)
	watch := func(last string) (*http.Response, *bufio.Scanner) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+"/v1/jobs/"+string(rec.ID)+"/watch", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", eventStreamType)
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		res, err := r.web.Do(req)
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
	res, lines := watch("")
	last := next(lines, "id: ", "")
	res.Body.Close()
	res, lines = watch(last)
	defer res.Body.Close()
	next(lines, ": nothing new", "data:")
	r.update(rec, func(rec *job.Record) error { setRunning(rec); return nil })
	if id := next(lines, "id: ", ""); id == last || strings.HasPrefix(id, endEventPrefix) {
		t.Errorf("the next event has the id %q, want one of its own", id)
	}
	if data := next(lines, "data: ", ""); !strings.Contains(data, `"RUNNING"`) {
		t.Errorf("got %s", data)
	}
	stale, lines := watch(last)
	defer stale.Body.Close()
	if data := next(lines, "data: ", ": nothing"); !strings.Contains(data, `"RUNNING"`) {
		t.Errorf("got %s for a client that missed a change", data)
	}
}

// However many watch, the broker sees one consumer of the jobs' bucket.
func TestWatchesShareASubscription(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	consumers := func() int {
		t.Helper()
		stream, err := r.deps.Bus.JetStream().Stream(t.Context(), "KV_"+bus.JobBucket)
		if err != nil {
			t.Fatal(err)
		}
		return stream.CachedInfo().State.Consumers
	}
	eventually(t, "the gateway follows the bucket", func() bool { return consumers() > 0 })
	before := consumers()
	ctx, cancel := context.WithCancel(t.Context())
	var open, over sync.WaitGroup
	for i := range 100 {
		rec := r.newJob(nil)
		open.Add(1)
		over.Go(func() {
			first := sync.OnceFunc(open.Done)
			defer first()
			// The error is that of the end.
			_ = []testAPI{rpcAPI{r.rpc}, restAPI{r, false, eventStreamType}}[i%2].watch(ctx, string(rec.ID),
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
	r := startGateway(t, nil)
	rec := r.newJob(nil)
	r.update(rec, setFailed(job.Failed, fault.Internal))
	path := "/v1/jobs/" + string(rec.ID)
	headers := map[string]string{"Accept": eventStreamType, "Last-Event-ID": "end-1"}
	if res, _ := r.get(t, path+"/watch", headers); res.StatusCode != http.StatusNoContent {
		t.Fatalf("got %d for a browser that saw the end, want 204", res.StatusCode)
	}
	if _, err := r.deps.JobService().RetryJob(t.Context(), rec.Tenant, rec.ID, true); err != nil {
		t.Fatal(err)
	}
	r.update(rec, setFailed(job.Failed, fault.Internal))
	res, body := r.get(t, path+"/watch", headers)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "id: end-2\n") {
		t.Errorf("got %d, %q for a browser that saw the first run's end, want the second's", res.StatusCode, body)
	}
}
