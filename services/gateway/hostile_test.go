package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// The heads of a form's parts are held in memory; the documents are not.
func TestFormHoldsLittleBesideItsDocuments(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	form := func(head, document string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n" + head + "\r\n" + document +
			"\r\n--x--\r\n"
	}
	for _, tc := range []struct {
		name, body string
		want       int
	}{
		{"a large head", form("A: "+strings.Repeat("a", 2*maxMultipartOverhead)+"\r\n", "%PDF"), http.StatusBadRequest},
		{"a large document", form("", strings.Repeat("%PDF", maxMultipartOverhead/2)), http.StatusAccepted},
		{"a large end", form("", "%PDF") + strings.Repeat("a", 2*maxMultipartOverhead), http.StatusAccepted}, // never read
	} {
		if code, _, body := r.requestWithKey(http.MethodPost, "/v1/jobs", "", multipartType+"; boundary=x",
			tc.body); code != tc.want {
			t.Errorf("%s: got %d %s, want %d", tc.name, code, body, tc.want)
		}
	}
}

// Without credentials, any page open in a browser could otherwise control the server on the same machine.
func TestPagesOfOtherOriginsChangeNothing(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	path := "/v1/jobs/" + string(r.newJob(setRunning).ID)
	for _, tc := range []struct {
		method, path string
		head         map[string]string
		want         int
	}{
		{http.MethodPost, path + ":cancel", map[string]string{"Origin": "https://example.org"}, http.StatusForbidden},
		{http.MethodPost, path + ":cancel", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{http.MethodDelete, path, map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		{http.MethodGet, path, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusOK}, // its answer is not for the page to read
		{http.MethodPost, path + ":cancel", map[string]string{"Origin": r.base, "Sec-Fetch-Site": "same-origin"},
			http.StatusOK},
		{http.MethodDelete, path, nil, http.StatusOK}, // no browser
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, r.base+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range tc.head {
			req.Header.Set(name, value)
		}
		res, err := r.web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != tc.want {
			t.Errorf("%s %s with %v: got %d, want %d", tc.method, tc.path, tc.head, res.StatusCode, tc.want)
		}
	}
}

// A page whose name is made to resolve to this machine is of the same origin as the server. So without credentials
// the server has no name but its own.
func TestNamesThatResolveToThisMachine(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{"", AuthNone} {
		r := startGateway(t, func(s *fixtureOptions) { s.cfg.Access.Auth = auth })
		path := "/v1/jobs/" + string(r.newJob(setRunning).ID)
		for host, ours := range map[string]bool{
			"127.0.0.1:8080": true, "127.0.0.1": true, "[::1]:8080": true, "[::1]": true, "localhost:8080": true,
			"LocalHost": true, "ink.localhost:80": true,
			"10.0.0.1:8080": true, "evil.example:8080": false, "evil.example": false, "127.0.0.1.evil.example": false,
			"localhost.evil.example": false,
			"evillocalhost":          false,
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				at, want := path, http.StatusOK
				if method == http.MethodPost {
					at, want = path+":retry", http.StatusConflict // it runs
				}
				if !ours && auth == "" {
					want = http.StatusForbidden
				}
				req, err := http.NewRequestWithContext(t.Context(), method, r.base+at, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Host = host
				req.Header.Set("Sec-Fetch-Site", "same-origin")
				res, err := r.web.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != want {
					t.Errorf("auth %q: %s of host %s: got %d, want %d", auth, method, host, res.StatusCode, want)
				}
			}
		}
	}
}

// Drawn pages are held in memory while they are answered, so there are few of them however many clients read slowly.
func TestPageImageAnswersAreBounded(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	began, finish := make(chan struct{}, 2*maxImageAnswers), make(chan struct{})
	h := r.svc.limitImageAnswers(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		began <- struct{}{}
		<-finish
		_, _ = w.Write([]byte("png")) // to a recorder
	}))
	var asking sync.WaitGroup
	ask := func(ctx context.Context) {
		asking.Go(func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		})
	}
	for range maxImageAnswers {
		ask(t.Context())
	}
	for range maxImageAnswers {
		<-began
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil)) // who hangs up does not wait
	ask(t.Context())
	if n := len(began); n > 0 {
		t.Errorf("%d more than %d are in hand", n, maxImageAnswers)
	}
	close(finish)
	<-began
	asking.Wait()
}

// Who drips a drawn page loses the place.
func TestSlowPageImageReaderIsCut(t *testing.T) {
	t.Parallel()
	const late = 10
	for _, tt := range []struct {
		bytes int
		slow  bool
	}{{late*minBytesPerSecond - 1, true}, {2 * late * minBytesPerSecond, false}} {
		w := &throughputResponse{ResponseWriter: httptest.NewRecorder(),
			throughput: minThroughput{start: time.Now().Add(-throughputGrace - late*time.Second)}}
		if _, err := w.Write(make([]byte, tt.bytes)); (fault.CodeOf(err) == requestTimeout) != tt.slow {
			t.Errorf("%d bytes in %d s beyond the grace: got %v, want too slow: %t", tt.bytes, late, err, tt.slow)
		}
	}
}

// blockedStream is the stream of a client that takes nothing.
type blockedStream[T any] struct {
	grpc.ServerStreamingServer[T]
	ctx context.Context
}

func (d blockedStream[T]) Context() context.Context { return d.ctx }

func (d blockedStream[T]) Send(*T) error {
	<-d.ctx.Done()
	return d.ctx.Err()
}

func TestStalledStreamIsEnded(t *testing.T) {
	t.Parallel()
	r := startGateway(t, func(s *fixtureOptions) { s.cfg.StallTimeout = 20 * time.Millisecond })
	rec := r.newEndedJob(map[string]string{"text.txt": "text"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // as the end of the handler does
	for name, err := range map[string]error{
		"DownloadArtifact": r.svc.DownloadArtifact(&inkstreamv1.DownloadArtifactRequest{Id: string(rec.ID),
			Name: "text.txt"}, blockedStream[httpbody.HttpBody]{ctx: ctx}),
		"WatchJob": r.svc.WatchJob(&inkstreamv1.WatchJobRequest{Id: string(rec.ID)},
			blockedStream[inkstreamv1.Job]{ctx: ctx}),
	} {
		if fault.CodeOf(err) != requestTimeout {
			t.Errorf("%s: got %v, want %s", name, err, requestTimeout)
		}
	}
}

// Administrators of the default tenant run the server; those of another tenant have no say in the others.
func TestKeysForOtherTenants(t *testing.T) {
	t.Parallel()
	r, admin := startWithKeys(t, nil)
	_, acme := r.newKey(admin, `{"tenant":"acme","scopes":["admin"]}`)
	eachCaller(t, r, func(t *testing.T, call caller) {
		for tenant, want := range map[string]fault.Code{"": "", "acme": "", job.DefaultTenant: permissionDenied,
			"other": permissionDenied} {
			key := &inkstreamv1.Key{}
			err := call(t.Context(), acme, "CreateKey", &inkstreamv1.CreateKeyRequest{Tenant: tenant, Scopes: []string{"read"}},
				key)
			checkError(t, err, want)
			if err == nil && key.GetTenant() != "acme" {
				t.Errorf("tenant %q: got a key of %q, want acme", tenant, key.GetTenant())
			}
		}
	})
	if _, err := r.rpc.GetJob(withKey(t.Context(), acme),
		&inkstreamv1.GetJobRequest{Id: string(unknownJob)}); errors.Is(err, nil) {
		t.Error("the tenant's own key finds a job that is none")
	}
}
