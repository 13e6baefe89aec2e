package natsconfig_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/natsconfig"
	"inkstream.dev/pkg/telemetry"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	s := bustest.NewSecuredServer(t)
	admin := s.Connect(t, bus.AdminUser)
	if err := admin.ProvisionWhenUp(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	if found, _, err := admin.InspectTopology(t.Context(), bus.Topology{}); err != nil || len(found) > 0 {
		t.Errorf("inspect: %v, %v, want nothing", found, err)
	}
	for _, user := range bus.AllUsers() {
		if err := s.Connect(t, user).CheckPermissions(t.Context(), user); err != nil {
			t.Errorf("%s: %v", user, err)
		}
	}
	for _, st := range bus.AllStages() {
		if err := s.Connect(t, string(st)).AwaitProvisioned(t.Context(), st); err != nil {
			t.Errorf("%s: %v", st, err)
		}
	}
	if err := s.Connect(t, bus.GatewayUser).AwaitProvisioned(t.Context()); err != nil {
		t.Errorf("gateway: %v", err)
	}
	if refused := s.RefusedRequests(); len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
}

func TestUserOfAnotherService(t *testing.T) {
	t.Parallel()
	s := bustest.NewSecuredServer(t)
	if err := s.Connect(t, bus.AdminUser).ProvisionWhenUp(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	b := s.Connect(t, string(bus.OCR))
	if err := b.AwaitProvisioned(t.Context(), bus.OCR); err != nil {
		t.Fatal(err)
	}
	// What is refused is never answered.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := b.AwaitProvisioned(ctx, bus.Render); err == nil || !strings.Contains(err.Error(), "ermissions") {
		t.Errorf("ocr waits for what render needs: %v, want a refusal", err)
	}
	err := b.CheckPermissions(t.Context(), string(bus.Render))
	for _, want := range []string{"render needs", "$JS.API.CONSUMER.MSG.NEXT.INK_RENDER.render-batch",
		"ink.call.render.image"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check: %v, want it to name %s", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "ink.events") {
		t.Errorf("check: %v, want it to leave out what ocr may do too", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := b.ProvisionWhenUp(ctx, bus.Topology{}); err == nil || !strings.Contains(err.Error(), "inkstream provision") {
		t.Errorf("provision as ocr: %v, want advice", err)
	}
}

func TestUnknownUserIsRefused(t *testing.T) {
	t.Parallel()
	s, other := bustest.NewSecuredServer(t), bustest.NewSecuredServer(t)
	for name, credentials := range map[string]bus.Credentials{"nobody": {},
		"key of another server": {NKey: other.SeedFile(bus.AdminUser)}} {
		opts, err := credentials.Options()
		if err != nil {
			t.Fatal(err)
		}
		tel := telemetry.NewDiscard()
		b, err := bus.Connect(s.ClientURL(), "test", tel.Log, tel, opts...)
		if err == nil {
			err = b.AwaitProvisioned(t.Context())
			b.Close()
		}
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "authorization") {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
}

// A user who may not even ask how the bucket is kept is told so, like a user who lacks any other permission.
func TestUserWithoutPermissionForFirstRequest(t *testing.T) {
	t.Parallel()
	const bucket = "$JS.API.STREAM.INFO.KV_jobs"
	dir := bustest.ServerFolder(t)
	opts := natsconfig.DefaultOptions()
	opts.Listen, opts.Monitor, opts.Dir = "127.0.0.1:-1", "", filepath.Join(dir, "store")
	write(t, dir, opts)
	file := filepath.Join(dir, "nats.conf")
	conf, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	without := strings.ReplaceAll(string(conf), `"`+bucket+`"`, `"nothing"`)
	if err := os.WriteFile(file, []byte(without), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	url := bustest.StartWithOptions(t, cfg).ClientURL()
	as := func(user string) *bus.Bus {
		return bustest.ConnectAsUser(t, url, user, filepath.Join(dir, natsconfig.SeedFileName(user)))
	}
	if err := as(bus.AdminUser).ProvisionWhenUp(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	err = as(string(bus.OCR)).CheckPermissions(t.Context(), string(bus.OCR))
	if err == nil || !strings.Contains(err.Error(), "needs: "+bucket+";") {
		t.Errorf("check: %v, want it to name %s alone", err, bucket)
	}
}

// TestCluster runs three servers by their own files, as they find each other.
func TestCluster(t *testing.T) {
	t.Parallel()
	dir := bustest.ServerFolder(t)
	opts := natsconfig.DefaultOptions()
	opts.Cluster, opts.ClusterPort = []string{"127.31.7.1", "127.31.7.2", "127.31.7.3"}, freePort(t)
	files := write(t, dir, opts)
	if len(files) != len(bus.AllUsers())+len(opts.Cluster) {
		t.Fatalf("files: %q, want one for each user and server", files)
	}
	topology := bus.Topology{Replicas: opts.StreamReplicas()}
	var url string
	as := func(user string) *bus.Bus {
		return bustest.ConnectAsUser(t, url, user, filepath.Join(dir, natsconfig.SeedFileName(user)))
	}
	provisioned := make(chan error, 1)
	for i, host := range opts.Cluster {
		cfg, err := server.ProcessConfigFile(filepath.Join(dir, "nats-"+host+".conf"))
		if err != nil {
			t.Fatal(err)
		}
		if !cfg.SyncAlways || cfg.ServerName != host || len(cfg.Routes) != len(opts.Cluster)-1 {
			t.Errorf("%s: syncs %t, is %s, routes %v", host, cfg.SyncAlways, cfg.ServerName, cfg.Routes)
		}
		// All of them share a machine here.
		cfg.Host, cfg.Port, cfg.HTTPPort, cfg.Cluster.Host, cfg.StoreDir = host, server.RANDOM_PORT, 0, host,
			bustest.ServerFolder(t)
		if i == len(opts.Cluster)-1 {
			// Two agree on a leader, but a stream has no place before the third is there.
			admin := as(bus.AdminUser)
			bustest.EventuallyWithin(t, time.Minute, "two servers answer",
				func() bool { return admin.CheckServer(t.Context()) == nil })
			if err := admin.Provision(t.Context(), topology); err == nil {
				t.Error("streams of three replicas are made on two servers")
			}
			go func() { provisioned <- admin.ProvisionWhenUp(t.Context(), topology) }()
		}
		url = bustest.StartWithOptions(t, cfg).ClientURL()
	}
	if err := <-provisioned; err != nil {
		t.Fatal(err)
	}
	scan := as(string(bus.Scan))
	if err := scan.CheckPermissions(t.Context(), string(bus.Scan)); err != nil {
		t.Error(err)
	}
	// On a cluster the leader answers, by another subject.
	jobs := bustest.NewJobStore(t, scan)
	id := job.NewID()
	if err := jobs.CreateRecord(t.Context(),
		&job.Record{ID: id, Tenant: job.DefaultTenant, Run: 1, State: job.Pending}); err != nil {
		t.Errorf("write a record: %v", err)
	}
	if _, err := jobs.LoadRecord(t.Context(), job.DefaultTenant, id); err != nil {
		t.Errorf("read a record: %v", err)
	}
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*natsconfig.Options){
		"listen":       func(o *natsconfig.Options) { o.Listen = "nowhere" },
		"monitor":      func(o *natsconfig.Options) { o.Monitor = "nowhere" },
		"store-dir":    func(o *natsconfig.Options) { o.Dir = "" },
		"cluster":      func(o *natsconfig.Options) { o.Cluster = []string{"a", "b"} },
		"cluster-port": func(o *natsconfig.Options) { o.ClusterPort = 0 },
		"tls-cert":     func(o *natsconfig.Options) { o.TLS.Cert = "cert.pem" },
		"tls-ca":       func(o *natsconfig.Options) { o.TLS.CA = "ca.pem" },
	}
	for flag, spoil := range tests {
		o := natsconfig.DefaultOptions()
		spoil(&o)
		if _, err := natsconfig.GenerateFiles(o); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("wrong %s: %v, want an error that names it", flag, err)
		}
	}
	o := natsconfig.DefaultOptions()
	o.Cluster = []string{"a", "b/../../x", "c"}
	if _, err := natsconfig.GenerateFiles(o); err == nil {
		t.Error("a path for the name of a server is taken")
	}
}

// write writes the files, and returns their names.
func write(t *testing.T, dir string, opts natsconfig.Options) []string {
	t.Helper()
	files, err := natsconfig.GenerateFiles(opts)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
	}
	return names
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.31.7.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
