package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// waitTimeout bounds what a test waits for. Machines are busy with other tests.
const waitTimeout = 2 * time.Minute

// The server and the browser that all tests share. Each test has its own tab, with its own storage.
var (
	binary  string
	shared  *server
	browser context.Context
)

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "ui-e2e")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if binary, err = buildBinary(ctx, dir); err != nil {
		return 0, err
	}
	if shared, err = startServer(ctx, filepath.Join(dir, "shared")); err != nil {
		return 0, err
	}
	defer shared.stop()
	if err := shared.addDocuments(ctx); err != nil {
		return 0, err
	}
	var closeBrowser func()
	if browser, closeBrowser, err = startBrowser(ctx); err != nil {
		return 0, err
	}
	defer closeBrowser()
	return m.Run(), nil
}

// startBrowser starts a browser; stop ends it.
func startBrowser(ctx context.Context) (browser context.Context, stop func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.WindowSize(1360, 850))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // the browser's own walls do not stand for root
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	browser, closeBrowser := chromedp.NewContext(allocator)
	stop = func() { closeBrowser(); stopAllocator() }
	if err := chromedp.Do(browser); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start the browser: %w", err)
	}
	return browser, stop, nil
}

// buildBinary returns the program that users run: the one that INKSTREAM_BINARY names, or else one that it builds.
func buildBinary(ctx context.Context, dir string) (string, error) {
	if given := os.Getenv("INKSTREAM_BINARY"); given != "" {
		return filepath.Abs(given)
	}
	path := filepath.Join(dir, "inkstream")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "./services/cli/cmd/inkstream")
	cmd.Dir = filepath.Join("..", "..", "..", "..")
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(mustAbs(cmd.Dir), "go.work"))
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build inkstream: %w: %s", err, output)
	}
	return path, nil
}

func mustAbs(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}

// server is a running inkstream serve.
type server struct {
	url  string
	nats string // where its embedded NATS server listens
	key  string // an admin key, where the server asks for one
	cmd  *exec.Cmd
	jobs map[string]string // the documents' ids by their file names
}

// startServer starts inkstream serve on free ports and returns when it says that it is ready.
func startServer(ctx context.Context, dir string, args ...string) (*server, error) {
	args = append([]string{"serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0",
		"--durability", "fast", "--data-dir", dir}, args...)
	// A test's context ends before its tabs are closed, which may still ask for something: stop alone ends the server.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), binary, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := startProcess(cmd); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, jobs: map[string]string{}}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "REST"); ok && s.url == "" {
			s.url = strings.Fields(after)[0]
		}
		if _, after, ok := strings.Cut(lines.Text(), "nats --server "); ok && s.nats == "" {
			s.nats = strings.Fields(after)[0]
		}
		if strings.Contains(lines.Text(), "Ctrl-C") {
			go func() { _, _ = io.Copy(io.Discard, output) }() // ends with the server
			return s, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("inkstream serve ended: %s", &log), cmd.Wait())
}

// startThread starts processes. The kernel ends them with the thread that started them, so that none outlives the tests;
// this thread ends with the tests alone.
var startThread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range work {
			start()
		}
	}()
	return work
})

func startProcess(cmd *exec.Cmd) error {
	started := make(chan error)
	startThread() <- func() { started <- cmd.Start() }
	return <-started
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = s.cmd.Wait()
}

// call sends a request of the API and decodes the answer's JSON.
func (s *server) call(ctx context.Context, method, path, contentType string, body io.Reader, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	data, err := io.ReadAll(w.Body)
	if err != nil {
		return err
	}
	if w.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %s", method, path, w.Status, data)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(data, answer)
}

// upload sends a document and returns the id of its job.
func (s *server) upload(ctx context.Context, name string, document []byte, labels string) (string, error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if labels != "" {
		if err := w.WriteField("labels", labels); err != nil {
			return "", err
		}
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		return "", err
	}
	if _, err := part.Write(document); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	var job struct{ ID string }
	if err := s.call(ctx, http.MethodPost, "/v1/jobs", w.FormDataContentType(), &form, &job); err != nil {
		return "", err
	}
	return job.ID, nil
}

// send uploads a document and waits until its job has ended.
func (s *server) send(ctx context.Context, name string, document []byte, labels string) (string, error) {
	id, err := s.upload(ctx, name, document, labels)
	if err != nil {
		return "", err
	}
	return id, s.awaitEnd(ctx, id)
}

// awaitEnd waits until a job has ended.
func (s *server) awaitEnd(ctx context.Context, id string) error {
	var ended struct{ EndTime string }
	for ended.EndTime == "" {
		if err := s.call(ctx, http.MethodGet, "/v1/jobs/"+id+"?wait=30s", "", nil, &ended); err != nil {
			return err
		}
	}
	return nil
}

// hostileName and hostileText would do something if they ever became markup.
const (
	hostileName  = `<img src=x onerror=document.body.remove()>.pdf`
	hostileText  = `<script>document.body.remove()</script><img src=x onerror=alert(1)> zebrafish`
	hostileLabel = `{"case":"<b onmouseover=alert(1)>17</b>"}`
	longPages    = 300
)

// corpusPath returns where a file of the committed corpus is.
func corpusPath(name string) string {
	return filepath.Join("..", "..", "..", "..", "pkg", "pdftest", "testdata", "corpus", name)
}

// addDocuments sends what the tests look at.
func (s *server) addDocuments(ctx context.Context) error {
	for name, path := range map[string]string{
		"scan.pdf": "ocr/tess/tess-phototest.pdf", "table.pdf": "tables/camelot-column_span_2.pdf", "page.pdf": "notpdf/html-page.pdf",
	} {
		document, err := os.ReadFile(corpusPath(path))
		if err != nil {
			return err
		}
		if s.jobs[name], err = s.send(ctx, name, document, "kind=corpus"); err != nil {
			return err
		}
	}
	var err error
	if s.jobs[hostileName], err = s.send(ctx, hostileName, makePDF(hostileText), hostileLabel); err != nil {
		return err
	}
	pages := make([]string, longPages)
	for i := range pages {
		pages[i] = fmt.Sprintf("This is page %d of a long document.", i+1)
	}
	s.jobs["long.pdf"], err = s.send(ctx, "long.pdf", makePDF(pages...), "")
	return err
}

// makePDF returns a document with a line of text on each page.
func makePDF(pages ...string) []byte {
	contents := make([]string, len(pages))
	for i, text := range pages {
		contents[i] = "BT /F1 12 Tf 72 700 Td (" + escapePDF.Replace(text) + ") Tj ET"
	}
	return makePDFOf(contents...)
}

// makeDensePDF returns a document of one page with many small lines.
func makeDensePDF(lines []string) []byte {
	var b strings.Builder
	b.WriteString("BT /F1 2.4 Tf 6 TL 24 770 Td")
	for _, line := range lines {
		b.WriteString(" (" + escapePDF.Replace(line) + ") Tj T*")
	}
	b.WriteString(" ET")
	return makePDFOf(b.String())
}

var escapePDF = strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`)

// partPages is how many pages each entry of a document's outline stands for.
const partPages = 10

// makePDFOf returns a document whose pages have these contents, and an outline of its parts.
func makePDFOf(pages ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), fmt.Sprintf(format, args...))
	}
	b.WriteString("%PDF-1.4\n")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	outline := 4 + 2*len(pages)
	parts := (len(pages) + partPages - 1) / partPages
	object("<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R >>", outline)
	object("<< /Type /Pages /Count %d /Kids [%s] >>", len(pages), kids.String())
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i, content := range pages {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i)
		object("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	object("<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>", outline+1, outline+parts, parts)
	for i := range parts {
		next := ""
		if i < parts-1 {
			next = fmt.Sprintf("/Next %d 0 R", outline+2+i)
		}
		object("<< /Title (Part %d) /Parent %d 0 R /Dest [%d 0 R /Fit] %s >>", i+1, outline, 4+2*partPages*i, next)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}
