package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"inkstream.dev/pkg/processtest"
)

// serverKind says how a server is set up.
type serverKind string

// The kinds of servers.
const (
	guarded   serverKind = "guarded"   // as one is run for several tenants
	receiving serverKind = "receiving" // the same, with webhooks on this machine and small limits
	open      serverKind = "open"      // as one is run on a laptop
)

// The tenants: one that is attacked, and one that attacks.
const (
	victim  = "victim"
	villain = "villain"
)

// marker stands in all that the victim has and that the villain must not see.
const marker = "confidential7f3a"

// testbed is what the attacks share.
type testbed struct {
	binary, dir string
	more        []string
	issuer      *issuer
	servers     map[serverKind]*server
	server      *server // the one under attack
}

func newTestbed(binary, dir string, more []string) *testbed {
	return &testbed{binary: binary, dir: dir, more: more, servers: map[serverKind]*server{}}
}

func (t *testbed) close() error {
	var errs []error
	for _, s := range t.servers {
		errs = append(errs, s.stop())
	}
	if t.issuer != nil {
		t.issuer.Close()
	}
	return errors.Join(errs...)
}

// server is a running 'inkstream serve'.
type server struct {
	kind             serverKind
	dir              string
	args             []string
	cmd              *exec.Cmd
	ended            chan struct{} // closed when the process has
	rest, grpc, nats string
	keys             map[string]string // by tenant and scope, such as villain/read
	job, upload      string            // the victim's
	key, hook        string            // ids of the victim's
	document         []byte
	log              *os.File
}

// serverOf returns the running server of a kind.
func (t *testbed) serverOf(ctx context.Context, kind serverKind) (*server, error) {
	if s := t.servers[kind]; s != nil {
		return s, nil
	}
	for other, s := range t.servers { // one at a time has the machine
		delete(t.servers, other)
		if err := s.stop(); err != nil {
			return nil, err
		}
	}
	s := &server{kind: kind, dir: filepath.Join(t.dir, string(kind)), keys: map[string]string{}}
	s.args = []string{"serve", "--data-dir", s.dir, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0",
		"--log.level", "WARN"}
	switch kind {
	case guarded:
		if t.issuer == nil {
			t.issuer = newIssuer()
		}
		s.args = append(s.args, "--auth=keys", "--oidc.issuer", t.issuer.URL, "--oidc.audience", audience,
			"--oidc.tenant-claim", "tenant", "--webhook.secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	case receiving:
		s.args = append(s.args, "--auth=keys", "--webhook.allow-private", "--limit.jobs", "40")
	case open:
	}
	s.args = append(s.args, t.more...)
	if err := s.start(t.binary); err != nil {
		return nil, err
	}
	t.servers[kind] = s
	if kind == open {
		return s, nil
	}
	return s, s.settleTenants(ctx)
}

// start runs the server and waits until it is ready.
func (s *server) start(binary string) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(s.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.log = log
	s.cmd = exec.Command(binary, s.args...) //nolint:noctx // it outlives the attack that starts it
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := processtest.SpawnProcess(s.cmd); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	lines := bufio.NewScanner(out)
	ready := false
	for !ready && lines.Scan() {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) > 1 && f[0] == "REST":
			s.rest = f[1]
		case len(f) > 1 && f[0] == "gRPC":
			s.grpc = f[1]
		case len(f) > 1 && f[0] == "NATS":
			s.nats = f[1]
		case len(f) > 0 && f[0] == "Ctrl-C":
			ready = true
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, out) // until it ends
		_ = s.cmd.Wait()                // how it ended shows in what it no longer answers
		close(s.ended)
	}()
	if !ready {
		<-s.ended
		return fmt.Errorf("the server did not get ready, see %s", log.Name())
	}
	return nil
}

func (s *server) stop() error {
	defer s.log.Close()
	select {
	case <-s.ended:
		return nil
	default:
	}
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("the server does not stop"), s.cmd.Process.Kill())
	}
}

// checkAlive makes sure that the process runs, answers, and has told of no panic.
func (s *server) checkAlive(ctx context.Context) error {
	select {
	case <-s.ended:
		return errors.New("the server has died")
	default:
	}
	if code, _, err := s.exchange(ctx, "", http.MethodGet, "/healthz", nil, nil); err != nil || code != http.StatusOK {
		return fmt.Errorf("the server's health: %d, %w", code, err)
	}
	log, err := os.ReadFile(s.log.Name())
	if err == nil && (bytes.Contains(log, []byte("panic")) || bytes.Contains(log, []byte("goroutine "))) {
		return errors.New("the server's log tells of a panic")
	}
	return err
}

// client takes answers as they are: no redirect is followed and nothing is unpacked. It comes from an address of its
// own, because limits by address are to bind the villain alone.
func clientFrom(ip string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

var clients = map[string]*http.Client{victim: clientFrom("127.0.0.1"), villain: clientFrom("127.0.0.2")}

// clientOf returns the client of whom a key is.
func clientOf(who string) *http.Client {
	if strings.HasPrefix(who, villain) {
		return clients[villain]
	}
	return clients[victim]
}

// sendRequest sends a request as one of the keys; no key where who is empty, and who itself where there is no such key.
func (s *server) sendRequest(ctx context.Context, who, method, path string, head map[string]string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.rest+path, body)
	if err != nil {
		return nil, err
	}
	secret, ok := s.keys[who]
	if !ok {
		secret = who
	}
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	for name, value := range head {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	return clientOf(who).Do(req)
}

// closeQuietly closes what the attack has no more use for, whatever the other side has done to it.
func closeQuietly(c io.Closer) { _ = c.Close() }

// maxAnswer is how much of an answer is looked at.
const maxAnswer = 32 << 20

// exchange is do with the whole answer.
func (s *server) exchange(ctx context.Context, who, method, path string, head map[string]string, body []byte) (int, []byte, error) {
	resp, err := s.sendRequest(ctx, who, method, path, head, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, data, err
}

// callJSON is call with a request and an answer in JSON.
func (s *server) callJSON(ctx context.Context, who, method, path string, in, out any) (int, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return 0, err
		}
	}
	code, data, err := s.exchange(ctx, who, method, path, map[string]string{"Content-Type": "application/json"}, body)
	if err == nil && code < 300 && out != nil {
		err = json.Unmarshal(data, out)
	}
	if err == nil && code >= 300 && out != nil {
		err = fmt.Errorf("%s %s: %d %.200s", method, path, code, data)
	}
	return code, err
}

// jobView is what the attacks read of a job.
type jobView struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	PageCount int    `json:"pageCount"`
	Error     struct {
		Code string `json:"code"`
	} `json:"error"`
}

func (j jobView) hasEnded() bool {
	return j.State != "" && j.State != "PENDING" && j.State != "RUNNING"
}

// submit uploads a document; query has its options.
func (s *server) submit(ctx context.Context, who, query string, data []byte) (j jobView, code int, err error) {
	code, body, err := s.exchange(ctx, who, http.MethodPost, "/v1/jobs?dedupe=false"+query,
		map[string]string{"Content-Type": "application/pdf"}, data)
	if err == nil && code == http.StatusAccepted {
		err = json.Unmarshal(body, &j)
	}
	return j, code, err
}

// awaitEnd waits for a job's end.
func (s *server) awaitEnd(ctx context.Context, who, id string) (j jobView, err error) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err = s.callJSON(ctx, who, http.MethodGet, "/v1/jobs/"+id, nil, &j); err != nil || j.hasEnded() {
			return j, err
		}
		select {
		case <-ctx.Done():
			return j, fmt.Errorf("job %s is %s: %w", id, j.State, ctx.Err())
		case <-tick.C:
		}
	}
}

// runJob takes a document through the pipeline and returns how long that took.
func (s *server) runJob(ctx context.Context, who, query string, data []byte) (j jobView, took time.Duration, err error) {
	start := time.Now()
	j, code, err := s.submit(ctx, who, query, data)
	if err == nil && code != http.StatusAccepted {
		err = fmt.Errorf("upload: got %d", code)
	}
	if err == nil {
		j, err = s.awaitEnd(ctx, who, j.ID)
	}
	return j, time.Since(start), err
}
