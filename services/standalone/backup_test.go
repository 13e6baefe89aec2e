package standalone_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/reconcile"
	"inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone/chaos"
)

// site is a deployment: NATS, a folder with blobs, index and keys, and the services as processes of their own.
type site struct {
	*pipeline
	t        *testing.T
	url, dir string
	seed     func(user string) string // of a user of NATS; nil where it has none
	services map[string]*chaos.Process
	ctx      context.Context // with the first API key
	addrs    [2]string
}

func newSite(t *testing.T, url string, seed func(user string) string) *site {
	t.Helper()
	s := &site{t: t, url: url, dir: t.TempDir(), seed: seed, services: make(map[string]*chaos.Process),
		addrs: [2]string{freeAddr(t), freeAddr(t)}}
	t.Cleanup(func() {
		for _, p := range s.services {
			p.Kill()
		}
	})
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// dial returns a connection as a user.
func (s *site) dial(user string) *bus.Bus {
	s.t.Helper()
	if s.seed == nil {
		return bustest.ConnectURL(s.t, s.url)
	}
	return bustest.ConnectAsUser(s.t, s.url, user, s.seed(user))
}

// nats runs the NATS client as the administrator.
func (s *site) nats(args ...string) error {
	s.t.Helper()
	program, err := processtest.BuildTool("github.com/nats-io/natscli/nats")
	if err != nil {
		s.t.Fatal(err)
	}
	args = append([]string{"--server", s.url, "--no-context", "--timeout", "30s"}, args...)
	if s.seed != nil {
		args = append(args, "--nkey", s.seed(bus.AdminUser), "--inbox-prefix", bus.InboxPrefix(bus.AdminUser))
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("nats %q: %w: %s", args, err, out[max(0, len(out)-300):])
	}
	return nil
}

// restore brings streams back, as deploy/backup.md says. On a cluster the servers may not have heard of each other's part in
// it when the client sends the first piece: then there are no responders, and it is tried again. So it is where the server
// had nothing of a piece for five seconds, on a machine that is busy: it calls the restore stalled. The cluster keeps the
// name of a stream whose restore failed until the stream is removed.
func (s *site) restore(streams string) {
	s.t.Helper()
	folders, err := filepath.Glob(filepath.Join(streams, "*"))
	if err != nil || len(folders) < 9 {
		s.t.Fatalf("a backup of %d streams, %v, want all 9", len(folders), err)
	}
	for _, folder := range folders {
		stream := filepath.Base(folder)
		bustest.EventuallyWithin(s.t, patience, "stream "+stream+" is restored", func() bool {
			err := s.nats("stream", "restore", "--no-progress", folder)
			if err == nil {
				return true
			}
			if !strings.Contains(err.Error(), "no responders") && !strings.Contains(err.Error(), "is stalled") {
				s.t.Fatal(err)
			}
			bustest.EventuallyWithin(s.t, patience, "what is left of stream "+stream+" is removed", func() bool {
				return s.nats("stream", "rm", "--force", stream) == nil
			})
			return false
		})
	}
}

// start starts services, and connects to the gateway when it is ready.
func (s *site) start(names ...string) {
	s.t.Helper()
	bin := buildServices(s.t)
	index := []string{"--index", "sqlite://" + s.path("index.db")}
	own := map[string][]string{
		"index": index,
		"gateway": append([]string{
			"--gateway.http", s.addrs[0], "--gateway.grpc", s.addrs[1], "--auth", "keys", "--auth.admin-key-file",
			s.path("keys/admin.key"),
			"--reconcile.interval", "300ms", "--reconcile.patience", "3s",
		}, index...),
	}
	for _, name := range names {
		args := append([]string{
			"--nats", s.url, "--nats.provision=false", "--blobs", "file://" + s.path("blobs") + "?fsync=off", "--ops",
			"",
			"--seal-key-file", s.path("keys/seal.key"), "--log.level", "ERROR",
		}, own[name]...)
		if s.seed != nil {
			args = append(args, "--nats.nkey", s.seed(name))
		}
		s.services[name] = chaos.NewProcess(filepath.Join(bin, name), args, testLog{s.t})
		if err := s.services[name].Start(); err != nil {
			s.t.Fatal(err)
		}
	}
	var key []byte
	client := chaos.NewClient("http://" + s.addrs[0])
	if err := client.AwaitReady(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	key, err := os.ReadFile(s.path("keys/admin.key"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.pipeline = connect(s.t, s.addrs[1], "http://"+s.addrs[0], s.path("blobs"))
	s.ctx = withKey(s.t.Context(), string(key))
}

func withKey(ctx context.Context, key string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+strings.TrimSpace(key))
}

// send uploads a document to the site.
func (s *site) send(f pdftest.File, opts *inkstreamv1.JobOptions) string {
	s.t.Helper()
	j, err := s.upload(s.ctx, f.Name, f.PDF, opts)
	if err != nil {
		s.t.Fatalf("upload %s: %v", f.Name, err)
	}
	return j.GetId()
}

// wantEnd waits until jobs have ended, and wants all pages of them.
func (s *site) wantEnd(what string, f pdftest.File, ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		j, err := s.finish(ctx, id)
		cancel()
		if err != nil || j.GetState() != inkstreamv1.Job_SUCCEEDED || j.GetPageCount() != int32(len(f.Pages)) {
			s.t.Errorf("%s: job %s is %v with %d pages, %v, %v, want SUCCEEDED with %d", what, id, j.GetState(),
				j.GetPageCount(), j.GetError(), err, len(f.Pages))
			continue
		}
		check(s.t, j)
		for _, page := range f.Pages {
			if page.Marker != "" && s.hits(s.t, id, page.Marker) != 1 {
				s.t.Errorf("%s: job %s is not found by %q", what, id, page.Marker)
			}
		}
	}
}

// keep copies a folder of the site, some of whose files may go during the copy.
func (s *site) keep(name, to string) {
	s.t.Helper()
	err := filepath.WalkDir(s.path(name), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		target := filepath.Join(to, strings.TrimPrefix(path, s.dir))
		return errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, data, 0o600))
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// mark returns what the blob store remembers of the bucket of jobs.
func (s *site) mark() uint64 {
	s.t.Helper()
	m, err := reconcile.LoadRestoreMarker(s.t.Context(), s.blobs())
	if err != nil {
		s.t.Fatal(err)
	}
	return m.Revision
}

func (s *site) blobs() *blob.Store {
	s.t.Helper()
	store, err := blob.Open(s.t.Context(), "file://"+s.path("blobs"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { store.Close() })
	return store
}

// rebuild fills the index again, as 'inkstream index rebuild' does.
func (s *site) rebuild() {
	s.t.Helper()
	ctx, b := s.t.Context(), s.dial(string(bus.Index))
	store, err := search.Open(ctx, "sqlite://"+s.path("index.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	r := projection.Rebuilder{Blobs: s.blobs(), Store: store, LoadRecord: bustest.NewJobStore(s.t, b).LoadRecord,
		OnDamaged: func(err error) { s.t.Error(err) }}
	if err := projection.CopyEvents(ctx, b, store); err != nil {
		s.t.Fatal(err)
	}
	if _, err := r.Run(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// sweep makes the reconciler's pass over uploads without the hour that it leaves them: none is under way.
func (s *site) sweep() reconcile.Report {
	s.t.Helper()
	b := s.dial(bus.GatewayUser)
	i := chaos.Inspector{Bus: b, Jobs: bustest.NewJobStore(s.t, b), Blobs: s.blobs()}
	report, err := i.SweepUploads(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

// messages counts what each stream holds.
func (s *site) messages() map[string]uint64 {
	s.t.Helper()
	n := make(map[string]uint64)
	streams := s.dial(bus.AdminUser).JetStream().ListStreams(s.t.Context())
	for info := range streams.Info() {
		n[info.Config.Name] = info.State.Msgs
	}
	if err := streams.Err(); err != nil || len(n) < 9 {
		s.t.Fatalf("%d streams, %v, want all 9", len(n), err)
	}
	return n
}

// sent are the jobs of a site, by how far they were when NATS was backed up.
type sent struct {
	one, two, scanned, locked pdftest.File

	ended, reading, pending []string
	sealed                  string
	meanwhile               []string // uploaded until the blobs were copied
	after                   string   // uploaded later
	key                     *inkstreamv1.Key
}

func (j sent) kept() []string {
	return slices.Concat(j.ended, j.reading, j.pending, j.meanwhile, []string{j.sealed})
}

// What deploy/backup.md says: streams, blobs and keys are copied while the services work, and brought back to servers
// that hold nothing. Jobs that had ended have their results; those that had not, end. What came after the copy of the
// blobs is gone, and what was removed or revoked since is back.
func TestBackupAndReturn(t *testing.T) {
	t.Parallel()
	secured := bustest.NewSecuredServer(t)
	old := newSite(t, secured.ClientURL(), secured.SeedFile)
	makeSealKey(t, old.path("keys"))
	if err := old.dial(bus.AdminUser).ProvisionWhenUp(t.Context(), bus.Topology{AckWait: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	jobs := old.work()
	backup := t.TempDir()
	old.backUp(backup, &jobs)
	for _, p := range old.services {
		p.Kill()
	}
	secured.StopServer()
	if err := os.RemoveAll(old.dir); err != nil {
		t.Fatal(err)
	}
	wantRestored(t, filepath.Join(backup, "streams"))

	s := returned(t, backup)
	for _, id := range jobs.ended {
		if j, err := s.GetJob(s.ctx, &inkstreamv1.GetJobRequest{Id: id}); err != nil ||
			j.GetState() != inkstreamv1.Job_SUCCEEDED {
			t.Errorf("ended job %s: %v, %v, want SUCCEEDED at once", id, j.GetState(), err)
		}
		if text := s.textOf(id); len(text) != len(jobs.two.Pages) {
			t.Errorf("ended job %s: text of %d pages, want %d", id, len(text), len(jobs.two.Pages))
		}
	}
	if _, err := s.GetJob(withKey(t.Context(), jobs.key.GetSecret()),
		&inkstreamv1.GetJobRequest{Id: jobs.ended[0]}); err != nil {
		t.Errorf("with a key that was revoked after the backup: %v, want it to be as it was", err)
	}
	s.wantEnd("ended", jobs.two, jobs.ended...)
	s.wantEnd("waited for ocr", jobs.scanned, jobs.reading...)
	s.wantEnd("waited for ingest", jobs.two, jobs.pending...)
	s.wantEnd("with a sealed password", jobs.locked, jobs.sealed)
	t.Logf("%d uploads during the backup, then %+v", len(jobs.meanwhile), s.sweep())
	s.wantEnd("uploaded before the blobs were copied", jobs.one, jobs.meanwhile...)
	if _, err := s.GetJob(s.ctx, &inkstreamv1.GetJobRequest{Id: jobs.after}); status.Code(err) != codes.NotFound {
		t.Errorf("uploaded after the blobs were copied: %v, want not found", err)
	}
	s.wantNoMore(jobs.kept())
}

// work starts the services but ocr, and has jobs that have ended, and others that wait for ocr, and for ingest.
func (s *site) work() (jobs sent) {
	s.t.Helper()
	s.start("index", "render", "scan", "ingest", "gateway")
	jobs.one, jobs.two, jobs.scanned, jobs.locked = pdftest.BornDigital(1), pdftest.BornDigital(2), scans(3),
		pdftest.EncryptedFile(pdftest.AES)
	jobs.ended = []string{s.send(jobs.two, nil), s.send(jobs.two, nil)}
	s.wantEnd("before", jobs.two, jobs.ended...)
	jobs.reading = []string{s.send(jobs.scanned, nil), s.send(jobs.scanned, &inkstreamv1.JobOptions{Lane: "batch"})}
	bustest.EventuallyWithin(s.t, patience, "the scans wait for ocr", func() bool {
		return s.messages()[bus.OCR.StreamName()] == uint64(2*len(jobs.scanned.Pages))
	})
	if err := s.services["ingest"].Stop(patience); err != nil {
		s.t.Fatal(err)
	}
	jobs.pending = []string{s.send(jobs.two, nil)}
	jobs.sealed = s.send(jobs.locked, &inkstreamv1.JobOptions{Password: pdftest.OwnerPassword})
	return jobs
}

// backUp copies everything while uploads come, and then goes on: it uploads, deletes and revokes.
func (s *site) backUp(to string, jobs *sent) {
	s.t.Helper()
	var err error
	if jobs.key, err = s.CreateKey(s.ctx, &inkstreamv1.CreateKeyRequest{Scopes: []string{"read"},
		Name: "kept"}); err != nil {
		s.t.Fatal(err)
	}
	stop, uploads := make(chan struct{}), make(chan []string, 1)
	go func() { uploads <- s.uploadUntil(stop, jobs.one) }() // ends with stop
	if err := s.nats("account", "backup", "-f", filepath.Join(to, "streams")); err != nil {
		s.t.Error(err)
	}
	close(stop)
	jobs.meanwhile = <-uploads
	before := s.mark()
	jobs.meanwhile = append(jobs.meanwhile, s.send(jobs.one, nil)) // its record is in no copy
	bustest.EventuallyWithin(s.t, patience, "the blob store knows that jobs were written since",
		func() bool { return s.mark() > before })
	s.keep("blobs", to)
	s.keep("keys", to)

	jobs.after = s.send(jobs.one, nil)
	if _, err := s.DeleteJob(s.ctx, &inkstreamv1.DeleteJobRequest{Id: jobs.ended[1]}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.RevokeKey(s.ctx, &inkstreamv1.RevokeKeyRequest{Id: jobs.key.GetId()}); err != nil {
		s.t.Fatal(err)
	}
}

// makeSealKey makes the key that passwords are sealed with.
func makeSealKey(t *testing.T, dir string) {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "seal.key"),
		[]byte(base64.StdEncoding.EncodeToString(key)), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// uploadUntil uploads until stop is closed, and returns the jobs that were acknowledged.
func (s *site) uploadUntil(stop <-chan struct{}, f pdftest.File) (ids []string) {
	for {
		j, err := s.upload(s.ctx, f.Name, f.PDF, nil)
		if err != nil {
			s.t.Errorf("upload during the backup: %v", err)
			return ids
		}
		ids = append(ids, j.GetId())
		select {
		case <-stop:
			return ids
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// wantRestored brings the streams back to a server with users, as the administrator.
func wantRestored(t *testing.T, streams string) {
	t.Helper()
	secured := bustest.NewSecuredServer(t)
	s := newSite(t, secured.ClientURL(), secured.SeedFile)
	s.restore(streams)
	if n := s.messages(); n["KV_"+bus.JobBucket] == 0 || n[bus.OCR.StreamName()] == 0 || n[bus.Ingest.StreamName()] == 0 {
		t.Errorf("streams that were brought back hold %v", n)
	}
	secured.StopServer()
}

// returned brings a backup back to an empty cluster, and starts all services there.
func returned(t *testing.T, backup string) *site {
	t.Helper()
	s := newSite(t, bustest.NewCluster(t).ClientURLs(), nil)
	if err := os.CopyFS(s.dir, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	s.restore(s.path("streams"))
	if err := s.dial(bus.AdminUser).ProvisionWhenUp(t.Context(), bus.Topology{Replicas: bustest.ClusterSize,
		AckWait: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	s.rebuild()
	s.start(chaos.Services...)
	return s
}

// textOf returns the text of each page of a job.
func (s *site) textOf(id string) []string {
	s.t.Helper()
	data, err := s.blobs().ReadBytes(s.t.Context(), job.ArtifactKey("default", job.ID(id), 1, "text.txt"), 1<<20)
	if err != nil {
		s.t.Error(err)
	}
	return strings.Split(string(data), "\f")
}

// wantNoMore wants no jobs but these, and nothing left in the queues.
func (s *site) wantNoMore(ids []string) {
	s.t.Helper()
	list, err := s.ListJobs(s.ctx, &inkstreamv1.ListJobsRequest{PageSize: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, j := range list.GetJobs() {
		if !slices.Contains(ids, j.GetId()) {
			s.t.Errorf("job %s is listed, which there should not be", j.GetId())
		}
	}
	if len(list.GetJobs()) != len(ids) {
		s.t.Errorf("%d jobs are listed, want %d", len(list.GetJobs()), len(ids))
	}
	bustest.EventuallyWithin(s.t, patience, "the queues are empty", func() bool {
		n := s.messages()
		return !slices.ContainsFunc(bus.AllStages(), func(st bus.Stage) bool { return n[st.StreamName()] > 0 })
	})
}
