package standalone_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/pdftest"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// everyTopology has tasks delivered ten times at most, so that orphans are made soon.
var everyTopology = bus.Topology{MaxDeliver: 10}

// TestEachServiceHasItsOwnUser runs every service as its own user on a server with the configuration of 'inkstream
// nats-config'. Everything that the pipeline does must go through; whatever a user may do that no service did in the
// course of it is too much; and everything else must be refused.
func TestEachServiceHasItsOwnUser(t *testing.T) {
	t.Parallel()
	s := bustest.NewSecuredServer(t)
	if err := s.Connect(t, bus.AdminUser).ProvisionWhenUp(t.Context(), everyTopology); err != nil {
		t.Fatal(err)
	}
	o := &outsider{t: t, s: s, bus: s.Connect(t, bus.GatewayUser)}
	o.jobs, o.scan = bustest.NewJobStore(t, o.bus), bustest.NewJobStore(t, s.Connect(t, string(bus.Scan)))
	for _, st := range bus.AllStages() {
		o.orphan(st)
	}
	t.Cleanup(func() { // when the services have stopped
		for _, user := range bus.AllUsers()[1:] {
			wantUsed(t, user, s.PublishedSubjects(user))
		}
		refused := slices.DeleteFunc(s.RefusedRequests(),
			func(line string) bool { return strings.Contains(line, forbiddenName) })
		if len(refused) > 0 {
			t.Errorf("refused %d times: %q", len(refused), refused[:min(len(refused), 10)])
		}
	})
	p, ctx := inOwnUsers(t, s)
	exercise(ctx, t, p)
	o.giveUps(ctx, p)
	bustest.EventuallyWithin(t, patience, "every orphan is a dead letter",
		func() bool { return len(o.letters(ctx, p, string(bus.CrashLoop))) == len(bus.AllStages()) })
	wantRefused(t, s)
}

// inOwnUsers starts the six services as their own users, and returns a context with the first API key.
func inOwnUsers(t *testing.T, s *bustest.SecuredServer) (*pipeline, context.Context) {
	t.Helper()
	bin, dir := buildServices(t), t.TempDir()
	keyFile := filepath.Join(dir, "admin.key")
	own := map[string][]string{
		"ocr":   {"--ocr.workers", "2"},
		"index": {"--index", "sqlite://" + filepath.Join(dir, "index.db")},
		"gateway": {
			"--gateway.http", freeAddr(t), "--gateway.grpc", freeAddr(t), "--auth", "keys", "--auth.admin-key-file", keyFile,
			"--reconcile.interval", "500ms", "--index", "sqlite://" + filepath.Join(dir, "index.db"),
			"--webhook.secret", "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			"--limit.bytes-per-day", "1000000000",
		},
	}
	p := connect(t, own["gateway"][3], "http://"+own["gateway"][1], filepath.Join(dir, "blobs"))
	for _, name := range []string{"index", "ocr", "render", "scan", "ingest", "gateway"} {
		startService(t, filepath.Join(bin, name), append([]string{
			"--nats", s.ClientURL(), "--nats.nkey", s.SeedFile(name), "--nats.provision=false", "--log.level", "ERROR",
			"--blobs", "file://" + filepath.Join(dir, "blobs") + "?fsync=off",
		}, own[name]...), p.disconnect)
	}
	var key []byte
	bustest.EventuallyWithin(t, patience, "the gateway has made the first key", func() bool {
		var err error
		key, err = os.ReadFile(keyFile)
		return err == nil && len(key) > 0
	})
	return p, metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+strings.TrimSpace(string(key)))
}

// exercise does what users do.
func exercise(ctx context.Context, t *testing.T, p *pipeline) {
	t.Helper()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	send := func(f pdftest.File, opts *inkstreamv1.JobOptions) *inkstreamv1.Job {
		t.Helper()
		j, err := p.upload(ctx, f.Name, f.PDF, opts)
		must("upload "+f.Name, err)
		return j
	}
	end := func(j *inkstreamv1.Job, want inkstreamv1.Job_State) {
		t.Helper()
		last, err := p.finish(ctx, j.GetId())
		if err != nil || last.GetState() != want {
			t.Errorf("job: %v, %v, %v, want %v", last.GetState(), last.GetError(), err, want)
		}
	}
	hook, err := p.CreateWebhook(ctx, &inkstreamv1.CreateWebhookRequest{Url: "https://hooks.invalid/"})
	must("create webhook", err)

	// Both lanes, recognition, and the same bytes once more.
	yes := proto.Bool(true)
	shared := send(pdftest.BornDigital(2), &inkstreamv1.JobOptions{Lane: "batch", Dedupe: yes, Languages: "eng"})
	scanned := send(scans(1), nil)
	batch := send(scans(1), &inkstreamv1.JobOptions{Lane: "batch"})
	end(shared, inkstreamv1.Job_SUCCEEDED)
	end(scanned, inkstreamv1.Job_SUCCEEDED)
	end(batch, inkstreamv1.Job_SUCCEEDED)
	end(send(pdftest.BornDigital(2), &inkstreamv1.JobOptions{Dedupe: yes, Languages: "eng"}), inkstreamv1.Job_SUCCEEDED)

	_, err = p.GetPageImage(ctx, &inkstreamv1.GetPageImageRequest{Id: shared.GetId(), Number: 1, Dpi: 20})
	must("page image", err)
	_, err = p.ListEvents(ctx, &inkstreamv1.ListEventsRequest{Id: shared.GetId()})
	must("events", err)
	_, err = p.ListStages(ctx, &inkstreamv1.ListStagesRequest{})
	must("stages", err)
	_, err = p.RetryJob(ctx, &inkstreamv1.RetryJobRequest{Id: shared.GetId(), All: true})
	must("retry", err)
	end(shared, inkstreamv1.Job_SUCCEEDED)
	_, err = p.DeleteJob(ctx, &inkstreamv1.DeleteJobRequest{Id: batch.GetId()})
	must("delete", err)
	cancelled := send(pdftest.ScannedFile(pdftest.ScanOptions{Pages: 8, DPI: 150}),
		&inkstreamv1.JobOptions{Lane: "batch", Dedupe: yes})
	_, err = p.CancelJob(ctx, &inkstreamv1.CancelJobRequest{Id: cancelled.GetId()})
	must("cancel", err)
	end(cancelled, inkstreamv1.Job_CANCELLED)
	exerciseAccess(ctx, t, p, must)
	_, err = p.ListWebhooks(ctx, &inkstreamv1.ListWebhooksRequest{})
	must("webhooks", err)
	_, err = p.DeleteWebhook(ctx, &inkstreamv1.DeleteWebhookRequest{Id: hook.GetId()})
	must("delete webhook", err)
	bustest.EventuallyWithin(t, patience, "the deleted job is gone for good",
		func() bool { return len(p.files(t, batch.GetId())) == 0 })
}

// exerciseAccess does what users do with keys, their own and those of uploads.
func exerciseAccess(ctx context.Context, t *testing.T, p *pipeline, must func(string, error)) {
	t.Helper()
	key, err := p.CreateKey(ctx, &inkstreamv1.CreateKeyRequest{Scopes: []string{"read"}, Name: "test"})
	must("create key", err)
	_, err = p.RotateKey(ctx, &inkstreamv1.RotateKeyRequest{Id: key.GetId()})
	must("rotate key", err)
	_, err = p.RevokeKey(ctx, &inkstreamv1.RevokeKeyRequest{Id: key.GetId()})
	must("revoke key", err)
	var ids []string
	for range 2 {
		f := pdftest.BornDigital(1)
		stream, err := p.UploadDocument(ctx)
		must("upload", err)
		must("send", stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{
			Metadata: &inkstreamv1.UploadMetadata{Filename: f.Name, IdempotencyKey: "once", Options: &inkstreamv1.JobOptions{}},
		}}))
		must("send",
			stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: f.PDF}}))
		j, err := stream.CloseAndRecv()
		must("upload", err)
		ids = append(ids, j.GetId())
	}
	if ids[0] != ids[1] {
		t.Errorf("two uploads under one idempotency key are jobs %q, want one", ids)
	}
}

// outsider makes what the services do not make of their own accord. It is the gateway to the broker, who may queue
// tasks.
type outsider struct {
	t    *testing.T
	s    *bustest.SecuredServer
	bus  *bus.Bus
	jobs *job.Store
	scan *job.Store // as scan
}

// orphan queues a task that no handler ever settles, until the broker gives it up.
func (o *outsider) orphan(s bus.Stage) {
	o.t.Helper()
	ctx := o.t.Context()
	if err := o.bus.Publish(ctx, bus.Message{Stage: s, Lane: bus.Batch, Unit: "orphan",
		Task: taskOf(s, job.NewID())}); err != nil {
		o.t.Fatal(err)
	}
	cons, err := o.s.Connect(o.t, string(s)).JetStream().Consumer(ctx, s.StreamName(), bus.DurableName(s, bus.Batch))
	if err != nil {
		o.t.Fatal(err)
	}
	for range everyTopology.MaxDeliver {
		batch, err := cons.Fetch(1)
		if err != nil {
			o.t.Fatal(err)
		}
		for msg := range batch.Messages() {
			if err := msg.Nak(); err != nil {
				o.t.Fatal(err)
			}
		}
	}
}

// taskOf returns a task of the stage for a job that has no document.
func taskOf(s bus.Stage, id job.ID) bus.Task {
	unit := &busv1.Unit{Tenant: job.DefaultTenant, Job: string(id), Run: 1}
	source := &busv1.Blob{Key: job.SourceKey(job.DefaultTenant, id)}
	switch s {
	case bus.Ingest:
		return &busv1.IngestTask{Unit: unit, Source: source}
	case bus.Scan:
		return &busv1.ScanTask{Unit: unit, Source: source}
	case bus.Render:
		return &busv1.RenderTask{Unit: unit, Source: source, FirstPage: 1, LastPage: 1}
	case bus.OCR:
		return &busv1.OcrTask{Unit: unit, Page: 1,
			Raster: &busv1.Blob{Key: job.RasterKey(job.DefaultTenant, id, 1, 1)}}
	}
	return &busv1.IndexTask{Unit: unit, Pages: []int32{1},
		Batch: &busv1.Blob{Key: job.BatchKey(job.DefaultTenant, id, 1, 0)}}
}

// running stores a job that runs, for which another one waits, and whose end an address that is never called is to be
// told of.
func (o *outsider) running() *job.Record {
	o.t.Helper()
	ctx := o.t.Context()
	id := job.NewID()
	sum := sha256.Sum256([]byte(id))
	rec := &job.Record{
		ID: id, Tenant: job.DefaultTenant, Run: 1, State: job.Running, Size: 1, SHA256: hex.EncodeToString(sum[:]),
		PageCount: 1, ChunkPages: 1, Window: 1,
		Options: job.Options{Lane: string(bus.Batch)}, CreateTime: time.Now(), StartTime: time.Now(),
		Webhook: "http://127.0.0.1:1/",
	}
	waits := *rec
	waits.ID, waits.State, waits.PageCount, waits.Webhook = job.NewID(), job.Pending, 0, ""
	waits.Options.Dedupe = job.TurnedOff()
	rec.Followers = []job.ID{waits.ID}
	err := errors.Join(o.jobs.CreateRecord(ctx, rec), o.jobs.CreateRecord(ctx, &waits))
	if _, cerr := o.jobs.ClaimContent(ctx, rec); cerr != nil || err != nil {
		o.t.Fatal(err, cerr)
	}
	// The gateway may not write progress; scan does.
	if err := o.scan.CreateProgress(ctx, rec.Tenant, rec.ID, job.NewProgress(1, 1)); err != nil {
		o.t.Fatal(err)
	}
	return rec
}

// giveUps has every stage give up a task, and every stage's dead letters retried.
func (o *outsider) giveUps(ctx context.Context, p *pipeline) {
	o.t.Helper()
	js := o.bus.JetStream()
	for _, s := range bus.AllStages() {
		broken := o.running()
		msg := nats.NewMsg("ink." + string(s) + ".interactive." + broken.Tenant + "." + string(broken.ID))
		msg.Data = []byte("no JSON")
		msg.Header.Set(jetstream.MsgIDHeader, string(broken.ID)+".1."+string(s)+".test")
		if _, err := js.PublishMsg(ctx, msg); err != nil {
			o.t.Fatal(err)
		}
		if j, err := p.finish(ctx, string(broken.ID)); err != nil || j.GetState() != inkstreamv1.Job_FAILED {
			o.t.Errorf("task of %s that does not decode: %v, %v, want FAILED", s, j.GetState(), err)
		}
		o.letter(s, o.running())
	}
	for _, l := range o.letters(ctx, p, "TEST") {
		if _, err := p.RetryDeadLetter(ctx, &inkstreamv1.RetryDeadLetterRequest{Id: l.GetId()}); err != nil {
			o.t.Errorf("retry of a dead letter of %s: %v", l.GetStage(), err)
		}
	}
	var calls []*inkstreamv1.DeadLetter
	bustest.EventuallyWithin(o.t, patience, "calls to a forbidden address are dead letters", func() bool {
		calls = o.letters(ctx, p, "WEBHOOK_FAILED")
		return len(calls) >= len(bus.AllStages())
	})
	if _, err := p.RetryDeadLetter(ctx, &inkstreamv1.RetryDeadLetterRequest{Id: calls[0].GetId()}); err != nil {
		o.t.Errorf("retry of a call: %v", err)
	}
	if _, err := p.DropDeadLetter(ctx, &inkstreamv1.DropDeadLetterRequest{Id: calls[1].GetId()}); err != nil {
		o.t.Errorf("drop of a call: %v", err)
	}
	if _, err := p.GetDeadLetter(ctx, &inkstreamv1.GetDeadLetterRequest{Id: calls[2].GetId()}); err != nil {
		o.t.Errorf("dead letter: %v", err)
	}
}

// letter stores a dead letter of the stage, as its service does.
func (o *outsider) letter(s bus.Stage, rec *job.Record) {
	o.t.Helper()
	data, err := protojson.Marshal(taskOf(s, rec.ID))
	if err != nil {
		o.t.Fatal(err)
	}
	msg := nats.NewMsg("ink.dlq." + string(s) + "." + rec.Tenant + "." + string(rec.ID))
	msg.Data = data
	msg.Header.Set(bus.HeaderReason, "TEST")
	msg.Header.Set(bus.HeaderRun, "1")
	msg.Header.Set(bus.HeaderSubject, "ink."+string(s)+".batch."+rec.Tenant+"."+string(rec.ID))
	msg.Header.Set(bus.HeaderMsgID, string(rec.ID)+".1."+string(s)+"."+jobs.PageUnitName(1))
	if _, err := o.bus.JetStream().PublishMsg(o.t.Context(), msg); err != nil {
		o.t.Fatal(err)
	}
}

// letters returns the dead letters with the code.
func (o *outsider) letters(ctx context.Context, p *pipeline, code string) []*inkstreamv1.DeadLetter {
	o.t.Helper()
	all, err := p.ListDeadLetters(ctx, &inkstreamv1.ListDeadLettersRequest{PageSize: 1000})
	if err != nil {
		o.t.Fatal(err)
	}
	return slices.DeleteFunc(all.GetDeadLetters(), func(l *inkstreamv1.DeadLetter) bool { return l.GetCode() != code })
}

// wantUsed holds what a service has said against what it may say: each permission was needed, but for those that
// seldom are.
func wantUsed(t *testing.T, user string, said []string) {
	t.Helper()
	if len(said) == 0 {
		t.Errorf("%s said nothing", user)
	}
	for _, g := range bus.PermissionsFor(user, 1).Publish {
		only := bus.Permissions{Publish: []bus.Grant{g}}
		if !g.Optional && !slices.ContainsFunc(said, only.CanPublish) {
			t.Errorf("%s may publish to %s (%s), and did not", user, g.Subject, g.Purpose)
		}
	}
}

// A service that runs as another one's user says so at its start, instead of waiting for what never comes.
func TestServiceAsAnotherUser(t *testing.T) {
	t.Parallel()
	s := bustest.NewSecuredServer(t)
	if err := s.Connect(t, bus.AdminUser).ProvisionWhenUp(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	bin := buildServices(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "ocr"), "--nats", s.ClientURL(), "--nats.nkey",
		s.SeedFile(string(bus.Scan)),
		"--nats.inbox-prefix", bus.InboxPrefix(string(bus.Scan)), "--nats.provision=false", "--blobs", "file://"+t.TempDir())
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("ocr as scan: %v, want exit code 1", err)
	}
	for _, want := range []string{"lacks permissions", "$JS.API.CONSUMER.MSG.NEXT.INK_OCR.ocr-batch",
		"inkstream nats-config"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("ocr as scan said %q, want %q", out, want)
		}
	}
}
