package webhook_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/gateway/webhook"
)

// Receivers of one tenant that never answer hold up its own calls, and no others.
func TestSilentReceiversHoldUpTheirTenantAlone(t *testing.T) {
	t.Parallel()
	r := newFixture(t, webhook.Config{Policy: webhook.Policy{AllowPrivate: true}},
		func(context.Context, string, string) (webhook.Job, error) {
			return webhook.Job{Body: []byte("{}")}, nil
		})
	called, over := make(chan struct{}, 1000), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		called <- struct{}{}
		<-over
	}))
	t.Cleanup(func() { close(over); silent.Close() })
	for range 20 {
		if _, err := r.hooks.CreateHook(t.Context(), "slow", silent.URL); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		r.publishJobEnd(t, "slow", job.NewID())
	}
	for range 4 { // as many as one webhook gets at once: the tenant's calls are under way
		<-called
	}
	honest := newReceiver(t, 0)
	if _, err := r.hooks.CreateHook(t.Context(), "honest", honest.URL); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	r.publishJobEnd(t, "honest", job.NewID())
	honest.awaitCalls(t, 1)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the other tenant's call came after %s, want it within seconds", took)
	}
}

// What one receiver is told of where it sends on is not told there.
func TestRedirectTellsNoReferer(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		told <- req.Referer()
	}))
	t.Cleanup(to.Close)
	from := httptest.NewServer(http.RedirectHandler(to.URL, http.StatusTemporaryRedirect))
	t.Cleanup(from.Close)
	resp, err := webhook.Policy{AllowPrivate: true}.NewClient().Post(from.URL+"/?token=secret", "text/plain",
		strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := <-told; got != "" {
		t.Errorf("got Referer %q, want none", got)
	}
}

// The bucket holds a webhook's secret sealed; secrets of before are read as they are.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	sealer, err := job.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	open := func(s *job.Sealer) *webhook.Hooks {
		h, err := webhook.OpenHooks(t.Context(), b.JetStream(), s, telemetry.NewDiscard().Log)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	plain, sealed := open(nil), open(sealer)
	for name, h := range map[string]*webhook.Hooks{"of before": plain, "sealed": sealed} {
		made, err := h.CreateHook(t.Context(), "acme", "https://example.org/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := sealed.Get(t.Context(), "acme", made.ID); err != nil || got.Secret != made.Secret {
			t.Errorf("%s: got %v, %v, want the secret", name, got, err)
		}
		kv, err := b.JetStream().KeyValue(t.Context(), bus.WebhookBucket)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := kv.Get(t.Context(), "webhook.acme."+made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(stored.Value()), made.Secret); has != (h == plain) {
			t.Errorf("%s: the bucket holds the secret: %t", name, has)
		}
	}
}
