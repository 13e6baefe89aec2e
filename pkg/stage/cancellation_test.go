package stage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

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
			_, err := f.env.JobService().CancelJob(context.Background(), f.rec.Tenant, f.rec.ID)
			return err
		}, job.Cancelled, "cancelled ended", 0},
		{"deleted", func(f *fixture) error {
			_, err := f.env.JobService().DeleteJob(context.Background(), f.rec.Tenant, f.rec.ID)
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
