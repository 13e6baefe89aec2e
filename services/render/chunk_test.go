package render

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// A batch is not synced to disk, so a crash may leave any of it. Only one that has all open pages of its chunk spares
// reading them.
func TestChunkNeedsCompleteBatch(t *testing.T) {
	t.Parallel()
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	st := &steps{&Service{deps: stage.Deps{Blobs: blobs}}}
	encode := func(pages ...int32) []byte {
		batch := &inkstreamv1.PageBatch{}
		for _, n := range pages {
			batch.Pages = append(batch.Pages, &inkstreamv1.Page{Number: n})
		}
		data, err := proto.Marshal(batch)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, tt := range []struct {
		name  string
		batch []byte
		pages string
		want  bool
	}{
		{"all pages", encode(1, 2), "..", true},
		{"all that are open", encode(2), "n.", true},
		{"all pages ended", nil, "nn", true},
		{"one is missing", encode(1), "..", false},
		{"empty", []byte{}, "..", false},
		{"zeros", make([]byte, 100), "..", false},
		{"none", nil, "..", false},
	} {
		r := &job.Record{ID: job.NewID(), Tenant: job.DefaultTenant, Run: 1, PageCount: 2, ChunkPages: 16}
		if tt.batch != nil {
			if err := blobs.PutBytes(t.Context(), job.BatchKey(r.Tenant, r.ID, 1, 0), tt.batch, ""); err != nil {
				t.Fatal(err)
			}
		}
		s := &stage.Snapshot{Job: r, Progress: &job.Progress{Run: 1, Pages: tt.pages}}
		_, done, err := st.LoadResult(t.Context(), s, &busv1.RenderTask{FirstPage: 1, LastPage: 2})
		if err != nil || done != tt.want {
			t.Errorf("%s: got %t, %v, want %t", tt.name, done, err, tt.want)
		}
	}
}
