package admin_test

import (
	"slices"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

// A stage whose only process has its hands full has that process still.
func TestListStages(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		s.Bus = bustest.NewWithTopology(t,
			bus.Topology{AckWait: time.Minute})
	})
	for range 2 {
		_, err := gatewaytest.UploadWith(t.Context(), r.RPC, &inkstreamv1.UploadMetadata{}, "%PDF")
		gatewaytest.CheckError(t, err, "")
	}
	cons, err := r.Deps.Bus.JetStream().Consumer(t.Context(), bus.Ingest.StreamName(),
		bus.DurableName(bus.Ingest, bus.Interactive))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cons.Next(); err != nil { // a delivered task that no consumer settles
		t.Fatal(err)
	}
	r.DeadLetter(r.NewJob(gatewaytest.SetRunning), job.DefaultTenant)
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		list := &inkstreamv1.ListStagesResponse{}
		gatewaytest.CheckError(t, call(t.Context(), "", "ListStages", &inkstreamv1.ListStagesRequest{}, list), "")
		if len(list.GetStages()) != len(bus.AllStages()) {
			t.Fatalf("got %v, want every stage", list)
		}
		letters := int64(0)
		for i, st := range list.GetStages() {
			want := []int64{0, 0, 0} // waiting, in hand, processes
			if bus.Stage(st.GetName()) == bus.Ingest {
				want = []int64{1, 1, 1}
			}
			got := []int64{st.GetWaiting()[string(bus.Interactive)], st.GetInFlight(), int64(st.GetReplicas())}
			if st.GetName() != string(bus.AllStages()[i]) || !slices.Equal(got, want) ||
				(st.GetOldest() != nil) != (want[0] > 0) {
				t.Errorf("got %v, want %v waiting, in hand and processes", st, want)
			}
			letters += st.GetDeadLetters()
		}
		if letters != 1 {
			t.Errorf("got %d dead letters, want 1", letters)
		}
	})
}
