package standalone_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone"
)

// until follows a job to the first state for which ok holds.
func (p *pipeline) until(t *testing.T, id string, ok func(*inkstreamv1.Job) bool) *inkstreamv1.Job {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := p.WatchJob(ctx, &inkstreamv1.WatchJobRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	for {
		j, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			t.Fatal("the job ended before that")
		}
		if err != nil {
			t.Fatal(err)
		}
		if ok(j) {
			return j
		}
	}
}

// eventTypes returns the types of a job's events in order; repeats that follow each other are one.
func (p *pipeline) eventTypes(t *testing.T, id string) string {
	t.Helper()
	res, err := p.ListEvents(t.Context(), &inkstreamv1.ListEventsRequest{Id: id, PageSize: 1000})
	if err != nil {
		t.Fatalf("events: %v", err)
	}
	var types []string
	for _, e := range res.GetEvents() {
		types = append(types, e.GetType())
	}
	return strings.Join(slices.Compact(types), " ")
}

// wantEventTypes waits until a job's trail is one of those wanted: the last event follows the end of the job, by
// which tests know of it.
func (p *pipeline) wantEventTypes(t *testing.T, id string, want ...string) {
	t.Helper()
	got := ""
	deadline := time.Now().Add(10 * time.Second)
	bustest.EventuallyWithin(t, time.Minute, "the audit trail is read", func() bool {
		got = p.eventTypes(t, id)
		return slices.ContainsFunc(want, func(w string) bool { return sameEvents(got, w) }) || time.Now().After(deadline) ||
			len(strings.Fields(got)) > len(strings.Fields(slices.MaxFunc(want,
				func(a, b string) int { return len(a) - len(b) })))
	})
	if !slices.ContainsFunc(want, func(w string) bool { return sameEvents(got, w) }) {
		t.Errorf("events %q, want %q", got, want)
	}
}

// files returns the job's blobs, relative to its folder.
func (p *pipeline) files(t *testing.T, id string) []string {
	t.Helper()
	root := filepath.Join(p.dir, "default", id)
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// hits returns how many pages of the job the index finds by a word.
func (p *pipeline) hits(t *testing.T, id, word string) int {
	t.Helper()
	store, err := search.Open(t.Context(), "sqlite://"+filepath.Join(filepath.Dir(p.dir), "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	res, err := store.Search(t.Context(), search.Query{Tenant: "default", Job: id, Text: word})
	if err != nil {
		t.Fatal(err)
	}
	return len(res.Hits)
}

// engines returns how many recognitions are under way in children of this process.
func engines(t *testing.T) (running int) {
	t.Helper()
	before := childTicks(t)
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	<-tick.C
	for pid, ticks := range childTicks(t) {
		if ticks-before[pid] > 1 {
			running++
		}
	}
	return running
}

// childTicks returns the processor time of this process's children that run Tesseract, in clock ticks by process id.
func childTicks(t *testing.T) map[string]int {
	t.Helper()
	ticks := make(map[string]int)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid … utime stime, where the name may hold anything
		pid, rest, _ := strings.Cut(string(data), " ")
		fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
		if len(fields) < 13 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")); err != nil ||
			!strings.Contains(string(line), "tesseract") {
			continue
		}
		for _, field := range fields[11:13] {
			n, err := strconv.Atoi(field)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			ticks[pid] += n
		}
	}
	return ticks
}

// It does not run beside other tests, because it looks whether any engine of this process is at work.
func TestCancelRetryAndDelete(t *testing.T) {
	p := configured(t, func(c *standalone.Config) { c.OCR.Workers = 1 })
	const pages = 6
	f := pdftest.ScannedFile(pdftest.ScanOptions{Pages: pages, DPI: 150})
	j, err := p.upload(t.Context(), f.Name, f.PDF, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := j.GetId()
	p.until(t, id, func(j *inkstreamv1.Job) bool { return j.GetPagesDone() >= 2 })
	bustest.EventuallyWithin(t, 10*time.Second, "an engine is at work", func() bool { return engines(t) > 0 })

	start := time.Now()
	if j, err = p.CancelJob(t.Context(), &inkstreamv1.CancelJobRequest{Id: id}); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	if j.GetState() != inkstreamv1.Job_CANCELLED || j.GetPagesDone() >= pages {
		t.Errorf("cancelled: %s with %d pages", j.GetState(), j.GetPagesDone())
	}
	bustest.EventuallyWithin(t, 5*time.Second, "no engine is at work", func() bool { return engines(t) == 0 })
	t.Logf("stopped after %s, with %d of %d pages", time.Since(start).Round(time.Millisecond), j.GetPagesDone(), pages)
	temporary := func(file string) bool { return strings.HasPrefix(file, "tmp/") }
	bustest.EventuallyWithin(t, 5*time.Second, "no raster is left",
		func() bool { return !slices.ContainsFunc(p.files(t, id), temporary) })
	kept := len(p.files(t, id))
	if _, err := p.CancelJob(t.Context(), &inkstreamv1.CancelJobRequest{Id: id}); err != nil {
		t.Errorf("second cancel: %v", err)
	}

	// The pages that were through are taken over.
	if _, err = p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: id}); err != nil {
		t.Fatalf("retry: %v", err)
	}
	if j, err = p.finish(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	check(t, j)
	if j.GetState() != inkstreamv1.Job_SUCCEEDED || j.GetRun() != 2 || j.GetOutcomes()["ocr"] != pages {
		t.Errorf("retried: %s, run %d, outcomes %v, want run 2 SUCCEEDED with %d pages", j.GetState(), j.GetRun(),
			j.GetOutcomes(), pages)
	}
	if got := len(p.text(t, id)); got != pages {
		t.Errorf("text.txt has %d pages, want %d", got, pages)
	}
	for _, s := range j.GetStages() {
		if s.GetName() == "ocr" && (s.GetUnitsDone() >= pages || s.GetUnitsDone() == 0) {
			t.Errorf("run 2 recognised %d pages, want fewer than %d: %d blobs were there", s.GetUnitsDone(), pages, kept)
		}
	}
	bustest.EventuallyWithin(t, 5*time.Second, "of run 1 and of what is temporary nothing is left", func() bool {
		return !slices.ContainsFunc(p.files(t, id),
			func(f string) bool { return temporary(f) || strings.HasPrefix(f, "run-1/") })
	})
	_, err = p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: id})
	wantCode(t, err, "JOB_NOT_RETRYABLE")
	_, err = p.CancelJob(t.Context(), &inkstreamv1.CancelJobRequest{Id: id})
	wantCode(t, err, "JOB_ENDED")
	const history = "uploaded ingested scanned cancelled ended retried chunk_done ended"
	p.wantEventTypes(t, id, history, strings.Replace(history, "scanned ", "scanned chunk_done ", 1))

	// Deleting leaves nothing but the audit trail.
	word := strings.Fields(f.Pages[0].Text)[0]
	if p.hits(t, id, word) == 0 {
		t.Errorf("no page is found by %q", word)
	}
	if _, err := p.DeleteJob(t.Context(), &inkstreamv1.DeleteJobRequest{Id: id}); err != nil {
		t.Fatalf("delete: %v", err)
	}
	_, err = p.GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: id})
	wantCode(t, err, "JOB_DELETED")
	if code, body := p.get(t, "/v1/jobs/"+id); code != http.StatusGone {
		t.Errorf("status %d: %s, want 410", code, body)
	}
	bustest.EventuallyWithin(t, 5*time.Second, "no blob and no row is left",
		func() bool { return len(p.files(t, id)) == 0 && p.hits(t, id, word) == 0 })
	bustest.EventuallyWithin(t, 10*time.Second, "the audit trail ends with its deletion",
		func() bool { return strings.HasSuffix(p.eventTypes(t, id), "ended deleted") })
	noLitter(t, p)
}

// Nor does this one.
func TestDeleteOfARunningJobLeavesNothing(t *testing.T) {
	p := configured(t, func(c *standalone.Config) { c.OCR.Workers = 1 })
	f := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 6, DPI: 150})
	j, err := p.upload(t.Context(), f.Name, f.PDF, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.until(t, j.GetId(), func(j *inkstreamv1.Job) bool { return j.GetPagesDone() >= 1 })
	if _, err := p.DeleteJob(t.Context(), &inkstreamv1.DeleteJobRequest{Id: j.GetId()}); err != nil {
		t.Fatalf("delete: %v", err)
	}
	bustest.EventuallyWithin(t, 5*time.Second, "no engine is at work", func() bool { return engines(t) == 0 })
	bustest.EventuallyWithin(t, 5*time.Second, "no blob is left", func() bool { return len(p.files(t, j.GetId())) == 0 })
	_, err = p.GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: j.GetId()})
	wantCode(t, err, "JOB_DELETED")
}

func TestRetryOfAPartialJob(t *testing.T) {
	t.Parallel()
	p := configured(t, func(c *standalone.Config) { c.PDF.PageTimeout = 3 * time.Second })
	j := p.run(t, pdftest.HangingFile(pdftest.StallLoad))
	check(t, j)
	if j.GetState() != inkstreamv1.Job_PARTIAL {
		t.Fatalf("state %s, want PARTIAL", j.GetState())
	}
	before := p.text(t, j.GetId())
	if _, err := p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: j.GetId()}); err != nil {
		t.Fatalf("retry: %v", err)
	}
	during := p.text(t, j.GetId()) // the page that hangs takes its time
	now, err := p.GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: j.GetId()})
	if err != nil || now.GetState() != inkstreamv1.Job_RUNNING || now.GetResultRun() != 1 {
		t.Errorf("during the retry: %v, %v, want it to run and answer from run 1", now, err)
	}
	j, err = p.finish(t.Context(), j.GetId())
	if err != nil {
		t.Fatal(err)
	}
	check(t, j)
	if j.GetState() != inkstreamv1.Job_PARTIAL || j.GetRun() != 2 || j.GetResultRun() != 2 || len(j.GetFailures()) != 1 {
		t.Errorf("got %s, run %d, failures %v, want run 2 PARTIAL with one", j.GetState(), j.GetRun(), j.GetFailures())
	}
	after := p.text(t, j.GetId())
	if !slices.Equal(before, during) || !slices.Equal(before, after) {
		t.Errorf("the text changed: %q, %q, %q", before, during, after)
	}
	p.wantEventTypes(t, j.GetId(),
		"uploaded ingested scanned page_failed chunk_done ended retried page_failed chunk_done ended")

	// A retry of everything: what was good is read again.
	if _, err := p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: j.GetId(), All: true}); err != nil {
		t.Fatalf("retry all: %v", err)
	}
	if j, err = p.finish(t.Context(), j.GetId()); err != nil {
		t.Fatal(err)
	}
	check(t, j)
	if again := p.text(t, j.GetId()); j.GetRun() != 3 || !slices.Equal(before, again) {
		t.Errorf("run %d with text %q, want run 3 with %q", j.GetRun(), again, before)
	}
	bustest.EventuallyWithin(t, 5*time.Second, "of the earlier runs nothing is left", func() bool {
		return !slices.ContainsFunc(p.files(t, j.GetId()), func(f string) bool {
			return strings.HasPrefix(f, "run-1/") || strings.HasPrefix(f, "run-2/")
		})
	})
}

func TestDeadLetterIsRetried(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	j := p.run(t, pdftest.BornDigital(3))
	check(t, j)
	text := p.text(t, j.GetId())
	source := filepath.Join(p.dir, "default", j.GetId(), "source.pdf")
	if err := os.Rename(source, source+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: j.GetId(), All: true}); err != nil {
		t.Fatalf("retry: %v", err)
	}
	j, err := p.finish(t.Context(), j.GetId())
	if err != nil {
		t.Fatal(err)
	}
	if j.GetState() != inkstreamv1.Job_FAILED || j.GetError().GetCode() != "SOURCE_MISSING" {
		t.Fatalf("without its source the job is %s, %v, want FAILED", j.GetState(), j.GetError())
	}
	letters, err := p.ListDeadLetters(t.Context(), &inkstreamv1.ListDeadLettersRequest{})
	if err != nil || len(letters.GetDeadLetters()) != 1 {
		t.Fatalf("dead letters %v, %v, want one", letters, err)
	}
	l := letters.GetDeadLetters()[0]
	if l.GetStage() != "scan" || l.GetJob() != j.GetId() || l.GetClass() != "permanent" ||
		l.GetCode() != "SOURCE_MISSING" || l.GetRun() != 2 {
		t.Errorf("dead letter %v", l)
	}
	if err := os.Rename(source+".away", source); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RetryDeadLetter(t.Context(), &inkstreamv1.RetryDeadLetterRequest{Id: l.GetId()}); err != nil {
		t.Fatalf("retry the dead letter: %v", err)
	}
	if j, err = p.finish(t.Context(), j.GetId()); err != nil {
		t.Fatal(err)
	}
	check(t, j)
	if j.GetState() != inkstreamv1.Job_SUCCEEDED || j.GetRun() != 3 || !slices.Equal(p.text(t, j.GetId()), text) {
		t.Errorf("got %s by run %d, want SUCCEEDED by run 3 with the same text", j.GetState(), j.GetRun())
	}
	if letters, err = p.ListDeadLetters(t.Context(), &inkstreamv1.ListDeadLettersRequest{}); err != nil ||
		len(letters.GetDeadLetters()) != 0 {
		t.Errorf("dead letters %v, %v, want none", letters, err)
	}
}

// sameEvents compares two trails. Events of one moment, such as those of a page and its chunk, may stand either way
// around.
func sameEvents(got, want string) bool {
	got = strings.ReplaceAll(got, "chunk_done page_failed", "page_failed chunk_done")
	return got == want
}

// wantCode checks the stable code of an error.
func wantCode(t *testing.T, err error, want string) {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(interface{ GetReason() string }); ok && info.GetReason() == want {
			return
		}
	}
	t.Errorf("got error %v, want %s", err, want)
}
