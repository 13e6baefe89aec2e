package standalone_test

import (
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/search/searchtest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// The pipeline with its blobs on an S3 server and its index in ClickHouse, as it runs at scale.
func TestS3AndClickHouse(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	cfg.Blobs = blobtest.NewS3Server(t).NewBucket(t) + "&prefix=inkstream"
	cfg.Index = searchtest.NewClickHouse(t).URL()
	p, _ := startIn(t, cfg)
	blobs, err := blob.Open(t.Context(), cfg.Blobs)
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	index, err := search.Open(t.Context(), cfg.Index)
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	hits := func(id string) int {
		t.Helper()
		res, err := index.Search(t.Context(), search.Query{Tenant: "default", Job: id, Text: "the", Limit: search.MaxLimit})
		if err != nil {
			t.Fatalf("search: %v", err)
		}
		return len(res.Hits)
	}

	var ids []string
	for _, f := range []pdftest.File{pdftest.BornDigital(40), scans(2), smallMixed()} {
		ids = append(ids, p.runWhole(t, f))
	}
	if got := hits(ids[0]); got == 0 {
		t.Error("the first job's pages are not in the index")
	}
	// The index follows the records, and a job has ended once its record says so.
	bustest.Eventually(t, "the index lists every job as succeeded", func() bool {
		listed, err := index.ListJobs(t.Context(), search.JobQuery{Tenant: "default", States: []string{"SUCCEEDED"}})
		if err != nil {
			t.Fatal(err)
		}
		return len(listed.Jobs) == len(ids)
	})
	if left := keys(t, blobs, "/tmp/"); len(left) > 0 {
		t.Errorf("temporary blobs of jobs that have ended: got %q, want none", left)
	}

	for _, id := range ids {
		if _, err := p.DeleteJob(t.Context(), &inkstreamv1.DeleteJobRequest{Id: id}); err != nil {
			t.Fatalf("delete: %v", err)
		}
	}
	// What is no job's, such as the reconciler's mark, may be there.
	bustest.EventuallyWithin(t, 2*time.Minute, "nothing of the jobs is left", func() bool { return len(keys(t, blobs, "default/")) == 0 })
	for _, id := range ids {
		if got := hits(id); got > 0 {
			t.Errorf("pages of a deleted job in the index: got %d, want none", got)
		}
	}
}

// runWhole has a document read, which must succeed with the text of all its pages, and returns the job's id.
func (r *pipeline) runWhole(t *testing.T, f pdftest.File) string {
	t.Helper()
	j := r.run(t, f)
	r.checkWhole(t, f, j)
	return j.GetId()
}

// checkWhole holds a document's job, which has ended, to success with the text of all its pages.
func (r *pipeline) checkWhole(t *testing.T, f pdftest.File, j *inkstreamv1.Job) {
	t.Helper()
	check(t, j)
	if j.GetState() != inkstreamv1.Job_SUCCEEDED {
		t.Fatalf("%s: state %s, error %v, failures %v", f.Name, j.GetState(), j.GetError(), j.GetFailures())
	}
	if got := r.text(t, j.GetId()); len(got) != len(f.Pages) {
		t.Errorf("%s: text.txt has %d pages, want %d", f.Name, len(got), len(f.Pages))
	}
}

// keys returns the keys that have a part.
func keys(t *testing.T, s *blob.Store, part string) []string {
	t.Helper()
	var out []string
	for entry, err := range s.ListBlobs(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(entry.Key, part) {
			out = append(out, entry.Key)
		}
	}
	return out
}
