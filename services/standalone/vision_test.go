package standalone_test

import (
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/visiontest"
	"inkstream.dev/services/standalone"
)

// wordDropper is a model that knows the texts of a document's pages, but not which one a picture shows: it writes the
// first, and the next one when it is asked about the same picture again. Until it is mended it leaves out some words of
// the first page.
type wordDropper struct {
	mu     sync.Mutex // guards all below
	texts  []string
	mended bool
	known  map[[32]byte]int // the text of each picture, as far as it was asked for
	asked  [][32]byte
}

func (m *wordDropper) answer(picture []byte) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := sha256.Sum256(picture)
	at, seen := m.known[key]
	if seen && !m.mended {
		at++
	}
	m.known[key] = at
	m.asked = append(m.asked, key)
	words := strings.Fields(m.texts[min(at, len(m.texts)-1)])
	if at == 0 && !m.mended {
		middle := len(words) / 2
		words = slices.Delete(words, middle-4, middle+4)
	}
	return visiontest.WriteBlock(strings.Join(words, " "))
}

// mend has the model write all words from now on, and returns how often it was asked until now.
func (m *wordDropper) mend() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.asked)
	m.mended, m.asked = true, nil
	return n
}

// wasAskedFor reports whether the model was asked once since it was mended, for the page of that index.
func (m *wordDropper) wasAskedFor(page int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked) == 1 && m.known[m.asked[0]] == page
}

// A retry for the sake of doubts has the pages with doubts read again, and no others.
func TestDoubtfulPagesAreRetried(t *testing.T) {
	t.Parallel()
	sharp := small // enough pixels for Tesseract to be sure of the numbers
	sharp.Pages, sharp.DPI = 2, 250
	f := pdftest.ScannedFile(sharp)
	model := &wordDropper{texts: []string{f.Pages[0].Text, f.Pages[1].Text}, known: map[[32]byte]int{}}
	server := httptest.NewServer(visiontest.Handler(model.answer))
	t.Cleanup(server.Close)
	p := configured(t, func(c *standalone.Config) {
		c.OCR.Engine = "vision"
		c.OCR.Vision.Endpoints, c.OCR.Vision.Model, c.OCR.Vision.AllowPrivate = server.URL, "m", true
	})
	j := p.through(t, f.Name, f.PDF, &inkstreamv1.JobOptions{Engine: "vision"})
	check(t, j)
	if asked := model.mend(); j.GetDoubtfulPages() != "1" || asked != 3 {
		t.Fatalf("doubtful pages %q, asked %d times; want page 1, and page 2 asked for twice", j.GetDoubtfulPages(), asked)
	}
	text := p.text(t, j.GetId())
	_, err := p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: j.GetId()})
	wantCode(t, err, "JOB_NOT_RETRYABLE")

	if _, err := p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: j.GetId(), Doubts: true}); err != nil {
		t.Fatalf("retry: %v", err)
	}
	if j, err = p.finish(t.Context(), j.GetId()); err != nil {
		t.Fatal(err)
	}
	check(t, j)
	if j.GetRun() != 2 || j.GetDoubtfulPages() != "" || !model.wasAskedFor(0) {
		page, err := p.GetPage(t.Context(), &inkstreamv1.GetPageRequest{Id: j.GetId(), Number: 1})
		t.Errorf("run %d, doubtful pages %q: %v, %v; want page 1 alone read again, and no doubts", j.GetRun(), j.GetDoubtfulPages(),
			page.GetDoubts(), err)
	}
	if again := p.text(t, j.GetId()); len(again) != 2 || again[1] != text[1] || !strings.Contains(again[0], f.Pages[0].Marker) {
		t.Errorf("text %q, want page 2 as it was", again)
	}
	_, err = p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: j.GetId(), Doubts: true})
	wantCode(t, err, "JOB_NOT_RETRYABLE")
	_, err = p.RetryJob(t.Context(), &inkstreamv1.RetryJobRequest{Id: j.GetId(), Doubts: true, All: true})
	wantCode(t, err, "INVALID_ARGUMENT")
}

// recordedAnswer is what a real model wrote about a page, with what is wrong with it.
type recordedAnswer struct {
	name, page, profile, answer string // files beside the corpus
	doubt                       string // its kind, and words of the model's and of the page's own
	text, absent                string // of the page's text
	note                        string
}

// What real models got wrong about real pages is found, and stands in document.json; the text is the page's.
func TestRecordedAnswersAreVerified(t *testing.T) {
	t.Parallel()
	root, err := pdftest.FindCorpus()
	if err != nil {
		t.Fatal(err)
	}
	recordings := filepath.Join(root, "..", "examples", "vision")
	if _, err := os.Stat(recordings); err != nil {
		t.Skipf("the recorded answers are not beside the corpus: %v", err)
	}
	for _, tt := range []recordedAnswer{
		{name: "olmOCR's wrong date", page: "../../corpus/pdf/olmocr-earnings.pdf", profile: "olmocr",
			answer: "olmocr/earnings_pg1_repeat1.md", doubt: `number "2023" "2025"`, text: "Jan 28, 2024"},
		{name: "olmOCR's empty page", page: "../../corpus/pdf/olmocr-ffaac214730d2b8c2ec842e3618ccb9c4259_pg1.pdf", profile: "olmocr",
			answer: "olmocr/ffaac214730d2b8c2ec842e3618ccb9c4259_pg1_pg1_repeat1.md", note: "not what the page says"},
		{name: "DeepSeek's missing running head", page: "recorded/pg9.pdf", profile: "deepseek-ocr", answer: "recorded/pg9.dsocr.md",
			doubt: `dropped "" "Optimized Table Tokenization`, text: "Optimized Table Tokenization for Table Structure Recognition"},
		{name: "Chandra's invented table of a chart", page: "recorded/picture_classification.pdf", profile: "chandra-2",
			answer: "recorded/chandra_multiblock.html", doubt: `unsupported "Land Use Type Category`, absent: "Land Use Type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t, recordings)
		})
	}
}

func (r recordedAnswer) check(t *testing.T, dir string) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	written := string(read(r.answer))
	server := httptest.NewServer(visiontest.Handler(func([]byte) string { return written }))
	t.Cleanup(server.Close)
	p := configured(t, func(c *standalone.Config) {
		c.OCR.Engine = "auto" // an endpoint that writes in another family's format reads the page of known words all the same
		c.OCR.Vision.Endpoints, c.OCR.Vision.Profile = server.URL, r.profile
		c.OCR.Vision.Model, c.OCR.Vision.AllowPrivate = "m", true
	})
	j := p.through(t, filepath.Base(r.page), read(r.page),
		&inkstreamv1.JobOptions{Engine: "vision", Ocr: "force", Pages: "1", Artifacts: []string{"text", "json"}})
	check(t, j)
	text := strings.Join(strings.Fields(p.text(t, j.GetId())[0]), " ")
	if !strings.Contains(text, r.text) || r.absent != "" && strings.Contains(text, r.absent) {
		t.Errorf("text %q, want %q in it, and not %q", text, r.text, r.absent)
	}
	var document struct {
		Pages []struct {
			Notes  []string
			Doubts []struct{ Kind, Text, Witness string }
		}
	}
	_, data := p.get(t, "/v1/jobs/"+j.GetId()+"/artifacts/document.json")
	decode(t, data, &document)
	var doubts []string
	for _, d := range document.Pages[0].Doubts {
		doubts = append(doubts, fmt.Sprintf("%s %q %q", d.Kind, d.Text, d.Witness))
	}
	if !slices.ContainsFunc(doubts, func(d string) bool { return strings.HasPrefix(d, r.doubt) }) && r.doubt != "" {
		t.Errorf("doubts %q, want %q; notes %q", doubts, r.doubt, document.Pages[0].Notes)
	}
	if !strings.Contains(strings.Join(document.Pages[0].Notes, "\n"), r.note) {
		t.Errorf("notes %q, want %q", document.Pages[0].Notes, r.note)
	}
}
