package standalone_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone"
)

// shared are options that let the job take over what another one has.
func shared(change func(*inkstreamv1.JobOptions)) *inkstreamv1.JobOptions {
	o := &inkstreamv1.JobOptions{Dedupe: proto.Bool(true)}
	if change != nil {
		change(o)
	}
	return o
}

// through uploads a document and follows it to its end.
func (p *pipeline) through(t *testing.T, name string, data []byte, opts *inkstreamv1.JobOptions) *inkstreamv1.Job {
	t.Helper()
	j, err := p.upload(t.Context(), name, data, opts)
	if err == nil {
		j, err = p.finish(t.Context(), j.GetId())
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return j
}

// remove deletes a job and waits until nothing is left of it.
func (p *pipeline) remove(t *testing.T, id string) {
	t.Helper()
	if _, err := p.DeleteJob(t.Context(), &inkstreamv1.DeleteJobRequest{Id: id}); err != nil {
		t.Fatalf("delete: %v", err)
	}
	bustest.EventuallyWithin(t, 10*time.Second, "no blob is left of "+id, func() bool { return len(p.files(t, id)) == 0 })
}

const worked = "uploaded ingested scanned chunk_done ended"

func TestDuplicateEndsAtOnceWithTheSameResults(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	f := pdftest.BornDigital(3)
	word := strings.Fields(f.Pages[0].Text)[0]
	first := p.through(t, "first.pdf", f.PDF, shared(nil))
	check(t, first)
	want := p.text(t, first.GetId())

	second := p.through(t, "second.pdf", f.PDF, shared(func(o *inkstreamv1.JobOptions) { o.Lane = "batch" }))
	check(t, second)
	if second.GetState() != inkstreamv1.Job_SUCCEEDED || second.GetDuplicateOf() != first.GetId() ||
		second.GetPageCount() != 3 ||
		!sameCounts(first, second) {
		t.Errorf("got %s, duplicate of %q, outcomes %v, want SUCCEEDED, %s, %v", second.GetState(), second.GetDuplicateOf(),
			second.GetOutcomes(),
			first.GetId(), first.GetOutcomes())
	}
	p.wantEventTypes(t, second.GetId(), "uploaded deduplicated ended")
	names := func(id string) string {
		list, err := p.ListArtifacts(t.Context(), &inkstreamv1.ListArtifactsRequest{Id: id})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, a := range list.GetArtifacts() {
			all = append(all, a.GetName())
		}
		return strings.Join(all, " ")
	}
	if got, want := names(second.GetId()), names(first.GetId()); got != want {
		t.Errorf("artifacts %s, want %s", got, want)
	}

	// Neither takes anything away from the other.
	p.remove(t, first.GetId())
	if got := p.text(t, second.GetId()); !slices.Equal(got, want) {
		t.Errorf("text %q, want %q", got, want)
	}
	if got := p.hits(t, second.GetId(), word); got == 0 {
		t.Errorf("no page is found by %q", word)
	}
	if code, body := p.get(t, "/v1/jobs/"+second.GetId()+"/pages/2"); code != http.StatusOK {
		t.Errorf("page 2: %d %s", code, body)
	}
	_, body := p.get(t, "/v1/jobs/"+second.GetId()+"/artifacts/document.json")
	if !json.Valid(body) || strings.Contains(string(body), first.GetId()) || strings.Contains(string(body), "first.pdf") {
		t.Errorf("document.json is the other job's: %.300s", body)
	}

	// The claim went with the job, so a third one does the work, and the next has its results.
	third := p.through(t, "third.pdf", f.PDF, shared(nil))
	if third.GetDuplicateOf() != "" {
		t.Errorf("third: duplicate of %q, want the work done", third.GetDuplicateOf())
	}
	p.wantEventTypes(t, third.GetId(), worked)
	fourth := p.through(t, "fourth.pdf", f.PDF, shared(nil))
	if fourth.GetDuplicateOf() != third.GetId() {
		t.Errorf("fourth: duplicate of %q, want %s", fourth.GetDuplicateOf(), third.GetId())
	}
	// A retry of everything is work of its own, and no duplicate any more.
	if _, err := p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: fourth.GetId(), All: true}); err != nil {
		t.Fatalf("retry all: %v", err)
	}
	again, err := p.finish(t.Context(), fourth.GetId())
	if err != nil || again.GetState() != inkstreamv1.Job_SUCCEEDED || again.GetDuplicateOf() != "" ||
		!slices.Equal(p.text(t, again.GetId()), want) {
		t.Errorf("retried: %v, %v, want it done again", again, err)
	}
	noLitter(t, p)
}

func sameCounts(a, b *inkstreamv1.Job) bool {
	return fmt.Sprint(a.GetOutcomes()) == fmt.Sprint(b.GetOutcomes())
}

func TestWhatIsNoDuplicate(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	f := pdftest.BornDigital(2)
	first := p.through(t, f.Name, f.PDF, shared(nil))
	for _, tt := range []struct {
		name   string
		data   []byte
		change func(*inkstreamv1.JobOptions)
		same   bool
	}{
		{"other pages", f.PDF, func(o *inkstreamv1.JobOptions) { o.Pages = "1" }, false},
		{"other artifacts", f.PDF, func(o *inkstreamv1.JobOptions) { o.Artifacts = []string{"text"} }, false},
		{"its user says no", f.PDF, func(o *inkstreamv1.JobOptions) { o.Dedupe = proto.Bool(false) }, false},
		{"a password, needed or not", f.PDF, func(o *inkstreamv1.JobOptions) { o.Password = "x" }, false},
		{"other bytes", append(slices.Clone(f.PDF), '\n'), nil, false},
		{"other clocks and retention", f.PDF, func(o *inkstreamv1.JobOptions) {
			o.Pages, o.ChunkWords, o.Ocr = "1-", 300,
				"auto"
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := p.through(t, f.Name, tt.data, shared(tt.change))
			if j.GetState() != inkstreamv1.Job_SUCCEEDED || (j.GetDuplicateOf() == first.GetId()) != tt.same {
				t.Errorf("got %s, duplicate of %q, want a duplicate: %t", j.GetState(), j.GetDuplicateOf(), tt.same)
			}
		})
	}
}

func TestConcurrentDuplicatesDoTheWorkOnce(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	f := scans(2)
	const uploads = 5
	jobs := make([]*inkstreamv1.Job, uploads)
	errs := make([]error, uploads)
	var wg sync.WaitGroup
	for i := range jobs {
		wg.Go(func() {
			if jobs[i], errs[i] = p.upload(t.Context(), f.Name, f.PDF, shared(nil)); errs[i] == nil {
				jobs[i], errs[i] = p.finish(t.Context(), jobs[i].GetId())
			}
		})
	}
	wg.Wait()
	leaders := make(map[string]int)
	for i, j := range jobs {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		check(t, j)
		leaders[j.GetDuplicateOf()]++
		if got := len(p.text(t, j.GetId())); j.GetState() != inkstreamv1.Job_SUCCEEDED || got != 2 {
			t.Errorf("job %d: %s with %d pages of text", i, j.GetState(), got)
		}
	}
	if leaders[""] != 1 || len(leaders) != 2 {
		t.Errorf("leaders %v, want one that did the work and one name for the others", leaders)
	}
}

// A job that waits for one that comes to nothing does the work itself.
func TestDuplicateOfAJobThatComesToNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*pipeline, *testing.T, string) error{
		"cancelled": func(p *pipeline, t *testing.T, id string) error {
			_, err := p.CancelJob(t.Context(), &inkstreamv1.CancelJobRequest{Id: id})
			return err
		},
		"deleted": func(p *pipeline, t *testing.T, id string) error {
			_, err := p.DeleteJob(t.Context(), &inkstreamv1.DeleteJobRequest{Id: id})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := configured(t, func(c *standalone.Config) { c.OCR.Workers = 1 })
			f := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 2})
			first, err := p.upload(t.Context(), f.Name, f.PDF, shared(nil))
			if err != nil {
				t.Fatal(err)
			}
			p.until(t, first.GetId(), func(j *inkstreamv1.Job) bool { return j.GetPageCount() > 0 })
			second, err := p.upload(t.Context(), f.Name, f.PDF, shared(nil))
			if err != nil {
				t.Fatal(err)
			}
			bustest.EventuallyWithin(t, 10*time.Second, "the second waits",
				func() bool { return p.eventTypes(t, second.GetId()) == "uploaded following" })
			if err := end(p, t, first.GetId()); err != nil {
				t.Fatalf("end: %v", err)
			}
			if second, err = p.finish(t.Context(), second.GetId()); err != nil {
				t.Fatal(err)
			}
			check(t, second)
			if second.GetState() != inkstreamv1.Job_SUCCEEDED || second.GetDuplicateOf() != "" ||
				second.GetOutcomes()["ocr"] != 2 {
				t.Errorf("got %s, duplicate of %q, outcomes %v, want the work done", second.GetState(), second.GetDuplicateOf(),
					second.GetOutcomes())
			}
			p.wantEventTypes(t, second.GetId(), "uploaded following ingested scanned chunk_done ended")
		})
	}
}

// An original that was refused says nothing about the next upload, which is refused for itself.
func TestDuplicateOfARefusedDocument(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	f := pdftest.NotPDFFiles()[1]
	for range 2 {
		j := p.through(t, f.Name, f.PDF, shared(nil))
		if j.GetState() != inkstreamv1.Job_REJECTED || j.GetDuplicateOf() != "" {
			t.Errorf("got %s, duplicate of %q, want REJECTED for itself", j.GetState(), j.GetDuplicateOf())
		}
		p.wantEventTypes(t, j.GetId(), "uploaded ended")
	}
}

// A source of results that has lost a page unnoticed is no source.
func TestDuplicateOfDamagedResults(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	for pages, lost := range map[int]string{2: "pages/*2.*", 3: "0.bundle", job.BundledPages + 1: "artifacts/document.md"} {
		f := pdftest.BornDigital(pages)
		first := p.through(t, f.Name, f.PDF, shared(nil))
		files, err := filepath.Glob(filepath.Join(p.dir, "default", first.GetId(), "run-1", lost))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v, %v; there are %v", lost, files, err, p.files(t, first.GetId()))
		}
		removeFile(t, files[0])
		second := p.through(t, f.Name, f.PDF, shared(nil))
		check(t, second)
		if second.GetState() != inkstreamv1.Job_SUCCEEDED || second.GetDuplicateOf() != "" ||
			len(p.text(t, second.GetId())) != pages {
			t.Errorf("%s: got %s, duplicate of %q, want the work done", lost, second.GetState(), second.GetDuplicateOf())
		}
		p.wantEventTypes(t, second.GetId(), worked)
		// What is left of the first does not pass for all of it: document.json is made of the pages.
		wantArchive, wantList := errCut, "200"
		if !strings.HasPrefix(lost, "pages/") {
			wantArchive, wantList = "404", "404"
		}
		for list, want := range map[string]string{"/artifacts": wantList, "/artifacts.zip": wantArchive} {
			if got := p.tryGet(t, "/v1/jobs/"+first.GetId()+list); got != want {
				t.Errorf("%s: GET %s: %s, want %s", lost, list, got, want)
			}
			if got := p.tryGet(t, "/v1/jobs/"+second.GetId()+list); got != "200" {
				t.Errorf("%s: GET %s of the second: %s, want 200", lost, list, got)
			}
		}
	}
}

// errCut says that an answer was broken off.
const errCut = "cut"

// tryGet returns the status of an answer, or that it was cut.
func (p *pipeline) tryGet(t *testing.T, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.http+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return errCut
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return errCut
	}
	return strconv.Itoa(resp.StatusCode)
}
