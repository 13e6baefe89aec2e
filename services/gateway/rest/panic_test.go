package rest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/rest"
)

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	var workers sync.WaitGroup
	shell := rest.New(rest.Config{StallTimeout: time.Minute, Limits: r.Service.Components().Limits}, gate.New(nil, true, false, r.Service.Components().Limits.Rates()),
		apierror.NewReporter(r.Deps.Log), r.Deps.Tel, r.Deps.Log, &workers)
	h := shell.NewServer(t.Context(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("ouch") })).Handler
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/", nil))
	res := w.Result()
	gatewaytest.CheckError(t, gatewaytest.ErrorOf(res), fault.Internal)
	if !strings.Contains(r.Logs.String(), "panic_test.go") {
		t.Error("the log has no stack of the panic")
	}
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // recover gives back the very value, of any type
			t.Errorf("got panic %v, want http.ErrAbortHandler once an answer is under way", v)
		}
	}()
	h = shell.NewServer(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("ouch")
	})).Handler
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/", nil))
}
