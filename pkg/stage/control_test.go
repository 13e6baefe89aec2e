package stage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
)

// events returns the types of a job's events in order.
func (f *fixture) events(t *testing.T) string {
	t.Helper()
	events, _, err := f.env.Bus.Events(t.Context(), f.rec.Tenant, string(f.rec.ID), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.GetType())
	}
	return strings.Join(types, " ")
}

func TestWorkStopsWhenItsJobIsEnded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		end    func(f *fixture) error
		state  job.State
		events string
		remove uint64
	}{
		{"cancelled", func(f *fixture) error {
			_, err := f.env.Cancel(context.Background(), f.rec.Tenant, f.rec.ID)
			return err
		}, job.Cancelled, "cancelled ended", 0},
		{"deleted", func(f *fixture) error {
			_, err := f.env.Delete(context.Background(), f.rec.Tenant, f.rec.ID)
			return err
		}, job.Deleted, "cancelled deleted", 2}, // the handler that was at work asks for another removal
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			working, stopped := make(chan struct{}), make(chan error, 1)
			temp := job.RasterKey(f.rec.Tenant, f.rec.ID, 1, 1)
			f.start(t, &script{hold: func(ctx context.Context) error {
				close(working)
				<-ctx.Done()
				// An engine that is on its way out may still write.
				err := f.env.Blobs.PutBytes(context.WithoutCancel(ctx), temp, []byte("x"), "")
				stopped <- errors.Join(ctx.Err(), err)
				return fmt.Errorf("work: %w", ctx.Err())
			}}, 1)
			<-working
			start := time.Now()
			if err := tt.end(f); err != nil {
				t.Fatalf("end: %v", err)
			}
			if err := <-stopped; !errors.Is(err, context.Canceled) {
				t.Errorf("the work ended with %v, want context.Canceled", err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("the work went on for %s, want at most 5 s", took)
			}
			rec, err := f.env.Jobs.Load(t.Context(), f.rec.Tenant, f.rec.ID)
			if err != nil || rec.State != tt.state {
				t.Errorf("state %v, %v, want %s", rec, err, tt.state)
			}
			bustest.Eventually(t, "nothing temporary is left and nothing queued", func() bool {
				found, err := f.env.Blobs.Exists(t.Context(), temp)
				return err == nil && !found && f.queued(t, bus.Scan.Stream()) == 0 && f.queued(t, bus.Index.Stream()) == tt.remove
			})
			if got := f.events(t); got != tt.events {
				t.Errorf("events %q, want %q", got, tt.events)
			}
		})
	}
}

func TestCancelIsIdempotentAndRefusesWhatHasEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.env.Jobs.Create(t.Context(), f.rec); err != nil {
		t.Fatal(err)
	}
	for i, chunk := range []int{0, 1} {
		f.rec.ChunkPages, f.rec.PageCount = 16, 32
		if err := f.env.Bus.Publish(t.Context(), stage.RenderChunk(f.rec, bus.Lane([]string{"interactive", "batch"}[i]), chunk, 0)); err != nil {
			t.Fatal(err)
		}
	}
	other := *f.rec
	other.ID = job.NewID()
	if err := f.env.Bus.Publish(t.Context(), stage.RenderChunk(&other, bus.Batch, 0, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rec, err := f.env.Cancel(t.Context(), f.rec.Tenant, f.rec.ID)
		if err != nil || rec.State != job.Cancelled {
			t.Fatalf("cancel: %v, %v", rec, err)
		}
	}
	if got := f.queued(t, bus.Render.Stream()); got != 1 {
		t.Errorf("%d tasks are queued, want the other job's only", got)
	}
	if got, want := f.events(t), "cancelled ended"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
	if _, err := f.env.Retry(t.Context(), f.rec.Tenant, f.rec.ID, false); err != nil {
		t.Errorf("retry: %v", err)
	}
	if _, err := f.env.Retry(t.Context(), f.rec.Tenant, f.rec.ID, false); !errors.Is(err, job.ErrNoRestart) {
		t.Errorf("second retry: %v, want ErrNoRestart", err)
	}
	if _, err := f.env.End(t.Context(), &job.Record{Tenant: f.rec.Tenant, ID: f.rec.ID, Run: 2}, job.Failed, &job.Fault{Code: "X"}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if rec, err := f.env.Cancel(t.Context(), f.rec.Tenant, f.rec.ID); !errors.Is(err, stage.ErrEnded) || rec.State != job.Failed {
		t.Errorf("cancel of a job that failed: %v, %v, want ErrEnded", rec, err)
	}
	if _, err := f.env.Delete(t.Context(), f.rec.Tenant, f.rec.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := f.env.Delete(t.Context(), f.rec.Tenant, f.rec.ID); !errors.Is(err, stage.ErrGone) {
		t.Errorf("second delete: %v, want ErrGone", err)
	}
	// Nobody had told of the second run's end yet: what comes after it tells it first.
	if got, want := f.events(t), "cancelled ended retried ended deleted"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
}

// A job is cancelled, and says so, also while the blob store is away, or hangs.
func TestCancelWithoutBlobs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		plan blobtest.Plan
	}{
		{"away", blobtest.Fail(100, blobtest.Delete, nil)},
		{"hanging", blobtest.Slow(time.Hour)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.env.Blobs = blobtest.Faulty(f.env.Blobs, tt.plan)
			if err := f.env.Jobs.Create(t.Context(), f.rec); err != nil {
				t.Fatal(err)
			}
			rec, err := f.env.Cancel(t.Context(), f.rec.Tenant, f.rec.ID)
			if err != nil || rec.State != job.Cancelled {
				t.Errorf("cancel: %v, %v, want the job CANCELLED", rec, err)
			}
			if got, want := f.events(t), "cancelled ended"; got != want {
				t.Errorf("events %q, want %q", got, want)
			}
		})
	}
}

func TestReleaseChunkSkipsWhatIsDone(t *testing.T) {
	t.Parallel()
	r := &job.Record{ID: "j", Tenant: "t", Run: 2, PageCount: 10, ChunkPages: 2, Window: 2}
	for _, tt := range []struct {
		pages string
		from  int
		want  string
	}{
		{"..........", 0, "chunk-0"},
		{"nn........", 0, "chunk-2"},
		{"nnnnnn....", 0, "chunk-4"},
		{"nnnnnn...n", 4, "chunk-4"},
		{"nnnnnnnnnn", 0, ""},
		{"nn..nnnnnn", 0, ""},
		{"nn.nnnnnnn", 1, "chunk-1"},
		{"..........", 5, ""},
	} {
		m, open := stage.ReleaseChunk(r, &job.Progress{Run: 2, Pages: tt.pages}, bus.Batch, tt.from)
		if m.Unit != tt.want || open != (tt.want != "") {
			t.Errorf("%s from %d: got %q, %t, want %q", tt.pages, tt.from, m.Unit, open, tt.want)
		}
	}
}

func TestAPasswordWithoutItsKeyWaits(t *testing.T) {
	t.Parallel()
	sealers := [2]*job.Sealer{}
	for i := range sealers {
		s, err := job.NewSealer(bytes.Repeat([]byte{byte(i)}, 32))
		if err != nil {
			t.Fatal(err)
		}
		sealers[i] = s
	}
	r := &job.Record{Tenant: "t", ID: "j"}
	r.Sealed = sealers[0].Seal(r.Tenant, r.ID, "geheim")
	if got, err := (stage.Env{Sealer: sealers[0]}).Password(r); err != nil || got != "geheim" {
		t.Errorf("with its key: got %q, %v", got, err)
	}
	for name, env := range map[string]stage.Env{"no key": {}, "another key": {Sealer: sealers[1]}} {
		if _, err := env.Password(r); fault.KindOf(err) != fault.Busy {
			t.Errorf("%s: got %v, want it to wait", name, err)
		}
	}
	r.Sealed = r.Sealed[:len(r.Sealed)-8]
	if _, err := (stage.Env{Sealer: sealers[0]}).Password(r); fault.KindOf(err) != fault.Permanent {
		t.Errorf("damaged: got %v, want the job's end", err)
	}
}
