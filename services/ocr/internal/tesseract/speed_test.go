package tesseract

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/services/ocr/recognise"
)

// BenchmarkAgainstCommandLine reads the corpus's English scans page by page, with pdftoppm and the tesseract command
// on one thread and with a warm handle, turn about, so that both meet the same machine. It reports CPU seconds, user
// and system, as ratios: own/tess against the recognition alone, own/both against rastering and recognition. With -v
// it prints the character error rates of both for every file.
func BenchmarkAgainstCommandLine(b *testing.B) {
	for _, tool := range []string{"pdftoppm", "tesseract"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Skipf("%s is not installed", tool)
		}
	}
	corpus := pdftest.OpenCorpus(b)
	h := englishHandle(b)
	runtime.LockOSThread() // the CPU time of a thread is measured
	defer runtime.UnlockOSThread()
	var raster, command, own, look float64
	pages := 0
	for b.Loop() {
		for _, f := range corpus.FilesWithTags("ocr-truth", "scanned", "lang-eng") {
			if !corpus.HasTruth(f) {
				continue
			}
			dir := b.TempDir()
			raster += runCommand(b, nil, "pdftoppm", "-r", "300", "-gray", f.Abs, filepath.Join(dir, "p"))
			names, err := filepath.Glob(filepath.Join(dir, "p*.pgm"))
			if err != nil {
				b.Fatal(err)
			}
			var theirs, ours strings.Builder
			for _, name := range names {
				command += runCommand(b, &theirs, "tesseract", name, "-", "--dpi", "300")
				text, all, direction := timeReading(b, h, name)
				ours.WriteString(text)
				own, look = own+all, look+direction
				pages++
			}
			b.Logf("%-40s CER %.3f, command %.3f", f.Path, score.CharErrorRate(corpus.TruthText(f), ours.String()),
				score.CharErrorRate(corpus.TruthText(f), theirs.String()))
		}
	}
	b.ReportMetric(own/float64(pages), "own-cpu-s/page")
	b.ReportMetric(own/command, "own/tess")
	b.ReportMetric(own/(command+raster), "own/both")
	b.ReportMetric(look/own, "looks/own")
}

// timeReading reads a page as a child does, and returns the CPU seconds of all of it, and of the looks at the image
// beforehand.
func timeReading(b *testing.B, h *Handle, name string) (text string, all, direction float64) {
	b.Helper()
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	start := cpuSeconds(syscall.RUSAGE_THREAD)
	img, unmap, err := mapRaster(recognise.Image{File: f, DPI: 300})
	if err != nil {
		b.Fatal(err)
	}
	defer unmap()
	r, err := readWith(h, img, 300)
	if err != nil {
		b.Fatal(err)
	}
	size := recognise.Size{Width: img.width, Height: img.height}
	text = recognise.Sanitize(r.toPage(img, 300), size, 300).GetText()
	all = cpuSeconds(syscall.RUSAGE_THREAD) - start
	start = cpuSeconds(syscall.RUSAGE_THREAD)
	below := inkThreshold(img)
	measureDirections(img, 300, below)
	hasDarkAreas(img, 300, below)
	return text, all, cpuSeconds(syscall.RUSAGE_THREAD) - start
}

// runCommand runs a command on one thread and returns its CPU seconds.
func runCommand(b *testing.B, out *strings.Builder, name string, args ...string) float64 {
	b.Helper()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
	if out != nil {
		c.Stdout = out
	}
	if err := c.Run(); err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
}

func cpuSeconds(who int) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(who, &r); err != nil {
		panic(fmt.Sprintf("getrusage: %v", err))
	}
	return (time.Duration(r.Utime.Nano()) + time.Duration(r.Stime.Nano())).Seconds()
}
