package standalone_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone"
)

func removeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	p := configured(t, func(c *standalone.Config) { c.Telemetry.LogLevel = slog.LevelDebug })
	locked := pdftest.EncryptedFile(pdftest.AES)
	var right *inkstreamv1.Job
	for _, tt := range []struct {
		password string
		state    inkstreamv1.Job_State
		code     string
	}{
		{"", inkstreamv1.Job_REJECTED, "ENCRYPTED"},
		{wrongPassword, inkstreamv1.Job_REJECTED, "WRONG_PASSWORD"},
		{pdftest.OwnerPassword, inkstreamv1.Job_SUCCEEDED, ""},
	} {
		j := p.through(t, locked.Name, locked.PDF, &inkstreamv1.JobOptions{Password: tt.password})
		check(t, j)
		if j.GetState() != tt.state || j.GetError().GetCode() != tt.code || j.GetOptions().GetPassword() != "" {
			t.Errorf("password %q: got %s, %v, want %s %s", tt.password, j.GetState(), j.GetError(), tt.state, tt.code)
		}
		right = j
	}
	if _, err := p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: right.GetId(), All: true}); err == nil {
		t.Error("a job whose password is gone was retried")
	} else {
		wantCode(t, err, "JOB_NOT_RETRYABLE")
	}
	// The data folder holds everything: streams, records, blobs and the index. testLog looks at the log.
	for _, secret := range []string{wrongPassword, pdftest.OwnerPassword} {
		nowhere(t, filepath.Dir(p.dir), secret)
	}
	nowhere(t, filepath.Join(p.dir, "default"), `"sealed"`)
	info, err := os.Stat(filepath.Join(filepath.Dir(p.dir), "seal.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v, want mode 0600", info, err)
	}
}

// nowhere makes sure that no file below the folder holds a text. If a file goes during the search, because the broker
// rewrites what it keeps and renames it, nowhere looks at all of them once more.
func nowhere(t *testing.T, dir, text string) {
	t.Helper()
	bustest.EventuallyWithin(t, patience, "no file goes while they are looked at",
		func() bool { return allLookedAt(t, dir, text) })
}

func allLookedAt(t *testing.T, dir, text string) bool {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(text)) {
			t.Errorf("%s holds %q", path, text)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestSelectedPages(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	f := pdftest.BornDigital(20)
	j := p.through(t, f.Name, f.PDF, &inkstreamv1.JobOptions{Pages: "19-,2,2"})
	check(t, j)
	if j.GetState() != inkstreamv1.Job_SUCCEEDED || j.GetOutcomes()["skipped"] != 17 ||
		j.GetOutcomes()["native_text"] != 3 || j.GetOptions().GetPages() != "2,19-" {
		t.Errorf("got %s, outcomes %v, pages %q, want 17 skipped", j.GetState(), j.GetOutcomes(), j.GetOptions().GetPages())
	}
	text := p.text(t, j.GetId())
	if len(text) != 20 || strings.TrimSpace(text[0]) != "" || strings.TrimSpace(text[1]) == "" ||
		strings.TrimSpace(text[19]) == "" {
		t.Errorf("%d pages of text, want 20, of which only those selected have some", len(text))
	}
	code, body := p.get(t, "/v1/jobs/"+j.GetId()+"/pages/1")
	if code != http.StatusOK || !strings.Contains(string(body), "not_selected") {
		t.Errorf("page 1: %d %s", code, body)
	}
	j = p.through(t, f.Name, f.PDF, &inkstreamv1.JobOptions{Pages: "21-"})
	if j.GetState() != inkstreamv1.Job_REJECTED || j.GetError().GetCode() != "INVALID_PAGES" ||
		!strings.Contains(j.GetError().GetMessage(), "20 pages") {
		t.Errorf("got %s, %v, want INVALID_PAGES", j.GetState(), j.GetError())
	}
}

func TestUnknownLanguageNamesThoseInstalled(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	f := pdftest.BornDigital(1)
	_, err := p.upload(t.Context(), f.Name, f.PDF, &inkstreamv1.JobOptions{Languages: "eng+tlh"})
	wantCode(t, err, "INVALID_OPTION")
	if err == nil || !strings.Contains(err.Error(), "eng") || !strings.Contains(err.Error(), `"tlh" is not installed`) {
		t.Errorf("got %v, want it to name what is installed", err)
	}
}

// The text layer of a scan is believed as far as it says what the page shows.
func TestTextLayerIsHeldAgainstTheInk(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	for _, tt := range []struct {
		name            string
		file            pdftest.File
		ocr             string
		outcome, reason string
	}{
		{"sound", pdftest.ScanWithTextLayer(true), "", "native_text", ""},
		{"a few wrong letters", pdftest.ScanWithWrongTextLayer(0.005), "", "native_text", ""},
		{"a wrong letter in every tenth word", pdftest.ScanWithWrongTextLayer(0.02), "", "ocr", "text_layer_disagrees"},
		{"words of wrong letters", pdftest.ScanWithWrongTextLayer(0.4), "", "ocr", "text_layer_disagrees"},
		{"words of wrong letters, not to be recognised", pdftest.ScanWithWrongTextLayer(0.4), "skip", "native_text", ""},
	} {
		j := p.through(t, tt.file.Name, tt.file.PDF, &inkstreamv1.JobOptions{Ocr: tt.ocr})
		page, err := p.GetPage(t.Context(), &inkstreamv1.GetPageRequest{Id: j.GetId(), Number: 1})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if page.GetOutcome() != tt.outcome || page.GetReason() != tt.reason {
			t.Errorf("%s: got %s, %s, want %s, %s", tt.name, page.GetOutcome(), page.GetReason(), tt.outcome, tt.reason)
		}
		sound := tt.ocr == ""
		if page.GetQuality() < 0.85 || page.GetQuality() > 1 {
			t.Errorf("%s: got a quality of %v", tt.name, page.GetQuality())
		}
		cer := score.CompareTexts(tt.file.Pages[0].Text, page.GetText(), score.Options{Lenient: true}).CER
		if sound != (cer < 0.05) {
			t.Errorf("%s: %.3f of the characters are wrong", tt.name, cer)
		}
		noted := strings.Contains(strings.Join(page.GetNotes(), " "), "the text layer was replaced: ")
		if noted != (tt.reason != "") {
			t.Errorf("%s: notes %q", tt.name, page.GetNotes())
		}
	}
}

// A page that is stuck is killed and tried again; then the job has failed. The chunk goes on from it as a task of its
// own, behind others, once the first try is over.
func TestStalledJob(t *testing.T) {
	t.Parallel()
	p := configured(t, func(c *standalone.Config) { c.PDF.PageTimeout = time.Minute })
	check(t, p.run(t, pdftest.BornDigital(1))) // the engines are warm then: their start is no standstill
	f := pdftest.HangingFile(pdftest.StallLoad)
	j := p.through(t, f.Name, f.PDF, &inkstreamv1.JobOptions{StallTimeout: durationpb.New(5 * time.Second)})
	if j.GetState() != inkstreamv1.Job_FAILED || j.GetError().GetCode() != "JOB_STALLED" ||
		j.GetFailedTries()["render.chunk-0-from-2"] != 2 {
		t.Errorf("got %s, %v, tries %v, want JOB_STALLED after two", j.GetState(), j.GetError(), j.GetFailedTries())
	}
	p.wantEventTypes(t, j.GetId(), "uploaded ingested scanned dead_lettered ended")
}

func TestDocumentClockCutsWorkInHand(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	f := pdftest.HangingFile(pdftest.StallLoad)
	j := p.through(t, f.Name, f.PDF, &inkstreamv1.JobOptions{DocumentTimeout: durationpb.New(2 * time.Second)})
	if j.GetState() != inkstreamv1.Job_FAILED || j.GetError().GetCode() != "DOCUMENT_TIMEOUT" {
		t.Errorf("got %s, %v, want DOCUMENT_TIMEOUT", j.GetState(), j.GetError())
	}
}

// expires uploads a document that is kept so long, from the upload on, and waits until nothing is left of its job: on a
// slow machine it expires as soon as it ends, before a client could ask how it went.
func (p *pipeline) expires(t *testing.T, f pdftest.File, kept time.Duration) *inkstreamv1.Job {
	t.Helper()
	j, err := p.upload(t.Context(), f.Name, f.PDF, &inkstreamv1.JobOptions{Retention: durationpb.New(kept)})
	if err != nil {
		t.Fatal(err)
	}
	bustest.EventuallyWithin(t, time.Minute, "the job has expired",
		func() bool { return strings.HasSuffix(p.eventTypes(t, j.GetId()), " ended expired") })
	return j
}

func TestExpiredJob(t *testing.T) {
	t.Parallel()
	p := configured(t, func(c *standalone.Config) { c.Reconcile.Interval = 200 * time.Millisecond })
	f := pdftest.BornDigital(2)
	word := strings.Fields(f.Pages[0].Text)[0]
	kept := p.through(t, f.Name, f.PDF, &inkstreamv1.JobOptions{Retention: durationpb.New(0)})
	j := p.expires(t, f, 3*time.Second)
	if kept.GetExpireTime() != nil || j.GetExpireTime().AsTime().Sub(j.GetCreateTime().AsTime()) != 3*time.Second {
		t.Errorf("expire times %v and %v, want none and 3 s after the creation", kept.GetExpireTime(), j.GetExpireTime())
	}
	if len(p.files(t, j.GetId())) != 0 || p.hits(t, j.GetId(), word) != 0 {
		t.Error("something is left of the job that has expired")
	}
	_, err := p.GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: j.GetId()})
	wantCode(t, err, "JOB_EXPIRED")
	if code, body := p.get(t, "/v1/jobs/"+j.GetId()+"/artifacts/text.txt"); code != http.StatusGone {
		t.Errorf("text.txt: %d %s, want 410", code, body)
	}
	if len(p.text(t, kept.GetId())) != 2 {
		t.Error("the job that is kept has lost its text")
	}
}

// A kind of artifact that the table of pkg/job has, and that no stage writes, fails here.
func TestEveryArtifactIsWritten(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	files := map[job.Artifact]pdftest.File{
		job.ArtifactImages: pdftest.PageWithImage(),
		job.ArtifactTables: pdftest.BornDigitalWith(pdftest.BornDigitalOptions{Design: pdftest.Tabular}),
	}
	jobs := map[job.Artifact]string{}
	for _, kind := range job.AllArtifacts() {
		file, special := files[kind]
		if !special {
			file = pdftest.BornDigital(1)
		}
		j, err := p.upload(t.Context(), file.Name, file.PDF, &inkstreamv1.JobOptions{Artifacts: []string{string(kind)}})
		if err != nil {
			t.Fatalf("upload for %s: %v", kind, err)
		}
		jobs[kind] = j.GetId()
	}
	for kind, id := range jobs {
		j, err := p.finish(t.Context(), id)
		if err != nil {
			t.Fatalf("follow the job for %s: %v", kind, err)
		}
		list, err := p.ListArtifacts(t.Context(), &inkstreamv1.ListArtifactsRequest{Id: id})
		if err != nil || len(list.GetArtifacts()) == 0 {
			t.Errorf("%s: got no file, %v, of a job that ended %s", kind, err, j.GetState())
		}
	}
}
