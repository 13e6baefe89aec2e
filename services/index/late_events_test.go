package index

import (
	"slices"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// A handler that counts a unit's pages may not get to publish their events before other handlers end the job: the task
// that comes back publishes them.
func TestLateEvents(t *testing.T) {
	t.Parallel()
	st, ctx := newSteps(t), t.Context()
	ended := func(finish bool) *stage.Snapshot {
		r := st.createJob(t, func(r *job.Record) { r.PageCount, r.ChunkPages = 3, 2 })
		p := job.NewProgress(r.Run, r.PageCount)
		_, err := p.SetOutcomes([]job.Outcome{
			{Page: 1, Kind: outcome.Native}, {Page: 2, Kind: outcome.Failed, Code: fault.PageDamaged},
			{Page: 3, Kind: outcome.Native},
		})
		if err == nil {
			err = st.deps.Jobs.CreateProgress(ctx, r.Tenant, r.ID, p)
		}
		if err == nil {
			r, err = st.deps.Jobs.UpdateRecord(ctx, r.Tenant, r.ID, func(r *job.Record) error {
				if finish {
					return r.FinishRun(p, time.Now())
				}
				return r.Transition(job.Cancelled, time.Now())
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		return &stage.Snapshot{Job: r, Started: time.Now()}
	}
	for _, tt := range []struct {
		name   string
		finish bool
		task   bus.Task
		want   []string
	}{
		{"a chunk", true, &busv1.IndexTask{Chunk: 0, Pages: []int32{1, 2}}, []string{"page_failed", "chunk_done"}},
		{"another", true, &busv1.IndexTask{Chunk: 1, Pages: []int32{3}}, []string{"chunk_done"}},
		{"the end", true, &busv1.FinaliseTask{Finalise: true}, nil},
		{"of a cancelled job", false, &busv1.IndexTask{Chunk: 0, Pages: []int32{1, 2}}, nil},
	} {
		var out stage.FollowUp
		var err error
		switch task := tt.task.(type) {
		case *busv1.IndexTask:
			out, err = (&pageSteps{st}).OnEnded(ctx, ended(tt.finish), task)
		case *busv1.FinaliseTask:
			out, err = (&finaliseSteps{st}).OnEnded(ctx, ended(tt.finish), task)
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		var got []string
		for _, e := range out.Events {
			got = append(got, e.GetType())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got events %q, want %q", tt.name, got, tt.want)
		}
	}
}
