package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/lifecycle"
)

// fetchReport asks /readyz.
func fetchReport(t *testing.T, s *lifecycle.Status) (int, lifecycle.Report) {
	t.Helper()
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	var report lifecycle.Report
	if err := json.Unmarshal(rec.Body.Bytes(), &report); err != nil {
		t.Fatalf("GET /readyz: %v in %q", err, rec.Body.String())
	}
	return rec.Code, report
}

func TestStatusFollowsUnits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d eventLog
		s := lifecycle.NewStatus()
		if code, _ := fetchReport(t, s); code != http.StatusServiceUnavailable {
			t.Errorf("without units: got status %d, want 503", code)
		}
		units := s.TrackUnits(d.unit("bus"), d.unit("gateway"))
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		var running sync.WaitGroup
		running.Go(func() {
			if err := lifecycle.Run(ctx, discard, units...); err != nil {
				t.Errorf("Run: got error %v, want none", err)
			}
		})
		// The bus is ready after 1 s and the gateway after 2; at 4.5 s the gateway begins to stop, and a second later the
		// bus does.
		type phases = map[string]lifecycle.Phase
		for i, want := range []struct {
			code  int
			units phases
		}{
			{503, phases{"bus": lifecycle.Starting, "gateway": lifecycle.Waiting}},
			{503, phases{"bus": lifecycle.Ready, "gateway": lifecycle.Starting}},
			{200, phases{"bus": lifecycle.Ready, "gateway": lifecycle.Ready}},
			{200, phases{"bus": lifecycle.Ready, "gateway": lifecycle.Ready}},
			{503, phases{"bus": lifecycle.Ready, "gateway": lifecycle.Stopping}},
			{503, phases{"bus": lifecycle.Stopping, "gateway": lifecycle.Stopped}},
			{503, phases{"bus": lifecycle.Stopped, "gateway": lifecycle.Stopped}},
		} {
			<-time.After(700 * time.Millisecond)
			synctest.Wait()
			code, got := fetchReport(t, s)
			if code != want.code || got.Ready != (want.code == 200) || !maps.Equal(got.Units, want.units) {
				t.Errorf("probe %d: got %d %+v, want %d %v", i, code, got, want.code, want.units)
			}
			<-time.After(300 * time.Millisecond)
		}
		running.Wait()
	})
}

func TestStatusAsksDependencies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := lifecycle.NewStatus()
		var mu sync.Mutex // guards observed
		observed := map[string]bool{}
		s.Observe = func(_ context.Context, name string, up bool) {
			mu.Lock()
			defer mu.Unlock()
			observed[name] = up
		}
		s.SetReportInfo("durability", "sync-always")
		var asked atomic.Int32
		var down atomic.Bool
		s.AddCheck("nats", func(context.Context) error {
			asked.Add(1)
			if down.Load() {
				return errBoom
			}
			return nil
		})
		units := s.TrackUnits(lifecycle.Unit{Name: "gateway", Run: func(ctx context.Context, ready func()) error {
			ready()
			<-ctx.Done()
			return nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = lifecycle.Run(ctx, discard, units...) })
		defer running.Wait()
		defer cancel()
		synctest.Wait()

		for range 3 {
			code, got := fetchReport(t, s)
			if code != http.StatusOK || !got.Ready || !got.Checks["nats"].Up || got.Info["durability"] != "sync-always" {
				t.Errorf("all up: got %d %+v, want 200, ready", code, got)
			}
		}
		if got := asked.Load(); got != 1 {
			t.Errorf("three probes at once: asked %d times, want 1", got)
		}

		down.Store(true)
		// One that does not answer is given up; the other answers are not lost.
		s.AddCheck("clamd", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		<-time.After(2 * time.Second)
		began := time.Now()
		code, got := fetchReport(t, s)
		if code != http.StatusServiceUnavailable || got.Ready || got.Checks["nats"].Error != "boom" ||
			got.Checks["clamd"].Up {
			t.Errorf("nats and clamd away: got %d %+v, want 503, not ready", code, got)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("probe took %v, want 2s", took)
		}
		if want := map[string]bool{"nats": false, "clamd": false}; !maps.Equal(observed, want) {
			t.Errorf("observed: got %v, want %v", observed, want)
		}
		if !s.IsUnitReady("gateway") || s.IsUnitReady("index") {
			t.Errorf("units: got gateway %v, index %v, want true, false", s.IsUnitReady("gateway"), s.IsUnitReady("index"))
		}
	})
}

// A dependency that the process can do without is shown as down, and the process is ready.
func TestStatusIsReadyWithoutWhatIsOptional(t *testing.T) {
	t.Parallel()
	s := lifecycle.NewStatus()
	var indexUp atomic.Bool
	indexUp.Store(true)
	s.Observe = func(_ context.Context, name string, up bool) {
		if name == "index" {
			indexUp.Store(up)
		}
	}
	s.AddCheck("nats", func(context.Context) error { return nil })
	s.AddOptionalCheck("index", func(context.Context) error { return errBoom })
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	unit := s.TrackUnits(lifecycle.Unit{Name: "gateway", Run: func(ctx context.Context, ready func()) error {
		ready()
		<-ctx.Done()
		return nil
	}})[0]
	var running sync.WaitGroup
	running.Go(func() { _ = unit.Run(ctx, func() { close(ready) }) })
	defer running.Wait()
	defer cancel()
	<-ready
	code, got := fetchReport(t, s)
	index := got.Checks["index"]
	if code != http.StatusOK || !got.Ready || index.Up || !index.Optional || index.Error != "boom" ||
		got.Checks["nats"].Optional {
		t.Errorf("without the index: got %d %+v, want 200, ready, and the index down", code, got)
	}
	if indexUp.Load() {
		t.Error("observed: the index is up, want down")
	}
}

// A dependency that failed once or twice may only have been slow; one that failed three times is away until it answers,
// or until its check is no longer run.
func TestDependencyErrorNeedsRepeatedFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := lifecycle.NewStatus()
		var down atomic.Bool
		s.AddCheck("blobs", func(context.Context) error {
			if down.Load() {
				return errBoom
			}
			return nil
		})
		s.AddCheck("index", func(context.Context) error { return errBoom })
		check := func(want error) {
			t.Helper()
			<-time.After(2 * time.Second)
			s.BuildReport(t.Context())
			if got := s.DependencyError("blobs"); !errors.Is(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if got := s.DependencyError("nats"); got != nil {
				t.Errorf("a dependency without a check: got %v, want nil", got)
			}
		}
		check(nil)
		down.Store(true)
		check(nil)
		check(nil)
		check(errBoom)
		check(errBoom)
		down.Store(false)
		check(nil)
		down.Store(true)
		check(nil)
		check(nil)
		check(errBoom)
		<-time.After(time.Minute)
		if got := s.DependencyError("blobs"); got != nil {
			t.Errorf("long after the last check: got %v, want nil", got)
		}
	})
}

// A check that does not end with its context, as a sync of a disk that hangs, counts as failed within the bound, and is
// not called again before it ends.
func TestHungCheckCountsAsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := lifecycle.NewStatus()
		hang := make(chan struct{})
		var calls atomic.Int32
		s.AddCheck("blobs", func(context.Context) error {
			calls.Add(1)
			<-hang
			return nil
		})
		s.AddCheck("nats", func(context.Context) error { return nil })
		for range 5 {
			began := time.Now()
			code, got := fetchReport(t, s)
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("the probe took %v, want at most 3s", took)
			}
			if code != http.StatusServiceUnavailable || got.Checks["blobs"].Up || got.Checks["blobs"].Error == "" ||
				!got.Checks["nats"].Up {
				t.Errorf("while it hangs: got %d %+v, want 503, and only the blobs down", code, got)
			}
			<-time.After(2 * time.Second)
		}
		if got := calls.Load(); got != 1 {
			t.Errorf("it was called %d times while it hung, want 1", got)
		}
		if s.DependencyError("blobs") == nil || s.DependencyError("nats") != nil {
			t.Errorf("got blobs %v, nats %v, want only the blobs away", s.DependencyError("blobs"), s.DependencyError("nats"))
		}
		close(hang)
		synctest.Wait()
		if _, got := fetchReport(t, s); !got.Checks["blobs"].Up || calls.Load() != 2 {
			t.Errorf("when it answers again: got %+v after %d calls, want it up after 2", got.Checks["blobs"], calls.Load())
		}
	})
}

// The end of a process does not wait for a check that hangs.
func TestWatchEndsWhileACheckHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := lifecycle.NewStatus()
		hang := make(chan struct{})
		defer close(hang)
		s.AddCheck("blobs", func(context.Context) error { <-hang; return nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := s.WatchChecks(ctx, func() {}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v, want at most 3s", took)
		}
	})
}
