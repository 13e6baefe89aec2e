package doctor

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/ocr"
)

func TestMain(m *testing.M) {
	sandbox.Main(append(ocr.Programs(), pdf.Program())...)
	processtest.UsePlainChildren(sandbox.SetChildFile)
	os.Exit(m.Run())
}

// testConfig names nothing that runs.
func testConfig(t *testing.T) Config {
	t.Helper()
	cfg := DefaultConfig()
	cfg.DataDir, cfg.HTTP, cfg.Languages = t.TempDir(), "127.0.0.1:1", "eng"
	return cfg
}

// run returns the checks by name. Of several with one name the first that failed counts.
func run(t *testing.T, cfg Config, checks ...func(*checker, context.Context)) map[string]Check {
	t.Helper()
	e := &checker{cfg: cfg, log: slog.New(slog.DiscardHandler), report: Report{OK: true}}
	for _, check := range checks {
		check(e, t.Context())
	}
	out := map[string]Check{}
	for _, c := range e.report.Checks {
		if c.Status == Fail && e.report.OK {
			t.Errorf("check %s failed, but the report is OK", c.Name)
		}
		if (c.Status == Fail || c.Status == Warn) != (c.Fix != "") {
			t.Errorf("check %s: got status %s with fix %q, want a fix where something is wrong, and only there", c.Name,
				c.Status, c.Fix)
		}
		if old, ok := out[c.Name]; !ok || old.Status != Fail {
			out[c.Name] = c
		}
	}
	return out
}

func wantStatus(t *testing.T, checks map[string]Check, name string, want Status, detail string) {
	t.Helper()
	if got := checks[name]; got.Status != want || !strings.Contains(got.Detail, detail) {
		t.Errorf("check %s: got %+v, want %s with %q", name, got, want, detail)
	}
}

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.NATS = bustest.StartServer(t).ClientURL()
	b, err := bus.Connect(cfg.NATS, "test", slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.ProvisionWhenUp(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	report := Run(t.Context(), cfg, slog.New(slog.DiscardHandler))
	for _, c := range report.Checks {
		switch {
		case c.Status == Fail && !strings.HasPrefix(c.Name, "disk"):
			t.Errorf("check %s: got %s, want it not to fail", c.Name, c.Detail)
		case (c.Name == "pdf engine" || c.Name == "ocr engine" || c.Name == "blobs" || c.Name == "nats" ||
			c.Name == "nats writes" || c.Name == "nats streams") && c.Status != OK:
			t.Errorf("check %s: got %s: %s, want ok", c.Name, c.Status, c.Detail)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(cfg.DataDir, "blobs", "_doctor")); err == nil && len(entries) > 0 {
		t.Errorf("left of the probe: got %v, want nothing", entries)
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.NATS = bustest.StartServer(t).ClientURL()
	wantStatus(t, run(t, cfg, (*checker).checkNATS), "nats streams", Fail, "is not there")
}

// A cluster is looked at as it is, and what to do is said in full. The last part stops most of it.
func TestStreamsOfCluster(t *testing.T) {
	t.Parallel()
	c := bustest.NewCluster(t)
	cfg := testConfig(t)
	cfg.NATS = c.ClientURLs()
	look := func(want Status, detail, fix string) {
		t.Helper()
		checks := run(t, cfg, (*checker).checkNATS)
		wantStatus(t, checks, "nats streams", want, detail)
		if got := checks["nats streams"].Fix; !strings.Contains(got, fix) {
			t.Errorf("what to do: got %q, want %q", got, fix)
		}
	}
	command := "inkstream provision --nats " + c.ClientURLs() + " --nats.replicas 3"
	look(Fail, "is not there", command)
	b := c.Connect(bus.Topology{})
	look(OK, "replicas: 3", "")
	if err := b.JetStream().DeleteConsumer(t.Context(), bus.OCR.StreamName(),
		bus.DurableName(bus.OCR, bus.Batch)); err != nil {
		t.Fatal(err)
	}
	look(Fail, "INK_OCR > ocr-batch: is not there", command)
	if err := b.Provision(t.Context(), bus.Topology{Replicas: 1, OnLowerReplicas: func(string, int, int) {}}); err != nil {
		t.Fatal(err)
	}
	look(Warn, "replicas: 1, want 3", command)
	c.StopNode(1)
	c.StopNode(2)
	cfg.NATS = c.NodeURL(0)
	var check Check
	// A leader that has lost the others goes on for ten seconds at least.
	bustest.EventuallyWithin(t, time.Minute, "the last server knows that it has no leader", func() bool {
		check = run(t, cfg, (*checker).checkNATS)["nats"]
		return check.Status == Fail
	})
	if check.Status != Fail || !strings.Contains(check.Detail, "has no leader") || check.Fix != startCluster {
		t.Errorf("one server of three: got %+v, want that the cluster has no leader", check)
	}
}

// The command to run names everything but secrets.
func TestProvisionCommand(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Credentials = bus.Credentials{NKey: "nats/admin.nk", CA: "ca.pem"}
	e := &checker{cfg: cfg}
	want := "inkstream provision --nats nats://a:1,tls://b:2,nats://c:3 --nats.nkey nats/admin.nk --nats.ca ca.pem --nats.replicas 3"
	if got := e.provisionCommand("nats://me:secret@a:1, tls://b:2,c:3", 3); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A broker that answers and takes no writes, as after a full disk, is told of.
func TestBrokerThatRefusesWrites(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	srv := bustest.StartServer(t)
	cfg.NATS = srv.ClientURL()
	b := bustest.Connect(t, srv)
	if err := b.Provision(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	bucket, err := b.JetStream().Stream(t.Context(), "KV_"+bus.JobBucket)
	if err != nil {
		t.Fatal(err)
	}
	full := bucket.CachedInfo().Config
	full.MaxBytes = 1
	if _, err := b.JetStream().UpdateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, run(t, cfg, (*checker).checkNATS), "nats writes", Fail, "NATS refuses writes")
}

func TestDurability(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]Status{
		`{"config":{"sync_always":true}}`: OK, `{"config":{}}`: Fail, `{}`: Skip, `<html>`: Fail,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = w.Write([]byte(answer))
		}))
		cfg := testConfig(t)
		cfg.Monitor = server.URL + "/"
		wantStatus(t, run(t, cfg, (*checker).checkSync), "nats durability", want, "")
		server.Close()
	}
	wantStatus(t, run(t, testConfig(t), (*checker).checkSync), "nats durability", Skip, "--nats-monitor")
}

func TestServerAtWorkIsFound(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	wantStatus(t, run(t, cfg, (*checker).checkServer, (*checker).checkNATS), "nats", Skip, "down")
	lock, err := os.Create(filepath.Join(cfg.DataDir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	wantStatus(t, run(t, cfg, (*checker).checkServer), "server", Skip, "no server is at work")
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatalf("lock after the doctor looked: got %v, want it free", err)
	}
	wantStatus(t, run(t, cfg, (*checker).checkServer), "server", Warn, "does not answer")
	for answer, want := range map[string]Status{
		`{"ready":true,"info":{"durability":"fast"}}`:                               OK,
		`{"ready":false,"checks":{"index":{"up":false,"error":"away"}}}`:            Fail,
		`{"ready":false,"checks":{"index":{"up":true},"nats":{"up":false}},"x":[]}`: Fail,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = w.Write([]byte(answer))
		}))
		cfg.HTTP = server.URL
		wantStatus(t, run(t, cfg, (*checker).checkServer), "server", want, "")
		server.Close()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"ready":true,"checks":{"vision endpoints":{"up":false,"optional":true,"error":"invents"}}}`))
	}))
	cfg.HTTP = server.URL
	wantStatus(t, run(t, cfg, (*checker).checkServer), "vision endpoints", Warn, "invents")
	server.Close()
	cfg.DataDir = filepath.Join(cfg.DataDir, "none")
	wantStatus(t, run(t, cfg, (*checker).checkServer), "server", Skip, "no data folder")
}

// Which walls there are says the server, whatever the doctor's own kernel gives.
func TestWalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		info   map[string]string
		want   Status
		detail string
	}{
		{map[string]string{"walls/pdfium": "Landlock ABI 7, seccomp"}, OK, "pdfium: Landlock ABI 7"},
		{map[string]string{"walls/pdfium": "Landlock ABI 7, seccomp", "walls/tesseract": "missing: Landlock"}, Warn,
			"tesseract: missing: Landlock"},
		{map[string]string{"durability": "full"}, Skip, "has started"},
	} {
		checks := run(t, testConfig(t), func(e *checker, ctx context.Context) {
			e.info = tt.info
			e.checkIsolation(ctx)
		})
		wantStatus(t, checks, "walls", tt.want, tt.detail)
	}
}

// An operator who has restored an older copy of the NATS store, knowingly or not, is told so for a while.
func TestOlderCopyOfNATS(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Blobs = "file://" + t.TempDir()
	store, err := blob.Open(t.Context(), cfg.Blobs)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, tt := range []struct {
		mark string
		want Status
	}{
		{`{"revision":7}`, ""},
		{`{"revision":7,"restored":"` + time.Now().Format(time.RFC3339) + `"}`, Warn},
		{`{"revision":7,"restored":"2026-01-02T03:04:05Z"}`, ""},
		{`{`, Fail},
	} {
		if err := store.PutBytes(t.Context(), "_reconcile/mark.json", []byte(tt.mark), ""); err != nil {
			t.Fatal(err)
		}
		checks := run(t, cfg, (*checker).checkBlobs)
		wantStatus(t, checks, "blobs", OK, "")
		wantStatus(t, checks, "nats history", tt.want, "")
	}
}

func TestWhatIsAway(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Timeout = 2 * time.Second
	cfg.NATS = "nats://user:secret@127.0.0.1:1"
	cfg.Index = "clickhouse://user:secret@127.0.0.1:1/db?dial_timeout=1s"
	file := filepath.Join(cfg.DataDir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Blobs = "file://" + file
	checks := run(t, cfg, (*checker).checkNATS, (*checker).checkIndex, (*checker).checkBlobs)
	for _, name := range []string{"nats", "index", "blobs"} {
		wantStatus(t, checks, name, Fail, "")
		if c := checks[name]; strings.Contains(c.Detail+c.Fix, "secret") {
			t.Errorf("check %s gives the password away: %+v", name, c)
		}
	}
	cfg.OCR.DataPath = t.TempDir()
	wantStatus(t, run(t, cfg, (*checker).checkOCR), "ocr engine", Fail, "")
}

func TestOlderVersionIsTold(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.15.2": false, "2.12.0": false, "2.11.9": true, "1.99.0": true, "3.0.0-beta": false, "v2.12": false, "": true,
		"x.y": true,
	} {
		if got := isOlderVersion(version, 2, 12); got != want {
			t.Errorf("isOlderVersion(%q): got %v, want %v", version, got, want)
		}
	}
}
