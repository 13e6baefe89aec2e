package vision

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/fault"
)

// canaryReader reads the canary page, and writes its boxes on a scale and something about blank pages.
func canaryReader(t *testing.T, scaleX, scaleY float64, textOf func(string) string, blank string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, data, _ := bytes.Cut(body, []byte("base64,"))
		data, _, _ = bytes.Cut(data, []byte(`"`))
		raw, _ := base64.StdEncoding.DecodeString(string(data))
		picture, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Errorf("a request without a picture: %v", err)
			return
		}
		if grey, isGrey := picture.(*image.Gray); !isGrey || slices.Min(grey.Pix) > 128 {
			writeStream(w, blank, "stop")
			return
		}
		writeStream(w, textOf(WriteTrialPage(scaleX, scaleY)), "stop")
	}
}

func TestCanary(t *testing.T) {
	t.Parallel()
	same := func(s string) string { return s }
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		want    string // in what is wrong; empty if nothing is
		used    bool
	}{
		{"sound", canaryReader(t, 999, 999, same, ""), "", true},
		{"a scale that hardly differs", canaryReader(t, 1024, 1024, same, ""), "", true},
		{"a model that sees no pictures", canaryReader(t, 999, 999, func(string) string {
			return "I would be glad to convert the document, please send me the file that you would like to have converted."
		}, ""), "does not see pictures", false},
		{"boxes in pixels", canaryReader(t, canaryWidth, canaryHeight, same, ""), "count pixels", false},
		{"boxes of another family", canaryReader(t, 500, 500, same, ""), "count up to 500", false},
		{"tags that the server drops", canaryReader(t, 0, 0, same, ""), "no boxes", true},
		{"inventions", canaryReader(t, 999, 999, same, "All warfare is based on deception."), "invents 6 words", true},
		{"a poor reader", canaryReader(t, 999, 999, func(s string) string {
			return strings.NewReplacer("visitors", "trains", "passengers", "birds", "harbour", "meadow", "ferry", "horse",
				"Number 4752", "House 11").Replace(s)
		}, ""), "% of a clearly printed page", true},
		{"a wrong key", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "vision.key", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newBubbleEngine(t, handlerTransport{"only": tt.handler})
				defer startTrying(t, e)()
				err := e.CheckEndpoints(t.Context())
				if got := fmt.Sprint(err); (err == nil) != (tt.want == "") || !strings.Contains(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if used := e.CheckReady(t.Context()) == nil; used != tt.used {
					t.Errorf("used: got %v, want %v", used, tt.used)
				}
				_, err = e.RecognisePage(t.Context(), newNumberedPage(t, 3), sent)
				if waits := fault.KindOf(err) == fault.Busy; err != nil && !waits || waits == tt.used {
					t.Errorf("a page: got %v, want it to wait: %v", err, !tt.used)
				}
			})
		})
	}
}

// An endpoint that loads its model at the start is tried again until it answers.
func TestCanaryIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var isUp atomic.Bool
		sound := canaryReader(t, 999, 999, func(s string) string { return s }, "")
		e := newBubbleEngine(t, handlerTransport{"only": func(w http.ResponseWriter, r *http.Request) {
			if !isUp.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			sound(w, r)
		}})
		defer startTrying(t, e)()
		if err := e.CheckEndpoints(t.Context()); err == nil || !strings.Contains(err.Error(), "status 503") {
			t.Errorf("while it loads: got %v, want its status", err)
		}
		isUp.Store(true)
		<-time.After(2 * canaryRetry)
		synctest.Wait()
		if err := e.CheckEndpoints(t.Context()); err != nil {
			t.Errorf("when it is up: got %v", err)
		}
		isUp.Store(false)
		<-time.After(canaryInterval)
		synctest.Wait()
		if err := e.CheckEndpoints(t.Context()); err != nil {
			t.Errorf("a proven endpoint that is away: got %v, want the pages to tell", err)
		}
	})
}

// startTrying starts Run, waits for its first round, and returns what stops it.
func startTrying(t *testing.T, e *Engine) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx, func() {}) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}
