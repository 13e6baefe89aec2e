package standalone_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/pkg/telemetry"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone"
)

// Every file of the corpus goes through the pipeline. Each job ends, in the state that its tags call for, and what
// was read agrees with what others read.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus := pdftest.OpenCorpus(t)
	p := configured(t, func(c *standalone.Config) { c.PDF.PageTimeout = 20 * time.Second }) // real pages take longer than made ones
	engine := oneEngine(t)
	var sums scores
	_, missing := exec.LookPath("tesseract")
	if missing != nil {
		t.Log("not scored: the tesseract command is not installed (Debian package tesseract-ocr; make test installs it)")
	}
	t.Cleanup(func() {
		sums.check(t)
		noLitter(t, p)
	})
	scans := 0
	for _, f := range corpus.Files {
		compared := missing == nil && scored(f)
		if compared {
			scans++
			compared = scans%3 == 1 // each is read twice more here; make quality takes them all
		}
		t.Run(f.Path, func(t *testing.T) {
			t.Parallel()
			j := runCorpusFile(t, p, f)
			if j == nil {
				return
			}
			check(t, j)
			checkState(t, f, j)
			if j.GetState() == inkstreamv1.Job_SUCCEEDED {
				checkText(t, p, f, j)
				if compared {
					sums.compare(t, p, engine, corpus, f, j)
				}
			}
		})
	}
}

// few is how much of a manual of hundreds of pages is read: two chunks of it, for the sake of the race detector. make
// quality reads it whole.
const few = 24

func manual(f pdftest.CorpusFile) bool { return f.Pages > 100 }

// runCorpusFile takes a file through the pipeline; nil for one that the gateway refuses, as it should.
func runCorpusFile(t *testing.T, p *pipeline, f pdftest.CorpusFile) *inkstreamv1.Job {
	t.Helper()
	data, err := os.ReadFile(f.Abs)
	if err != nil {
		t.Fatal(err)
	}
	opts := &inkstreamv1.JobOptions{}
	if manual(f) {
		opts.Pages = fmt.Sprintf("1-%d", few)
	}
	j, err := p.upload(t.Context(), filepath.Base(f.Path), data, opts)
	if len(data) == 0 {
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("an empty file was answered with %v, want InvalidArgument", err)
		}
		return nil
	}
	if err != nil {
		t.Fatalf("upload: %v", err)
	}
	if j, err = p.finish(t.Context(), j.GetId()); err != nil {
		t.Fatalf("follow: %v", err)
	}
	return j
}

// checkState holds a job's end against the tags of its file.
func checkState(t *testing.T, f pdftest.CorpusFile, j *inkstreamv1.Job) {
	t.Helper()
	want := func(code string, states ...inkstreamv1.Job_State) {
		t.Helper()
		if !slices.Contains(states, j.GetState()) || code != "" && j.GetError().GetCode() != code {
			t.Errorf("%s, %v, %v; want %v %s", j.GetState(), j.GetError(), j.GetFailures(), states, code)
		}
	}
	switch {
	case f.HasTags("needs-password"):
		want("ENCRYPTED", inkstreamv1.Job_REJECTED)
	case f.TopFolder() == "notpdf", !strings.HasSuffix(f.Path, ".pdf"):
		want("NOT_A_PDF", inkstreamv1.Job_REJECTED)
	case strings.Contains(f.Path, "own-bomb-") && f.Pages > 0:
		want("POLICY_REJECTED", inkstreamv1.Job_REJECTED)
	case f.TopFolder() == "hostile", f.TopFolder() == "broken":
		// Hostile and broken files may end in any way that says the truth.
	case f.HasTags("damaged"):
		want("", inkstreamv1.Job_SUCCEEDED, inkstreamv1.Job_PARTIAL, inkstreamv1.Job_REJECTED)
	default:
		want("", inkstreamv1.Job_SUCCEEDED)
	}
	if f.Pages > 0 && j.GetPageCount() > 0 && f.TopFolder() != "broken" && f.TopFolder() != "hostile" &&
		int(j.GetPageCount()) != f.Pages {
		t.Errorf("%d pages, want %d", j.GetPageCount(), f.Pages)
	}
}

// minWordF1 is how well the text of a born-digital file with a sound text layer agrees with pdftotext.
const minWordF1 = 0.97

// otherwise lists files that pdftotext reads wrong, with the reason; what is read here was looked at instead.
var otherwise = map[string]string{
	"pdf/pdfjs-XiaoBiaoSong.pdf":     "pdftotext reads its GBK codes as Latin-1; here they come out as Chinese",
	"tables/tabula-indictb1h_14.pdf": "pdftotext writes the brackets of right-to-left runs the wrong way round",
}

func checkText(t *testing.T, p *pipeline, f pdftest.CorpusFile, j *inkstreamv1.Job) {
	t.Helper()
	pages := p.text(t, j.GetId())
	if len(pages) != int(j.GetPageCount()) {
		t.Errorf("text.txt has %d pages, want %d", len(pages), j.GetPageCount())
	}
	sound := f.HasTags("born-digital") && !f.HasTags("no-unicode-map") && !f.HasTags("garbled-unicode") &&
		f.TopFolder() != "hostile" && f.TopFolder() != "broken"
	if why := otherwise[f.Path]; why != "" {
		t.Log("not compared: ", why)
		return
	}
	last := j.GetPageCount()
	if manual(f) {
		last = few
	}
	if !sound || j.GetOutcomes()["native_text"] != last {
		return
	}
	// Without -layout it drops hyphens at the ends of lines, dashes between words among them.
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-l", strconv.Itoa(int(last)), "-layout", "-enc", "UTF-8",
		f.Abs, "-").Output()
	if err != nil {
		t.Logf("pdftotext cannot read it: %v", err)
		return
	}
	if f1 := score.WordF1(score.StripPDFToTextMarks(string(out)),
		score.StripPDFToTextMarks(strings.Join(pages, "\f"))); f1 < minWordF1 {
		t.Errorf("word F1 against pdftotext %.3f, want at least %.2f", f1, minWordF1)
	}
}

// scores adds up how well English scans were read, against the tesseract command on the very same rasters.
type scores struct {
	mu sync.Mutex // guards the sums, which are in characters
	// All scans with their text, and those among them that stand upright, which the command can read as they are.
	all, upright struct{ chars, ours, command float64 }
}

// compare scores a scan with its text.
func (s *scores) compare(t *testing.T, p *pipeline, engine *pdf.Engine, corpus *pdftest.CorpusSet,
	f pdftest.CorpusFile, j *inkstreamv1.Job) {
	t.Helper()
	truth, err := os.ReadFile(filepath.Join(corpus.Root, f.TruthPath))
	if err != nil {
		t.Fatal(err)
	}
	r, ok := rasterOf(t, engine, f)
	if !ok {
		return // read from its text layer
	}
	command, err := commandText(t.Context(), r)
	if err != nil {
		t.Fatalf("tesseract: %v", err)
	}
	page, err := p.GetPage(t.Context(), &inkstreamv1.GetPageRequest{Id: j.GetId(), Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	n := float64(len([]rune(score.NormaliseText(string(truth), score.Options{}))))
	a, b := score.CharErrorRate(string(truth), page.GetText()), score.CharErrorRate(string(truth), command)
	t.Logf("CER %.4f, command %.4f", a, b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.chars, s.all.ours, s.all.command = s.all.chars+n, s.all.ours+a*n, s.all.command+b*n
	if page.GetUprightRotation() == 0 {
		s.upright.chars, s.upright.ours, s.upright.command = s.upright.chars+n, s.upright.ours+a*n, s.upright.command+b*n
	}
}

// tolerance is how much worse the upright scans may be in all: a fiftieth of the command's errors, about what an
// update of its models changes.
const tolerance = 1.02

func (s *scores) check(t *testing.T) {
	if s.all.chars == 0 {
		return
	}
	t.Logf("all scans: CER %.4f, command %.4f", s.all.ours/s.all.chars, s.all.command/s.all.chars)
	t.Logf("upright scans: CER %.4f, command %.4f", s.upright.ours/s.upright.chars, s.upright.command/s.upright.chars)
	if s.all.ours > s.all.command || s.upright.ours > tolerance*s.upright.command {
		t.Error("recognition is worse than the tesseract command's on the same rasters")
	}
}

// scored reports whether a file is an English scan of one page with its text.
func scored(f pdftest.CorpusFile) bool {
	return f.HasTags("ocr-truth", "lang-eng") && f.Pages == 1 && strings.HasSuffix(f.TruthPath, ".txt")
}

// oneEngine returns a PDF engine with one child, for the test to make rasters with.
func oneEngine(t *testing.T) *pdf.Engine {
	t.Helper()
	cfg := pdf.DefaultConfig()
	cfg.Workers = 1
	engine, err := pdf.New(cfg, telemetry.NewDiscard().Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// rasterOf returns a file that holds the raster of the document's page as the pipeline makes it, with its resolution.
func rasterOf(t *testing.T, engine *pdf.Engine, f pdftest.CorpusFile) (raster, bool) {
	t.Helper()
	file, err := os.Open(f.Abs)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	doc, err := engine.OpenDocument(t.Context(), file, "")
	if err != nil {
		t.Fatalf("open %s: %v", f.Path, err)
	}
	defer doc.Close()
	res, err := doc.ReadPage(t.Context(), 1, pdf.PageOptions{})
	if err != nil {
		t.Fatalf("raster %s: %v", f.Path, err)
	}
	if res.Raster == nil {
		return raster{}, false
	}
	path := filepath.Join(t.TempDir(), "page.pgm")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := res.Raster.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	return raster{path, res.Raster.DPI}, true
}

type raster struct {
	path string
	dpi  float32
}

func commandText(ctx context.Context, r raster) (string, error) {
	cmd := exec.CommandContext(ctx, "tesseract", r.path, "-", "-l", "eng", "--dpi", fmt.Sprintf("%.0f", r.dpi))
	cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
	out, err := cmd.Output()
	return string(out), err
}
