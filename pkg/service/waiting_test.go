package service

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/processtest"
)

// running is a service under test.
type running struct {
	t     *testing.T
	logs  *bufio.Scanner
	built chan struct{} // closed when the service is built
	stop  func() error  // stops the service and returns what Run returned
}

func runService(t *testing.T, name string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	r := &running{t: t, logs: bufio.NewScanner(out), built: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, name, append(args, "--blobs=mem://"), func(string) string { return "" }, in, nil,
			func(context.Context, *Runtime) ([]lifecycle.Unit, error) {
				close(r.built)
				return nil, nil
			})
		in.Close()
	}()
	r.stop = func() error {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		return <-ended
	}
	return r
}

// logged reads on in the logs until a line matches, and returns what the pattern's group does.
func (r *running) logged(pattern string) string {
	r.t.Helper()
	re := regexp.MustCompile(pattern)
	for r.logs.Scan() {
		if strings.Contains(r.logs.Text(), "sesame") {
			r.t.Errorf("the log gives the password away: %s", r.logs.Text())
		}
		if found := re.FindStringSubmatch(r.logs.Text()); found != nil {
			return found[1]
		}
	}
	r.t.Fatalf("no line of the log matches %s", pattern)
	return ""
}

// wantPage fails the test unless the page answers so.
func wantPage(t *testing.T, url string, status int, has string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status || !strings.Contains(string(body), has) ||
		strings.Contains(string(body), "sesame") {
		t.Errorf("%s: got %d, %s, %v, want %d with %q and without the password", url, res.StatusCode, body, err, status, has)
	}
}

// A service whose broker is away says so, in its log and on its page.
func TestServesReadinessWhileWaitingForNATS(t *testing.T) {
	t.Parallel()
	port, err := processtest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + strconv.Itoa(port)
	r := runService(t, "own", "--nats=nats://me:sesame@"+addr)
	page := "http://" + r.logged(`msg="ops page" addr=(\S+)`)
	if got := r.logged(`level=WARN msg="waiting for NATS" nats=(\S+)`); got != addr {
		t.Errorf("waiting for NATS at %s, want %s", got, addr)
	}
	wantPage(t, page+"/healthz", http.StatusOK, "ok")
	wantPage(t, page+"/readyz", http.StatusServiceUnavailable, "no connection to NATS at "+addr)
	if err := r.stop(); err != nil {
		t.Errorf("Run returned %v, want nil: it was asked to stop", err)
	}
}

// A service that finds no streams says what makes them, and starts once they are there.
func TestServesReadinessWhileWaitingForStreams(t *testing.T) {
	t.Parallel()
	srv := bustest.StartServer(t)
	r := runService(t, "scan", "--nats="+srv.ClientURL(), "--nats.provision=false")
	page := "http://" + r.logged(`msg="ops page" addr=(\S+)`)
	r.logged(`level=WARN msg="(no streams yet: run 'inkstream provision')"`)
	wantPage(t, page+"/healthz", http.StatusOK, "ok")
	wantPage(t, page+"/readyz", http.StatusServiceUnavailable, "no streams yet: run 'inkstream provision'")
	if err := bustest.Connect(t, srv).Provision(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	<-r.built
	if err := r.stop(); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
}
