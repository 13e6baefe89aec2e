package standalone_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/telemetry"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// unpackData unpacks the folder data of an archive of testdata into dir, and returns its path.
func unpackData(t *testing.T, archive, dir string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", archive))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "data")
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			if err := root.MkdirAll(filepath.Clean(h.Name), 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		data, err := io.ReadAll(r)
		if err == nil {
			err = root.WriteFile(h.Name, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The data that the version before wrote is opened, the work that it has queued is finished, and its jobs that have
// ended answer. testdata/README.md says what is in the folder.
func TestDataOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	const (
		succeeded, recognised = "01m85vbjtqghvaezkmdq49153q", "01m85vccwa116sg4d91gfs8a5j"
		removed               = "01m85vcdwa5x8j1thy0syqy3vv"
		duplicate             = "01m85vcf760cwt9sv33cbejjgr"
	)
	cfg := testConfig(unpackData(t, "queued-work.tar.gz", t.TempDir()))
	texts := make(map[string][]byte)
	for _, id := range []string{succeeded, recognised} {
		data, err := os.ReadFile(filepath.Join(cfg.DataDir, "blobs", "default", id, "run-1", "artifacts", "text.txt"))
		if err != nil || len(data) == 0 {
			t.Fatalf("%d bytes of text, %v, want what the version before wrote", len(data), err)
		}
		texts[id] = data
	}
	p, _ := startIn(t, cfg)
	for id, want := range texts {
		if code, got := p.get(t, "/v1/jobs/"+id+"/artifacts/text.txt"); code != http.StatusOK || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d, %d bytes, want the text as it was", id, code, len(got))
		}
	}
	for id, queued := range map[string]string{
		"01m85vcf12e50reg6q969v604r": "a page for recognition", "01m85vcf4x2w2eek0j55mpt84f": "pages for index",
		duplicate: "the end of a run", "01m85vcr6cbqm9dg5aadmzcc44": "a document",
	} {
		j, err := p.finish(t.Context(), id)
		if err != nil || j.GetState() != inkstreamv1.Job_SUCCEEDED || len(p.text(t, id)) != int(j.GetPageCount()) {
			t.Errorf("%s: got %v, %v, want it SUCCEEDED with the text of each page", queued, j, err)
			continue
		}
		check(t, j)
	}
	if code, got := p.get(t, "/v1/jobs/"+duplicate+"/artifacts/text.txt"); !bytes.Equal(got, texts[succeeded]) {
		t.Errorf("duplicate: got %d, %d bytes, want the text of the job whose results it takes over", code, len(got))
	}
	bustest.EventuallyWithin(t, 30*time.Second, "nothing is left of the job that was deleted",
		func() bool { return len(p.files(t, removed)) == 0 })
	if code, _ := p.get(t, "/v1/jobs/"+removed); code != http.StatusGone {
		t.Errorf("deleted job: got %d, want %d", code, http.StatusGone)
	}
	b, err := bus.Connect(p.nats, "test", telemetry.NewDiscard().Log, telemetry.NewDiscard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	for _, s := range bus.AllStages() {
		bustest.Eventually(t, "no task is left for "+string(s), func() bool {
			backlog, err := b.QueryBacklog(t.Context(), s)
			return err == nil && backlog.Tasks == 0
		})
	}
	letters, _, err := b.ListDeadLetters(t.Context(), "default", 0, 10)
	if err != nil || len(letters) > 0 {
		t.Errorf("dead letters %v, %v, want none", letters, err)
	}
}
