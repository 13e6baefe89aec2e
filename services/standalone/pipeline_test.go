package standalone_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone/chaos"
)

// freeAddr returns an address that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	addr, err := chaos.FindFreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// The same tests hold for the pipeline in one process and in six.
func TestPipeline(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *pipeline{"one process": inOneProcess,
		"six processes": inSixProcesses} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			t.Run("documents", func(t *testing.T) { testDocuments(t, p) })
			t.Run("refusals", func(t *testing.T) { testRefusals(t, p) })
			t.Run("findings", func(t *testing.T) { testFindings(t, p) })
			t.Run("results", func(t *testing.T) { testResults(t, p) })
			noLitter(t, p)
		})
	}
}

func testDocuments(t *testing.T, p *pipeline) {
	mixed := pdftest.MixedFile()
	for _, tt := range []struct {
		file    pdftest.File
		outcome map[string]int32
		maxCER  float64 // of the whole text
	}{
		{pdftest.BornDigital(40), map[string]int32{"native_text": 40}, 0.01},
		{pdftest.ScannedFile(pdftest.ScanOptions{Pages: 2}), map[string]int32{"ocr": 2}, 0.02},
		{mixed, nil, 0.05},
		{pdftest.RotatedPages(), nil, 0.02},
		{pdftest.RotatedScannedFile(pdftest.ScanOptions{DPI: 150}), nil, 0.05},
		{pdftest.GarbledText(pdftest.PrivateUse), map[string]int32{"ocr": 2}, 0.05},
		{pdftest.BlankPages(2), map[string]int32{"blank": 2}, 0},
		{pdftest.ScannedBlank(), map[string]int32{"blank": 1}, 0},
		{pdftest.OwnerOnlyFile(pdftest.AES), nil, 0.01},
	} {
		t.Run(tt.file.Name, func(t *testing.T) {
			t.Parallel()
			j := p.run(t, tt.file)
			check(t, j)
			if j.GetState() != inkstreamv1.Job_SUCCEEDED {
				t.Fatalf("state %s, error %v, failures %v", j.GetState(), j.GetError(), j.GetFailures())
			}
			if int(j.GetPageCount()) != len(tt.file.Pages) {
				t.Errorf("%d pages, want %d", j.GetPageCount(), len(tt.file.Pages))
			}
			for kind, want := range tt.outcome {
				if got := j.GetOutcomes()[kind]; got != want {
					t.Errorf("%d pages %s, want %d (%v)", got, kind, want, j.GetOutcomes())
				}
			}
			if tt.file.Name == mixed.Name {
				p.mixed = j
			}
			pages := p.text(t, j.GetId())
			if len(pages) != len(tt.file.Pages) {
				t.Fatalf("text.txt has %d pages, want %d", len(pages), len(tt.file.Pages))
			}
			if cer := score.CharErrorRate(tt.file.Text(), strings.Join(pages, "\f")); cer > tt.maxCER {
				t.Errorf("character error rate %.3f, want at most %.3f\n got: %.300q\nwant: %.300q",
					cer, tt.maxCER, strings.Join(pages, "\f"), tt.file.Text())
			}
		})
	}
}

func testRefusals(t *testing.T, p *pipeline) {
	type refusal struct {
		file pdftest.File
		code string
	}
	cases := []refusal{
		{pdftest.EncryptedFile(pdftest.AES), "ENCRYPTED"},
		{pdftest.WithoutPages(), "NO_PAGES"},
		{pdftest.ContentBomb(600, false), "POLICY_REJECTED"},
	}
	for _, f := range pdftest.NotPDFFiles() {
		if len(f.PDF) > 0 {
			cases = append(cases, refusal{f, "NOT_A_PDF"})
		}
	}
	for _, tt := range cases {
		t.Run(tt.file.Name, func(t *testing.T) {
			t.Parallel()
			j := p.run(t, tt.file)
			check(t, j)
			if j.GetState() != inkstreamv1.Job_REJECTED || j.GetError().GetCode() != tt.code {
				t.Errorf("state %s, error %v, want REJECTED, %s", j.GetState(), j.GetError(), tt.code)
			}
		})
	}
	t.Run("a page that hangs the engine", func(t *testing.T) {
		t.Parallel()
		j := p.run(t, pdftest.HangingFile(pdftest.StallLoad))
		check(t, j)
		for _, f := range j.GetFailures() {
			if f.GetCode() != "PAGE_TIMEOUT" && f.GetCode() != "ENGINE_MEMORY" {
				t.Errorf("page %d failed with %s, want PAGE_TIMEOUT", f.GetPage(), f.GetCode())
			}
		}
		if len(j.GetFailures()) != 1 {
			t.Errorf("state %s, %v, failures %v, want one", j.GetState(), j.GetOutcomes(), j.GetFailures())
		}
	})
	for _, f := range append(pdftest.AbsurdPageBoxes(), pdftest.DamagedFiles()...) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			check(t, p.run(t, f))
		})
	}
}

// testFindings makes sure that what scan notices is kept on the job, with the policy's answer, and that searchable.pdf
// is the document as it came unless viewers would run something of it.
func testFindings(t *testing.T, p *pipeline) {
	active := []string{"javascript", "launch_action", "submit_form_action", "remote_goto_action", "xfa"}
	for hazard, kind := range map[pdftest.Hazard]string{
		pdftest.JavaScript: "javascript", pdftest.Launch: "launch_action", pdftest.URI: "uri_action",
		pdftest.SubmitForm: "submit_form_action",
		pdftest.RemoteGoTo: "remote_goto_action", pdftest.OpenAction: "open_action", pdftest.EmbeddedFile: "embedded_file",
		pdftest.XFA:       "xfa",
		pdftest.Signature: "signature",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			file := pdftest.WithHazards(hazard)
			j := p.run(t, file)
			check(t, j)
			code, body := p.get(t, "/v1/jobs/"+j.GetId()+"/artifacts/searchable.pdf")
			if altered := !bytes.Equal(body, file.PDF); code != 200 || altered != slices.Contains(active, kind) {
				t.Errorf("searchable.pdf: status %d, altered: %v", code, altered)
			}
			if j.GetState() != inkstreamv1.Job_SUCCEEDED {
				t.Errorf("%s, %v, want SUCCEEDED", j.GetState(), j.GetError())
			}
			for _, f := range j.GetFindings() {
				if f.GetKind() == kind && f.GetCount() > 0 && f.GetPolicy() == "flag" {
					return
				}
			}
			t.Errorf("findings %v, want %s, flagged", j.GetFindings(), kind)
		})
	}
}

func testResults(t *testing.T, p *pipeline) {
	f, j := pdftest.MixedFile(), p.mixed
	if j == nil {
		t.Fatalf("%s did not come through", f.Name)
	}

	var doc struct {
		PageCount int               `json:"pageCount"`
		SHA256    string            `json:"sha256"`
		Pages     []map[string]any  `json:"pages"`
		Document  map[string]any    `json:"document"`
		Findings  []map[string]any  `json:"findings"`
		Rest      map[string]string `json:"-"`
	}
	code, body := p.get(t, "/v1/jobs/"+j.GetId()+"/artifacts/document.json")
	if code != 200 {
		t.Fatalf("document.json: status %d: %s", code, body)
	}
	decode(t, body, &doc)
	if doc.PageCount != len(f.Pages) || len(doc.Pages) != len(f.Pages) || doc.SHA256 != j.GetSha256() {
		t.Errorf("document.json: %d pages of %d, sha256 %s", len(doc.Pages), doc.PageCount, doc.SHA256)
	}
	recognised := false
	for n, want := range f.Pages {
		page, err := p.GetPage(t.Context(), &inkstreamv1.GetPageRequest{Id: j.GetId(), Number: int32(n + 1)})
		if err != nil {
			t.Fatalf("page %d: %v", n+1, err)
		}
		if page.GetOutcome() == "" || (len(page.GetWords()) == 0) != (want.Text == "") {
			t.Errorf("page %d: outcome %q, %d words", n+1, page.GetOutcome(), len(page.GetWords()))
		}
		if q := page.GetQuality(); q < 0.5 || q > 1 {
			t.Errorf("page %d: outcome %q of quality %v, want 0.5 to 1", n+1, page.GetOutcome(), q)
		}
		if is := page.GetOutcome() == "ocr"; is != strings.HasPrefix(page.GetEngine(), "tesseract 5") {
			t.Errorf("page %d: outcome %q by engine %q", n+1, page.GetOutcome(), page.GetEngine())
		} else {
			recognised = recognised || is
		}
		for _, w := range page.GetWords() {
			b := w.GetBbox()
			if len(b) != 4 || b[0] < -1 || b[1] < -1 || b[2] > page.GetWidth()+1 || b[3] > page.GetHeight()+1 || b[0] > b[2] ||
				b[1] > b[3] {
				t.Errorf("page %d: word %q at %v on a page of %v × %v", n+1, w.GetText(), b, page.GetWidth(), page.GetHeight())
				break
			}
		}
		var rest struct{ Words []any }
		code, body := p.get(t, "/v1/jobs/"+j.GetId()+"/pages/"+string(rune('1'+n)))
		if code != 200 {
			t.Fatalf("page %d over REST: status %d", n+1, code)
		}
		decode(t, body, &rest)
		if len(rest.Words) != len(page.GetWords()) {
			t.Errorf("page %d: %d words over REST, %d over gRPC", n+1, len(rest.Words), len(page.GetWords()))
		}
	}
	namesEngines(t, p, j, recognised)
}

// namesEngines makes sure that the document's facts say what recognised its pages.
func namesEngines(t *testing.T, p *pipeline, j *inkstreamv1.Job, recognised bool) {
	t.Helper()
	var facts struct {
		Processing struct{ Engines map[string]string }
	}
	code, body := p.get(t, "/v1/jobs/"+j.GetId()+"/artifacts/metadata.json")
	if code != 200 {
		t.Fatalf("metadata.json: status %d: %s", code, body)
	}
	decode(t, body, &facts)
	if e := facts.Processing.Engines; recognised != strings.HasPrefix(e["tesseract"], "5") {
		t.Errorf("metadata.json: engines %q of a document of which pages were recognised: %v", e, recognised)
	}
}

// noLitter makes sure that nothing temporary outlives the jobs. Folders of removed jobs may go while it looks.
func noLitter(t *testing.T, p *pipeline) {
	t.Helper()
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(strings.TrimPrefix(path, p.dir), "/tmp/") {
			t.Errorf("left behind: %s", path)
		}
		if errors.Is(err, fs.ErrNotExist) && path != p.dir {
			return nil
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
