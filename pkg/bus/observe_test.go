package bus_test

import (
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/telemetry"
)

// The metrics tell what waits in each lane and since when, and that every replica is there until a server stops.
func TestStateOfACluster(t *testing.T) {
	t.Parallel()
	c := bustest.NewCluster(t)
	b := c.Connect(bus.Topology{})
	before := time.Now().Add(-time.Minute) // the server's clock is this one
	if _, err := b.JetStream().Publish(t.Context(), "ink.ocr.batch.default.j1", nil); err != nil {
		t.Fatal(err)
	}
	behind := func(want int64) func() bool {
		return func() bool {
			state, err := b.State(t.Context())
			for _, s := range state.Streams {
				if s.Behind != want {
					return false
				}
			}
			return err == nil && len(state.Streams) == len(bus.AllStages())+4
		}
	}
	bustest.EventuallyWithin(t, time.Minute, "every replica has everything", behind(0))
	state, err := b.State(t.Context())
	if err != nil || len(state.Stages) != len(bus.AllStages()) || len(state.Queues) != 2*len(bus.AllStages()) {
		t.Fatalf("state: %+v, %v", state, err)
	}
	for _, q := range state.Queues {
		want := telemetry.Queue{Stage: q.Stage, Lane: q.Lane}
		if q.Stage == "ocr" && q.Lane == "batch" {
			if q.Oldest.Before(before) || q.Oldest.After(time.Now()) {
				t.Errorf("oldest task: %s", q.Oldest)
			}
			want.Waiting, want.Oldest = 1, q.Oldest
		}
		if q != want {
			t.Errorf("queue: %+v, want %+v", q, want)
		}
	}
	c.StopNode((c.StreamLeader(bus.OCR.StreamName()) + 1) % bustest.ClusterSize)
	bustest.EventuallyWithin(t, time.Minute, "a replica of each stream is behind", behind(1))
}
