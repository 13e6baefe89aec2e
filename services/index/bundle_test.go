package index

import (
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// The artifacts of a short document are one blob, also those of a second handler that ends the run; each of a longer
// one is one of its own.
func TestShortDocumentsHaveOneBlob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pages   int
		bundled bool
	}{{1, true}, {job.BundledPages, true}, {job.BundledPages + 1, false}} {
		st, ctx := newSteps(t), t.Context()
		r := st.createJob(t, func(r *job.Record) {
			r.PageCount, r.Options.Artifacts = tt.pages, []job.Artifact{job.ArtifactText, job.ArtifactMarkdown, job.ArtifactJSON}
		})
		p := job.NewProgress(1, tt.pages)
		objects := []blob.Object{{Key: job.InfoKey(r.Tenant, r.ID, 1), Data: []byte("{}")}}
		for n := 1; n <= tt.pages; n++ {
			page, err := document.EncodeObservedPage(&inkstreamv1.Page{Number: int32(n), Outcome: outcome.Native})
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, blob.Object{Key: job.PageKey(r.Tenant, r.ID, 1, n), Data: page})
			if _, err := p.SetOutcomes([]job.Outcome{{Page: n, Kind: outcome.Native}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.deps.Blobs.PutAll(ctx, objects); err != nil {
			t.Fatal(err)
		}
		s := &stage.Snapshot{Job: r, Progress: p, Started: time.Now()}
		for range 2 {
			if _, err := st.assembleArtifacts(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		folder := job.RunFolder(r.Tenant, r.ID, 1)
		stored := map[string]bool{} // as a file of its own
		for e, err := range st.deps.Blobs.Driver().ListEntries(ctx, folder) {
			if err != nil {
				t.Fatal(err)
			}
			stored[e.Key[len(folder):]] = true
		}
		if stored["0.bundle"] != tt.bundled {
			t.Errorf("%d pages: there is a bundle: %v, want %v", tt.pages, !tt.bundled, tt.bundled)
		}
		for _, name := range []string{"artifacts/document.md", "artifacts/text.txt", "document.idx", "plan.bin"} {
			if ok, err := st.deps.Blobs.BlobExists(ctx, folder+name); !ok || err != nil {
				t.Errorf("%d pages: %s: got %v, %v, want it there", tt.pages, name, ok, err)
			}
			if stored[name] == tt.bundled {
				t.Errorf("%d pages: %s is a file of its own: %v, want %v", tt.pages, name, tt.bundled, !tt.bundled)
			}
		}
	}
}
