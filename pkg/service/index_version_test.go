package service

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/lifecycle"
)

// fakeIndex is an index service that answers with a version, or not at all.
type fakeIndex struct {
	version atomic.Pointer[string]
}

func (f *fakeIndex) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	version := f.version.Load()
	if version == nil {
		return nil, fmt.Errorf("no such host")
	}
	rec.WriteHeader(http.StatusServiceUnavailable) // it need not be ready
	fmt.Fprintf(rec, `{"ready": false, "units": {}, "info": {"version": %q}}`, *version)
	return rec.Result(), nil
}

// TestAwaitIndex runs on a fake clock: an update takes as long as it takes.
func TestAwaitIndex(t *testing.T) {
	newer, older, none := Version, "0.0.1", ""
	for _, tt := range []struct {
		name   string
		first  *string
		then   *string // what answers from the tenth minute on
		passed time.Duration
	}{
		{"of this version", &newer, &newer, 0},
		{"older, then replaced", &older, &newer, 10 * time.Minute},
		{"too old to tell, then replaced", &none, &newer, 10 * time.Minute},
		{"older, then gone", &older, nil, 10*time.Minute + maxAwaitSilence},
		{"nobody there", nil, nil, maxAwaitSilence},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeIndex{}
				f.version.Store(tt.first)
				status, began := lifecycle.NewStatus(), time.Now()
				time.AfterFunc(10*time.Minute, func() { f.version.Store(tt.then) })
				client := &http.Client{Transport: f}
				done := make(chan error, 1)
				go func() {
					done <- awaitIndex(t.Context(), client, "http://index/readyz", status, slog.New(slog.DiscardHandler))
				}()
				if tt.passed > 0 {
					synctest.Wait()
					if status.BuildReport(t.Context()).Checks["update"].Up {
						t.Error("/readyz does not say that it waits")
					}
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				// A question of the tenth minute may come just before the change or just after it.
				if took := time.Since(began); took < tt.passed-awaitInterval || took > tt.passed+2*awaitInterval {
					t.Errorf("waited %s, want %s", took, tt.passed)
				}
				if d := status.BuildReport(t.Context()).Checks["update"]; !d.Up && time.Since(began) > time.Minute {
					t.Errorf("/readyz says still: %s", d.Error)
				}
			})
		})
	}
}
