package index

import (
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// Whoever counted a unit's pages may not get to tell of it before others end the job: the task that comes back tells it.
func TestCountedPagesAreToldAfterTheEnd(t *testing.T) {
	t.Parallel()
	st, ctx := newSteps(t), t.Context()
	ended := func(finish bool) *stage.Snapshot {
		r := st.create(t, func(r *job.Record) { r.PageCount, r.ChunkPages = 3, 2 })
		p := job.NewProgress(r.Run, r.PageCount)
		_, err := p.Set([]job.Outcome{
			{Page: 1, Kind: job.OutcomeNative}, {Page: 2, Kind: job.OutcomeFailed, Code: fault.PageDamaged}, {Page: 3, Kind: job.OutcomeNative},
		})
		if err == nil {
			err = st.env.Jobs.CreateProgress(ctx, r.Tenant, r.ID, p)
		}
		if err == nil {
			r, err = st.env.Jobs.Update(ctx, r.Tenant, r.ID, func(r *job.Record) error {
				if finish {
					return r.Finish(p, time.Now())
				}
				return r.To(job.Cancelled, time.Now())
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
		task   *busv1.IndexTask
		want   []string
	}{
		{"a chunk", true, &busv1.IndexTask{Chunk: 0, Pages: []int32{1, 2}}, []string{"page_failed", "chunk_done"}},
		{"another", true, &busv1.IndexTask{Chunk: 1, Pages: []int32{3}}, []string{"chunk_done"}},
		{"the end", true, &busv1.IndexTask{Finalise: true}, nil},
		{"of a cancelled job", false, &busv1.IndexTask{Chunk: 0, Pages: []int32{1, 2}}, nil},
	} {
		out, err := st.Ended(ctx, ended(tt.finish), tt.task)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		var got []string
		for _, e := range out.Events {
			got = append(got, e.GetType())
		}
		if len(got) != len(tt.want) || len(got) > 0 && (got[0] != tt.want[0] || got[len(got)-1] != tt.want[len(got)-1]) {
			t.Errorf("%s: got events %q, want %q", tt.name, got, tt.want)
		}
	}
}
