package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
)

// cutRecord returns a running job of 10 pages in chunks of 2, two in flight at once.
func cutRecord() *job.Record {
	rec := record()
	rec.State, rec.StartTime, rec.PageCount, rec.ChunkPages, rec.Window = job.Running, time.Now(), 10, 2, 2
	return rec
}

// pages returns a progress in which pages with an n are done.
func pages(run int, letters string) *job.Progress { return &job.Progress{Run: run, Pages: letters} }

func TestRequeueStalledJobs(t *testing.T) {
	t.Parallel()
	opened := func() *job.Record {
		rec := record()
		rec.State, rec.StartTime, rec.PageCount = job.Running, time.Now(), 10
		return rec
	}
	again := func(rec *job.Record) *job.Record {
		rec.Run = 2
		return rec
	}
	selected := cutRecord()
	selected.Options.Pages = "1-4"
	ended := cutRecord()
	ended.State, ended.EndTime = job.Succeeded, time.Now()
	f := newFixture(t)
	tests := []struct {
		name     string
		rec      *job.Record
		progress *job.Progress
		want     []string
	}{
		{"record without a message", record(), nil, []string{"1.ingest.document#"}},
		{"lost after ingest", opened(), nil, []string{"1.scan.document#"}},
		{"cut, progress missing", selected, nil, []string{"1.scan.document#"}},
		{"cut, no page has ended", cutRecord(), nil, []string{"1.render.chunk-0#", "1.render.chunk-1#"}},
		{"progress made, not yet cut", opened(), pages(1, ".........."), []string{"1.scan.document#"}},
		{"lost after scan", cutRecord(), pages(1, ".........."), []string{"1.render.chunk-0#", "1.render.chunk-1#"}},
		{"lost with a chunk half done", cutRecord(), pages(1, "n........."),
			[]string{"1.render.chunk-0#", "1.render.chunk-1#"}},
		{"lost when a chunk released the next", cutRecord(), pages(1, "nn........"),
			[]string{"1.render.chunk-1#", "1.render.chunk-2#"}},
		{"last chunk of one turn", cutRecord(), pages(1, "nnbbnnoo.."), []string{"1.render.chunk-4#"}},
		{"lost before the end", cutRecord(), pages(1, "nnnnnnnnnf"), []string{"1.index.finalise#"}},
		{"second run, progress not taken over", again(cutRecord()), pages(1, "nnnnnnnnnf"), []string{"2.scan.document#"}},
		{"second run of one failed page", again(cutRecord()), pages(2, "nnnnnnnnn."), []string{"2.render.chunk-4#"}},
		{"ended", ended, pages(1, "nnnnnnnnnn"), nil},
	}
	for _, tt := range tests {
		f.create(tt.rec)
		if tt.progress != nil {
			if err := f.env.Jobs.CreateProgress(t.Context(), tt.rec.Tenant, tt.rec.ID, tt.progress); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(when string, want func(i int) []string) {
		t.Helper()
		for i, tt := range tests {
			checkNames(t, when+": "+tt.name, f.tasks(tt.rec.ID), want(i))
		}
	}
	report := f.runPass()
	check("within the patience", func(int) []string { return nil })
	if want := len(tests) - 1; report.Open != want {
		t.Errorf("open jobs: got %d, want %d", report.Open, want)
	}

	// What a client may wait for the first step of is looked after sooner than what stands still on its way.
	f.ahead = 15 * time.Second
	report = f.runPass()
	unstarted := func(i int) bool { return tests[i].name == "record without a message" }
	check("unstarted", func(i int) []string {
		if unstarted(i) {
			return tests[i].want
		}
		return nil
	})
	if report.Republished != 1 {
		t.Errorf("unstarted jobs that were queued: got %d, want 1", report.Republished)
	}

	f.ahead = 3 * time.Minute
	report = f.runPass()
	check("standing still", func(i int) []string { return tests[i].want })
	if want := len(tests) - 2; report.Republished != want { // one has ended, one is queued already
		t.Errorf("republished: got %d, want %d", report.Republished, want)
	}

	f.ahead = 6 * time.Minute
	report = f.runPass()
	check("queued", func(i int) []string { return tests[i].want })
	if report.Republished != 0 {
		t.Errorf("republished though queued: got %d, want 0", report.Republished)
	}

	f.purgeQueues()
	f.ahead = 9 * time.Minute
	f.runPass()
	check("lost again within the broker's memory of ids", func(i int) []string { return tests[i].want })
}

// A job that waits for another one's results is left alone as long as that one is at work. If two jobs say that they
// wait for each other, only the reconciler can move them.
func TestWaitsForLeader(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	following := func(leader *job.Record) *job.Record {
		rec := record()
		if leader != nil {
			rec.Follows = leader.ID
		}
		return rec
	}
	busy := cutRecord()
	ended := cutRecord()
	ended.State, ended.EndTime = job.Failed, time.Now()
	one := following(nil)
	other := following(one)
	one.Follows = other.ID
	unknown := following(record())
	tests := []struct {
		name string
		rec  *job.Record
		want []string
	}{
		{"of a job at work", following(busy), nil},
		{"of one that has ended", following(ended), []string{"1.ingest.document#"}},
		{"of one that there is not", unknown, []string{"1.ingest.document#"}},
		{"of a follower that is about to move", following(unknown), nil},
		{"one of two", one, []string{"1.ingest.document#"}},
		{"the other of two", other, []string{"1.ingest.document#"}},
		{"of one of two", following(one), nil},
	}
	f.create(busy)
	f.create(ended)
	for _, tt := range tests {
		f.create(tt.rec)
	}
	f.ahead = 3 * time.Minute
	f.runPass()
	for _, tt := range tests {
		checkNames(t, tt.name, f.tasks(tt.rec.ID), tt.want)
	}
}

// A process that starts another run may die before it publishes the event of that, whatever part of the job that run
// repeats.
func TestFirstEventOfAnotherRunIsPublished(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, tt := range []struct {
		name     string
		progress *job.Progress
		want     []string
	}{
		{"not yet taken over", pages(1, "nnnnnnnnnf"), []string{"2.event.retried..0."}},
		{"under way", pages(2, "nnnnnnnnn."), nil},
	} {
		rec := cutRecord()
		rec.Run = 2
		f.create(rec)
		if err := f.env.Jobs.CreateProgress(t.Context(), rec.Tenant, rec.ID, tt.progress); err != nil {
			t.Fatal(err)
		}
		f.ahead += 3 * time.Minute
		f.runPass()
		checkNames(t, tt.name, f.messages(bus.EventStream, rec.ID), tt.want)
	}
}

// Progress is written without the record, and a job that makes progress is left alone.
func TestProgressCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rec := cutRecord()
	f.create(rec)
	f.runPass()
	created, err := f.env.Bus.OpenJobBucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entry, err := created.Get(t.Context(), "job."+rec.Tenant+"."+string(rec.ID))
	if err != nil {
		t.Fatal(err)
	}
	// The clock stands so that the record is just too old, and the progress, which comes after it, is not.
	if err := f.env.Jobs.CreateProgress(t.Context(), rec.Tenant, rec.ID, pages(1, "..........")); err != nil {
		t.Fatal(err)
	}
	at := entry.Created().Add(f.cfg.Patience + time.Nanosecond)
	f.now = func() time.Time { return at }
	if report := f.runPass(); report.Republished != 0 {
		t.Errorf("republished: got %d, want 0", report.Republished)
	}
	at = at.Add(time.Hour)
	if report := f.runPass(); report.Republished != 1 {
		t.Errorf("republished an hour later: got %d, want 1", report.Republished)
	}
}

func TestSeveralReconcilersAtOnce(t *testing.T) {
	t.Parallel()
	one := newFixture(t)
	rec := cutRecord()
	one.create(rec)
	if err := one.env.Jobs.CreateProgress(t.Context(), rec.Tenant, rec.ID, pages(1, "..........")); err != nil {
		t.Fatal(err)
	}
	pass := func(ahead time.Duration) {
		t.Helper()
		at := time.Now().Add(ahead)
		var wg sync.WaitGroup
		for range 5 {
			f := fixtureOver(t, one.env, one.index)
			f.now = func() time.Time { return at }
			wg.Go(func() {
				if _, err := f.RunPass(t.Context()); err != nil {
					t.Errorf("RunPass: %v", err)
				}
			})
		}
		wg.Wait()
	}
	pass(time.Hour)
	checkNames(t, "tasks", one.tasks(rec.ID), []string{"1.render.chunk-0#", "1.render.chunk-1#"})
	up := manifest(nil)
	one.storeUpload(up)
	// The upload is old enough, and the record that one of them makes of it does not look to another as if it stood still.
	pass((one.cfg.UploadGrace + one.cfg.Patience) / 2)
	checkNames(t, "tasks of the upload", one.tasks(up.Job), []string{"1.ingest.document"})
}

// No process can repair a corrupt record, and it must not keep the others from being repaired.
func TestCorruptRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kv, err := f.env.Bus.OpenJobBucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), "job.default."+string(job.NewID()), []byte("{")); err != nil {
		t.Fatal(err)
	}
	f.create(record())
	f.ahead = time.Hour
	if report := f.runPass(); report.Republished != 1 {
		t.Errorf("republished: got %d, want 1", report.Republished)
	}
}

// finishedRecord stores an ended job with all that it may have.
func finishedRecord(f *fixture, change func(*job.Record)) *job.Record {
	f.t.Helper()
	rec := cutRecord()
	rec.State, rec.EndTime = job.Partial, time.Now()
	if change != nil {
		change(rec)
	}
	f.create(rec)
	if err := f.env.Jobs.CreateProgress(f.t.Context(), rec.Tenant, rec.ID, pages(1, "nnnnnnnnnn")); err != nil {
		f.t.Fatal(err)
	}
	f.put(job.SourceKey(rec.Tenant, rec.ID), "pdf")
	f.put(job.ArtifactKey(rec.Tenant, rec.ID, 1, "text.txt"), "text")
	f.put(job.RasterKey(rec.Tenant, rec.ID, 1, 1), "raster")
	return rec
}

func TestRetention(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	f := newFixture(t)
	rec := finishedRecord(f, func(r *job.Record) { r.ExpireTime = time.Now().Add(10 * day) })
	f.runPass()
	if got := f.blobs(rec.ID); len(got) != 3 {
		t.Errorf("just ended: got %q, want all blobs", got)
	}

	f.ahead = 3 * time.Minute
	if report := f.runPass(); report.Tidied != 1 {
		t.Errorf("tidied: got %d, want 1", report.Tidied)
	}
	checkNames(t, "after a while", f.blobs(rec.ID), []string{"run-1/artifacts/text.txt", "source.pdf"})

	f.ahead = 11 * day
	f.index.err = errors.New("the index is away")
	if _, err := f.RunPass(t.Context()); err == nil {
		t.Error("with the index away: got no error")
	}
	if got := f.load(rec.ID); got.State != job.Expired || got.IsTombstone() {
		t.Errorf("removal cut: got %s, buried %t, want EXPIRED and no tombstone yet", got.State, got.IsTombstone())
	}
	f.index.err = nil
	f.ahead += 5 * time.Minute
	f.runPass()
	if got := f.load(rec.ID); got == nil || got.State != job.Expired || !got.IsTombstone() {
		t.Errorf("retention over: got %+v, want a tombstone", got)
	}
	checkNames(t, "blobs", f.blobs(rec.ID), nil)
	checkNames(t, "rows removed of", slices.Compact(f.index.removed), []string{string(rec.ID)})
	if _, err := f.env.Jobs.LoadProgress(t.Context(), rec.Tenant, rec.ID); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("progress: got %v, want none", err)
	}
	events := f.messages(bus.EventStream, rec.ID)
	if len(events) != 1 || !strings.Contains(events[0], "event.expired") {
		t.Errorf("events: got %q, want expired", events)
	}

	f.ahead = 80 * day
	f.runPass()
	if got := f.load(rec.ID); got != nil {
		t.Errorf("long after: got %+v, want the tombstone forgotten", got)
	}
	if report := f.runPass(); report != (Report{}) {
		t.Errorf("at last: got %+v, want nothing to do", report)
	}
}

// A record that was written while the broker's clock was ahead must not keep its job from being seen to until that
// time comes.
func TestRecordWithFutureTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rec := record() // and its message got lost
	f.create(rec)
	f.ahead = -time.Minute
	f.runPass()
	checkNames(t, "tasks when it is a little ahead", f.tasks(rec.ID), nil)
	f.ahead = -24 * time.Hour
	f.runPass()
	checkNames(t, "tasks when it is a day ahead", f.tasks(rec.ID), []string{"1.ingest.document#"})
}

// A client may start another run of a job during the cleanup after its last one.
func TestTempCleanupLeavesTheNextRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rec := finishedRecord(f, nil)
	f.put(job.RasterKey(rec.Tenant, rec.ID, 1, 1), "a straggler's")
	blobs, next := f.env.Blobs, job.RasterKey(rec.Tenant, rec.ID, 2, 1)
	f.Reconciler.deps.Blobs = blobtest.NewFaultyStore(blobs, func(op blobtest.Op, _ string) blobtest.Fault {
		if op == blobtest.Delete {
			return blobtest.Fault{Err: blobs.PutBytes(t.Context(), next, []byte("x"), "")}
		}
		return blobtest.Fault{}
	})
	f.ahead = f.cfg.Patience + time.Second
	if report := f.runPass(); report.Tidied != 1 {
		t.Errorf("tidied: got %d, want 1", report.Tidied)
	}
	left := slices.DeleteFunc(f.blobs(rec.ID), func(name string) bool { return !strings.HasPrefix(name, "tmp/") })
	checkNames(t, "temporary blobs", left, []string{strings.TrimPrefix(next, job.Folder(rec.Tenant, rec.ID))})
}

func TestProcessExpiries(t *testing.T) {
	t.Parallel()
	past := time.Now().Add(-time.Minute)
	for _, tt := range []struct {
		name    string
		change  func(*job.Record)
		noIndex bool
		state   job.State
		buried  bool
		tasks   []string
	}{
		{name: "kept for ever", change: func(r *job.Record) { r.ExpireTime = time.Time{} }, state: job.Partial},
		{name: "not over yet", state: job.Partial},
		{name: "running, but over",
			change: func(r *job.Record) { r.State, r.ExpireTime, r.EndTime = job.Running, past, time.Time{} },
			state:  job.Running},
		{name: "over", change: func(r *job.Record) { r.ExpireTime = past }, state: job.Expired, buried: true},
		{name: "over, without an index", change: func(r *job.Record) { r.ExpireTime = past }, noIndex: true,
			state: job.Expired, tasks: []string{"1.index.remove#"}},
		{name: "deletion cut", change: func(r *job.Record) { r.State = job.Deleted }, state: job.Deleted,
			buried: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if tt.noIndex {
				f = fixtureOver(t, f.env, nil)
			}
			rec := finishedRecord(f, tt.change)
			f.ahead = 90 * time.Second
			f.runPass()
			got := f.load(rec.ID)
			if got.State != tt.state || got.IsTombstone() != tt.buried {
				t.Errorf("got %s, buried %t, want %s, %t", got.State, got.IsTombstone(), tt.state, tt.buried)
			}
			if left := len(f.blobs(rec.ID)) > 0; left == tt.buried {
				t.Errorf("blobs left: %t, want %t", left, !tt.buried)
			}
			checkNames(t, "tasks", f.tasks(rec.ID), tt.tasks)
		})
	}
}

func TestRemoveRefusesARunningJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rec := record()
	f.create(rec)
	if _, err := f.env.JobService().RemoveJob(t.Context(), rec, job.Deleted, f.index); err == nil {
		t.Error("got no error")
	}
	if got := f.load(rec.ID); got.State != job.Pending {
		t.Errorf("state: got %s, want PENDING", got.State)
	}
}

// A task that kills every handler that takes it up ends its job, once the broker has given it up.
func TestOrphanEndsItsJob(t *testing.T) {
	t.Parallel()
	f := newFixtureOn(t, bus.Topology{AckWait: 100 * time.Millisecond, MaxDeliver: 2})
	rec := cutRecord()
	f.create(rec)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx, func() {}) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()

	if err := f.env.Bus.Publish(t.Context(), jobs.RenderMessage(rec, bus.Interactive, 0, 0)); err != nil {
		t.Fatal(err)
	}
	cons, err := f.env.Bus.JetStream().Consumer(t.Context(), bus.Render.StreamName(),
		bus.DurableName(bus.Render, bus.Interactive))
	if err != nil {
		t.Fatal(err)
	}
	var got *job.Record
	bustest.Eventually(t, "the job ends", func() bool {
		// Each fetch takes the task up and dies.
		if _, err := cons.FetchNoWait(1); err != nil && !errors.Is(err, jetstream.ErrNoMessages) {
			t.Fatal(err)
		}
		got = f.load(rec.ID)
		return got.State.HasEnded()
	})
	if got.State != job.Failed || got.Error == nil || got.Error.Code != fault.RetriesSpent || got.Error.Stage != "render" {
		t.Errorf("got %s with %+v, want FAILED with RETRIES_SPENT at render", got.State, got.Error)
	}
	bustest.Eventually(t, "the queue is empty", func() bool { return len(f.tasks(rec.ID)) == 0 })
	bustest.Eventually(t, "the end is in the audit trail", func() bool {
		return slices.ContainsFunc(f.messages(bus.EventStream, rec.ID),
			func(id string) bool { return strings.Contains(id, "event.ended") })
	})
}

// A janitor that dies before the orphan is deleted leaves it to another, which may come by much later.
func TestEndOfOrphanedJobIsPublishedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rec := cutRecord()
	f.create(rec)
	o := bus.Orphan{Stage: bus.Render, Tenant: rec.Tenant, Job: string(rec.ID), Run: 1,
		ID: string(rec.ID) + ".1.render.chunk-0"}
	for range 2 {
		if err := f.endOrphanedJob(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		bustest.ExpireMessageIDs(t, f.env.Bus, bus.EventStream)
	}
	ends := slices.DeleteFunc(f.messages(bus.EventStream, rec.ID),
		func(id string) bool { return !strings.Contains(id, "event.ended") })
	if len(ends) != 1 {
		t.Errorf("got ends %q, want one", ends)
	}
}

// A worker that was at a job when that was removed may have written since, and died.
func TestLeftoversOfARemovedJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rec := record()
	f.create(rec)
	f.runPass()
	if _, err := f.env.JobService().DeleteJob(t.Context(), rec.Tenant, rec.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := f.env.JobService().RemoveJob(t.Context(), f.load(rec.ID), job.Deleted, f.index); err != nil {
		t.Fatal(err)
	}
	f.put("default/"+string(rec.ID)+"/run-1/artifacts/images/1-1.png", "what a deleted document shows")
	f.index.removed = nil
	f.runPass()
	if got := f.blobs(rec.ID); len(got) != 1 {
		t.Errorf("just removed: got %q, want it left alone", got)
	}
	f.ahead = 3 * time.Minute
	f.runPass()
	checkNames(t, "blobs", f.blobs(rec.ID), nil)
	checkNames(t, "rows removed of", f.index.removed, []string{string(rec.ID)})
}
