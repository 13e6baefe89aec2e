package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/telemetry"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	"inkstream.dev/services/gateway/webhook"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ip string
		ok bool
	}{
		{"93.184.216.34", true}, {"2606:2800:220:1::1", true},
		{"127.0.0.1", false}, {"127.1.2.3", false}, {"::1", false}, {"::ffff:127.0.0.1", false}, {"::127.0.0.1", false},
		{"10.0.0.1", false}, {"172.16.0.1", false}, {"172.31.255.255", false}, {"192.168.1.1", false}, {"fd00::1", false},
		{"169.254.169.254", false}, {"fe80::1", false}, {"::ffff:169.254.169.254", false}, {"fd00:ec2::254", false},
		{"64:ff9b::a9fe:a9fe", false}, {"2002:7f00:1::", false}, {"2001:0:7f00:1::", false}, {"100.100.100.200", false},
		{"0.0.0.0", false}, {"0.1.2.3", false}, {"::", false}, {"224.0.0.1", false}, {"ff02::1", false},
		{"255.255.255.255", false},
		{"198.18.0.1", false}, {"192.0.0.192", false}, {"fec0::1", false}, {"::ffff:0:7f00:1", false},
		{"3fff::1", false}, {"5f00::1", false}, {"168.63.129.16", false}, {"::ffff:168.63.129.16", false},
		{"161.26.0.10", false}, {"166.9.1.1", false},
	} {
		if got := (webhook.Policy{}).AllowsAddress(netip.MustParseAddr(tc.ip)); got != tc.ok {
			t.Errorf("%s: allowed: %v, want %v", tc.ip, got, tc.ok)
		}
	}
}

// Where receivers of one's own network are allowed, what a cloud tells its machines is not.
func TestPolicyOfOwnNetwork(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ip string
		ok bool
	}{
		{"127.0.0.1", true}, {"10.1.2.3", true}, {"fd00::1", true}, {"169.254.169.254", false}, {"fe80::1", false},
		{"168.63.129.16", false}, {"100.100.100.200", false}, {"192.0.0.192", false}, {"fd00:ec2::254", false},
		{"fd20:ce::254", false}, {"::ffff:169.254.169.254", false},
	} {
		if got := (webhook.Policy{AllowPrivate: true}).AllowsAddress(netip.MustParseAddr(tc.ip)); got != tc.ok {
			t.Errorf("%s: allowed: %v, want %v", tc.ip, got, tc.ok)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		url string
		ok  bool
	}{
		{"https://example.org/hook?token=x", true}, {"http://example.org:8080", true},
		{"https://example.com:65536/", false}, {"https://example.com:0/", false}, {"https://example.com:8443/", true},
		{"ftp://example.org/", false}, {"file:///etc/passwd", false}, {"gopher://127.0.0.1:6379/_x", false},
		{"//example.org", false}, {"/hook", false},
		{"https://user:pass@example.org/", false}, {"https:///x", false}, {"https://example.org/#x", false},
		{"http://127.0.0.1/", false}, {"http://[::1]/", false}, {"http://[::ffff:10.0.0.1]/", false},
		{"http://169.254.169.254/latest/meta-data/", false},
	} {
		if err := (webhook.Policy{}).CheckURL(tc.url); (err == nil) != tc.ok {
			t.Errorf("%s: got %v, want it taken: %v", tc.url, err, tc.ok)
		}
	}
}

// Names and spellings that lead to this machine, and a redirect to it, get nowhere.
func TestClientRefuses(t *testing.T) {
	t.Parallel()
	called := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := webhook.Policy{}.NewClient()
	for _, host := range []string{"localhost", "127.0.0.1", "127.1", "0", "0x7f000001", "2130706433",
		"[::ffff:127.0.0.1]", "LOCALHOST."} {
		resp, err := client.Post("http://"+host+":"+u.Port()+"/", "text/plain", strings.NewReader(""))
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s: was called", host)
		}
	}
	if called {
		t.Error("the server on this machine was called")
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	here := webhook.Policy{AllowPrivate: true}
	for _, tc := range []struct {
		name, to string
		status   int
		ok       bool
	}{
		{"to a file", "file:///etc/passwd", 307, false},
		{"to credentials", "http://u:p@127.0.0.1/", 307, false},
		{"to multicast", "http://224.0.0.1/", 308, false},
		{"in a circle", "", 307, false},
		{"as a GET", "http://127.0.0.1:1/", 302, true}, // not followed: the answer is the redirect
	} {
		var srv *httptest.Server
		srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			to := tc.to
			if to == "" {
				to = srv.URL
			}
			w.Header().Set("Location", to)
			w.WriteHeader(tc.status)
		}))
		resp, err := here.NewClient().Post(srv.URL, "text/plain", strings.NewReader("x"))
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != tc.ok {
			t.Errorf("%s: got %v, want an answer: %v", tc.name, err, tc.ok)
		}
		srv.Close()
	}
}

// receiver is a server that receives webhook calls and fails the first ones, as many as fail says.
type receiver struct {
	*httptest.Server

	mu    sync.Mutex // guards what follows
	fail  int
	calls []receivedCall
	came  chan struct{}
}

type receivedCall struct {
	header http.Header
	body   []byte
}

func newReceiver(t *testing.T, fail int) *receiver {
	t.Helper()
	r := &receiver{fail: fail, came: make(chan struct{}, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, receivedCall{req.Header, body})
		if r.fail > 0 {
			r.fail--
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		r.came <- struct{}{}
	}))
	t.Cleanup(r.Close)
	return r
}

// awaitCalls returns the n-th call, from 1.
func (r *receiver) awaitCalls(t *testing.T, n int) receivedCall {
	t.Helper()
	for range n {
		select {
		case <-r.came:
		case <-t.Context().Done():
			t.Fatal("no call came")
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[len(r.calls)-1]
}

// fixture is a dispatcher on a broker of its own.
type fixture struct {
	bus   *bus.Bus
	hooks *webhook.Hooks
	d     *webhook.Dispatcher
}

const ownSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

func newFixture(t *testing.T, cfg webhook.Config, source webhook.JobSource) *fixture {
	t.Helper()
	b := bustest.New(t)
	hooks, err := webhook.OpenHooks(t.Context(), b.JetStream(), nil, telemetry.NewDiscard().Log)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Secret = ownSecret
	d := webhook.NewDispatcher(cfg, b.JetStream(), hooks, source, telemetry.NewDiscard().Log)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	r := &fixture{bus: b, hooks: hooks, d: d}
	r.awaitConsumer(t)
	return r
}

// awaitConsumer waits until ends of jobs are heard.
func (r *fixture) awaitConsumer(t *testing.T) {
	t.Helper()
	for {
		_, err := r.bus.JetStream().Consumer(t.Context(), "INK_WEBHOOK", webhook.Stage)
		if err == nil {
			return
		}
		if !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Fatal(err)
		}
	}
}

func (r *fixture) publishJobEnd(t *testing.T, tenant string, id job.ID) {
	t.Helper()
	if err := r.bus.PublishEvent(t.Context(),
		&busv1.Event{Type: "ended", Tenant: tenant, Job: string(id), Run: 1}); err != nil {
		t.Fatal(err)
	}
}

func TestDispatch(t *testing.T) {
	t.Parallel()
	own, all := newReceiver(t, 0), newReceiver(t, 2)
	body := []byte(`{"id":"x","state":"SUCCEEDED"}`)
	r := newFixture(t, webhook.Config{Policy: webhook.Policy{AllowPrivate: true}, MinRetryDelay: 20 * time.Millisecond},
		func(context.Context, string, string) (webhook.Job, error) {
			return webhook.Job{Body: body, URL: own.URL}, nil
		})
	hook, err := r.hooks.CreateHook(t.Context(), "acme", all.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.hooks.CreateHook(t.Context(), "other", "http://127.0.0.1:1/"); err != nil {
		t.Fatal(err)
	}
	id := job.NewID()
	r.publishJobEnd(t, "acme", id)
	r.publishJobEnd(t, "acme", id) // a repeat
	for _, tc := range []struct {
		name   string
		got    receivedCall
		secret string
	}{
		{"the job's own address", own.awaitCalls(t, 1), ownSecret},
		{"the tenant's webhook, at the third try", all.awaitCalls(t, 3), hook.Secret},
	} {
		if string(tc.got.body) != string(body) {
			t.Errorf("%s: got body %q, want %q", tc.name, tc.got.body, body)
		}
		check, err := standard.NewWebhook(tc.secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Verify(tc.got.body, tc.got.header); err != nil {
			t.Errorf("%s: signature: %v", tc.name, err)
		}
		if err := check.Verify(append(tc.got.body, ' '), tc.got.header); err == nil {
			t.Errorf("%s: the signature holds for another body", tc.name)
		}
	}
	r.awaitEmptyQueue(t)
	if n := len(own.calls); n != 1 {
		t.Errorf("the job's own address was called %d times, want once", n)
	}
	r.checkAttempts(t, hook.ID, all)
}

// checkAttempts makes sure that the three attempts of a call are kept, and that it can be made again.
func (r *fixture) checkAttempts(t *testing.T, hook string, receiver *receiver) {
	t.Helper()
	attempts, err := r.hooks.ListAttempts(t.Context(), "acme", hook)
	if err != nil || len(attempts) != 3 {
		t.Fatalf("got attempts %v, %v, want three", attempts, err)
	}
	for i, a := range attempts { // the newest first
		failed := i > 0
		if a.Number != 3-i || (a.Status == 200) == failed || (a.Error != "") != failed || a.RetryTime.IsZero() == failed {
			t.Errorf("attempt %d: got %+v, want it to say that it failed: %t", 3-i, a, failed)
		}
	}
	if _, err := r.hooks.ListAttempts(t.Context(), "other", hook); !errors.Is(err, webhook.ErrNoHook) {
		t.Errorf("of another tenant: got %v, want ErrNoHook", err)
	}
	if err := r.d.Redeliver(t.Context(), "acme", hook, "none.1.x"); !errors.Is(err, webhook.ErrNoDelivery) {
		t.Errorf("of another call: got %v, want ErrNoDelivery", err)
	}
	if err := r.d.Redeliver(t.Context(), "acme", hook, attempts[0].Delivery); err != nil {
		t.Fatal(err)
	}
	if got := receiver.awaitCalls(t, 1); got.header.Get("Webhook-Id") != attempts[0].Delivery {
		t.Errorf("made again as %q, want %q", got.header.Get("Webhook-Id"), attempts[0].Delivery)
	}
}

func (r *fixture) awaitEmptyQueue(t *testing.T) {
	t.Helper()
	for {
		s, err := r.bus.JetStream().Stream(t.Context(), "INK_WEBHOOK")
		if err != nil {
			t.Fatal(err)
		}
		if s.CachedInfo().State.Msgs == 0 {
			return
		}
	}
}

// A call that no receiver accepts becomes a dead letter, and can be replayed.
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	deaf := newReceiver(t, 1000)
	r := newFixture(t, webhook.Config{Policy: webhook.Policy{AllowPrivate: true}, MinRetryDelay: 5 * time.Millisecond,
		GiveUpAfter: 50 * time.Millisecond},
		func(context.Context, string, string) (webhook.Job, error) {
			return webhook.Job{Body: []byte("{}")}, nil
		})
	if _, err := r.hooks.CreateHook(t.Context(), "acme", deaf.URL); err != nil {
		t.Fatal(err)
	}
	id := job.NewID()
	r.publishJobEnd(t, "acme", id)
	var letters []bus.DeadLetter
	for len(letters) == 0 {
		var err error
		if letters, _, err = r.bus.ListDeadLetters(t.Context(), "acme", 0, 10); err != nil {
			t.Fatal(err)
		}
	}
	l := letters[0]
	if l.Stage != webhook.Stage || l.Job != string(id) || l.Code != "WEBHOOK_FAILED" || l.Attempts < 2 ||
		strings.Contains(l.Error, deaf.URL) {
		t.Errorf("got dead letter %+v", l)
	}
	deaf.mu.Lock()
	deaf.fail, deaf.came = 0, make(chan struct{}, 100)
	deaf.mu.Unlock()
	if err := r.d.ReplayDelivery(t.Context(), l.Payload); err != nil {
		t.Fatal(err)
	}
	if got := deaf.awaitCalls(t, 1); got.header.Get("webhook-id") != l.MsgID {
		t.Errorf("replayed with id %q, want the call's own %q", got.header.Get("webhook-id"), l.MsgID)
	}
}

func TestHooksAreTheTenants(t *testing.T) {
	t.Parallel()
	h, err := webhook.OpenHooks(t.Context(), bustest.New(t).JetStream(), nil, telemetry.NewDiscard().Log)
	if err != nil {
		t.Fatal(err)
	}
	hook, err := h.CreateHook(t.Context(), "acme", "https://example.org")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Delete(t.Context(), "other", hook.ID); !errors.Is(err, webhook.ErrNoHook) {
		t.Errorf("delete another tenant's webhook: got %v, want ErrNoHook", err)
	}
	if all := h.ListHooks("other"); len(all) != 0 {
		t.Errorf("list of another tenant: got %v", all)
	}
	if err := h.Delete(t.Context(), "acme", hook.ID); err != nil {
		t.Error(err)
	}
	if all := h.ListHooks("acme"); len(all) != 0 {
		t.Errorf("after the deletion: got %v", all)
	}
}
