package projection_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/search"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newIndex(t *testing.T) search.Store {
	t.Helper()
	s, err := search.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// states returns the jobs of a list with their states.
func states(t *testing.T, s search.Store) map[string]string {
	t.Helper()
	page, err := s.ListJobs(context.WithoutCancel(t.Context()), search.JobQuery{Tenant: "acme", Limit: search.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range page.Jobs {
		out[d.Job] = d.State
	}
	return out
}

func await(t *testing.T, s search.Store, id, state string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for states(t, s)[id] != state {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("state of %s in the index: got %q, want %q", id, states(t, s)[id], state)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v, want none", err)
	}
}

func TestProjectorFollowsTheRecords(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	kv, err := b.OpenJobBucket(t.Context())
	must(t, err)
	jobs, index := job.NewStore(kv), newIndex(t)
	record := func(id job.ID) *job.Record {
		return &job.Record{ID: id, Tenant: "acme", Run: 1, State: job.Pending, Filename: "a.pdf", SHA256: "ab",
			CreateTime: time.Now(), Labels: map[string]string{"team": "ops"}, Batch: "b1"}
	}
	must(t, jobs.CreateRecord(t.Context(), record("before")))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- projection.New(jobs, b, index, slog.New(slog.DiscardHandler)).Run(ctx, func() {}) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: got %v, want a clean stop", err)
		}
	})
	await(t, index, "before", "PENDING")
	must(t, jobs.CreateRecord(t.Context(), record("later")))
	await(t, index, "later", "PENDING")
	_, err = jobs.UpdateRecord(t.Context(), "acme", "later",
		func(r *job.Record) error { return r.Transition(job.Running, time.Now()) })
	must(t, err)
	await(t, index, "later", "RUNNING")
	labelled, err := index.ListJobs(t.Context(), search.JobQuery{Tenant: "acme", Filter: search.Filter{
		Labels: map[string]string{"team": "ops", job.BatchLabel: "b1"},
	}})
	if err != nil || len(labelled.Jobs) != 2 {
		t.Errorf("jobs with their labels in the index: got %v, %v, want two", labelled.Jobs, err)
	}
}

func TestProjectorFollowsTheTrail(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	kv, err := b.OpenJobBucket(t.Context())
	must(t, err)
	jobs, index := job.NewStore(kv), newIndex(t)
	say := func(id job.ID, kind string) {
		t.Helper()
		must(t, b.PublishEvent(t.Context(), &busv1.Event{Tenant: "acme", Job: string(id), Run: 1, Type: kind,
			Attributes: map[string]string{"n": "1"}}))
	}
	trail := func(s search.Store, id job.ID) string {
		t.Helper()
		events, err := s.JobEvents(context.WithoutCancel(t.Context()), "acme", string(id))
		must(t, err)
		var kinds []string
		for _, e := range events {
			kinds = append(kinds, e.Type)
		}
		return strings.Join(kinds, " ")
	}
	wantTrail := func(id job.ID, want string) {
		t.Helper()
		bustest.EventuallyWithin(t, 30*time.Second, "the index has the audit trail "+want,
			func() bool { return trail(index, id) == want })
	}
	run := func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- projection.New(jobs, b, index, slog.New(slog.DiscardHandler)).Run(ctx, func() {}) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: got %v, want a clean stop", err)
			}
		}
	}
	say("a", "uploaded")
	stop := run()
	wantTrail("a", "uploaded")
	say("a", "ended")
	say("b", "uploaded")
	wantTrail("b", "uploaded")
	stop()
	say("a", "deleted") // while no Projector runs
	stop = run()
	wantTrail("a", "deleted")
	stop()

	// Another stream begins with other events.
	must(t, b.JetStream().DeleteStream(t.Context(), bus.EventStream))
	must(t, b.Provision(t.Context(), bus.Topology{}))
	say("c", "uploaded")
	stop = run()
	wantTrail("c", "uploaded")
	say("c", "ended")
	wantTrail("c", "uploaded ended")
	stop()
	fresh := newIndex(t)
	must(t, projection.CopyEvents(t.Context(), b, fresh))
	if got, want := trail(fresh, "c"), "uploaded ended"; got != want {
		t.Errorf("audit trail in an index that was rebuilt: got %q, want %q", got, want)
	}
}

// A job that was removed while its document was on its way does not stay in the index.
func TestProjectorRemovesWhatWasRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	kv, err := b.OpenJobBucket(t.Context())
	must(t, err)
	jobs := job.NewStore(kv)
	index := removing{Store: newIndex(t), remove: func() {
		_, err := jobs.UpdateRecord(t.Context(), "acme", "gone", func(r *job.Record) error {
			if r.State == job.Deleted {
				return job.ErrUnchanged
			}
			r.State = job.Deleted
			return nil
		})
		must(t, err)
	}}
	must(t, jobs.CreateRecord(t.Context(), &job.Record{ID: "gone", Tenant: "acme", Run: 1, State: job.Succeeded,
		CreateTime: time.Now()}))
	must(t, jobs.CreateRecord(t.Context(), &job.Record{ID: "kept", Tenant: "acme", Run: 1, State: job.Succeeded,
		CreateTime: time.Now()}))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- projection.New(jobs, b, index, slog.New(slog.DiscardHandler)).Run(ctx, func() {}) }()
	bustest.EventuallyWithin(t, 30*time.Second, "the index has the job that is kept alone", func() bool {
		got := states(t, index)
		return len(got) == 1 && got["kept"] == "SUCCEEDED"
	})
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: got %v, want a clean stop", err)
	}
}

// removing removes a job as its document is stored.
type removing struct {
	search.Store
	remove func()
}

func (r removing) PutDocuments(ctx context.Context, docs []search.Document) error {
	r.remove()
	if err := r.DeleteJob(ctx, "acme", "gone"); err != nil {
		return err
	}
	return r.Store.PutDocuments(ctx, docs)
}

func TestRebuild(t *testing.T) {
	t.Parallel()
	blobs, err := blob.Open(t.Context(), "mem://")
	must(t, err)
	defer blobs.Close()
	put := func(key string, data []byte) {
		t.Helper()
		must(t, blobs.PutBytes(t.Context(), key, data, ""))
	}
	page := func(id job.ID, run, n int, text string) {
		t.Helper()
		data, err := document.EncodeObservedPage(&inkstreamv1.Page{Number: int32(n), Text: text, Language: "en"})
		must(t, err)
		put(job.PageKey("acme", id, run, n), data)
	}
	manifest := func(id job.ID) {
		t.Helper()
		data, err := json.Marshal(job.Manifest{Tenant: "acme", Job: id, Filename: string(id) + ".pdf",
			CreateTime: time.Now()})
		must(t, err)
		put(job.ManifestKey("acme", id), data)
	}
	manifest("done")
	for n := 1; n <= 100; n++ { // more than goes at once
		page("done", 1, n, "common first")
	}
	page("done", 2, 3, "common second")
	put(job.ArtifactKey("acme", "done", 2, "document.json"), []byte("{}"))
	manifest("begun")
	page("gone", 1, 1, "common") // no manifest: its job was deleted
	put("stray", nil)
	put("acme/cut/source.pdf", nil)

	index := newIndex(t)
	for range 2 { // the second finds all there
		r := projection.Rebuilder{Blobs: blobs, Store: index}
		done, err := r.Run(t.Context())
		if want := (projection.RebuildCounts{Jobs: 2, Pages: 100, Skipped: 2}); err != nil || done != want {
			t.Errorf("Run: got %+v, %v, want %+v", done, err, want)
		}
	}
	for text, want := range map[string]int{"common": 100, "first": 99, "second": 1} {
		found := 0
		for q := (search.Query{Tenant: "acme", Text: text, Limit: search.MaxLimit}); ; {
			result, err := index.Search(t.Context(), q)
			must(t, err)
			found += len(result.Hits)
			if q.Cursor = result.NextCursor; q.Cursor == "" {
				break
			}
		}
		if found != want {
			t.Errorf("pages with %s: got %d, want %d", text, found, want)
		}
	}
	if got := states(t, index); len(got) != 2 || got["done"] != "SUCCEEDED" || got["begun"] != "PENDING" {
		t.Errorf("jobs: got %v, want done SUCCEEDED and begun PENDING", got)
	}

	// What is damaged keeps nothing else out.
	put(job.PageKey("acme", "done", 1, 7), []byte("\xff"))
	put(job.ManifestKey("acme", "bad"), []byte("{"))
	bad := 0
	damaged := projection.Rebuilder{Blobs: blobs, Store: newIndex(t), OnDamaged: func(error) { bad++ }}
	done, err := damaged.Run(t.Context())
	if want := (projection.RebuildCounts{Jobs: 2, Pages: 99, Skipped: 2, Damaged: 2}); err != nil || done != want ||
		bad != 2 {
		t.Errorf("over damaged blobs: got %+v, %v, %d told, want %+v", done, err, bad, want)
	}

	// With the records at hand, they say what became of the jobs.
	r := projection.Rebuilder{Blobs: blobs, Store: newIndex(t),
		LoadRecord: func(_ context.Context, _ string, id job.ID) (*job.Record, error) {
			switch id {
			case "done":
				return &job.Record{ID: id, Tenant: "acme", State: job.Partial, PageCount: 101}, nil
			case "gone":
				return &job.Record{ID: id, Tenant: "acme", State: job.Deleted}, nil
			}
			return nil, job.ErrNotFound
		}}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := states(t, r.Store); len(got) != 2 || got["done"] != "PARTIAL" {
		t.Errorf("jobs by their records: got %v, want done PARTIAL, and begun", got)
	}
}
