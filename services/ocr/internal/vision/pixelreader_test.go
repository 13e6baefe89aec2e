package vision_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/ocr/enginetest"
	"inkstream.dev/services/ocr/internal/vision"
	"inkstream.dev/services/ocr/recognise"
)

func TestMain(m *testing.M) {
	sandbox.Main(ocr.Programs()...)
	os.Exit(m.Run())
}

// pixelReaderVariable names the folder of the server that reads pixels, as make vision installs it.
const pixelReaderVariable = "INKSTREAM_VISION_SERVER"

// startPixelReader starts the server and returns its address. It skips the test where the server is not installed.
func startPixelReader(t *testing.T) string {
	dir := os.Getenv(pixelReaderVariable)
	if dir == "" {
		t.Skip("the server that reads pixels is not installed: 'make vision' does so and runs this")
	}
	cmd := exec.CommandContext(t.Context(), "node", "server.mjs")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // it was told to end
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return lines.Text()
		}
	}
	t.Fatal("the server ended before it took requests")
	return ""
}

// newPixelEngine returns an engine over the server that reads pixels, with Tesseract as the witness, whose endpoint has
// read the page of known words.
func newPixelEngine(t *testing.T) *vision.Engine {
	cfg := vision.DefaultConfig()
	cfg.Endpoints, cfg.Model, cfg.AllowPrivate, cfg.Concurrency = startPixelReader(t), "pp-ocrv4", true, 2
	engineConfig := ocr.DefaultEngineConfig()
	engineConfig.Workers, engineConfig.Languages = 2, "eng"
	witness, err := ocr.NewEngine(engineConfig, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("witness: %v", err)
	}
	t.Cleanup(func() { _ = witness.Close() }) // it reads nothing more
	engine, err := vision.New(cfg, witness, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, begun := make(chan error, 1), make(chan struct{})
	go func() { ended <- engine.Run(ctx, func() { close(begun) }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	<-begun // before that nothing is known of the endpoint
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 600 {
		if engine.CheckReady(t.Context()) == nil {
			break
		}
		<-tick.C
	}
	if err := engine.CheckReady(t.Context()); err != nil {
		t.Fatalf("the page of known words: %v", err)
	}
	return engine
}

// The engine keeps the contract of engines over a model that reads pixels.
func TestPixelReaderPassesTheSuite(t *testing.T) {
	engine := newPixelEngine(t)
	if err := engine.CheckEndpoints(t.Context()); err != nil {
		t.Logf("the endpoint is used although: %v", err)
	}
	asked := askModel(t, engine)
	enginetest.Run(t, func(*testing.T) ocr.Engine { return asked })
	t.Run("says what it doubts of a dirty scan", func(t *testing.T) { testDoubtsOfDirtyScan(t, asked) })
}

// testDoubtsOfDirtyScan has the small model read a scan that it reads badly: what it gets wrong must be in doubt.
func testDoubtsOfDirtyScan(t *testing.T, engine ocr.Engine) {
	o := pdftest.DirtyScanOptions()
	o.DPI = 300
	picture, truth := pdftest.DrawScanPage(o, 1)
	f, err := recognise.WritePGM(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page, err := engine.RecognisePage(t.Context(), recognise.Image{File: f, DPI: 300},
		recognise.Options{Languages: "eng", Timeout: 2 * time.Minute, Deskew: true, Rotate: true})
	if err != nil {
		t.Fatalf("RecognisePage: %v", err)
	}
	rate := score.CharErrorRate(truth, page.GetText())
	t.Logf("character error rate %.4f, %d doubts, engine %s", rate, len(page.GetDoubts()), page.GetEngine())
	const fewErrors = 0.02
	if rate > fewErrors && len(page.GetDoubts()) == 0 {
		t.Errorf("a character error rate of %.3f, and no doubts", rate)
	}
}
