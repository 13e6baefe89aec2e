package index

import (
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Two handlers may end a run at the same time: when one counts the artifacts, the other may just have taken over an
// image from the run before that neither of them keeps. If that image were counted, the job would lack it permanently.
func TestOnlyStoredArtifactsAreCounted(t *testing.T) {
	t.Parallel()
	st, ctx := newSteps(t), t.Context()
	r := st.createJob(t, func(r *job.Record) {
		r.Run, r.BaseRun, r.Options.Artifacts = 2, 1, []job.Artifact{job.ArtifactText, job.ArtifactImages}
	})
	key := func(name string) string { return job.ArtifactKey(r.Tenant, r.ID, r.Run, name) }
	page, err := document.EncodeObservedPage(&inkstreamv1.Page{Number: 1, Outcome: outcome.Native,
		Images: []*inkstreamv1.Image{{Name: "images/1-1.png"}}})
	if err != nil {
		t.Fatal(err)
	}
	blobs := st.deps.Blobs
	if err := blobs.PutAll(ctx, []blob.Object{
		{Key: job.InfoKey(r.Tenant, r.ID, 2), Data: []byte("{}")}, {Key: job.PageKey(r.Tenant, r.ID, 2, 1), Data: page},
		{Key: key("images/1-1.png"), Data: []byte("x")}, {Key: key("images/1-2.png"), Data: []byte("x")},
	}); err != nil {
		t.Fatal(err)
	}
	st.deps.Blobs = blobtest.NewFaultyStore(blobs, func(op blobtest.Op, prefix string) blobtest.Fault {
		if op == blobtest.List && prefix == job.ArtifactFolder(r.Tenant, r.ID, r.Run) {
			return blobtest.Fault{Err: blobs.PutBytes(ctx, key("images/1-2.png"), []byte("x"), "")} // by the other one
		}
		return blobtest.Fault{}
	})
	p := job.NewProgress(2, 1)
	if _, err := p.SetOutcomes([]job.Outcome{{Page: 1, Kind: outcome.Native}}); err != nil {
		t.Fatal(err)
	}
	if err := st.finaliseRun(ctx, &stage.Snapshot{Job: r, Progress: p, Started: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if rec, err := st.deps.Jobs.LoadRecord(ctx, r.Tenant, r.ID); err != nil || rec.State != job.Succeeded ||
		rec.Artifacts != 2 {
		t.Errorf("got %s with %d artifacts, %v, want text.txt and one image", rec.State, rec.Artifacts, err)
	}
}
