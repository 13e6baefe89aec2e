package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/bus"
)

var outsideAttacks = []attack{
	{"2", "the broker's port without credentials, or with false ones", "refused", attackBrokerAnonymously},
	{"2", "the broker as its inspector: keys, webhooks, tasks, streams", "no secret is read, nothing is written", attackBrokerAsInspector},
	{"2", "secrets on the disk", "for their owner alone", attackSecretFiles},
	{"3", "starts that open the API or the broker to the network without keys", "refused", attackOpenStarts},
	{"SSRF", "webhooks and sources on this machine, private networks, clouds", "refused, and no connection comes", attackOutbound},
}

// quiet drops what the client library says of refusals: they are what is wanted.
var quiet = nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})

func attackBrokerAnonymously(ctx context.Context, t *testbed) (string, error) {
	url := t.server.nats
	other := filepath.Join(t.dir, "other.nk")
	// A seed of the right form that the server does not know.
	if err := os.WriteFile(other, []byte("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY\n"), 0o600); err != nil {
		return "", err
	}
	withSeed, err := nats.NkeyOptionFromSeed(other)
	if err != nil {
		return "", err
	}
	for name, options := range map[string][]nats.Option{
		"nothing": nil, "a password": {nats.UserInfo("admin", "admin")}, "no password": {nats.UserInfo("admin", "")}, "a token": {nats.Token("x")},
		"another key": {withSeed}, "the name of a user": {nats.Name(bus.AdminUser), nats.UserInfo(bus.AdminUser, "")},
	} {
		conn, err := nats.Connect(url, append(options, nats.MaxReconnects(0), nats.Timeout(3*time.Second))...)
		if err == nil {
			defer conn.Close()
			return "", fmt.Errorf("with %s the broker is open", name)
		}
		if !errors.Is(err, nats.ErrAuthorization) && !strings.Contains(strings.ToLower(err.Error()), "authorization") {
			return "", fmt.Errorf("with %s: %w, want a refusal", name, err)
		}
	}
	// A client that speaks the protocol by itself and does not wait for leave.
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(url, "nats://"))
	if err != nil {
		return "", err
	}
	defer closeQuietly(conn)
	key := `{"id":"0123456789abcdef","tenant":"default","scopes":["admin"],"hash":"` + strings.Repeat("0", 64) + `"}`
	fmt.Fprintf(conn, "PUB $KV.keys.0123456789abcdef %d\r\n%s\r\nPING\r\n", len(key), key)
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second)) // what is read until then counts
	if answer := readUntilCut(conn); strings.Contains(answer, "PONG") || !strings.Contains(answer, "-ERR") {
		return "", fmt.Errorf("a publish without CONNECT is answered %.100q", answer)
	}
	return "7 of 7 refused", nil
}

func attackBrokerAsInspector(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	seed, err := nats.NkeyOptionFromSeed(filepath.Join(s.dir, "nats-inspector.nk"))
	if err != nil {
		return "", err
	}
	conn, err := nats.Connect(s.nats, seed, nats.CustomInboxPrefix(bus.InboxPrefix(bus.InspectorUser)), quiet)
	if err != nil {
		return "", fmt.Errorf("the inspector cannot look: %w", err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return "", err
	}
	if _, err := js.Stream(ctx, "INK_INGEST"); err != nil {
		return "", fmt.Errorf("the inspector cannot look at a queue: %w", err)
	}
	tries := map[string]func(ctx context.Context) error{}
	for _, bucket := range []string{"keys", "webhooks"} {
		stream := "KV_" + bucket
		for _, subject := range []string{"$JS.API.DIRECT.GET." + stream, "$JS.API.STREAM.MSG.GET." + stream, "$JS.API.STREAM.PURGE." + stream,
			"$JS.API.STREAM.DELETE." + stream, "$JS.API.CONSUMER.CREATE." + stream, "$JS.API.STREAM.SNAPSHOT." + stream,
			"$KV." + bucket + ".x", "$JS.API.STREAM.UPDATE." + stream} {
			tries["request "+subject] = func(ctx context.Context) error {
				_, err := conn.RequestWithContext(ctx, subject, []byte(`{"last_by_subj":"$KV.`+bucket+`.>"}`))
				return err
			}
		}
	}
	for _, stream := range []string{"INK_INGEST", "INK_OCR", "INK_DLQ", "INK_EVENTS", "KV_jobs"} {
		for _, call := range []string{"PURGE", "DELETE", "MSG.DELETE", "UPDATE"} {
			subject := "$JS.API.STREAM." + call + "." + stream
			tries["request "+subject] = func(ctx context.Context) error {
				_, err := conn.RequestWithContext(ctx, subject, []byte(`{"seq":1}`))
				return err
			}
		}
	}
	for _, subject := range []string{"ink.ingest.interactive.victim.x", "$KV.jobs.job.victim." + s.job} {
		tries["publish to "+subject] = func(ctx context.Context) error {
			_, err := js.Publish(ctx, subject, []byte("{}"))
			return err
		}
	}
	var g errgroup.Group
	for name, try := range tries {
		g.Go(func() error {
			tctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			if err := try(tctx); err == nil {
				return fmt.Errorf("the inspector may %s", name)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d of %[1]d refused", len(tries)), s.checkVictim(ctx)
}

func attackSecretFiles(_ context.Context, t *testbed) (string, error) {
	seen := 0
	err := filepath.WalkDir(t.server.dir, func(path string, _ os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // removed since
		}
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil //nolint:nilerr // removed since
		}
		if path == t.server.dir && info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("the data folder is open to others: %s", info.Mode())
		}
		name := filepath.Base(path)
		if strings.HasSuffix(name, ".key") || strings.HasSuffix(name, ".nk") || info.IsDir() && filepath.Dir(path) == t.server.dir && name == "nats" {
			if seen++; info.Mode().Perm()&0o077 != 0 {
				return fmt.Errorf("%s is open to others: %s", name, info.Mode())
			}
		}
		return nil
	})
	if err == nil && seen < 4 {
		err = fmt.Errorf("only %d secrets were found", seen)
	}
	return fmt.Sprintf("%d files and folders", seen), err
}

func attackOpenStarts(ctx context.Context, t *testbed) (string, error) {
	tries := [][]string{
		{"--nats", "0.0.0.0:0"}, {"--nats", ":0"}, {"--nats", "[::]:0"}, {"--nats", "0.0.0.0:0", "--auth=none"}, {"--http", "0.0.0.0:0"},
		{"--grpc", "0.0.0.0:0"}, {"--http", ":0"},
	}
	for i, args := range tries {
		tctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		cmd := exec.CommandContext(tctx, t.binary, append([]string{"serve", "--data-dir", filepath.Join(t.dir, fmt.Sprint("refused", i)),
			"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0"}, args...)...)
		out, err := cmd.CombinedOutput()
		late := tctx.Err() != nil
		cancel()
		if err == nil || late || strings.Contains(string(out), "inkstream is ready") {
			return "", fmt.Errorf("serve %v starts", args)
		}
		if !strings.Contains(string(out), "auth") {
			return "", fmt.Errorf("serve %v does not say why not: %.200s", args, out)
		}
	}
	return fmt.Sprintf("%d of %[1]d refused", len(tries)), nil
}

// attackOutbound has the server call addresses that it must not call. A listener on this machine counts who comes.
func attackOutbound(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	bait, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "[::]:0")
	if err != nil {
		return "", err
	}
	defer closeQuietly(bait)
	var came atomic.Int64
	go func() { // ends with the listener
		for {
			conn, err := bait.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			closeQuietly(conn)
		}
	}()
	_, port, _ := net.SplitHostPort(bait.Addr().String())
	hosts := []string{"127.0.0.1", "127.1", "127.0.0.2", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "LOCALHOST.", "[::1]", "[::]", "0.0.0.0", "0",
		"[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254", "[fd00:ec2::254]", "168.63.129.16", "100.100.100.200",
		"10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1", "[fe80::1]", "[fc00::1]", "user@127.0.0.1", "evil.example@127.0.0.1", "127.0.0.1%2f.example",
		"ip6-localhost", "255.255.255.255", "224.0.0.1", "198.18.0.1"}
	refused, accepted := 0, []string{}
	for _, host := range hosts {
		for _, url := range []string{"http://" + host + ":" + port + "/x", "https://" + host + ":" + port + "/x"} {
			if code, _, err := s.exchange(ctx, villain+"/admin", http.MethodPost, "/v1/webhooks", map[string]string{"Content-Type": "application/json"},
				mustJSON(map[string]string{"url": url})); err == nil && code >= 400 {
				refused++
			} else {
				accepted = append(accepted, host)
			}
		}
	}
	for _, url := range []string{"file:///etc/passwd", "gopher://127.0.0.1:" + port + "/", "ftp://127.0.0.1/", "http://", "//127.0.0.1:" + port, "javascript:1",
		"http://127.0.0.1:" + port + "/etc/passwd", "s3://victim/x", "http://169.254.169.254/latest/meta-data"} {
		code, body, err := s.exchange(ctx, villain+"/write", http.MethodPost, "/v1/jobs", map[string]string{"Content-Type": "application/json"},
			mustJSON(map[string]any{"source": url}))
		if err != nil || code < 400 {
			return "", fmt.Errorf("a document from %s: %d %.100s, %w", url, code, body, err)
		}
		refused++
	}
	// Those that were taken are names, which are looked at when they are called.
	for _, host := range []string{"localhost", "localhost.", "ip6-localhost"} {
		_, _, err := s.submit(ctx, villain+"/write", "&webhook_url=http%3A%2F%2F"+host+"%3A"+port+"%2Fjob", s.document)
		if err != nil {
			return "", err
		}
	}
	if _, _, err := s.runJob(ctx, villain+"/write", "", s.document); err != nil {
		return "", err
	}
	if err := waitFor(ctx, 3*time.Second); err != nil {
		return "", err
	}
	if n := came.Load(); n > 0 {
		return "", fmt.Errorf("%d connections came, of webhooks for %v or jobs' own", n, accepted)
	}
	return fmt.Sprintf("%d refused, %d names left to their call, no connection", refused, len(accepted)), nil
}
