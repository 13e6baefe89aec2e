package standalone_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/standalone"
)

// brokerOf starts a pipeline's embedded NATS server, and returns its URL and the data folder.
func brokerOf(t *testing.T, auth string) (url, dir string) {
	t.Helper()
	cfg := testConfig(t.TempDir())
	cfg.NATSAddr, cfg.Gateway.Access.Auth = freeAddr(t), auth
	s, err := standalone.New(t.Context(), cfg, telemetry.NewDiscard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return "nats://" + cfg.NATSAddr, cfg.DataDir
}

// natsAs connects as one who has the key in a file; none for "".
func natsAs(t *testing.T, url, file string, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	if file != "" {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("key file: %v, %v, want mode 0600", info, err)
		}
		key, err := nats.NkeyOptionFromSeed(file)
		if err != nil {
			t.Fatal(err)
		}
		opts = append(opts, key)
	}
	nc, err := nats.Connect(url, append(opts, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// allowed reports whether a call is answered; one that is forbidden never is.
func allowed(t *testing.T, call func(ctx context.Context) error) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return call(ctx) == nil
}

func TestEmbeddedNATSAsksForKeys(t *testing.T) {
	t.Parallel()
	url, dir := brokerOf(t, "keys")
	if nc, err := nats.Connect(url); !errors.Is(err, nats.ErrAuthorization) {
		if nc != nil {
			nc.Close()
		}
		t.Errorf("without a key: got %v, want %v", err, nats.ErrAuthorization)
	}
	for user, changes := range map[string]bool{bus.AdminUser: true, bus.InspectorUser: false} {
		js := natsAs(t, url, filepath.Join(dir, "nats-"+user+".nk"), nats.CustomInboxPrefix(bus.InboxPrefix(user)))
		streamCommands(t, user, js)
		checkReach(t, user, js, changes, changes)
	}
}

func TestOpenNATSDoesNotReachKeys(t *testing.T) {
	t.Parallel()
	url, dir := brokerOf(t, "none")
	js := natsAs(t, url, "")
	streamCommands(t, "a guest", js)
	checkReach(t, "a guest", js, false, true)
	if _, err := os.Stat(filepath.Join(dir, "nats-admin.nk")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("key file: got %v, want none where nobody is asked", err)
	}
}

// streamCommands makes sure that the user can look at the streams, and follow the jobs.
func streamCommands(t *testing.T, user string, js jetstream.JetStream) {
	t.Helper()
	if !allowed(t, func(ctx context.Context) error { _, err := js.Stream(ctx, bus.OCR.StreamName()); return err }) {
		t.Errorf("%s cannot look at a stream", user)
	}
	names := 0
	for range js.StreamNames(t.Context()).Name() {
		names++
	}
	if names == 0 {
		t.Errorf("%s cannot list the streams", user)
	}
	if !allowed(t, func(ctx context.Context) error {
		kv, err := js.KeyValue(ctx, bus.JobBucket)
		if err == nil {
			var w jetstream.KeyWatcher
			if w, err = kv.Watch(ctx, "job.>"); err == nil {
				<-w.Updates() // nil: all that was there has been told
			}
		}
		return err
	}) {
		t.Errorf("%s cannot follow the jobs", user)
	}
}

// checkReach makes sure that the user gets at API keys, and can change a stream, only where that is meant.
func checkReach(t *testing.T, user string, js jetstream.JetStream, keys, tasks bool) {
	t.Helper()
	reaches := map[string]func(ctx context.Context) error{
		"bind": func(ctx context.Context) error { _, err := js.KeyValue(ctx, bus.KeyBucket); return err },
		"write": func(ctx context.Context) error {
			_, err := js.Publish(ctx, "$KV."+bus.KeyBucket+".planted", []byte("{}"))
			return err
		},
		"read": func(ctx context.Context) error {
			return ask(ctx, js, "$JS.API.STREAM.MSG.GET.KV_"+bus.KeyBucket, `{"last_by_subj":"$KV.keys.>"}`)
		},
		"watch": func(ctx context.Context) error {
			return ask(ctx, js, "$JS.API.CONSUMER.CREATE.KV_"+bus.KeyBucket,
				`{"stream_name":"KV_keys","config":{"ack_policy":"none"}}`)
		},
		"copy": func(ctx context.Context) error {
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "copy",
				Mirror: &jetstream.StreamSource{Name: "KV_" + bus.KeyBucket}})
			return err
		},
	}
	for name, reach := range reaches {
		if got := allowed(t, reach); got != keys {
			t.Errorf("%s can %s API keys: got %t, want %t", user, name, got, keys)
		}
	}
	if got := allowed(t, func(ctx context.Context) error {
		return ask(ctx, js, "$JS.API.STREAM.PURGE."+bus.DeadLetterStream, "{}")
	}); got != tasks {
		t.Errorf("%s can change a stream: got %t, want %t", user, got, tasks)
	}
}

// ask sends a request to JetStream's API.
func ask(ctx context.Context, js jetstream.JetStream, subject, body string) error {
	_, err := js.Conn().RequestWithContext(ctx, subject, []byte(body))
	return err
}
