package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
)

// uploadCase is what an upload that died may leave.
type uploadCase struct {
	name string
	// leave stores it and returns its id.
	leave func(f *fixture) job.ID
	// age is how old it is when the reconciler passes.
	age time.Duration
	// job says that a job is made of it, kept that its blobs stay as they are.
	job, kept bool
}

func uploadCases() []uploadCase {
	left := func(change func(*job.Manifest)) func(*fixture) job.ID {
		return func(f *fixture) job.ID {
			m := manifest(change)
			f.storeUpload(m)
			return m.Job
		}
	}
	without := func(name string) func(*fixture) job.ID {
		return func(f *fixture) job.ID {
			id := left(nil)(f)
			if err := f.env.Blobs.Delete(f.t.Context(), job.Folder(job.DefaultTenant, id)+name); err != nil {
				f.t.Fatal(err)
			}
			return id
		}
	}
	withRecord := func(change func(*job.Record)) func(*fixture) job.ID {
		return func(f *fixture) job.ID {
			rec := record()
			change(rec)
			f.storeUpload(manifest(func(m *job.Manifest) { m.Job = rec.ID }))
			f.create(rec)
			return rec.ID
		}
	}
	const young, minutes, hours = 10 * time.Second, 150 * time.Second, 3 * time.Hour
	return []uploadCase{
		{"manifest without a record", left(nil), minutes, true, true},
		{"upload under way", left(nil), young, false, true},
		{"retention over", left(func(m *job.Manifest) { m.ExpireTime = time.Now() }), minutes, false, false},
		{"no manifest yet", without("manifest.json"), minutes, false, true},
		{"no manifest at all", without("manifest.json"), hours, false, false},
		{"document missing", without("source.pdf"), minutes, false, true},
		{"document missing for good", without("source.pdf"), hours, false, false},
		{"another's manifest", func(f *fixture) job.ID {
			id := job.NewID()
			f.put(job.ManifestKey(job.DefaultTenant, id), `{"tenant":"default","job":"x"}`)
			return id
		}, hours, false, false},
		{"manifest cut", func(f *fixture) job.ID {
			id := left(nil)(f)
			f.put(job.ManifestKey(job.DefaultTenant, id), "{")
			return id
		}, hours, false, false},
		{"written after the job was removed", withRecord(func(r *job.Record) {
			r.State, r.SHA256, r.ExpireTime = job.Deleted, "", time.Now().Add(job.TombstoneTTL)
		}), hours, false, false},
		{"a job's own", withRecord(func(r *job.Record) { r.State = job.Succeeded }), hours, false, true},
	}
}

func TestUploadSweep(t *testing.T) {
	t.Parallel()
	for _, tt := range uploadCases() {
		// A reconciler that starts after the crash lists everything; one that was there looks at what is old enough by now.
		for _, running := range []bool{false, true} {
			name := tt.name + ", seen at start"
			if running {
				name = tt.name + ", seen while running"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				if running {
					f.runPass()
				}
				f.put("default/README.txt", "somebody's note")
				id := tt.leave(f)
				before := f.blobs(id)
				f.ahead = tt.age
				hadRecord := f.load(id) != nil
				f.runPass()
				f.runPass()
				tt.check(t, f, id, hadRecord, before)
			})
		}
	}
}

func (tt *uploadCase) check(t *testing.T, f *fixture, id job.ID, hadRecord bool, before []string) {
	t.Helper()
	want := before
	if !tt.kept {
		want = nil
	}
	checkNames(t, "blobs", f.blobs(id), want)
	if ok, err := f.env.Blobs.BlobExists(t.Context(), "default/README.txt"); err != nil || !ok {
		t.Errorf("the file that belongs to no job: got %t, %v, want it kept", ok, err)
	}
	rec := f.load(id)
	discarded := !tt.kept && !hadRecord
	if (rec != nil) != (tt.job || hadRecord || discarded) || rec != nil && rec.NeverCreated() != discarded {
		t.Fatalf("record: got %+v, want one: %t, a tombstone: %t", rec, tt.job, discarded)
	}
	if !tt.job {
		return
	}
	if rec.State != job.Pending || rec.Run != 1 || rec.Size != 7 || rec.SHA256 != "ab" || rec.Filename != "a.pdf" ||
		rec.Lane() != "batch" {
		t.Errorf("record: got %+v, want what the manifest says", rec)
	}
	checkNames(t, "tasks", f.tasks(id), []string{"1.ingest.document"})
	events := f.messages(bus.EventStream, id)
	if len(events) != 1 || !strings.Contains(events[0], "event.uploaded") {
		t.Errorf("events: got %q, want uploaded, once", events)
	}
}

// An upload that takes an hour is not there yet when its id is first looked at; the second look finds it.
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := manifest(nil)
	f.runPass()
	f.ahead = 10 * time.Minute
	f.runPass()
	f.storeUpload(m)
	made := 0
	for f.ahead < 4*time.Hour {
		f.ahead += 10 * time.Minute
		made += f.runPass().Recreated
	}
	if made != 1 {
		t.Errorf("jobs made: got %d, want 1", made)
	}
}

func TestSpanPrefix(t *testing.T) {
	t.Parallel()
	id := job.NewID()
	made, err := ulid.ParseStrict(string(id))
	if err != nil {
		t.Fatal(err)
	}
	key := job.SourceKey("acme", id)
	for _, bits := range []int{earlySpanBits, lateSpanBits} {
		span := int64(made.Time()) >> bits
		for _, other := range []int64{-1, 0, 1} {
			prefix := spanPrefix("acme", span+other, bits)
			if got, want := strings.HasPrefix(key, prefix), other == 0; got != want {
				t.Errorf("%d bits, span %+d: %q begins with %q: got %t, want %t", bits, other, key, prefix, got, want)
			}
		}
	}
}

// An upload that is acknowledged and waits for ingest has no manifest. If the broker's store is lost at that time, only
// the document is left of the upload, and the document is older than the new bucket of jobs.
func TestDocumentsOfLostJobs(t *testing.T) {
	t.Parallel()
	const data = "%PDF lost"
	digest := sha256.Sum256([]byte(data))
	for _, tt := range []struct {
		name string
		// before is stored under the job's id before the bucket is lost, after when there is a new one.
		before, after string
		age           time.Duration
		made, kept    bool
	}{
		{name: "acknowledged", before: "source.pdf", age: 3 * time.Hour, made: true, kept: true},
		{name: "perhaps under way", before: "source.pdf", age: 30 * time.Minute, kept: true},
		{name: "never complete", before: "source.pdf.part", age: 3 * time.Hour},
		{name: "restored from a backup", after: "source.pdf", age: 3 * time.Hour, made: true, kept: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id := job.NewID()
			store := func(name string) {
				if name != "" {
					f.put(job.Folder(job.DefaultTenant, id)+name, data)
				}
			}
			store(tt.before)
			f.loseBucket()
			store(tt.after)
			young := job.NewID() // died before it had a record
			f.put(job.SourceKey(job.DefaultTenant, young), data)
			f.ahead = tt.age
			f.runPass()
			if f.ahead > time.Hour {
				checkNames(t, "blobs of an upload that is younger than the bucket", f.blobs(young), nil)
			}
			if got := len(f.blobs(id)) > 0; got != tt.kept {
				t.Errorf("the document is there: got %t, want %t", got, tt.kept)
			}
			rec := f.load(id)
			if made := rec != nil && !rec.NeverCreated(); made != tt.made {
				t.Fatalf("got %+v, want a record: %t", rec, tt.made)
			}
			if other := f.load(young); other != nil && !other.NeverCreated() {
				t.Fatalf("got %+v of an upload that never was complete", other)
			}
			if !tt.made {
				return
			}
			if rec.State != job.Pending || rec.Run != 1 || int(rec.Size) != len(data) ||
				rec.SHA256 != hex.EncodeToString(digest[:]) || rec.Lane() != "interactive" {
				t.Errorf("got %+v, want the job that the document tells of", rec)
			}
			if age := time.Since(rec.CreateTime); age < 0 || age > time.Minute {
				t.Errorf("created at %s, want when the id was made", rec.CreateTime)
			}
			checkNames(t, "tasks", f.tasks(id), []string{"1.ingest.document"})
			events, _, err := f.env.Bus.ListEvents(t.Context(), job.DefaultTenant, string(id), 0, 10)
			if err != nil || len(events) != 1 || events[0].GetType() != "uploaded" ||
				events[0].GetAttributes()["recovered"] != "true" {
				t.Errorf("events: got %v, %v, want that it was recovered", events, err)
			}
			if again := f.runPass(); again.Recreated+again.Discarded > 0 {
				t.Errorf("the next pass: got %+v, want nothing to do", again)
			}
		})
	}
}

// loseBucket puts an empty bucket of jobs in the place of the one that is there.
func (f *fixture) loseBucket() {
	f.t.Helper()
	if err := f.env.Bus.JetStream().DeleteKeyValue(f.t.Context(), bus.JobBucket); err != nil {
		f.t.Fatal(err)
	}
	if err := f.env.Bus.Provision(f.t.Context(), bus.Topology{AckWait: time.Second}); err != nil {
		f.t.Fatal(err)
	}
}

// The place of a record that must not come any more is kept as long as anything names it, and what its upload has
// stored goes.
func TestUploadWithTombstone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := manifest(nil)
	f.put(job.SourceKey(m.Tenant, m.Job), "%PDF")
	stone, err := f.env.Jobs.CreateTombstone(t.Context(), m.Tenant, m.Job, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f.ahead = 3 * time.Hour
	f.runPass()
	checkNames(t, "blobs", f.blobs(m.Job), nil)
	if rec := f.load(m.Job); rec == nil || !rec.NeverCreated() {
		t.Errorf("got %+v, want the tombstone", rec)
	}
	checkNames(t, "events", f.messages(bus.EventStream, m.Job), nil)
	f.ahead = time.Until(stone.ExpireTime) + time.Minute
	f.runPass()
	if rec := f.load(m.Job); rec != nil {
		t.Errorf("got %+v, want it forgotten", rec)
	}
}

// An upload that is slower than every bound finds its id taken when it writes its record.
func TestDiscardedUploadGetsNoRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	slow := record()
	f.put(job.SourceKey(slow.Tenant, slow.ID), "%PDF")
	f.ahead = 3 * time.Hour
	if got := f.runPass().Discarded; got != 1 {
		t.Fatalf("discarded %d folders, want 1", got)
	}
	checkNames(t, "blobs", f.blobs(slow.ID), nil)
	if err := f.env.Jobs.CreateRecord(t.Context(), slow); !errors.Is(err, job.ErrExists) {
		t.Errorf("Create: got %v, want %v", err, job.ErrExists)
	}
	if again := f.runPass().Discarded; again != 0 {
		t.Errorf("the next pass discarded %d folders, want none", again)
	}
}

// An upload that writes its record after the reconciler has looked, and before it discards, keeps its document.
func TestUploadThatIsFasterThanDiscard(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rec := record()
	f.put(job.SourceKey(rec.Tenant, rec.ID), "%PDF")
	at := jobFolder{ref: bus.JobRef{Tenant: rec.Tenant, Job: string(rec.ID)}, hasSource: true}
	f.create(rec)
	var report Report
	sweep := folderSweep{r: f.Reconciler, report: &report}
	if err := sweep.discardFolder(t.Context(), at, "the upload was never complete"); err != nil ||
		report.Discarded != 0 {
		t.Errorf("discard: got %+v, %v, want nothing done", report, err)
	}
	checkNames(t, "blobs", f.blobs(rec.ID), []string{"source.pdf"})
}

// The broker's store may be replaced by an older copy while nothing runs. Then the blob store tells that there were
// jobs which the copy lacks; and a process that starts later, or makes another pass, still knows.
func TestDocumentsMissingFromOlderCopy(t *testing.T) {
	t.Parallel()
	const data = "%PDF lost"
	broker := bustest.NewBroker(t)
	b := broker.Connect()
	answers := func() {
		bustest.EventuallyWithin(t, 20*time.Second, "the broker answers",
			func() bool { return b.CheckServer(t.Context()) == nil })
	}
	answers()
	if err := b.Provision(t.Context(), bus.Topology{AckWait: time.Second}); err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.NewDiscard()
	f := fixtureOver(t, stage.Deps{Bus: b, Jobs: bustest.NewJobStore(t, b), Blobs: blobs, Tel: tel, Log: tel.Log},
		&fakeIndex{})
	f.create(record())
	f.runPass()
	backup := broker.BackupFiles()
	answers()
	acknowledged := record()
	f.put(job.SourceKey(job.DefaultTenant, acknowledged.ID), data)
	f.create(acknowledged)
	f.runPass()

	broker.RestoreFiles(backup)
	answers()
	for range 50 { // other services were faster
		f.create(record())
	}
	first := fixtureOver(t, f.env, f.index)
	first.runPass()
	young := job.NewID() // died before it had a record
	f.put(job.SourceKey(job.DefaultTenant, young), data)
	for _, later := range []*fixture{first, fixtureOver(t, f.env, f.index)} {
		later.ahead = 3 * time.Hour
		later.runPass()
		checkNames(t, "blobs", later.blobs(acknowledged.ID), []string{"source.pdf"})
		if rec := later.load(acknowledged.ID); rec == nil || rec.State != job.Pending || int(rec.Size) != len(data) {
			t.Fatalf("got %+v, want the job that the document tells of", rec)
		}
		checkNames(t, "blobs of an upload that began afterwards", later.blobs(young), nil)
	}
	if m, err := LoadRestoreMarker(t.Context(), f.env.Blobs); err != nil || m.Restored.IsZero() {
		t.Errorf("got mark %+v, %v, want it to tell of the older copy", m, err)
	}
}

// While it is unknown whether the broker's store is an older copy, nothing is discarded.
func TestNothingIsDiscardedWithoutRestoreMarker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := job.NewID()
	f.put(job.Folder(job.DefaultTenant, id)+"source.pdf.part", "%PDF")
	f.put(restoreMarkerKey, "{")
	f.ahead = 3 * time.Hour
	if _, err := f.RunPass(t.Context()); err == nil || !strings.Contains(err.Error(), restoreMarkerKey) {
		t.Errorf("got %v, want an error that names %s", err, restoreMarkerKey)
	}
	checkNames(t, "blobs", f.blobs(id), []string{"source.pdf.part"})
	if err := f.env.Blobs.Delete(t.Context(), restoreMarkerKey); err != nil {
		t.Fatal(err)
	}
	f.runPass()
	checkNames(t, "blobs", f.blobs(id), nil)
}
