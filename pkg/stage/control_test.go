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

// eventKinds returns the types of a job's events in order.
func (f *fixture) eventKinds(t *testing.T) string {
	t.Helper()
	events, _, err := f.env.Bus.ListEvents(t.Context(), f.rec.Tenant, string(f.rec.ID), 0, 100)
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
			_, err := f.env.CancelJob(context.Background(), f.rec.Tenant, f.rec.ID)
			return err
		}, job.Cancelled, "cancelled ended", 0},
		{"deleted", func(f *fixture) error {
			_, err := f.env.DeleteJob(context.Background(), f.rec.Tenant, f.rec.ID)
			return err
		}, job.Deleted, "cancelled deleted", 2}, // the handler that was at work asks for another removal
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			working, stopped := make(chan struct{}), make(chan error, 1)
			temp := job.RasterKey(f.rec.Tenant, f.rec.ID, 1, 1)
			f.start(t, &scriptedSteps{hold: func(ctx context.Context) error {
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
			rec, err := f.env.Jobs.LoadRecord(t.Context(), f.rec.Tenant, f.rec.ID)
			if err != nil || rec.State != tt.state {
				t.Errorf("state %v, %v, want %s", rec, err, tt.state)
			}
			bustest.Eventually(t, "nothing temporary is left and nothing queued", func() bool {
				found, err := f.env.Blobs.BlobExists(t.Context(), temp)
				return err == nil && !found && f.queued(t, bus.Scan.StreamName()) == 0 &&
					f.queued(t, bus.Index.StreamName()) == tt.remove
			})
			if got := f.eventKinds(t); got != tt.events {
				t.Errorf("events %q, want %q", got, tt.events)
			}
		})
	}
}

func TestCancelIsIdempotentAndRefusesWhatHasEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.env.Jobs.CreateRecord(t.Context(), f.rec); err != nil {
		t.Fatal(err)
	}
	for i, chunk := range []int{0, 1} {
		f.rec.ChunkPages, f.rec.PageCount = 16, 32
		if err := f.env.Bus.Publish(t.Context(),
			stage.RenderMessage(f.rec, bus.Lane([]string{"interactive", "batch"}[i]), chunk, 0)); err != nil {
			t.Fatal(err)
		}
	}
	other := *f.rec
	other.ID = job.NewID()
	if err := f.env.Bus.Publish(t.Context(), stage.RenderMessage(&other, bus.Batch, 0, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rec, err := f.env.CancelJob(t.Context(), f.rec.Tenant, f.rec.ID)
		if err != nil || rec.State != job.Cancelled {
			t.Fatalf("cancel: %v, %v", rec, err)
		}
	}
	if got := f.queued(t, bus.Render.StreamName()); got != 1 {
		t.Errorf("%d tasks are queued, want the other job's only", got)
	}
	if got, want := f.eventKinds(t), "cancelled ended"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
	if _, err := f.env.RetryJob(t.Context(), f.rec.Tenant, f.rec.ID, false); err != nil {
		t.Errorf("retry: %v", err)
	}
	if _, err := f.env.RetryJob(t.Context(), f.rec.Tenant, f.rec.ID, false); !errors.Is(err, job.ErrNoRestart) {
		t.Errorf("second retry: %v, want ErrNoRestart", err)
	}
	if _, err := f.env.EndJob(t.Context(), &job.Record{Tenant: f.rec.Tenant, ID: f.rec.ID, Run: 2}, job.Failed,
		&job.Fault{Code: "X"}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if rec, err := f.env.CancelJob(t.Context(), f.rec.Tenant, f.rec.ID); !errors.Is(err, stage.ErrJobEnded) ||
		rec.State != job.Failed {
		t.Errorf("cancel of a job that failed: %v, %v, want ErrJobEnded", rec, err)
	}
	if _, err := f.env.DeleteJob(t.Context(), f.rec.Tenant, f.rec.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := f.env.DeleteJob(t.Context(), f.rec.Tenant, f.rec.ID); !errors.Is(err, stage.ErrJobGone) {
		t.Errorf("second delete: %v, want ErrJobGone", err)
	}
	// The second run's end is not published yet: what comes after it publishes it first.
	if got, want := f.eventKinds(t), "cancelled ended retried ended deleted"; got != want {
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
		{"away", blobtest.FailFirst(100, blobtest.Delete, nil)},
		{"hanging", blobtest.DelayAll(time.Hour)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.env.Blobs = blobtest.NewFaultyStore(f.env.Blobs, tt.plan)
			if err := f.env.Jobs.CreateRecord(t.Context(), f.rec); err != nil {
				t.Fatal(err)
			}
			rec, err := f.env.CancelJob(t.Context(), f.rec.Tenant, f.rec.ID)
			if err != nil || rec.State != job.Cancelled {
				t.Errorf("cancel: %v, %v, want the job CANCELLED", rec, err)
			}
			if got, want := f.eventKinds(t), "cancelled ended"; got != want {
				t.Errorf("events %q, want %q", got, want)
			}
		})
	}
}

func TestReleaseMessageSkipsDoneChunks(t *testing.T) {
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
		m, open := stage.ReleaseMessage(r, &job.Progress{Run: 2, Pages: tt.pages}, bus.Batch, tt.from)
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
	r.Sealed = sealers[0].SealSecret(r.Tenant, r.ID, "geheim")
	if got, err := (stage.Deps{Sealer: sealers[0]}).DocumentPassword(r); err != nil || got != "geheim" {
		t.Errorf("with its key: got %q, %v", got, err)
	}
	for name, env := range map[string]stage.Deps{"no key": {}, "another key": {Sealer: sealers[1]}} {
		if _, err := env.DocumentPassword(r); fault.KindOf(err) != fault.Busy {
			t.Errorf("%s: got %v, want it to wait", name, err)
		}
	}
	r.Sealed = r.Sealed[:len(r.Sealed)-8]
	if _, err := (stage.Deps{Sealer: sealers[0]}).DocumentPassword(r); fault.KindOf(err) != fault.Permanent {
		t.Errorf("damaged: got %v, want the job's end", err)
	}
}
