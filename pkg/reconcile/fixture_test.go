package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
)

// fixture is a reconciler over a real broker, with a clock that can be put forward.
type fixture struct {
	*Reconciler
	t     *testing.T
	env   stage.Deps
	index *fakeIndex
	ahead time.Duration
}

// fakeIndex is an index that remembers whose rows were removed.
type fakeIndex struct {
	mu      sync.Mutex // guards all below
	removed []string
	err     error
}

func (r *fakeIndex) DeleteJob(_ context.Context, _, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	r.removed = append(r.removed, id)
	return nil
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOn(t, bus.Topology{AckWait: time.Second})
}

func newFixtureOn(t *testing.T, topology bus.Topology) *fixture {
	t.Helper()
	b := bustest.NewWithTopology(t, topology)
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.NewDiscard()
	env := stage.Deps{Bus: b, Jobs: bustest.NewJobStore(t, b), Blobs: blobs, Tel: tel, Log: tel.Log}
	return fixtureOver(t, env, &fakeIndex{})
}

// fixtureOver is another reconciler over the same stores.
func fixtureOver(t *testing.T, env stage.Deps, index *fakeIndex) *fixture {
	t.Helper()
	var remover jobs.Remover
	if index != nil {
		remover = index
	}
	r, err := New(DefaultConfig(), env, remover)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Reconciler: r, t: t, env: env, index: index}
	r.now = func() time.Time { return time.Now().Add(f.ahead) }
	// Time passes: neither the broker nor the machine finds anything wrong with it.
	start := time.Now()
	r.clock.broker = func(context.Context) (time.Time, error) { return r.now(), nil }
	r.clock.uptime = func() time.Duration { return r.now().Sub(start) }
	return f
}

// runPass makes a pass that must succeed.
func (f *fixture) runPass() Report {
	f.t.Helper()
	report, err := f.RunPass(f.t.Context())
	if err != nil {
		f.t.Fatalf("Pass: %v", err)
	}
	return report
}

// record returns a job that has just been accepted.
func record() *job.Record {
	return &job.Record{
		ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, State: job.Pending, Options: job.Options{Lane: "interactive"},
		Size:   7,
		SHA256: "ab", CreateTime: time.Now().UTC(), ExpireTime: time.Now().UTC().Add(30 * 24 * time.Hour),
	}
}

func (f *fixture) create(rec *job.Record) {
	f.t.Helper()
	if err := f.env.Jobs.CreateRecord(f.t.Context(), rec); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) load(id job.ID) *job.Record {
	f.t.Helper()
	rec, err := f.env.Jobs.LoadRecord(f.t.Context(), job.DefaultTenant, id)
	if errors.Is(err, job.ErrNotFound) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return rec
}

func (f *fixture) put(key, data string) {
	f.t.Helper()
	if err := f.env.Blobs.PutBytes(f.t.Context(), key, []byte(data), ""); err != nil {
		f.t.Fatal(err)
	}
}

// storeUpload stores what an upload leaves that died before its record: the document and the manifest.
func (f *fixture) storeUpload(m job.Manifest) {
	f.t.Helper()
	f.put(job.SourceKey(m.Tenant, m.Job), strings.Repeat("x", int(m.Size)))
	data, err := json.Marshal(m)
	if err != nil {
		f.t.Fatal(err)
	}
	f.put(job.ManifestKey(m.Tenant, m.Job), string(data))
}

func manifest(change func(*job.Manifest)) job.Manifest {
	m := job.Manifest{
		Tenant: job.DefaultTenant, Job: job.NewID(), Filename: "a.pdf", Size: 7, SHA256: "ab",
		Options:    job.Options{Lane: "batch"},
		CreateTime: time.Now().UTC(),
	}
	if change != nil {
		change(&m)
	}
	return m
}

// blobs returns the names of the blobs that a job has.
func (f *fixture) blobs(id job.ID) []string {
	f.t.Helper()
	var names []string
	folder := job.Folder(job.DefaultTenant, id)
	for e, err := range f.env.Blobs.ListBlobs(f.t.Context(), folder) {
		if err != nil {
			f.t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(e.Key, folder))
	}
	return names
}

// messages returns the ids in a stream, without the job and the replay; a replayed one ends with a #.
func (f *fixture) messages(stream string, id job.ID) []string {
	f.t.Helper()
	s, err := f.env.Bus.JetStream().Stream(f.t.Context(), stream)
	if err != nil {
		f.t.Fatal(err)
	}
	state := s.CachedInfo().State
	var ids []string
	for seq := state.FirstSeq; seq <= state.LastSeq && state.Msgs > 0; seq++ {
		msg, err := s.GetMsg(f.t.Context(), seq)
		if err != nil {
			continue // removed
		}
		if rest, ok := strings.CutPrefix(msg.Header.Get("Nats-Msg-Id"), string(id)+"."); ok {
			unit, _, replayed := strings.Cut(rest, "#r")
			if replayed {
				unit += "#"
			}
			ids = append(ids, unit)
		}
	}
	return ids
}

// tasks returns the ids in all stages' queues.
func (f *fixture) tasks(id job.ID) []string {
	f.t.Helper()
	var ids []string
	for _, s := range bus.AllStages() {
		ids = append(ids, f.messages(s.StreamName(), id)...)
	}
	slices.Sort(ids)
	return ids
}

// purgeQueues empties the queues, as a purge by accident does.
func (f *fixture) purgeQueues() {
	f.t.Helper()
	for _, s := range bus.AllStages() {
		stream, err := f.env.Bus.JetStream().Stream(f.t.Context(), s.StreamName())
		if err == nil {
			err = stream.Purge(f.t.Context())
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

func checkNames(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
